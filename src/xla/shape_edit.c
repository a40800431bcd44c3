/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/shape_util.h"

#include <string.h>

#include "base/status.h"
#include "desc/layout.h"
#include "desc/strides.h"
#include "relayout/xla/layout_util.h"
#include "xla/layout_edit.h"

/* Returns the result of an edit if it is valid. */
static rlo_status publish(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  *out_shape = *shape;
  return RLO_OK;
}

rlo_status rlo_shape_permute_dims(const rlo_shape *shape, const int32_t *permutation,
                                  rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_REQUIRE_LIST(permutation, shape->rank);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  int32_t from[RLO_MAX_RANK];
  RLO_TRY(rlo_permutation_normalize(permutation, shape->rank, from));
  rlo_shape result;
  rlo__shape_take_dims(shape, from, shape->rank, &result);
  return publish(&result, out_shape);
}

rlo_status rlo_shape_permute_dims_ignoring_layout(const rlo_shape *shape,
                                                  const int32_t *permutation,
                                                  rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  if (shape->layout.kind == RLO_LAYOUT_STRIDED) {
    RLO_TRY(rlo_shape_validate_unbounded(shape));
    return RLO_FAIL(RLO_UNSUPPORTED, "a strided layout has no minor_to_major to keep");
  }
  rlo_shape result;
  RLO_TRY(rlo_shape_permute_dims(shape, permutation, &result));
  memcpy(result.layout.minor_to_major, shape->layout.minor_to_major,
         sizeof result.layout.minor_to_major);
  return publish(&result, out_shape);
}

rlo_status rlo_shape_make_descending_with_same_physical_layout(const rlo_shape *shape,
                                                               rlo_shape *out_shape,
                                                               int32_t *out_permutation) {
  RLO_REQUIRE(shape, out_shape);
  int32_t order[RLO_MAX_RANK];
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo__layout_physical_order(&shape->layout, shape->rank, order);
  int32_t rank = shape->rank;
  RLO_TRY(rlo_shape_permute_dims(shape, order, out_shape));
  if (out_permutation != NULL && rank > 0) {
    memcpy(out_permutation, order, (size_t)rank * sizeof order[0]);
  }
  return RLO_OK;
}

/* New dimensions are the most major ones, or the only new one the most minor.
 */
static rlo_status insert(const rlo_shape *shape, int32_t at, const int64_t *sizes, int32_t count,
                         bool is_minor, rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  /* One place more than dimensions: the last is after all of them. */
  RLO_FAIL_IF(at < -shape->rank - 1 || at > shape->rank, RLO_OUT_OF_RANGE,
              "place %d for new dimensions in a shape of rank %d; %d to %d are possible", at,
              shape->rank, -shape->rank - 1, shape->rank);
  at += at < 0 ? shape->rank + 1 : 0;
  RLO_FAIL_IF(count < 0, RLO_INVALID_ARGUMENT, "%d new dimensions", count);
  RLO_FAIL_IF(count > RLO_MAX_RANK - shape->rank, RLO_UNSUPPORTED,
              "rank %d and %d new dimensions are beyond the limit of %d", shape->rank, count,
              RLO_MAX_RANK);
  bool is_strided = shape->layout.kind == RLO_LAYOUT_STRIDED;
  int32_t from[RLO_MAX_RANK];
  for (int32_t k = 0; k < shape->rank + count; ++k) {
    bool is_new = k >= at && k < at + count;
    from[k] = is_new ? -1 : k < at ? k : k - count;
  }
  rlo_shape result;
  rlo__shape_take_dims(shape, from, shape->rank + count, &result);
  for (int32_t i = 0; i < count; ++i) {
    RLO_FAIL_IF(is_strided && sizes[i] != 1, RLO_UNSUPPORTED,
                "a strided layout has no memory for a new dimension of size %lld, but 1",
                (long long)sizes[i]);
    result.dims[at + i] = sizes[i];
    result.layout.padded_dimensions[at + i] = sizes[i];
  }
  if (is_minor && !is_strided) {
    RLO_TRY(rlo_layout_move_dim_to_minor(&result.layout, result.rank, at));
  }
  return publish(&result, out_shape);
}

rlo_status rlo_shape_insert_dims(const rlo_shape *shape, int32_t at, const int64_t *sizes,
                                 int32_t count, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_REQUIRE_LIST(sizes, count);
  return insert(shape, at, sizes, count, false, out_shape);
}

