/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_ADDRESS_H
#define RLO_DESC_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/index_map.h"

/**
 * The address map of a shape: the one place that knows what a layout means.
 * index_map.h, which hands it to users, explains it.
 */
typedef rlo_index_map rlo_address;

enum {
  /** Physical dimensions a map may have. */
  RLO_ADDRESS_MAX_LEAVES = RLO_INDEX_MAP_MAX_LEAVES,
  RLO_ADDRESS_MAX_STEPS = RLO_INDEX_MAP_MAX_STEPS,
  RLO_ADDRESS_MAX_VARS = RLO_INDEX_MAP_MAX_VARS
};

/**
 * Make the address map of a shape whose dimensions and layout have been
 * checked by rlo_layout_validate.
 *
 * @return RLO_OK; RLO_OVERFLOW if the slots leave int64; RLO_UNSUPPORTED
 *         beyond RLO_ADDRESS_MAX_LEAVES physical dimensions;
 *         RLO_OUT_OF_RANGE if a strided layout reaches below slot 0.
 */
RLO_NODISCARD rlo_status rlo__address_make(const rlo_shape *shape,
                                           rlo_address *out_address);

/** The slot of an index that is in bounds. Never fails. */
int64_t rlo__address_slot(const rlo_address *address, const int64_t *index);

/**
 * The index at a slot in [0, slots); false, and index undefined, if it holds
 * no element. Dense maps only.
 */
bool rlo__address_index(const rlo_address *address,
                        int64_t slot,
                        int64_t *out_index);

#endif
