/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/strides.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"

/* -|stride|: |INT64_MIN| does not fit. */
static int64_t minus_width(int64_t stride) {
  return stride > 0 ? -stride : stride;
}

/* Sorts dimensions, the widest stride first, ties in the order given. */
static void sort(rlo__stride *list, int32_t count) {
  for (int32_t i = 1; i < count; ++i) {
    const rlo__stride entry = list[i];
    int32_t at = i;
    for (; at > 0 && minus_width(list[at - 1].stride) > minus_width(entry.stride); --at) {
      list[at] = list[at - 1];
    }
    list[at] = entry;
  }
}

bool rlo__strides_are_distinct(rlo__stride *list, int32_t count) {
  sort(list, count);
  int64_t span = 0;
  for (int32_t i = count - 1; i >= 0; --i) {
    const int64_t width = rlo__abs(list[i].stride);
    if (width <= span || list[i].stride == INT64_MIN ||
        !rlo__mul_add(span, width, list[i].extent - 1, &span)) {
      return false;
    }
  }
  return true;
}

void rlo__layout_physical_order(const rlo_layout *layout, int32_t rank, int32_t *out_order) {
  rlo__stride list[RLO_MAX_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    list[k] = (rlo__stride){.stride = layout->strides_elems[k], .dim = k};
  }
  sort(list, rank);
  const bool is_dense = layout->kind == RLO_LAYOUT_DENSE;
  for (int32_t p = 0; p < rank; ++p) {
    out_order[p] = is_dense ? layout->minor_to_major[rank - 1 - p] : list[p].dim;
  }
}

static bool is_empty(const int64_t *dims, int32_t rank) {
  int64_t elements;
  return rlo__dims_product(dims, rank, &elements) && elements == 0;
}

/* Finds the positions of the lowest and the highest element. */
static rlo_status find_range(const int64_t *dims, const int64_t *strides, int32_t rank,
                             int64_t *out_lowest, int64_t *out_highest) {
  int64_t lowest = 0;
  int64_t highest = 0;
  for (int32_t k = 0; k < rank; ++k) {
    int64_t *end = strides[k] < 0 ? &lowest : &highest;
    RLO_FAIL_IF(!rlo__mul_add(*end, dims[k] - 1, strides[k], end), RLO_OVERFLOW,
                "dimension %d of size %lld with stride %lld reaches beyond 64-bit positions", k,
                (long long)dims[k], (long long)strides[k]);
  }
  int64_t span;
  RLO_FAIL_IF(!rlo__sub(highest, lowest, &span) || span == INT64_MAX, RLO_OVERFLOW,
              "elements from position %lld to %lld do not fit 64 bits", (long long)lowest,
              (long long)highest);
  *out_lowest = lowest;
  *out_highest = highest;
  return RLO_OK;
}

/* Sets minor_to_major from the dimensions of size > 1, which are listed major
 * to minor. Those of size 1 are placed so that the layout is row-major or, if
 * it cannot be, column-major, and otherwise as the most major ones. */
static void place_dims(const int64_t *dims, int32_t rank, const rlo__stride *list, int32_t count,
                       rlo_layout *layout) {
  bool is_row_major = true;
  bool is_column_major = true;
  for (int32_t i = 1; i < count; ++i) {
    is_row_major = is_row_major && list[i - 1].dim < list[i].dim;
    is_column_major = is_column_major && list[i - 1].dim > list[i].dim;
  }
  if (is_row_major || is_column_major) {
    *layout = is_row_major ? rlo_layout_row_major(rank) : rlo_layout_column_major(rank);
    return;
  }
  memset(layout, 0, sizeof *layout);
  for (int32_t i = 0; i < count; ++i) {
    layout->minor_to_major[i] = list[count - 1 - i].dim;
  }
  for (int32_t k = rank - 1; k >= 0; --k) {
    if (dims[k] == 1) {
      layout->minor_to_major[count++] = k;
    }
  }
}

/* Makes a dimension of size 1 the most minor one, padded to `width`: the layout
 * of a column of a matrix. False if there is none. */
static bool pad_unit_dim(const int64_t *dims, int32_t rank, int64_t width, rlo_layout *layout) {
  int32_t unit = rank - 1;
  while (unit >= 0 && dims[unit] != 1) {
    --unit;
  }
  if (unit < 0) {
    return false;
  }
  int32_t at = 0;
  while (layout->minor_to_major[at] != unit) {
    ++at;
  }
  for (; at > 0; --at) {
    layout->minor_to_major[at] = layout->minor_to_major[at - 1];
  }
  layout->minor_to_major[0] = unit;
  layout->padded_dimensions[unit] = width;
  layout->has_padded_dimensions = true;
  return true;
}

