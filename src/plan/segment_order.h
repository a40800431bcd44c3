/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SEGMENT_ORDER_H
#define RLO_PLAN_SEGMENT_ORDER_H

#include "ir/segment_ids.h"
#include "plan/launch.h"

/** Inverts the ids of a segment sum on a device: the launches of
 *  cl/segment_order.cl, which run one after the other. */

enum { RLO__SEGMENT_ORDER_PHASES = 3 };

/** The partition of the rows into chunks, and the scratch memory. */
typedef struct rlo__segment_cut {
  int64_t chunks, chunk_rows;
  /** Index of the first count, in numbers of the order. */
  int64_t count_at;
  /** The order, followed by the counts. */
  int64_t scratch_bytes;
} rlo__segment_cut;

/**
 * Chooses the partition.
 * @param ids  borrowed; with at least one row and one segment.
 * @return RLO_OK; RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__segment_order_cut(const rlo__segment_ids *ids,
                                                const rlo_device_info *device,
                                                rlo_device_class device_class,
                                                rlo__segment_cut *out_cut);

/**
 * Writes the launch of a phase: 0, 1 or 2. Its source is the memory of the ids,
 * its destination the scratch memory.
 * @param launch  zeroed by the caller.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or a failure of rlo_problem_canonicalize.
 */
RLO_NODISCARD rlo_status rlo__segment_order_emit(const rlo__segment_ids *ids,
                                                 const rlo__segment_cut *cut,
                                                 const rlo_device_info *device,
                                                 rlo_device_class device_class, int32_t phase,
                                                 rlo__launch *launch);

#endif
