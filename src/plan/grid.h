/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GRID_H
#define RLO_PLAN_GRID_H

#include "plan/geometry.h"

/**
 * Launches on a grid: the coordinates of work-groups, and the arguments and
 * constants that kernels of both classes share. The head comment of
 * cl/cpu_common.cl lists them; kernels of GPUs take the same ones and one more
 * (plan/gpu_launch.h).
 */

/** Lanes of the widest grid argument. */
#define RLO__GRID_MAX_AXES 16

/** Most guards of a problem that these kernels take. */
#define RLO__GRID_MAX_GUARDS 6

/** Bytes of the lines that kernels of the CPU class store. */
#define RLO__CPU_LINE_BYTES 64

/** Runs that do not begin with a line have too few whole lines for
 *  non-temporal stores below this. */
#define RLO__CPU_MIN_LINED_BYTES (INT64_C(4) * RLO__CPU_LINE_BYTES)

/* --------------------------------------------------------------------- grid */

/** A coordinate of work-groups: it steps along an axis of the problem. */
typedef struct rlo__grid_axis {
  /** -1 for an axis of extent 1 that only makes up the number. */
  int32_t problem_axis;
  /** Points of that axis that one group moves. */
  int64_t step;
  /** Number of steps, and units from step to step. */
  int64_t extent;
  int64_t src_stride;
  int64_t dst_stride;
} rlo__grid_axis;

/** How work-groups cover a problem's box. The last axis listed varies fastest.
 */
typedef struct rlo__grid {
  int32_t num_axes;
  rlo__grid_axis axes[RLO__GRID_MAX_AXES];
} rlo__grid;

/**
 * Adds an axis along which groups step, `step` >= 1 points at a time; nothing
 * if one step covers it. Each axis is added at most once.
 * @return RLO_OK; RLO_INTERNAL beyond RLO__GRID_MAX_AXES.
 */
RLO_NODISCARD rlo_status rlo__grid_add_axis(rlo__grid *grid,
                                            const rlo_problem *problem,
                                            int32_t axis,
                                            int64_t step);

/** The same, also if one step covers the axis: its extent is then 1. */
RLO_NODISCARD rlo_status rlo__grid_place_axis(rlo__grid *grid,
                                              const rlo_problem *problem,
                                              int32_t axis,
                                              int64_t step);

/**
 * Adds an axis of which each group takes `size` >= 1 points, all if there are
 * no more. What the kernel gets of it, strides and coefficients of guards, are
 * those of one point.
 * @return RLO_OK; RLO_INTERNAL beyond RLO__GRID_MAX_AXES.
 */
RLO_NODISCARD rlo_status rlo__grid_add_blocks(rlo__grid *grid,
                                              const rlo_problem *problem,
                                              int32_t axis,
                                              int64_t size);

/** Orders the axes by falling distance of steps in the source, so that
 *  consecutive groups read near each other: scattered writes cost less than
 *  scattered reads. */
void rlo__grid_sort_by_src(rlo__grid *grid);

/**
 * Orders the axes as a schedule defines.
 *
 * @param plane_axes  the two problem axes of the plane that is moved; -1 for
 *                    none.
 */
void rlo__grid_sort(rlo__grid *grid,
                    rlo__grid_order order,
                    const int32_t plane_axes[2]);

/** Index of the grid axis that steps along an axis of the problem; -1 if one
 *  group covers that axis, or if it is -1. */
int32_t rlo__grid_find(const rlo__grid *grid, int32_t problem_axis);

/** Number of groups. @return RLO_OK; RLO_OVERFLOW beyond size_t. */
RLO_NODISCARD rlo_status rlo__grid_num_groups(const rlo__grid *grid,
                                              size_t *out_groups);

/** The share of an extent in the pieces of `piece` points that cover it. */
double rlo__grid_fullness(int64_t extent, int64_t piece);

/* ------------------------------------------------------------------- launch */

/** The parameters of a launch on a grid. A family fills them, then calls
 *  rlo__grid_begin. */
