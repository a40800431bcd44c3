/* SPDX-License-Identifier: Apache-2.0 */

/* Layouts as strides. */

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "relayout/layout_util.h"
#include "shape_util/quasi.h"

typedef struct workspace {
  rlo_address_map address;
  rlo__quasi_space space;
  rlo__quasi index[RLO_MAX_RANK];
  rlo__quasi slot;
} workspace;

static rlo_status find_strides(const rlo_shape *shape, workspace *w) {
  RLO_TRY(rlo__address_make(shape, &w->address));
  w->space.num_vars = shape->rank;
  for (int32_t k = 0; k < shape->rank; ++k) {
    w->space.extents[k] = shape->dims[k];
    w->index[k] = rlo__quasi_var(k);
  }
  return rlo__quasi_slot(&w->space, &w->address, w->index, &w->slot);
}

rlo_status rlo_shape_strides(const rlo_shape *shape,
                             bool *out_is_strided,
                             int64_t *out_strides_elems,
                             int64_t *out_offset_elems) {
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
  rlo_status status = find_strides(shape, w);
  if (status == RLO_OK) {
    *out_is_strided = rlo__quasi_is_linear(&w->slot);
    if (*out_is_strided) {
      *out_offset_elems = w->slot.base;
      for (int32_t k = 0; k < shape->rank; ++k) {
        out_strides_elems[k] = rlo__quasi_coef(&w->slot, k);
      }
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
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  return byte_strides(shape, extent.element_bits, out_is_strided, out_bytes);
}

rlo_status rlo_shape_unpacked_byte_strides(const rlo_shape *shape,
                                           bool *out_is_strided,
                                           int64_t *out_bytes) {
  return byte_strides(
      shape, rlo_dtype_storage_bits(shape->dtype), out_is_strided, out_bytes);
}
