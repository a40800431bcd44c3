/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PLANE_H
#define RLO_PLAN_PLANE_H

#include "plan/grid.h"

/**
 * The plane that cl/cpu_tile.cl, cl/cpu_skinny.cl and cl/gpu_tile.cl move. Axis
 * a has stride 1 in the source, axis b in the destination, and they differ.
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

/** Number of arguments that rlo__plane_args writes. */
#define RLO__PLANE_NUM_SCALARS 6

/** The plane of a problem. False, with the reason in `why`, if it has none. */
bool rlo__plane_find(const rlo_problem *problem, const rlo__geometry *geometry,
                     rlo__plane *out_plane, rlo__str *why);

/** Writes the arguments of a plane: the grid axes of a and b, then na, nb,
 *  src_ld and dst_ld. @return the end of what is written. */
rlo__arg *rlo__plane_args(const rlo__plane *plane, const rlo__grid *grid, rlo__arg *out);

/* -------------------------------------------------------------------- sides */

/** Most axes of one side of a plane. */
#define RLO__SIDE_MAX_LEVELS 3

/**
 * A side of the plane that cl/cpu_tile.cl moves, which may join several axes: a
 * run of axes without gaps, seen as one axis of `extent` positions. Position p
 * is c0 + extents[0] * (c1 + extents[1] * c2); on the other side of the problem
 * it is at c0 * steps[0] + c1 * steps[1] + c2 * steps[2] units.
 */
typedef struct rlo__side {
  int32_t num_levels;
  /** Axes of the problem, the fastest first. */
  int32_t axes[RLO__SIDE_MAX_LEVELS];
  int64_t extents[RLO__SIDE_MAX_LEVELS];
  int64_t steps[RLO__SIDE_MAX_LEVELS];
  int64_t extent;
} rlo__side;

/** Initializes the sides of a plane with one axis each. */
void rlo__sides_init(const rlo_problem *problem, const rlo__plane *plane, rlo__side *out_a,
                     rlo__side *out_b);

/**
 * Adds axes to a side until it has `enough` units or no axis that is free
 * continues it. A problem with guards keeps one axis to a side, because the
 * kernel evaluates guards along single axes.
 *
 * @param along  in which the side has no gaps: for side a the problem's source,
 *               for side b its destination.
 */
void rlo__side_grow(const rlo_problem *problem, const rlo_form *along, int64_t enough,
                    const rlo__side *other, rlo__side *side);

/** Tells if an axis of the problem is part of a side. */
bool rlo__side_has(const rlo__side *side, int32_t axis);

#endif
