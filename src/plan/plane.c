/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plane.h"

#include "base/status.h"

bool rlo__plane_find(const rlo_problem *problem,
                     const rlo__geometry *geometry,
                     rlo__plane *out_plane,
                     rlo__str *why) {
  if (geometry->dst_axis < 0) {
    rlo__str_append(why, "no axis has stride 1 in the destination");
    return false;
  }
  if (geometry->src_axis < 0) {
    rlo__str_append(why,
                    geometry->run_axis >= 0
                        ? "the innermost axis is the same on both sides"
                        : "no axis has stride 1 in the source");
    return false;
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

rlo_status rlo__plane_lay_grid(const rlo_problem *problem,
                               const rlo__plane *plane,
                               int64_t tile_a,
                               int64_t tile_b,
                               rlo__grid_plan *plan) {
  plan->grid.num_axes = 0;
  plan->x_axis = plane->a_axis;
  plan->y_axis = plane->b_axis;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = a == plane->a_axis   ? tile_a
                   : a == plane->b_axis ? tile_b
                                        : 1;
    RLO_TRY(rlo__grid_add_axis(&plan->grid, problem, a, step));
  }
  const int32_t plane_axes[2] = {plane->a_axis, plane->b_axis};
  rlo__grid_sort(&plan->grid, plan->order, plane_axes);
  return RLO_OK;
}

rlo_status rlo__plane_add_arguments(const rlo__plane *plane,
                                    const rlo__grid_plan *plan,
                                    rlo__launch *launch) {
  const rlo__grid *grid = &plan->grid;
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(grid, plane->a_axis)));
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(grid, plane->b_axis)));
  return rlo__plane_add_sizes(plane, plan, launch);
}

rlo_status rlo__plane_add_sizes(const rlo__plane *plane,
                                const rlo__grid_plan *plan,
                                rlo__launch *launch) {
  RLO_TRY(rlo__grid_add_index(plan, launch, plane->na));
  RLO_TRY(rlo__grid_add_index(plan, launch, plane->nb));
  RLO_TRY(rlo__grid_add_index(plan, launch, plane->src_ld));
  return rlo__grid_add_index(plan, launch, plane->dst_ld);
}

/* -------------------------------------------------------------------- sides */

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

static uint64_t axes_of(const rlo__side *side) {
  uint64_t axes = 0;
  for (int32_t n = 0; n < side->num_levels; ++n) {
    axes |= UINT64_C(1) << side->axes[n];
  }
  return axes;
}

void rlo__sides_init(const rlo_problem *problem,
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
  while (problem->num_guards == 0 && side->extent < enough &&
         side->num_levels < RLO__SIDE_MAX_LEVELS) {
    int32_t next = rlo__axis_run_next(
        problem, along, side->extent, axes_of(side) | axes_of(other));
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
