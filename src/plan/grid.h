/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GRID_H
#define RLO_PLAN_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "base/checked.h"
#include "plan/geometry.h"
#include "plan/gpu_cost.h"

/**
 * Launches on a grid: the coordinates of work-groups, and the arguments and
 * constants that kernels of both classes share. The head comment of
 * cl/cpu_common.cl lists them. Kernels of the GPU class take the same ones and
 * one more, for dividing the index of a group by the grid's extents; a group of
 * theirs has many work-items.
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

/** Adds an axis along which groups step, `step` >= 1 points at a time; nothing
 *  if one step covers it. Each axis is added at most once. */
void rlo__grid_add_axis(rlo__grid *grid, const rlo_problem *problem, int32_t axis, int64_t step);

/** The same, also if one step covers the axis: its extent is then 1. */
void rlo__grid_place_axis(rlo__grid *grid, const rlo_problem *problem, int32_t axis, int64_t step);

/** Adds an axis of which each group takes `size` >= 1 points, all if there are
 *  no more. What the kernel gets of it, strides and coefficients of guards, are
 *  those of one point. */
void rlo__grid_add_blocks(rlo__grid *grid, const rlo_problem *problem, int32_t axis, int64_t size);

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
void rlo__grid_sort(rlo__grid *grid, rlo__grid_order order, const int32_t plane_axes[2]);

/** Adds axes of extent 1 before the others of a grid until it has `count`. */
void rlo__grid_lead_axes(rlo__grid *grid, int32_t count);

/** The same, so that there are few numbers of axes, each of which is a program
 *  of its own. */
void rlo__grid_round_axes(rlo__grid *grid);

/** Index of the grid axis that steps along an axis of the problem; -1 if one
 *  group covers that axis, or if it is -1. */
int32_t rlo__grid_find(const rlo__grid *grid, int32_t problem_axis);

/** Number of groups. @return RLO_OK; RLO_OVERFLOW beyond size_t. */
RLO_NODISCARD rlo_status rlo__grid_num_groups(const rlo__grid *grid, size_t *out_groups);

/** Largest power of two, at most `limit` (itself one), that divides each
 *  destination address to which the grid and the axis `ld_axis` (-1: none)
 * lead, in bytes. Of problems that compute nothing. */
int64_t rlo__grid_dst_alignment(const rlo__family_query *query, const rlo__grid *grid,
                                int32_t ld_axis, int64_t limit);

/** The share of an extent in the pieces of `piece` points that cover it. */
double rlo__grid_fullness(int64_t extent, int64_t piece);

/* ------------------------------------------------------------------- launch */

/** The parameters of a launch on a grid. A family fills them, then calls
 *  rlo__grid_emit. */
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
  /** 0: as many as the grid has. */
  size_t num_groups;
} rlo__grid_plan;

/** Initializes a plan without axes, in the schedule's order. It prefetches on
 * devices of the CPU class that can. An initializer, because a plan has 700
 * bytes, each family makes one, and one that is returned is copied. */
#define RLO__GRID_PLAN_INIT(query)                                                             \
  {                                                                                            \
    .geometry = rlo__geometry_of(query), .x_axis = -1, .y_axis = -1,                           \
    .order = (query)->schedule.order,                                                          \
    .is_prefetching =                                                                          \
        (query)->device_class == RLO_DEVICE_CLASS_CPU && (query)->device->has_builtin_prefetch \
  }

/** Adds every axis of a problem: along x and y groups step by these points,
 *  along the others by one. */
void rlo__grid_cover(rlo__grid_plan *plan, const rlo_problem *problem, int64_t x_step,
                     int64_t y_step);

/**
 * Tells if the kernels take a problem's quotients, guards and axes.
 *
 * @param num_grid_axes  most coordinates that the grid will have.
 * @param num_scalars    8-byte arguments of the family's own.
 * @param why            takes the reason, if they do not.
 */
bool rlo__grid_is_within_limits(const rlo__family_query *query, const rlo__geometry *geometry,
                                int32_t num_grid_axes, int32_t num_scalars, rlo__str *why);

/** The kind of the kernels' rlo_grid arguments. */
rlo__argument_kind rlo__grid_vector_kind(const rlo__geometry *geometry, int32_t num_grid_axes);

/**
 * Lets each group move several points of the grid: as many as make
 * `group_bytes`, but not so many that compute units would idle. Sets the number
 * of groups.
 *
 * @param point_bytes  bytes written for one point, > 0.
 * @param out_points   of a group, >= 1; the last group may have fewer.
 * @return RLO_OK; RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__grid_join_groups(const rlo__family_query *query, int64_t point_bytes,
                                               int64_t group_bytes, rlo__grid_plan *plan,
                                               int64_t *out_points);

/** The types of a kernel's own arguments. */
typedef enum rlo__arg_kind {
  RLO__ARG_END,
  RLO__ARG_INT,
  /** rlo_index: an int, or a long where the problem needs one. */
  RLO__ARG_INDEX,
  RLO__ARG_LONG,
  /** Vectors, with zeros beyond the numbers given: rlo_grid, int16, and sixteen
   *  of rlo_index. */
  RLO__ARG_VECTOR,
  RLO__ARG_INT16,
  RLO__ARG_INDEX16
} rlo__arg_kind;

