/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/checked.h"
#include "base/status.h"
#include "plan/plane.h"

/* Family skinny, GPU class (cl/gpu_skinny.cl): a plane with one side of 2 to 8
 * units, closely packed. */

enum {
  MIN_SHORT = 2,
  /** Of structures that are split, and that are joined: the stores of structures
   *  of more than 16 bytes to a lane write each sector twice, or more often. */
  MAX_SPLIT = 8,
  MAX_JOIN = 4,
  /** Bytes of a lane, at most; of a piece, at most and at least; of the widest
   *  unit. */
  LANE_BYTES = 64,
  MAX_PIECE_BYTES = 16,
  MIN_PIECE_BYTES = 4,
  MAX_UNIT_BYTES = 8,
  NUM_SCALARS = 4 + RLO__GPU_GRID_SCALARS
};

/* The share of what a sector holds where two stores write it. */
#define TWO_STORES_SHARE 0.8

typedef struct skinny_plan {
  rlo__grid_plan group;
  rlo__plane plane;
  /** Axis a is the short one: structures are split into streams. Else axis b is.
   */
  bool is_split;
  int64_t short_units;
  int64_t long_units;
  int32_t long_axis;
  /** From stream to stream. */
  int64_t ld;
  int64_t piece_bytes;
  int64_t run_bytes;
  /** Of all groups together. */
  int64_t lanes;
} skinny_plan;

static bool is_short(int64_t extent, int64_t max) {
  return extent >= MIN_SHORT && extent <= max;
}

static bool find_sides(skinny_plan *plan, rlo__str *why) {
  const rlo__plane *p = &plan->plane;
  plan->is_split = is_short(p->na, MAX_SPLIT) && p->src_ld == p->na;
  if (!plan->is_split && !(is_short(p->nb, MAX_JOIN) && p->dst_ld == p->nb)) {
    return RLO__REFUSE(why,
                       "its plane is %lld x %lld with steps of %lld and %lld; axis a must have %d "
                       "to %d units, or axis b up to %d, closely packed",
                       (long long)p->na, (long long)p->nb, (long long)p->src_ld,
                       (long long)p->dst_ld, MIN_SHORT, MAX_SPLIT, MAX_JOIN);
  }
  plan->short_units = plan->is_split ? p->na : p->nb;
  plan->long_units = plan->is_split ? p->nb : p->na;
  plan->long_axis = plan->is_split ? p->b_axis : p->a_axis;
  plan->ld = plan->is_split ? p->dst_ld : p->src_ld;
  return true;
}

/* Largest power of two, at most `limit`, that divides the address of each
 * stream's first unit on a side, in bytes. */
static int64_t begin_alignment(const rlo_problem *problem, const rlo_form *form,
                               const skinny_plan *plan, int64_t limit) {
  const int64_t unit_bytes = plan->group.geometry.unit_bytes;
  const bool has_streams = (form == &problem->dst) == plan->is_split;
  int64_t align = rlo__alignment_after(limit, form->base * unit_bytes, limit);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    bool is_short_axis = a == plan->plane.a_axis || a == plan->plane.b_axis;
    if (a != plan->long_axis && (has_streams || !is_short_axis)) {
      align = rlo__alignment_after(align, form->axis[a] * unit_bytes, limit);
    }
  }
  return align;
}

/* The bytes that a lane moves at once: of 2 and 4 streams that are joined as
 * many as make one store. False if units are wider. */
static bool choose_pieces(const rlo__family_query *query, skinny_plan *plan) {
  const rlo_problem *problem = query->problem;
  const int64_t n = plan->short_units;
  const bool is_one_store = !plan->is_split && n != 3;
  int64_t most = is_one_store ? MAX_PIECE_BYTES / n : MAX_PIECE_BYTES;
  while (most * n > LANE_BYTES) {
    most /= 2;
  }
  const int64_t src = begin_alignment(problem, &problem->src, plan,
                                      rlo__min(query->src_alignment_bytes, MAX_PIECE_BYTES));
  const int64_t dst = begin_alignment(problem, &problem->dst, plan,
                                      rlo__min(query->dst_alignment_bytes, MAX_PIECE_BYTES));
  plan->piece_bytes = rlo__min(most, rlo__min(src, dst));
  const bool is_wide = (plan->is_split ? src : dst) == MAX_PIECE_BYTES &&
                       n * plan->piece_bytes % MAX_PIECE_BYTES == 0;
  plan->run_bytes = is_wide ? MAX_PIECE_BYTES : plan->piece_bytes;
  return plan->piece_bytes >= rlo__max(MIN_PIECE_BYTES, plan->group.geometry.unit_bytes);
}

