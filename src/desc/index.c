/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/index.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "desc/strides.h"

/* Validates the shape and makes its map. */
static rlo_status map_of(const rlo_shape *shape, rlo_address_map *out_address) {
  RLO_TRY(rlo_shape_validate(shape));
  return rlo__address_make(shape, out_address);
}

rlo_status rlo_index_to_linear(const rlo_shape *shape, const int64_t *index, int64_t *out_slot) {
  RLO_REQUIRE(shape, out_slot);
  RLO_REQUIRE_LIST(index, shape->rank);
  rlo_address_map address;
  RLO_TRY(map_of(shape, &address));
  for (int32_t k = 0; k < shape->rank; ++k) {
    RLO_FAIL_IF(index[k] < 0 || index[k] >= shape->dims[k], RLO_OUT_OF_RANGE,
                "index[%d]=%lld is outside dimension %d of size %lld", k, (long long)index[k], k,
                (long long)shape->dims[k]);
  }
  *out_slot = rlo__address_slot(&address, index);
  return RLO_OK;
}

rlo_status rlo_address_map_make(const rlo_shape *shape, rlo_address_map *out_map) {
  RLO_REQUIRE(shape, out_map);
  memset(out_map, 0, sizeof *out_map);
  return map_of(shape, out_map);
}

int64_t rlo_address_map_slot_by_steps(const rlo_address_map *map, const int64_t *index) {
  if (map == NULL || (index == NULL && map->rank > 0)) {
    return 0;
  }
  return rlo__address_slot(map, index);
}

/* Finds the index of a slot of a strided map by division, the widest stride
 * first. */
