/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_LAYOUT_H
#define RLO_DESC_LAYOUT_H

#include "relayout/layout.h"

/** Most bits one element may take: what rlo_layout.fill_bits can hold. */
#define RLO__MAX_ELEMENT_BITS 128

/** Bits one element of this type takes in this layout. */
int64_t rlo__layout_element_bits(const rlo_layout *layout, rlo_dtype dtype);

/**
 * The raw bits of the slots without element, as rlo_shape_fill_bits.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for an unknown fill; RLO_UNSUPPORTED
 *         where the type lacks the value.
 */
RLO_NODISCARD rlo_status rlo__layout_fill_bits(const rlo_layout *layout,
                                               rlo_dtype dtype,
                                               uint8_t out_bits[16],
                                               bool *out_known);

/** RLO_OK if a tile of these dimensions may be part of a layout. */
RLO_NODISCARD rlo_status rlo__tile_validate(const int64_t *dims, int32_t rank);

/** The logical dimensions in physical order, major to minor: by minor_to_major,
 *  or by falling size of the strides, ties in logical order. */
void rlo__layout_physical_order(const rlo_layout *layout,
                                int32_t rank,
                                int32_t *out_order);

#endif
