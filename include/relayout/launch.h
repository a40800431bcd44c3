/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_LAUNCH_H
#define RELAYOUT_LAUNCH_H

#include "relayout/opencl.h"

RLO_BEGIN_DECLS

/** A kernel of a plan, ready to be enqueued or recorded. */
typedef struct rlo_launch {
  /** sizeof(rlo_launch), by the library's header. */
  size_t struct_size;
  /** With all arguments set. Borrowed for the call: what is enqueued or recorded in it
   *  has its own copy of the arguments. clCloneKernel makes one that stays. */
  cl_kernel kernel;
  /** The arguments of clEnqueueNDRangeKernel, of work_dim sizes each. There is no global
   *  offset. */
  cl_uint work_dim;
  const size_t *global_size, *local_size;
  /** From 0; each step but the first waits for the step before. */
  int32_t step, num_steps;
} rlo_launch;

/** Receives a launch. Any status but RLO_OK ends the call that it is made in, which
 *  returns it. */
typedef rlo_status (*rlo_launch_fn)(void *payload, const rlo_launch *launch);

/**
 * Hands out the launches of a plan for a caller that enqueues, records or times them
 * itself. Nothing is enqueued here; builds as rlo_enqueue does.
 * @param operands  borrowed for the call; checked as by rlo_enqueue_operands.
 * @param fn        called once for each step, in their order, by this thread, without a
 *                  lock; never for a problem without points. It may call any function
 *                  of the library.
 * @return the status of `fn` if that is not RLO_OK; else as rlo_enqueue_operands, before
 *         the first call but for RLO_DEVICE and RLO_OUT_OF_MEMORY.
 * Threads: safe, on one plan too.
 */
RLO_API RLO_NODISCARD rlo_status rlo_plan_get_launches(rlo_plan *plan, const rlo_operands *operands,
                                                       rlo_launch_fn fn, void *payload);

struct _cl_command_buffer_khr;

/**
 * Records a plan in a command buffer of cl_khr_command_buffer, whose queue belongs to
 * the plan's context and device.
 * @param buffer     a cl_command_buffer_khr that is being recorded, borrowed. What it
 *                   keeps is the driver's own; plan and context may be released before it.
 * @param num_wait, wait_list  0 and NULL, or that many sync points of the buffer.
 * @param out_sync_point  may be NULL. Of the last step; 0 for a problem without points, for
 *                   which nothing is recorded. Unchanged on failure, after which the buffer
 *                   is of no use.
 * @return as rlo_enqueue_operands; RLO_UNSUPPORTED if the driver lacks the extension.
 * Threads: safe, as long as one thread records a buffer.
 */
RLO_API RLO_NODISCARD rlo_status rlo_command_buffer_record(
    rlo_plan *plan, const rlo_operands *operands, struct _cl_command_buffer_khr *buffer,
    cl_uint num_wait, const cl_uint *wait_list, cl_uint *out_sync_point);

RLO_END_DECLS

#endif
