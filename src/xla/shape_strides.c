/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"

/* Tiles may not change the positions: then another layout has the strides. */
rlo_status rlo_shape_strides(const rlo_shape *shape, bool *out_is_strided,
                             int64_t *out_strides_elems, int64_t *out_offset_elems) {
  RLO_REQUIRE(shape, out_is_strided, out_offset_elems);
  RLO_REQUIRE_LIST(out_strides_elems, shape->rank);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  rlo_address_map address = {.rank = shape->rank};
  rlo_shape untiled;
  bool is_strided = true;
  if (extent.elements > 0) {
    RLO_TRY(rlo__address_make(shape, &address));
  }
  if (address.num_steps > 0) {
    RLO_TRY(rlo_shape_align_layout(shape, shape->dims, shape->rank, &is_strided, &untiled));
  }
  if (address.num_steps > 0 && is_strided) {
    RLO_TRY(rlo__address_make(&untiled, &address));
  }
  *out_is_strided = is_strided;
  if (is_strided) {
    *out_offset_elems = address.offset;
    for (int32_t k = 0; k < shape->rank; ++k) {
      out_strides_elems[k] = address.strides[k];
    }
  }
  return RLO_OK;
}

rlo_status rlo_shape_to_strides(const rlo_shape *shape, int64_t *out_strides_elems,
                                int64_t *out_offset_elems) {
  bool is_strided = false;
  RLO_TRY(rlo_shape_strides(shape, &is_strided, out_strides_elems, out_offset_elems));
  RLO_FAIL_IF(!is_strided, RLO_UNSUPPORTED,
              "the tiles of the layout leave no stride for each dimension");
  return RLO_OK;
}

static rlo_status byte_strides(const rlo_shape *shape, int64_t element_bits, bool *out_is_strided,
                               int64_t *out_bytes) {
  int64_t strides[RLO_MAX_RANK];
  int64_t offset;
  bool is_strided = false;
  RLO_TRY(rlo_shape_strides(shape, &is_strided, strides, &offset));
  is_strided = is_strided && element_bits % 8 == 0;
  for (int32_t k = 0; is_strided && k < shape->rank; ++k) {
    RLO_FAIL_IF(!rlo__mul(strides[k], element_bits / 8, &strides[k]), RLO_OVERFLOW,
                "the stride of dimension %d in bytes does not fit 64 bits", k);
  }
  if (is_strided && shape->rank > 0) {
    memcpy(out_bytes, strides, (size_t)shape->rank * sizeof strides[0]);
  }
  *out_is_strided = is_strided;
  return RLO_OK;
}

rlo_status rlo_shape_byte_strides(const rlo_shape *shape, bool *out_is_strided,
                                  int64_t *out_bytes) {
  RLO_REQUIRE(shape, out_is_strided);
  RLO_REQUIRE_LIST(out_bytes, shape->rank);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  return byte_strides(shape, extent.element_bits, out_is_strided, out_bytes);
}

rlo_status rlo_shape_unpacked_byte_strides(const rlo_shape *shape, bool *out_is_strided,
                                           int64_t *out_bytes) {
  RLO_REQUIRE(shape, out_is_strided);
  RLO_REQUIRE_LIST(out_bytes, shape->rank);
  return byte_strides(shape, rlo_dtype_storage_bits(shape->dtype), out_is_strided, out_bytes);
}
