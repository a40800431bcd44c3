/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/shape_util.h"

#include "base/checked.h"
#include "base/status.h"
#include "desc/layout.h"
#include "relayout/layout_util.h"
#include "shape_util/address_box.h"

rlo_status rlo_shape_elements_in(const rlo_shape *shape,
                                 int64_t *out_elements) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  *out_elements = extent.elements;
  return RLO_OK;
}

bool rlo_shape_is_zero_element_array(const rlo_shape *shape) {
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (shape->dims[k] == 0) {
      return true;
    }
  }
  return false;
}

rlo_status rlo_shape_byte_size(const rlo_shape *shape, int64_t *out_bytes) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  *out_bytes = extent.bytes;
  return RLO_OK;
}

rlo_status rlo_shape_array_size(const rlo_shape *shape, int64_t *out_bytes) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  *out_bytes = extent.physical_bytes;
  return RLO_OK;
}

rlo_status rlo_shape_array_data_size(const rlo_shape *shape,
                                     int64_t *out_bytes) {
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  int64_t last = extent.slots - 1;
  if (extent.elements == 0) {
    *out_bytes = 0;
    return RLO_OK;
  }
  if (shape->layout.kind == RLO_LAYOUT_DENSE) {
    rlo_address_map address;
    RLO_TRY(rlo__address_make(shape, &address));
    RLO_TRY(rlo__address_last_slot(&address, shape->dims, &last));
  }
  /* Fits, as the bits of all slots do. */
  *out_bytes = rlo__ceil_div((last + 1) * extent.element_bits, 8);
  return RLO_OK;
}

int64_t rlo_shape_element_size_bits(const rlo_shape *shape) {
  return rlo__layout_element_bits(&shape->layout, shape->dtype);
}

int32_t rlo_shape_true_rank(const rlo_shape *shape) {
  int32_t rank = 0;
  for (int32_t k = 0; k < shape->rank; ++k) {
    rank += shape->dims[k] != 1;
  }
  return rank;
}

bool rlo_shape_is_scalar(const rlo_shape *shape) {
  return shape->rank == 0;
}

bool rlo_shape_is_effective_scalar(const rlo_shape *shape) {
  return rlo_shape_true_rank(shape) == 0;
}

rlo_status rlo_shape_dimension_number(const rlo_shape *shape,
                                      int32_t number,
                                      int32_t *out_dimension) {
  if (number < -shape->rank || number >= shape->rank) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "dimension %d is outside rank %d",
                    number,
                    shape->rank);
  }
  *out_dimension = number < 0 ? number + shape->rank : number;
  return RLO_OK;
}

rlo_status rlo_shape_dimension(const rlo_shape *shape,
                               int32_t number,
                               int64_t *out_size) {
  int32_t dimension = 0;
  RLO_TRY(rlo_shape_dimension_number(shape, number, &dimension));
  *out_size = shape->dims[dimension];
  return RLO_OK;
}

/* Of an affine map: the stride passes all that the others can reach. */
static bool is_most_major_stride(const rlo_shape *shape,
                                 const int64_t *strides,
                                 int32_t dimension) {
  int64_t reach = 0;
  bool fits = true;
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (k != dimension && shape->dims[k] > 1) {
      int64_t size = strides[k] < 0 ? -strides[k] : strides[k];
      fits = fits && rlo__mul_add(reach, size, shape->dims[k] - 1, &reach);
    }
  }
  return shape->dims[dimension] == 1 || (fits && strides[dimension] > reach);
}

rlo_status rlo_shape_is_effectively_most_major(const rlo_shape *shape,
                                               int32_t dimension,
                                               bool *out_answer) {
  RLO_TRY(rlo_shape_validate(shape));
  if (dimension < 0 || dimension >= shape->rank) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "dimension %d is outside rank %d",
                    dimension,
                    shape->rank);
  }
  int64_t strides[RLO_MAX_RANK];
  int64_t offset;
  bool is_strided = false;
  if (rlo_shape_is_zero_element_array(shape)) {
    *out_answer = true;
    return RLO_OK;
  }
  RLO_TRY(rlo_shape_strides(shape, &is_strided, strides, &offset));
  if (is_strided) {
    *out_answer = is_most_major_stride(shape, strides, dimension);
    return RLO_OK;
  }
  rlo_address_map address;
  RLO_TRY(rlo__address_make(shape, &address));
  return rlo__address_is_most_major(
      &address, shape->dims, dimension, out_answer);
}

bool rlo_shape_last_dim_is_minor_most(const rlo_shape *shape) {
  if (shape->rank == 0) {
    return true;
  }
  return shape->layout.kind == RLO_LAYOUT_DENSE
             ? shape->layout.minor_to_major[0] == shape->rank - 1
             : shape->layout.strides_elems[shape->rank - 1] == 1;
}

bool rlo_shape_fits_bounds(const rlo_shape *actual, const rlo_shape *bounds) {
  if (actual->dtype != bounds->dtype || actual->rank != bounds->rank) {
    return false;
  }
  for (int32_t k = 0; k < actual->rank; ++k) {
    bool has_bound = bounds->dims[k] != RLO_DIM_UNBOUNDED;
    if (has_bound && (actual->dims[k] == RLO_DIM_UNBOUNDED ||
                      actual->dims[k] > bounds->dims[k])) {
      return false;
    }
  }
  return true;
}
