/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_EXCHANGE_TASK_H
#define RLO_EXCHANGE_TASK_H

#include "host/mover.h"
#include "relayout/chain.h"
#include "relayout/opencl.h"

/**
 * A list of problems made ready for one place: plans of a context, or movers of
 * the host. They run in order, from one memory into another one.
 */
typedef struct rlo__task {
  int32_t count;
  /** Either is NULL. Owned. */
  rlo_plan **plans;
  rlo__host_mover **movers;
  /** Of the host: all it does is to copy one run of bytes, from here to there.
   */
  bool is_run;
  int64_t run_src_offset, run_dst_offset;
} rlo__task;

/**
 * Prepares a task and releases the list, whatever happens.
 * @param context  NULL: the host.
 * @return RLO_OK; what rlo_plan_create or rlo__host_mover_create returns;
 *         RLO_OUT_OF_MEMORY. On failure *out_task is empty.
 */
RLO_NODISCARD rlo_status rlo__task_init(rlo_context *context,
                                        rlo_problem_list *list,
                                        rlo__task *out_task);

/** Legal on zeroed storage. */
void rlo__task_deinit(rlo__task *task);

/** Runs a task of the host. */
RLO_NODISCARD rlo_status rlo__task_run(const rlo__task *task,
                                       const void *src,
                                       void *dst,
                                       int32_t num_threads);

/** Enqueues a task of a context on an in-order queue.
 *  @param wait  what the first problem waits for; NULL: nothing.
 *  @param out_event  that of the last problem, for the caller to release; NULL
 *                    if there is none, and on failure. */
RLO_NODISCARD rlo_status rlo__task_enqueue(const rlo__task *task,
                                           cl_command_queue queue,
                                           const rlo_operands *operands,
                                           cl_event wait,
                                           cl_event *out_event);

#endif
