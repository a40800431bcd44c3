/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/grid.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/status.h"

rlo_status rlo__grid_add_axis(rlo__grid *grid,
                              const rlo_problem *problem,
                              int32_t axis,
                              int64_t step) {
  if (problem->extents[axis] <= step) {
    return RLO_OK;
  }
  if (grid->num_axes == RLO__GRID_MAX_AXES) {
    return RLO_FAIL(RLO_INTERNAL,
                    "work-groups need more than %d coordinates",
                    RLO__GRID_MAX_AXES);
  }
  rlo__grid_axis *added = &grid->axes[grid->num_axes++];
  added->problem_axis = axis;
  added->step = step;
  added->extent = rlo__ceil_div(problem->extents[axis], step);
  /* step < extent, and the strides times the extent are known to fit. */
  added->src_stride = problem->src.axis[axis] * step;
  added->dst_stride = problem->dst.axis[axis] * step;
  return RLO_OK;
}

static int compare_distance(int64_t a, int64_t b) {
  a = llabs(a);
  b = llabs(b);
  return (a < b) - (a > b);
}

static int compare(rlo__grid_order order,
                   const int32_t plane_axes[2],
                   const rlo__grid_axis *a,
                   const rlo__grid_axis *b) {
  int by_src = compare_distance(a->src_stride, b->src_stride);
  int by_dst = compare_distance(a->dst_stride, b->dst_stride);
  if (order == RLO__GRID_ORDER_DST) {
    return by_dst != 0 ? by_dst : by_src;
  }
  if (order == RLO__GRID_ORDER_PLANE) {
    bool a_is_in =
        a->problem_axis == plane_axes[0] || a->problem_axis == plane_axes[1];
    bool b_is_in =
        b->problem_axis == plane_axes[0] || b->problem_axis == plane_axes[1];
    if (a_is_in != b_is_in) {
      return a_is_in ? 1 : -1;
    }
  }
  return by_src != 0 ? by_src : by_dst;
}

void rlo__grid_sort(rlo__grid *grid,
                    rlo__grid_order order,
                    const int32_t plane_axes[2]) {
  for (int32_t n = 1; n < grid->num_axes; ++n) {
    rlo__grid_axis moved = grid->axes[n];
    int32_t place = n;
    while (place > 0 &&
           compare(order, plane_axes, &grid->axes[place - 1], &moved) > 0) {
      grid->axes[place] = grid->axes[place - 1];
      --place;
    }
    grid->axes[place] = moved;
  }
}

void rlo__grid_sort_by_src(rlo__grid *grid) {
  static const int32_t none[2] = {-1, -1};
  rlo__grid_sort(grid, RLO__GRID_ORDER_OWN, none);
}

int32_t rlo__grid_find(const rlo__grid *grid, int32_t problem_axis) {
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    if (grid->axes[n].problem_axis == problem_axis) {
      return n;
    }
  }
  return -1;
}

rlo_status rlo__grid_num_groups(const rlo__grid *grid, size_t *out_groups) {
  size_t groups = 1;
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    if (__builtin_mul_overflow(groups, grid->axes[n].extent, &groups)) {
      return RLO_FAIL(RLO_OVERFLOW, "the number of work-groups leaves size_t");
    }
  }
  *out_groups = groups;
  return RLO_OK;
}
