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

#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/status.h"

RLO_BEGIN_DECLS

/*
 * Ownership. rlo_context and rlo_plan are counted: create gives one reference,
 * retain takes one, release gives one back; release(NULL) is legal. A context
 * retains its cl_context and device; a plan retains its rlo_context. cl_mem,
 * cl_command_queue and cl_event arguments are borrowed for the call; an event
 * handed out belongs to the caller. A plan may be released while its work is
 * in flight. Nothing here waits for a queue, prints or exits; the library is
 * not usable in a child of fork if the parent has used it.
 *
 * A context keeps the programs that it compiles on disk, for processes to come;
 * with PoCL those alone that a plan was prepared with, the first time that they
 * are made in a process, and while that has no other rlo_context on PoCL. How
 * many of those there are and what was made is all that a process remembers
 * outside of its contexts. See rlo_context_options.cache_dir and
 * relayout/opencl.h.
 */

/** A device as `relayout devices` lists it. Strings are cut to fit. */
typedef struct rlo_device_entry {
  cl_platform_id platform;
  cl_device_id device;
  int32_t platform_number;
  /** Place in rlo_device_list's order: what --device takes. */
  int32_t device_number;
  char platform_name[128];
  char device_name[128];
  char device_version[128];
  char driver_version[128];
  cl_device_type type;
  /** The device rlo_context_create_default would take. */
  bool is_default;
  /** Why it is, or why not: one sentence. */
  char reason[160];
  rlo_device_info info;
} rlo_device_entry;

/**
 * List every device of every platform, in the order of the loader.
 * @param out_entries  room for `capacity` entries; may be NULL if that is 0.
 * @param out_count    how many devices there are.
 * @return RLO_OK, also if there is no room for all; RLO_INVALID_ARGUMENT;
 *         RLO_NOT_FOUND if there is no OpenCL platform or no device;
 *         RLO_OUT_OF_MEMORY; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_device_list(rlo_device_entry *out_entries,
                                                 int32_t capacity,
                                                 int32_t *out_count);

/** The numbers planning needs, asked of a device. @return RLO_OK; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_device_query(cl_device_id device,
                                                  rlo_device_info *out_info);

/** A cl_context and one of its devices, with the programs built for it. */
typedef struct rlo_context rlo_context;

/** A problem, planned for a device. Immutable; any number of threads may
 *  enqueue one plan at once. */
typedef struct rlo_plan rlo_plan;

/** A line for the log: severity 0 error, 1 warning, 2 information, 3 debug. */
typedef void (*rlo_log_fn)(void *payload, int32_t severity, const char *line);

/** How to make a context. Begin with RLO_CONTEXT_OPTIONS_INIT. */
typedef struct rlo_context_options {
  /** sizeof(rlo_context_options). */
  size_t struct_size;
  /** Called from any thread; NULL: silent. */
  rlo_log_fn log;
  void *log_payload;
  /** Most bytes rlo_buffer_create may hold at once in this context; 0: three
   *  quarters of the device's global memory. */
  int64_t memory_budget_bytes;
  /**
   * Folder for compiled programs, an absolute path. NULL:
   * $XDG_CACHE_HOME/relayout, else $HOME/.cache/relayout, as the environment is
   * when the context is made. "": none. Made with mode 0700 if it is not there;
   * not used if it is a symbolic link, belongs to another user, or others can
   * write to it. What goes wrong there is told to the log, and costs the time
   * to compile.
   */
  const char *cache_dir;
  /** Most bytes of the files in that folder; the ones unused for longest go. 0:
   *  64 MiB. */
  int64_t cache_limit_bytes;
} rlo_context_options;

#define RLO_CONTEXT_OPTIONS_INIT \
  { sizeof(rlo_context_options), NULL, NULL, 0, NULL, 0 }