typedef struct rlo__grid_plan {
  rlo__geometry geometry;
  rlo__grid grid;
  /** Axes whose points one group moves itself: their guard coefficients become
   *  the kernel's x and y; -1 for none. */
  int32_t x_axis;
  int32_t y_axis;
  /** Order of the groups. Set before the grid is sorted. */
  rlo__grid_order order;
  bool is_nontemporal;
  bool is_prefetching;
} rlo__grid_plan;

/**
 * Tells if the kernels take a problem's quotients, guards and axes.
 *
 * @param num_grid_axes  most coordinates that the grid will have.
 * @param num_scalars    8-byte arguments of the family's own.
 * @param why            takes the reason, if they do not.
 */
bool rlo__grid_is_within_limits(const rlo__family_query *query,
                                const rlo__geometry *geometry,
                                int32_t num_grid_axes,
                                int32_t num_scalars,
                                rlo__str *why);

/** The kind of the kernels' rlo_grid arguments. */
rlo__argument_kind rlo__grid_vector_kind(const rlo__geometry *geometry,
                                         int32_t num_grid_axes);

/** Begins a launch: kernel file, shared constants, the first ten arguments, and
 *  one work-item per group. @return RLO_OK; RLO_OVERFLOW; RLO_INTERNAL. */
RLO_NODISCARD rlo_status rlo__grid_begin(const rlo__family_query *query,
                                         const rlo__grid_plan *plan,
                                         const char *kernel_file,
                                         rlo__launch *launch);

/**
 * Lets each group of a launch that has begun move several points of the grid:
 * as many as make `group_bytes`, but not so many that compute units would idle.
 *
 * @param point_bytes  bytes written for one point, > 0.
 * @return points of a group, >= 1; the last group may have fewer.
 */
int64_t rlo__grid_join_groups(const rlo__family_query *query,
                              int64_t point_bytes,
                              int64_t group_bytes,
                              rlo__launch *launch);

/** Adds an argument of the kernels' type `int`, or of their type rlo_index. */
RLO_NODISCARD rlo_status rlo__grid_add_int(rlo__launch *launch, int64_t value);
RLO_NODISCARD rlo_status rlo__grid_add_index(const rlo__grid_plan *plan,
                                             rlo__launch *launch,
                                             int64_t value);

/** Adds an argument of the kernels' type rlo_grid: zeros beyond `count`. */
RLO_NODISCARD rlo_status rlo__grid_add_vector(const rlo__grid_plan *plan,
                                              rlo__launch *launch,
                                              const int64_t *values,
                                              int32_t count);

/** Adds the guards, PAD first. A guard with the coefficient -1 along x is
 *  rewritten to one with 1. */
RLO_NODISCARD rlo_status rlo__grid_add_guards(const rlo__family_query *query,
                                              const rlo__grid_plan *plan,
                                              rlo__launch *launch);

/* ---------------------------------------------------- stores of CPU kernels */

/** Tells if non-temporal stores pay for a problem on the device. */
bool rlo__cpu_wants_nontemporal(const rlo__family_query *query,
                                const rlo__geometry *geometry);

/** Largest power of two, at most a line, that divides each destination address
 *  to which the grid and the axis `ld_axis` (-1: none) lead, in bytes. */
int64_t rlo__cpu_dst_alignment(const rlo__family_query *query,
                               const rlo__grid *grid,
                               int32_t ld_axis);

/** Tells if pieces of a row, each `piece_units` long, along an axis of stride 1
 *  in the destination (-1: none) all begin and end with a line, for every point
 *  of the other axes. */
bool rlo__cpu_rows_are_lines(const rlo__family_query *query,
                             int32_t axis,
                             int64_t piece_units);

/** Units of the chunks that a very long row is cut into; the row's own length
 *  if it is not cut. `run` is the axis of the row, or -1: single units. */
int64_t rlo__cpu_chunk_units(const rlo_problem *problem,
                             const rlo__geometry *geometry,
                             int32_t run);

/** Tells if kernels of rows take a problem's guards: those that change by -1, 0
 *  or 1 along the row, axis `run`. If not, `why` takes the reason. */
bool rlo__cpu_takes_row_guards(const rlo_problem *problem,
                               int32_t run,
                               rlo__str *why);

#endif
