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
#include "runtime/context.h"

enum {
  /** Alignment beyond a cache line gains nothing, and a smaller requirement
   *  admits more offsets to the fast kernel. */
  ENOUGH_ALIGNMENT_BYTES = 64,
  /** The size of the widest number in the inverted ids, and of the widest sum
   *  of a part. */
  SCRATCH_ALIGNMENT_BYTES = 8
};

_Static_assert(RLO__PLAN_MAX_STEPS >= RLO__SEGMENT_ORDER_PHASES + RLO__SEGMENT_SUM_MAX_MOVES,
               "a segment sum needs more steps than a plan has");

/** The planning of one problem as a step of a plan. */
typedef struct step_request {
  const rlo_problem *problem;
  /** The caller's, read. */
  const rlo_plan_options *options;
  /** The operands that the step takes. */
  rlo__operand_side src, dst, indices;
} step_request;

/** Working memory of a plan of several steps. */
typedef struct workspace {
  rlo__sum_parts parts;
  rlo_problem problem;
  rlo__launch launch;
} workspace;

static int64_t whole_bytes(int64_t bits) {
  return bits > 0 && bits % 8 == 0 ? bits / 8 : 1;
}

/** Returns the largest power of two that divides an element's size: the least
 *  alignment that an enqueue accepts. */
static int64_t element_alignment(int32_t unit_bits) {
  return whole_bytes(unit_bits) & -whole_bytes(unit_bits);
}

/** Adds a step, which takes over what was planned for it. */
static void add_step(rlo_plan *plan, const rlo__plan_step *step) {
  plan->steps[plan->num_steps++] = *step;
  plan->info.num_steps = plan->num_steps;
}

/** Describes the plan by its last step. */
static void describe(rlo_plan *plan) {
  if (plan->num_steps == 0) {
    return;
  }
  const rlo__decided *decided = &plan->steps[plan->num_steps - 1].aligned;
  const rlo__planned *planned = decided->planned;
  if (planned->family != NULL) {
    plan->info.family = planned->family->name;
    plan->info.device_class = planned->family->device_class;
    plan->info.schedule = planned->schedule->name;
    plan->info.decision = decided->decision;
    plan->info.measured_fraction = decided->measured_fraction;
    plan->info.parameters = planned->launch->parameters;
  }
}

/** Plans a launch for memory as aligned as the device aligns it. A forced
 *  family may refuse that, and take memory aligned to the element. */
static rlo_status plan_aligned(rlo_context *context, const step_request *r,
                               const rlo__planned_terms *element, rlo__decided *out_decided) {
  const int64_t enough =
      rlo__min(context->device_info.base_alignment_bytes, ENOUGH_ALIGNMENT_BYTES);
  rlo__planned_terms terms = *element;
  terms.src_alignment_bytes = rlo__max(enough, terms.src_alignment_bytes);
  terms.dst_alignment_bytes = rlo__max(enough, terms.dst_alignment_bytes);
  rlo__planned *planned = NULL;
  rlo_status status = rlo__planned_get(context, r->problem, &terms, &planned);
  if (status == RLO_UNSUPPORTED) {
    status = rlo__planned_get(context, r->problem, element, &planned);
  }
  RLO_TRY(status);
  *out_decided = (rlo__decided){planned, planned->decision, planned->measured_fraction};
  if (r->options->effort == RLO_EFFORT_MEASURE) {
    status = rlo__measure(r->problem, r->options, out_decided);
  }
  if (status != RLO_OK) {
    rlo__planned_release(out_decided->planned);
  }
  return status;
}

/** Plans one problem and adds it as a step. An empty problem adds no step. */
static rlo_status add_problem(rlo_plan *plan, const step_request *r) {
  rlo_context *context = plan->context;
  rlo__plan_rows rows;
  RLO_TRY(rlo__plan_rows_find(&context->device_info, r->options, &rows));
  const rlo__planned_terms terms = {
      .device_class = rows.device_class,
      .family = (int64_t)(uintptr_t)rows.family,
      .schedule = (int64_t)(uintptr_t)rows.schedule,
      .src_alignment_bytes = element_alignment(r->problem->unit_bits),
      .dst_alignment_bytes = element_alignment(rlo_problem_dst_unit_bits(r->problem)),
      .max_group_items = context->device_info.max_work_group_items};
  rlo__decided decided;
  RLO_TRY(plan_aligned(context, r, &terms, &decided));
  if (decided.planned->family == NULL) {
    rlo__planned_release(decided.planned);
    return RLO_OK;
  }
  add_step(plan, &(rlo__plan_step){.src = r->src,
                                   .dst = r->dst,
                                   .indices = r->indices,
                                   .aligned = decided,
                                   .terms = terms,
                                   .has_one = r->options->is_aligned});
  return RLO_OK;
}