/**
 * Use the caller's OpenCL context and one of its devices, both retained.
 * @param options  borrowed, with its strings; NULL for the defaults.
 * @return RLO_OK; RLO_INVALID_ARGUMENT if the device is not of the context, or
 *         for options that make no sense; RLO_OUT_OF_MEMORY; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_context_create(cl_context context,
                   cl_device_id device,
                   const rlo_context_options *options,
                   rlo_context **out_context);

/**
 * Open a device of one's own: the best GPU (most compute units), else another
 * accelerator, else the CPU.
 * @param device_number  place in the order of rlo_device_list
 *        (relayout/opencl.h); -1 for the default.
 * @return as rlo_context_create; RLO_NOT_FOUND without such a device.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_context_create_default(int32_t device_number,
                           const rlo_context_options *options,
                           rlo_context **out_context);

RLO_API rlo_context *rlo_context_retain(rlo_context *context);

/**
 * Give a reference back. The last one waits for the preparations under way
 * (rlo_plan_prepare_async), but not when it is given back within the callback
 * of one.
 */
RLO_API void rlo_context_release(rlo_context *context);

/** Borrow what a context wraps; NULL of NULL. */
RLO_API cl_context rlo_context_cl_context(const rlo_context *context);
RLO_API cl_device_id rlo_context_cl_device(const rlo_context *context);
RLO_API const rlo_device_info *rlo_context_device_info(
    const rlo_context *context);

/** Counters since the context was made; a snapshot. */
typedef struct rlo_context_stats {
  /** Compiled from source. */
  int64_t programs_built;
  /** Found in memory. */
  int64_t program_hits;
  int64_t kernels_created;
  int64_t launches;
  int64_t buffer_bytes;
  /** Programs looked for in the folder of compiled programs: found; not found;
   *  found, and deleted because they were damaged or of no use to the driver;
   *  and those written to it. */
  int64_t disk_hits, disk_misses, disk_rejects, disk_writes;
} rlo_context_stats;

RLO_API void rlo_context_get_stats(const rlo_context *context,
                                   rlo_context_stats *out_stats);

/**
 * A device buffer within the context's budget, for callers without memory
 * management of their own. Give it back with rlo_buffer_release, which tells
 * the budget.
 * @param bytes  at least 1.
 * @return RLO_OK; RLO_OUT_OF_MEMORY naming the bytes and the budget or the
 *         device's limit; RLO_INVALID_ARGUMENT; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_buffer_create(rlo_context *context,
                                                   int64_t bytes,
                                                   cl_mem *out_buffer);
/** NULL is legal. */
RLO_API void rlo_buffer_release(rlo_context *context, cl_mem buffer);

/**
 * Plan a problem for a context's device. Builds nothing yet, unless it
 * measures.
 *
 * With RLO_EFFORT_MEASURE and no wisdom for the problem, candidates are built
 * and timed in turns on a queue and in two buffers of the library's own, which
 * must be within the context's budget; no candidate is begun and no round of
 * turns but the first made after the seconds given; one that is being built is
 * waited for. The fastest is remembered in the context's wisdom, unless the
 * options name a family, a schedule or a class. Threads that measure wait for
 * each other.
 * @param problem  borrowed.
 * @param options  NULL for the defaults.
 * @return as rlo_plan_explain; RLO_INVALID_ARGUMENT for a NULL;
 *         RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED also in a child of fork, or for a
 *         launch beyond the device's limits; to measure, also what
 *         rlo_buffer_create and rlo_plan_prepare say.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_plan_create(rlo_context *context,
                const rlo_problem *problem,
                const rlo_plan_options *options,
                rlo_plan **out_plan);

/**
 * Plans a segment sum for a context's device, as a plan of up to six steps that
 * needs scratch memory: kernels that invert the ids, then those of its problems
 * (rlo_segment_sum_moves). rlo_enqueue_operands runs it, with the rows as `src`
 * and the ids as `indices`, bit for bit like rlo_segment_sum_run_host.
 * @param sum      borrowed for the call.
 * @param options  as for rlo_plan_create; `family` applies to the sum alone,
 *                 and of the problems those that fill are measured.
 * @return as rlo_plan_create. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_plan_create_segment_sum(rlo_context *context,
                            const rlo_segment_sum *sum,
                            const rlo_plan_options *options,
                            rlo_plan **out_plan);

RLO_API rlo_plan *rlo_plan_retain(rlo_plan *plan);
RLO_API void rlo_plan_release(rlo_plan *plan);

/**
 * Build the plan's programs now, so that no enqueue has to, or take them from
 * disk, where they are put when they are built. With PoCL, which compiles once
 * more for that, the first time of all takes half as long again. Several
 * threads that need one program wait for one build.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_BUILD_FAILED with the
 *         log; RLO_DEVICE; RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED in a child of
 *         fork, or if a compiled kernel exceeds a limit of the device.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_prepare(rlo_plan *plan);

/** Told that a plan is prepared, with what rlo_plan_prepare would return; if
 *  that is a failure, rlo_error_last() has its words for as long as the call
 *  lasts. */
