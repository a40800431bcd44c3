/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_shape.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/permutation.h"

rlo_test_random rlo_test_random_begin(const char *suite, uint64_t seed) {
  const char *text = getenv("RELAYOUT_TEST_SEED");
  if (text != NULL) {
    seed = strtoull(text, NULL, 0);
  }
  printf("%s: RELAYOUT_TEST_SEED=%" PRIu64 "\n", suite, seed);
  fflush(stdout);
  return (rlo_test_random){seed};
}

/* The splitmix64 step (Steele, Lea, Flood 2014). */
uint64_t rlo_test_random_next(rlo_test_random *random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int64_t rlo_test_random_between(rlo_test_random *random,
                                int64_t low,
                                int64_t high) {
  uint64_t span = (uint64_t)(high - low) + 1;
  return low + (int64_t)(rlo_test_random_next(random) % span);
}

bool rlo_test_random_one_in(rlo_test_random *random, int64_t n) {
  return rlo_test_random_between(random, 1, n) == 1;
}

void rlo_test_random_permutation(rlo_test_random *random,
                                 int32_t size,
                                 int32_t *out_permutation) {
  for (int32_t i = 0; i < size; ++i) {
    int32_t j = (int32_t)rlo_test_random_between(random, 0, i);
    out_permutation[i] = out_permutation[j];
    out_permutation[j] = i;
  }
}

static void draw_fill(rlo_test_random *random,
                      rlo_dtype dtype,
                      rlo_layout *layout) {
  static const rlo_fill fills[] = {RLO_FILL_INVALID,
                                   RLO_FILL_ZERO,
                                   RLO_FILL_ONE,
                                   RLO_FILL_UNKNOWN,
                                   RLO_FILL_HIGHEST,
                                   RLO_FILL_BITS};
  layout->fill = fills[rlo_test_random_between(random, 0, 5)];
  if (layout->fill == RLO_FILL_HIGHEST &&
      rlo_dtype_class_of(dtype) == RLO_DTYPE_CLASS_COMPLEX) {
    layout->fill = RLO_FILL_ONE;
  }
  if (layout->fill == RLO_FILL_BITS) {
    for (int32_t b = 0; b < rlo_dtype_value_bits(dtype) / 8; ++b) {
      layout->fill_bits[b] =
          (uint8_t)rlo_test_random_between(random, 0x40, 0xff);
    }
  }
}

static void draw_tile(rlo_test_random *random,
                      int32_t rank,
                      uint32_t features,
                      rlo_layout *layout) {
  int64_t dims[RLO_MAX_TILE_RANK];
  int32_t tile_rank =
      (int32_t)rlo_test_random_between(random, 1, rank < 2 ? 2 : rank);
  for (int32_t k = 0; k < tile_rank; ++k) {
    dims[k] = rlo_test_random_between(random, 1, 5);
    if ((features & RLO_TEST_COMBINE) != 0 && k + 1 < tile_rank &&
        rlo_test_random_one_in(random, 5)) {
      dims[k] = RLO_TILE_COMBINE;
    }
  }
  ck_assert_int_eq(rlo_layout_add_tile(layout, dims, tile_rank), RLO_OK);
}

/* A stride for each dimension, in a random order of significance, with gaps
 * between and a random direction. */
static rlo_layout draw_strided(rlo_test_random *random,
                               const int64_t *dims,
                               int32_t rank,
                               uint32_t features) {
  rlo_layout layout;
  memset(&layout, 0, sizeof layout);
  layout.kind = RLO_LAYOUT_STRIDED;
  int32_t order[RLO_MAX_RANK];
  rlo_test_random_permutation(random, rank, order);
  int64_t stride = rlo_test_random_between(random, 1, 2);
  layout.offset_elems = rlo_test_random_between(random, 0, 7);
  for (int32_t n = 0; n < rank; ++n) {
    int32_t k = order[n];
    layout.strides_elems[k] = stride;
    if ((features & RLO_TEST_BROADCAST) != 0 &&
        rlo_test_random_one_in(random, 6)) {
      layout.strides_elems[k] = 0;
      continue;
    }
    int64_t extent = dims[k] == 0 ? 1 : dims[k];
    if (rlo_test_random_one_in(random, 3)) {
      layout.strides_elems[k] = -stride;
      layout.offset_elems += stride * (extent - 1);
    }
    stride = stride * extent + rlo_test_random_between(random, 0, 2);
  }
  return layout;
}

rlo_shape rlo_test_random_shape(rlo_test_random *random,
                                rlo_dtype dtype,
                                const int64_t *dims,
                                int32_t rank,
                                uint32_t features) {
  rlo_layout layout;
  if ((features & RLO_TEST_STRIDED) != 0 && rlo_test_random_one_in(random, 6)) {
    layout = draw_strided(random, dims, rank, features);
  } else {
    int32_t order[RLO_MAX_RANK];
    rlo_test_random_permutation(random, rank, order);
    ck_assert_int_eq(rlo_layout_from_minor_to_major(order, rank, &layout),
                     RLO_OK);
    if ((features & RLO_TEST_PAD) != 0 && rlo_test_random_one_in(random, 3)) {
      layout.has_padded_dimensions = true;
      for (int32_t k = 0; k < rank; ++k) {
        layout.padded_dimensions[k] =
            dims[k] + rlo_test_random_between(random, 0, 3);
      }
    }
    int64_t tiles = (features & RLO_TEST_TILE) != 0
                        ? rlo_test_random_between(random, 0, 2)
                        : 0;
    for (int64_t t = 0; t < tiles; ++t) {
      draw_tile(random, rank, features, &layout);
    }
    if ((features & RLO_TEST_TAIL) != 0 && rlo_test_random_one_in(random, 5)) {
      layout.tail_alignment_elems = rlo_test_random_between(random, 1, 40);
    }
    draw_fill(random, dtype, &layout);
  }
  rlo_shape shape;
  ck_assert_msg(
      rlo_shape_make_with_layout(dtype, dims, rank, &layout, &shape) == RLO_OK,
      "random layout: %s",
      rlo_error_last()->message);
  return shape;
}

void rlo_test_random_pair(rlo_test_random *random,
                          rlo_dtype dtype,
                          int32_t rank,
                          int64_t max_elements,
                          rlo_shape *out_src,
                          rlo_shape *out_dst,
                          int32_t *out_permutation) {
  int64_t src_dims[RLO_MAX_RANK];
  int64_t dst_dims[RLO_MAX_RANK];
  int64_t room = max_elements;
  for (int32_t k = 0; k < rank; ++k) {
    int64_t most = room < 12 ? room : 12;
    src_dims[k] = rlo_test_random_between(random, 1, most < 1 ? 1 : most);
    room /= src_dims[k];
  }
  if (rank > 0 && rlo_test_random_one_in(random, 40)) {
    src_dims[rlo_test_random_between(random, 0, rank - 1)] = 0;
  }
  rlo_test_random_permutation(random, rank, out_permutation);
  rlo_permutation_apply(out_permutation, rank, src_dims, dst_dims);
  *out_src = rlo_test_random_shape(
      random, dtype, src_dims, rank, RLO_TEST_ALL | RLO_TEST_BROADCAST);
  *out_dst = rlo_test_random_shape(random, dtype, dst_dims, rank, RLO_TEST_ALL);
}
