/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
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

/** The first, and so the fastest, that the memories are aligned for. */
static rlo_status choose_variant(rlo_plan *plan,
                                 const rlo__operand *src,
                                 const rlo__operand *dst,
                                 rlo__variant **out_variant) {
  for (int32_t i = 0; i < plan->num_variants; ++i) {
    rlo__variant *variant = &plan->variants[i];
    if (src->alignment_bytes >= variant->src_alignment_bytes &&
        dst->alignment_bytes >= variant->dst_alignment_bytes) {
      *out_variant = variant;
      return RLO_OK;
    }
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "family %s, as it was asked for, needs memory aligned to "
                  "%lld and %lld bytes; this is aligned to %lld and %lld",
                  plan->info.family,
                  (long long)plan->variants[0].src_alignment_bytes,
                  (long long)plan->variants[0].dst_alignment_bytes,
                  (long long)src->alignment_bytes,
                  (long long)dst->alignment_bytes);
}

/** Nothing to do, but somebody may want to know when it is done. */
static rlo_status enqueue_nothing(const rlo__variant_target *target) {
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

rlo_status rlo_enqueue(rlo_plan *plan,
                       cl_command_queue queue,
                       cl_mem src,
                       int64_t src_offset_bytes,
                       cl_mem dst,
                       int64_t dst_offset_bytes,
                       cl_uint num_wait,
                       const cl_event *wait_list,
                       cl_event *out_event) {
  if (plan == NULL || queue == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    plan == NULL ? "plan" : "queue");
  }
  rlo_context *context = plan->context;
  RLO_TRY(rlo__context_check_process(context));
  RLO_TRY(check_queue(context, queue));
  RLO_TRY(check_wait_list(context, num_wait, wait_list));
  rlo__operand src_operand;
  rlo__operand dst_operand;
  const rlo__operand_need src_need = {
      RLO__OPERAND_SRC, plan->info.src_bytes, plan->element_bytes};
  const rlo__operand_need dst_need = {
      RLO__OPERAND_DST, plan->info.dst_bytes, plan->element_bytes};
  RLO_TRY(rlo__operand_resolve(
      context, &src_need, src, src_offset_bytes, &src_operand));
  RLO_TRY(rlo__operand_resolve(
      context, &dst_need, dst, dst_offset_bytes, &dst_operand));
  RLO_TRY(rlo__operand_check_overlap(&src_operand, &dst_operand));

  const rlo__variant_target target = {.queue = queue,
                                      .src = src,
                                      .dst = dst,
                                      .src_offset_bytes = src_offset_bytes,
                                      .dst_offset_bytes = dst_offset_bytes,
                                      .num_wait = num_wait,
                                      .wait_list = wait_list,
                                      .out_event = out_event};
  if (plan->num_variants == 0) {
    return enqueue_nothing(&target);
  }
  rlo__variant *variant = NULL;
  RLO_TRY(choose_variant(plan, &src_operand, &dst_operand, &variant));
  return rlo__variant_enqueue(context, variant, &target);
}
