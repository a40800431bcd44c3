/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_OPENCL_INDEXED_H
#define RELAYOUT_OPENCL_INDEXED_H

#include "relayout/indexed.h"
#include "relayout/opencl.h"

RLO_BEGIN_DECLS

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
} rlo_operands;

#define RLO_OPERANDS_INIT \
  { sizeof(rlo_operands), NULL, 0, NULL, 0, NULL, 0 }

/**
 * rlo_enqueue for any plan, also for one whose problem loads indices, such as a
 * gather's, which rlo_enqueue refuses with RLO_INVALID_ARGUMENT. Whatever the
 * indices are, no byte outside of the operands is touched.
 * @param operands  borrowed for the call.
 * @return as rlo_enqueue; RLO_INVALID_ARGUMENT also for operands that are NULL
 * or of another struct_size. Threads: safe, on one plan too.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_enqueue_operands(rlo_plan *plan,
                     cl_command_queue queue,
                     const rlo_operands *operands,
                     cl_uint num_wait,
                     const cl_event *wait_list,
                     cl_event *out_event);

/** A segment sum, planned for a device: up to three kernels that turn the ids
 *  round, then those of its problems. Immutable; any number of threads may
 *  enqueue one plan at once, each with scratch memory of its own. */
typedef struct rlo_segment_plan rlo_segment_plan;

/**
 * Plan a segment sum for a context's device. Builds nothing yet, unless the
 * options ask to measure: then what fills is measured, not what loads.
 * @param sum       borrowed for the call.
 * @param options   as rlo_plan_create takes them; `family` is that of the sum
 *                  alone. NULL for the defaults.
 * @param out_plan  the caller's, to be given to rlo_segment_plan_release.
 * @return as rlo_plan_create.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_segment_plan_create(rlo_context *context,
                        const rlo_segment_sum *sum,
                        const rlo_plan_options *options,
                        rlo_segment_plan **out_plan);

/** Give a plan back, also while its work is in flight; NULL is legal. */
RLO_API void rlo_segment_plan_release(rlo_segment_plan *plan);

/** Build the plan's programs now. @return as rlo_plan_prepare. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_segment_plan_prepare(rlo_segment_plan *plan);

/** Bytes of scratch memory that an enqueue needs; 0 without rows. The plan is
 *  not NULL. */
RLO_API int64_t rlo_segment_plan_scratch_bytes(const rlo_segment_plan *plan);

/** The memories of a segment sum. Begin with RLO_SEGMENT_OPERANDS_INIT. */
typedef struct rlo_segment_operands {
  /** sizeof(rlo_segment_operands). */
  size_t struct_size;
  /** The rows, read; offsets of whole elements. */
  cl_mem src;
  int64_t src_offset_bytes;
  /** The ids, read. */
  cl_mem ids;
  int64_t ids_offset_bytes;
  cl_mem dst;
  int64_t dst_offset_bytes;
  /** Written and read, its contents before and after mean nothing; at a
   *  multiple of 8 bytes. Overlaps none of the others. */
  cl_mem scratch;
  int64_t scratch_offset_bytes;
} rlo_segment_operands;

#define RLO_SEGMENT_OPERANDS_INIT \
  { sizeof(rlo_segment_operands), NULL, 0, NULL, 0, NULL, 0, NULL, 0 }

/**
 * Enqueue a segment sum: rlo_segment_sum_run_host on a device, bit for bit. The
 * kernels are chained by events, whether the queue is in order or not. Whatever
 * the ids are, no byte outside of dst and the scratch is written.
 *
 * @param operands   borrowed for the call; a memory of 0 bytes may be NULL.
 * @param out_event  may be NULL. Otherwise completes after the destination is
 *                   written and the scratch is free; the caller releases it.
 * @return as rlo_enqueue. What the operands, the queue or the wait list have
 *         wrong is found before anything is enqueued; after RLO_DEVICE and
 *         RLO_OUT_OF_MEMORY kernels that came before may run. *out_event is
 *         untouched on failure. Threads: safe, on one plan too.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_enqueue_segment_sum(rlo_segment_plan *plan,
                        cl_command_queue queue,
                        const rlo_segment_operands *operands,
                        cl_uint num_wait,
                        const cl_event *wait_list,
                        cl_event *out_event);

RLO_END_DECLS

#endif
