/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plane.h"

#include "base/status.h"

bool rlo__plane_find(const rlo_problem *problem, const rlo__geometry *geometry,
                     rlo__plane *out_plane, rlo__str *why) {
  if (geometry->dst_axis < 0) {
    return RLO__REFUSE(why, "no axis has stride 1 in the destination");
  }
  if (geometry->src_axis < 0) {
    return RLO__REFUSE(why, geometry->run_axis >= 0 ? "the innermost axis is the same on both sides"
                                                    : "no axis has stride 1 in the source");
  }
  rlo__plane *p = out_plane;
  p->a_axis = geometry->src_axis;
  p->b_axis = geometry->dst_axis;
  p->na = problem->extents[p->a_axis];
  p->nb = problem->extents[p->b_axis];
  p->src_ld = problem->src.axis[p->b_axis];
  p->dst_ld = problem->dst.axis[p->a_axis];
  return true;
}

rlo__arg *rlo__plane_args(const rlo__plane *plane, const rlo__grid *grid, rlo__arg *out) {
  *out++ = rlo__arg_int(rlo__grid_find(grid, plane->a_axis));
  *out++ = rlo__arg_int(rlo__grid_find(grid, plane->b_axis));
  *out++ = rlo__arg_index(plane->na);
  *out++ = rlo__arg_index(plane->nb);
  *out++ = rlo__arg_index(plane->src_ld);
  *out++ = rlo__arg_index(plane->dst_ld);
  return out;
}

/* -------------------------------------------------------------------- sides */

static void add_level(const rlo_problem *problem, int32_t axis, const rlo_form *across,
                      rlo__side *side) {
  int32_t n = side->num_levels++;
  side->axes[n] = axis;
  side->extents[n] = problem->extents[axis];
  side->steps[n] = across->axis[axis];
  side->extent = n == 0 ? side->extents[n] : side->extent * side->extents[n];
}

static uint64_t axes_of(const rlo__side *side) {
  uint64_t axes = 0;
  for (int32_t n = 0; n < side->num_levels; ++n) {
    axes |= UINT64_C(1) << side->axes[n];
  }
  return axes;
}

bool rlo__side_has(const rlo__side *side, int32_t axis) {
  return (axes_of(side) >> axis & 1) != 0;
}

void rlo__sides_init(const rlo_problem *problem, const rlo__plane *plane, rlo__side *out_a,
                     rlo__side *out_b) {
  *out_a = (rlo__side){0};
  *out_b = (rlo__side){0};
  add_level(problem, plane->a_axis, &problem->dst, out_a);
  add_level(problem, plane->b_axis, &problem->src, out_b);
}

void rlo__side_grow(const rlo_problem *problem, const rlo_form *along, int64_t enough,
                    const rlo__side *other, rlo__side *side) {
  const rlo_form *across = along == &problem->src ? &problem->dst : &problem->src;
  while (problem->num_guards == 0 && side->extent < enough &&
         side->num_levels < RLO__SIDE_MAX_LEVELS) {
    int32_t next = rlo__axis_run_next(problem, along, side->extent, axes_of(side) | axes_of(other));
    if (next < 0) {
      return;
    }
    add_level(problem, next, across, side);
  }
}
