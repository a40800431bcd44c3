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
  NUM_SCALARS = 16,
  /** The size of a way of a first-level cache, and the number of ways from
   *  which on there is room for as many pages as pay. */
  WAY_BYTES = 4096,
  MANY_WAYS = 12
};

/** How groups share the rows: x is along the row, y the axis along which one
 *  group takes several, if any. */
typedef struct rows_plan {
  rlo__grid_plan cpu;
  /** Length of a row in the source. */
  int64_t row_bytes;
  int64_t row_units;
  /** Equal to row_units unless rows are cut into chunks. */
  int64_t chunk_units;
  int64_t batch_rows;
} rows_plan;

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (problem->update != RLO_UPDATE_COMBINE) {
    return RLO__REFUSE(why, "it moves bits and computes nothing");
  }
  if (rlo_problem_is_sum(problem)) {
    return RLO__REFUSE(why, "it sums");
  }
  rlo__geometry g = rlo__geometry_of(query);
  if (g.run_axis < 0 || g.is_fill) {
    return RLO__REFUSE(why, "no axis has stride 1 on both sides");
  }
  if (!rlo__cpu_takes_row_guards(problem, g.run_axis, why)) {
    return false;
  }
  return rlo__grid_is_within_limits(query, &g, problem->num_axes, NUM_SCALARS, why);
}

static void choose(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  *plan = (rows_plan){.cpu = RLO__GRID_PLAN_INIT(query), .batch_rows = 1};
  rlo__grid_plan *cpu = &plan->cpu;
  cpu->x_axis = cpu->geometry.run_axis;
  plan->row_units = problem->extents[cpu->x_axis];
  plan->chunk_units = rlo__cpu_chunk_units(problem, &cpu->geometry, cpu->x_axis);
  if (!rlo__mul(plan->row_units, cpu->geometry.unit_bytes, &plan->row_bytes)) {
    plan->row_bytes = INT64_MAX;
  }
  const int64_t group_bytes = rlo__thresholds.plan_cpu_compute_bytes;
  if (plan->row_bytes <= group_bytes / 2) {
    cpu->y_axis = rlo__geometry_nearest_axis(problem, &problem->src, UINT64_C(1) << cpu->x_axis);
  }
  if (cpu->y_axis >= 0) {
    int64_t rows = problem->extents[cpu->y_axis];
    plan->batch_rows = rlo__min(group_bytes / plan->row_bytes, rows);
  }
  rlo__grid_cover(cpu, problem, plan->chunk_units, plan->batch_rows);
  rlo__grid_sort_by_src(&cpu->grid);
  /* Cells that are read before they are written are in the caches already, and
   * are cheapest to write there. */
  cpu->is_nontemporal = !rlo_problem_reads_cells(problem) &&
                        plan->row_bytes >= RLO__CPU_MIN_LINED_BYTES &&
                        rlo__cpu_wants_nontemporal(query, &cpu->geometry);
}

/* The ends of a row cost about as much as 180 bytes, as in family rows. Where
 * values are computed one at a time, arithmetic costs more than memory. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  if (!is_applicable(query, why)) {
    return RLO__REFUSED;
  }
  rows_plan plan;
  choose(query, &plan);
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
  choose(query, &plan);
  const rlo__grid_plan *cpu = &plan.cpu;
  int32_t batch = cpu->y_axis;
  const rlo__constant constants[] = {{"RLO_LANES", rlo__arith_has_vectors(problem) ? 16 : 1},
                                     {"RLO_STREAMS", pages_in_turns(query->device)},
                                     {0}};
  const rlo__arg args[] = {rlo__arg_int(rlo__grid_find(&cpu->grid, batch)),
                           rlo__arg_index(batch >= 0 ? problem->extents[batch] : 1),
                           rlo__arg_index(plan.batch_rows),
                           rlo__arg_stride(&problem->src, batch),
                           rlo__arg_stride(&problem->dst, batch),
                           rlo__arg_int(rlo__grid_find(&cpu->grid, cpu->x_axis)),
                           rlo__arg_index(plan.row_units),
                           rlo__arg_index(plan.chunk_units),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, cpu, "cpu_compute_rows", constants, args, launch));
  rlo__launch_describe(launch, ", rows of %lld bytes, %lld to a group%s", (long long)plan.row_bytes,
                       (long long)plan.batch_rows,
                       cpu->is_nontemporal ? ", non-temporal stores" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_compute_rows = {"compute_rows", RLO_DEVICE_CLASS_CPU, judge, emit,
                                                  RLO__FAMILY_COMPUTES};
