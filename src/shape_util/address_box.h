/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHAPE_UTIL_ADDRESS_BOX_H
#define RLO_SHAPE_UTIL_ADDRESS_BOX_H

#include "desc/address.h"

/** What a dense address map does to all the elements of an array together. */

/** Bounds of every variable of the map over a box of indices first[k] ..
 *  last[k]; exact for variables of a single logical dimension if the box is the
 *  whole array. min, max: address->num_vars entries. */
void rlo__address_bounds(const rlo_address_map *address,
                         const int64_t *first,
                         const int64_t *last,
                         int64_t *min,
                         int64_t *max);

/**
 * The greatest slot of an element. Halves the box of indices until the best
 * element found is as good as the bound of every part left.
 * @param dims  the array's, all >= 1.
 * @return RLO_OK; RLO_UNSUPPORTED after too many parts.
 */
RLO_NODISCARD rlo_status rlo__address_last_slot(const rlo_address_map *address,
                                                const int64_t *dims,
                                                int64_t *out_slot);

/**
 * Whether smaller coordinates in a dimension always mean smaller slots,
 * whatever the other coordinates.
 * @param dims  the array's, all >= 1.
 * @return RLO_OK; RLO_UNSUPPORTED if a physical dimension combines this
 *         dimension with another one.
 */
RLO_NODISCARD rlo_status
rlo__address_is_most_major(const rlo_address_map *address,
                           const int64_t *dims,
                           int32_t dimension,
                           bool *out_answer);

#endif
