/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan_handle.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/problem.h"
#include "ir/update.h"
#include "ops/segment_sum.h"
#include "plan/segment_order.h"
#include "runtime/cl_error.h"
#include "runtime/measure.h"

enum {
  /** The size of the widest number in the inverted ids. */
  SCRATCH_ALIGNMENT_BYTES = 8,
  /** Alignment beyond a cache line gains nothing, and a smaller requirement
   *  admits more offsets to the fast kernel. */
  ENOUGH_ALIGNMENT_BYTES = 64
};

_Static_assert(RLO__PLAN_MAX_STEPS >=
                   RLO__SEGMENT_ORDER_PHASES + RLO__SEGMENT_SUM_MAX_MOVES,
               "a segment sum needs more steps than a plan has");

/** Working memory of the planner, too large for the stack. */
typedef struct draft {
  rlo_problem problem;
  rlo__choice choice;
  rlo__launch launch;
} draft;

/** Bytes that both memories of a plan are aligned to. */
typedef struct alignment {
  int64_t src_bytes, dst_bytes;
} alignment;

/** Plans a copy of the problem for memories of these alignments. */
static rlo_status plan_for(rlo_context *context,
                           const rlo_problem *problem,
                           const rlo_plan_options *options,
                           alignment a,
                           draft *out_draft) {
  rlo__problem_copy(problem, &out_draft->problem);
  rlo__rwlock_lock_read(&context->wisdom_lock);
  const rlo__plan_request request = {.problem = &out_draft->problem,
                                     .device = &context->device_info,
                                     .options = options,
                                     .src_alignment_bytes = a.src_bytes,
                                     .dst_alignment_bytes = a.dst_bytes,
                                     .wisdom = &context->wisdom};
  rlo_status status =
      rlo__planner_choose(&request, &out_draft->choice, &out_draft->launch);
  rlo__rwlock_unlock(&context->wisdom_lock);
  return status;
}

static alignment alignment_of(const draft *d) {
  return (alignment){d->choice.src_alignment_bytes,
                     d->choice.dst_alignment_bytes};
}

/** The time of a problem that loads indices depends on their values, which are
 *  unknown while planning. */
static bool wants_measuring(const rlo_plan_options *options, const draft *d) {
  return options != NULL && options->effort == RLO_EFFORT_MEASURE &&
         d->choice.family != NULL && !rlo_problem_loads(&d->problem) &&
         d->choice.decision != RLO_PLAN_DECISION_WISDOM;
}

/** Stores a measurement of a draft's problem in the context's wisdom. A failure
 *  is logged. */
static void remember(rlo_context *context,
                     const draft *d,
                     const rlo__measured *measured) {
  const rlo__family_query request = {
      .problem = &d->problem,
      .device = &context->device_info,
      .src_alignment_bytes = d->choice.src_alignment_bytes,
      .dst_alignment_bytes = d->choice.dst_alignment_bytes};
  rlo__wisdom_entry entry = rlo__wisdom_entry_of(
      &request, measured->family, measured->schedule, measured->fraction);
  rlo__rwlock_lock_write(&context->wisdom_lock);
  rlo_status status = rlo__wisdom_put(&context->wisdom, &entry);
  rlo__rwlock_unlock(&context->wisdom_lock);
  if (status != RLO_OK) {
    rlo__log(&context->log,
             RLO__LOG_WARNING,
             "the measurement is not remembered: %s",
             rlo_error_last()->message);
  }
}

/** Plans a draft again with the family and schedule that were fastest. */
static rlo_status plan_measured(rlo_context *context,
                                const rlo_problem *problem,
                                const rlo_plan_options *options,
                                const rlo__measured *measured,
                                draft *d) {
  rlo_plan_options forced = *options;
  forced.family = measured->family->name;
  forced.schedule = measured->schedule->name;
  RLO_TRY(plan_for(context, problem, &forced, alignment_of(d), d));
  d->choice.decision = RLO_PLAN_DECISION_MEASURE;
  d->choice.measured_fraction = measured->fraction;
  return RLO_OK;
}

/** Measures for aligned memory, unless another thread has just done so, and
 *  plans both drafts again; `element` may be NULL. The fastest choice for
 *  aligned memory also serves `element` if the canonical problem is the same.
 */
