/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GEOMETRY_H
#define RLO_PLAN_GEOMETRY_H

#include "plan/family.h"

/** Facts of a canonical problem that every family needs. */
typedef struct rlo__geometry {
  /** 0 for units of less than a byte. */
  int64_t unit_bytes;
  /** Points of the box times the unit; INT64_MAX if that does not fit. */
  int64_t box_bytes;
  /** The axis of stride 1 in the destination, the longest if there are more
   *  (overhanging boxes); -1 if there is none. */
  int32_t dst_axis;
  /** The longest axis of stride 1 in the source that is not dst_axis, or -1. */
  int32_t src_axis;
  /** dst_axis if it has stride 1 in the source too, or if nothing is read;
   *  else -1. */
  int32_t run_axis;
  int32_t num_pad_guards;
  int32_t num_skip_guards;
  /** Nothing is read: some PAD guard holds nowhere. */
  bool is_fill;
  /** Every position on either side is within +-2^31 bytes, also as seen from
   *  any other one, and what each axis adds to a guard within +-2^31. */
  bool fits_32_bits;
} rlo__geometry;

/** The facts of a query's problem. */
rlo__geometry rlo__geometry_of(const rlo__family_query *query);

/**
 * Largest power of two, at most `limit` (itself one), that divides every
 * address of memory with this alignment plus a byte offset.
 */
int64_t rlo__alignment_after(int64_t alignment_bytes, int64_t offset_bytes, int64_t limit);

/**
 * Largest power of two, at most `limit` (itself one), that divides the address
 * of each point of a side whose coordinate along `free_axis` (-1: none) is 0,
 * in bytes.
 */
int64_t rlo__src_alignment(const rlo__family_query *query, int32_t free_axis, int64_t limit);
int64_t rlo__dst_alignment(const rlo__family_query *query, int32_t free_axis, int64_t limit);

/**
 * Multiplies a count by the extents of axes [first, end) of a problem's box.
 *
 * @param inout_count  unchanged on failure.
 * @return RLO_OK; RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__geometry_count_points(const rlo_problem *problem, int32_t first,
                                                    int32_t end, int64_t *inout_count);

/** Tells if a position of the problem, in bytes, does not fit int64. */
bool rlo__geometry_overflows(const rlo_problem *problem);

/** Lists the guards of a problem, PAD first, as kernels take them. */
void rlo__geometry_list_guards(const rlo_problem *problem,
                               const rlo_guard *out_guards[RLO_MAX_GUARDS]);

/** The axis with the shortest steps in a form, the first of several, without
 *  those whose bit is set in `left_out` (bit a: axis a); -1: none. */
int32_t rlo__geometry_nearest_axis(const rlo_problem *problem, const rlo_form *form,
                                   uint64_t left_out);

/** Axes of a problem that continue each other without gaps on one side, from an
 *  axis of stride 1 upwards. */
typedef struct rlo__axis_run {
  int32_t num_axes;
  int32_t axes[RLO_MAX_AXES];
} rlo__axis_run;

/** The axis that continues a run of `units` units: one whose stride in `form`
 *  is `units`, and whose bit is not set in `taken` (bit a: axis a). The first
 *  of several; -1: none. */
int32_t rlo__axis_run_next(const rlo_problem *problem, const rlo_form *form, int64_t units,
                           uint64_t taken);

/** The run of a form that begins with axis `first`, as long as it gets. */
rlo__axis_run rlo__axis_run_find(const rlo_problem *problem, const rlo_form *form, int32_t first);

/** Tells if an axis is among the first `count` of a run. */
bool rlo__axis_run_leads(const rlo__axis_run *run, int32_t count, int32_t axis);

/**
 * Units that are consecutive in a block of `block[a]` points of each axis a: up
 * to the first axis of the run that the block does not hold whole.
 *
 * @param out_num_axes  number of these axes.
 */
int64_t rlo__axis_run_units(const rlo__axis_run *run, const rlo_problem *problem,
                            const int64_t *block, int32_t *out_num_axes);

#endif