/** Adds a step of a launch that no problem is planned for. */
static rlo_status add_launch(rlo_plan *plan, const rlo__launch *launch, rlo__operand_side src,
                             rlo__operand_side dst) {
  rlo__decided decided = {.planned = NULL};
  RLO_TRY(rlo__planned_of_launch(plan->context, launch, NULL, &decided.planned));
  add_step(plan, &(rlo__plan_step){.src = src,
                                   .dst = dst,
                                   .indices = RLO__OPERAND_NONE,
                                   .aligned = decided,
                                   .has_one = true});
  return RLO_OK;
}

/** Sets the launch of the last step, for whose kernel the earlier one, in
 *  smaller groups, is the spare. */
static rlo_status set_launch(rlo_plan *plan, const rlo__launch *launch) {
  rlo__planned **planned = &plan->steps[plan->num_steps - 1].aligned.planned;
  return rlo__planned_of_launch(plan->context, launch, *planned, planned);
}

/** Adds the launches that invert the ids of a segment sum into the scratch
 *  memory: each in groups of one work-item first, for a kernel that may run no
 *  more. @param launch  working memory. */
static rlo_status add_order(rlo_plan *plan, const rlo__segment_ids *ids, rlo__launch *launch) {
  const rlo_device_info *device = &plan->context->device_info;
  const rlo_device_class device_class = plan->info.device_class;
  rlo_device_info smallest = *device;
  smallest.max_work_group_items = 1;
  rlo__segment_cut cut;
  RLO_TRY(rlo__segment_order_cut(ids, device, device_class, &cut));
  plan->info.scratch_bytes = cut.scratch_bytes;
  for (int32_t phase = 0; phase < RLO__SEGMENT_ORDER_PHASES; ++phase) {
    rlo__launch_clear(launch);
    RLO_TRY(rlo__segment_order_emit(ids, &cut, &smallest, device_class, phase, launch));
    RLO_TRY(add_launch(plan, launch, RLO__OPERAND_INDICES, RLO__OPERAND_SCRATCH));
    rlo__launch_clear(launch);
    RLO_TRY(rlo__segment_order_emit(ids, &cut, device, device_class, phase, launch));
    RLO_TRY(set_launch(plan, launch));
  }
  return RLO_OK;
}

/* ------------------------------------------------------------ sums in parts */

/** Adds the problem of the whole parts, or of the last one. */
static rlo_status add_parts(rlo_plan *plan, const rlo__sum_parts *parts, bool is_last,
                            const rlo_plan_options *options, rlo_problem *problem) {
  rlo__sum_parts_get(parts, is_last, problem);
  rlo_plan_options own = *options;
  /* The caller promises nothing of scratch memory. */
  own.is_aligned = false;
  if (is_last) {
    own.effort = RLO_EFFORT_ESTIMATE;
  }
  const step_request request = {.problem = problem,
                                .options = &own,
                                .src = RLO__OPERAND_SRC,
                                .dst = RLO__OPERAND_SCRATCH,
                                .indices = RLO__OPERAND_NONE};
  return add_problem(plan, &request);
}

/** Adds the launch that adds up the parts. */
static rlo_status add_total(rlo_plan *plan, workspace *w) {
  const rlo_device_info *device = &plan->context->device_info;
  RLO_TRY(rlo__sum_parts_emit(&w->parts, device, 1, &w->launch));
  RLO_TRY(add_launch(plan, &w->launch, RLO__OPERAND_SCRATCH, RLO__OPERAND_DST));
  rlo__launch_clear(&w->launch);
  RLO_TRY(rlo__sum_parts_emit(&w->parts, device, INT64_MAX, &w->launch));
  return set_launch(plan, &w->launch);
}

