/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/xla/layout_util.h"

#include <string.h>

#include "base/hash.h"
#include "base/status.h"

static bool dims_equal(const int64_t *a, const int64_t *b, int32_t count) {
  return count <= 0 || memcmp(a, b, (size_t)count * sizeof a[0]) == 0;
}

static int64_t tail_of(const rlo_layout *layout) {
  return layout->tail_alignment_elems == 0 ? 1 : layout->tail_alignment_elems;
}

static bool tiles_equal(const rlo_layout *a, const rlo_layout *b) {
  if (a->num_tiles != b->num_tiles) {
    return false;
  }
  for (int32_t t = 0; t < a->num_tiles; ++t) {
    if (a->tiles[t].rank != b->tiles[t].rank ||
        !dims_equal(a->tiles[t].dims, b->tiles[t].dims, a->tiles[t].rank)) {
      return false;
    }
  }
  return true;
}

static bool splits_equal(const rlo_layout *a, const rlo_layout *b) {
  if (a->num_split_configs != b->num_split_configs) {
    return false;
  }
  for (int32_t s = 0; s < a->num_split_configs; ++s) {
    const rlo_split_config *x = &a->split_configs[s];
    const rlo_split_config *y = &b->split_configs[s];
    if (x->dimension != y->dimension || x->num_indices != y->num_indices ||
        !dims_equal(x->indices, y->indices, x->num_indices)) {
      return false;
    }
  }
  return true;
}

static bool padding_equal(const rlo_layout *a,
                          const rlo_layout *b,
                          int32_t rank) {
  return a->has_padded_dimensions == b->has_padded_dimensions &&
         (!a->has_padded_dimensions ||
          dims_equal(a->padded_dimensions, b->padded_dimensions, rank));
}

static bool fills_equal(const rlo_layout *a, const rlo_layout *b) {
  return a->fill == b->fill &&
         (a->fill != RLO_FILL_BITS ||
          memcmp(a->fill_bits, b->fill_bits, sizeof a->fill_bits) == 0);
}

static bool dense_equal(const rlo_layout *a,
                        const rlo_layout *b,
                        int32_t rank,
                        uint32_t ignore) {
  for (int32_t i = 0; i < rank; ++i) {
    if (a->minor_to_major[i] != b->minor_to_major[i]) {
      return false;
    }
  }
  return ((ignore & RLO_EQUAL_IGNORE_PADDING) != 0 ||
          padding_equal(a, b, rank)) &&
         ((ignore & RLO_EQUAL_IGNORE_FILL) != 0 || fills_equal(a, b)) &&
         ((ignore & RLO_EQUAL_IGNORE_TILES) != 0 || tiles_equal(a, b)) &&
         ((ignore & RLO_EQUAL_IGNORE_TAIL_PADDING) != 0 ||
          tail_of(a) == tail_of(b)) &&
         ((ignore & RLO_EQUAL_IGNORE_SPLIT_CONFIGS) != 0 || splits_equal(a, b));
}

bool rlo_layout_equal_with(const rlo_layout *a,
                           const rlo_layout *b,
                           int32_t rank,
                           uint32_t ignore) {
  RLO_REQUIRE_OR(false, a, b);
  if (a->kind != b->kind ||
      ((ignore & RLO_EQUAL_IGNORE_ELEMENT_SIZE) == 0 &&
       a->element_size_bits != b->element_size_bits) ||
      ((ignore & RLO_EQUAL_IGNORE_MEMORY_SPACE) == 0 &&
       a->memory_space != b->memory_space) ||
      ((ignore & RLO_EQUAL_IGNORE_METADATA_PREFIX) == 0 &&
       a->metadata_prefix_bytes != b->metadata_prefix_bytes) ||
      ((ignore & RLO_EQUAL_IGNORE_INDEX_DTYPE) == 0 &&
       a->index_dtype != b->index_dtype) ||
      ((ignore & RLO_EQUAL_IGNORE_POINTER_DTYPE) == 0 &&
       a->pointer_dtype != b->pointer_dtype)) {
    return false;
  }
  if (a->kind == RLO_LAYOUT_STRIDED) {
    return a->offset_elems == b->offset_elems &&
           dims_equal(a->strides_elems, b->strides_elems, rank);
  }
  return dense_equal(a, b, rank, ignore);
}

bool rlo_layout_equal(const rlo_layout *a, const rlo_layout *b, int32_t rank) {
  return rlo_layout_equal_with(a, b, rank, 0);
}

bool rlo_shape_same_dims(const rlo_shape *a, const rlo_shape *b) {
  RLO_REQUIRE_OR(false, a, b);
  return a->rank == b->rank && dims_equal(a->dims, b->dims, a->rank);
}

bool rlo_shape_same_dtype_ignoring_fp_precision(const rlo_shape *a,
                                                const rlo_shape *b) {
  RLO_REQUIRE_OR(false, a, b);
  return a->dtype == b->dtype ||
         (rlo_dtype_is_floating(a->dtype) && rlo_dtype_is_floating(b->dtype));
}

