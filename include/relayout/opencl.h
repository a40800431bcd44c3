/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_OPENCL_H
#define RELAYOUT_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>

#include "relayout/cache.h"
#include "relayout/context.h"
#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/status.h"

RLO_BEGIN_DECLS

/*
 * Ownership. rlo_context and rlo_plan are reference counted: create returns one
 * reference, retain adds one, release drops one; release(NULL) is legal. A
 * context retains its cl_context and device; a plan retains its rlo_context.
 * cl_mem, cl_command_queue and cl_event arguments are borrowed for the call; a
 * returned event belongs to the caller. A plan may be released while its work
 * is in flight. No function here prints or exits, and only those that say so
 * wait for the device. In a child of fork the library is unusable if the parent
 * has used it.
 *
 * OpenCL is loaded when it is first needed (rlo_opencl_load). A program that calls its
 * functions links its loader, which need not be the one that this library finds: handles
 * of one work with the other.
 *
 * A context stores compiled programs on disk for later processes
 * (rlo_context_options.cache_dir). With PoCL it stores only those built by
 * rlo_plan_prepare, the first time that they are built in a process, and while
 * the process has no other rlo_context on PoCL. The number of these contexts,
 * the hashes of the programs built and OpenCL's functions are the only state
 * outside of contexts.
 */

/** Returns the address of an OpenCL function, or NULL if there is none of that name.
 *  It calls nothing of this library. */
typedef void *(*rlo_opencl_getter_fn)(void *payload, const char *name);

/**
 * Loads OpenCL, with which the library is not linked: some 50 functions of OpenCL 1.2,
 * for the whole process. What needs them does so by itself when it is first called, and
 * fails with RLO_NOT_FOUND and the same sentence while there is no OpenCL; what is loaded
 * stays. So a call is needed only to pass a getter, before all others, or to ask.
 * @param getter   NULL: functions that the program or a library that it sees has, as if
 *                 the library were linked with it; others from the library that
 *                 $RELAYOUT_OPENCL_LIBRARY names, else from libOpenCL.so.1.
 * @param payload  passed to the getter.
 * @return RLO_OK, also if it is loaded already; RLO_ALREADY_EXISTS if it is and there is a
 *         getter; RLO_NOT_FOUND, naming what there is not. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_opencl_load(rlo_opencl_getter_fn getter, void *payload);

/** A device as `relayout devices` lists it; rlo_device_query has its numbers.
 *  Strings are truncated to fit. */
typedef struct rlo_device_entry {
  cl_platform_id platform;
  cl_device_id device;
  int32_t platform_number;
  /** Index in the order of rlo_device_list, as --device takes it. */
  int32_t device_number;
  char platform_name[128];
  char device_name[128];
  char device_version[128];
  char driver_version[128];
  cl_device_type type;
  int32_t compute_units;
  /** rlo_context_create_default uses this device. */
  bool is_default;
  /** Why it is the default or why not: one sentence. */
  char reason[160];
} rlo_device_entry;

/**
 * Lists every device of every platform, in the order of the loader.
 * @param out_entries  room for `capacity` entries; may be NULL if that is 0.
 * @param entry_bytes  sizeof(rlo_device_entry), by the caller's header: an
 *                     entry of an older one receives what it has room for.
 * @param out_count    receives the number of devices.
 * @return RLO_OK, also if the room suffices for some only;
 *         RLO_INVALID_ARGUMENT, also for entries that are larger than this
 *         library's; RLO_NOT_FOUND if there is no OpenCL platform, or none has
 *         a device; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 * Threads: safe, also as the first call of a process: this function and
 * rlo_context_create_default enter the drivers one thread after the other. The
 * caller's own first OpenCL call must not run at the same time: drivers are
 * known that initialize themselves for one thread only (PoCL 3.1 and 6.0).
 */
RLO_API RLO_NODISCARD rlo_status rlo_device_list(rlo_device_entry *out_entries, size_t entry_bytes,
                                                 int32_t capacity, int32_t *out_count);

