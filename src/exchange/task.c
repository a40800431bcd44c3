/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/task.h"

#include "base/alloc.h"
#include "base/status.h"

/* Finds out whether a problem copies one run of bytes. */
static rlo_status find_run(const rlo_problem *problem, rlo__task *task) {
  rlo_problem *p = rlo__alloc(sizeof *p);
  if (p == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *p = *problem;
  rlo_status status =
      rlo_problem_canonicalize(p, RLO_MAX_UNIT_BITS, NULL, NULL);
  if (status == RLO_OK && p->update == RLO_UPDATE_STORE && p->num_terms == 0 &&
      p->num_guards == 0 && p->unit_bits % 8 == 0 &&
      (p->num_axes == 0 ||
       (p->num_axes == 1 && p->src.axis[0] == 1 && p->dst.axis[0] == 1))) {
    int64_t unit_bytes = p->unit_bits / 8;
    task->is_run = true;
    task->run_src_offset = p->src.base * unit_bytes;
    task->run_dst_offset = p->dst.base * unit_bytes;
  }
  rlo__free(p);
  return status;
}

static rlo_status fill(rlo_context *context,
                       const rlo_problem_list *list,
                       rlo__task *task) {
  int32_t count = rlo_problem_list_count(list);
  if (count == 0) {
    return RLO_OK;
  }
  if (count == 1 && context == NULL) {
    RLO_TRY(find_run(rlo_problem_list_get(list, 0), task));
  }
  void *array = rlo__alloc_array((size_t)count, sizeof(void *));
  if (array == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  if (context != NULL) {
    task->plans = array;
  } else {
    task->movers = array;
  }
  for (task->count = 0; task->count < count; ++task->count) {
    const rlo_problem *problem = rlo_problem_list_get(list, task->count);
    RLO_TRY(
        context != NULL
            ? rlo_plan_create(context, problem, NULL, &task->plans[task->count])
            : rlo__host_mover_create(problem, &task->movers[task->count]));
  }
  return RLO_OK;
}

rlo_status rlo__task_init(rlo_context *context,
                          rlo_problem_list *list,
                          rlo__task *out_task) {
  *out_task = (rlo__task){0};
  rlo_status status = fill(context, list, out_task);
  rlo_problem_list_release(list);
  if (status != RLO_OK) {
    rlo__task_deinit(out_task);
  }
  return status;
}

void rlo__task_deinit(rlo__task *task) {
  for (int32_t n = 0; n < task->count; ++n) {
    if (task->plans != NULL) {
      rlo_plan_release(task->plans[n]);
    } else {
      rlo__host_mover_release(task->movers[n]);
    }
  }
  rlo__free(task->plans);
  rlo__free(task->movers);
  *task = (rlo__task){0};
}

rlo_status rlo__task_run(const rlo__task *task,
                         const void *src,
                         void *dst,
                         int32_t num_threads) {
  for (int32_t n = 0; n < task->count; ++n) {
    RLO_TRY(rlo__host_mover_run(task->movers[n], src, NULL, dst, num_threads));
  }
  return RLO_OK;
}

rlo_status rlo__task_enqueue(const rlo__task *task,
                             cl_command_queue queue,
                             const rlo_operands *operands,
                             cl_event wait,
                             cl_event *out_event) {
  *out_event = NULL;
  for (int32_t n = 0; n < task->count; ++n) {
    bool is_first = n == 0 && wait != NULL;
    bool is_last = n == task->count - 1;
    RLO_TRY(rlo_enqueue_operands(task->plans[n],
                                 queue,
                                 operands,
                                 is_first ? 1 : 0,
                                 is_first ? &wait : NULL,
                                 is_last ? out_event : NULL));
  }
  return RLO_OK;
}
