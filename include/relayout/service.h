/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_SERVICE_H
#define RELAYOUT_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/problem.h"
#include "relayout/storage.h"

RLO_BEGIN_DECLS

/*
 * Jobs: problems whose memories may be larger than a device's, or than the
 * host's. A job cuts the problem into pieces, each of which is a problem: it
 * reads what a piece needs from the source's storage, runs it, and writes the
 * result to the destination's, within budgets of memory.
 *
 * Ownership. Services and jobs are reference counted: create and submit return
 * one reference, retain adds one, release drops one; release(NULL) is legal. A
 * service retains its contexts, a job its storages and, until it ends, its
 * service.
 *
 * Threads. Every function here is safe. A service starts its threads with the
 * first job and ends them with the last reference; fewer than it should where the
 * system allows no more. Where that is none, rlo_service_submit runs the job itself
 * before it returns, unless the service has contexts, whose jobs it refuses. Storages
 * of functions are called by these threads, which hold no lock then: they may call
 * anything here. There the last release of the service returns at once, and rlo_job_wait
 * and rlo_service_drain without a timeout are RLO_UNSUPPORTED. In a child of fork the
 * service is unusable: RLO_UNSUPPORTED, or
 * no effect.
 */

/** Where problems run and why. Several that run together run where the greatest
 *  of their choices says. */
typedef enum rlo_place_choice {
  /** On the host, which has moved so few bytes before a device is opened. */
  RLO_PLACE_HOST_IS_SOONER = 0,
  /** On a device. */
  RLO_PLACE_DEVICE = 1,
  /** On the host: devices refuse most elements whose size changes while their
   *  type does not, and all that is combined in an order. */
  RLO_PLACE_HOST_ALONE = 2
} rlo_place_choice;

/** Chooses where a problem runs, for who may use any place and has opened no
 *  device. @return RLO_PLACE_HOST_IS_SOONER for NULL. Threads: safe (pure). */
RLO_API rlo_place_choice rlo_place_choose(const rlo_problem *problem);

/** A queue of jobs, with budgets and the contexts that run their pieces. */
typedef struct rlo_service rlo_service;
typedef struct rlo_job rlo_job;
/** The context of relayout/opencl.h. */
typedef struct rlo_context rlo_context;

/** Begin with RLO_SERVICE_OPTIONS_INIT. */
typedef struct rlo_service_options {
  /** sizeof(rlo_service_options). */
  size_t struct_size;
  /** Staging memory of all jobs together, in bytes; memory of the caller's is
   *  not counted. 0: a quarter of what is available, at most 16 GiB; where that is less than
   *  256 MiB, these, or half of what is available. */
  int64_t host_memory_bytes;
  /** Buffers on each device, in bytes; 0: 64 MiB. */
  int64_t device_memory_bytes;
  /** Threads that read, write and run pieces on the host, at most 256. 0: 8. */
  int32_t io_threads;
  /** Further jobs wait. 0: 2 for each context, at least 2. */
  int32_t max_running_jobs;
  /** The family and the schedule of all plans, as in rlo_plan_options; NULL:
   * the best. Borrowed while the service lives. */
  const char *family;
  const char *schedule;
} rlo_service_options;

#define RLO_SERVICE_OPTIONS_INIT \
  { sizeof(rlo_service_options), 0, 0, 0, 0, NULL, NULL }

/** The smallest budgets of host memory and of device memory, in bytes. */
#define RLO_SERVICE_MIN_HOST_BYTES   (INT64_C(1) << 20)
#define RLO_SERVICE_MIN_DEVICE_BYTES (INT64_C(64) << 10)

/**
 * Creates a service. Starts no thread and allocates nothing large before the
 * first job.
 * @param contexts      retained, distinct; may be NULL if num_contexts is 0.
 * @param num_contexts  0: pieces run on the host.
 * @param options       NULL: all defaults.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a negative number or another
 *         struct_size; RLO_OUT_OF_RANGE for a budget below the smallest;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_service_create(rlo_context *const *contexts,
                                                    int32_t num_contexts,
                                                    const rlo_service_options *options,
                                                    rlo_service **out_service);

/** Adds a reference and returns `service`; NULL is legal. */
RLO_API rlo_service *rlo_service_retain(rlo_service *service);

