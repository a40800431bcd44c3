/* SPDX-License-Identifier: Apache-2.0 */

/* bitcast.h against counting: every element and every slot of small random
 * shapes, through the index functions. */

#include <string.h>

#include "relayout/index.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Number of an index in logical row-major order, and back. */
static void index_of(const rlo_shape *shape, int64_t number, int64_t *out) {
  for (int32_t k = shape->rank - 1; k >= 0; --k) {
    out[k] = number % shape->dims[k];
    number /= shape->dims[k];
  }
}

/* The rule of the header, element by element and slot by slot. */
static bool counted(const rlo_shape *src, const rlo_shape *dst, const int32_t *permutation,
                    bool with_padding) {
  rlo_shape_extent src_extent;
  rlo_shape_extent dst_extent;
  ck_assert_int_eq(rlo_shape_measure(src, &src_extent), RLO_OK);
  ck_assert_int_eq(rlo_shape_measure(dst, &dst_extent), RLO_OK);
  if (src_extent.elements != dst_extent.elements) {
    return false;
  }
  for (int64_t n = 0; n < dst_extent.elements; ++n) {
    int64_t dst_index[RLO_MAX_RANK];
    int64_t src_index[RLO_MAX_RANK];
    index_of(dst, n, dst_index);
    index_of(src, n, src_index);
    for (int32_t k = 0; permutation != NULL && k < dst->rank; ++k) {
      src_index[permutation[k]] = dst_index[k];
    }
    if (test_slot_of(src, src_index) != test_slot_of(dst, dst_index)) {
      return false;
    }
  }
  if (!with_padding) {
    return true;
  }
  if (dst_extent.slots > src_extent.slots) {
    return false;
  }
  uint8_t wanted[16];
  uint8_t found[16];
  bool is_wanted;
  bool is_known;
  ck_assert_int_eq(rlo_shape_fill_bits(dst, wanted, &is_wanted), RLO_OK);
  ck_assert_int_eq(rlo_shape_fill_bits(src, found, &is_known), RLO_OK);
  if (dst->layout.kind == RLO_LAYOUT_STRIDED || !is_wanted) {
    return true;
  }
  for (int64_t slot = 0; slot < dst_extent.slots; ++slot) {
    int64_t index[RLO_MAX_RANK];
    bool is_element;
    ck_assert_int_eq(rlo_index_from_linear(dst, slot, index, &is_element), RLO_OK);
    if (!is_element && (src->layout.kind == RLO_LAYOUT_STRIDED || !is_known ||
                        memcmp(wanted, found, sizeof wanted) != 0)) {
      return false;
    }
  }
  return true;
}

/* A change of the layout that often, but not always, changes nothing. */
static void disturb(test_random *random, rlo_shape *shape) {
  rlo_shape other = *shape;
  rlo_layout *layout = &other.layout;
  int32_t tile =
      (int32_t)test_random_in(random, 0, layout->num_tiles > 0 ? layout->num_tiles - 1 : 0);
  switch (test_random_in(random, 0, 7)) {
    case 0:
      layout->num_tiles -= layout->num_tiles > 0;
      break;
    case 1:
      layout->tiles[tile].dims[0] = test_random_in(random, 1, 6);
      break;
    case 2:
      layout->has_padded_dimensions = false;
      break;
    case 3:
      layout->fill = RLO_FILL_INVALID;
      break;
    case 4:
      layout->tail_alignment_elems = test_random_in(random, 1, 8);
      break;
    case 5: {
      int64_t dims[2] = {test_random_in(random, 1, 8), test_random_in(random, 1, 8)};
      if (layout->num_tiles < RLO_MAX_TILES) {
        ck_assert_int_eq(rlo_layout_add_tile(layout, dims, (int32_t)test_random_in(random, 1, 2)),
                         RLO_OK);
      }
      break;
    }
    case 6:
      if (shape->rank >= 2) {
        int32_t swapped = layout->minor_to_major[0];
        layout->minor_to_major[0] = layout->minor_to_major[1];
        layout->minor_to_major[1] = swapped;
      }
      break;
    default:
      return;
  }
  if (rlo_shape_validate(&other) == RLO_OK) {
    *shape = other;
  }
}

static void expect_counted(const rlo_shape *src, const rlo_shape *dst, const int32_t *permutation,
                           int *found) {
  static const uint32_t flags[] = {RLO_BITCAST_IGNORE_PADDING, 0};
  for (int f = 0; f < 2; ++f) {
    bool answer = false;
    rlo_status status =
        permutation != NULL
            ? rlo_shape_transpose_is_bitcast(src, dst, permutation, flags[f], &answer)
            : rlo_shape_reshape_is_bitcast(src, dst, flags[f], &answer);
    bool expected = counted(src, dst, permutation, f == 1);
    ck_assert_msg(status == RLO_OK && answer == expected,
                  "%s of %s to %s, flags %u: %s, expected %d",
                  permutation != NULL ? "transpose" : "reshape", test_text_of(src),
                  test_text_of(dst), (unsigned)flags[f],
                  status == RLO_OK ? (answer ? "yes" : "no") : rlo_error_last()->message, expected);
    *found += answer;
  }
}

