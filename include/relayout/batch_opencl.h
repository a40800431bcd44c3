/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_BATCH_OPENCL_H
#define RELAYOUT_BATCH_OPENCL_H

#include "relayout/batch.h"
#include "relayout/opencl.h"

RLO_BEGIN_DECLS

/** Items, planned for a device and built. Immutable; any number of threads may enqueue one
 *  at once. */
typedef struct rlo_batch rlo_batch;

/**
 * Plans and builds a batch, and gives the device tables of its items: 32 bytes for each,
 * 8 for each group of work-items, beside the memory budget.
 *
 * There is one launch for each program and pair of memories: give tensors that have a
 * buffer in common one memory and offsets. Problems of one family that differ in extents
 * and strides mostly share a program. There is a launch for each item that sums, has
 * elements of less than a byte, or is taken by no family but the one for all problems.
 *
 * @param items         borrowed; NULL only if `count` is 0.
 * @param num_memories  above all numbers in the items.
 * @param options       as for rlo_plan_create, for all items; `effort` and
 *                      `max_scratch_bytes` are not used. NULL for the defaults.
 * @param out_batch     the caller's: rlo_batch_release. On failure NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL, a negative count, the number of a memory
 *         that is not there, a misaligned offset, or items that read or write what another
 *         one writes; RLO_OUT_OF_RANGE for a negative offset; RLO_UNSUPPORTED for a problem
 *         that loads indices; as rlo_plan_create and rlo_plan_prepare. Sentences name the
 *         item. Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_batch_create(rlo_context *context, const rlo_batch_item *items,
                                                  int32_t count, int32_t num_memories,
                                                  const rlo_plan_options *options,
                                                  rlo_batch **out_batch);

/** Releases a batch, whose work may be in flight; NULL is legal. */
RLO_API void rlo_batch_release(rlo_batch *batch);

/** A memory of a batch: a buffer, or a pointer as in rlo_operands, and where it begins. */
typedef struct rlo_batch_memory {
  cl_mem buffer;
  void *pointer;
  int64_t offset_bytes;
} rlo_batch_memory;

/**
 * Enqueues a batch, as rlo_enqueue does a plan. Costs nothing for an item. The launches are
 * chained by events; one event tells that all items are done.
 *
 * @param memories  as many as the batch was created for, borrowed; those that no item
 *                  names may be zeros. Each begins, with its offset, at a multiple of 64
 *                  bytes, or of the element's size if no offset of its items is. One that
 *                  items write overlaps no other one.
 * @return as rlo_enqueue, for a plan of several steps; RLO_UNSUPPORTED for a memory that is
 *         less aligned. Sentences name the memory. Threads: safe, on one batch too.
 */
RLO_API RLO_NODISCARD rlo_status rlo_batch_enqueue(const rlo_batch *batch, cl_command_queue queue,
                                                   const rlo_batch_memory *memories,
                                                   cl_uint num_wait, const cl_event *wait_list,
                                                   cl_event *out_event);

RLO_END_DECLS

#endif