static rlo_status measure_drafts(rlo_context *context,
                                 const rlo_problem *problem,
                                 const rlo_plan_options *options,
                                 draft *aligned,
                                 draft *element) {
  const int64_t alignment_bytes = aligned->choice.dst_alignment_bytes;
  RLO_TRY(plan_for(context, problem, options, alignment_of(aligned), aligned));
  const bool is_same_problem =
      element != NULL &&
      rlo_problem_equal(&aligned->problem, &element->problem);
  if (!wants_measuring(options, aligned)) {
    return element == NULL
               ? RLO_OK
               : plan_for(
                     context, problem, options, alignment_of(element), element);
  }
  rlo__measured measured;
  RLO_TRY(rlo__measure(context, problem, options, alignment_bytes, &measured));
  const bool is_for_all = options->family == NULL &&
                          options->schedule == NULL &&
                          options->device_class == RLO_DEVICE_CLASS_AUTO;
  if (is_for_all) {
    remember(context, aligned, &measured);
  }
  RLO_TRY(plan_measured(context, problem, options, &measured, aligned));
  if (!is_same_problem) {
    return RLO_OK;
  }
  rlo_status status =
      plan_measured(context, problem, options, &measured, element);
  if (status == RLO_OK && is_for_all) {
    remember(context, element, &measured);
  }
  /* Some families support the problem for aligned memory only. */
  return status == RLO_UNSUPPORTED
             ? plan_for(
                   context, problem, options, alignment_of(element), element)
             : status;
}

/** The planning of one problem as a step of a plan. */
typedef struct step_request {
  const rlo_problem *problem;
  /** NULL: the defaults. */
  const rlo_plan_options *options;
  /** The operands that the step takes. */
  rlo__operand_side src, dst, indices;
  /** Working memory. */
  draft *aligned, *element;
} step_request;

/** Starts a step; its launches are owned from here on and released by
 *  rlo_plan_release. */
static rlo__plan_step *add_step(rlo_plan *plan,
                                rlo__operand_side src,
                                rlo__operand_side dst,
                                rlo__operand_side indices) {
  rlo__plan_step *step = &plan->steps[plan->num_steps++];
  plan->info.num_steps = plan->num_steps;
  step->src = src;
  step->dst = dst;
  step->indices = indices;
  return step;
}

static rlo_status add_launch(const rlo_plan *plan,
                             rlo__plan_step *step,
                             const rlo__launch *launch,
                             alignment a) {
  rlo__prepared_launch *prepared = &step->launches[step->num_launches++];
  prepared->src_alignment_bytes = a.src_bytes;
  prepared->dst_alignment_bytes = a.dst_bytes;
  return rlo__prepared_launch_init(plan->context, launch, prepared);
}

static rlo_device_class class_of(const rlo_context *context,
                                 const rlo_plan_options *options) {
  return options != NULL && options->device_class != RLO_DEVICE_CLASS_AUTO
             ? options->device_class
             : context->device_info.device_class;
}

/** Describes the plan by the choice made for its last problem. */
static void describe(rlo_plan *plan, const draft *d) {
  const rlo__family *family = d->choice.family;
  plan->info.schedule = d->choice.schedule->name;
  plan->info.decision = d->choice.decision;
  plan->info.measured_fraction = d->choice.measured_fraction;
  if (family != NULL) {
    plan->info.family = family->name;
    plan->info.device_class = family->device_class;
    memcpy(plan->parameters, d->launch.parameters, sizeof plan->parameters);
    plan->parameters[sizeof plan->parameters - 1] = '\0';
  }
}

static int64_t whole_bytes(int64_t bits) {
  return bits > 0 && bits % 8 == 0 ? bits / 8 : 1;
}

/** The largest power of two that divides an element's size. */
static int64_t element_alignment(int32_t unit_bits) {
  return whole_bytes(unit_bits) & -whole_bytes(unit_bits);
}

/** Plans one problem for both alignments and adds a step with the launches that
 *  differ. An empty problem adds no step. */
static rlo_status add_problem(rlo_plan *plan, const step_request *r) {
  rlo_context *context = plan->context;
  draft *aligned = r->aligned;
  draft *element = r->element;
  const alignment smallest = {
      element_alignment(r->problem->unit_bits),
      element_alignment(rlo_problem_dst_unit_bits(r->problem))};
  const int64_t enough = rlo__min(context->device_info.base_alignment_bytes,
                                  ENOUGH_ALIGNMENT_BYTES);
  const alignment best = {rlo__max(enough, smallest.src_bytes),
                          rlo__max(enough, smallest.dst_bytes)};
  /* A forced family may support only one of the alignments, which suffices. */
  rlo_status aligned_status =
      plan_for(context, r->problem, r->options, best, aligned);
  if (aligned_status != RLO_OK && aligned_status != RLO_UNSUPPORTED) {
    return aligned_status;
  }
  bool is_enough =
      aligned_status == RLO_OK && r->options != NULL && r->options->is_aligned;
  rlo_status element_status =
      is_enough ? RLO_UNSUPPORTED
                : plan_for(context, r->problem, r->options, smallest, element);
  if (element_status != RLO_OK &&
      (element_status != RLO_UNSUPPORTED || aligned_status != RLO_OK)) {
    return element_status;
  }
  if (aligned_status == RLO_OK && wants_measuring(r->options, aligned)) {
    rlo__mutex_lock(&context->measuring);
    rlo_status status =
        measure_drafts(context,
                       r->problem,
                       r->options,
                       aligned,
                       element_status == RLO_OK ? element : NULL);
    rlo__mutex_unlock(&context->measuring);
    RLO_TRY(status);
  }
  const draft *first = aligned_status == RLO_OK ? aligned : element;
  describe(plan, first);
  if (first->choice.family == NULL) {
    return RLO_OK;
  }
  rlo__plan_step *step = add_step(plan, r->src, r->dst, r->indices);
  bool is_one = aligned_status == RLO_OK && element_status == RLO_OK &&
                rlo__launch_equal(&aligned->launch, &element->launch);
  if (aligned_status == RLO_OK && !is_one) {
    RLO_TRY(add_launch(plan, step, &aligned->launch, best));
  }
  if (element_status == RLO_OK) {
    RLO_TRY(add_launch(plan, step, &element->launch, smallest));
  }
  return RLO_OK;
}