typedef void (*rlo_plan_prepared_fn)(void *payload, rlo_status status);

/**
 * Prepare a plan as rlo_plan_prepare does, on a thread of the context's own,
 * one plan after the other.
 *
 * The plan is retained until the callback has returned: it may be released
 * meanwhile, in the callback too, and so may the context. A plan that is
 * enqueued before it is prepared waits for the same build.
 *
 * The last rlo_context_release waits for the callbacks, so nothing that they
 * need may be locked there. A process that ends should have released its plans,
 * and the context after them: otherwise the driver may still be compiling while
 * the process takes it down.
 *
 * @param callback  called once, if and only if this returns RLO_OK. While it
 *                  runs, the context prepares nothing else.
 * @param payload   for the callback.
 * @return RLO_OK; RLO_INVALID_ARGUMENT; RLO_OUT_OF_MEMORY, also if the system
 *         has no thread to give; RLO_UNSUPPORTED in a child of fork.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_prepare_async(
    rlo_plan *plan, rlo_plan_prepared_fn callback, void *payload);

/** What a plan does. Borrowed from the plan. */
typedef struct rlo_plan_info {
  /** "copy", "rows", "tile", ..., or "none" for an empty problem. */
  const char *family;
  /** "default", or another schedule of the family. Static. */
  const char *schedule;
  const char *parameters;
  rlo_device_class device_class;
  rlo_plan_decision decision;
  /** If it was measured, now or before: the fraction of the copy limit. */
  double measured_fraction;
  int64_t src_bytes, dst_bytes;
  int64_t read_bytes, written_bytes;
  /** Bytes of indices; 0 if the problem loads none. */
  int64_t index_bytes;
  /** Bytes of scratch memory that each enqueue needs; 0 for most plans. */
  int64_t scratch_bytes;
  /** Kernels that an enqueue runs, one after the other; 0 for an empty problem.
   *  Of several, the fields above describe the last. */
  int32_t num_steps;
} rlo_plan_info;

RLO_API void rlo_plan_get_info(const rlo_plan *plan, rlo_plan_info *out_info);

/**
 * Enqueue a plan, as the clEnqueue functions do.
 *
 * Reads the source at src + src_offset_bytes, writes the destination at
 * dst + dst_offset_bytes, once every event of the wait list is complete, and
 * not before. The queue may be in order or out of order, of the plan's context
 * and device; it is neither flushed nor finished. A problem without points
 * launches no kernel but still yields an event, that of a marker: without a
 * wait list it completes after everything enqueued before it, on an
 * out-of-order queue too.
 *
 * @param src_offset_bytes, dst_offset_bytes  multiples of the element's size
 *        (whole bytes for packed types).
 * @param src, dst  buffers of the plan's context that hold the problem's
 *        src_bytes and dst_bytes from their offsets on, and do not overlap
 *        there (sub-buffers of one parent and buffers over one host memory
 *        included). NULL only where the problem has 0 bytes.
 * @param num_wait, wait_list  0 and NULL, or that many events of the plan's
 *        context. One that has failed already is refused with RLO_DEVICE; one
 *        that fails later shows in the status of *out_event only.
 * @param out_event  may be NULL. Otherwise completes after the destination is
 *        written; the caller releases it.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL or foreign object, a
 *         misaligned offset, overlap, a read-only destination or write-only
 *         source; RLO_OUT_OF_RANGE for a buffer too small with its offset;
 *         RLO_BUILD_FAILED; RLO_OUT_OF_MEMORY; RLO_DEVICE; RLO_UNSUPPORTED in a
 *         child of fork, if a forced family cannot serve memory aligned like
 *         this or it breaks the promise of rlo_plan_options.is_aligned, or if
 *         the compiled kernel exceeds a limit of the device. On failure nothing
 *         was enqueued and *out_event is untouched.
 * Threads: safe, on one plan too.
 */
