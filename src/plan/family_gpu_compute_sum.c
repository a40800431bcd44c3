/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/arithmetic.h"
#include "plan/arith.h"
#include "plan/grid.h"

/* Family compute_sum, GPU class (cl/gpu_compute_sum.cl): sums along axes
 * without guards. */

enum {
  /* The kernel's own arguments; a vector is at most 16 of 8 bytes. */
  NUM_SCALARS = 14 + 2 * 16 + 2 * RLO__GPU_GRID_SCALARS,
  /** Work-items that read next to each other. */
  WARP = 32,
  /** Terms that a work-item has in flight at a time. */
  ITEM_TERMS = 16,
  /** Groups that keep a compute unit busy, and bytes in flight that keep its
   *  memory so. */
  UNIT_GROUPS = 4,
  UNIT_BYTES = 16 << 10
};

/* Most cells, and blocks of one, that ints count beyond a group's end. */
#define MAX_COUNT (INT32_MAX - 1024)

typedef struct sum_plan {
  rlo__grid_plan group;
  /** The blocks of a sum: the outer summed axes, then the blocks along the last
   *  one. As many axes as the grid's. */
  rlo__grid sum;
  int64_t blocks;
  int64_t cells;
  bool is_along_rows;
  /** Constants of the kernel. */
  int64_t team, group_cells, slots;
} sum_plan;

/* Units of the longest run of kept cells in the source. */
static int64_t contiguous_cells(const rlo_problem *problem, int32_t num_kept) {
  int64_t units = 1;
  for (int32_t a = 0; a < num_kept; ++a) {
    if (problem->src.axis[a] == 1) {
      units = rlo__max(units, problem->extents[a]);
    }
  }
  return units;
}

static int64_t power_from(int64_t count) {
  int64_t power = 1;
  while (power < count) {
    power *= 2;
  }
  return power;
}

/*
 * Who takes what in a group. First as few work-items to a cell as read whole
 * sectors; then, while there are fewer groups than keep the device busy, more
 * of them: several blocks at a time, then several work-items to a block.
 */
static void share_out(const rlo__family_query *query, int32_t num_kept, sum_plan *plan) {
  const rlo_problem *problem = query->problem;
  int64_t items = rlo__gpu_local_items(query->device);
  int64_t run = plan->is_along_rows ? 1 : contiguous_cells(problem, num_kept);
  int64_t near = rlo__min(power_from(run), WARP);
  int64_t most_team = rlo__min(rlo__min(items, RLO_SUM_LANES), rlo__arith_block_points(query));
  plan->team = rlo__min(most_team, WARP / near);
  /* Short rows leave a full team too little to do. */
  while (plan->is_along_rows &&
         plan->team * problem->unit_bits > INT64_C(8) * RLO__GPU_SECTOR_BYTES &&
         plan->team * ITEM_TERMS > problem->extents[problem->num_axes - 1]) {
    plan->team /= 2;
  }
  int64_t least_cells =
      plan->is_along_rows ? 1 : rlo__min(near, RLO__GPU_SECTOR_BYTES * 8 / problem->unit_bits);
  plan->slots = 1;
  plan->group_cells = items / plan->team;
  int64_t wanted = UNIT_GROUPS * rlo__max(query->device->compute_units, 1);
  while (plan->group_cells / 2 >= least_cells &&
         rlo__ceil_div(plan->cells, plan->group_cells) < wanted) {
    if (plan->slots < plan->blocks) {
      plan->slots *= 2;
    } else if (plan->team < most_team) {
      plan->team *= 2;
    } else {
      break;
    }
    plan->group_cells /= 2;
  }
  plan->group.num_groups = rlo__gpu_groups(rlo__ceil_div(plan->cells, plan->group_cells));
}

/* Levels of the sum over the passes of a cell. Few different numbers, because
 * each is a program of its own. */
static int64_t sum_levels(const sum_plan *plan) {
  static const int64_t levels[] = {1, 4, 10};
  int64_t passes = rlo__ceil_div(plan->blocks, plan->slots);
  for (size_t n = 0; n < sizeof levels / sizeof levels[0]; ++n) {
    if (passes >> levels[n] == 0) {
      return levels[n];
    }
  }
  return 31;
}

/* Bytes of a value of the compute type. */
static int64_t local_bytes(const rlo__family_query *query) {
  const rlo_arithmetic *a = &query->problem->arithmetic;
  bool is_f32 = rlo__arithmetic_compute(a) == RLO__COMPUTE_F32;
  return rlo__gpu_local_items(query->device) * (is_f32 ? 4 : 8);
}

