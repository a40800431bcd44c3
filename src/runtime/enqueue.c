/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/launch.h"

#include <CL/cl_ext.h>

#include "base/options.h"
#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/operand.h"
#include "runtime/plan_handle.h"

static rlo_status check_event(const rlo_context *context, cl_uint index, cl_event event) {
  RLO_FAIL_IF(event == NULL, RLO_INVALID_ARGUMENT, "event %u of the wait list is NULL",
              (unsigned)index);
  cl_context event_context = NULL;
  RLO_TRY(
      RLO_CL(clGetEventInfo, event, CL_EVENT_CONTEXT, sizeof event_context, &event_context, NULL));
  RLO_FAIL_IF(event_context != context->cl_context, RLO_INVALID_ARGUMENT,
              "event %u of the wait list is of another context than the plan", (unsigned)index);
  /* A command that waits for a failed event should fail too, but PoCL 3.1 lets
   * it wait forever. */
  cl_int execution = CL_COMPLETE;
  RLO_TRY(RLO_CL(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution,
                 &execution, NULL));
  if (execution < 0) {
    return rlo__status_fail_cl(RLO_DEVICE, "clGetEventInfo", execution,
                               "event %u of the wait list has failed with %s (%d)", (unsigned)index,
                               rlo__cl_error_name(execution), (int)execution);
  }
  return RLO_OK;
}

static rlo_status check_wait_count(cl_uint num_wait, const void *wait_list, const char *what) {
  RLO_FAIL_IF((num_wait == 0) != (wait_list == NULL), RLO_INVALID_ARGUMENT,
              "a wait list of %u %s is %s", (unsigned)num_wait, what,
              wait_list == NULL ? "NULL" : "not NULL");
  return RLO_OK;
}

static rlo_status check_wait_list(const rlo_context *context, cl_uint num_wait,
                                  const cl_event *wait_list) {
  RLO_TRY(check_wait_count(num_wait, wait_list, "events"));
  for (cl_uint i = 0; i < num_wait; ++i) {
    RLO_TRY(check_event(context, i, wait_list[i]));
  }
  return RLO_OK;
}

static rlo_status check_queue(const rlo_context *context, cl_command_queue queue) {
  cl_context queue_context = NULL;
  RLO_TRY(RLO_CL(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, sizeof queue_context,
                 &queue_context, NULL));
  RLO_FAIL_IF(queue_context != context->cl_context, RLO_INVALID_ARGUMENT,
              "the queue is of another context than the plan");
  cl_device_id queue_device = NULL;
  RLO_TRY(RLO_CL(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE, sizeof queue_device, &queue_device,
                 NULL));
  RLO_FAIL_IF(queue_device != context->cl_device, RLO_INVALID_ARGUMENT,
              "the queue is of another device than the plan, which is for %s",
              context->device_name);
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

/** Calls a function with each launch of a plan, in their order. Every one is chosen and
 *  built before the first call. */
static rlo_status for_each_launch(rlo_plan *plan, const rlo_operands *operands, rlo_launch_fn fn,
                                  void *payload) {
  rlo_context *context = plan->context;
  operand_list bound = {
      [RLO__OPERAND_SRC] = {.memory = operands->src,
                            .pointer = operands->src_pointer,
                            .offset_bytes = operands->src_offset_bytes},
      [RLO__OPERAND_DST] = {.memory = operands->dst,
                            .pointer = operands->dst_pointer,
                            .offset_bytes = operands->dst_offset_bytes},
      [RLO__OPERAND_INDICES] = {.memory = operands->indices,
                                .pointer = operands->index_pointer,
                                .offset_bytes = operands->index_offset_bytes},
      [RLO__OPERAND_SCRATCH] = {.memory = operands->scratch,
                                .pointer = operands->scratch_pointer,
                                .offset_bytes = operands->scratch_offset_bytes},
      [RLO__OPERAND_NONE] = {.alignment_bytes = context->device_info.base_alignment_bytes}};
  RLO_TRY(resolve(plan, bound));
  rlo__planned *launches[RLO__PLAN_MAX_STEPS];
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    RLO_TRY(rlo__plan_step_choose(&plan->steps[n], bound[plan->steps[n].src].alignment_bytes,
                                  bound[plan->steps[n].dst].alignment_bytes, &launches[n]));
  }
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    RLO_TRY(rlo__planned_build(launches[n], RLO__BUILD_FOREGROUND, &launches[n]));
  }
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    const rlo__plan_step *step = &plan->steps[n];
    const rlo__launch_operands memories = {&bound[step->src], &bound[step->dst],
                                           &bound[step->indices]};
    RLO_TRY(rlo__planned_launch(launches[n], &memories, n, plan->num_steps, fn, payload));
  }
  return RLO_OK;
}

/* ----------------------------------------------------------------- enqueueing */

/** Creates the event of a plan that launches no kernel. */
static rlo_status enqueue_marker(const rlo__submission *to) {
  if (to->out_event == NULL) {
    return RLO_OK;
  }
  cl_event event = NULL;
  RLO_TRY(RLO_CL(clEnqueueMarkerWithWaitList, to->queue, to->num_wait, to->wait_list, &event));
  *to->out_event = event;
  return RLO_OK;
}

