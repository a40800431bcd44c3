/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards as kernel arguments, for the kernels of both classes that take a grid.
 * A guard is a linear form of the grid coordinates and of the two coordinates
 * (i, j) inside a group:
 *
 *     base + sum(grid_coef * grid index) + x * i + y * j
 *
 * and holds where 0 <= form < limit. Arguments for each guard g =
 * 0..RLO_GUARDS-1, the PAD guards first (RLO_GUARD_PARAMS):
 *
 *       rlo_grid guardG_grid_coef        coefficient of each grid coordinate
 *       long guardG_base
 *       long guardG_limit
 *       long guardG_x, long guardG_y     coefficients of i and of j, which the
 *                                        family names
 *
 * A cell is written unless a SKIP guard fails; it is fill if a PAD guard fails.
 *
 * cpu_common.cl and gpu_common.cl define what depends on the class: rlo_grid,
 * RLO_GRID_DOT and the list that RLO_GUARDS_LOAD writes.
 */
#ifndef RLO_GUARDS_CL
#define RLO_GUARDS_CL

/* Guards of kind PAD, which come first, and of kind SKIP; 0..6 together. */
#ifndef RLO_PAD_GUARDS
#define RLO_PAD_GUARDS 0
#endif
#ifndef RLO_SKIP_GUARDS
#define RLO_SKIP_GUARDS 0
#endif

#define RLO_GUARDS (RLO_PAD_GUARDS + RLO_SKIP_GUARDS)

/* X(0) X(1) ... for each guard. */
#if RLO_GUARDS == 0
#define RLO_EACH_GUARD(X)
#elif RLO_GUARDS == 1
#define RLO_EACH_GUARD(X) X(0)
#elif RLO_GUARDS == 2
#define RLO_EACH_GUARD(X) X(0) X(1)
#elif RLO_GUARDS == 3
#define RLO_EACH_GUARD(X) X(0) X(1) X(2)
#elif RLO_GUARDS == 4
#define RLO_EACH_GUARD(X) X(0) X(1) X(2) X(3)
#elif RLO_GUARDS == 5
#define RLO_EACH_GUARD(X) X(0) X(1) X(2) X(3) X(4)
#elif RLO_GUARDS == 6
#define RLO_EACH_GUARD(X) X(0) X(1) X(2) X(3) X(4) X(5)
#else
#error "at most six guards"
#endif

/* Begins with a comma, because there may be no guard at all. */
#define RLO_GUARD_PARAM(g)                               \
  , rlo_grid guard##g##_grid_coef, long guard##g##_base, \
      long guard##g##_limit, long guard##g##_x, long guard##g##_y
#define RLO_GUARD_PARAMS RLO_EACH_GUARD(RLO_GUARD_PARAM)

/* A guard at one group: its form is v + x * i + y * j. */
typedef struct rlo_guard {
  long v, limit, x, y;
} rlo_guard;

/* In a kernel: sets RLO_GUARD_AT(g), guard g of its list `guards`, for the grid
 * coordinates in `index`. */
#define RLO_GUARD_LOAD(g)                                                   \
  RLO_GUARD_AT(g).v = guard##g##_base + RLO_GRID_DOT(guard##g##_grid_coef); \
  RLO_GUARD_AT(g).limit = guard##g##_limit;                                 \
  RLO_GUARD_AT(g).x = guard##g##_x;                                         \
  RLO_GUARD_AT(g).y = guard##g##_y;
#define RLO_GUARDS_LOAD RLO_EACH_GUARD(RLO_GUARD_LOAD)

#endif