/** Adds the steps of a sum that is cut into parts, if it is to be cut. */
static rlo_status plan_parts(rlo_plan *plan, const rlo_problem *problem,
                             const rlo_plan_options *options, const rlo__sum_limits *limits,
                             workspace *w, bool *out_is_cut) {
  rlo__problem_copy(problem, &w->problem);
  const rlo__plan_request request = {
      .problem = &w->problem, .device = &plan->context->device_info, .options = options};
  RLO_TRY(rlo__sum_parts_plan(&request, limits, &w->parts, out_is_cut));
  if (!*out_is_cut) {
    return RLO_OK;
  }
  const rlo__sum_cut *cut = &w->parts.cut;
  RLO_TRY(add_parts(plan, &w->parts, false, options, &w->problem));
  describe(plan);
  rlo__str words = rlo__str_over(plan->parameters, sizeof plan->parameters);
  rlo__sum_parts_describe(&w->parts, plan->info.parameters, &words);
  plan->info.parameters = plan->parameters;
  plan->info.scratch_bytes = cut->scratch_bytes;
  if (cut->last_points > 0) {
    RLO_TRY(add_parts(plan, &w->parts, true, options, &w->problem));
  }
  return add_total(plan, w);
}

/* ----------------------------------------------------------------- creating */

/** Creates a plan without operands and with room for steps. */
static rlo_status create_plan(rlo_context *context, const rlo_plan_options *options,
                              int32_t max_steps, rlo_plan **out_plan) {
  rlo_plan *plan = rlo__alloc(sizeof *plan + (size_t)max_steps * sizeof plan->steps[0]);
  RLO_TRY_MEMORY(plan);
  atomic_init(&plan->num_references, 1);
  plan->context = rlo__context_ref(context);
  plan->info = (rlo_plan_info){.struct_size = sizeof plan->info,
                               .family = "none",
                               .schedule = rlo__schedules[0].name,
                               .device_class = options->device_class != RLO_DEVICE_CLASS_AUTO
                                                   ? options->device_class
                                                   : context->device_info.device_class,
                               .parameters = ""};
  *out_plan = plan;
  return RLO_OK;
}

/** Sets the operands, whose bytes plan.info has. The sizes are those of their
 *  elements; an operand of size 0 is none of the plan's. */
static void set_operands(rlo_plan *plan, int64_t src_size, int64_t index_size, int64_t dst_size,
                         int64_t scratch_size, bool is_updated) {
  const rlo_plan_info *info = &plan->info;
  const rlo__operand_need needs[] = {
      {info->src_bytes, src_size, RLO__OPERAND_SRC, false},
      {info->index_bytes, index_size, RLO__OPERAND_INDICES, false},
      {info->dst_bytes, dst_size, RLO__OPERAND_DST, is_updated},
      {info->scratch_bytes, scratch_size, RLO__OPERAND_SCRATCH, false}};
  for (size_t n = 0; n < sizeof needs / sizeof needs[0]; ++n) {
    if (needs[n].element_bytes > 0) {
      plan->operands[plan->num_operands++] = needs[n];
    }
  }
}

static rlo_status fill_from_problem(rlo_plan *plan, const rlo_problem *problem,
                                    const rlo_plan_options *options, const rlo__sum_limits *limits,
                                    workspace *w) {
  bool is_cut = false;
  bool loads = rlo_problem_loads(problem);
  plan->info.src_bytes = problem->src_bytes;
  plan->info.dst_bytes = problem->dst_bytes;
  plan->info.read_bytes = problem->read_bytes;
  plan->info.written_bytes = problem->written_bytes;
  plan->info.index_bytes = loads ? problem->index_bytes : 0;
  if (w != NULL) {
    RLO_TRY(plan_parts(plan, problem, options, limits, w, &is_cut));
  }
  set_operands(plan, whole_bytes(problem->unit_bits), loads ? problem->index_bits / 8 : 0,
               whole_bytes(rlo_problem_dst_unit_bits(problem)),
               is_cut ? SCRATCH_ALIGNMENT_BYTES : 0, rlo_problem_reads_cells(problem));
  if (is_cut) {
    return RLO_OK;
  }
  const step_request request = {.problem = problem,
                                .options = options,
                                .src = RLO__OPERAND_SRC,
                                .dst = RLO__OPERAND_DST,
                                .indices = loads ? RLO__OPERAND_INDICES : RLO__OPERAND_NONE};
  RLO_TRY(add_problem(plan, &request));
  describe(plan);
  return RLO_OK;
}

/** Adds the problems of a segment sum: fills, which load and read nothing, and
 *  the sum, which loads the inverted ids. */