static bool dtypes_equal(const rlo_shape *a,
                         const rlo_shape *b,
                         uint32_t ignore) {
  if ((ignore & RLO_EQUAL_IGNORE_ELEMENT_TYPE) != 0) {
    return true;
  }
  return (ignore & RLO_EQUAL_IGNORE_FP_PRECISION) != 0
             ? rlo_shape_same_dtype_ignoring_fp_precision(a, b)
             : a->dtype == b->dtype;
}

static bool dynamics_equal(const rlo_shape *a, const rlo_shape *b) {
  for (int32_t k = 0; k < a->rank; ++k) {
    if (a->is_dynamic[k] != b->is_dynamic[k]) {
      return false;
    }
  }
  return true;
}

bool rlo_shape_equal_with(const rlo_shape *a,
                          const rlo_shape *b,
                          uint32_t ignore) {
  RLO_REQUIRE_OR(false, a, b);
  return a->rank == b->rank && dtypes_equal(a, b, ignore) &&
         ((ignore & RLO_EQUAL_IGNORE_DIMENSIONS) != 0 ||
          rlo_shape_same_dims(a, b)) &&
         ((ignore & RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS) != 0 ||
          dynamics_equal(a, b)) &&
         ((ignore & RLO_EQUAL_IGNORE_LAYOUT) != 0 ||
          rlo_layout_equal_with(&a->layout, &b->layout, a->rank, ignore));
}

bool rlo_shape_equal(const rlo_shape *a, const rlo_shape *b) {
  return rlo_shape_equal_with(a, b, 0);
}

bool rlo_shape_compatible(const rlo_shape *a, const rlo_shape *b) {
  return rlo_shape_equal_with(
      a, b, RLO_EQUAL_IGNORE_LAYOUT | RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS);
}

static void hash_values(rlo__hash *hash, const int64_t *values, int32_t count) {
  rlo__hash_i64(hash, count);
  for (int32_t i = 0; i < count; ++i) {
    rlo__hash_i64(hash, values[i]);
  }
}

static void hash_dense(rlo__hash *hash,
                       const rlo_layout *layout,
                       int32_t rank) {
  for (int32_t i = 0; i < rank; ++i) {
    rlo__hash_i64(hash, layout->minor_to_major[i]);
  }
  rlo__hash_i64(hash, layout->has_padded_dimensions);
  if (layout->has_padded_dimensions) {
    hash_values(hash, layout->padded_dimensions, rank);
  }
  rlo__hash_i64(hash, (int64_t)layout->fill);
  if (layout->fill == RLO_FILL_BITS) {
    rlo__hash_bytes(hash, layout->fill_bits, sizeof layout->fill_bits);
  }
  rlo__hash_i64(hash, layout->num_tiles);
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    hash_values(hash, layout->tiles[t].dims, layout->tiles[t].rank);
  }
  rlo__hash_i64(hash, tail_of(layout));
  rlo__hash_i64(hash, layout->num_split_configs);
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    rlo__hash_i64(hash, layout->split_configs[s].dimension);
    hash_values(hash,
                layout->split_configs[s].indices,
                layout->split_configs[s].num_indices);
  }
}

static void hash_layout(rlo__hash *hash,
                        const rlo_layout *layout,
                        int32_t rank) {
  rlo__hash_i64(hash, (int64_t)layout->kind);
  rlo__hash_i64(hash, layout->element_size_bits);
  rlo__hash_i64(hash, layout->memory_space);
  rlo__hash_i64(hash, layout->metadata_prefix_bytes);
  rlo__hash_i64(hash, (int64_t)layout->index_dtype);
  rlo__hash_i64(hash, (int64_t)layout->pointer_dtype);
  if (layout->kind == RLO_LAYOUT_STRIDED) {
    rlo__hash_i64(hash, layout->offset_elems);
    hash_values(hash, layout->strides_elems, rank);
  } else {
    hash_dense(hash, layout, rank);
  }
}

uint64_t rlo_layout_hash(const rlo_layout *layout, int32_t rank) {
  RLO_REQUIRE_OR(0, layout);
  rlo__hash hash = rlo__hash_init(0x6c61796f7574);
  hash_layout(&hash, layout, rank);
  return rlo__hash_finish_u64(&hash);
}

uint64_t rlo_shape_hash(const rlo_shape *shape) {
  RLO_REQUIRE_OR(0, shape);
  rlo__hash hash = rlo__hash_init(0x7368617065);
  rlo__hash_i64(&hash, (int64_t)shape->dtype);
  hash_values(&hash, shape->dims, shape->rank);
  for (int32_t k = 0; k < shape->rank; ++k) {
    rlo__hash_i64(&hash, shape->is_dynamic[k]);
  }
  hash_layout(&hash, &shape->layout, shape->rank);
  return rlo__hash_finish_u64(&hash);
}
