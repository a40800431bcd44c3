/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_STRIDES_H
#define RLO_DESC_STRIDES_H

#include "relayout/strides.h"

/** The extent and the stride of a dimension. */
typedef struct rlo__stride {
  /** Elements along the dimension. */
  int64_t extent;
  /** Distance between neighbours, in slots. */
  int64_t stride;
  /** The dimension's index, for the caller. */
  int32_t dim;
} rlo__stride;

/**
 * Tells if each stride is wider than the span of all narrower ones, so that no
 * two indices share a slot. False as well if that span does not fit in 64 bits.
 *
 * @param list  `count` dimensions of extent > 1; sorted in place, the widest
 *              stride first, ties in the order given.
 */
bool rlo__strides_are_distinct(rlo__stride *list, int32_t count);

/** Lists the logical dimensions in physical order, major to minor: by
 *  minor_to_major, or by falling width of the strides, ties in logical order.
 */
void rlo__layout_physical_order(const rlo_layout *layout, int32_t rank, int32_t *out_order);

/** Like rlo_layout_from_strides, for strides and available memory in bytes.
 *  @param strides_bytes  NULL: row-major.
 *  @return RLO_UNSUPPORTED also for a stride that is not a multiple of
 *          element_bytes. */
RLO_NODISCARD rlo_status rlo__layout_from_byte_strides(
    const int64_t *dims, const int64_t *strides_bytes, int32_t rank, int64_t element_bytes,
    int64_t available_bytes, rlo_layout *out_layout, int64_t *out_lowest_elems);

/** Returns available_bytes in whole elements. Negative values, of which
 *  RLO_AVAILABLE_UNKNOWN is one, and RLO_AVAILABLE_ALL are returned as they
 *  are. */
int64_t rlo__available_elems(int64_t available_bytes, int64_t element_bits);

#endif
