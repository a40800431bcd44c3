/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/side.h"

bool rlo__side_has(const rlo__side *side, int32_t axis) {
  for (int32_t n = 0; n < side->num_levels; ++n) {
    if (side->axes[n] == axis) {
      return true;
    }
  }
  return false;
}

static void add_level(const rlo_problem *problem,
                      int32_t axis,
                      const rlo_form *across,
                      rlo__side *side) {
  int32_t n = side->num_levels++;
  side->axes[n] = axis;
  side->extents[n] = problem->extents[axis];
  side->steps[n] = across->axis[axis];
  side->extent = n == 0 ? side->extents[n] : side->extent * side->extents[n];
}

/* The axis that continues a side where it has no gaps, if it is free. */
static int32_t next_axis(const rlo_problem *problem,
                         const rlo_form *along,
                         const rlo__side *side,
                         const rlo__side *other) {
  if (side->num_levels == RLO__SIDE_MAX_LEVELS) {
    return -1;
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (along->axis[a] == side->extent && !rlo__side_has(side, a) &&
        !rlo__side_has(other, a)) {
      return a;
    }
  }
  return -1;
}

void rlo__sides_begin(const rlo_problem *problem,
                      const rlo__plane *plane,
                      rlo__side *out_a,
                      rlo__side *out_b) {
  *out_a = (rlo__side){0};
  *out_b = (rlo__side){0};
  add_level(problem, plane->a_axis, &problem->dst, out_a);
  add_level(problem, plane->b_axis, &problem->src, out_b);
}

static void grow(const rlo_problem *problem,
                 const rlo_form *along,
                 const rlo_form *across,
                 int64_t enough,
                 const rlo__side *other,
                 rlo__side *side) {
  while (problem->num_guards == 0 && side->extent < enough) {
    int32_t next = next_axis(problem, along, side, other);
    if (next < 0) {
      return;
    }
    add_level(problem, next, across, side);
  }
}

void rlo__side_grow_a(const rlo_problem *problem,
                      int64_t enough,
                      const rlo__side *b,
                      rlo__side *a) {
  grow(problem, &problem->src, &problem->dst, enough, b, a);
}

void rlo__side_grow_b(const rlo_problem *problem,
                      int64_t enough,
                      const rlo__side *a,
                      rlo__side *b) {
  grow(problem, &problem->dst, &problem->src, enough, a, b);
}