/** Drops a reference; NULL is legal. The last one of the caller's cancels the
 *  jobs that have not ended and waits for them, at most for one piece each;
 *  from a function of a storage it does not wait. */
RLO_API void rlo_service_release(rlo_service *service);

/** Cancels every job; returns at once. */
RLO_API void rlo_service_cancel_all(rlo_service *service);

/**
 * Waits until every job has ended.
 * @param timeout_ms  negative: without limit.
 * @param out_is_idle  whether all have ended; may be NULL.
 * @return RLO_OK, also after the timeout; RLO_INVALID_ARGUMENT for a NULL.
 */
RLO_API RLO_NODISCARD rlo_status rlo_service_drain(rlo_service *service, int64_t timeout_ms,
                                                   bool *out_is_idle);

/** Begin with RLO_JOB_OPTIONS_INIT. */
typedef struct rlo_job_options {
  /** sizeof(rlo_job_options). */
  size_t struct_size;
  /** -1 low, 0, 1 high: the pieces of higher jobs go first, but every eighth
   *  one is of the lowest that wait. */
  int32_t priority;
  /** Staging memory of this job, in bytes. 0: what the service has, divided by
   *  its max_running_jobs. */
  int64_t host_memory_bytes;
  /** The destination holds zeros, or what it holds does not matter: bytes that
   *  the problem does not write may become 0. Else they are read first where
   *  they lie between written ones, so that they keep their value. */
  bool is_new_destination;
  /** 0: the faster. One pass reads and writes each byte once; where little
   *  memory and two very different orders make for short runs, two passes move
   *  it twice, in long runs: through the destination, which is then read too.
   *  They need a problem that writes each byte of the destination once, and
   *  scratch_bytes. */
  int32_t passes;
  /** Bytes of the destination's storage behind dst_bytes that two passes may
   *  use, and leave undefined. 0: none, for one pass. rlo_job_estimate says how
   *  many are needed. Not used with `scratch`. */
  int64_t scratch_bytes;
  /**
   * The path of a journal, so that the job can be resumed after a failure, a
   * cancellation, a kill or a loss of power; NULL: none. Copied.
   *
   * If there is no such file, the job creates it, and notes in it every 5
   * seconds, or every 4 GiB, and when it fails or is cancelled, what is in the
   * destination for good: that is not done again. If there is one, it has to be the journal of the
   * same job: the same problem, the same source, unchanged, the same destination, as the stopped
   * job left it, and the same kind of devices. Then the rest is done, in the pieces of the budget
   * that the job began with. With a smaller host_memory_bytes fewer of them are in memory at once;
   * one that does not suffice for that is refused. A file of another user, or with a second name,
   * is not believed and stays: the job begins anew, and has no journal. One that others may write
   * to is refused.
   *
   * The destination is a file, or functions whose `flush` makes durable. The
   * source is better a file, or has `identify`: of others nobody can tell
   * whether they have changed. Removing the journal is the caller's affair,
   * when the destination has its name, and before it is used for anything else.
   */
  const char *journal_path;
  /** The indices that the problem loads: a storage of at least index_bytes,
   *  retained until the job ends. They are read whole when it starts, into its
   *  staging memory unless they are memory. Not used by a problem that loads
   *  none. */
  rlo_storage *indices;
  /**
   * Called with each run of bytes of the destination once it has been written, by any of the
   * service's threads, several at once; of two passes with those of the second. A run holds
   * whole units of the problem. A problem that writes each byte once shows each once; what a
   * journal has as done is not shown, nor is memory that is written where it lies. A status
   * other than RLO_OK fails the job. NULL: nobody is called.
   */
  rlo_status (*watch)(void *payload, int64_t offset, int64_t bytes, const void *from);
  void *watch_payload;
  /**
   * A storage of granules of a byte for the intermediate of two passes between granules: as
   * the destination has none behind dst_bytes. The source's granules are read once, and what
   * the problem needs of them is written there and read again; for `passes` of 0 if that
   * moves fewer bytes than to read granules again. May be longer than is used, which is what
   * is reserved and left undefined. Retained until the job ends. A job that is resumed needs
   * the same one, with what it holds. NULL: none.
   */
  rlo_storage *scratch;
} rlo_job_options;

