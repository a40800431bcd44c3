/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_STRIDES_H
#define RLO_DESC_STRIDES_H

#include "relayout/layout_util.h"

/** How one dimension lies in memory. */
typedef struct rlo__stride {
  /** Elements along the dimension. */
  int64_t extent;
  /** Distance between neighbours, in slots. */
  int64_t stride;
  /** The dimension's index, for the caller. */
  int32_t dim;
} rlo__stride;

/**
 * Whether each stride is wider than the span of all narrower ones, so that no
 * two indices share a slot. False as well if that span does not fit in 64 bits.
 *
 * @param list  `count` dimensions of extent > 1; sorted in place, the widest
 *              stride first, ties in the order given.
 */
bool rlo__strides_are_distinct(rlo__stride *list, int32_t count);

/** Strides in bytes as strides in elements of `element_bytes`, for
 *  rlo_layout_from_strides.
 *  @return RLO_OK; what rlo_layout_from_strides says of rank and dimensions;
 *          RLO_UNSUPPORTED for a stride between elements that is
 *          no whole number of them. */
RLO_NODISCARD rlo_status
rlo__strides_from_bytes(const int64_t *dims,
                        const int64_t *strides_bytes,
                        int32_t rank,
                        int64_t element_bytes,
                        int64_t out_strides_elems[RLO_MAX_RANK]);

/** Whole elements in bytes that are available; RLO_AVAILABLE_UNKNOWN and
 *  RLO_AVAILABLE_ALL, and what is neither, stay what they are. */
int64_t rlo__available_elems(int64_t available_bytes, int64_t element_bytes);

#endif
