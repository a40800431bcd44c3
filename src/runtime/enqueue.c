/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/opencl.h"

#include "base/options.h"
#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/operand.h"
#include "runtime/plan_handle.h"

static rlo_status check_event(const rlo_context *context, cl_uint index, cl_event event) {
  if (event == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "event %u of the wait list is NULL", (unsigned)index);
  }
  cl_context event_context = NULL;
  RLO_TRY(
      RLO_CL(clGetEventInfo, event, CL_EVENT_CONTEXT, sizeof event_context, &event_context, NULL));
  if (event_context != context->cl_context) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "event %u of the wait list is of another context than the "
                    "plan",
                    (unsigned)index);
  }
  /* A command that waits for a failed event should fail too, but PoCL 3.1 lets
   * it wait forever. */
  cl_int execution = CL_COMPLETE;
  RLO_TRY(RLO_CL(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution,
                 &execution, NULL));
  if (execution < 0) {
    return rlo__status_fail_cl(RLO_DEVICE, "clGetEventInfo", execution,
                               "event %u of the wait list has failed with %s "
                               "(%d)",
                               (unsigned)index, rlo__cl_error_name(execution), (int)execution);
  }
  return RLO_OK;
}

static rlo_status check_wait_list(const rlo_context *context, cl_uint num_wait,
                                  const cl_event *wait_list) {
  if ((num_wait == 0) != (wait_list == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "a wait list of %u events is %s", (unsigned)num_wait,
                    wait_list == NULL ? "NULL" : "not NULL");
  }
  for (cl_uint i = 0; i < num_wait; ++i) {
    RLO_TRY(check_event(context, i, wait_list[i]));
  }
  return RLO_OK;
}

static rlo_status check_queue(const rlo_context *context, cl_command_queue queue) {
  cl_context queue_context = NULL;
  RLO_TRY(RLO_CL(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, sizeof queue_context,
                 &queue_context, NULL));
  if (queue_context != context->cl_context) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the queue is of another context than the plan");
  }
  cl_device_id queue_device = NULL;
  RLO_TRY(RLO_CL(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE, sizeof queue_device, &queue_device,
                 NULL));
  if (queue_device != context->cl_device) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the queue is of another device than the plan, which is "
                    "for %s",
                    context->device_name);
  }
  return RLO_OK;
}

/** The operands by their sides. */
typedef rlo__operand operand_list[RLO__NUM_OPERANDS + 1];

/** Checks the operands against the plan and against each other. */
static rlo_status resolve(const rlo_plan *plan, operand_list operands) {
  for (int32_t n = 0; n < plan->num_operands; ++n) {
    const rlo__operand_need *need = &plan->operands[n];
    RLO_TRY(rlo__operand_resolve(plan->context, need, &operands[need->side]));
    for (int32_t k = 0; k < n; ++k) {
      const rlo__operand_side before = plan->operands[k].side;
      if (rlo__operand_is_written(need->side) || rlo__operand_is_written(before)) {
        RLO_TRY(rlo__operand_check_overlap(&operands[before], &operands[need->side]));
      }
    }
  }
  return RLO_OK;
}

/** The queue and the events of one enqueue. */
typedef struct submission {
  cl_command_queue queue;
  cl_uint num_wait;
  const cl_event *wait_list;
  cl_event *out_event;
} submission;

/** Creates the event of a plan that launches no kernel. */
static rlo_status enqueue_marker(const submission *to) {
  if (to->out_event == NULL) {
    return RLO_OK;
  }
  cl_event event = NULL;
  RLO_TRY(RLO_CL(clEnqueueMarkerWithWaitList, to->queue, to->num_wait, to->wait_list, &event));
  *to->out_event = event;
  return RLO_OK;
}