/** Adds the launches that invert the ids of a segment sum into the scratch
 *  memory. */
static rlo_status add_order(rlo_plan *plan,
                            const rlo__segment_ids *ids,
                            rlo__launch *launch) {
  const rlo_device_info *device = &plan->context->device_info;
  const rlo_device_class device_class = plan->info.device_class;
  rlo__segment_cut cut;
  RLO_TRY(rlo__segment_order_cut(ids, device, device_class, &cut));
  plan->info.scratch_bytes = cut.scratch_bytes;
  for (int32_t phase = 0; phase < RLO__SEGMENT_ORDER_PHASES; ++phase) {
    rlo__launch_clear(launch);
    RLO_TRY(rlo__segment_order_emit(
        ids, &cut, device, device_class, phase, launch));
    rlo__plan_step *step = add_step(
        plan, RLO__OPERAND_INDICES, RLO__OPERAND_SCRATCH, RLO__OPERAND_NONE);
    RLO_TRY(add_launch(plan, step, launch, (alignment){1, 1}));
  }
  return RLO_OK;
}

/* ----------------------------------------------------------------- creating */

/** Creates a plan without operands and with room for steps. */
static rlo_status create_plan(rlo_context *context,
                              const rlo_plan_options *options,
                              int32_t max_steps,
                              rlo_plan **out_plan) {
  rlo_plan *plan =
      rlo__alloc(sizeof *plan + (size_t)max_steps * sizeof plan->steps[0]);
  if (plan == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&plan->num_references, 1);
  plan->context = rlo__context_ref(context);
  plan->info.family = "none";
  plan->info.schedule = rlo__schedules[0].name;
  plan->info.device_class = class_of(context, options);
  plan->info.parameters = plan->parameters;
  *out_plan = plan;
  return RLO_OK;
}

static void add_operand(rlo_plan *plan,
                        rlo__operand_side side,
                        int64_t bytes,
                        int64_t element_bytes,
                        bool is_updated) {
  plan->operands[plan->num_operands++] =
      (rlo__operand_need){.side = side,
                          .bytes = bytes,
                          .element_bytes = element_bytes,
                          .is_updated = is_updated};
}

static rlo_status fill_from_problem(rlo_plan *plan,
                                    const rlo_problem *problem,
                                    const rlo_plan_options *options,
                                    draft *drafts) {
  bool loads = rlo_problem_loads(problem);
  plan->info.src_bytes = problem->src_bytes;
  plan->info.dst_bytes = problem->dst_bytes;
  plan->info.read_bytes = problem->read_bytes;
  plan->info.written_bytes = problem->written_bytes;
  add_operand(plan,
              RLO__OPERAND_SRC,
              problem->src_bytes,
              whole_bytes(problem->unit_bits),
              false);
  if (loads) {
    plan->info.index_bytes = problem->index_bytes;
    add_operand(plan,
                RLO__OPERAND_INDICES,
                problem->index_bytes,
                problem->index_bits / 8,
                false);
  }
  add_operand(plan,
              RLO__OPERAND_DST,
              problem->dst_bytes,
              whole_bytes(rlo_problem_dst_unit_bits(problem)),
              rlo__problem_reads_cells(problem));
  const step_request request = {
      .problem = problem,
      .options = options,
      .src = RLO__OPERAND_SRC,
      .dst = RLO__OPERAND_DST,
      .indices = loads ? RLO__OPERAND_INDICES : RLO__OPERAND_NONE,
      .aligned = &drafts[0],
      .element = &drafts[1]};
  return add_problem(plan, &request);
}

/** Adds the problems of a segment sum: fills, which load and read nothing, and
 *  the sum, which loads the inverted ids. */
