/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_STRIDES_H
#define RELAYOUT_STRIDES_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** For rlo_layout_from_strides: memory goes on for as long as a layout may
 *  want it to. */
#define RLO_AVAILABLE_ALL INT64_MAX
/** It is not known how much memory there is beyond the furthest element. */
#define RLO_AVAILABLE_UNKNOWN (-1)

/**
 * Recognise the layout behind strides, as NumPy, DLPack and PJRT give them.
 * The result puts the elements where the strides do, counted from slot 0:
 *
 *   slot(index) + *out_lowest_elems == sum over k of index[k] * strides[k]
 *
 * - Dimensions that follow each other without gaps, in any order, give a dense
 *   layout with that minor_to_major.
 * - Gaps that are whole multiples, such as rows with a pitch, give a dense
 *   layout with padded_dimensions and RLO_FILL_UNKNOWN, if the memory up to
 *   the end of the padding is there.
 * - All else (reversal, broadcast, overlap, uneven gaps) stays strided.
 *
 * The stride of a dimension of size 1 says nothing: it is passed over, and the
 * dimension goes where it makes minor_to_major row-major, or column-major if
 * only that can be. An array without elements is dense and row-major. A dense
 * result moves the same elements as the strided one; its physical size counts
 * the padding after the last row too.
 *
 * @param dims             `rank` sizes >= 0, borrowed; NULL only for rank 0.
 * @param strides_elems    `rank` distances of neighbours in elements; NULL:
 *                         row-major without gaps.
 * @param available_elems  slots that may be counted as part of the layout, from
 *                         the element 0,...,0 on; RLO_AVAILABLE_UNKNOWN: those
 *                         up to the furthest element only (a view that ends
 *                         inside its last row has no more).
 * @param out_layout       the layout; a strided one has the offset that makes
 *                         its lowest slot 0.
 * @param out_lowest_elems where slot 0 lies from the element 0,...,0: 0, or
 *                         below it where strides are negative.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a negative rank or dimension, NULL
 *         dimensions, or a negative available_elems that is not
 *         RLO_AVAILABLE_UNKNOWN; RLO_UNSUPPORTED beyond RLO_MAX_RANK;
 *         RLO_OVERFLOW where positions leave int64; RLO_OUT_OF_RANGE if an
 *         element lies beyond available_elems. On failure nothing is written.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_layout_from_strides(const int64_t *dims,
                        const int64_t *strides_elems,
                        int32_t rank,
                        int64_t available_elems,
                        rlo_layout *out_layout,
                        int64_t *out_lowest_elems);

/**
 * The strides of a shape, if it has some:
 *
 *   slot(index) == *out_offset_elems + sum over k of index[k] * strides[k]
 *
 * That is every strided layout, every dense one without tiles, and those whose
 * tiles, padding and combined dimensions come to no more. In an array without
 * elements there is nothing to step to: strides and offset are 0.
 *
 * @param out_is_strided     whether it has.
 * @param out_strides_elems  room for the rank of the shape; untouched if it has
 *                           none, as *out_offset_elems.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_shape_measure says.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_strides(const rlo_shape *shape,
                                                   bool *out_is_strided,
                                                   int64_t *out_strides_elems,
                                                   int64_t *out_offset_elems);

/**
 * rlo_shape_strides for callers to whom only strides will do.
 *
 * @return also RLO_UNSUPPORTED where tiles leave no such strides. On failure
 *         nothing is written.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_to_strides(const rlo_shape *shape,
                     int64_t *out_strides_elems,
                     int64_t *out_offset_elems);

/** XLA's ByteStrides: rlo_shape_strides in bytes. Not strided either where the
 *  element size is no whole number of bytes. The offset is left out. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_byte_strides(const rlo_shape *shape,
                                                        bool *out_is_strided,
                                                        int64_t *out_bytes);

/** XLA's UnpackedByteStrides: as rlo_shape_byte_strides, as if each element
 *  took the bytes of its type, whatever the layout's element size. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_unpacked_byte_strides(
    const rlo_shape *shape, bool *out_is_strided, int64_t *out_bytes);

RLO_END_DECLS

#endif
