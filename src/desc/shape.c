/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/shape.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "desc/address.h"
#include "desc/dimension.h"
#include "desc/layout.h"

rlo_status rlo_shape_create(rlo_shape **out_shape) {
  RLO_REQUIRE(out_shape);
  *out_shape = rlo__alloc(sizeof **out_shape);
  return *out_shape != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

void rlo_shape_release(rlo_shape *shape) {
  rlo__free(shape);
}

/* ceil(count * element_bits / 8). */
static bool bytes_of(int64_t count, int64_t element_bits, int64_t *out_bytes) {
  int64_t bits;
  if (!rlo__mul(count, element_bits, &bits)) {
    return false;
  }
  *out_bytes = rlo__ceil_div(bits, 8);
  return true;
}

/* Checks every rule of a shape, and gives the results that this takes. */
static rlo_status measure(const rlo_shape *shape, rlo_address_map *out_address,
                          rlo_shape_extent *out_extent) {
  RLO_TRY(rlo_layout_validate(&shape->layout, shape->dims, shape->rank, shape->dtype));
  RLO_TRY(rlo__address_make(shape, out_address));
  rlo_shape_extent extent = {
      .slots = out_address->slots,
      .element_bits = rlo__layout_element_bits(&shape->layout, shape->dtype),
  };
  RLO_FAIL_IF(!rlo__dims_product(shape->dims, shape->rank, &extent.elements) ||
                  !bytes_of(extent.elements, extent.element_bits, &extent.bytes),
              RLO_OVERFLOW, "the bits of the array's elements do not fit 64 bits");
  RLO_FAIL_IF(!bytes_of(extent.slots, extent.element_bits, &extent.physical_bytes), RLO_OVERFLOW,
              "%lld slots of %lld bits do not fit 64 bits", (long long)extent.slots,
              (long long)extent.element_bits);
  *out_extent = extent;
  return RLO_OK;
}

/* A shape without a layout as yet; not validated. */
static void begin(rlo_dtype dtype, const int64_t *dims, int32_t rank, rlo_shape *out_shape) {
  memset(out_shape, 0, sizeof *out_shape);
  out_shape->dtype = dtype;
  out_shape->rank = rank;
  for (int32_t k = 0; k < rank && rank <= RLO_MAX_RANK; ++k) {
    out_shape->dims[k] = dims[k];
  }
}

rlo_status rlo_shape_make(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                          rlo_shape *out_shape) {
  rlo_layout layout = rlo_layout_row_major(rank);
  return rlo_shape_make_with_layout(dtype, dims, rank, &layout, out_shape);
}

rlo_status rlo_shape_make_with_layout(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                                      const rlo_layout *layout, rlo_shape *out_shape) {
  RLO_REQUIRE(layout, out_shape);
  RLO_REQUIRE_LIST(dims, rank);
  rlo_shape shape;
  begin(dtype, dims, rank, &shape);
  shape.layout = *layout;
  if (layout->element_size_bits == rlo_dtype_storage_bits(dtype)) {
    shape.layout.element_size_bits = 0;
  }
  RLO_TRY(rlo_shape_validate(&shape));
  *out_shape = shape;
  return RLO_OK;
}

bool rlo_shape_is_unbounded(const rlo_shape *shape) {
  RLO_REQUIRE_OR(false, shape);
  for (int32_t k = 0; k < shape->rank; ++k) {
    if (shape->dims[k] == RLO_DIM_UNBOUNDED) {
      return true;
    }
  }
  return false;
}

/* The least size above 0 of a dimension that lies beyond its cut points. The
 * layout need not be valid. */
static int64_t least_size(const rlo_shape *shape, int32_t dimension) {
  const rlo_layout *layout = &shape->layout;
  int64_t size = 1;
  for (int32_t s = 0; s < layout->num_split_configs && s < RLO_MAX_RANK; ++s) {
    const rlo_split_config *split = &layout->split_configs[s];
    int32_t place = shape->rank - 1 - split->dimension;
    bool is_here = place >= 0 && place < shape->rank && place < RLO_MAX_RANK &&
                   layout->minor_to_major[place] == dimension;
    for (int32_t i = 0; is_here && i < split->num_indices && i < RLO_MAX_SPLIT_INDICES; ++i) {
      if (split->indices[i] >= size && split->indices[i] < INT64_MAX) {
        size = split->indices[i] + 1;
      }
    }
  }
  return size;
}

/* Every rule must hold for some size of the unbounded dimensions: size 1 for a
 * strided layout; any size beyond the cut points for a dense one, which must
 * not pad them. */
rlo_status rlo_shape_validate_unbounded(const rlo_shape *shape) {
  RLO_REQUIRE(shape);
  bool is_strided = shape->layout.kind == RLO_LAYOUT_STRIDED;
  rlo_shape bounded = *shape;
  for (int32_t k = 0; k < shape->rank && k < RLO_MAX_RANK; ++k) {
    if (shape->dims[k] != RLO_DIM_UNBOUNDED) {
      continue;
    }
    RLO_FAIL_IF(!shape->is_dynamic[k], RLO_INVALID_ARGUMENT,
                "dimension %d has no bound but is not dynamic", k);
    RLO_FAIL_IF(!is_strided && shape->layout.has_padded_dimensions, RLO_INVALID_ARGUMENT,
                "dimension %d has no bound, so nothing can be padded to a width", k);
    bounded.dims[k] = least_size(shape, k);
  }
  return rlo_shape_validate(&bounded);
}

rlo_status rlo_shape_make_dynamic(rlo_dtype dtype, const int64_t *dims, const bool *is_dynamic,
                                  int32_t rank, rlo_shape *out_shape) {
  RLO_REQUIRE(out_shape);
  RLO_REQUIRE_LIST(dims, rank);
  rlo_shape shape;
  begin(dtype, dims, rank, &shape);
  shape.layout = rlo_layout_row_major(rank);
  for (int32_t k = 0; k < rank && rank <= RLO_MAX_RANK; ++k) {
    shape.is_dynamic[k] = is_dynamic != NULL ? is_dynamic[k] : dims[k] == RLO_DIM_UNBOUNDED;
  }
  RLO_TRY(rlo_shape_validate_unbounded(&shape));
  *out_shape = shape;
  return RLO_OK;
}

rlo_status rlo_shape_validate(const rlo_shape *shape) {
  RLO_REQUIRE(shape);
  rlo_address_map address;
  rlo_shape_extent extent;
  return measure(shape, &address, &extent);
}

rlo_status rlo_shape_measure(const rlo_shape *shape, rlo_shape_extent *out_extent) {
  RLO_REQUIRE(shape, out_extent);
  rlo_address_map address;
  return measure(shape, &address, out_extent);
}

rlo_status rlo_shape_physical_dims(const rlo_shape *shape, int64_t *out_dims, int32_t capacity,
                                   int32_t *out_count) {
  RLO_REQUIRE(shape, out_count);
  RLO_REQUIRE_LIST(out_dims, capacity);
  rlo_address_map address;
  rlo_shape_extent extent;
  RLO_TRY(measure(shape, &address, &extent));
  RLO_FAIL_IF(!address.is_dense, RLO_UNSUPPORTED, "a strided layout has no physical dimensions");
  *out_count = address.num_leaves;
  RLO_FAIL_IF(address.num_leaves > capacity, RLO_OUT_OF_RANGE,
              "%d physical dimensions do not fit the room for %d", address.num_leaves, capacity);
  for (int32_t p = 0; p < address.num_leaves; ++p) {
    out_dims[p] = address.leaves[p].extent;
  }
  return RLO_OK;
}

rlo_status rlo_shape_fill_bits(const rlo_shape *shape, uint8_t out_bits[16], bool *out_known) {
  RLO_REQUIRE(shape, out_bits, out_known);
  return rlo__layout_fill_bits(&shape->layout, shape->dtype, out_bits, out_known);
}