/**
 * Finds a device by a part of its name, of its platform's or of its version,
 * whatever the case: "pocl", "nvidia", "RTX 3090". The numbers of devices
 * depend on the loader and on the drivers that are installed; names do not.
 * @param name  a text of at least 1 character; borrowed.
 * @param out_device_number  for rlo_context_create_default. If several devices
 *        match, the one of them that would be the default.
 * @return RLO_OK; RLO_NOT_FOUND, naming the devices there are, if none matches;
 *         RLO_INVALID_ARGUMENT; as rlo_device_list. Threads: as
 * rlo_device_list.
 */
RLO_API RLO_NODISCARD rlo_status rlo_device_find(const char *name, int32_t *out_device_number);

/** Queries the properties of a device that planning uses.
 *  @param out_info  its struct_size is read: one of an older header receives
 *                   what it has room for.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or a struct_size that this
 *          library does not know; RLO_DEVICE. */
RLO_API RLO_NODISCARD rlo_status rlo_device_query(cl_device_id device, rlo_device_info *out_info);

/** A problem or a segment sum, planned for a device: steps, each of one kernel.
 *  Immutable; any number of threads may enqueue one plan at once. */
typedef struct rlo_plan rlo_plan;

/**
 * Creates a context on the caller's OpenCL context and one of its devices, or a
 * part of one (clCreateSubDevices), and retains both.
 *
 * Several on one cl_context are independent: each has its own programs, wisdom
 * and memory budget, and builds what it does not find in a cache directory that
 * they share. Plans of each take buffers, queues and events of the cl_context,
 * whoever made them; rlo_buffer_release takes the context that made the buffer.
 * With PoCL nothing is stored on disk while a process has several.
 * @param options  borrowed, with its strings; NULL for the defaults.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if the device does not belong to the
 *         context, or for invalid options; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_context_create(cl_context context, cl_device_id device,
                                                    const rlo_context_options *options,
                                                    rlo_context **out_context);

/**
 * Creates an OpenCL context and an rlo_context on it.
 * @param device_number  index in the order of rlo_device_list; -1 for the
 *        default: the best GPU (most compute units), else another accelerator,
 *        else the CPU.
 * @return as rlo_context_create; RLO_NOT_FOUND if there is no such device.
 * Threads: as rlo_device_list.
 */
RLO_API RLO_NODISCARD rlo_status rlo_context_create_default(int32_t device_number,
                                                            const rlo_context_options *options,
                                                            rlo_context **out_context);

/** Borrow the objects of a context; NULL for NULL. */
RLO_API cl_context rlo_context_cl_context(const rlo_context *context);
RLO_API cl_device_id rlo_context_cl_device(const rlo_context *context);
RLO_API const rlo_device_info *rlo_context_device_info(const rlo_context *context);
/** The device's name, of which 127 bytes are kept. */
RLO_API const char *rlo_context_device_name(const rlo_context *context);

/**
 * Creates a device buffer within the context's memory budget. The caller
 * releases it with rlo_buffer_release, which returns the bytes to the budget.
 * @param bytes  at least 1.
 * @return RLO_OK; RLO_OUT_OF_MEMORY naming the bytes and the budget or the
 *         device's limit; RLO_INVALID_ARGUMENT; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_buffer_create(rlo_context *context, int64_t bytes,
                                                   cl_mem *out_buffer);
/** Releases a buffer of rlo_buffer_create; NULL is legal. */
RLO_API void rlo_buffer_release(rlo_context *context, cl_mem buffer);

