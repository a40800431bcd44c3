/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "desc/dtype.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/geometry.h"
#include "plan/specialized.h"

/* Family segment_sum of CPU devices: cl/cpu_segment_sum.cl, sums along one axis
 * of points at computed positions. */

/* Columns added together, in one vector. */
enum { LANES = 16 };

typedef struct segment_sum_plan {
  /** The axis before the summed one counts columns. */
  bool has_columns;
  /** LANES columns are added together. */
  bool is_down;
  int64_t rows, group_rows, groups;
  int64_t sum_levels;
} segment_sum_plan;

/** Tells if no term and no guard depends on an axis. */
static bool is_free(const rlo_problem *problem, int32_t axis) {
  for (int32_t n = 0; n < problem->num_terms + problem->num_guards; ++n) {
    const rlo_form *form = n < problem->num_terms ? &problem->terms[n].form
                                                  : &problem->guards[n - problem->num_terms].form;
    if (form->axis[axis] != 0) {
      return false;
    }
  }
  return true;
}

static bool is_applicable(const rlo__family_query *request, rlo__str *why) {
  const rlo_problem *problem = request->problem;
  if (problem->update != RLO_UPDATE_COMBINE || !rlo_problem_is_sum(problem) ||
      problem->num_terms == 0) {
    return RLO__REFUSE(why, "it does not sum points at computed positions");
  }
  if (rlo__arith_num_sum_axes(problem) != 1) {
    return RLO__REFUSE(why, "%d axes are summed; the kernel takes one",
                       rlo__arith_num_sum_axes(problem));
  }
  if (rlo__geometry_of(request).num_pad_guards > 0) {
    return RLO__REFUSE(why, "it pads, which the kernel does not support");
  }
  if (rlo__problem_operand_term(problem) >= 0) {
    return RLO__REFUSE(why, "a step takes an operand, which the kernel cannot");
  }
  if (rlo_problem_reads_cells(problem)) {
    return RLO__REFUSE(why, "it adds to the cells; the kernel overwrites them");
  }
  if (!rlo__arith_has_vectors(problem) ||
      rlo__dtype_info_of(problem->arithmetic.src_type)->format.is_unsigned) {
    return RLO__REFUSE(why, "the kernel does not support these types");
  }
  return true;
}

static rlo_status choose(const rlo__family_query *request, segment_sum_plan *plan) {
  const rlo_problem *problem = request->problem;
  int32_t last = problem->num_axes - 1;
  int32_t column = last - 1;
  *plan = (segment_sum_plan){.rows = 1};
  plan->has_columns = column >= 0 && is_free(problem, column);
  plan->is_down = plan->has_columns && problem->extents[column] >= LANES &&
                  problem->src.axis[column] == 1 && problem->dst.axis[column] == 1;
  int32_t row_axes = plan->has_columns ? last - 1 : last;
  RLO_TRY(rlo__geometry_count_points(problem, 0, row_axes, &plan->rows));
  int64_t columns = plan->has_columns ? problem->extents[column] : 1;
  plan->group_rows =
      rlo__min(rlo__ceil_div(rlo__thresholds.plan_cpu_segment_sum_cells, columns), plan->rows);
  plan->groups = rlo__ceil_div(plan->rows, plan->group_rows);
  return rlo__arith_sum_levels(request, &plan->sum_levels);
}

static double judge(const rlo__family_query *request, rlo__str *why) {
  segment_sum_plan plan;
  if (!is_applicable(request, why)) {
    return RLO__REFUSED;
  }
  if (choose(request, &plan) != RLO_OK) {
    return 0.01;
  }
  return plan.is_down ? 0.3 : 0.06;
}

static rlo_status emit(const rlo__family_query *request, rlo__launch *launch) {
  const rlo_problem *problem = request->problem;
  segment_sum_plan plan;
  RLO_TRY(choose(request, &plan));
  bool is_index32 = rlo__specialized_fits_32_bits(problem) &&
                    plan.rows <= INT32_MAX - plan.group_rows &&
                    problem->extents[problem->num_axes - 1] <= INT32_MAX - RLO_SUM_BLOCK;
  const rlo__constant constants[] = {{"RLO_INDEX32", is_index32},
                                     {"RLO_LANES", LANES},
                                     {"RLO_SUM_LEVELS", plan.sum_levels},
                                     {"RLO_HAS_COLUMNS", plan.has_columns},
                                     {"RLO_DOWN", plan.is_down},
                                     {"RLO_PREFETCH", request->device->has_builtin_prefetch},
                                     {"RLO_ROWS", plan.rows},
                                     {"RLO_GROUP_ROWS", plan.group_rows},
                                     {0}};
  RLO_TRY(rlo__specialized_emit(request, "cpu_segment_sum", constants, launch));
  rlo__launch_set_groups(launch, (size_t)plan.groups, 1);
  rlo__launch_describe(launch, ", %s, %lld rows of cells to a group, %d terms",
                       plan.is_down ? "sixteen columns together" : "cell by cell",
                       (long long)plan.group_rows, problem->num_terms);
  return RLO_OK;
}

const rlo__family rlo__family_cpu_segment_sum = {
    "segment_sum", RLO_DEVICE_CLASS_CPU, judge, emit,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS | RLO__FAMILY_COMPUTES};