/** Enqueues one launch of each step; each waits for the step before it. */
static rlo_status enqueue_launches(rlo_plan *plan, rlo__planned *const *launches,
                                   const operand_list operands, const submission *to) {
  cl_event last = NULL;
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    const rlo__plan_step *step = &plan->steps[n];
    const rlo__operand *src = &operands[step->src];
    const rlo__operand *dst = &operands[step->dst];
    const rlo__operand *indices = &operands[step->indices];
    const bool is_last = n + 1 == plan->num_steps;
    cl_event event = NULL;
    const rlo__launch_target target = {.queue = to->queue,
                                       .src = src->memory,
                                       .dst = dst->memory,
                                       .indices = indices->memory,
                                       .src_offset_bytes = src->offset_bytes,
                                       .dst_offset_bytes = dst->offset_bytes,
                                       .index_offset_bytes = indices->offset_bytes,
                                       .num_wait = last != NULL ? 1 : to->num_wait,
                                       .wait_list = last != NULL ? &last : to->wait_list,
                                       .out_event = is_last ? to->out_event : &event};
    rlo_status status = rlo__planned_enqueue(launches[n], &target);
    if (last != NULL) {
      clReleaseEvent(last);
    }
    RLO_TRY(status);
    last = event;
  }
  return RLO_OK;
}

static rlo_status enqueue(rlo_plan *plan, const rlo_operands *operands, const submission *to) {
  rlo_context *context = plan->context;
  RLO_TRY(rlo__context_check_process(context));
  RLO_TRY(check_queue(context, to->queue));
  RLO_TRY(check_wait_list(context, to->num_wait, to->wait_list));
  operand_list bound = {
      [RLO__OPERAND_SRC] = {.memory = operands->src, .offset_bytes = operands->src_offset_bytes},
      [RLO__OPERAND_DST] = {.memory = operands->dst, .offset_bytes = operands->dst_offset_bytes},
      [RLO__OPERAND_INDICES] = {.memory = operands->indices,
                                .offset_bytes = operands->index_offset_bytes},
      [RLO__OPERAND_SCRATCH] = {.memory = operands->scratch,
                                .offset_bytes = operands->scratch_offset_bytes},
      [RLO__OPERAND_NONE] = {.alignment_bytes = context->device_info.base_alignment_bytes}};
  RLO_TRY(resolve(plan, bound));
  /* Every launch is chosen and built before the first one is enqueued. */
  rlo__planned *launches[RLO__PLAN_MAX_STEPS];
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    RLO_TRY(rlo__plan_step_choose(&plan->steps[n], bound[plan->steps[n].src].alignment_bytes,
                                  bound[plan->steps[n].dst].alignment_bytes, &launches[n]));
  }
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    RLO_TRY(rlo__planned_build(launches[n], RLO__BUILD_FOREGROUND, &launches[n]));
  }
  return plan->num_steps == 0 ? enqueue_marker(to) : enqueue_launches(plan, launches, bound, to);
}

rlo_status rlo_enqueue(rlo_plan *plan, cl_command_queue queue, cl_mem src, int64_t src_offset_bytes,
                       cl_mem dst, int64_t dst_offset_bytes, cl_uint num_wait,
                       const cl_event *wait_list, cl_event *out_event) {
  RLO_REQUIRE(plan, queue);
  if (plan->num_operands > 2 && plan->info.index_bytes == 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the plan needs %lld bytes of scratch memory; "
                    "rlo_enqueue_operands takes it",
                    (long long)plan->info.scratch_bytes);
  }
  if (plan->num_operands > 2) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the plan loads %lld bytes of indices; "
                    "rlo_enqueue_operands takes them",
                    (long long)plan->info.index_bytes);
  }
  const rlo_operands operands = {.struct_size = sizeof operands,
                                 .src = src,
                                 .src_offset_bytes = src_offset_bytes,
                                 .dst = dst,
                                 .dst_offset_bytes = dst_offset_bytes};
  const submission to = {queue, num_wait, wait_list, out_event};
  return enqueue(plan, &operands, &to);
}

rlo_status rlo_enqueue_operands(rlo_plan *plan, cl_command_queue queue,
                                const rlo_operands *operands, cl_uint num_wait,
                                const cl_event *wait_list, cl_event *out_event) {
  RLO_REQUIRE(plan, queue, operands);
  rlo_operands known = RLO_OPERANDS_INIT;
  RLO_TRY(rlo__options_read("operands", "RLO_OPERANDS_INIT", operands, &known, sizeof known));
  const submission to = {queue, num_wait, wait_list, out_event};
  return enqueue(plan, &known, &to);
}