/**
 * Plans a problem for a context's device. Builds no program, unless it
 * measures.
 *
 * Plans the kernel for memory that is aligned like whole buffers. If memory
 * that is aligned to the element only needs another kernel, rlo_plan_prepare
 * plans it, or the first enqueue that needs it; rlo_plan_info describes the
 * first. A context remembers the 256 kernels of problems that were planned and
 * used last, in a few microseconds' time and some 2 KiB each beside their
 * programs, and forgets them when its wisdom changes.
 *
 * Where a compiled kernel turns out to run smaller work-groups only, the
 * problem is planned again for those, by rlo_plan_prepare or the first enqueue;
 * rlo_plan_info describes what was planned first.
 *
 * With RLO_EFFORT_MEASURE and no wisdom for the problem, candidates are built
 * and timed alternately, on a queue and in two buffers of the library's own,
 * which must fit into the context's memory budget. After the seconds allowed no
 * candidate is begun and no round but the first is run; the function waits for
 * a build in progress. The fastest candidate is stored in the context's wisdom,
 * unless the options name a family or a schedule; it is planned for memory that
 * is aligned like whole buffers, as it was measured. Threads that measure wait
 * for each other.
 * @param problem  borrowed.
 * @param options  borrowed; NULL for the defaults.
 * @return as rlo_plan_explain; RLO_INVALID_ARGUMENT for a NULL;
 *         RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED also in a child of fork, or for a
 *         launch beyond the device's limits; if it measures, also the failures
 *         of rlo_buffer_create and rlo_plan_prepare.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_create(rlo_context *context, const rlo_problem *problem,
                                                 const rlo_plan_options *options,
                                                 rlo_plan **out_plan);

/**
 * Plans a segment sum for a context's device, as a plan of up to six steps that
 * needs scratch memory: kernels that invert the ids, then those of its problems
 * (rlo_segment_sum_problems). rlo_enqueue_operands runs it, with the rows as
 * `src` and the ids as `indices`, bit for bit like rlo_segment_sum_run_host.
 * @param sum      borrowed for the call.
 * @param options  as for rlo_plan_create; `family` applies to the sum alone,
 *                 and of the problems those that fill are measured.
 * @return as rlo_plan_create. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_create_segment_sum(rlo_context *context,
                                                             const rlo_segment_sum *sum,
                                                             const rlo_plan_options *options,
                                                             rlo_plan **out_plan);

/** Adds a reference; NULL is legal. Threads: safe. */
RLO_API rlo_plan *rlo_plan_retain(rlo_plan *plan);
/** Drops a reference; NULL is legal. Threads: safe. */
RLO_API void rlo_plan_release(rlo_plan *plan);

/**
 * Plans and builds all that an enqueue of a plan may need, for memory of any
 * alignment, so that none has to; or loads programs from disk. Programs built
 * are stored on disk; with PoCL, which compiles them once more for that, the
 * first build takes half as long again. Threads that need the same program wait
 * for one build.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_BUILD_FAILED with the
 *         log; RLO_DEVICE; RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED in a child of
 *         fork, or if a kernel exceeds a limit of the device.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_prepare(rlo_plan *plan);

/** Called when a plan is prepared, with the result of rlo_plan_prepare. After a
 *  failure, rlo_error_last() describes it during the call. */
typedef void (*rlo_plan_prepared_fn)(void *payload, rlo_status status);

/**
 * Prepares a plan as rlo_plan_prepare does, on the context's background thread,
 * one plan after the other.
 *
 * The plan is retained until the callback has returned: plan and context may be
 * released meanwhile, also in the callback. An enqueue of a plan that is not
 * prepared yet waits for the same build.
 *
 * The last rlo_context_release waits for the callbacks, so the caller must not
 * hold a lock there that they need. Before a process ends it should release its
 * plans and then the context: otherwise the driver may still compile while it
 * is unloaded.
 *
 * @param callback  called once, if and only if this returns RLO_OK. While it
 *                  runs, the context prepares no other plan.
 * @param payload   passed to the callback.
 * @return RLO_OK; RLO_INVALID_ARGUMENT; RLO_OUT_OF_MEMORY, also if the system
 *         cannot start a thread; RLO_UNSUPPORTED in a child of fork.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_prepare_async(rlo_plan *plan,
                                                        rlo_plan_prepared_fn callback,
                                                        void *payload);

/** Properties of a plan. Strings are borrowed from the plan. Begin with
 *  RLO_PLAN_INFO_INIT. */
typedef struct rlo_plan_info {
  /** sizeof(rlo_plan_info). */
  size_t struct_size;
  /** "copy", "rows", "tile", ..., or "none" for an empty problem. */
  const char *family;
  /** "default" or another schedule of the family. Static. */
  const char *schedule;
  const char *parameters;
  rlo_device_class device_class;
  rlo_plan_decision decision;
  /** If it was measured, now or before: rate as a fraction of the copy limit.
   */
  double measured_fraction;
  int64_t src_bytes, dst_bytes;
  int64_t read_bytes, written_bytes;
  /** Bytes of indices; 0 if the problem loads none. */
  int64_t index_bytes;
  /** Bytes of scratch memory that each enqueue needs; 0 for most plans. */
  int64_t scratch_bytes;
  /** Kernels that an enqueue runs, one after the other; 0 for an empty problem.
   *  Of several, family to measured_fraction describe the last, and the bytes
   *  read and written are those of all problems together. Of a sum in parts
   *  (rlo_plan_options.max_scratch_bytes) they describe the first, which reads
   *  the source; `parameters` begins with the number of parts; and the bytes
   *  are those of the sum, without scratch memory. */
  int32_t num_steps;
} rlo_plan_info;