RLO_API RLO_NODISCARD rlo_status rlo_enqueue(rlo_plan *plan,
                                             cl_command_queue queue,
                                             cl_mem src,
                                             int64_t src_offset_bytes,
                                             cl_mem dst,
                                             int64_t dst_offset_bytes,
                                             cl_uint num_wait,
                                             const cl_event *wait_list,
                                             cl_event *out_event);

/**
 * Measure how fast a device copies: the limit that relayouts are held against.
 *
 * Times the copy family's kernel (non-temporal where that gains) over two
 * buffers, one warm-up and `rounds` runs. GB/s counts bytes read plus bytes
 * written, decimal.
 * @param bytes   size of each buffer, at least 4096.
 * @param rounds  at least 1.
 * @param out_gb_per_s  the median.
 * @return RLO_OK; RLO_INVALID_ARGUMENT; or what creating buffers, planning and
 *         enqueueing say. Waits for its own work alone.
 */
RLO_API RLO_NODISCARD rlo_status rlo_copy_limit(rlo_context *context,
                                                int64_t bytes,
                                                int32_t rounds,
                                                double *out_gb_per_s);

/** The memories of a plan. Begin with RLO_OPERANDS_INIT. */
typedef struct rlo_operands {
  /** sizeof(rlo_operands). */
  size_t struct_size;
  /** As rlo_enqueue takes them. */
  cl_mem src;
  int64_t src_offset_bytes;
  cl_mem dst;
  int64_t dst_offset_bytes;
  /** Where the plan's problem loads indices: rlo_plan_info.index_bytes of them
   *  from the offset on, which is a multiple of an index; they are read and do
   *  not overlap dst. Otherwise not looked at. */
  cl_mem indices;
  int64_t index_offset_bytes;
  /** Where the plan needs scratch memory: rlo_plan_info.scratch_bytes from the
   *  offset on, which is a multiple of 8 bytes. Written and read; its contents
   *  before and after are undefined. Overlaps no other operand. Enqueues that
   *  may run at the same time need separate scratch memory. Otherwise ignored.
   */
  cl_mem scratch;
  int64_t scratch_offset_bytes;
} rlo_operands;

#define RLO_OPERANDS_INIT \
  { sizeof(rlo_operands), NULL, 0, NULL, 0, NULL, 0, NULL, 0 }

/**
 * Enqueues any plan, including those that load indices (a gather, a segment
 * sum), which rlo_enqueue refuses with RLO_INVALID_ARGUMENT. No byte outside of
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
RLO_API RLO_NODISCARD rlo_status
rlo_enqueue_operands(rlo_plan *plan,
                     cl_command_queue queue,
                     const rlo_operands *operands,
                     cl_uint num_wait,
                     const cl_event *wait_list,
                     cl_event *out_event);

/*
 * Wisdom: what was fastest on this device when it was measured, by
 * rlo_plan_create with RLO_EFFORT_MEASURE. A context remembers it as long as it
 * lives, and plans with it whatever the effort; texts and files carry it on.
 * relayout/plan.h tells the form.
 */