rlo_status rlo_shape_prepend_major_dim(const rlo_shape *shape, int64_t size, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  return insert(shape, 0, &size, 1, false, out_shape);
}

rlo_status rlo_shape_append_major_dim(const rlo_shape *shape, int64_t size, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  return insert(shape, shape->rank, &size, 1, false, out_shape);
}

rlo_status rlo_shape_append_minor_dim(const rlo_shape *shape, int64_t size, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  return insert(shape, shape->rank, &size, 1, true, out_shape);
}

static rlo_status move_dim(const rlo_shape *shape, int32_t dim, bool to_major,
                           rlo_shape *out_shape) {
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo_shape result = *shape;
  rlo_layout *layout = &result.layout;
  RLO_TRY(to_major ? rlo_layout_move_dim_to_major(layout, shape->rank, dim)
                   : rlo_layout_move_dim_to_minor(layout, shape->rank, dim));
  return publish(&result, out_shape);
}

rlo_status rlo_shape_move_dim_to_major(const rlo_shape *shape, int32_t dim, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  return move_dim(shape, dim, true, out_shape);
}

rlo_status rlo_shape_move_dim_to_minor(const rlo_shape *shape, int32_t dim, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  return move_dim(shape, dim, false, out_shape);
}

static bool is_packed(const rlo_shape *shape) {
  return rlo_dtype_is_sub_byte(shape->dtype) &&
         rlo__layout_element_bits(&shape->layout, shape->dtype) <
             rlo_dtype_storage_bits(shape->dtype);
}

static int64_t packed_bits(rlo_dtype dtype, bool pack) {
  return pack && rlo_dtype_is_sub_byte(dtype) ? rlo_dtype_value_bits(dtype) : 0;
}

rlo_status rlo_shape_change_dtype(const rlo_shape *shape, rlo_dtype dtype, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo_shape result = *shape;
  result.dtype = dtype;
  result.layout.element_size_bits = packed_bits(dtype, is_packed(shape));
  return publish(&result, out_shape);
}

rlo_status rlo_shape_update_element_size(const rlo_shape *shape, bool pack, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo_shape result = *shape;
  result.layout.element_size_bits = packed_bits(shape->dtype, pack);
  return publish(&result, out_shape);
}

rlo_status rlo_shape_device_to_host(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  int32_t order[RLO_MAX_RANK];
  rlo_shape result = *shape;
  rlo__layout_physical_order(&shape->layout, shape->rank, order);
  RLO_TRY(rlo_layout_from_major_to_minor(order, shape->rank, &result.layout));
  return publish(&result, out_shape);
}

bool rlo_shape_device_is_host(const rlo_shape *shape) {
  RLO_REQUIRE_OR(false, shape);
  rlo_shape host;
  return rlo_shape_device_to_host(shape, &host) == RLO_OK &&
         rlo_shape_equal_with(shape, &host, RLO_EQUAL_IGNORE_FILL);
}

rlo_status rlo_shape_without_padding(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  rlo_shape result = *shape;
  memset(result.layout.padded_dimensions, 0, sizeof result.layout.padded_dimensions);
  result.layout.has_padded_dimensions = false;
  return publish(&result, out_shape);
}

rlo_status rlo_shape_with_default_layout(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  rlo_shape result = *shape;
  result.layout = rlo_layout_row_major(shape->rank);
  return publish(&result, out_shape);
}

rlo_status rlo_shape_with_layout_of(const rlo_shape *shape, const rlo_shape *layout_of,
                                    rlo_shape *out_shape) {
  RLO_REQUIRE(shape, layout_of, out_shape);
  RLO_FAIL_IF(shape->rank != layout_of->rank, RLO_INVALID_ARGUMENT,
              "the layout of rank %d cannot be that of rank %d", layout_of->rank, shape->rank);
  rlo_shape result = *shape;
  result.layout = layout_of->layout;
  return publish(&result, out_shape);
}

rlo_status rlo_shape_make_static(const rlo_shape *shape, rlo_shape *out_shape) {
  RLO_REQUIRE(shape, out_shape);
  RLO_TRY(rlo_shape_validate(shape));
  rlo_shape result = *shape;
  memset(result.is_dynamic, 0, sizeof result.is_dynamic);
  *out_shape = result;
  return RLO_OK;
}
