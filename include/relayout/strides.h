/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_STRIDES_H
#define RELAYOUT_STRIDES_H

#include "relayout/layout.h"

RLO_BEGIN_DECLS

/** For rlo_layout_from_strides: the memory has no end. */
#define RLO_AVAILABLE_ALL INT64_MAX
/** For rlo_layout_from_strides: the memory beyond the furthest element is
 *  unknown. */
#define RLO_AVAILABLE_UNKNOWN (-1)

/**
 * Finds the layout of strides, as NumPy, DLPack and PJRT have them. The
 * positions are those of the strides, counted from slot 0:
 *
 *   slot(index) + *out_lowest_elems == sum over k of index[k] * strides[k]
 *
 * - Dimensions without gaps between them, in any order, give a dense layout
 * with that minor_to_major.
 * - Gaps of whole multiples, such as rows with a pitch, give a dense layout
 * with padded_dimensions and RLO_FILL_UNKNOWN, if the memory reaches to the end
 * of the padding.
 * - Others (reversal, broadcast, overlap, uneven gaps) give a strided layout.
 *
 * The stride of a dimension of size 1 is ignored; the dimension is placed so
 * that minor_to_major is row-major or, if it cannot be, column-major. An array
 * without elements is dense and row-major. A dense result has the same elements
 * as a strided one; its physical size includes the padding after the last row.
 *
 * @param dims             `rank` sizes >= 0, borrowed; NULL only for rank 0.
 * @param strides_elems    `rank` distances between neighbours in elements;
 *                         NULL: row-major without gaps.
 * @param available_elems  slots of the memory, from element 0,...,0 on;
 *                         RLO_AVAILABLE_UNKNOWN: those up to the furthest
 *                         element (a view may end inside its last row).
 * @param out_layout       the layout; a strided one has the offset that makes
 *                         its lowest slot 0.
 * @param out_lowest_elems position of slot 0 relative to element 0,...,0: 0, or
 *                         negative if a stride is.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a negative rank or dimension, NULL
 *         dimensions, or a negative available_elems that is not
 *         RLO_AVAILABLE_UNKNOWN; RLO_UNSUPPORTED beyond RLO_MAX_RANK;
 *         RLO_OVERFLOW if positions do not fit in 64 bits; RLO_OUT_OF_RANGE if
 *         an element is beyond available_elems. On failure nothing is written.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_layout_from_strides(const int64_t *dims,
                                                         const int64_t *strides_elems, int32_t rank,
                                                         int64_t available_elems,
                                                         rlo_layout *out_layout,
                                                         int64_t *out_lowest_elems);

RLO_END_DECLS

#endif