/* Finds the dense layout with these strides. False if there is none. */
static bool find_dense(const int64_t *dims, const int64_t *strides, int32_t rank, int64_t available,
                       rlo_layout *out_layout) {
  rlo__stride list[RLO_MAX_RANK];
  int32_t count = 0;
  for (int32_t k = 0; k < rank; ++k) {
    if (dims[k] > 1) {
      if (strides[k] < 1) {
        return false;
      }
      list[count++] = (rlo__stride){dims[k], strides[k], k};
    }
  }
  if (!rlo__strides_are_distinct(list, count)) {
    return false;
  }
  rlo_layout layout;
  place_dims(dims, rank, list, count, &layout);
  if (count == 0) {
    *out_layout = layout;
    return true;
  }
  for (int32_t k = 0; k < rank; ++k) {
    layout.padded_dimensions[k] = dims[k];
  }
  int64_t first = list[count - 1].stride;
  if (first > 1 && !pad_unit_dim(dims, rank, first, &layout)) {
    return false;
  }
  for (int32_t i = 0; i + 1 < count; ++i) {
    const rlo__stride *inner = &list[i + 1];
    /* At least inner->extent: the strides are distinct. */
    int64_t width = list[i].stride / inner->stride;
    if (list[i].stride % inner->stride != 0) {
      return false;
    }
    if (width > inner->extent) {
      layout.padded_dimensions[inner->dim] = width;
      layout.has_padded_dimensions = true;
    }
  }
  if (layout.has_padded_dimensions) {
    int64_t slots;
    if (!rlo__mul(list[0].extent, list[0].stride, &slots) || available < slots) {
      return false;
    }
    layout.fill = RLO_FILL_UNKNOWN;
  } else {
    memset(layout.padded_dimensions, 0, sizeof layout.padded_dimensions);
  }
  *out_layout = layout;
  return true;
}

rlo_status rlo_layout_from_strides(const int64_t *dims, const int64_t *strides_elems, int32_t rank,
                                   int64_t available_elems, rlo_layout *out_layout,
                                   int64_t *out_lowest_elems) {
  RLO_REQUIRE(out_layout, out_lowest_elems);
  RLO_REQUIRE_LIST(dims, rank);
  RLO_TRY(rlo__dims_check(dims, rank));
  RLO_FAIL_IF(available_elems < 0 && available_elems != RLO_AVAILABLE_UNKNOWN, RLO_INVALID_ARGUMENT,
              "%lld available elements are neither a number nor RLO_AVAILABLE_UNKNOWN",
              (long long)available_elems);
  int64_t lowest = 0;
  int64_t highest = -1;
  rlo_layout layout = rlo_layout_row_major(rank);
  if (!is_empty(dims, rank)) {
    int64_t strides[RLO_MAX_RANK];
    int64_t next = 1;
    for (int32_t k = rank - 1; k >= 0; --k) {
      strides[k] = strides_elems != NULL ? strides_elems[k] : next;
      RLO_FAIL_IF(strides_elems == NULL && !rlo__mul(next, dims[k], &next), RLO_OVERFLOW,
                  "dimension %d of size %lld takes the number of elements beyond 64 bits", k,
                  (long long)dims[k]);
    }
    RLO_TRY(find_range(dims, strides, rank, &lowest, &highest));
    if (!find_dense(dims, strides, rank, available_elems, &layout)) {
      memset(&layout, 0, sizeof layout);
      layout.kind = RLO_LAYOUT_STRIDED;
      layout.offset_elems = -lowest;
      for (int32_t k = 0; k < rank; ++k) {
        layout.strides_elems[k] = strides[k];
      }
    }
  }
  RLO_FAIL_IF(available_elems >= 0 && highest >= available_elems, RLO_OUT_OF_RANGE,
              "the furthest element has position %lld, but %lld elements are available",
              (long long)highest, (long long)available_elems);
  *out_layout = layout;
  *out_lowest_elems = lowest;
  return RLO_OK;
}

int64_t rlo__available_elems(int64_t available_bytes, int64_t element_bits) {
  if (available_bytes < 0 || available_bytes == RLO_AVAILABLE_ALL) {
    return available_bytes;
  }
  /* bytes * 8 / bits, where the product may not fit. */
  return rlo__add_capped(rlo__mul_capped(available_bytes / element_bits, 8),
                         available_bytes % element_bits * 8 / element_bits);
}

rlo_status rlo__layout_from_byte_strides(const int64_t *dims, const int64_t *strides_bytes,
                                         int32_t rank, int64_t element_bytes,
                                         int64_t available_bytes, rlo_layout *out_layout,
                                         int64_t *out_lowest_elems) {
  RLO_TRY(rlo__dims_check(dims, rank));
  int64_t strides[RLO_MAX_RANK] = {0};
  const bool has_elements = !is_empty(dims, rank);
  for (int32_t k = 0; strides_bytes != NULL && k < rank; ++k) {
    bool is_used = has_elements && dims[k] > 1;
    RLO_FAIL_IF(is_used && strides_bytes[k] % element_bytes != 0, RLO_UNSUPPORTED,
                "dimension %d has a stride of %lld bytes, which is no whole number of elements of "
                "%lld bytes",
                k, (long long)strides_bytes[k], (long long)element_bytes);
    strides[k] = is_used ? strides_bytes[k] / element_bytes : 1;
  }
  return rlo_layout_from_strides(dims, strides_bytes != NULL ? strides : NULL, rank,
                                 rlo__available_elems(available_bytes, 8 * element_bytes),
                                 out_layout, out_lowest_elems);
}
