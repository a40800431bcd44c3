/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/enqueue.h"

#include "base/options.h"
#include "base/status.h"
#include "relayout/opencl.h"
#include "runtime/cl_error.h"
#include "runtime/operand.h"
#include "runtime/plan_handle.h"

static rlo_status check_event(const rlo_context *context,
                              cl_uint number,
                              cl_event event) {
  if (event == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "event %u of the wait list is NULL",
                    (unsigned)number);
  }
  cl_context event_context = NULL;
  RLO_TRY(RLO_CL(clGetEventInfo,
                 event,
                 CL_EVENT_CONTEXT,
                 sizeof event_context,
                 &event_context,
                 NULL));
  if (event_context != context->cl_context) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "event %u of the wait list is of another context than the "
                    "plan",
                    (unsigned)number);
  }
  /* What waits for an event that failed should fail too, but with PoCL 3.1 it
   * waits for ever. */
  cl_int execution = CL_COMPLETE;
  RLO_TRY(RLO_CL(clGetEventInfo,
                 event,
                 CL_EVENT_COMMAND_EXECUTION_STATUS,
                 sizeof execution,
                 &execution,
                 NULL));
  if (execution < 0) {
    return rlo__status_fail_cl(RLO_DEVICE,
                               "clGetEventInfo",
                               execution,
                               "event %u of the wait list has failed with %s "
                               "(%d)",
                               (unsigned)number,
                               rlo__cl_error_name(execution),
                               (int)execution);
  }
  return RLO_OK;
}

static rlo_status check_wait_list(const rlo_context *context,
                                  cl_uint num_wait,
                                  const cl_event *wait_list) {
  if ((num_wait == 0) != (wait_list == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a wait list of %u events is %s",
                    (unsigned)num_wait,
                    wait_list == NULL ? "NULL" : "not NULL");
  }
  for (cl_uint i = 0; i < num_wait; ++i) {
    RLO_TRY(check_event(context, i, wait_list[i]));
  }
  return RLO_OK;
}

static rlo_status check_queue(const rlo_context *context,
                              cl_command_queue queue) {
  cl_context queue_context = NULL;
  RLO_TRY(RLO_CL(clGetCommandQueueInfo,
                 queue,
                 CL_QUEUE_CONTEXT,
                 sizeof queue_context,
                 &queue_context,
                 NULL));
  if (queue_context != context->cl_context) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the queue is of another context than the plan");
  }
  cl_device_id queue_device = NULL;
  RLO_TRY(RLO_CL(clGetCommandQueueInfo,
                 queue,
                 CL_QUEUE_DEVICE,
                 sizeof queue_device,
                 &queue_device,
                 NULL));
  if (queue_device != context->cl_device) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the queue is of another device than the plan, which is "
                    "for %s",
                    context->device_name);
  }
  return RLO_OK;
}

rlo_status rlo__enqueue_check(const rlo_context *context,
                              cl_command_queue queue,
                              cl_uint num_wait,
                              const cl_event *wait_list) {
  RLO_TRY(rlo__context_check_process(context));
  RLO_TRY(check_queue(context, queue));
  return check_wait_list(context, num_wait, wait_list);
}

/** Nothing to do, but somebody may want to know when it is done. */
static rlo_status enqueue_nothing(const rlo__launch_target *target) {
  if (target->out_event == NULL) {
    return RLO_OK;
  }
  cl_event event = NULL;
  RLO_TRY(RLO_CL(clEnqueueMarkerWithWaitList,
                 target->queue,
                 target->num_wait,
                 target->wait_list,
                 &event));
  *target->out_event = event;
  return RLO_OK;
}

/** What the plan needs and was given, checked. */
typedef struct resolved {
  rlo__operand src, dst, indices;
} resolved;

