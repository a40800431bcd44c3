/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_WIRE_H
#define RLO_XLA_WIRE_H

#include "base/checked.h"
#include "relayout/layout.h"

/*
 * Parts of layouts as protocol buffers and PJRT have them: numbers of 64 bits,
 * any number of them. A number that does not fit ours is out of range there as
 * it is here; it must only stay so.
 */

static inline int32_t rlo__narrow(int64_t number) {
  return (int32_t)rlo__max(INT32_MIN, rlo__min(number, INT32_MAX));
}

static inline int32_t rlo__narrow_count(size_t count) {
  return (int32_t)rlo__min_size(count, INT32_MAX);
}

/** Calls rlo_layout_from_minor_to_major with narrowed numbers. */
RLO_NODISCARD static inline rlo_status rlo__layout_from_wire(const int64_t *minor_to_major,
                                                             size_t rank, rlo_layout *out_layout) {
  int32_t ours[RLO_MAX_RANK];
  for (size_t i = 0; i < rank && rank <= RLO_MAX_RANK; ++i) {
    ours[i] = rlo__narrow(minor_to_major[i]);
  }
  return rlo_layout_from_minor_to_major(ours, rlo__narrow_count(rank), out_layout);
}

/** Calls rlo_layout_add_tile with narrowed numbers. `dims` has RLO_TILE_COMBINE
 *  or -1 for a combined dimension. */
RLO_NODISCARD static inline rlo_status rlo__layout_add_wire_tile(rlo_layout *layout,
                                                                 const int64_t *dims, size_t rank) {
  int64_t ours[RLO_MAX_TILE_RANK];
  for (size_t k = 0; k < rank && rank <= RLO_MAX_TILE_RANK; ++k) {
    ours[k] = dims[k] == -1 ? RLO_TILE_COMBINE : dims[k];
  }
  return rlo_layout_add_tile(layout, ours, rlo__narrow_count(rank));
}

#endif
