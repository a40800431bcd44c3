/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/opencl.h"

#include "base/alloc.h"
#include "base/options.h"
#include "ops/segment_sum.h"
#include "plan/segment_order.h"
#include "runtime/cl_error.h"
#include "runtime/enqueue.h"
#include "runtime/operand.h"
#include "runtime/plan_handle.h"

enum {
  /** Zeros, what stands between the elements, and the sum. */
  MAX_MOVES = 3,
  /** Of a number of the order, and so of the scratch's beginning. */
  SCRATCH_ALIGNMENT_BYTES = 8
};

struct rlo_segment_plan {
  /** Retained. */
  rlo_context *context;
  rlo_segment_sum_sizes sizes;
  int64_t scratch_bytes;
  int64_t src_element_bytes, dst_element_bytes, id_bytes;
  /** 0, or all of them. */
  int32_t num_phases;
  rlo__prepared_launch phases[RLO__SEGMENT_ORDER_PHASES];
  int32_t num_moves;
  rlo_plan *moves[MAX_MOVES];
};

static rlo_status plan_order(rlo_segment_plan *plan,
                             const rlo__segment_ids *ids,
                             rlo_device_class device_class,
                             rlo__launch *launch) {
  const rlo_device_info *device = &plan->context->device_info;
  rlo__segment_cut cut;
  RLO_TRY(rlo__segment_order_cut(ids, device, device_class, &cut));
  plan->scratch_bytes = cut.scratch_bytes;
  for (int32_t phase = 0; phase < RLO__SEGMENT_ORDER_PHASES; ++phase) {
    static const rlo__launch none;
    *launch = none;
    RLO_TRY(rlo__segment_order_emit(
        ids, &cut, device, device_class, phase, launch));
    ++plan->num_phases; /* is given back from here on */
    RLO_TRY(
        rlo__prepared_launch_init(plan->context, launch, &plan->phases[phase]));
  }
  return RLO_OK;
}

static rlo_status plan_moves(rlo_segment_plan *plan,
                             const rlo_moves *moves,
                             const rlo_plan_options *options) {
  int32_t count = rlo_moves_count(moves);
  for (int32_t n = 0; n < count; ++n) {
    const rlo_problem *problem = rlo_moves_problem(moves, n);
    rlo_plan_options mine = RLO_PLAN_OPTIONS_INIT;
    if (options != NULL) {
      mine = *options;
      mine.family = rlo_problem_loads(problem) ? options->family : NULL;
    }
    RLO_TRY(rlo_plan_create(plan->context, problem, &mine, &plan->moves[n]));
    ++plan->num_moves;
  }
  return RLO_OK;
}

rlo_status rlo_segment_plan_create(rlo_context *context,
                                   const rlo_segment_sum *sum,
                                   const rlo_plan_options *options,
                                   rlo_segment_plan **out_plan) {
  if (out_plan == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "no place for the plan");
  }
  *out_plan = NULL;
  if (context == NULL || sum == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    context == NULL ? "context" : "segment sum");
  }
  RLO_TRY(rlo__context_check_process(context));
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo_segment_plan *plan = rlo__alloc(sizeof *plan);
  rlo__launch *launch = rlo__alloc(sizeof *launch);
  if (plan == NULL || launch == NULL) {
    rlo__free(plan);
    plan = NULL;
    goto fail;
  }
  plan->context = rlo__context_ref(context);
  plan->sizes = sum->sizes;
  plan->id_bytes = sum->ids.problem.unit_bits / 8;
  plan->src_element_bytes = sum->src_bits % 8 == 0 ? sum->src_bits / 8 : 1;
  plan->dst_element_bytes = sum->dst_bits % 8 == 0 ? sum->dst_bits / 8 : 1;
  RLO_TRY_GOTO(plan_moves(plan, sum->moves, options));
  if (sum->ids.rows > 0 && sum->ids.segments > 0 && plan->num_moves > 0) {
    rlo_device_class device_class = context->device_info.device_class;
    if (options != NULL && options->device_class != RLO_DEVICE_CLASS_AUTO) {
      device_class = options->device_class;
    }
    RLO_TRY_GOTO(plan_order(plan, &sum->ids, device_class, launch));
  }
  *out_plan = plan;
  plan = NULL;
