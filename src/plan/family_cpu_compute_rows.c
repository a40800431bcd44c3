/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/status.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/cpu_rows.h"

/* Family compute_rows of CPU devices: cl/cpu_compute_rows.cl, which computes
 * along an axis that is contiguous on both sides. */

enum {
  NUM_SCALARS = 10,
  /** What one group reads, in whole rows as far as they are short. */
  GROUP_BYTES = 32 * 1024
};

/* How the rows are handed out. */
typedef struct rows_plan {
  rlo__grid_plan cpu;
  rlo__cpu_rows rows;
} rows_plan;

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (problem->update != RLO_UPDATE_COMBINE) {
    rlo__str_append(why, "it moves bits and computes nothing");
    return false;
  }
  if (rlo_problem_is_sum(problem)) {
    rlo__str_append(why, "it sums");
    return false;
  }
  rlo__geometry g = rlo__geometry_of(query);
  if (g.run_axis < 0 || g.is_fill) {
    rlo__str_append(why, "no axis has stride 1 on both sides");
    return false;
  }
  if (!rlo__cpu_rows_take_guards(problem, g.run_axis, why)) {
    return false;
  }
  return rlo__grid_is_within_limits(
      query, &g, problem->num_axes, NUM_SCALARS, why);
}

/* The axis whose steps stay nearest to each other in the source. */
static int32_t nearest_axis(const rlo_problem *problem, int32_t run) {
  int32_t best = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run && (best < 0 || llabs(problem->src.axis[a]) <
                                     llabs(problem->src.axis[best]))) {
      best = a;
    }
  }
  return best;
}

static rlo_status choose(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  int32_t run = g.run_axis;
  *plan = (rows_plan){.cpu = {.geometry = g, .x_axis = run},
                      .rows = rlo__cpu_rows_along(problem, &g, run)};
  rlo__grid_plan *cpu = &plan->cpu;
  if (plan->rows.row_bytes <= GROUP_BYTES / 2) {
    plan->rows.batch_axis = nearest_axis(problem, run);
  }
  if (plan->rows.batch_axis >= 0) {
    int64_t rows = problem->extents[plan->rows.batch_axis];
    plan->rows.batch_rows = GROUP_BYTES / plan->rows.row_bytes;
    plan->rows.batch_rows =
        plan->rows.batch_rows < rows ? plan->rows.batch_rows : rows;
  }
  RLO_TRY(rlo__cpu_rows_lay_grid(problem, &plan->rows, cpu));
  rlo__grid_sort_by_src(&cpu->grid);
  /* What is read first is in the caches, where it had better be written. */
  cpu->is_nontemporal = !rlo__problem_reads_cells(problem) &&
                        plan->rows.row_bytes >= RLO__CPU_MIN_LINED_BYTES &&
                        rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  return RLO_OK;
}

/* As rows: the ends of a row cost about as much as 180 bytes. One value at a
 * time, arithmetic costs more than memory. */
static double predict(const rlo__family_query *query) {
  rows_plan plan;
  if (choose(query, &plan) != RLO_OK) {
    return 0.0;
  }
  double bytes = (double)plan.rows.row_bytes;
  double max = rlo__arith_has_vectors(query->problem) ? 0.9 : 0.3;
  return max * bytes / (bytes + 180.0);
}

static void describe(const rlo_problem *problem,
                     const rows_plan *plan,
                     rlo__launch *launch) {
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__arith_describe(problem, &words);
  rlo__str_printf(&words,
                  ", rows of %lld bytes, %lld to a group%s",
                  (long long)plan->rows.row_bytes,
                  (long long)plan->rows.batch_rows,
                  plan->cpu.is_nontemporal ? ", non-temporal stores" : "");
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  rows_plan plan;
  RLO_TRY(choose(query, &plan));
  const rlo__grid_plan *cpu = &plan.cpu;
  RLO_TRY(rlo__grid_begin(query, cpu, "cpu_compute_rows", launch));
  RLO_TRY(rlo__arith_define(problem, launch));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_LANES", rlo__arith_has_vectors(problem) ? 16 : 1));
  RLO_TRY(rlo__cpu_rows_add(problem, &plan.rows, cpu, launch));
  RLO_TRY(rlo__arith_add_factors(problem, launch));
  RLO_TRY(rlo__grid_add_guards(query, cpu, launch));
  describe(problem, &plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_cpu_compute_rows = {"compute_rows",
                                                  RLO_DEVICE_CLASS_CPU,
                                                  is_applicable,
                                                  predict,
                                                  emit,
                                                  RLO__FAMILY_COMPUTES};
