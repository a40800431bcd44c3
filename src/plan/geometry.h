/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GEOMETRY_H
#define RLO_PLAN_GEOMETRY_H

#include "plan/family.h"

/** What every family asks first of a canonical problem. */
typedef struct rlo__geometry {
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
  /** Every position on either side is within +-2^31 bytes, and what each axis
   *  adds to a guard within +-2^31. */
  bool fits_32_bits;
} rlo__geometry;

/** Look at a query's problem. */
rlo__geometry rlo__geometry_of(const rlo__family_query *query);

/**
 * The largest power of two, at most `limit` (itself one), that is sure to
 * divide an address: memory with this alignment plus a byte offset.
 */
int64_t rlo__alignment_after(int64_t alignment_bytes,
                             int64_t offset_bytes,
                             int64_t limit);

/**
 * Multiply a count by the extents of axes [first, end) of a problem's box.
 *
 * @param inout_count  unchanged on failure.
 * @return RLO_OK; RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__geometry_count_points(const rlo_problem *problem,
                                                    int32_t first,
                                                    int32_t end,
                                                    int64_t *inout_count);

/** True if some position of the problem does not fit int64 once counted in
 *  bytes of its unit. */
bool rlo__geometry_overflows(const rlo_problem *problem);

#endif