fail:
  rlo__free(launch);
  rlo_segment_plan_release(plan);
  return status;
}

void rlo_segment_plan_release(rlo_segment_plan *plan) {
  if (plan == NULL || rlo__context_check_process(plan->context) != RLO_OK) {
    return; /* in a child of fork, leak, as rlo_plan_release */
  }
  for (int32_t n = 0; n < plan->num_moves; ++n) {
    rlo_plan_release(plan->moves[n]);
  }
  for (int32_t n = 0; n < plan->num_phases; ++n) {
    rlo__prepared_launch_deinit(plan->context, &plan->phases[n]);
  }
  rlo__context_unref(plan->context);
  rlo__free(plan);
}

/** All programs, so that none has to be built halfway through. */
static rlo_status prepare(rlo_segment_plan *plan,
                          rlo__build_priority priority) {
  for (int32_t n = 0; n < plan->num_phases; ++n) {
    RLO_TRY(
        rlo__prepared_launch_build(plan->context, &plan->phases[n], priority));
  }
  for (int32_t n = 0; n < plan->num_moves; ++n) {
    RLO_TRY(rlo__plan_prepare(plan->moves[n], priority));
  }
  return RLO_OK;
}

rlo_status rlo_segment_plan_prepare(rlo_segment_plan *plan) {
  if (plan == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the plan is NULL");
  }
  RLO_TRY(rlo__context_check_process(plan->context));
  return prepare(plan, RLO__BUILD_BACKGROUND);
}

int64_t rlo_segment_plan_scratch_bytes(const rlo_segment_plan *plan) {
  return plan->scratch_bytes;
}

/** Fills read nothing, and their elements may be larger than the rows'. */
static bool reads_rows(const rlo_plan *move) {
  return move->info.src_bytes > 0;
}

/** Whether every move has a kernel for memories that lie like this: none is to
 *  be refused when others have been enqueued. */
static rlo_status check_alignment(const rlo_segment_plan *plan,
                                  const rlo__operand *src,
                                  const rlo__operand *dst) {
  for (int32_t n = 0; n < plan->num_moves; ++n) {
    rlo_plan *move = plan->moves[n];
    rlo__prepared_launch *launch = NULL;
    RLO_TRY(rlo__plan_choose_launch(
        move,
        reads_rows(move) ? src->alignment_bytes
                         : plan->context->device_info.base_alignment_bytes,
        dst->alignment_bytes,
        &launch));
  }
  return RLO_OK;
}

static rlo_status check_operands(const rlo_segment_plan *plan,
                                 const rlo_segment_operands *o) {
  const rlo__operand_need needs[] = {
      {.side = RLO__OPERAND_SRC,
       .bytes = plan->sizes.src_bytes,
       .element_bytes = plan->src_element_bytes},
      {.side = RLO__OPERAND_INDICES,
       .bytes = plan->sizes.ids_bytes,
       .element_bytes = plan->id_bytes},
      {.side = RLO__OPERAND_DST,
       .bytes = plan->sizes.dst_bytes,
       .element_bytes = plan->dst_element_bytes},
      {.side = RLO__OPERAND_SCRATCH,
       .bytes = plan->scratch_bytes,
       .element_bytes = SCRATCH_ALIGNMENT_BYTES}};
  const cl_mem memories[] = {o->src, o->ids, o->dst, o->scratch};
  const int64_t offsets[] = {o->src_offset_bytes,
                             o->ids_offset_bytes,
                             o->dst_offset_bytes,
                             o->scratch_offset_bytes};
  rlo__operand found[4];
  for (int32_t n = 0; n < 4; ++n) {
    RLO_TRY(rlo__operand_resolve(
        plan->context, &needs[n], memories[n], offsets[n], &found[n]));
  }
  for (int32_t n = 0; n < 2; ++n) {
    RLO_TRY(rlo__operand_check_overlap(&found[n], &found[2]));
    RLO_TRY(rlo__operand_check_overlap(&found[n], &found[3]));
  }
  RLO_TRY(rlo__operand_check_overlap(&found[2], &found[3]));
  return check_alignment(plan, &found[0], &found[2]);
}

