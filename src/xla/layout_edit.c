/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/layout_edit.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "relayout/xla/layout_util.h"

static bool is_dense(const rlo_layout *layout) {
  return layout->kind == RLO_LAYOUT_DENSE;
}

static rlo_status check_dense(const rlo_layout *layout) {
  RLO_FAIL_IF(!is_dense(layout), RLO_UNSUPPORTED, "a strided layout has no order of dimensions");
  return RLO_OK;
}

rlo_status rlo_layout_from_major_to_minor(const int32_t *major_to_minor, int32_t rank,
                                          rlo_layout *out_layout) {
  RLO_REQUIRE(out_layout);
  RLO_REQUIRE_LIST(major_to_minor, rank);
  int32_t reversed[RLO_MAX_RANK];
  for (int32_t i = 0; i < rank && rank <= RLO_MAX_RANK; ++i) {
    reversed[i] = major_to_minor[rank - 1 - i];
  }
  return rlo_layout_from_minor_to_major(reversed, rank, out_layout);
}

bool rlo_layout_is_monotonic_dim0_major(const rlo_layout *layout, int32_t rank) {
  RLO_REQUIRE_OR(false, layout);
  for (int32_t i = 0; is_dense(layout) && i < rank; ++i) {
    if (layout->minor_to_major[i] != rank - 1 - i) {
      return false;
    }
  }
  return is_dense(layout);
}

bool rlo_layout_is_monotonic_dim0_minor(const rlo_layout *layout, int32_t rank) {
  RLO_REQUIRE_OR(false, layout);
  return is_dense(layout) && rlo_permutation_is_identity(layout->minor_to_major, rank);
}

int32_t rlo_layout_minor(const rlo_layout *layout, int32_t rank, int32_t k) {
  RLO_REQUIRE_OR(-1, layout);
  return is_dense(layout) && k >= 0 && k < rank ? layout->minor_to_major[k] : -1;
}

int32_t rlo_layout_major(const rlo_layout *layout, int32_t rank, int32_t k) {
  return rlo_layout_minor(layout, rank, rank - 1 - k);
}

/* The physical place of a dimension, 0 the most major one; `rank` for what is
 * no dimension. */
static int32_t place_of(const rlo_layout *layout, int32_t rank, int32_t dim) {
  int32_t place = 0;
  while (place < rank && rlo_layout_major(layout, rank, place) != dim) {
    ++place;
  }
  return place;
}

rlo_status rlo_layout_logical_to_physical(const rlo_layout *layout, int32_t rank,
                                          int32_t *out_physical) {
  RLO_REQUIRE(layout);
  RLO_REQUIRE_LIST(out_physical, rank);
  RLO_TRY(check_dense(layout));
  for (int32_t i = 0; i < rank; ++i) {
    out_physical[layout->minor_to_major[i]] = rank - 1 - i;
  }
  return RLO_OK;
}

bool rlo_layout_are_dims_consecutive(const rlo_layout *layout, int32_t rank, const int32_t *dims,
                                     int32_t count) {
  if (layout == NULL || (dims == NULL && count > 0)) {
    return false;
  }
  int32_t first = rank;
  int32_t last = -1;
  for (int32_t i = 0; i < count; ++i) {
    int32_t place = place_of(layout, rank, dims[i] < 0 ? dims[i] + rank : dims[i]);
    first = place < first ? place : first;
    last = place > last ? place : last;
  }
  return is_dense(layout) && (count == 0 || (last < rank && last - first + 1 == count));
}

/* Gives `out` the splits of a layout, at the physical places that their
 * dimensions have there. `to` has the new number of each dimension, -1 for one
 * that is no more; NULL leaves them as they are. */
static void take_splits(const rlo_layout *layout, int32_t rank, const int32_t *to, int32_t new_rank,
                        rlo_layout *out) {
  int32_t count = 0;
  rlo_split_config splits[RLO_MAX_RANK];
  memset(splits, 0, sizeof splits);
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    int32_t dim = rlo_layout_major(layout, rank, layout->split_configs[s].dimension);
    dim = to == NULL ? dim : to[dim];
    if (dim >= 0) {
      splits[count] = layout->split_configs[s];
      splits[count++].dimension = place_of(out, new_rank, dim);
    }
  }
  out->num_split_configs = count;
  memcpy(out->split_configs, splits, sizeof splits);
}

