/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_shape.h"

#include <check.h>
#include <string.h>

#include "relayout/xla/layout_util.h"
#include "support/expect.h"

void test_random_permutation(test_random *random, int32_t size, int32_t *out_permutation) {
  for (int32_t i = 0; i < size; ++i) {
    int32_t j = (int32_t)test_random_in(random, 0, i);
    out_permutation[i] = out_permutation[j];
    out_permutation[j] = i;
  }
}

static void draw_fill(test_random *random, rlo_dtype dtype, rlo_layout *layout) {
  static const rlo_fill fills[] = {RLO_FILL_INVALID, RLO_FILL_ZERO,    RLO_FILL_ONE,
                                   RLO_FILL_UNKNOWN, RLO_FILL_HIGHEST, RLO_FILL_BITS};
  layout->fill = fills[test_random_in(random, 0, 5)];
  if (layout->fill == RLO_FILL_HIGHEST && rlo_dtype_class_of(dtype) == RLO_DTYPE_CLASS_COMPLEX) {
    layout->fill = RLO_FILL_ONE;
  }
  if (layout->fill == RLO_FILL_BITS) {
    for (int32_t b = 0; b < rlo_dtype_value_bits(dtype) / 8; ++b) {
      layout->fill_bits[b] = (uint8_t)test_random_in(random, 0x40, 0xff);
    }
  }
}

static void draw_tile(test_random *random, int32_t rank, uint32_t features, rlo_layout *layout) {
  int64_t dims[RLO_MAX_TILE_RANK];
  int32_t tile_rank = (int32_t)test_random_in(random, 1, rank < 2 ? 2 : rank);
  for (int32_t k = 0; k < tile_rank; ++k) {
    dims[k] = test_random_in(random, 1, 5);
    if ((features & TEST_COMBINE) != 0 && k + 1 < tile_rank && test_random_once_in(random, 5)) {
      dims[k] = RLO_TILE_COMBINE;
    }
  }
  expect_ok(rlo_layout_add_tile(layout, dims, tile_rank));
}

/* A stride for each dimension, in a random order of significance, with gaps
 * between and a random direction. */
static rlo_layout draw_strided(test_random *random, const int64_t *dims, int32_t rank,
                               uint32_t features) {
  rlo_layout layout;
  memset(&layout, 0, sizeof layout);
  layout.kind = RLO_LAYOUT_STRIDED;
  int32_t order[RLO_MAX_RANK];
  test_random_permutation(random, rank, order);
  int64_t stride = test_random_in(random, 1, 2);
  layout.offset_elems = test_random_in(random, 0, 7);
  for (int32_t n = 0; n < rank; ++n) {
    int32_t k = order[n];
    layout.strides_elems[k] = stride;
    if ((features & TEST_BROADCAST) != 0 && test_random_once_in(random, 6)) {
      layout.strides_elems[k] = 0;
      continue;
    }
    int64_t extent = dims[k] == 0 ? 1 : dims[k];
    if (test_random_once_in(random, 3)) {
      layout.strides_elems[k] = -stride;
      layout.offset_elems += stride * (extent - 1);
    }
    stride = stride * extent + test_random_in(random, 0, 2);
  }
  return layout;
}

rlo_shape test_random_shape(test_random *random, rlo_dtype dtype, const int64_t *dims, int32_t rank,
                            uint32_t features) {
  rlo_layout layout;
  if ((features & TEST_STRIDED) != 0 && test_random_once_in(random, 6)) {
    layout = draw_strided(random, dims, rank, features);
  } else {
    int32_t order[RLO_MAX_RANK];
    test_random_permutation(random, rank, order);
    expect_ok(rlo_layout_from_minor_to_major(order, rank, &layout));
    if ((features & TEST_PAD) != 0 && test_random_once_in(random, 3)) {
      layout.has_padded_dimensions = true;
      for (int32_t k = 0; k < rank; ++k) {
        layout.padded_dimensions[k] = dims[k] + test_random_in(random, 0, 3);
      }
    }
    int64_t tiles = (features & TEST_TILE) != 0 ? test_random_in(random, 0, 2) : 0;
    for (int64_t t = 0; t < tiles; ++t) {
      draw_tile(random, rank, features, &layout);
    }
    if ((features & TEST_TAIL) != 0 && test_random_once_in(random, 5)) {
      layout.tail_alignment_elems = test_random_in(random, 1, 40);
    }
    draw_fill(random, dtype, &layout);
  }
  rlo_shape shape;
  ck_assert_msg(rlo_shape_make_with_layout(dtype, dims, rank, &layout, &shape) == RLO_OK,
                "random layout: %s", rlo_error_last()->message);
  return shape;
}

void test_random_pair(test_random *random, rlo_dtype dtype, int32_t rank, int64_t max_elements,
                      rlo_shape *out_src, rlo_shape *out_dst, int32_t *out_permutation) {
  int64_t src_dims[RLO_MAX_RANK];
  int64_t dst_dims[RLO_MAX_RANK];
  int64_t room = max_elements;
  for (int32_t k = 0; k < rank; ++k) {
    int64_t most = room < 12 ? room : 12;
    src_dims[k] = test_random_in(random, 1, most < 1 ? 1 : most);
    room /= src_dims[k];
  }
  if (rank > 0 && test_random_once_in(random, 40)) {
    src_dims[test_random_in(random, 0, rank - 1)] = 0;
  }
  test_random_permutation(random, rank, out_permutation);
  rlo_permutation_apply(out_permutation, rank, src_dims, dst_dims);
  *out_src = test_random_shape(random, dtype, src_dims, rank, TEST_ALL | TEST_BROADCAST);
  *out_dst = test_random_shape(random, dtype, dst_dims, rank, TEST_ALL);
}