#define RLO_JOB_OPTIONS_INIT \
  { sizeof(rlo_job_options), 0, 0, false, 0, 0, NULL, NULL, NULL, NULL, NULL }

/** The work and the memory that a job will take. */
typedef struct rlo_job_estimate {
  /** sizeof(rlo_job_estimate). */
  size_t struct_size;
  int32_t num_passes;
  /** The sums over all passes. */
  int64_t num_pieces;
  int64_t bytes_read, bytes_written;
  /** The length in bytes of the contiguous runs that are read and written, not
   *  counting shorter ones at edges; the least of all passes. */
  int64_t read_run_bytes, write_run_bytes;
  /** Staging memory, and buffers on each device. */
  int64_t host_bytes, device_bytes;
  /** Bytes that two passes use of the destination's storage behind dst_bytes, or of
   *  `scratch`. */
  int64_t scratch_bytes;
  /** The time of a copy of the source to the destination, divided by the
   *  expected time. */
  double expected_fraction;
  /** The host_memory_bytes of job options with which the job is planned so,
   *  whatever memory is free then. */
  int64_t budget_bytes;
  /** The part of bytes_read that the first pass reads: divided by the bytes of a granule of
   *  the source, how many of them are read, or read again. */
  int64_t source_bytes_read;
} rlo_job_estimate;

#define RLO_JOB_ESTIMATE_INIT \
  { sizeof(rlo_job_estimate), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0 }

/**
 * Computes what a job would do in a service without contexts.
 * @param src, dst  the traits of the storages; NULL: memory.
 * @param service_options, job_options  NULL: defaults. Of a journal that
 *                 exists only what the job was planned with is used.
 * @return RLO_OK, or what rlo_service_submit returns for the problem and the
 *         budgets. Threads: safe (pure, but for the default budget, which asks
 *         the system for its free memory, and for a journal).
 */
RLO_API RLO_NODISCARD rlo_status rlo_job_estimate_make(const rlo_problem *problem,
                                                       const rlo_storage_traits *src,
                                                       const rlo_storage_traits *dst,
                                                       const rlo_service_options *service_options,
                                                       const rlo_job_options *job_options,
                                                       rlo_job_estimate *out_estimate);

/**
 * Computes what a job would do in a service, with its budgets and its contexts.
 * A job with budget_bytes and scratch_bytes of the estimate does just that.
 * @param src, dst, job_options  as for rlo_job_estimate_make.
 * @return as rlo_job_estimate_make. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_service_estimate(const rlo_service *service,
                                                      const rlo_problem *problem,
                                                      const rlo_storage_traits *src,
                                                      const rlo_storage_traits *dst,
                                                      const rlo_job_options *job_options,
                                                      rlo_job_estimate *out_estimate);

/**
 * Checks a job and puts it into the queue.
 *
 * Source and destination do not overlap. While the job runs nobody else writes
 * them; a file that is changed meanwhile fails the job with RLO_DATA_LOSS.
 *
 * @param problem  copied. One that cannot be cut, or not finely enough, such as
 *                 a sum along all axes, runs if what it needs fits into the
 *                 budget.
 * @param src, dst  retained until the job ends: of at least src_bytes and
 *                  dst_bytes. Room for the destination is reserved before
 *                  anything is read.
 * @param options  NULL: all defaults.
 * @return RLO_OK; RLO_INVALID_ARGUMENT; RLO_OUT_OF_RANGE for a storage that is
 *         too small and for a budget that is, naming the least that suffices;
 *         RLO_UNSUPPORTED, also for a problem that loads indices where there
 *         are none, and for a journal of one that reads its destination;
 *         RLO_OUT_OF_MEMORY; or what planning returns.
 *         For a journal also, with nothing touched: RLO_INVALID_ARGUMENT if it
 *         is of another job, also by a change of the source, or another job has
 *         it; RLO_DATA_LOSS if the file is no journal; RLO_UNSUPPORTED for one
 *         of another version; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_service_submit(rlo_service *service,
                                                    const rlo_problem *problem, rlo_storage *src,
                                                    rlo_storage *dst,
                                                    const rlo_job_options *options,
                                                    rlo_job **out_job);

typedef enum rlo_job_state {
  RLO_JOB_QUEUED = 0,
  RLO_JOB_RUNNING = 1,
  /** The service makes durable what the job has written. */
  RLO_JOB_FINISHING = 2,
  RLO_JOB_DONE = 3,
  RLO_JOB_FAILED = 4,
  RLO_JOB_CANCELLED = 5
} rlo_job_state;

