/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/grid.h"

/* Family compute_tile, GPU class (cl/gpu_compute_tile.cl): computes where one
 * axis is contiguous in the source, and the same or another one in the
 * destination. */

enum {
  NUM_SCALARS = 12 + RLO__GPU_GRID_SCALARS,
  /** Bytes that a lane reads at a time. */
  LANE_BYTES = 64,
  /** Units of a tile of rows, and of the shortest one along the rows. */
  ROW_TILE_UNITS = 4096,
  MIN_ROW_UNITS = 64
};

/* Tiles that are turned, by the source unit's size: powers of two, 16 KiB. */
static const struct {
  int64_t unit_bytes, tile_a, tile_b;
} turned_tiles[] = {{1, 128, 128}, {2, 64, 128}, {4, 64, 64}, {8, 64, 32}};

typedef struct compute_plan {
  rlo__grid_plan group;
  int64_t src_bytes, dst_bytes;
  /** Contiguous in the source; then in the destination, if that is another one,
   *  else any or -1. */
  int32_t a_axis, b_axis;
  bool is_turned;
  /** Units that a lane moves at once. */
  int64_t wide;
  int64_t tile_a, tile_b;
} compute_plan;

static int64_t extent_of(const rlo_problem *problem, int32_t axis) {
  return axis >= 0 ? problem->extents[axis] : 1;
}

static int64_t wide_units(const rlo__family_query *query, const compute_plan *plan) {
  int64_t wide = rlo__max(plan->src_bytes, plan->dst_bytes) == 8 ? 2 : 4;
  int64_t src_bytes = wide * plan->src_bytes;
  int64_t dst_bytes = wide * plan->dst_bytes;
  int32_t dst_axis = plan->is_turned ? plan->b_axis : plan->a_axis;
  bool is_aligned = rlo__src_alignment(query, plan->a_axis, src_bytes) == src_bytes &&
                    rlo__dst_alignment(query, dst_axis, dst_bytes) == dst_bytes;
  return is_aligned ? wide : 1;
}

/* The smallest power of two from `least` on that covers an extent, or `most`.
 */
static int64_t side_for(int64_t extent, int64_t least, int64_t most) {
  int64_t side = least;
  while (side < extent && side < most) {
    side *= 2;
  }
  return side;
}

static void choose_turned_tile(const rlo_problem *problem, compute_plan *plan) {
  size_t n = 0;
  while (turned_tiles[n].unit_bytes < plan->src_bytes) {
    ++n;
  }
  /* The tile of a narrow plane is as narrow, and longer. */
  int64_t units = turned_tiles[n].tile_a * turned_tiles[n].tile_b;
  int64_t na = problem->extents[plan->a_axis];
  int64_t nb = problem->extents[plan->b_axis];
  plan->tile_a = side_for(na, 4, turned_tiles[n].tile_a);
  plan->tile_b = side_for(nb, 4, turned_tiles[n].tile_b);
  if (plan->tile_a < turned_tiles[n].tile_a) {
    plan->tile_b = side_for(nb, 4, units / plan->tile_a);
  } else if (plan->tile_b < turned_tiles[n].tile_b) {
    plan->tile_a = side_for(na, 4, units / plan->tile_b);
  }
}

/* Rows are cut where few lanes of the last tile idle. */
static void choose_row_tile(const rlo_problem *problem, compute_plan *plan) {
  int64_t na = problem->extents[plan->a_axis];
  plan->tile_a = side_for(na, 4, ROW_TILE_UNITS);
  while (plan->tile_a > MIN_ROW_UNITS && rlo__grid_fullness(na, plan->tile_a) < 0.85) {
    plan->tile_a /= 2;
  }
  plan->tile_b = side_for(extent_of(problem, plan->b_axis), 1, ROW_TILE_UNITS / plan->tile_a);
}

/* The longest axis other than `axis`, or -1. */
static int32_t longest_other(const rlo_problem *problem, int32_t axis) {
  int32_t found = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != axis && (found < 0 || problem->extents[a] >= problem->extents[found])) {
      found = a;
    }
  }
  return found;
}

static void add_grid(const rlo_problem *problem, compute_plan *plan) {
  rlo__grid *grid = &plan->group.grid;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != plan->a_axis && a != plan->b_axis) {
      rlo__grid_add_axis(grid, problem, a, 1);
    }
  }
  rlo__grid_place_axis(grid, problem, plan->a_axis, plan->tile_a);
  if (plan->b_axis >= 0) {
    rlo__grid_place_axis(grid, problem, plan->b_axis, plan->tile_b);
  } else {
    grid->axes[grid->num_axes++] = (rlo__grid_axis){.problem_axis = -1, .step = 1, .extent = 1};
  }
  rlo__grid_round_axes(grid);
}