static rlo_status add_segment_problems(rlo_plan *plan,
                                       const rlo_segment_sum *sum,
                                       const rlo_plan_options *options,
                                       draft *drafts) {
  for (int32_t n = 0; n < rlo_problem_list_count(sum->problems); ++n) {
    const rlo_problem *problem = rlo_problem_list_get(sum->problems, n);
    bool loads = rlo_problem_loads(problem);
    rlo_plan_options own = RLO_PLAN_OPTIONS_INIT;
    if (options != NULL) {
      own = *options;
      own.family = loads ? options->family : NULL;
    }
    plan->info.read_bytes += problem->read_bytes;
    plan->info.written_bytes += problem->written_bytes;
    const step_request request = {
        .problem = problem,
        .options = &own,
        .src = problem->src_bytes > 0 ? RLO__OPERAND_SRC : RLO__OPERAND_NONE,
        .dst = RLO__OPERAND_DST,
        .indices = loads ? RLO__OPERAND_SCRATCH : RLO__OPERAND_NONE,
        .aligned = &drafts[0],
        .element = &drafts[1]};
    RLO_TRY(add_problem(plan, &request));
  }
  return RLO_OK;
}

static rlo_status fill_from_segment_sum(rlo_plan *plan,
                                        const rlo_segment_sum *sum,
                                        const rlo_plan_options *options,
                                        draft *drafts) {
  const rlo__segment_ids *ids = &sum->ids;
  plan->info.src_bytes = sum->sizes.src_bytes;
  plan->info.index_bytes = sum->sizes.ids_bytes;
  plan->info.dst_bytes = sum->sizes.dst_bytes;
  if (ids->rows > 0 && ids->segments > 0 &&
      rlo_problem_list_count(sum->problems) > 0) {
    RLO_TRY(add_order(plan, ids, &drafts[0].launch));
  }
  RLO_TRY(add_segment_problems(plan, sum, options, drafts));
  add_operand(plan,
              RLO__OPERAND_SRC,
              plan->info.src_bytes,
              whole_bytes(sum->src_bits),
              false);
  add_operand(plan,
              RLO__OPERAND_INDICES,
              plan->info.index_bytes,
              ids->problem.unit_bits / 8,
              false);
  add_operand(plan,
              RLO__OPERAND_DST,
              plan->info.dst_bytes,
              whole_bytes(sum->dst_bits),
              false);
  add_operand(plan,
              RLO__OPERAND_SCRATCH,
              plan->info.scratch_bytes,
              SCRATCH_ALIGNMENT_BYTES,
              false);
  return RLO_OK;
}

/** Creates a plan of a problem or, if that is NULL, of a segment sum. */
static rlo_status create(rlo_context *context,
                         const rlo_problem *problem,
                         const rlo_segment_sum *sum,
                         const rlo_plan_options *options,
                         rlo_plan **out_plan) {
  RLO_TRY(rlo__context_check_process(context));
  rlo_plan *plan = NULL;
  RLO_TRY(create_plan(
      context, options, problem != NULL ? 1 : RLO__PLAN_MAX_STEPS, &plan));
  rlo_status status = RLO_OUT_OF_MEMORY;
  draft *drafts = rlo__alloc_unset(2 * sizeof *drafts);
  if (drafts == NULL) {
    goto fail;
  }
  rlo__launch_init(&drafts[0].launch);
  rlo__launch_init(&drafts[1].launch);
  RLO_TRY_GOTO(problem != NULL
                   ? fill_from_problem(plan, problem, options, drafts)
                   : fill_from_segment_sum(plan, sum, options, drafts));
  rlo__log(&context->log,
           RLO__LOG_DEBUG,
           "planned %s%s%s, %d steps",
           plan->info.family,
           plan->parameters[0] != '\0' ? ": " : "",
           plan->parameters,
           (int)plan->num_steps);
  *out_plan = plan;
  plan = NULL;
fail:
  if (drafts != NULL) {
    rlo__launch_deinit(&drafts[0].launch);
    rlo__launch_deinit(&drafts[1].launch);
  }
  rlo__free(drafts);
  rlo_plan_release(plan);
  return status;
}

rlo_status rlo_plan_create(rlo_context *context,
                           const rlo_problem *problem,
                           const rlo_plan_options *options,
                           rlo_plan **out_plan) {
  RLO_REQUIRE(out_plan);
  *out_plan = NULL;
  RLO_REQUIRE(context, problem);
  return create(context, problem, NULL, options, out_plan);
}

rlo_status rlo_plan_create_segment_sum(rlo_context *context,
                                       const rlo_segment_sum *sum,
                                       const rlo_plan_options *options,
                                       rlo_plan **out_plan) {
  RLO_REQUIRE(out_plan);
  *out_plan = NULL;
  RLO_REQUIRE(context, sum);
  return create(context, NULL, sum, options, out_plan);
}
