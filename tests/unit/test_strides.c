/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "desc/strides.h"
#include "relayout/index.h"
#include "relayout/text.h"
#include "relayout/xla/layout_util.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

#define ALL     RLO_AVAILABLE_ALL
#define UNKNOWN RLO_AVAILABLE_UNKNOWN

/* Strides, the memory there is, and the layout they are. */
static const struct {
  int32_t rank;
  int64_t dims[4], strides[4];
  int64_t available;
  const char *layout;
  int64_t lowest;
} recognised[] = {
    {0, {0}, {0}, UNKNOWN, "{}", 0},
    {1, {5}, {1}, UNKNOWN, "{0}", 0},
    {2, {2, 3}, {3, 1}, UNKNOWN, "{1,0}", 0},
    {2, {2, 3}, {1, 2}, UNKNOWN, "{0,1}", 0},
    {3, {2, 3, 4}, {4, 8, 1}, UNKNOWN, "{2,0,1}", 0},
    {3, {2, 3, 4}, {4, 8, 1}, 24, "{2,0,1}", 0},
    /* Rows with a pitch: the padding after the last row must be there. */
    {2, {2, 3}, {8, 1}, ALL, "{1,0:pad(2,8)fill(unknown)}", 0},
    {2, {2, 3}, {8, 1}, 16, "{1,0:pad(2,8)fill(unknown)}", 0},
    {2, {2, 3}, {8, 1}, 15, "{:strides(8,1)}", 0},
    {2, {2, 3}, {8, 1}, UNKNOWN, "{:strides(8,1)}", 0},
    {2, {2, 3}, {1, 3}, ALL, "{0,1:pad(3,3)fill(unknown)}", 0},
    {3, {2, 3, 4}, {40, 8, 1}, ALL, "{2,1,0:pad(2,5,8)fill(unknown)}", 0},
    /* A column cut out of a matrix; more of it than one has no place. */
    {2, {4, 1}, {7, 1}, ALL, "{1,0:pad(4,7)fill(unknown)}", 0},
    {2, {4, 1}, {7, 9}, ALL, "{1,0:pad(4,7)fill(unknown)}", 0},
    {1, {4}, {7}, ALL, "{:strides(7)}", 0},
    {2, {4, 2}, {7, 2}, ALL, "{:strides(7,2)}", 0},
    /* Sizes of 1 have no say. */
    {3, {1, 1, 1}, {7, 0, -2}, UNKNOWN, "{2,1,0}", 0},
    {3, {4, 1, 3}, {3, 1, 1}, UNKNOWN, "{2,1,0}", 0},
    {3, {4, 1, 3}, {3, -5, 1}, UNKNOWN, "{2,1,0}", 0},
    {3, {4, 1, 3}, {1, 999, 4}, UNKNOWN, "{0,1,2}", 0},
    {4, {2, 3, 1, 4}, {4, 8, 7, 1}, UNKNOWN, "{3,0,1,2}", 0},
    /* Without elements there is nothing to be strange. */
    {2, {0, 3}, {-9, 5}, UNKNOWN, "{1,0}", 0},
    {2, {3, 0}, {INT64_MIN, INT64_MAX}, 0, "{1,0}", 0},
    /* Reversal, broadcast, overlap, uneven gaps. */
    {1, {5}, {-1}, UNKNOWN, "{:strides(-1)offset(4)}", -4},
    {1, {5}, {-1}, 1, "{:strides(-1)offset(4)}", -4},
    {2, {2, 3}, {-3, 1}, ALL, "{:strides(-3,1)offset(3)}", -3},
    {2, {2, 3}, {-3, -1}, ALL, "{:strides(-3,-1)offset(5)}", -5},
    {2, {2, 3}, {0, 1}, ALL, "{:strides(0,1)}", 0},
    {2, {2, 2}, {1, 1}, ALL, "{:strides(1,1)}", 0},
    {2, {3, 3}, {2, 1}, ALL, "{:strides(2,1)}", 0},
    {3, {2, 2, 3}, {8, 3, 1}, ALL, "{:strides(8,3,1)}", 0},
};