static rlo_status strided_index(const rlo_address_map *address, int64_t slot, int64_t *out_index,
                                bool *out_is_element) {
  rlo__stride list[RLO_ADDRESS_MAP_MAX_LEAVES];
  int32_t count = 0;
  int64_t rest = slot - address->offset;
  for (int32_t p = 0; p < address->num_leaves; ++p) {
    if (address->leaves[p].extent != 1) {
      list[count++] = (rlo__stride){address->leaves[p].extent, address->leaves[p].stride,
                                    address->leaves[p].var};
    }
  }
  RLO_FAIL_IF(!rlo__strides_are_distinct(list, count), RLO_UNSUPPORTED,
              "the elements of this strided layout may share slots");
  for (int32_t i = 0; i < count; ++i) {
    /* The lowest slot of a reversed dimension is that of its last element. */
    if (list[i].stride < 0) {
      rest -= (list[i].extent - 1) * list[i].stride;
    }
  }
  int64_t index[RLO_MAX_RANK] = {0};
  *out_is_element = false;
  for (int32_t i = 0; i < count && rest >= 0; ++i) {
    bool is_reversed = list[i].stride < 0;
    int64_t width = is_reversed ? -list[i].stride : list[i].stride;
    int64_t coordinate = rest / width;
    if (coordinate >= list[i].extent) {
      return RLO_OK;
    }
    rest -= coordinate * width;
    index[list[i].dim] = is_reversed ? list[i].extent - 1 - coordinate : coordinate;
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

rlo_status rlo_address_map_element(const rlo_address_map *map, int64_t slot, int64_t *out_index,
                                   bool *out_is_element) {
  RLO_REQUIRE(map, out_is_element);
  RLO_REQUIRE_LIST(out_index, map->rank);
  RLO_FAIL_IF(slot < 0 || slot >= map->slots, RLO_OUT_OF_RANGE,
              "slot %lld is outside the %lld slots", (long long)slot, (long long)map->slots);
  if (!map->is_dense) {
    return strided_index(map, slot, out_index, out_is_element);
  }
  *out_is_element = rlo__address_index(map, slot, out_index);
  return RLO_OK;
}

rlo_status rlo_index_from_linear(const rlo_shape *shape, int64_t slot, int64_t *out_index,
                                 bool *out_is_element) {
  RLO_REQUIRE(shape, out_is_element);
  RLO_REQUIRE_LIST(out_index, shape->rank);
  rlo_address_map address;
  RLO_TRY(map_of(shape, &address));
  return rlo_address_map_element(&address, slot, out_index, out_is_element);
}

bool rlo_index_bump(const rlo_shape *shape, int64_t *index) {
  if (shape == NULL || index == NULL) {
    return false;
  }
  for (int32_t k = shape->rank - 1; k >= 0; --k) {
    if (++index[k] < shape->dims[k]) {
      return true;
    }
    index[k] = 0;
  }
  return false;
}

bool rlo_index_in_bounds(const rlo_shape *shape, const int64_t *index) {
  if (shape == NULL || (index == NULL && shape->rank > 0)) {
    return false;
  }
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (index[k] < 0 || index[k] >= shape->dims[k]) {
      return false;
    }
  }
  return true;
}

/* ------------------------------------------------------- walks over indices */

int rlo_index_compare(const int64_t *a, const int64_t *b, int32_t rank) {
  if (rank > 0 && (a == NULL || b == NULL)) {
    return 0;
  }
  for (int32_t k = 0; k < rank; ++k) {
    if (a[k] != b[k]) {
      return a[k] < b[k] ? -1 : 1;
    }
  }
  return 0;
}

/* One dimension of a walk: `visits` coordinates from `base`. */
typedef struct walk_dim {
  int64_t base;
  int64_t visits;
  int64_t step;
} walk_dim;

static rlo_status make_dim(const rlo_shape *shape, int32_t k, walk_dim dim, walk_dim *out_dim) {
  int64_t count = dim.visits;
  RLO_FAIL_IF(dim.base < 0 || count < 0 || dim.step < 0, RLO_INVALID_ARGUMENT,
              "dimension %d: base %lld, count %lld or step %lld is negative", k,
              (long long)dim.base, (long long)count, (long long)dim.step);
  RLO_FAIL_IF(dim.step == 0 && count != 0, RLO_INVALID_ARGUMENT,
              "dimension %d: step 0 never gets through count %lld", k, (long long)count);
  dim.visits = dim.step == 0 ? 1 : rlo__ceil_div(count, dim.step);
  int64_t last = dim.base;
  RLO_FAIL_IF(dim.visits > 0 && (!rlo__mul_add(dim.base, dim.visits - 1, dim.step, &last) ||
                                 last >= shape->dims[k]),
              RLO_OUT_OF_RANGE, "dimension %d: base %lld and count %lld reach beyond its size %lld",
              k, (long long)dim.base, (long long)count, (long long)shape->dims[k]);
  *out_dim = dim;
  return RLO_OK;
}

static rlo_status walk(int32_t rank, const walk_dim *dims, const int32_t *order, rlo_index_fn visit,
                       void *payload) {
  int64_t index[RLO_MAX_RANK] = {0};
  int64_t place[RLO_MAX_RANK] = {0};
  for (int32_t k = 0; k < rank; ++k) {
    index[k] = dims[k].base;
  }
  for (;;) {
    bool go_on = true;
    RLO_TRY(visit(index, &go_on, payload));
    if (!go_on) {
      return RLO_OK;
    }
    int32_t p = rank - 1;
    for (; p >= 0; --p) {
      int32_t k = order[p];
      if (++place[k] < dims[k].visits) {
        index[k] += dims[k].step;
        break;
      }
      index[k] = dims[k].base;
      place[k] = 0;
    }
    if (p < 0) {
      return RLO_OK;
    }
  }
}

rlo_status rlo_shape_for_each_index(const rlo_shape *shape, const int64_t *base,
                                    const int64_t *count, const int64_t *step, rlo_index_fn visit,
                                    void *payload) {
  RLO_REQUIRE(shape, visit);
  RLO_TRY(rlo_shape_validate(shape));
  walk_dim dims[RLO_MAX_RANK] = {{0}};
  int32_t order[RLO_MAX_RANK];
  bool is_empty = false;
  for (int32_t k = 0; k < shape->rank; ++k) {
    walk_dim dim = {base != NULL ? base[k] : 0, count != NULL ? count[k] : shape->dims[k],
                    step != NULL ? step[k] : 1};
    RLO_TRY(make_dim(shape, k, dim, &dims[k]));
    is_empty = is_empty || dims[k].visits == 0;
  }
  rlo__layout_physical_order(&shape->layout, shape->rank, order);
  return is_empty ? RLO_OK : walk(shape->rank, dims, order, visit, payload);
}
