/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_BITCAST_H
#define RLO_DESC_BITCAST_H

#include "desc/quasi.h"
#include "relayout/bitcast.h"

/**
 * The index of element number `number` in logical row-major order: digit k of
 * the number in the mixed radix of the dimensions.
 * @param number     a form with values in [0, product of dims).
 * @param out_index  `rank` forms.
 */
RLO_NODISCARD rlo_status rlo__quasi_delinearize(rlo_quasi_space *space,
                                                const rlo_quasi *number,
                                                const int64_t *dims,
                                                int32_t rank,
                                                rlo_quasi *out_index);

/** The logical dimensions in physical order, major to minor: by minor_to_major,
 *  or by falling size of the strides, ties in logical order. */
void rlo__shape_physical_order(const rlo_shape *shape, int32_t *out_order);

#endif
