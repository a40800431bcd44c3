/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_LAYOUT_H
#define RLO_DESC_LAYOUT_H

#include "relayout/layout.h"

/** Maximum bits of an element: the size of rlo_layout.fill_bits. */
#define RLO__MAX_ELEMENT_BITS 128

/** Returns the bits of one element of this type in this layout. */
int64_t rlo__layout_element_bits(const rlo_layout *layout, rlo_dtype dtype);

/**
 * Gives the raw bits of slots without element, as rlo_shape_fill_bits.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a fill outside rlo_fill;
 *         RLO_UNSUPPORTED if the type lacks the value.
 */
RLO_NODISCARD rlo_status rlo__layout_fill_bits(const rlo_layout *layout, rlo_dtype dtype,
                                               uint8_t out_bits[16], bool *out_known);

#endif
