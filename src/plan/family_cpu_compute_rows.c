/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/grid.h"

/* Family compute_rows, CPU class (cl/cpu_compute_rows.cl): rows that are
 * contiguous on both sides. A group computes a batch of rows along one axis, or
 * a chunk of a very long row. */

enum {
  NUM_SCALARS = 10,
  /** The size of a way of a first-level cache, and the number of ways from
   *  which on there is room for as many pages as pay. */
  WAY_BYTES = 4096,
  MANY_WAYS = 12
};

/** How groups share the rows. */
typedef struct rows_plan {
  rlo__grid_plan cpu;
  /** Length of a row in the source. */
  int64_t row_bytes;
  int64_t row_units;
  /** Equal to row_units unless rows are cut into chunks. */
  int64_t chunk_units;
  /** Axis along which one group takes several rows, or -1. */
  int32_t batch_axis;
  int64_t batch_rows;
} rows_plan;

/* The rows of a problem, without a batch. */
static void rows_init(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  int32_t run = g.run_axis;
  *plan = (rows_plan){.cpu = {.geometry = g, .x_axis = run},
                      .row_units = run >= 0 ? problem->extents[run] : 1,
                      .chunk_units = rlo__cpu_chunk_units(problem, &g, run),
                      .batch_axis = -1,
                      .batch_rows = 1};
  if (!rlo__mul(plan->row_units, g.unit_bytes, &plan->row_bytes)) {
    plan->row_bytes = INT64_MAX;
  }
}

/* Groups step by chunks along the row and by batches along the batch axis. */
static rlo_status add_grid(const rlo_problem *problem, rows_plan *plan) {
  rlo__grid_plan *cpu = &plan->cpu;
  cpu->y_axis = plan->batch_axis;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = a == cpu->x_axis   ? plan->chunk_units
                   : a == cpu->y_axis ? plan->batch_rows
                                      : 1;
    RLO_TRY(rlo__grid_add_axis(&cpu->grid, problem, a, step));
  }
  return RLO_OK;
}

/* Arguments 10 to 17 of cl/cpu_compute_rows.cl. */
static rlo_status add_arguments(const rlo_problem *problem,
                                const rows_plan *plan,
                                rlo__launch *launch) {
  const rlo__grid_plan *cpu = &plan->cpu;
  int32_t batch = plan->batch_axis;
  int64_t extent = batch >= 0 ? problem->extents[batch] : 1;
  int64_t src_stride = batch >= 0 ? problem->src.axis[batch] : 0;
  int64_t dst_stride = batch >= 0 ? problem->dst.axis[batch] : 0;
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&cpu->grid, batch)));
  RLO_TRY(rlo__grid_add_index(cpu, launch, extent));
  RLO_TRY(rlo__grid_add_index(cpu, launch, plan->batch_rows));
  RLO_TRY(rlo__grid_add_index(cpu, launch, src_stride));
  RLO_TRY(rlo__grid_add_index(cpu, launch, dst_stride));
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&cpu->grid, cpu->x_axis)));
  RLO_TRY(rlo__grid_add_index(cpu, launch, plan->row_units));
  return rlo__grid_add_index(cpu, launch, plan->chunk_units);
}

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
  if (!rlo__cpu_takes_row_guards(problem, g.run_axis, why)) {
    return false;
  }
  return rlo__grid_is_within_limits(
      query, &g, problem->num_axes, NUM_SCALARS, why);
}

/* The axis with the shortest steps in the source. */
static int32_t nearest_src_axis(const rlo_problem *problem, int32_t run) {
  int32_t best = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run && (best < 0 || rlo__abs(problem->src.axis[a]) <
                                     rlo__abs(problem->src.axis[best]))) {
      best = a;
    }
  }
  return best;
}

static rlo_status choose(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  rows_init(query, plan);
  rlo__grid_plan *cpu = &plan->cpu;
  const int64_t group_bytes = rlo__thresholds.plan_cpu_compute_bytes;
  if (plan->row_bytes <= group_bytes / 2) {
    plan->batch_axis = nearest_src_axis(problem, cpu->x_axis);
  }
  if (plan->batch_axis >= 0) {
    int64_t rows = problem->extents[plan->batch_axis];
    plan->batch_rows = rlo__min(group_bytes / plan->row_bytes, rows);
  }
  RLO_TRY(add_grid(problem, plan));
  rlo__grid_sort_by_src(&cpu->grid);
  /* Cells that are read before they are written are in the caches already, and
   * are cheapest to write there. */
  cpu->is_nontemporal = !rlo__problem_reads_cells(problem) &&
                        plan->row_bytes >= RLO__CPU_MIN_LINED_BYTES &&
                        rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  cpu->is_prefetching = query->device->has_builtin_prefetch;
  return RLO_OK;
}

/* The ends of a row cost about as much as 180 bytes, as in family rows. Where
 * values are computed one at a time, arithmetic costs more than memory. */
static double predict(const rlo__family_query *query) {
  rows_plan plan;
  if (choose(query, &plan) != RLO_OK) {
    return 0.0;
  }
  double bytes = (double)plan.row_bytes;
  double max = rlo__arith_has_vectors(query->problem) ? 0.9 : 0.3;
  return max * bytes / (bytes + 180.0);
}

/* Pages that are read in turns, a line of each, while as many are brought near:
 * lines at one place of their pages share a set of the first-level cache, which
 * has a way for each 4 KiB. */
static int64_t pages_in_turns(const rlo_device_info *device) {
  const int64_t ways = device->near_cache_bytes / WAY_BYTES;
  return ways > 0 && ways < MANY_WAYS ? 4 : 8;
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
  RLO_TRY(
      rlo__launch_define(launch, "RLO_STREAMS", pages_in_turns(query->device)));
  RLO_TRY(add_arguments(problem, &plan, launch));
  RLO_TRY(rlo__arith_add_factors(problem, launch));
  RLO_TRY(rlo__grid_add_guards(query, cpu, launch));
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__arith_describe(problem, &words);
  rlo__str_printf(&words,
                  ", rows of %lld bytes, %lld to a group%s",
                  (long long)plan.row_bytes,
                  (long long)plan.batch_rows,
                  cpu->is_nontemporal ? ", non-temporal stores" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_compute_rows = {"compute_rows",
                                                  RLO_DEVICE_CLASS_CPU,
                                                  is_applicable,
                                                  predict,
                                                  emit,
                                                  RLO__FAMILY_COMPUTES};
