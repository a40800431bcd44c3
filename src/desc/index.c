/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/index.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/address/address.h"

/* A valid shape and its map. */
static rlo_status map_of(const rlo_shape *shape, rlo_address_map *out_address) {
  RLO_TRY(rlo_shape_validate(shape));
  return rlo__address_make(shape, out_address);
}

rlo_status rlo_index_to_linear(const rlo_shape *shape,
                               const int64_t *index,
                               int64_t *out_slot) {
  rlo_address_map address;
  RLO_TRY(map_of(shape, &address));
  if (shape->rank > 0 && index == NULL) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "the index of rank %d is NULL", shape->rank);
  }
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (index[k] < 0 || index[k] >= shape->dims[k]) {
      return RLO_FAIL(RLO_OUT_OF_RANGE,
                      "index[%d]=%lld is outside dimension %d of size %lld",
                      k,
                      (long long)index[k],
                      k,
                      (long long)shape->dims[k]);
    }
  }
  *out_slot = rlo__address_slot(&address, index);
  return RLO_OK;
}

static int64_t magnitude(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

rlo_status rlo_address_map_make(const rlo_shape *shape,
                                rlo_address_map *out_map) {
  return map_of(shape, out_map);
}

int64_t rlo_address_map_slot_by_steps(const rlo_address_map *map,
                                      const int64_t *index) {
  return rlo__address_slot(map, index);
}

/* The leaves of a strided map with more than one element, widest stride first;
 * false unless each stride is wider than all that the narrower ones span, so
 * that a slot has at most one index. */
static bool order_strides(const rlo_address_map *address,
                          int32_t *out_order,
                          int32_t *out_count) {
  int32_t count = 0;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    if (address->leaves[p].extent == 1) {
      continue;
    }
    int64_t stride = address->leaves[p].stride;
    if (stride == 0 || stride == INT64_MIN) {
      return false;
    }
    int32_t at = count++;
    for (; at > 0; --at) {
      if (magnitude(address->leaves[out_order[at - 1]].stride) >=
          magnitude(stride)) {
        break;
      }
      out_order[at] = out_order[at - 1];
    }
    out_order[at] = p;
  }
  int64_t span = 0;
  for (int32_t i = count - 1; i >= 0; --i) {
    int64_t stride = magnitude(address->leaves[out_order[i]].stride);
    if (stride <= span ||
        !rlo__mul_add(
            span, stride, address->leaves[out_order[i]].extent - 1, &span)) {
      return false;
    }
  }
  *out_count = count;
  return true;
}

/* The index at a slot of a strided map: peel off the strides, widest first. */
static rlo_status strided_index(const rlo_address_map *address,
                                int64_t slot,
                                int64_t *out_index,
                                bool *out_is_element) {
  int32_t order[RLO_ADDRESS_MAP_MAX_LEAVES];
  int32_t count;
  if (!order_strides(address, order, &count)) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the elements of this strided layout may share slots");
  }
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t rest = slot - address->offset;
  for (int32_t i = 0; i < count; ++i) {
    int64_t stride = address->leaves[order[i]].stride;
    /* Count a reversed dimension from its far end, which lies lowest. */
    if (stride < 0) {
      rest -= (address->leaves[order[i]].extent - 1) * stride;
    }
  }
  *out_is_element = false;
  for (int32_t i = 0; i < count && rest >= 0; ++i) {
    int64_t extent = address->leaves[order[i]].extent;
    int64_t stride = address->leaves[order[i]].stride;
    int64_t coordinate = rest / magnitude(stride);
    if (coordinate >= extent) {
      return RLO_OK;
    }
    rest -= coordinate * magnitude(stride);
    index[address->leaves[order[i]].var] =
        stride < 0 ? extent - 1 - coordinate : coordinate;
  }
  if (rest != 0) {
    return RLO_OK;
  }
  for (int32_t k = 0; k < address->rank; ++k) {
    out_index[k] = index[k];
  }
  *out_is_element = true;
  return RLO_OK;
}

rlo_status rlo_address_map_element(const rlo_address_map *map,
                                   int64_t slot,
                                   int64_t *out_index,
                                   bool *out_is_element) {
  if (slot < 0 || slot >= map->slots) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "slot %lld is outside the %lld slots",
                    (long long)slot,
                    (long long)map->slots);
  }
  if (!map->is_dense) {
    return strided_index(map, slot, out_index, out_is_element);
  }
  *out_is_element = rlo__address_index(map, slot, out_index);
  return RLO_OK;
}

rlo_status rlo_index_from_linear(const rlo_shape *shape,
                                 int64_t slot,
                                 int64_t *out_index,
                                 bool *out_is_element) {
  rlo_address_map address;
  RLO_TRY(map_of(shape, &address));
  return rlo_address_map_element(&address, slot, out_index, out_is_element);
}

bool rlo_index_bump(const rlo_shape *shape, int64_t *index) {
  for (int32_t k = shape->rank - 1; k >= 0; --k) {
    if (++index[k] < shape->dims[k]) {
      return true;
    }
    index[k] = 0;
  }
  return false;
}

bool rlo_index_in_bounds(const rlo_shape *shape, const int64_t *index) {
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (index[k] < 0 || index[k] >= shape->dims[k]) {
      return false;
    }
  }
  return true;
}