RLO_TABLE_TEST(test_strides__recognises, recognised) {
  const int32_t rank = recognised[_i].rank;
  rlo_layout layout;
  int64_t lowest = 99;
  expect_ok(rlo_layout_from_strides(recognised[_i].dims, recognised[_i].strides, rank,
                                    recognised[_i].available, &layout, &lowest));
  char text[256];
  rlo_layout_format(&layout, rank, text, sizeof text);
  ck_assert_str_eq(text, recognised[_i].layout);
  ck_assert_int_eq(lowest, recognised[_i].lowest);
}

RLO_TEST(test_strides__null_is_row_major) {
  rlo_layout layout;
  int64_t lowest = 99;
  expect_ok(rlo_layout_from_strides((int64_t[]){2, 3, 4}, NULL, 3, UNKNOWN, &layout, &lowest));
  ck_assert(rlo_layout_is_row_major(&layout, 3));
  ck_assert_int_eq(lowest, 0);
}

static const struct {
  int32_t rank;
  int64_t dims[3], strides[3];
  int64_t available;
  rlo_status status;
} refused[] = {
    {-1, {0}, {0}, UNKNOWN, RLO_INVALID_ARGUMENT},
    {33, {0}, {0}, UNKNOWN, RLO_UNSUPPORTED},
    {1, {-1}, {1}, UNKNOWN, RLO_INVALID_ARGUMENT},
    {1, {3}, {1}, -2, RLO_INVALID_ARGUMENT},
    {1, {3}, {1}, 2, RLO_OUT_OF_RANGE},
    {2, {2, 3}, {8, 1}, 10, RLO_OUT_OF_RANGE},
    {1, {3}, {INT64_MAX}, UNKNOWN, RLO_OVERFLOW},
    {1, {3}, {INT64_MIN}, UNKNOWN, RLO_OVERFLOW},
    {1, {2}, {INT64_MIN}, UNKNOWN, RLO_OVERFLOW},
    {2, {2, 2}, {INT64_MAX, -INT64_MAX}, UNKNOWN, RLO_OVERFLOW},
    {1, {INT64_MAX}, {2}, UNKNOWN, RLO_OVERFLOW},
};

RLO_TABLE_TEST(test_strides__refuses, refused) {
  rlo_layout layout;
  memset(&layout, 0x5a, sizeof layout);
  const rlo_layout before = layout;
  int64_t lowest = 99;
  ck_assert_int_eq(rlo_layout_from_strides(refused[_i].dims, refused[_i].strides, refused[_i].rank,
                                           refused[_i].available, &layout, &lowest),
                   refused[_i].status);
  ck_assert_int_eq(lowest, 99);
  ck_assert_mem_eq(&layout, &before, sizeof layout);
}

RLO_TEST(test_strides__refuses_null_dims_and_too_many_elements) {
  rlo_layout layout;
  int64_t lowest;
  ck_assert_int_eq(rlo_layout_from_strides(NULL, NULL, 1, UNKNOWN, &layout, &lowest),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_from_strides((int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32, 16},
                                           NULL, 3, UNKNOWN, &layout, &lowest),
                   RLO_OVERFLOW);
}

/* Shapes and the strides of their memory. */
static const struct {
  const char *shape;
  int64_t strides[4];
  int64_t offset;
} given[] = {
    {"f32[]", {0}, 0},
    {"f32[2,3]", {3, 1}, 0},
    {"f32[2,3]{0,1}", {1, 2}, 0},
    {"f32[2,3]{0,1:pad(3,5)fill(zero)}", {1, 3}, 0},
    {"f32[2,3]{:strides(-8,2)offset(9)}", {-8, 2}, 9},
    {"f32[0,3]", {0, 0}, 0},
    {"f32[3,0,2]{0,1,2}", {0, 0, 0}, 0},
    {"f32[3,0]{:strides(5,7)offset(2)}", {0, 0}, 0},
    /* Tiles that only pad, or do nothing. */
    {"f32[3,5]{1,0:T(8)}", {8, 1}, 0},
    {"f32[3,5]{1,0:T(4,8)}", {8, 1}, 0},
    {"f32[3,8]{1,0:T(1,8)}", {8, 1}, 0},
    {"f32[24,128]{1,0:T(8,128)}", {128, 1}, 0},
    {"f32[3,5]{1,0:T(1,1)}", {5, 1}, 0},
    {"f32[3,5]{1,0:T(*,5)}", {5, 1}, 0},
    {"f32[2,3]{1,0:T(4)(2,1)}", {8, 2}, 0},
    {"f32[2,3,4]{2,1,0:T(*,5,4)}", {12, 4, 1}, 0},
    {"f32[]{:T(128)}", {0}, 0},
};

