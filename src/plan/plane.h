/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PLANE_H
#define RLO_PLAN_PLANE_H

#include "plan/cpu_launch.h"

/**
 * The plane that cl/cpu_tile.cl and cl/cpu_skinny.cl move: axis a has stride 1
 * in the source, axis b in the destination, and they are two.
 *
 *     for i < na, j < nb: dst[i * dst_ld + j] = src[i + j * src_ld]
 */
typedef struct rlo__plane {
  int32_t a_axis;
  int32_t b_axis;
  int64_t na;
  int64_t nb;
  int64_t src_ld;
  int64_t dst_ld;
} rlo__plane;

/** Arguments of these kernels after the common ones. */
#define RLO__PLANE_NUM_SCALARS 6

/** The plane of a problem; false, and why, if it has none. */
bool rlo__plane_find(const rlo_problem *problem,
                     const rlo__geometry *geometry,
                     rlo__plane *out_plane,
                     rlo__str *why);

/**
 * Lay the groups of a plan: `tile_a` by `tile_b` points of the plane each, in
 * the plan's order, and the guards' x and y along a and b. The plan's geometry
 * and order are filled already.
 */
RLO_NODISCARD rlo_status rlo__plane_lay_grid(const rlo_problem *problem,
                                             const rlo__plane *plane,
                                             int64_t tile_a,
                                             int64_t tile_b,
                                             rlo__grid_plan *plan);

/** Add the six arguments. */
RLO_NODISCARD rlo_status rlo__plane_add_arguments(const rlo__plane *plane,
                                                  const rlo__grid_plan *plan,
                                                  rlo__launch *launch);

#endif
