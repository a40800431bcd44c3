/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/strides.h"
#include "io/npy_form.h"

rlo_status rlo_shape_from_numpy(const char *type,
                                const int64_t *dims,
                                const int64_t *strides_bytes,
                                int32_t rank,
                                int64_t available_bytes,
                                rlo_numpy_view *out_view) {
  if (type == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the type of the array is NULL");
  }
  rlo_numpy_view view;
  memset(&view, 0, sizeof view);
  rlo_dtype dtype = RLO_DTYPE_INVALID;
  RLO_TRY(
      rlo__npy_type_parse(type, strlen(type), &dtype, &view.is_byte_swapped));
  int64_t element_bytes = rlo_dtype_storage_bits(dtype) / 8;
  int64_t strides_elems[RLO_MAX_RANK];
  if (strides_bytes != NULL) {
    RLO_TRY(rlo__strides_from_bytes(
        dims, strides_bytes, rank, element_bytes, strides_elems));
  }
  int64_t lowest_elems = 0;
  rlo_layout layout;
  RLO_TRY(rlo_layout_from_strides(
      dims,
      strides_bytes != NULL ? strides_elems : NULL,
      rank,
      rlo__available_elems(available_bytes, element_bytes),
      &layout,
      &lowest_elems));
  RLO_TRY(rlo_shape_make_with_layout(dtype, dims, rank, &layout, &view.shape));
  if (!rlo__mul(lowest_elems, element_bytes, &view.offset_bytes)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "the position %lld of the lowest element does not fit 64 "
                    "bits in bytes",
                    (long long)lowest_elems);
  }
  *out_view = view;
  return RLO_OK;
}
