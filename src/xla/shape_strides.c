/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "relayout/xla/layout_util.h"
#include "xla/address_compare.h"

/* The map of a shape, and a map of strides that may equal it. */
typedef struct workspace {
  rlo_address_map address, strided;
} workspace;

/* Makes the only strides that are possible: the distances from the first
 * element to its neighbours. False if the last element has another position. */
static bool read_strides(const rlo_address_map *address,
                         const int64_t *dims,
                         rlo_address_map *strided) {
  int64_t index[RLO_MAX_RANK] = {0};
  memset(strided, 0, sizeof *strided);
  strided->rank = strided->num_vars = strided->num_leaves = address->rank;
  strided->offset = rlo__address_slot(address, index);
  int64_t end = strided->offset;
  bool fits = true;
  for (int32_t k = 0; k < address->rank; ++k) {
    index[k] = 1;
    int64_t stride = rlo__address_slot(address, index) - strided->offset;
    index[k] = 0;
    strided->limits[k] = dims[k];
    strided->strides[k] = strided->leaves[k].stride = stride;
    strided->leaves[k].var = k;
    strided->leaves[k].extent = dims[k];
    fits = fits && rlo__mul_add(end, dims[k] - 1, stride, &end);
  }
  for (int32_t k = 0; k < address->rank; ++k) {
    index[k] = dims[k] - 1;
  }
  return fits && end == rlo__address_slot(address, index);
}

static rlo_status find_strides(const rlo_shape *shape,
                               workspace *w,
                               bool *out_is_strided) {
  *out_is_strided = true;
  RLO_TRY(rlo__address_make(shape, &w->address));
  if (w->address.num_steps == 0) {
    w->strided = w->address;
    return RLO_OK;
  }
  *out_is_strided = read_strides(&w->address, shape->dims, &w->strided);
  rlo__unit_order tiled = {&w->address, NULL, 1};
  rlo__unit_order strided = {&w->strided, NULL, 1};
  return *out_is_strided
             ? rlo__address_maps_agree(&tiled, &strided, out_is_strided)
             : RLO_OK;
}

rlo_status rlo_shape_strides(const rlo_shape *shape,
                             bool *out_is_strided,
                             int64_t *out_strides_elems,
                             int64_t *out_offset_elems) {
  RLO_REQUIRE(shape, out_is_strided, out_offset_elems);
  RLO_REQUIRE_LIST(out_strides_elems, shape->rank);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  if (extent.elements == 0) {
    *out_is_strided = true;
    *out_offset_elems = 0;
    memset(out_strides_elems, 0, (size_t)shape->rank * sizeof(int64_t));
    return RLO_OK;
  }
  workspace *w = rlo__alloc(sizeof *w);
  if (w == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  bool is_strided = false;
  rlo_status status = find_strides(shape, w, &is_strided);
  if (status == RLO_OK) {
    *out_is_strided = is_strided;
    if (is_strided) {
      *out_offset_elems = w->strided.offset;
      memcpy(out_strides_elems,
             w->strided.strides,
             (size_t)shape->rank * sizeof(int64_t));
    }
  }
  rlo__free(w);
  return status;
}

rlo_status rlo_shape_to_strides(const rlo_shape *shape,
                                int64_t *out_strides_elems,
                                int64_t *out_offset_elems) {
  bool is_strided = false;
  RLO_TRY(rlo_shape_strides(
      shape, &is_strided, out_strides_elems, out_offset_elems));
  if (!is_strided) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the tiles of the layout leave no stride for each "
                    "dimension");
  }
  return RLO_OK;
}

static rlo_status byte_strides(const rlo_shape *shape,
                               int64_t element_bits,
                               bool *out_is_strided,
                               int64_t *out_bytes) {
  int64_t strides[RLO_MAX_RANK];
  int64_t offset;
  bool is_strided = false;
  RLO_TRY(rlo_shape_strides(shape, &is_strided, strides, &offset));
  is_strided = is_strided && element_bits % 8 == 0;
  for (int32_t k = 0; is_strided && k < shape->rank; ++k) {
    if (!rlo__mul(strides[k], element_bits / 8, &strides[k])) {
      return RLO_FAIL(RLO_OVERFLOW,
                      "the stride of dimension %d in bytes does not fit 64 "
                      "bits",
                      k);
    }
  }
  if (is_strided && shape->rank > 0) {
    memcpy(out_bytes, strides, (size_t)shape->rank * sizeof strides[0]);
  }
  *out_is_strided = is_strided;
  return RLO_OK;
}

rlo_status rlo_shape_byte_strides(const rlo_shape *shape,
                                  bool *out_is_strided,
                                  int64_t *out_bytes) {
  RLO_REQUIRE(shape, out_is_strided);
  RLO_REQUIRE_LIST(out_bytes, shape->rank);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  return byte_strides(shape, extent.element_bits, out_is_strided, out_bytes);
}

rlo_status rlo_shape_unpacked_byte_strides(const rlo_shape *shape,
                                           bool *out_is_strided,
                                           int64_t *out_bytes) {
  RLO_REQUIRE(shape, out_is_strided);
  RLO_REQUIRE_LIST(out_bytes, shape->rank);
  return byte_strides(
      shape, rlo_dtype_storage_bits(shape->dtype), out_is_strided, out_bytes);
}
