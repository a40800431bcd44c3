/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "plan/grid.h"

/* Family rows, GPU class (cl/gpu_rows.cl): the innermost axis is the same on
 * both sides. */

enum {
  NUM_SCALARS = 9 + RLO__GPU_GRID_SCALARS,
  MAX_WIDE_BYTES = 16,
  /** Bytes that a lane has in flight, and most pieces. */
  LANE_BYTES = 64,
  LANE_PIECES = 8,
  /** Chunks of rows are multiples of this many pieces. */
  CHUNK_PIECES = 32,
  /** Bytes of a piece of a row with any alignment, and of the shortest such
   *  row. */
  SHIFT_BYTES = 4,
  MIN_SHIFT_ROW_BYTES = 16
};

/* What testing a guard costs, compared with moving a piece: measured. */
#define GUARD_MOVES 0.8

typedef struct row_plan {
  rlo__grid_plan group;
  int64_t row_units;
  int64_t wide_units;
  /** Rows have any alignment; pieces are cut at multiples of their size. */
  bool is_shifted;
  /** Equal to row_units unless rows are cut. */
  int64_t chunk_units;
  /** Pieces of a chunk. */
  int64_t pieces;
  /** Groups take rows in the order of the grid, because no axis is long enough.
   */
  bool is_flat;
  /** Axis along which one group moves several rows, or -1. */
  int32_t batch_axis;
  int64_t batch_extent;
  int64_t batch_rows;
} row_plan;

/* Units that a lane moves at once: 16 bytes, 4 bytes or one unit; other sizes
 * would only add programs. Rows begin at multiples of them. */
static int64_t wide_units(const rlo__family_query *query, const rlo__geometry *g) {
  const rlo_problem *problem = query->problem;
  if (g->is_fill) {
    return 1; /* no whole piece */
  }
  int64_t bytes = rlo__dst_alignment(query, g->run_axis,
                                     rlo__src_alignment(query, g->run_axis, MAX_WIDE_BYTES));
  int64_t row = g->run_axis >= 0 ? problem->extents[g->run_axis] : 1;
  for (int64_t wide = MAX_WIDE_BYTES; wide > 1; wide /= 4) {
    int64_t units = wide / g->unit_bytes;
    if (units > 1 && bytes >= wide && row >= units) {
      return units;
    }
  }
  return 1;
}

/* Long rows: a group takes a chunk of one row. */
static void cut_row(row_plan *plan, int64_t group_pieces) {
  int64_t row_pieces = rlo__ceil_div(plan->row_units, plan->wide_units);
  int64_t chunks = rlo__ceil_div(row_pieces, group_pieces);
  plan->pieces = rlo__ceil_div(rlo__ceil_div(row_pieces, chunks), CHUNK_PIECES) * CHUNK_PIECES;
  plan->chunk_units = plan->pieces * plan->wide_units;
  plan->pieces += plan->is_shifted ? 1 : 0;
}

/* Short rows: a group takes several, along the nearest axis in the destination
 * that has enough of them, or else in the order of the grid. */
static bool gather_rows(const rlo_problem *problem, row_plan *plan, int64_t group_pieces) {
  int64_t wanted = group_pieces / plan->pieces;
  int32_t others = 0;
  int64_t num_rows = 1;
  for (int32_t a = problem->num_axes - 1; a >= 0; --a) {
    if (a == plan->group.x_axis) {
      continue;
    }
    ++others;
    if (plan->batch_axis < 0 && problem->extents[a] >= (wanted + 1) / 2) {
      plan->batch_axis = a;
    }
    if (!rlo__mul(num_rows, problem->extents[a], &num_rows)) {
      return false;
    }
  }
  plan->is_flat = plan->batch_axis < 0 && others > 1;
  if (plan->batch_axis < 0 && others == 1) {
    plan->batch_axis = plan->group.x_axis == 0 ? 1 : 0;
  }
  plan->batch_extent = plan->is_flat           ? num_rows
                       : plan->batch_axis >= 0 ? problem->extents[plan->batch_axis]
                                               : 1;
  int64_t batches = rlo__ceil_div(plan->batch_extent, wanted);
  plan->batch_rows = rlo__ceil_div(plan->batch_extent, batches);
  return true;
}

/* False beyond 64 bits. */
static bool cover(const rlo__family_query *query, row_plan *plan) {
  const rlo_problem *problem = query->problem;
  rlo__grid_plan *group = &plan->group;
  int64_t unit_bytes = group->geometry.unit_bytes;
  int64_t piece_bytes = plan->wide_units * unit_bytes;
  int64_t group_pieces =
      rlo__max(rlo__gpu_local_items(query->device) * rlo__thresholds.plan_gpu_rows_lane_pieces,
               rlo__thresholds.plan_gpu_rows_bytes / piece_bytes);
  if (plan->pieces > group_pieces) {
    cut_row(plan, group_pieces);
  } else if (!gather_rows(problem, plan, group_pieces)) {
    return false;
  }
  group->y_axis = plan->batch_axis;
  rlo__grid_cover(group, problem, plan->chunk_units, plan->batch_rows);
  rlo__grid_round_axes(&group->grid);
  if (plan->is_flat) {
    group->num_groups = rlo__gpu_groups(rlo__ceil_div(plan->batch_extent, plan->batch_rows));
    return plan->batch_extent <= INT32_MAX;
  }
  return rlo__grid_num_groups(&group->grid, &group->num_groups) == RLO_OK;
}