#define RLO_PLAN_INFO_INIT                                                                      \
  {                                                                                             \
    sizeof(rlo_plan_info), NULL, NULL, NULL, RLO_DEVICE_CLASS_AUTO, RLO_PLAN_DECISION_ESTIMATE, \
        0.0, 0, 0, 0, 0, 0, 0, 0                                                                \
  }

/** Copies the properties.
 *  @param out_info  as that of rlo_device_query.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT. Threads: safe. */
RLO_API RLO_NODISCARD rlo_status rlo_plan_get_info(const rlo_plan *plan, rlo_plan_info *out_info);

/**
 * Enqueues a plan, as the clEnqueue functions do.
 *
 * Reads the source at src + src_offset_bytes and writes the destination at
 * dst + dst_offset_bytes, after every event of the wait list has completed. The
 * queue may be in-order or out-of-order and belongs to the plan's context and
 * device; it is neither flushed nor finished, so a caller that polls the event,
 * or waits for it in another queue, calls clFlush (waiting for the event or
 * finishing the queue flushes it). A problem without points launches
 * no kernel but still produces an event, that of a marker: without a wait list
 * it completes after all commands enqueued before, also on an out-of-order
 * queue.
 *
 * Waits for no command and no event. It builds what rlo_plan_prepare has not:
 * the first enqueue of a plan, and the first for memory that is less aligned
 * than whole buffers are, may take the milliseconds of reading a program from
 * the cache directory or the seconds of compiling it and storing it there, or
 * wait for a thread that does so for the same program. After
 * rlo_plan_prepare no enqueue builds, though a driver may compile a part of a
 * kernel at its first launch, as PoCL does.
 *
 * @param src_offset_bytes, dst_offset_bytes  multiples of the element's size
 *        (whole bytes for packed types).
 * @param src, dst  buffers of the plan's context that hold the problem's
 *        src_bytes and dst_bytes from their offsets on. These bytes do not
 *        overlap, also not through sub-buffers of one parent or buffers over
 * one host memory. NULL only where the problem has 0 bytes.
 * @param num_wait, wait_list  0 and NULL, or that many events of the plan's
 *        context. An event that has failed already is RLO_DEVICE; one that
 * fails later shows in the status of *out_event only.
 * @param out_event  may be NULL. Otherwise completes after the destination is
 *        written; the caller releases it.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, an object of another
 *         context, a misaligned offset, overlap, a read-only destination or
 *         write-only source; RLO_OUT_OF_RANGE for a buffer too small with its
 *         offset; RLO_BUILD_FAILED; RLO_OUT_OF_MEMORY; RLO_DEVICE;
 *         RLO_UNSUPPORTED in a child of fork, for memory that is less aligned
 *         than a forced family needs or rlo_plan_options.is_aligned promised,
 * or if the kernel exceeds a limit of the device; RLO_OVERFLOW if it cannot be
 *         planned for such memory. On failure *out_event is unchanged, the
 *         queue is not flushed either, and nothing was enqueued. Only of a plan
 *         of several steps (rlo_plan_info) the first may have been when the
 *         driver refuses a later one, RLO_DEVICE or RLO_OUT_OF_MEMORY: finish
 *         the queue before the memory has another use. Threads: safe, on one
 *         plan too.
 */
RLO_API RLO_NODISCARD rlo_status rlo_enqueue(rlo_plan *plan, cl_command_queue queue, cl_mem src,
                                             int64_t src_offset_bytes, cl_mem dst,
                                             int64_t dst_offset_bytes, cl_uint num_wait,
                                             const cl_event *wait_list, cl_event *out_event);

