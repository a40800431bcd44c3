/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GRID_H
#define RLO_PLAN_GRID_H

#include "plan/schedule.h"
#include "relayout/problem.h"

/** Lanes of the widest grid argument. */
#define RLO__GRID_MAX_AXES 16

/** A coordinate of work-groups: it steps along an axis of the problem. */
typedef struct rlo__grid_axis {
  int32_t problem_axis;
  /** Points of that axis that one group moves along it. */
  int64_t step;
  /** Steps, and units from step to step. */
  int64_t extent;
  int64_t src_stride;
  int64_t dst_stride;
} rlo__grid_axis;

/** How work-groups are laid over a problem's box. The last axis listed varies
 *  fastest. */
typedef struct rlo__grid {
  int32_t num_axes;
  rlo__grid_axis axes[RLO__GRID_MAX_AXES];
} rlo__grid;

/**
 * Let groups step along an axis, `step` >= 1 points at a time. Nothing is added
 * if one step covers it. An axis goes in at most once.
 * @return RLO_OK; RLO_INTERNAL beyond RLO__GRID_MAX_AXES.
 */
RLO_NODISCARD rlo_status rlo__grid_add_axis(rlo__grid *grid,
                                            const rlo_problem *problem,
                                            int32_t axis,
                                            int64_t step);

/** Order by falling distance of steps in the source: groups that run one after
 *  another read near each other. Scattered writes cost less. */
void rlo__grid_sort_by_src(rlo__grid *grid);

/**
 * Order as a schedule asks for.
 * @param plane_axes  the two axes of the problem that make the plane; -1 for
 *        none.
 */
void rlo__grid_sort(rlo__grid *grid,
                    rlo__grid_order order,
                    const int32_t plane_axes[2]);

/** Where an axis of the problem stands, or -1 if one group covers it. */
int32_t rlo__grid_find(const rlo__grid *grid, int32_t problem_axis);

/** Number of groups. @return RLO_OK; RLO_OVERFLOW beyond size_t. */
RLO_NODISCARD rlo_status rlo__grid_num_groups(const rlo__grid *grid,
                                              size_t *out_groups);

#endif