/**
 * Take over wisdom. Records of other devices, drivers and tables are ignored;
 * of two for one problem, the later counts.
 * @param text  any bytes; NULL only if num_bytes is 0.
 * @param out_taken, out_ignored  records; may be NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL context; RLO_PARSE with the
 *         number of the line that is wrong, with nothing taken;
 *         RLO_OUT_OF_RANGE beyond 16384 problems, or RLO_OUT_OF_MEMORY, with
 *         the records before it taken.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_context_import_wisdom(rlo_context *context,
                          const char *text,
                          size_t num_bytes,
                          int32_t *out_taken,
                          int32_t *out_ignored);

/** Print the context's wisdom; snprintf rules, as rlo_shape_format: the length
 *  is returned without the NUL, 0 for a NULL context. What another thread
 *  measures between two calls can make it longer. Threads: safe. */
RLO_API size_t rlo_context_export_wisdom(const rlo_context *context,
                                         char *buffer,
                                         size_t capacity);

/** Take over a file of wisdom, as rlo_context_import_wisdom does.
 *  @return also RLO_NOT_FOUND if there is no such file; RLO_IO;
 *          RLO_OUT_OF_RANGE beyond 64 MiB. Threads: safe. */
RLO_API RLO_NODISCARD rlo_status rlo_context_load_wisdom(rlo_context *context,
                                                         const char *path,
                                                         int32_t *out_taken,
                                                         int32_t *out_ignored);

/**
 * Add the context's wisdom to a file, which then holds what it held of other
 * devices and drivers, what it held of this one, and what the context knows,
 * which wins. The file appears whole or stays as it was; of two processes that
 * save at once, one may lose what the other wrote. A file that is no wisdom of
 * ours is not touched.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL context; RLO_PARSE if the
 *         file is no wisdom; RLO_IO; RLO_NOT_FOUND if its folder does not
 * exist; RLO_OUT_OF_RANGE beyond 64 MiB or 16384 problems; RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_context_save_wisdom(rlo_context *context,
                                                         const char *path);

/** Forget what the context knows. Plans made stay what they are. NULL is legal.
 *  Threads: safe. */
RLO_API void rlo_context_clear_wisdom(rlo_context *context);

/**
 * As rlo_plan_explain for the context's device, with its wisdom: what
 * rlo_plan_create would plan for memory aligned so. Nothing is measured.
 * @param out_report  goes to rlo_plan_report_release.
 * @return as rlo_plan_explain; RLO_INVALID_ARGUMENT for a NULL context;
 *         RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_context_explain(rlo_context *context,
                    const rlo_problem *problem,
                    const rlo_plan_options *options,
                    int64_t src_alignment_bytes,
                    int64_t dst_alignment_bytes,
                    rlo_plan_report **out_report);

/*
 * The folder where contexts keep compiled programs for processes to come (see
 * rlo_context_options.cache_dir): looking into it and emptying it. Nothing here
 * needs a device. Whatever is deleted is compiled again when it is needed.
 */

/** What a cache folder holds. */
typedef struct rlo_cache_info {
  /** Where it is, cut to fit; empty if there is none, because neither
   *  XDG_CACHE_HOME nor HOME is an absolute path. */
  char path[1024];
  /** Whether contexts use it, or would make it. */
  bool is_usable;
  /** Why not, one sentence; empty if it is usable. */
  char reason[256];
  int64_t num_entries;
  int64_t bytes;
} rlo_cache_info;

/**
 * Look into a cache folder. Makes none.
 * @param path  NULL: the default folder, for which the environment is read.
 * @return RLO_OK, also if there is no folder yet or it may not be used;
 *         RLO_INVALID_ARGUMENT if out_info is NULL; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_cache_inspect(const char *path,
                                                   rlo_cache_info *out_info);

/**
 * Delete the entries of a cache folder, and what writing left behind. Other
 * files and the folder itself stay; processes that use it do not mind.
 * @param path      as for rlo_cache_inspect.
 * @param out_info  what was deleted; may be NULL.
 * @return RLO_OK, also if there is no folder; RLO_UNSUPPORTED if the folder is
 *         one that contexts do not use; RLO_OUT_OF_MEMORY; RLO_IO.
 */
RLO_API RLO_NODISCARD rlo_status rlo_cache_clear(const char *path,
                                                 rlo_cache_info *out_info);

RLO_END_DECLS

#endif
