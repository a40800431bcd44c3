/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_SERVICE_H
#define RLO_SERVICE_SERVICE_H

#include <sys/types.h>

#include "base/thread.h"
#include "service/job.h"

enum {
  /** High, normal, low. */
  RLO__NUM_PRIORITIES = 3,
  /** One of so many works is of the lowest priority that waits. */
  RLO__LOWEST_TURN = 8
};

/** The conditions of a service. */
typedef enum rlo__service_cond {
  /** There may be work for threads without a lane, or for lanes. */
  RLO__SERVICE_NEWS,
  RLO__SERVICE_LANE_NEWS,
  /** A job has ended. */
  RLO__SERVICE_ENDED,
  RLO__SERVICE_NUM_CONDS
} rlo__service_cond;

/** Jobs in an order. */
typedef struct rlo__job_list {
  rlo_job *first, *last;
} rlo__job_list;

typedef struct rlo__service_thread {
  struct rlo_service *service;
  rlo__thread thread;
} rlo__service_thread;

/** Below: guarded by the mutex, but for what is constant. */
struct rlo_service {
  /** Constant. */
  pid_t pid;
  rlo__service_limits limits;
  rlo__lane *lanes;
  /** Runs the pieces that no lane does. */
  rlo__place *host;

  rlo__mutex mutex;
  rlo__cond conds[RLO__SERVICE_NUM_CONDS];

  /** The user's; and one more for each job that lives. */
  int64_t num_user_references, num_references;
  /** One for each lane, then io_threads; fewer if the system allows no more. */
  rlo__service_thread *threads;
  int32_t num_threads;
  /** The user's references are gone: the threads end with the last job. */
  bool is_closed;
  /** The thread that releases the service then, since its work dropped the last
   *  reference; NULL: who called from elsewhere. */
  rlo__service_thread *closer;

  /** Those that have not ended, each in the order of their turns. */
  rlo__job_list lists[RLO__NUM_PRIORITIES];
  int32_t num_unended, num_running;
  /** Staging memory of running jobs. */
  int64_t host_bytes;
  int64_t num_turns;
  /** Those that have ended and were not taken. */
  rlo__job_list untaken;
  /** -1: nobody asked for it. */
  int poll_fd;
};

/** @return RLO_OK in the process that made the service; RLO_UNSUPPORTED in a
 *  child of fork. */
RLO_NODISCARD rlo_status rlo__service_check_process(const rlo_service *service);

/** Does what rlo_service_create does. For tests: with `copies` pieces are
 * copied to every device, also to those that share the host's memory. */
RLO_NODISCARD rlo_status rlo__service_create(rlo_context *const *contexts, int32_t num_contexts,
                                             const rlo_service_options *options, bool copies,
                                             rlo_service **out_service);

/** Queues a job, with the mutex, and starts the threads with the first one; where
 *  the system allows none, runs it. The service has a reference to the job until it
 *  has ended.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__service_add(rlo_service *service, rlo_job *job);

#endif