static rlo_status add_segment_problems(rlo_plan *plan, const rlo_segment_sum *sum,
                                       const rlo_plan_options *options) {
  for (int32_t n = 0; n < rlo_problem_list_count(sum->problems); ++n) {
    const rlo_problem *problem = rlo_problem_list_get(sum->problems, n);
    bool loads = rlo_problem_loads(problem);
    rlo_plan_options own = *options;
    own.family = loads ? options->family : NULL;
    plan->info.read_bytes += problem->read_bytes;
    plan->info.written_bytes += problem->written_bytes;
    const step_request request = {
        .problem = problem,
        .options = &own,
        .src = problem->src_bytes > 0 ? RLO__OPERAND_SRC : RLO__OPERAND_NONE,
        .dst = RLO__OPERAND_DST,
        .indices = loads ? RLO__OPERAND_SCRATCH : RLO__OPERAND_NONE};
    RLO_TRY(add_problem(plan, &request));
  }
  describe(plan);
  return RLO_OK;
}

static rlo_status fill_from_segment_sum(rlo_plan *plan, const rlo_segment_sum *sum,
                                        const rlo_plan_options *options, workspace *w) {
  const rlo__segment_ids *ids = &sum->ids;
  plan->info.src_bytes = sum->sizes.src_bytes;
  plan->info.index_bytes = sum->sizes.ids_bytes;
  plan->info.dst_bytes = sum->sizes.dst_bytes;
  if (ids->rows > 0 && ids->segments > 0 && rlo_problem_list_count(sum->problems) > 0) {
    RLO_TRY(add_order(plan, ids, &w->launch));
  }
  RLO_TRY(add_segment_problems(plan, sum, options));
  set_operands(plan, whole_bytes(sum->src_bits), ids->problem.unit_bits / 8,
               whole_bytes(sum->dst_bits), SCRATCH_ALIGNMENT_BYTES, false);
  return RLO_OK;
}

/** Creates a plan of a problem or, if that is NULL, of a segment sum. */
static rlo_status create(rlo_context *context, const rlo_problem *problem,
                         const rlo_segment_sum *sum, const rlo_plan_options *options,
                         const rlo__sum_limits *limits, rlo_plan **out_plan) {
  RLO_TRY(rlo__context_check_process(context));
  rlo_plan_options known;
  RLO_TRY(rlo__plan_options_read(&options, &known));
  options = &known;
  rlo_plan *plan = NULL;
  workspace *w = NULL;
  const int32_t max_steps = problem == NULL                                ? RLO__PLAN_MAX_STEPS
                            : rlo__sum_parts_are_allowed(problem, options) ? RLO__PLAN_PART_STEPS
                                                                           : 1;
  RLO_TRY(create_plan(context, options, max_steps, &plan));
  rlo_status status = RLO_OK;
  if (max_steps > 1) {
    w = rlo__alloc_unset(sizeof *w);
    status = w == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
    RLO_TRY_GOTO(status);
    rlo__launch_init(&w->launch);
  }
  RLO_TRY_GOTO(problem != NULL ? fill_from_problem(plan, problem, options, limits, w)
                               : fill_from_segment_sum(plan, sum, options, w));
  rlo__log(&context->log, RLO__LOG_DEBUG, "planned %s%s%s, %d steps", plan->info.family,
           plan->info.parameters[0] != '\0' ? ": " : "", plan->info.parameters,
           (int)plan->num_steps);
  *out_plan = plan;
  plan = NULL;
fail:
  if (w != NULL) {
    rlo__launch_deinit(&w->launch);
    rlo__free(w);
  }
  rlo_plan_release(plan);
  return status;
}

rlo_status rlo__plan_create_by_limits(rlo_context *context, const rlo_problem *problem,
                                      const rlo_plan_options *options,
                                      const rlo__sum_limits *limits, rlo_plan **out_plan) {
  RLO_REQUIRE(out_plan);
  *out_plan = NULL;
  RLO_REQUIRE(context, problem);
  return create(context, problem, NULL, options, limits, out_plan);
}

rlo_status rlo_plan_create(rlo_context *context, const rlo_problem *problem,
                           const rlo_plan_options *options, rlo_plan **out_plan) {
  return rlo__plan_create_by_limits(context, problem, options, NULL, out_plan);
}

rlo_status rlo_plan_create_segment_sum(rlo_context *context, const rlo_segment_sum *sum,
                                       const rlo_plan_options *options, rlo_plan **out_plan) {
  RLO_REQUIRE(out_plan);
  *out_plan = NULL;
  RLO_REQUIRE(context, sum);
  return create(context, NULL, sum, options, NULL, out_plan);
}
