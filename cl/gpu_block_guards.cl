/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards of a block of gpu_packed.cl, and the ends of axes that blocks
 * overhang. Arguments for each guard, PAD guards first, five
 * (RLO_BLOCK_GUARD_PARAMS):
 *
 *       rlo_grid guardG_grid_coef
 *       rlo_block guardG_coef       lane k < 8: along axis k of write_axes
 *       long guardG_base, guardG_limit
 *       rlo_index guardG_x          coefficient of r
 *
 * and for each axis, cut between blocks, whose last block overhangs its end,
 * four (RLO_END_PARAMS):
 *
 *       int endE_axis               grid axis that counts blocks
 *       rlo_index endE_step         points of it in a block
 *       rlo_index endE_extent       points of it in all
 *       int endE_lane               its lane in write_axes
 *
 * With RLO_INDEX32 all points of a block and its copies change a guard's form
 * by less than 2^30, as the host proves.
 */
#ifndef RLO_GPU_BLOCK_GUARDS_CL
#define RLO_GPU_BLOCK_GUARDS_CL

#include "gpu_common.cl"

/* Axes of write_axes in use: 1..8. */
#ifndef RLO_WRITE_RANK
#define RLO_WRITE_RANK 3
#endif

/* Axes that blocks overhang: 0..2. */
#ifndef RLO_ENDS
#define RLO_ENDS 0
#endif

/* Strides or coefficients along axes of a block, in two groups of lanes. */
#if RLO_INDEX32
typedef int16 rlo_block;
#else
typedef long16 rlo_block;
#endif

/* Coordinates along axes of a block. */
typedef struct rlo_place {
  int at[8];
} rlo_place;

#define RLO_BLOCK_GUARD_PARAM(g)                              \
  , rlo_grid guard##g##_grid_coef, rlo_block guard##g##_coef, \
      long guard##g##_base, long guard##g##_limit, rlo_index guard##g##_x
#define RLO_BLOCK_GUARD_PARAMS RLO_EACH_GUARD(RLO_BLOCK_GUARD_PARAM)

#define RLO_END_PARAM(e)                                                   \
  , int end##e##_axis, rlo_index end##e##_step, rlo_index end##e##_extent, \
      int end##e##_lane
#if RLO_ENDS == 0
#define RLO_EACH_END(X)
#elif RLO_ENDS == 1
#define RLO_EACH_END(X) X(0)
#elif RLO_ENDS == 2
#define RLO_EACH_END(X) X(0) X(1)
#else
#error "at most two axes are cut"
#endif
#define RLO_END_PARAMS RLO_EACH_END(RLO_END_PARAM)

/* Ends are SKIP guards once they are in the list. */
#define RLO_ALL_GUARDS (RLO_GUARDS + RLO_ENDS)

/* A guard at one group: it holds where low <= x * r + dot(coef, c) < high. */
typedef struct rlo_block_guard {
  rlo_index low, high, x;
  rlo_block coef;
} rlo_block_guard;

typedef struct rlo_block_guards {
  rlo_block_guard at[RLO_ALL_GUARDS > 0 ? RLO_ALL_GUARDS : 1];
} rlo_block_guards;

/* A bound that no point of a block reaches is as good as any beyond it. */
static inline rlo_index rlo_bound(long bound) {
#if RLO_INDEX32
  return (rlo_index)max(min(bound, 1L << 30), -(1L << 30));
#else
  return bound;
#endif
}

/* In a kernel: fill `guards` for the coordinates in `index`. */
#define RLO_BLOCK_GUARD_SET(n, v, limit) \
  guards.at[n].low = rlo_bound(-(v));    \
  guards.at[n].high = rlo_bound((limit) - (v));
#define RLO_BLOCK_GUARD_LOAD(g)                                                \
  RLO_BLOCK_GUARD_SET(g,                                                       \
                      guard##g##_base + rlo_dot(&index, guard##g##_grid_coef), \
                      guard##g##_limit)                                        \
  guards.at[g].x = guard##g##_x;                                               \
  guards.at[g].coef = guard##g##_coef;
#define RLO_END_LOAD(e)                                                \
  RLO_BLOCK_GUARD_SET(                                                 \
      RLO_GUARDS + e,                                                  \
      (long)rlo_index_of(&index, end##e##_axis) * (long)end##e##_step, \
      (long)end##e##_extent)                                           \
  guards.at[RLO_GUARDS + e].x = 0;                                     \
  guards.at[RLO_GUARDS + e].coef = rlo_one_axis(end##e##_lane);

/* The coefficients of an axis' own coordinate. Not by a comparison of vectors,
 * in which oclgrind 21.10 errs. */
static inline rlo_block rlo_one_axis(int lane) {
  rlo_block coef = 0;
  __private rlo_index *c = (__private rlo_index *)&coef;
  RLO_UNROLL
  for (int k = 0; k < 8; ++k) {
    c[k] = k == lane ? 1 : 0;
  }
  return coef;
}

/* Tells if all guards hold in all of the copies: no tests inside. */
static inline bool rlo_block_is_inside(__private const rlo_block_guards *guards,
                                       int16 axes,
                                       uint copies) {
  __private const int *extent = (__private const int *)&axes;
  bool holds = true;
  RLO_UNROLL
  for (int g = 0; g < RLO_ALL_GUARDS; ++g) {
    const rlo_block coefs = guards->at[g].coef;
    __private const rlo_index *coef = (__private const rlo_index *)&coefs;
    const rlo_index along_r = guards->at[g].x * (rlo_index)(copies - 1);
    rlo_index low = min(along_r, (rlo_index)0);
    rlo_index high = max(along_r, (rlo_index)0);
    RLO_UNROLL
    for (int k = 0; k < RLO_WRITE_RANK; ++k) {
      const rlo_index along = (rlo_index)(extent[k] - 1) * coef[k];
      low += min(along, (rlo_index)0);
      high += max(along, (rlo_index)0);
    }
    holds = holds && low >= guards->at[g].low && high < guards->at[g].high;
  }
  return holds;
}

/* The verdict on `units` points along axis 0, from a place on, of copy r. */
static inline rlo_verdict rlo_judge_units(
    __private const rlo_block_guards *guards,
    rlo_place place,
    uint r,
    const int units) {
  bool is_inside = true;
  bool is_written = true;
  bool is_outside = false;
  RLO_UNROLL
  for (int g = 0; g < RLO_ALL_GUARDS; ++g) {
    const rlo_block coefs = guards->at[g].coef;
    __private const rlo_index *coef = (__private const rlo_index *)&coefs;
    rlo_index at = guards->at[g].x * (rlo_index)r;
    RLO_UNROLL
    for (int k = 0; k < RLO_WRITE_RANK; ++k) {
      at += (rlo_index)place.at[k] * coef[k];
    }
    const rlo_index along = coef[0] * (units - 1);
    const rlo_index low = at + min(along, (rlo_index)0);
    const rlo_index high = at + max(along, (rlo_index)0);
    const bool holds = low >= guards->at[g].low && high < guards->at[g].high;
    is_inside = is_inside && holds;
    if (g < RLO_PAD_GUARDS) {
      is_outside =
          is_outside || high < guards->at[g].low || low >= guards->at[g].high;
    } else {
      is_written = is_written && holds;
    }
  }
  rlo_verdict verdict;
  verdict.is_inside = is_inside;
  verdict.is_fill = is_outside && is_written;
  return verdict;
}

#endif