RLO_TABLE_TEST(test_strides__gives_strides_of, given) {
  rlo_shape shape = test_shape_of(given[_i].shape);
  int64_t strides[RLO_MAX_RANK] = {0};
  int64_t offset = 99;
  expect_ok(rlo_shape_to_strides(&shape, strides, &offset));
  ck_assert_int_eq(offset, given[_i].offset);
  for (int32_t k = 0; k < shape.rank; ++k) {
    ck_assert_int_eq(strides[k], given[_i].strides[k]);
  }
}

RLO_LOOP_TEST(test_strides__tiles_that_part_a_dimension_have_none, 0, 4) {
  static const char *const texts[] = {"f32[3,5]{1,0:T(2,2)}", "f32[24,256]{1,0:T(8,128)}",
                                      "f32[2,8]{1,0:T(4)(2,1)}", "f32[2,3,4]{2,1,0:T(*,2,2)}"};
  rlo_shape shape = test_shape_of(texts[_i]);
  int64_t strides[RLO_MAX_RANK];
  int64_t offset = 99;
  ck_assert_int_eq(rlo_shape_to_strides(&shape, strides, &offset), RLO_UNSUPPORTED);
  ck_assert_int_eq(offset, 99);
}

/* Whatever has strides is where they say, and is recognised by them. */
RLO_TEST(test_strides__agree_with_the_index_map) {
  test_random random = test_random_begin("strides");
  int32_t linear_count = 0;
  for (int32_t round = 0; round < 3000; ++round) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    int64_t dims[4];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 5);
    }
    rlo_shape shape =
        test_random_shape(&random, RLO_DTYPE_F32, dims, rank, TEST_ALL | TEST_BROADCAST);
    int64_t strides[RLO_MAX_RANK];
    int64_t offset;
    rlo_status status = rlo_shape_to_strides(&shape, strides, &offset);
    if (status != RLO_OK) {
      ck_assert_int_eq(status, RLO_UNSUPPORTED);
      ck_assert_int_gt(shape.layout.num_tiles, 0);
      continue;
    }
    ++linear_count;
    rlo_shape again = shape;
    int64_t lowest;
    int64_t available = test_random_once_in(&random, 2) ? ALL : UNKNOWN;
    expect_ok(rlo_layout_from_strides(dims, strides, rank, available, &again.layout, &lowest));
    expect_ok(rlo_shape_validate(&again));
    int64_t index[RLO_MAX_RANK] = {0};
    do {
      int64_t expected = 0;
      for (int32_t k = 0; k < rank; ++k) {
        expected += index[k] * strides[k];
      }
      int64_t slot;
      expect_ok(rlo_index_to_linear(&shape, index, &slot));
      ck_assert_int_eq(slot, offset + expected);
      expect_ok(rlo_index_to_linear(&again, index, &slot));
      ck_assert_int_eq(slot + lowest, expected);
    } while (rlo_index_bump(&shape, index));
  }
  ck_assert_int_gt(linear_count, 1000);
}

static const struct {
  int32_t count;
  rlo__stride list[3];
  bool are_distinct;
} stride_lists[] = {
    {0, {{0, 0, 0}}, true},
    {1, {{5, 1, 0}}, true},
    {1, {{2, -7, 0}}, true},
    {1, {{2, 0, 0}}, false},
    {3, {{2, 1, 0}, {3, -2, 1}, {4, 6, 2}}, true},
    {3, {{2, 1, 0}, {3, -2, 1}, {4, 5, 2}}, false},
    {2, {{2, 3, 0}, {2, -3, 1}}, false},
    {2, {{INT64_MAX, 2, 0}, {2, 1, 1}}, false},
    {1, {{2, INT64_MIN, 0}}, false},
};

RLO_LOOP_TEST(test_strides__are_distinct, 0, (int)(sizeof stride_lists / sizeof stride_lists[0])) {
  rlo__stride list[3];
  int32_t count = stride_lists[_i].count;
  memcpy(list, stride_lists[_i].list, sizeof list);
  ck_assert(rlo__strides_are_distinct(list, count) == stride_lists[_i].are_distinct);
  for (int32_t i = 1; i < count; ++i) {
    ck_assert_int_ge(llabs(list[i - 1].stride), llabs(list[i].stride));
  }
}
