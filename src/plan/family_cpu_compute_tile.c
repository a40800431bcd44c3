/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/grid.h"

/* Family compute_tile, CPU class (cl/cpu_compute_tile.cl): computes where
 * different axes are contiguous in the source and in the destination. */

enum {
  NUM_SCALARS = 14,
  TILE_X = 64,
  /** Most units of a source row that a group reads. */
  MAX_TILE_Y = 1024,
  /** Shorter sides consist mostly of partial blocks of sixteen. */
  MIN_SIDE = 8
};

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (problem->update != RLO_UPDATE_COMBINE || rlo_problem_is_sum(problem)) {
    return RLO__REFUSE(why, "it sums, or computes nothing");
  }
  if (!query->device->has_vector_shuffle || !rlo__arith_has_vectors(problem)) {
    return RLO__REFUSE(why, "it takes vectors, which device or types lack");
  }
  if (problem->num_guards > 0) {
    return RLO__REFUSE(why, "it has %d guards; the kernel takes none", problem->num_guards);
  }
  rlo__geometry g = rlo__geometry_of(query);
  if (g.dst_axis < 0 || g.src_axis < 0 || g.run_axis >= 0) {
    return RLO__REFUSE(why, "no two axes are contiguous, one on either side");
  }
  if (problem->extents[g.dst_axis] < MIN_SIDE || problem->extents[g.src_axis] < MIN_SIDE) {
    return RLO__REFUSE(why, "its plane is %lld x %lld; each side must be %d or more",
                       (long long)problem->extents[g.src_axis],
                       (long long)problem->extents[g.dst_axis], MIN_SIDE);
  }
  return rlo__grid_is_within_limits(query, &g, problem->num_axes, NUM_SCALARS, why);
}

static int64_t tile_y(const rlo_problem *problem) {
  return rlo__min(rlo__thresholds.plan_cpu_compute_tile_bytes / (problem->unit_bits / 8),
                  MAX_TILE_Y);
}

static rlo__grid_plan choose(const rlo__family_query *query) {
  const rlo_problem *problem = query->problem;
  rlo__grid_plan plan = RLO__GRID_PLAN_INIT(query);
  plan.x_axis = plan.geometry.dst_axis;
  plan.y_axis = plan.geometry.src_axis;
  rlo__grid_cover(&plan, problem, TILE_X, tile_y(problem));
  /* Groups that follow each other write to the same pages, which are more than
   * those they read. */
  const int32_t plane_axes[2] = {plan.x_axis, plan.y_axis};
  rlo__grid_sort(&plan.grid, RLO__GRID_ORDER_DST, plane_axes);
  plan.is_nontemporal = !rlo_problem_reads_cells(problem) &&
                        rlo__cpu_wants_nontemporal(query, &plan.geometry) &&
                        rlo__cpu_rows_are_lines(query, plan.x_axis, TILE_X);
  return plan;
}

/* The share of whole blocks of sixteen. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  if (!is_applicable(query, why)) {
    return RLO__REFUSED;
  }
  rlo__geometry g = rlo__geometry_of(query);
  double x = (double)query->problem->extents[g.dst_axis];
  double y = (double)query->problem->extents[g.src_axis];
  return 0.6 * (x / (x + 16.0)) * (y / (y + 16.0));
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  rlo__grid_plan plan = choose(query);
  int32_t x = plan.x_axis;
  int32_t y = plan.y_axis;
  const rlo__constant constants[] = {
      {"RLO_COMPUTE_TILE_X", TILE_X}, {"RLO_COMPUTE_TILE_Y", tile_y(problem)}, {0}};
  const rlo__arg args[] = {rlo__arg_int(rlo__grid_find(&plan.grid, x)),
                           rlo__arg_index(problem->extents[x]),
                           rlo__arg_stride(&problem->src, x),
                           rlo__arg_int(rlo__grid_find(&plan.grid, y)),
                           rlo__arg_index(problem->extents[y]),
                           rlo__arg_stride(&problem->dst, y),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, &plan, "cpu_compute_tile", constants, args, launch));
  rlo__launch_describe(launch, ", tile %dx%lld, output order%s", TILE_X, (long long)tile_y(problem),
                       plan.is_nontemporal ? ", non-temporal stores" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_compute_tile = {"compute_tile", RLO_DEVICE_CLASS_CPU, judge, emit,
                                                  RLO__FAMILY_COMPUTES};