static bool choose(const rlo__family_query *query, compute_plan *plan, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (problem->update != RLO_UPDATE_COMBINE || rlo_problem_is_sum(problem)) {
    return RLO__REFUSE(why, "it sums, or computes nothing");
  }
  if (g.dst_axis < 0 || (g.src_axis < 0 && g.run_axis < 0)) {
    return RLO__REFUSE(why, "an axis is contiguous on one side at most");
  }
  /* Rows of a single axis have one more grid axis. */
  int32_t num_axes = (int32_t)rlo__max(problem->num_axes, 2);
  if (!rlo__grid_is_within_limits(query, &g, num_axes, NUM_SCALARS, why)) {
    return false;
  }
  bool is_turned = g.run_axis < 0;
  *plan = (compute_plan){.group = RLO__GRID_PLAN_INIT(query),
                         .src_bytes = problem->unit_bits / 8,
                         .dst_bytes = rlo_problem_dst_unit_bits(problem) / 8,
                         .is_turned = is_turned,
                         .a_axis = is_turned ? g.src_axis : g.run_axis,
                         .b_axis = is_turned ? g.dst_axis : longest_other(problem, g.run_axis)};
  rlo__grid_plan *group = &plan->group;
  group->x_axis = plan->a_axis;
  group->y_axis = plan->b_axis;
  plan->wide = wide_units(query, plan);
  if (is_turned) {
    choose_turned_tile(problem, plan);
  } else {
    choose_row_tile(problem, plan);
  }
  add_grid(problem, plan);
  if (rlo__grid_num_groups(&group->grid, &group->num_groups) != RLO_OK) {
    return RLO__REFUSE(why, "it has more tiles than 64 bits can count");
  }
  int64_t tile_bytes = plan->tile_a * plan->tile_b * plan->src_bytes;
  return rlo__gpu_has_local_bytes(query->device, "tile takes", is_turned ? tile_bytes : 0, why) &&
         rlo__gpu_can_launch(group->num_groups, why);
}

/* The useful share of the sectors of runs of so many units. */
static double sector_share(int64_t units, int64_t unit_bytes, int64_t wide) {
  return rlo__gpu_sector_share(units * unit_bytes,
                               rlo__min(wide * unit_bytes, RLO__GPU_SECTOR_BYTES));
}

/* Counted, not measured; above compute in any case. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  compute_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  int64_t na = problem->extents[plan.a_axis];
  int64_t nb = extent_of(problem, plan.b_axis);
  int64_t run_a = rlo__min(na, plan.tile_a);
  int64_t run_b = plan.is_turned ? rlo__min(nb, plan.tile_b) : run_a;
  int64_t items = rlo__gpu_local_items(query->device);
  int64_t units = plan.tile_a * plan.tile_b;
  int64_t read_bytes = units * plan.src_bytes;
  double rate = rlo__gpu_rate(&(rlo__gpu_group){
      .loop = plan.is_turned ? RLO__GPU_COMPUTE_TILE : RLO__GPU_COMPUTE_ROWS,
      .items = items,
      .local_bytes = plan.is_turned ? read_bytes : 0,
      .bytes = (double)(read_bytes + units * plan.dst_bytes),
      .fullness = rlo__grid_fullness(na, plan.tile_a) * rlo__grid_fullness(nb, plan.tile_b),
      .src_share = sector_share(run_a, plan.src_bytes, plan.wide),
      .dst_share = sector_share(run_b, plan.dst_bytes, plan.wide),
      .num_grid_axes = plan.group.grid.num_axes,
      .num_guards = problem->num_guards,
      .moves = 2.0 * (double)units / (double)(items * plan.wide),
      .flight_bytes = (double)rlo__min(LANE_BYTES, rlo__ceil_div(read_bytes, items))});
  return rate > 0.06 ? rate : 0.06;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  compute_plan plan;
  const bool is_chosen = choose(query, &plan, NULL);
  assert(is_chosen);
  const rlo__constant constants[] = {{"RLO_TURNS", plan.is_turned},
                                     {"RLO_WIDE", plan.wide},
                                     {"RLO_TILE_A", plan.tile_a},
                                     {"RLO_TILE_B", plan.tile_b},
                                     {0}};
  const rlo__arg args[] = {
      rlo__arg_index(problem->extents[plan.a_axis]),
      rlo__arg_index(extent_of(problem, plan.b_axis)),
      rlo__arg_stride(&problem->src, plan.b_axis),
      rlo__arg_stride(&problem->dst, plan.is_turned ? plan.a_axis : plan.b_axis),
      {0}};
  RLO_TRY(rlo__grid_emit(query, &plan.group, "gpu_compute_tile", constants, args, launch));
  rlo__launch_describe(launch, ", tile %lldx%lld%s, a lane moves %lld", (long long)plan.tile_a,
                       (long long)plan.tile_b, plan.is_turned ? " in local memory" : " of rows",
                       (long long)plan.wide);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_compute_tile = {"compute_tile", RLO_DEVICE_CLASS_GPU, judge, emit,
                                                  RLO__FAMILY_COMPUTES};
