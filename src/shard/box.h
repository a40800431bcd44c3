/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHARD_BOX_H
#define RLO_SHARD_BOX_H

#include <stdbool.h>

#include "relayout/sharding.h"

/** Tells if a box holds no element. */
bool rlo__box_is_empty(const rlo_box *box);

/** Orders boxes by their starts, then by their limits: -1, 0 or 1. */
int rlo__box_compare(const rlo_box *a, const rlo_box *b);

/** The common part of two boxes; empty if a start is not below its limit. */
rlo_box rlo__box_intersect(const rlo_box *a, const rlo_box *b);

/** The number of elements, which fits 64 bits within an array. */
int64_t rlo__box_count(const rlo_box *box);

#endif