/**
 * Measures how fast a device copies: the limit that relayouts are compared
 * with.
 *
 * Times the copy family's kernel (non-temporal where that is faster) on two
 * buffers: one warm-up and `rounds` runs. Waits for its own work only.
 * @param bytes   size of each buffer, at least 4096.
 * @param rounds  at least 1.
 * @param out_gb_per_s  the median in GB/s (10^9 bytes), bytes read plus bytes
 *        written.
 * @return RLO_OK; RLO_INVALID_ARGUMENT; or a failure of rlo_buffer_create,
 *         rlo_plan_create or rlo_enqueue.
 */
RLO_API RLO_NODISCARD rlo_status rlo_copy_limit(rlo_context *context, int64_t bytes, int32_t rounds,
                                                double *out_gb_per_s);

/** The operands of an enqueue. Begin with RLO_OPERANDS_INIT. */
typedef struct rlo_operands {
  /** sizeof(rlo_operands). */
  size_t struct_size;
  /** The operands of rlo_enqueue. */
  cl_mem src;
  int64_t src_offset_bytes;
  cl_mem dst;
  int64_t dst_offset_bytes;
  /** For plans that load indices: rlo_plan_info.index_bytes bytes from the
   *  offset on, which is a multiple of an index. Read; do not overlap dst.
   *  Otherwise ignored. */
  cl_mem indices;
  int64_t index_offset_bytes;
  /** For plans that need scratch memory: rlo_plan_info.scratch_bytes bytes from
   *  the offset on, which is a multiple of 8. Written and read; the contents
   *  before and after are undefined. Overlaps no other operand. Enqueues that
   *  may run at the same time need separate scratch memory. Otherwise ignored.
   */
  cl_mem scratch;
  int64_t scratch_offset_bytes;
  /**
   * In place of a buffer, a pointer into memory that the device shares: of clSVMAlloc,
   * whole allocations or within, any pointer of the process where the device has
   * CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, or unified memory of
   * cl_intel_unified_shared_memory. The offset is added. Overlap is checked by address; that
   * the memory is long enough only for unified memory, because OpenCL does not tell it
   * of others. Coarse-grained memory is not mapped meanwhile, and is alive until
   * the work is complete.
   */
  const void *src_pointer;
  void *dst_pointer;
  const void *index_pointer;
  void *scratch_pointer;
} rlo_operands;

#define RLO_OPERANDS_INIT \
  { sizeof(rlo_operands), NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL }

/**
 * Enqueues any plan, including those that load indices (a gather, a segment
 * sum) or need scratch memory (a segment sum, a sum in parts), which
 * rlo_enqueue refuses with RLO_INVALID_ARGUMENT. No byte outside of
 * the operands is accessed, whatever the indices are.
 *
 * The kernels of a plan of several steps are chained by events, on in-order and
 * out-of-order queues alike. *out_event completes after the destination is
 * written and the scratch memory is free for other use.
 * @param operands  borrowed for the call.
 * @return as rlo_enqueue; RLO_INVALID_ARGUMENT also for operands that are NULL
 *         or have another struct_size. Of a plan of several steps, a kernel may
 *         have been enqueued after RLO_DEVICE and RLO_OUT_OF_MEMORY; all other
 *         failures are found before that. *out_event is unchanged on failure.
 * Threads: safe, on one plan too.
 */
RLO_API RLO_NODISCARD rlo_status rlo_enqueue_operands(rlo_plan *plan, cl_command_queue queue,
                                                      const rlo_operands *operands,
                                                      cl_uint num_wait, const cl_event *wait_list,
                                                      cl_event *out_event);

/**
 * Like rlo_plan_explain, for the context's device, with its wisdom: reports the
 * plan that rlo_plan_create makes for memory of this alignment. Does not
 * measure.
 * @param out_report  the caller releases it with rlo_plan_report_release.
 * @return as rlo_plan_explain; RLO_INVALID_ARGUMENT for a NULL context;
 *         RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_context_explain(
    rlo_context *context, const rlo_problem *problem, const rlo_plan_options *options,
    int64_t src_alignment_bytes, int64_t dst_alignment_bytes, rlo_plan_report **out_report);

RLO_END_DECLS

#endif
