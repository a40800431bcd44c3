/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SIDE_H
#define RLO_PLAN_SIDE_H

#include "plan/plane.h"

/** Axes of which one side of a tiled plane is made at most. */
#define RLO__SIDE_MAX_LEVELS 3

/**
 * A side of the plane that cl/cpu_tile.cl moves: axes that follow each other
 * without gaps on that side, seen as one of `extent` positions. Position p is
 * c0 + extents[0] * (c1 + extents[1] * c2); on the other side of the problem it
 * stands at c0 * steps[0] + c1 * steps[1] + c2 * steps[2] units.
 */
typedef struct rlo__side {
  int32_t num_levels;
  /** Axes of the problem, the fastest first. */
  int32_t axes[RLO__SIDE_MAX_LEVELS];
  int64_t extents[RLO__SIDE_MAX_LEVELS];
  int64_t steps[RLO__SIDE_MAX_LEVELS];
  int64_t extent;
} rlo__side;

/** The sides of a plane as it is: one axis each. */
void rlo__sides_begin(const rlo_problem *problem,
                      const rlo__plane *plane,
                      rlo__side *out_a,
                      rlo__side *out_b);

/**
 * Let side a, without gaps in the source, or side b, without gaps in the
 * destination, take on further axes until it is `enough` units long, or no axis
 * continues it, or that one is the other side's. A problem with guards keeps
 * one axis to a side: guards are told along axes.
 */
void rlo__side_grow_a(const rlo_problem *problem,
                      int64_t enough,
                      const rlo__side *b,
                      rlo__side *a);
void rlo__side_grow_b(const rlo_problem *problem,
                      int64_t enough,
                      const rlo__side *a,
                      rlo__side *b);

/** Whether a side goes along an axis of the problem. */
bool rlo__side_has(const rlo__side *side, int32_t axis);

#endif