rlo_status rlo__submission_check(const rlo__submission *to) {
  RLO_TRY(check_queue(to->context, to->queue));
  return check_wait_list(to->context, to->num_wait, to->wait_list);
}

rlo_status rlo__submission_end(const rlo__submission *to, rlo_status status, bool is_empty) {
  if (to->last != NULL) {
    /* A later step has failed. */
    clReleaseEvent(to->last);
  }
  return status == RLO_OK && is_empty ? enqueue_marker(to) : status;
}

static rlo_status enqueue(rlo_plan *plan, const rlo_operands *operands, rlo__submission *to) {
  RLO_TRY(rlo__submission_check(to));
  const rlo_status status = for_each_launch(plan, operands, rlo__launch_enqueue, to);
  return rlo__submission_end(to, status, plan->num_steps == 0);
}

rlo_status rlo_enqueue(rlo_plan *plan, cl_command_queue queue, cl_mem src, int64_t src_offset_bytes,
                       cl_mem dst, int64_t dst_offset_bytes, cl_uint num_wait,
                       const cl_event *wait_list, cl_event *out_event) {
  RLO_REQUIRE(plan, queue);
  RLO_FAIL_IF(plan->num_operands > 2 && plan->info.index_bytes == 0, RLO_INVALID_ARGUMENT,
              "the plan needs %lld bytes of scratch memory; rlo_enqueue_operands takes it",
              (long long)plan->info.scratch_bytes);
  RLO_FAIL_IF(plan->num_operands > 2, RLO_INVALID_ARGUMENT,
              "the plan loads %lld bytes of indices; rlo_enqueue_operands takes them",
              (long long)plan->info.index_bytes);
  const rlo_operands operands = {.struct_size = sizeof operands,
                                 .src = src,
                                 .src_offset_bytes = src_offset_bytes,
                                 .dst = dst,
                                 .dst_offset_bytes = dst_offset_bytes};
  rlo__submission to = {plan->context, queue, num_wait, wait_list, out_event, NULL};
  RLO_TRY(rlo__context_check_process(plan->context));
  return enqueue(plan, &operands, &to);
}

/** Reads the operands of a caller, whose process may use the plan. */
static rlo_status read_operands(const rlo_plan *plan, const rlo_operands *operands,
                                rlo_operands *out_known) {
  RLO_REQUIRE(operands);
  *out_known = (rlo_operands)RLO_OPERANDS_INIT;
  RLO_TRY(
      rlo__options_read("operands", "RLO_OPERANDS_INIT", operands, out_known, sizeof *out_known));
  return rlo__context_check_process(plan->context);
}

rlo_status rlo_enqueue_operands(rlo_plan *plan, cl_command_queue queue,
                                const rlo_operands *operands, cl_uint num_wait,
                                const cl_event *wait_list, cl_event *out_event) {
  RLO_REQUIRE(plan, queue);
  rlo_operands known;
  RLO_TRY(read_operands(plan, operands, &known));
  rlo__submission to = {plan->context, queue, num_wait, wait_list, out_event, NULL};
  return enqueue(plan, &known, &to);
}

rlo_status rlo_plan_get_launches(rlo_plan *plan, const rlo_operands *operands, rlo_launch_fn fn,
                                 void *payload) {
  RLO_REQUIRE(plan, fn);
  rlo_operands known;
  RLO_TRY(read_operands(plan, operands, &known));
  return for_each_launch(plan, &known, fn, payload);
}

/* ------------------------------------------------------------ command buffers */

/** A command buffer and the sync points of one recording. */
typedef struct recording {
  clCommandNDRangeKernelKHR_fn command;
  cl_command_buffer_khr buffer;
  cl_uint num_wait;
  const cl_sync_point_khr *wait_list;
  cl_sync_point_khr last;
} recording;

static rlo_status record_launch(void *payload, const rlo_launch *launch) {
  recording *to = payload;
  const cl_sync_point_khr before = to->last;
  const bool is_first = launch->step == 0;
  return rlo__cl_error_check(
      "clCommandNDRangeKernelKHR",
      to->command(to->buffer, NULL, NULL, launch->kernel, launch->work_dim, NULL,
                  launch->global_size, launch->local_size, is_first ? to->num_wait : 1,
                  is_first ? to->wait_list : &before, &to->last, NULL));
}

rlo_status rlo_command_buffer_record(rlo_plan *plan, const rlo_operands *operands,
                                     struct _cl_command_buffer_khr *buffer, cl_uint num_wait,
                                     const cl_uint *wait_list, cl_uint *out_sync_point) {
  RLO_REQUIRE(plan, buffer);
  rlo_operands known;
  RLO_TRY(read_operands(plan, operands, &known));
  RLO_TRY(check_wait_count(num_wait, wait_list, "sync points"));
  recording to = {.buffer = buffer, .num_wait = num_wait, .wait_list = wait_list};
  *(void **)&to.command = rlo__context_find_function(plan->context, "clCommandNDRangeKernelKHR");
  RLO_FAIL_IF(to.command == NULL, RLO_UNSUPPORTED,
              "the device (%s) has no command buffers (cl_khr_command_buffer)",
              plan->context->device_name);
  RLO_TRY(for_each_launch(plan, &known, record_launch, &to));
  if (out_sync_point != NULL) {
    *out_sync_point = to.last;
  }
  return RLO_OK;
}
