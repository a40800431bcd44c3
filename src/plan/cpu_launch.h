/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_CPU_LAUNCH_H
#define RLO_PLAN_CPU_LAUNCH_H

#include "plan/geometry.h"
#include "plan/grid.h"

/** What the kernels cl/cpu_*.cl have in common, as the head comment of
 *  cl/cpu_common.cl tells it: their first arguments, their guards, their
 *  constants. */

/** Most guards that these kernels take. */
#define RLO__GRID_MAX_GUARDS 6

/** Width of the lines that these kernels store. */
#define RLO__CPU_LINE_BYTES 64

/** Below this much output the caches hold it, and storing past them loses. */
#define RLO__CPU_NONTEMPORAL_BYTES (INT64_C(2) << 20)

/** Along a run of so many bytes hardware reads ahead by itself, and is only
 *  disturbed by prefetching. */
#define RLO__CPU_FOLLOWED_BYTES (INT64_C(4) << 10)

/** The numbers behind a launch; filled by a family before it is written. */
typedef struct rlo__grid_plan {
  rlo__geometry geometry;
  rlo__grid grid;
  /** Axes whose points one group moves itself: their guard coefficients go
   *  into x and y; -1 for none. */
  int32_t x_axis;
  int32_t y_axis;
  /** Of the groups; zero: the source's. Set before the grid is laid. */
  rlo__grid_order order;
  bool is_nontemporal;
  bool is_prefetching;
} rlo__grid_plan;

/**
 * Whether a problem's quotients, guards and axes are within what the kernels
 * take; if not, say why.
 *
 * @param num_grid_axes  coordinates that the grid will have at most.
 * @param num_scalars    arguments of the family's own.
 */
bool rlo__grid_is_within_limits(const rlo__family_query *query,
                                const rlo__geometry *geometry,
                                int32_t num_grid_axes,
                                int32_t num_scalars,
                                rlo__str *why);

/** The kind of the kernels' rlo_grid arguments. */
rlo__argument_kind rlo__grid_vector_kind(const rlo__geometry *geometry,
                                         int32_t num_grid_axes);

/** Whether non-temporal stores pay for a problem on the device. */
bool rlo__cpu_wants_nontemporal(const rlo__family_query *query,
                                const rlo__geometry *geometry);

/** What divides each destination address that groups and the axis `ld_axis`
 *  (-1: none) can lead to, in bytes, at most a line. */
int64_t rlo__cpu_dst_alignment(const rlo__family_query *query,
                               const rlo__grid *grid,
                               int32_t ld_axis);

/** Begin a launch: kernel file, common constants, the first ten arguments, one
 *  work-item per group. */
RLO_NODISCARD rlo_status rlo__grid_begin(const rlo__family_query *query,
                                         const rlo__grid_plan *plan,
                                         const char *kernel_file,
                                         rlo__launch *launch);

/**
 * Let each group of a launch that has begun move several points of the grid:
 * as many as make `group_bytes`, but not so many that compute units would go
 * idle.
 *
 * @param point_bytes  what is written for one point, > 0.
 * @return how many, >= 1; the last group may have fewer.
 */
int64_t rlo__grid_join_groups(const rlo__family_query *query,
                              int64_t point_bytes,
                              int64_t group_bytes,
                              rlo__launch *launch);

/** Add an argument of the kernels' type `int`, and of their type rlo_index. */
RLO_NODISCARD rlo_status rlo__grid_add_int(rlo__launch *launch, int64_t value);
RLO_NODISCARD rlo_status rlo__grid_add_index(const rlo__grid_plan *plan,
                                             rlo__launch *launch,
                                             int64_t value);

/** Add an argument of the kernels' type rlo_grid: zeros beyond `count`. */
RLO_NODISCARD rlo_status rlo__grid_add_vector(const rlo__grid_plan *plan,
                                              rlo__launch *launch,
                                              const int64_t *values,
                                              int32_t count);

/** Add the guards, PAD first. A coefficient of -1 along x is written as 1. */
RLO_NODISCARD rlo_status rlo__grid_add_guards(const rlo__family_query *query,
                                              const rlo__grid_plan *plan,
                                              rlo__launch *launch);

#endif
