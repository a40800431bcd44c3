/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/shape_util.h"

#include <string.h>

#include "base/status.h"
#include "desc/layout.h"
#include "relayout/layout_util.h"

static rlo_status publish(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  *out_shape = *shape;
  return RLO_OK;
}

static bool is_packed(const rlo_shape *shape) {
  return rlo_dtype_is_sub_byte(shape->dtype) &&
         rlo__layout_element_bits(&shape->layout, shape->dtype) <
             rlo_dtype_storage_bits(shape->dtype);
}

static int64_t packed_bits(rlo_dtype dtype, bool pack) {
  return pack && rlo_dtype_is_sub_byte(dtype) ? rlo_dtype_value_bits(dtype) : 0;
}

rlo_status rlo_shape_change_dtype(const rlo_shape *shape,
                                  rlo_dtype dtype,
                                  rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo_shape result = *shape;
  result.dtype = dtype;
  result.layout.element_size_bits = packed_bits(dtype, is_packed(shape));
  return publish(&result, out_shape);
}

rlo_status rlo_shape_update_element_size(const rlo_shape *shape,
                                         bool pack,
                                         rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo_shape result = *shape;
  result.layout.element_size_bits = packed_bits(shape->dtype, pack);
  return publish(&result, out_shape);
}

rlo_status rlo_shape_device_to_host(const rlo_shape *shape,
                                    rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  int32_t order[RLO_MAX_RANK];
  rlo_shape result = *shape;
  rlo__layout_physical_order(&shape->layout, shape->rank, order);
  RLO_TRY(rlo_layout_from_major_to_minor(order, shape->rank, &result.layout));
  return publish(&result, out_shape);
}

bool rlo_shape_device_is_host(const rlo_shape *shape) {
  rlo_shape host;
  return rlo_shape_device_to_host(shape, &host) == RLO_OK &&
         rlo_shape_equal_with(shape, &host, RLO_EQUAL_IGNORE_FILL);
}

rlo_status rlo_shape_without_padding(const rlo_shape *shape,
                                     rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo_shape result = *shape;
  memset(result.layout.padded_dimensions,
         0,
         sizeof result.layout.padded_dimensions);
  result.layout.has_padded_dimensions = false;
  return publish(&result, out_shape);
}

rlo_status rlo_shape_with_default_layout(const rlo_shape *shape,
                                         rlo_shape *out_shape) {
  rlo_shape result = *shape;
  result.layout = rlo_layout_row_major(shape->rank);
  return publish(&result, out_shape);
}

rlo_status rlo_shape_with_layout_of(const rlo_shape *shape,
                                    const rlo_shape *layout_of,
                                    rlo_shape *out_shape) {
  if (shape->rank != layout_of->rank) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the layout of rank %d cannot be that of rank %d",
                    layout_of->rank,
                    shape->rank);
  }
  rlo_shape result = *shape;
  result.layout = layout_of->layout;
  return publish(&result, out_shape);
}

rlo_status rlo_shape_make_static(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate(shape));
  rlo_shape result = *shape;
  memset(result.is_dynamic, 0, sizeof result.is_dynamic);
  *out_shape = result;
  return RLO_OK;
}