static void draw_dims(test_random *random, int32_t rank, int64_t *dims) {
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = test_random_once_in(random, 4) ? 1 : test_random_in(random, 1, 7);
  }
}

RLO_TEST(test_bitcast_counted__agrees_with_counting) {
  enum { RUNS = 1500 };

  test_random random = test_random_begin("bitcast_counted");
  int found = 0;
  for (int run = 0; run < RUNS; ++run) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    int64_t dims[RLO_MAX_RANK];
    int32_t permutation[RLO_MAX_RANK] = {0};
    draw_dims(&random, rank, dims);
    rlo_shape src =
        test_random_shape(&random, RLO_DTYPE_F32, dims, rank, TEST_ALL | TEST_BROADCAST);
    rlo_shape dst;
    test_random_permutation(&random, rank, permutation);
    ck_assert_int_eq(rlo_shape_permute_dims(&src, permutation, &dst), RLO_OK);
    disturb(&random, &dst);
    expect_counted(&src, &dst, permutation, &found);
    test_random_permutation(&random, rank, permutation);
    ck_assert_int_eq(rlo_shape_permute_dims(&dst, permutation, &dst), RLO_OK);
    expect_counted(&src, &dst, NULL, &found);
    if (rlo_shape_drop_degenerate_dims(&src, &dst) == RLO_OK) {
      disturb(&random, &dst);
      expect_counted(&src, &dst, NULL, &found);
    }
  }
  /* Both answers have to occur, often. */
  ck_assert_int_gt(found, RUNS);
  ck_assert_int_lt(found, 5 * RUNS);
}

/* Reshapes to other sizes, in the layout that aligns or a random one. */
RLO_TEST(test_bitcast_counted__agrees_with_counting_reshapes) {
  enum { RUNS = 1500 };

  static const int64_t shapes[][4] = {{24, 1, 1, 1}, {2, 12, 1, 1}, {4, 6, 1, 1}, {6, 4, 1, 1},
                                      {8, 3, 1, 1},  {2, 3, 4, 1},  {4, 3, 2, 1}, {2, 2, 2, 3},
                                      {3, 2, 2, 2},  {1, 24, 1, 1}};
  test_random random = test_random_begin("bitcast_counted");
  int found = 0;
  int aligned = 0;
  for (int run = 0; run < RUNS; ++run) {
    const int64_t *src_dims = shapes[test_random_in(&random, 0, 9)];
    const int64_t *dst_dims = shapes[test_random_in(&random, 0, 9)];
    rlo_shape src =
        test_random_shape(&random, RLO_DTYPE_F32, src_dims, 4, TEST_ALL | TEST_BROADCAST);
    rlo_shape dst;
    bool is_found;
    ck_assert_int_eq(rlo_shape_align_layout(&src, dst_dims, 4, &is_found, &dst), RLO_OK);
    aligned += is_found;
    if (!is_found) {
      dst = test_random_shape(&random, RLO_DTYPE_F32, dst_dims, 4, TEST_ALL);
    }
    expect_counted(&src, &dst, NULL, &found);
    disturb(&random, &dst);
    expect_counted(&src, &dst, NULL, &found);
  }
  ck_assert_int_gt(aligned, RUNS / 20);
  ck_assert_int_gt(found, RUNS / 10);
}

/* Strides say what the index says, and are found whenever there are some. */
RLO_TEST(test_bitcast_counted__strides_agree_with_the_index) {
  enum { RUNS = 1500 };

  test_random random = test_random_begin("bitcast_counted");
  int found = 0;
  for (int run = 0; run < RUNS; ++run) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 3);
    int64_t dims[RLO_MAX_RANK];
    draw_dims(&random, rank, dims);
    rlo_shape shape =
        test_random_shape(&random, RLO_DTYPE_F32, dims, rank, TEST_ALL | TEST_BROADCAST);
    rlo_shape_extent extent;
    ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
    int64_t elems[RLO_MAX_RANK];
    int64_t offset;
    bool is_strided;
    ck_assert_int_eq(rlo_shape_strides(&shape, &is_strided, elems, &offset), RLO_OK);
    int64_t index[RLO_MAX_RANK] = {0};
    int64_t expected[RLO_MAX_RANK];
    int64_t origin = test_slot_of(&shape, index);
    for (int32_t k = 0; k < rank; ++k) {
      index[k] = dims[k] > 1;
      expected[k] = test_slot_of(&shape, index) - origin;
      index[k] = 0;
    }
    bool is_linear = true;
    for (int64_t n = 0; n < extent.elements; ++n) {
      index_of(&shape, n, index);
      int64_t slot = origin;
      for (int32_t k = 0; k < rank; ++k) {
        slot += index[k] * expected[k];
      }
      is_linear = is_linear && slot == test_slot_of(&shape, index);
    }
    ck_assert_msg(is_strided == is_linear, "%s", test_text_of(&shape));
    if (is_strided) {
      ++found;
      ck_assert_int_eq(offset, origin);
      for (int32_t k = 0; k < rank; ++k) {
        ck_assert(dims[k] == 1 || elems[k] == expected[k]);
      }
    }
  }
  ck_assert_int_gt(found, RUNS / 4);
  ck_assert_int_lt(found, RUNS);
}