/* Lanes take the streams of the long axis last, so that neighbours move
 * neighbouring pieces. */
static bool cover(const rlo_problem *problem, skinny_plan *plan) {
  rlo__grid *grid = &plan->group.grid;
  plan->lanes = 1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != plan->plane.a_axis && a != plan->plane.b_axis) {
      rlo__grid_add_axis(grid, problem, a, 1);
    }
  }
  rlo__grid_add_axis(grid, problem, plan->long_axis,
                     plan->piece_bytes / plan->group.geometry.unit_bytes);
  rlo__grid_round_axes(grid);
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    if (!rlo__mul(plan->lanes, grid->axes[n].extent, &plan->lanes)) {
      return false;
    }
  }
  return plan->lanes <= INT32_MAX;
}

static bool choose(const rlo__family_query *query, skinny_plan *plan, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  *plan = (skinny_plan){.group = RLO__GRID_PLAN_INIT(query)};
  rlo__grid_plan *group = &plan->group;
  const int64_t unit_bytes = group->geometry.unit_bytes;
  if (!rlo__plane_find(problem, &group->geometry, &plan->plane, why) || !find_sides(plan, why) ||
      !rlo__grid_is_within_limits(query, &group->geometry, problem->num_axes - 1, NUM_SCALARS,
                                  why)) {
    return false;
  }
  if (unit_bytes > MAX_UNIT_BYTES || !choose_pieces(query, plan)) {
    return RLO__REFUSE(why, "units of %lld bytes, %lld streams at multiples of %lld",
                       (long long)unit_bytes, (long long)plan->short_units,
                       (long long)plan->piece_bytes);
  }
  group->x_axis = plan->plane.a_axis;
  group->y_axis = plan->plane.b_axis;
  if (!cover(problem, plan)) {
    return RLO__REFUSE(why, "it has more pieces than the kernel can count");
  }
  group->num_groups =
      rlo__gpu_groups(rlo__ceil_div(plan->lanes, rlo__gpu_local_items(query->device)));
  return rlo__gpu_can_launch(group->num_groups, why);
}

static double judge(const rlo__family_query *query, rlo__str *why) {
  skinny_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  const int64_t unit_bytes = plan.group.geometry.unit_bytes;
  const int64_t lane_bytes = plan.short_units * plan.piece_bytes;
  const double stream = rlo__gpu_sector_share(plan.long_units * unit_bytes, 2 * plan.piece_bytes);
  const bool is_one_store = plan.is_split || lane_bytes <= MAX_PIECE_BYTES;
  const int64_t items = rlo__gpu_local_items(query->device);
  return rlo__gpu_rate(&(rlo__gpu_group){
      .loop = RLO__GPU_SKINNY,
      .items = items,
      .bytes = 2.0 * (double)(items * lane_bytes),
      .fullness = rlo__grid_fullness(plan.long_units, plan.piece_bytes / unit_bytes),
      .src_share = plan.is_split ? 1.0 : stream,
      .dst_share = plan.is_split  ? stream
                   : is_one_store ? 1.0
                                  : TWO_STORES_SHARE,
      .num_grid_axes = plan.group.grid.num_axes,
      .num_guards = query->problem->num_guards,
      .moves = (double)lane_bytes / (double)rlo__min(unit_bytes, 4),
      .flight_bytes = (double)lane_bytes});
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  skinny_plan plan;
  const bool is_chosen = choose(query, &plan, NULL);
  assert(is_chosen);
  const rlo__constant constants[] = {{"RLO_PIECE_BYTES", plan.piece_bytes},
                                     {"RLO_RUN_BYTES", plan.run_bytes},
                                     {"RLO_SKINNY_SPLIT", plan.is_split},
                                     {"RLO_SKINNY_N", plan.short_units},
                                     {0}};
  const rlo__arg args[] = {rlo__arg_int(plan.lanes),
                           rlo__arg_int(rlo__grid_find(&plan.group.grid, plan.long_axis)),
                           rlo__arg_index(plan.long_units),
                           rlo__arg_index(plan.ld),
                           {0}};
  const int64_t lane_bytes = plan.short_units * plan.piece_bytes;
  RLO_TRY(rlo__grid_emit(query, &plan.group, "gpu_skinny", constants, args, launch));
  rlo__launch_describe(launch, "%s %lld streams of %lld units of %lld bytes, %lld bytes per lane",
                       plan.is_split ? "split into" : "join", (long long)plan.short_units,
                       (long long)plan.long_units, (long long)plan.group.geometry.unit_bytes,
                       (long long)lane_bytes);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_skinny = {"skinny", RLO_DEVICE_CLASS_GPU, judge, emit, 0};
