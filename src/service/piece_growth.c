/* SPDX-License-Identifier: Apache-2.0 */
#include "service/piece_growth.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "service/piece_grid.h"
#include "service/piece_plan.h"

/** The part of its time that growth has to save, to go on. */
static const double MIN_GAIN = 1e-3;

void rlo__grower_init(rlo__grower *grower, const rlo_problem *problem) {
  grower->problem = problem;
  grower->bare = *problem;
  grower->bare.num_guards = 0;
  grower->bare.src_bytes = grower->bare.dst_bytes = INT64_MAX / 16;
  for (int side = RLO__SIDE_SOURCE; side <= RLO__SIDE_DESTINATION; ++side) {
    rlo__grid_rank_axes(problem, (rlo__problem_side)side, grower->order[side], NULL);
  }
}

/** A part of some extents, wherever it lies. */
typedef struct look {
  int64_t bytes[2];
  /** The time of all transfers in such parts, in bytes of long runs. */
  double cost;
} look;

static rlo_status move_to_zero(const rlo_problem *bare, rlo_form *form) {
  int64_t min;
  int64_t max;
  form->base = 0;
  if (!rlo__form_range(bare, form, &min, &max) || !rlo__sub(0, min, &form->base)) {
    return rlo__fail_overflow("a position");
  }
  return RLO_OK;
}

static rlo_status look_at(rlo__grower *grower, const rlo__growth_goal *goal, const int64_t *extents,
                          look *out) {
  rlo_problem *bare = &grower->bare;
  memcpy(bare->extents, extents, sizeof bare->extents);
  RLO_TRY(move_to_zero(bare, &bare->src));
  RLO_TRY(move_to_zero(bare, &bare->dst));
  double count = 1.0;
  for (int32_t a = 0; a < bare->num_axes; ++a) {
    count *= (double)grower->problem->extents[a] / (double)extents[a];
  }
  out->cost = 0.0;
  for (int side = RLO__SIDE_SOURCE; side <= RLO__SIDE_DESTINATION; ++side) {
    rlo__lattice lattice;
    RLO_TRY(rlo__problem_footprint(bare, (rlo__problem_side)side, &lattice));
    out->bytes[side] = rlo__lattice_bytes(&lattice);
    int64_t run = rlo__min(lattice.run_bytes, goal->max_run_bytes[side]);
    out->cost += (double)out->bytes[side] * count * rlo__run_cost(run, goal->good_bytes[side]);
  }
  /* One part is read while another is written, but for the first and the last.
   */
  out->cost *= 1.0 + 1.0 / count;
  return RLO_OK;
}

static bool fits(const rlo__growth_goal *goal, const look *l) {
  const int64_t *bytes = l->bytes;
  return bytes[0] <= goal->max_bytes[0] && bytes[1] <= goal->max_bytes[1] &&
         rlo__add_capped(bytes[0], bytes[1]) <= goal->max_sum_bytes;
}

int64_t rlo__grower_round(const rlo__grower *grower, int32_t axis, int64_t extent, int64_t most,
                          int64_t divisor) {
  int64_t multiple = grower->atoms[axis];
  while (multiple < extent / divisor && multiple < 1024) {
    multiple *= 2;
  }
  return rlo__round_up(extent, multiple, &extent) ? rlo__min(extent, most) : most;
}

/* The next larger extent: the axis in fewer parts of about equal size, by
 * 1/divisor of them. */
static int64_t next_extent(const rlo__grower *grower, const rlo__growth_goal *goal, int32_t axis,
                           int64_t extent, int64_t divisor) {
  int64_t most = goal->most[axis];
  int64_t parts = rlo__ceil_div(most, extent);
  parts -= rlo__max(parts / divisor, 1);
  return rlo__grower_round(grower, axis, rlo__ceil_div(most, parts), most, 32);
}

/* Finds the axis whose growth is worth most; -1 if none can grow. */
static rlo_status best_growth(rlo__grower *grower, const rlo__growth_goal *goal,
                              const rlo__growth *growth, int64_t divisor, int32_t *out_axis,
                              look *out_look) {
  int64_t extents[RLO_MAX_AXES];
  memcpy(extents, growth->extents, sizeof extents);
  *out_axis = -1;
  for (int32_t n = 0; n < grower->problem->num_axes; ++n) {
    int32_t a = grower->order[goal->side][n];
    int64_t extent = extents[a];
    if (extent == goal->most[a]) {
      continue;
    }
    look l;
    extents[a] = next_extent(grower, goal, a, extent, divisor);
    RLO_TRY(look_at(grower, goal, extents, &l));
    extents[a] = extent;
    if (fits(goal, &l) && (*out_axis < 0 || l.cost < out_look->cost * (1.0 - 1e-6))) {
      *out_axis = a;
      *out_look = l;
    }
  }
  return RLO_OK;
}

rlo_status rlo__grower_run(rlo__grower *grower, const rlo__growth_goal *goal, rlo__growth *out) {
  memcpy(out->extents, grower->atoms, sizeof out->extents);
  out->num_steps = 0;
  look now;
  RLO_TRY(look_at(grower, goal, out->extents, &now));
  for (int64_t divisor = 2; divisor <= 8; divisor *= 2) {
    while (out->num_steps < rlo__thresholds.service_growth_steps) {
      int32_t axis;
      look next;
      RLO_TRY(best_growth(grower, goal, out, divisor, &axis, &next));
      if (axis < 0 || (next.cost >= now.cost * (1.0 - MIN_GAIN) &&
                       now.bytes[goal->side] >= goal->enough_bytes)) {
        break;
      }
      int64_t extent = out->extents[axis];
      out->steps[out->num_steps].axis = axis;
      out->steps[out->num_steps++].extent = extent;
      out->extents[axis] = next_extent(grower, goal, axis, extent, divisor);
      now = next;
    }
  }
  return RLO_OK;
}

bool rlo__growth_pop(rlo__growth *growth) {
  if (growth->num_steps == 0) {
    return false;
  }
  --growth->num_steps;
  growth->extents[growth->steps[growth->num_steps].axis] = growth->steps[growth->num_steps].extent;
  return true;
}