/* Lays the kept axes and the blocks of the sum, as many axes of either. */
static void lay_grids(const rlo__family_query *query, int32_t num_kept, sum_plan *plan) {
  const rlo_problem *problem = query->problem;
  rlo__grid *grid = &plan->group.grid;
  int32_t last = problem->num_axes - 1;
  for (int32_t a = 0; a < num_kept; ++a) {
    rlo__grid_add_axis(grid, problem, a, 1);
  }
  rlo__grid_sort_by_src(grid);
  for (int32_t a = num_kept; a <= last; ++a) {
    int64_t step = a == last ? rlo__arith_block_points(query) : 1;
    rlo__grid_place_axis(&plan->sum, problem, a, step);
  }
  rlo__grid_lead_axes(grid, (int32_t)rlo__max(grid->num_axes, plan->sum.num_axes));
  rlo__grid_round_axes(grid);
  rlo__grid_lead_axes(&plan->sum, grid->num_axes);
}

static bool choose(const rlo__family_query *query, sum_plan *plan, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (problem->update != RLO_UPDATE_COMBINE || !rlo_problem_is_sum(problem)) {
    return RLO__REFUSE(why, "it sums nothing");
  }
  if (problem->num_guards > 0) {
    return RLO__REFUSE(why, "it has %d guards; the kernel takes none", problem->num_guards);
  }
  int32_t first = problem->num_axes - rlo__arith_num_sum_axes(problem);
  int32_t last = problem->num_axes - 1;
  *plan =
      (sum_plan){.group = RLO__GRID_PLAN_INIT(query),
                 .cells = 1,
                 .blocks = rlo__ceil_div(problem->extents[last], rlo__arith_block_points(query)),
                 .is_along_rows = problem->src.axis[last] == 1};
  if (!rlo__grid_is_within_limits(query, &plan->group.geometry, problem->num_axes, NUM_SCALARS,
                                  why) ||
      !rlo__gpu_has_local_bytes(query->device, "sums take", local_bytes(query), why)) {
    return false;
  }
  if (rlo__geometry_count_points(problem, 0, first, &plan->cells) != RLO_OK ||
      rlo__geometry_count_points(problem, first, last, &plan->blocks) != RLO_OK ||
      plan->cells > MAX_COUNT || plan->blocks > MAX_COUNT || problem->extents[last] > INT32_MAX) {
    return RLO__REFUSE(why, "it has more cells, or longer sums, than the kernel can count");
  }
  lay_grids(query, first, plan);
  share_out(query, first, plan);
  return true;
}

/* A guess from the sectors that are read and the bytes in flight; above compute
 * in any case. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  sum_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  int32_t last = problem->num_axes - 1;
  int32_t first = problem->num_axes - rlo__arith_num_sum_axes(problem);
  int64_t unit_bytes = problem->unit_bits / 8;
  int64_t row = problem->extents[last];
  int64_t run =
      plan.is_along_rows ? row : rlo__min(plan.group_cells, contiguous_cells(problem, first));
  int64_t terms = rlo__min(rlo__ceil_div(row, plan.team), ITEM_TERMS);
  double in_flight = (double)plan.group.num_groups *
                     (double)(plan.group_cells * plan.slots * plan.team * terms * unit_bytes);
  double wanted = (double)UNIT_BYTES * (double)rlo__max(query->device->compute_units, 1);
  double rate = 0.85 * rlo__gpu_sector_share(run * unit_bytes, unit_bytes) *
                (in_flight < wanted ? in_flight / wanted : 1.0);
  return rate > 0.06 ? rate : 0.06;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  int32_t last = problem->num_axes - 1;
  sum_plan plan;
  const bool is_chosen = choose(query, &plan, NULL);
  assert(is_chosen);
  /* The axes of the sum's blocks, as the vectors of the kernel. */
  int32_t count = plan.sum.num_axes;
  int64_t extents[RLO__GRID_MAX_AXES];
  int64_t strides[RLO__GRID_MAX_AXES];
  int64_t magic[RLO__GRID_MAX_AXES];
  for (int32_t n = 0; n < count; ++n) {
    extents[n] = plan.sum.axes[n].extent;
    strides[n] = plan.sum.axes[n].src_stride;
  }
  rlo__gpu_grid_magic(&plan.sum, magic);
  const rlo__constant constants[] = {
      {"RLO_ALONG_ROWS", plan.is_along_rows}, {"RLO_TEAM", plan.team},
      {"RLO_CELLS", plan.group_cells},        {"RLO_SLOTS", plan.slots},
      {"RLO_SUM_LEVELS", sum_levels(&plan)},  {0}};
  const rlo__arg args[] = {rlo__arg_int(plan.cells),
                           rlo__arg_vector(extents, count),
                           rlo__arg_vector(strides, count),
                           rlo__arg_lanes(RLO__ARG_INT16, magic, RLO__GRID_MAX_AXES),
                           rlo__arg_int(plan.blocks),
                           rlo__arg_int(problem->extents[last]),
                           rlo__arg_stride(&problem->src, last),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, &plan.group, "gpu_compute_sum", constants, args, launch));
  rlo__launch_describe(launch, ", %s, %lld cells to a group, %lld blocks of each at a time",
                       plan.is_along_rows ? "along rows" : "down columns",
                       (long long)plan.group_cells, (long long)plan.slots);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_compute_sum = {"compute_sum", RLO_DEVICE_CLASS_GPU, judge, emit,
                                                 RLO__FAMILY_COMPUTES};
