/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_STRIDES_H
#define RLO_DESC_STRIDES_H

#include "relayout/xla/layout_util.h"

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

/** Converts strides in bytes to strides in elements of `element_bytes`, for
 *  rlo_layout_from_strides. Strides of dimensions of size 1 become 1.
 *  @return RLO_OK; RLO_UNSUPPORTED for a stride that is not a multiple of
 *          element_bytes; the statuses of rlo_layout_from_strides for rank and
 *          dimensions. */
RLO_NODISCARD rlo_status
rlo__strides_from_bytes(const int64_t *dims,
                        const int64_t *strides_bytes,
                        int32_t rank,
                        int64_t element_bytes,
                        int64_t out_strides_elems[RLO_MAX_RANK]);

/** Returns available_bytes in whole elements. Negative values, of which
 *  RLO_AVAILABLE_UNKNOWN is one, and RLO_AVAILABLE_ALL are returned as they
 *  are. */
int64_t rlo__available_elems(int64_t available_bytes, int64_t element_bytes);

#endif