/** The events on the way, the latest of which the next launch waits for. */
typedef struct trail {
  cl_uint num_wait;
  const cl_event *wait_list;
  cl_event last;
} trail;

/** Let the trail go on from this event. */
static void follow(trail *t, cl_event event) {
  if (t->last != NULL) {
    clReleaseEvent(t->last);
  }
  t->last = event;
  t->num_wait = 1;
  t->wait_list = &t->last;
}

static rlo_status enqueue_order(rlo_segment_plan *plan,
                                cl_command_queue queue,
                                const rlo_segment_operands *o,
                                trail *t) {
  for (int32_t n = 0; n < plan->num_phases; ++n) {
    cl_event event = NULL;
    const rlo__launch_target target = {
        .queue = queue,
        .src = o->ids,
        .dst = o->scratch,
        .src_offset_bytes = o->ids_offset_bytes,
        .dst_offset_bytes = o->scratch_offset_bytes,
        .num_wait = t->num_wait,
        .wait_list = t->wait_list,
        .out_event = &event};
    RLO_TRY(
        rlo__prepared_launch_enqueue(plan->context, &plan->phases[n], &target));
    follow(t, event);
  }
  return RLO_OK;
}

static rlo_status enqueue_moves(rlo_segment_plan *plan,
                                cl_command_queue queue,
                                const rlo_segment_operands *o,
                                trail *t) {
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.dst = o->dst;
  operands.dst_offset_bytes = o->dst_offset_bytes;
  operands.indices = o->scratch;
  operands.index_offset_bytes = o->scratch_offset_bytes;
  for (int32_t n = 0; n < plan->num_moves; ++n) {
    cl_event event = NULL;
    rlo_plan *move = plan->moves[n];
    operands.src = reads_rows(move) ? o->src : NULL;
    operands.src_offset_bytes = reads_rows(move) ? o->src_offset_bytes : 0;
    RLO_TRY(rlo_enqueue_operands(
        move, queue, &operands, t->num_wait, t->wait_list, &event));
    follow(t, event);
  }
  return RLO_OK;
}

rlo_status rlo_enqueue_segment_sum(rlo_segment_plan *plan,
                                   cl_command_queue queue,
                                   const rlo_segment_operands *operands,
                                   cl_uint num_wait,
                                   const cl_event *wait_list,
                                   cl_event *out_event) {
  if (plan == NULL || queue == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    plan == NULL ? "plan" : "queue");
  }
  RLO_TRY(rlo__options_check(
      "operands", "RLO_SEGMENT_OPERANDS_INIT", operands, sizeof *operands));
  RLO_TRY(rlo__enqueue_check(plan->context, queue, num_wait, wait_list));
  RLO_TRY(check_operands(plan, operands));
  RLO_TRY(prepare(plan, RLO__BUILD_FOREGROUND));
  trail t = {num_wait, wait_list, NULL};
  rlo_status status;
  RLO_TRY_GOTO(enqueue_order(plan, queue, operands, &t));
  RLO_TRY_GOTO(enqueue_moves(plan, queue, operands, &t));
  if (out_event != NULL && t.last == NULL) {
    RLO_TRY_GOTO(RLO_CL(
        clEnqueueMarkerWithWaitList, queue, num_wait, wait_list, &t.last));
  }
  if (out_event != NULL) {
    *out_event = t.last;
    t.last = NULL;
  }
fail:
  if (t.last != NULL) {
    clReleaseEvent(t.last);
  }
  return status;
}
