/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "desc/dtype.h"
#include "plan/arith.h"
#include "plan/grid.h"

/* Family compute_sum, CPU class (cl/cpu_compute_sum.cl): sums along axes
 * without guards. */

enum {
  NUM_SCALARS = 17,
  /** Down columns: most cells, as RLO_CELLS in the kernel, and fewest. */
  MAX_COLUMN_CELLS = 2048,
  MIN_COLUMN_CELLS = 32,
  /** Along rows, where fewer cells have enough points. */
  ROW_CELLS = 16,
  /** Groups for each compute unit, as far as there are cells. */
  ROW_GROUPS_PER_UNIT = 4
};

/* How groups share the cells. */
typedef struct sum_plan {
  rlo__grid_plan cpu;
  int32_t num_sum_axes;
  bool is_along_rows;
  /** The axis along which one group computes several cells, or -1. */
  int32_t cell_axis;
  int64_t group_cells;
  int64_t sum_levels;
} sum_plan;

static int32_t first_sum_axis(const rlo_problem *problem) {
  return problem->num_axes - rlo__arith_num_sum_axes(problem);
}

/* The longest axis of stride 1 in the source that is not summed, or -1. */
static int32_t contiguous_cells(const rlo_problem *problem) {
  int32_t found = -1;
  for (int32_t a = 0; a < first_sum_axis(problem); ++a) {
    if (problem->src.axis[a] == 1 && (found < 0 || problem->extents[a] > problem->extents[found])) {
      found = a;
    }
  }
  return found;
}

static bool is_along_rows(const rlo_problem *problem) {
  return problem->src.axis[problem->num_axes - 1] == 1;
}

/* Tells if the summed axes fit the kernel's vectors and integers, including
 * axes of stride 0, which positions of the source do not bound. */
static bool sum_fits(const rlo_problem *problem) {
  int32_t first = first_sum_axis(problem);
  for (int32_t a = first; a < problem->num_axes; ++a) {
    if (problem->extents[a] > INT32_MAX) {
      return false;
    }
  }
  return problem->num_axes - first <= 1 + 8;
}

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (problem->update != RLO_UPDATE_COMBINE || !rlo_problem_is_sum(problem)) {
    return RLO__REFUSE(why, "it sums nothing");
  }
  if (problem->num_guards > 0) {
    return RLO__REFUSE(why, "it has %d guards; the kernel takes none", problem->num_guards);
  }
  if (!rlo__arith_has_vectors(problem) ||
      rlo__dtype_info_of(problem->arithmetic.src_type)->format.is_unsigned) {
    return RLO__REFUSE(why, "the kernel does not take these types");
  }
  if (!is_along_rows(problem) && contiguous_cells(problem) < 0) {
    return RLO__REFUSE(
        why, "neither the innermost summed axis nor a kept one is contiguous in the source");
  }
  if (!sum_fits(problem)) {
    return RLO__REFUSE(why, "its sum has too many axes, or too long ones");
  }
  rlo__geometry g = rlo__geometry_of(query);
  /* Two grid vectors more than kernels that move. */
  return rlo__grid_is_within_limits(query, &g, problem->num_axes, NUM_SCALARS + 2 * 16, why);
}

/* Cells of a group along plan->cell_axis: many, because groups read long pieces
 * of rows faster, but not fewer groups than there are compute units. */
static int64_t choose_cells(const rlo__family_query *query, const sum_plan *plan) {
  const rlo_problem *problem = query->problem;
  int64_t units = rlo__max(query->device->compute_units, 1);
  int64_t least = plan->is_along_rows ? 1 : MIN_COLUMN_CELLS;
  int64_t most = plan->is_along_rows
                     ? ROW_CELLS
                     : rlo__min(rlo__thresholds.plan_cpu_column_bytes / (problem->unit_bits / 8),
                                MAX_COLUMN_CELLS);
  int64_t wanted = plan->is_along_rows ? ROW_GROUPS_PER_UNIT * units : units;
  if (plan->cell_axis < 0) {
    return most;
  }
  for (int32_t a = 0; a < problem->num_axes - plan->num_sum_axes; ++a) {
    if (a != plan->cell_axis) {
      wanted = rlo__ceil_div(wanted, problem->extents[a]);
    }
  }
  int64_t cells = problem->extents[plan->cell_axis];
  int64_t groups = rlo__ceil_div(cells, most);
  if (wanted > 1) {
    groups = rlo__ceil_div(rlo__max(groups, wanted), wanted) * wanted;
  }
  int64_t chosen = rlo__ceil_div(cells, groups);
  return rlo__min(rlo__ceil_div(chosen, least) * least, most);
}

static rlo_status choose(const rlo__family_query *query, sum_plan *plan) {
  const rlo_problem *problem = query->problem;
  *plan = (sum_plan){.cpu = RLO__GRID_PLAN_INIT(query),
                     .num_sum_axes = rlo__arith_num_sum_axes(problem),
                     .is_along_rows = is_along_rows(problem)};
  int32_t cell_axes = problem->num_axes - plan->num_sum_axes;
  plan->cell_axis = plan->is_along_rows ? cell_axes - 1 : contiguous_cells(problem);
  plan->group_cells = choose_cells(query, plan);
  for (int32_t a = 0; a < cell_axes; ++a) {
    int64_t step = a == plan->cell_axis ? plan->group_cells : 1;
    rlo__grid_add_axis(&plan->cpu.grid, problem, a, step);
  }
  rlo__grid_sort_by_src(&plan->cpu.grid);
  return rlo__arith_sum_levels(query, &plan->sum_levels);
}

static double judge(const rlo__family_query *query, rlo__str *why) {
  return !is_applicable(query, why) ? RLO__REFUSED : is_along_rows(query->problem) ? 0.8 : 0.6;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  sum_plan plan;
  RLO_TRY(choose(query, &plan));
  const rlo__grid_plan *cpu = &plan.cpu;
  int32_t cell = plan.cell_axis;
  int32_t last = problem->num_axes - 1;
  /* The outer summed axes. */
  int32_t first = problem->num_axes - plan.num_sum_axes;
  int32_t count = plan.num_sum_axes - 1;
  const rlo__constant constants[] = {
      {"RLO_ALONG_ROWS", plan.is_along_rows}, {"RLO_SUM_LEVELS", plan.sum_levels}, {0}};
  const rlo__arg args[] = {rlo__arg_int(rlo__grid_find(&cpu->grid, cell)),
                           rlo__arg_index(cell >= 0 ? problem->extents[cell] : 1),
                           rlo__arg_stride(&problem->src, cell),
                           rlo__arg_stride(&problem->dst, cell),
                           rlo__arg_int(count),
                           rlo__arg_vector(problem->extents + first, count),
                           rlo__arg_vector(problem->src.axis + first, count),
                           rlo__arg_index(problem->extents[last]),
                           rlo__arg_stride(&problem->src, last),
                           rlo__arg_index(plan.group_cells),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, cpu, "cpu_compute_sum", constants, args, launch));
  rlo__launch_describe(launch, ", %s, %lld cells to a group",
                       plan.is_along_rows ? "along rows" : "down columns",
                       (long long)plan.group_cells);
  return RLO_OK;
}

const rlo__family rlo__family_cpu_compute_sum = {"compute_sum", RLO_DEVICE_CLASS_CPU, judge, emit,
                                                 RLO__FAMILY_COMPUTES};
