/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_ADDRESS_H
#define RLO_DESC_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/index.h"

/**
 * Makes the address map of a shape. rlo_layout_validate must hold for its
 * dimensions and layout.
 *
 * @return RLO_OK; RLO_OVERFLOW if the slots do not fit in 64 bits;
 *         RLO_UNSUPPORTED beyond RLO_ADDRESS_MAP_MAX_LEAVES physical
 *         dimensions; RLO_OUT_OF_RANGE if a strided layout reaches below slot
 *         0.
 */
RLO_NODISCARD rlo_status rlo__address_make(const rlo_shape *shape, rlo_address_map *out_address);

/** Returns the slot of an index, which must be in bounds. */
int64_t rlo__address_slot(const rlo_address_map *address, const int64_t *index);

/**
 * Finds the index of a slot in [0, slots) of a dense map. Returns false, and
 * leaves out_index undefined, if the slot holds no element.
 */
bool rlo__address_index(const rlo_address_map *address, int64_t slot, int64_t *out_index);

#endif