void rlo__shape_take_dims(const rlo_shape *shape, const int32_t *from, int32_t rank,
                          rlo_shape *out) {
  int32_t to[RLO_MAX_RANK];
  int32_t count = 0;
  *out = *shape;
  out->rank = rank;
  memset(to, -1, sizeof to);
  for (int32_t k = 0; k < rank; ++k) {
    bool is_new = from[k] < 0;
    int32_t j = is_new ? 0 : from[k];
    out->dims[k] = is_new ? 1 : shape->dims[j];
    out->is_dynamic[k] = !is_new && shape->is_dynamic[j];
    out->layout.padded_dimensions[k] = is_new ? 1 : shape->layout.padded_dimensions[j];
    out->layout.strides_elems[k] = is_new ? 0 : shape->layout.strides_elems[j];
    if (!is_new) {
      to[j] = k;
    }
  }
  if (shape->layout.kind == RLO_LAYOUT_STRIDED) {
    return;
  }
  for (int32_t i = 0; i < shape->rank; ++i) {
    int32_t k = to[shape->layout.minor_to_major[i]];
    if (k >= 0) {
      out->layout.minor_to_major[count++] = k;
    }
  }
  for (int32_t k = rank - 1; k >= 0; --k) {
    if (from[k] < 0) {
      out->layout.minor_to_major[count++] = k;
    }
  }
  take_splits(&shape->layout, shape->rank, to, rank, &out->layout);
}

/* Moves a dimension to index `to` of minor_to_major. */
static rlo_status move_dim(rlo_layout *layout, int32_t rank, int32_t dim, int32_t to) {
  RLO_TRY(check_dense(layout));
  RLO_TRY(rlo__dim_find(NULL, dim, rank, &dim));
  const rlo_layout before = *layout;
  int32_t from = rank - 1 - place_of(layout, rank, dim);
  RLO_TRY(rlo_permutation_move_element(layout->minor_to_major, rank, from, to));
  take_splits(&before, rank, NULL, rank, layout);
  return RLO_OK;
}

rlo_status rlo_layout_move_dim_to_major(rlo_layout *layout, int32_t rank, int32_t dim) {
  RLO_REQUIRE(layout);
  return move_dim(layout, rank, dim, rank - 1);
}

rlo_status rlo_layout_move_dim_to_minor(rlo_layout *layout, int32_t rank, int32_t dim) {
  RLO_REQUIRE(layout);
  return move_dim(layout, rank, dim, 0);
}

void rlo_layout_clear_tiles(rlo_layout *layout) {
  if (layout == NULL) {
    return;
  }
  memset(layout->tiles, 0, sizeof layout->tiles);
  layout->num_tiles = 0;
}

bool rlo_layout_has_custom_element_size(const rlo_layout *layout) {
  RLO_REQUIRE_OR(false, layout);
  return layout->element_size_bits != 0;
}

int64_t rlo_layout_padded_dimension(const rlo_layout *layout, const int64_t *dims, int32_t k) {
  RLO_REQUIRE_OR(0, layout, dims);
  return is_dense(layout) && layout->has_padded_dimensions ? layout->padded_dimensions[k] : dims[k];
}

bool rlo_layout_is_padded(const rlo_layout *layout, const int64_t *dims, int32_t rank) {
  if (layout == NULL || (dims == NULL && rank > 0)) {
    return false;
  }
  for (int32_t k = 0; k < rank; ++k) {
    if (rlo_layout_padded_dimension(layout, dims, k) > dims[k]) {
      return true;
    }
  }
  return false;
}

const rlo_split_config *rlo_layout_split_config(const rlo_layout *layout, int32_t dimension) {
  RLO_REQUIRE_OR(NULL, layout);
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    if (layout->split_configs[s].dimension == dimension) {
      return &layout->split_configs[s];
    }
  }
  return NULL;
}

int64_t rlo_layout_max_split_size(const rlo_layout *layout, const int64_t *dims, int32_t rank,
                                  int32_t k) {
  RLO_REQUIRE_OR(0, layout, dims);
  k += k < 0 ? rank : 0;
  if (k < 0 || k >= rank) {
    return 0;
  }
  const rlo_split_config *split = rlo_layout_split_config(layout, place_of(layout, rank, k));
  int64_t start = 0;
  int64_t max = 0;
  for (int32_t i = 0; split != NULL && i < split->num_indices; ++i) {
    int64_t size = split->indices[i] - start;
    max = rlo__max(max, size);
    start = split->indices[i];
  }
  int64_t last = dims[k] - start;
  return rlo__max(max, last);
}

rlo_status rlo_layout_max_elements_per_split(const rlo_layout *layout, const int64_t *dims,
                                             int32_t rank, int64_t *out_elems) {
  RLO_REQUIRE(layout, out_elems);
  RLO_REQUIRE_LIST(dims, rank);
  int64_t sizes[RLO_MAX_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    sizes[k] = dims[k] == 0 ? 0 : rlo_layout_max_split_size(layout, dims, rank, k);
  }
  RLO_FAIL_IF(!rlo__dims_product(sizes, rank, out_elems), RLO_OVERFLOW,
              "the elements of a piece do not fit 64 bits");
  return RLO_OK;
}

bool rlo_byte_strides_is_major_to_minor(const int64_t *strides_bytes, const int64_t *dims,
                                        int32_t rank, rlo_dtype dtype) {
  if (rank > 0 && (strides_bytes == NULL || dims == NULL)) {
    return false;
  }
  int64_t expected = rlo_dtype_storage_bits(dtype) / 8;
  for (int32_t k = rank - 1; k >= 0; --k) {
    if (strides_bytes[k] != expected || !rlo__mul(expected, dims[k], &expected)) {
      return false;
    }
  }
  return true;
}