typedef enum rlo_job_stage {
  RLO_STAGE_READ = 0,
  /** To the device, the kernel, and back; or the host in place of it. */
  RLO_STAGE_RUN = 1,
  RLO_STAGE_WRITE = 2,
  RLO_STAGE_COUNT = 3
} rlo_job_stage;

typedef struct rlo_job_info {
  /** sizeof(rlo_job_info). */
  size_t struct_size;
  rlo_job_state state;
  /** RLO_OK until it has failed; RLO_CANCELLED if it was cancelled. */
  rlo_status status;
  /** From 1. */
  int32_t pass, num_passes;
  int64_t pieces_done, num_pieces;
  /** Read and written, of all passes: what a progress bar divides. */
  int64_t bytes_done, bytes_total;
  int64_t bytes_read, bytes_written;
  /** The most that were in use at once, in bytes. */
  int64_t host_bytes_peak, device_bytes_peak;
  /** Since it started, until it ended. */
  double seconds;
  /** Negative while unknown. */
  double seconds_left;
  /** How long threads were busy with each stage, added up over the threads: the
   *  longest is, mostly, what the job waits for. */
  double stage_seconds[RLO_STAGE_COUNT];
  /** The part of bytes_done that an earlier job with the same journal has read
   *  and written, so that this one need not. */
  int64_t bytes_resumed;
  /** The shortest transfers that the job's storages have made so far, in bytes,
   *  but for those that end with the storage; 0: none. Those at edges aside, at
   *  least the planned runs, or half of what the storage's traits call good
   *  where a run takes several. A storage that several jobs share counts the
   *  transfers of all. */
  int64_t smallest_read, smallest_write;
  /** The part of bytes_read that the first pass has read. */
  int64_t source_bytes_read;
} rlo_job_info;

#define RLO_JOB_INFO_INIT                                                                        \
  {                                                                                              \
    sizeof(rlo_job_info), RLO_JOB_QUEUED, RLO_OK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, {0.0}, \
        0, 0, 0, 0                                                                               \
  }

/**
 * Waits for the end of a job.
 * @param timeout_ms  negative: without limit.
 * @param out_has_ended  may be NULL.
 * @return RLO_OK, also for a job that failed and after the timeout;
 *         RLO_INVALID_ARGUMENT for a NULL.
 */
RLO_API RLO_NODISCARD rlo_status rlo_job_wait(rlo_job *job, int64_t timeout_ms,
                                              bool *out_has_ended);

/** Returns the status of a job that has ended, with its message in this
 * thread's error record. After a failure or a cancellation the destination's
 * bytes are undefined; a journal says which are not. @return also
 * RLO_INVALID_ARGUMENT for a NULL or a job that has not ended. */
RLO_API RLO_NODISCARD rlo_status rlo_job_result(const rlo_job *job);

/** Gets a snapshot. @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or another
 *  struct_size. */
RLO_API RLO_NODISCARD rlo_status rlo_job_get_info(const rlo_job *job, rlo_job_info *out_info);

/** Asks a job to end, which it does after the pieces in flight; returns at
 * once. Without effect on one that has ended. Safe in a signal handler. */
RLO_API void rlo_job_cancel(rlo_job *job);

/** Adds a reference and returns `job`; NULL is legal. */
RLO_API rlo_job *rlo_job_retain(rlo_job *job);

/** Drops a reference; NULL is legal. After the last one a job that has not
 * ended goes on, and rlo_service_take_ended returns it when it ends; one that
 * has ended is gone. */
RLO_API void rlo_job_release(rlo_job *job);

/**
 * Returns a descriptor that is readable while rlo_service_take_ended has a job:
 * for poll and event loops. The service's: the caller neither reads nor closes
 * it. -1 for NULL, or where the system has none left.
 */
RLO_API int rlo_service_poll_fd(rlo_service *service);

/** Takes the job that ended first of those that were not taken. Who waits for
 *  jobs and releases them need not call it.
 *  @return a reference, or NULL if there is none. */
RLO_API rlo_job *rlo_service_take_ended(rlo_service *service);

RLO_END_DECLS

#endif