static bool choose(const rlo__family_query *query, row_plan *plan, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  *plan = (row_plan){
      .group = RLO__GRID_PLAN_INIT(query), .batch_axis = -1, .batch_extent = 1, .batch_rows = 1};
  const rlo__geometry *g = &plan->group.geometry;
  int32_t run = g->run_axis;
  if (problem->num_axes > 0 && run < 0) {
    return RLO__REFUSE(why, "no axis has stride 1 on both sides");
  }
  if (!rlo__grid_is_within_limits(query, g, problem->num_axes, NUM_SCALARS, why)) {
    return false;
  }
  plan->group.x_axis = run;
  plan->row_units = run >= 0 ? problem->extents[run] : 1;
  plan->chunk_units = plan->row_units;
  plan->wide_units = wide_units(query, g);
  plan->is_shifted = plan->wide_units == 1 && !g->is_fill && g->unit_bytes < SHIFT_BYTES &&
                     plan->row_units * g->unit_bytes >= MIN_SHIFT_ROW_BYTES;
  if (plan->is_shifted) {
    plan->wide_units = SHIFT_BYTES / g->unit_bytes;
  }
  plan->pieces = rlo__ceil_div(plan->row_units, plan->wide_units) + (plan->is_shifted ? 1 : 0);
  if (!cover(query, plan)) {
    return RLO__REFUSE(why, "it has more rows than the kernel can count");
  }
  return rlo__gpu_can_launch(plan->group.num_groups, why);
}

static double judge(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  row_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  int32_t run = plan.group.x_axis;
  int64_t row_bytes = plan.row_units * plan.group.geometry.unit_bytes;
  double dst =
      rlo__gpu_sector_share(row_bytes, rlo__dst_alignment(query, run, RLO__GPU_SECTOR_BYTES));
  double src =
      rlo__gpu_sector_share(row_bytes, rlo__src_alignment(query, run, RLO__GPU_SECTOR_BYTES));
  int64_t items = rlo__gpu_local_items(query->device);
  int64_t piece_bytes = plan.wide_units * plan.group.geometry.unit_bytes;
  double pieces = (double)(plan.batch_rows * plan.pieces) / (double)items;
  /* A flat grid is decoded once for each piece. */
  double flight = plan.is_flat ? 1.0 : (double)LANE_PIECES;
  flight = pieces < flight ? pieces : flight;
  /* Each guard is tested for each piece, which counts where pieces are small. */
  double tests = piece_bytes < MAX_WIDE_BYTES ? 1.0 + GUARD_MOVES * problem->num_guards : 1.0;
  return rlo__gpu_rate(&(rlo__gpu_group){
      .loop = plan.is_flat      ? RLO__GPU_ROWS_FLAT
              : plan.is_shifted ? RLO__GPU_ROWS_SHIFTED
                                : RLO__GPU_ROWS,
      .items = items,
      .bytes = 2.0 * (double)(plan.batch_rows * plan.chunk_units * plan.group.geometry.unit_bytes),
      .fullness = 1.0,
      /* Where nothing is read, only writes count. */
      .src_share = plan.group.geometry.is_fill ? dst : src,
      .dst_share = dst,
      .num_grid_axes = plan.group.grid.num_axes,
      .num_guards = problem->num_guards,
      .finds = plan.is_flat ? pieces : 0.0,
      .find_axes = plan.group.grid.num_axes,
      .moves = tests * (pieces < 1.0 ? 1.0 : pieces),
      .flight_bytes = flight * (double)piece_bytes});
}

/* A factor, to be read as uint: floor(p / n) = floor(p * this / 2^32) for all
 * p < 2^32 / n. */
static int64_t reciprocal(int64_t n) {
  if (n == 1) {
    return 0;
  }
  int64_t value = rlo__ceil_div(INT64_C(1) << 32, n);
  return value > INT32_MAX ? value - (INT64_C(1) << 32) : value;
}

static void describe(const row_plan *plan, rlo__launch *launch) {
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  rlo__launch_describe(launch, "rows of %lld units of %lld bytes, %lld bytes per lane%s",
                       (long long)plan->row_units, (long long)unit_bytes,
                       (long long)plan->wide_units * unit_bytes,
                       plan->is_shifted ? " of two words" : "");
  if (plan->chunk_units < plan->row_units) {
    rlo__launch_describe(launch, ", chunks of %lld", (long long)plan->chunk_units);
  } else {
    rlo__launch_describe(launch, ", %lld to a group%s", (long long)plan->batch_rows,
                         plan->is_flat ? ", across axes" : "");
  }
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  row_plan plan;
  const bool is_chosen = choose(query, &plan, NULL);
  assert(is_chosen);
  const rlo__grid_plan *group = &plan.group;
  int32_t batch = plan.batch_axis;
  int64_t piece_bytes = plan.wide_units * group->geometry.unit_bytes;
  int64_t pieces = rlo__min(LANE_BYTES / piece_bytes, LANE_PIECES);
  const rlo__constant constants[] = {
      {"RLO_WIDE_UNITS", plan.wide_units},
      {"RLO_SHIFT", plan.is_shifted},
      {"RLO_FLAT", plan.is_flat},
      /* Each piece of a flat grid decodes by itself, which takes much code. */
      {"RLO_PIECES", plan.is_flat ? 1 : pieces},
      {0}};
  const rlo__arg args[] = {rlo__arg_int(rlo__grid_find(&group->grid, batch)),
                           rlo__arg_index(plan.batch_extent),
                           rlo__arg_index(plan.batch_rows),
                           rlo__arg_stride(&problem->src, batch),
                           rlo__arg_stride(&problem->dst, batch),
                           rlo__arg_int(rlo__grid_find(&group->grid, group->x_axis)),
                           rlo__arg_index(plan.row_units),
                           rlo__arg_index(plan.chunk_units),
                           rlo__arg_int(reciprocal(plan.pieces)),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, group, "gpu_rows", constants, args, launch));
  describe(&plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_rows = {"rows", RLO_DEVICE_CLASS_GPU, judge, emit, 0};