/** An argument of a kernel's own. A list of them ends with zeros. */
typedef struct rlo__arg {
  rlo__arg_kind kind;
  int32_t count;
  int64_t number;
  const int64_t *numbers;
} rlo__arg;

static inline rlo__arg rlo__arg_int(int64_t number) {
  return (rlo__arg){.kind = RLO__ARG_INT, .number = number};
}

static inline rlo__arg rlo__arg_index(int64_t number) {
  return (rlo__arg){.kind = RLO__ARG_INDEX, .number = number};
}

static inline rlo__arg rlo__arg_long(int64_t number) {
  return (rlo__arg){.kind = RLO__ARG_LONG, .number = number};
}

/** The stride of a problem's axis; 0 for the axis -1. */
static inline rlo__arg rlo__arg_stride(const rlo_form *form, int32_t axis) {
  return rlo__arg_index(axis < 0 ? 0 : form->axis[axis]);
}

/** @param numbers  borrowed until they are added. */
static inline rlo__arg rlo__arg_lanes(rlo__arg_kind kind, const int64_t *numbers, int32_t count) {
  return (rlo__arg){.kind = kind, .count = count, .numbers = numbers};
}

static inline rlo__arg rlo__arg_vector(const int64_t *numbers, int32_t count) {
  return rlo__arg_lanes(RLO__ARG_VECTOR, numbers, count);
}

/** Begins a launch: kernel file, shared constants and arguments, the NDRange. A
 *  grid of the GPU class has rounded axes, each below 2^31, which
 *  rlo__gpu_can_launch implies. @return RLO_OK; RLO_OVERFLOW;
 * RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__grid_begin(const rlo__family_query *query, const rlo__grid_plan *plan,
                                         const char *kernel_file, rlo__launch *launch);

/** Adds arguments of the kernel's own. */
RLO_NODISCARD rlo_status rlo__grid_add(const rlo__grid_plan *plan, const rlo__arg *args,
                                       rlo__launch *launch);

/**
 * Writes a launch but for its description: begins it, adds the constants and
 * args of the family's own and the guards, PAD first. What a problem
 * computes goes with it: the constants of cl/arith.cl, the factors after the
 * args, and the first words of the description.
 *
 * A guard with the coefficient -1 along x is rewritten to one with 1.
 */
RLO_NODISCARD rlo_status rlo__grid_emit(const rlo__family_query *query, const rlo__grid_plan *plan,
                                        const char *kernel_file, const rlo__constant *constants,
                                        const rlo__arg *args, rlo__launch *launch);

/* ------------------------------------------------------- kernels of the GPU */

/** Size of the argument that divides, in scalars, for
 *  rlo__grid_is_within_limits. */
#define RLO__GPU_GRID_SCALARS 8

/** Work-items of a group: 256, or the largest power of two below that the
 *  device takes. */
int64_t rlo__gpu_local_items(const rlo_device_info *device);

/** ceil(2^(31 + l) / divisor), to be read as uint, with l =
 * ceil(log2(divisor)): for n < 2^31, n * this / 2^(31 + l), rounded down, is n
 * / divisor. 2^31 >= divisor
 *  >= 1.
 *  @param out_log2  takes l. */
int64_t rlo__gpu_magic(int64_t divisor, int32_t *out_log2);

/** Writes what divides by the extents of a grid, each 1 .. 2^31. */
void rlo__gpu_grid_magic(const rlo__grid *grid, int64_t out_magic[RLO__GRID_MAX_AXES]);

/** A number of groups as size_t; where that has 32 bits and is too small, one
 * that rlo__gpu_can_launch refuses. */
static inline size_t rlo__gpu_groups(int64_t count) {
  return (size_t)rlo__min(count, PTRDIFF_MAX);
}

/** Tells if this many groups can be launched: 2^24 - 1, which makes fewer than
 *  2^32 work-items. If not, `why` takes the reason. */
bool rlo__gpu_can_launch(size_t num_groups, rlo__str *why);

/** Tells if a device has so many bytes of local memory. If not, `why` takes the
 *  reason: "its tile takes ...", for the use "tile takes". */
bool rlo__gpu_has_local_bytes(const rlo_device_info *device, const char *use, int64_t bytes,
                              rlo__str *why);

/* ---------------------------------------------------- stores of CPU kernels */

/** Tells if non-temporal stores pay for a problem on the device. */
bool rlo__cpu_wants_nontemporal(const rlo__family_query *query, const rlo__geometry *geometry);

/** Tells if pieces of a row, each `piece_units` long, along an axis of stride 1
 *  in the destination (-1: none) all begin and end with a line, for every point
 *  of the other axes. */
bool rlo__cpu_rows_are_lines(const rlo__family_query *query, int32_t axis, int64_t piece_units);

/** Units of the chunks that a very long row is cut into; the row's own length
 *  if it is not cut. `run` is the axis of the row, or -1: single units. */
int64_t rlo__cpu_chunk_units(const rlo_problem *problem, const rlo__geometry *geometry,
                             int32_t run);

/** Tells if kernels of rows take a problem's guards: those that change by -1, 0
 *  or 1 along the row, axis `run`. If not, `why` takes the reason. */
bool rlo__cpu_takes_row_guards(const rlo_problem *problem, int32_t run, rlo__str *why);

#endif