static rlo_status resolve(const rlo_plan *plan,
                          const rlo_operands *operands,
                          resolved *out) {
  const rlo_context *context = plan->context;
  const rlo__operand_need src_need = {.side = RLO__OPERAND_SRC,
                                      .bytes = plan->info.src_bytes,
                                      .element_bytes = plan->src_element_bytes};
  const rlo__operand_need dst_need = {.side = RLO__OPERAND_DST,
                                      .bytes = plan->info.dst_bytes,
                                      .element_bytes = plan->dst_element_bytes,
                                      .is_updated = plan->is_updating};
  RLO_TRY(rlo__operand_resolve(context,
                               &src_need,
                               operands->src,
                               operands->src_offset_bytes,
                               &out->src));
  RLO_TRY(rlo__operand_resolve(context,
                               &dst_need,
                               operands->dst,
                               operands->dst_offset_bytes,
                               &out->dst));
  RLO_TRY(rlo__operand_check_overlap(&out->src, &out->dst));
  if (plan->index_element_bytes == 0) {
    return RLO_OK;
  }
  const rlo__operand_need index_need = {
      .side = RLO__OPERAND_INDICES,
      .bytes = plan->info.index_bytes,
      .element_bytes = plan->index_element_bytes};
  RLO_TRY(rlo__operand_resolve(context,
                               &index_need,
                               operands->indices,
                               operands->index_offset_bytes,
                               &out->indices));
  return rlo__operand_check_overlap(&out->indices, &out->dst);
}

static rlo_status enqueue(rlo_plan *plan,
                          cl_command_queue queue,
                          const rlo_operands *operands,
                          cl_uint num_wait,
                          const cl_event *wait_list,
                          cl_event *out_event) {
  rlo_context *context = plan->context;
  RLO_TRY(rlo__enqueue_check(context, queue, num_wait, wait_list));
  resolved memory;
  RLO_TRY(resolve(plan, operands, &memory));
  const rlo__launch_target target = {
      .queue = queue,
      .src = operands->src,
      .dst = operands->dst,
      .indices = operands->indices,
      .src_offset_bytes = operands->src_offset_bytes,
      .dst_offset_bytes = operands->dst_offset_bytes,
      .index_offset_bytes = operands->index_offset_bytes,
      .num_wait = num_wait,
      .wait_list = wait_list,
      .out_event = out_event};
  rlo__prepared_launch *launch = NULL;
  RLO_TRY(rlo__plan_choose_launch(
      plan, memory.src.alignment_bytes, memory.dst.alignment_bytes, &launch));
  return launch == NULL
             ? enqueue_nothing(&target)
             : rlo__prepared_launch_enqueue(context, launch, &target);
}

static rlo_status check_objects(const rlo_plan *plan, cl_command_queue queue) {
  if (plan == NULL || queue == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    plan == NULL ? "plan" : "queue");
  }
  return RLO_OK;
}

rlo_status rlo_enqueue(rlo_plan *plan,
                       cl_command_queue queue,
                       cl_mem src,
                       int64_t src_offset_bytes,
                       cl_mem dst,
                       int64_t dst_offset_bytes,
                       cl_uint num_wait,
                       const cl_event *wait_list,
                       cl_event *out_event) {
  RLO_TRY(check_objects(plan, queue));
  if (plan->index_element_bytes > 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the plan loads %lld bytes of indices; "
                    "rlo_enqueue_operands takes them",
                    (long long)plan->info.index_bytes);
  }
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.src = src;
  operands.src_offset_bytes = src_offset_bytes;
  operands.dst = dst;
  operands.dst_offset_bytes = dst_offset_bytes;
  return enqueue(plan, queue, &operands, num_wait, wait_list, out_event);
}

rlo_status rlo_enqueue_operands(rlo_plan *plan,
                                cl_command_queue queue,
                                const rlo_operands *operands,
                                cl_uint num_wait,
                                const cl_event *wait_list,
                                cl_event *out_event) {
  RLO_TRY(check_objects(plan, queue));
  RLO_TRY(rlo__options_check(
      "operands", "RLO_OPERANDS_INIT", operands, sizeof *operands));
  return enqueue(plan, queue, operands, num_wait, wait_list, out_event);
}
