/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_ADDRESS_H
#define RLO_DESC_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/index.h"

/**
 * Make the address map of a shape whose dimensions and layout have been
 * checked by rlo_layout_validate.
 *
 * @return RLO_OK; RLO_OVERFLOW if the slots leave int64; RLO_UNSUPPORTED
 *         beyond RLO_ADDRESS_MAP_MAX_LEAVES physical dimensions;
 *         RLO_OUT_OF_RANGE if a strided layout reaches below slot 0.
 */
RLO_NODISCARD rlo_status rlo__address_make(const rlo_shape *shape,
                                           rlo_address_map *out_address);

/** The slot of an index that is in bounds. Never fails. */
int64_t rlo__address_slot(const rlo_address_map *address, const int64_t *index);

/**
 * The index at a slot in [0, slots); false, and index undefined, if it holds
 * no element. Dense maps only.
 */
bool rlo__address_index(const rlo_address_map *address,
                        int64_t slot,
                        int64_t *out_index);

#endif
