/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_descriptor.h"

#include <check.h>
#include <string.h>

#include "support/expect.h"
#include "support/random_shape.h"

/* Cut points for some of the dimensions that have room for them. */
static void add_splits(test_random *random, const int64_t *dims, int32_t rank, rlo_layout *layout) {
  for (int32_t physical = 0; physical < rank; ++physical) {
    int64_t size = dims[layout->minor_to_major[rank - 1 - physical]];
    int64_t indices[RLO_MAX_SPLIT_INDICES];
    int32_t count = 0;
    int64_t next = 0;
    while (count < RLO_MAX_SPLIT_INDICES && test_random_once_in(random, 2)) {
      next += test_random_in(random, 1, 5);
      if (next >= size) {
        break;
      }
      indices[count++] = next;
    }
    if (count > 0) {
      expect_ok(rlo_layout_add_split(layout, physical, indices, count));
    }
  }
}

/* Some dimensions become dynamic, and some of these lose their bound. */
static void add_dynamic_dims(test_random *random, rlo_shape *shape) {
  for (int32_t k = 0; k < shape->rank; ++k) {
    shape->is_dynamic[k] = test_random_once_in(random, 2);
    if (shape->is_dynamic[k] && test_random_once_in(random, 3) &&
        !shape->layout.has_padded_dimensions && shape->layout.num_split_configs == 0) {
      shape->dims[k] = RLO_DIM_UNBOUNDED;
    }
  }
  expect_ok(rlo_shape_validate_unbounded(shape));
}

rlo_shape test_random_descriptor(test_random *random) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_PRED, RLO_DTYPE_S4,      RLO_DTYPE_U8,
                                     RLO_DTYPE_BF16, RLO_DTYPE_F32,     RLO_DTYPE_C64,
                                     RLO_DTYPE_C128, RLO_DTYPE_F6E2M3FN};
  rlo_dtype dtype = dtypes[test_random_in(random, 0, 7)];
  int32_t rank = (int32_t)test_random_in(random, 0, 5);
  int64_t dims[5];
  rlo_layout layout = rlo_layout_row_major(rank);

  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = test_random_in(random, 0, 20);
  }
  if (test_random_once_in(random, 3)) {
    layout.element_size_bits = test_random_in(random, rlo_dtype_value_bits(dtype), 128);
  }
  if (test_random_once_in(random, 3)) {
    layout.memory_space = test_random_in(random, -3, 9);
  }
  if (test_random_once_in(random, 4)) {
    memset(layout.minor_to_major, 0, sizeof layout.minor_to_major);
    layout.kind = RLO_LAYOUT_STRIDED;
    layout.offset_elems = test_random_in(random, 5 * 20 * 50, 5 * 20 * 99);
    for (int32_t k = 0; k < rank; ++k) {
      layout.strides_elems[k] = test_random_in(random, -50, 50);
    }
  } else {
    test_random_permutation(random, rank, layout.minor_to_major);
    if (test_random_once_in(random, 2)) {
      layout.has_padded_dimensions = true;
      for (int32_t k = 0; k < rank; ++k) {
        layout.padded_dimensions[k] = dims[k] + test_random_in(random, 0, 3) * 5;
      }
    }
    for (int64_t t = test_random_in(random, -2, 3); t > 0; --t) {
      int32_t tile_rank = (int32_t)test_random_in(random, 1, 4);
      int64_t tile[4];
      for (int32_t k = 0; k < tile_rank; ++k) {
        tile[k] = test_random_in(random, 1, 9);
        if (k < tile_rank - 1 && test_random_once_in(random, 4)) {
          tile[k] = RLO_TILE_COMBINE;
        }
      }
      expect_ok(rlo_layout_add_tile(&layout, tile, tile_rank));
    }
    if (test_random_once_in(random, 3)) {
      layout.tail_alignment_elems = test_random_in(random, 2, 2000);
    }
    layout.fill = (rlo_fill)test_random_in(random, 0, 6);
    if (rlo_dtype_class_of(dtype) == RLO_DTYPE_CLASS_COMPLEX &&
        (layout.fill == RLO_FILL_LOWEST || layout.fill == RLO_FILL_HIGHEST)) {
      layout.fill = RLO_FILL_ONE;
    }
    if (layout.fill == RLO_FILL_BITS) {
      layout.fill_bits[0] = (uint8_t)test_random_in(random, 0, 1);
      for (int i = 0; i < rlo_dtype_value_bits(dtype) / 8; ++i) {
        layout.fill_bits[i] = (uint8_t)test_random_in(random, 0, 255);
      }
    }
  }

  if (test_random_once_in(random, 4)) {
    layout.metadata_prefix_bytes = test_random_in(random, 1, 99);
  }
  if (layout.kind == RLO_LAYOUT_DENSE && test_random_once_in(random, 3)) {
    add_splits(random, dims, rank, &layout);
  }

  rlo_shape shape;
  expect_ok(rlo_shape_make_with_layout(dtype, dims, rank, &layout, &shape));
  if (test_random_once_in(random, 3)) {
    add_dynamic_dims(random, &shape);
  }
  return shape;
}
