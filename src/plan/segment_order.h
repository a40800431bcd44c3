/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SEGMENT_ORDER_H
#define RLO_PLAN_SEGMENT_ORDER_H

#include "ir/segment_ids.h"
#include "plan/launch.h"

/** How ids are turned round on a device: the launches of cl/segment_order.cl,
 *  one after the other. */

enum { RLO__SEGMENT_ORDER_PHASES = 3 };

/** How the work is cut, and the memory it takes. */
typedef struct rlo__segment_cut {
  int64_t chunks, chunk_rows;
  /** Where the counts begin, in numbers of the order. */
  int64_t count_at;
  /** The order, with the counts behind it. */
  int64_t scratch_bytes;
} rlo__segment_cut;

/**
 * @param ids  borrowed; with at least one row and one segment.
 * @return RLO_OK; RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__segment_order_cut(const rlo__segment_ids *ids,
                                                const rlo_device_info *device,
                                                rlo_device_class device_class,
                                                rlo__segment_cut *out_cut);

/**
 * Write the launch of a phase: 0, 1 or 2. The source is the ids' memory, the
 * destination the scratch.
 * @param launch  zeroed by the caller.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_problem_canonicalize says.
 */
RLO_NODISCARD rlo_status rlo__segment_order_emit(const rlo__segment_ids *ids,
                                                 const rlo__segment_cut *cut,
                                                 const rlo_device_info *device,
                                                 rlo_device_class device_class,
                                                 int32_t phase,
                                                 rlo__launch *launch);

#endif
