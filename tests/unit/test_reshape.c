/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/text.h"
#include "relayout/xla/shape_util.h"
#include "support/suite.h"

typedef struct sizes {
  int32_t rank;
  int64_t dims[8];
} sizes;

static const struct {
  sizes from, to;
  int32_t count;
  rlo_common_factor bounds[8];
} factors[] = {
    /* XLA's tests. */
    {{2, {2, 6}}, {2, {4, 3}}, 2, {{0, 0}, {2, 2}}},
    {{3, {1, 2, 6}}, {4, {4, 1, 3, 1}}, 4, {{0, 0}, {1, 0}, {3, 3}, {3, 4}}},
    {{4, {2, 5, 1, 3}}, {4, {1, 10, 3, 1}}, 6, {{0, 0}, {0, 1}, {2, 2}, {3, 2}, {4, 3}, {4, 4}}},
    {{2, {0, 10}}, {3, {0, 10, 3}}, 2, {{0, 0}, {2, 3}}},
    {{0, {0}}, {0, {0}}, 1, {{0, 0}}},
    {{0, {0}}, {2, {1, 1}}, 3, {{0, 0}, {0, 1}, {0, 2}}},
    {{2, {3, 4}}, {2, {3, 4}}, 3, {{0, 0}, {1, 1}, {2, 2}}},
    {{2, {0, 4}}, {2, {0, 4}}, 3, {{0, 0}, {1, 1}, {2, 2}}},
};

RLO_TABLE_TEST(test_reshape__finds_common_factors, factors) {
  rlo_common_factor bounds[RLO_MAX_COMMON_FACTORS];
  int32_t count;
  ck_assert_int_eq(rlo_common_factors(factors[_i].from.dims, factors[_i].from.rank,
                                      factors[_i].to.dims, factors[_i].to.rank, bounds, &count),
                   RLO_OK);
  ck_assert_int_eq(count, factors[_i].count);
  for (int32_t b = 0; b < count; ++b) {
    ck_assert_int_eq(bounds[b].from, factors[_i].bounds[b].from);
    ck_assert_int_eq(bounds[b].to, factors[_i].bounds[b].to);
  }
}

RLO_TEST(test_reshape__refuses_what_is_no_reshape) {
  rlo_common_factor bounds[RLO_MAX_COMMON_FACTORS];
  int32_t count;
  static const int64_t dims[] = {2, 3};
  static const int64_t other[] = {7};
  static const int64_t negative[] = {-2, -3};
  static const int64_t huge[] = {INT64_MAX, 2};
  ck_assert_int_eq(rlo_common_factors(dims, 2, other, 1, bounds, &count), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the sizes make 6 elements on one side and 7 on the other");
  ck_assert_int_eq(rlo_common_factors(dims, 2, negative, 2, bounds, &count), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_common_factors(huge, 2, huge, 2, bounds, &count), RLO_OVERFLOW);
  ck_assert_int_eq(rlo_common_factors(dims, 33, dims, 2, bounds, &count), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_common_factors(dims, 2, dims, -1, bounds, &count), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message, "sizes of rank -1");
}

RLO_TEST(test_reshape__finds_unmodified_dims) {
  static const int64_t from[] = {4, 1, 3, 5, 6, 7};
  static const int64_t to[] = {2, 6, 1, 5, 1, 42};
  static const int64_t ones[] = {1, 1, 1, 1};
  rlo_dimension_pair pairs[RLO_MAX_RANK];
  int32_t count;
  ck_assert_int_eq(rlo_reshape_unmodified_dims(from, 6, to, 6, pairs, &count), RLO_OK);
  ck_assert_int_eq(count, 1);
  ck_assert_int_eq(pairs[0].from, 3);
  ck_assert_int_eq(pairs[0].to, 3);
  ck_assert_int_eq(rlo_reshape_unmodified_dims(ones, 4, ones, 3, pairs, &count), RLO_OK);
  ck_assert_int_eq(count, 3);
  for (int32_t k = 0; k < 3; ++k) {
    ck_assert_int_eq(pairs[k].from, k);
    ck_assert_int_eq(pairs[k].to, k);
  }
}

RLO_TEST(test_reshape__says_where_dims_went) {
  static const int64_t from[] = {2, 3, 5, 7};
  static const int64_t to[] = {6, 5, 1, 7};
  int32_t to_dims[2] = {-1, -1};
  bool are_kept;
  ck_assert_int_eq(
      rlo_reshape_leaves_dims_unmodified(from, 4, to, 4, (int32_t[]){2, 3}, 2, &are_kept, to_dims),
      RLO_OK);
  ck_assert(are_kept);
  ck_assert_int_eq(to_dims[0], 1);
  ck_assert_int_eq(to_dims[1], 3);
  ck_assert_int_eq(
      rlo_reshape_leaves_dims_unmodified(from, 4, to, 4, (int32_t[]){1, 2}, 2, &are_kept, to_dims),
      RLO_OK);
  ck_assert(!are_kept);
  ck_assert_int_eq(
      rlo_reshape_leaves_dims_unmodified(from, 4, to, 4, (int32_t[]){4}, 1, &are_kept, to_dims),
      RLO_OUT_OF_RANGE);
}

RLO_TEST(test_reshape__finds_inserted_and_deleted_ones) {
  static const int64_t from[] = {9, 1, 4};
  static const int64_t to[] = {1, 9, 4, 1};
  static const int64_t other[] = {3, 1, 12};
  rlo_reshape_ones ones;
  ck_assert_int_eq(rlo_reshape_inserted_or_deleted_ones(from, 3, to, 4, &ones), RLO_OK);
  ck_assert(ones.is_only_ones);
  ck_assert_int_eq(ones.num_deleted, 1);
  ck_assert_int_eq(ones.deleted[0], 1);
  ck_assert_int_eq(ones.num_inserted, 2);
  ck_assert_int_eq(ones.inserted[0], 0);
  ck_assert_int_eq(ones.inserted[1], 3);
  ck_assert_int_eq(rlo_reshape_inserted_or_deleted_ones(from, 3, other, 3, &ones), RLO_OK);
  ck_assert(!ones.is_only_ones);
  ck_assert_int_eq(ones.num_deleted, 0);
}

static const struct {
  const char *shape;
  int32_t permutation[7];
  sizes result;
  int32_t normalized[4];
} transposes[] = {
    {"f32[10,1,11,32]", {3, 1, 0, 2}, {2, {32, 110}}, {1, 0}},
    {"f32[50,20,30]", {1, 2, 0}, {2, {600, 50}}, {1, 0}},
    {"f32[64,128,1]", {0, 2, 1}, {1, {8192}}, {0}},
    {"f32[8,32,32,32,16]", {0, 4, 1, 2, 3}, {3, {8, 16, 32768}}, {0, 2, 1}},
    {"f32[4096,4096,128,16]", {3, 0, 1, 2}, {2, {16, 2147483648}}, {1, 0}},
    {"f32[1,32,1,3,1,64,1]", {6, 1, 4, 5, 2, 3, 0}, {3, {32, 64, 3}}, {0, 2, 1}},
    {"f32[100,1,10,32,2]", {2, 1, 3, 0, 4}, {3, {320, 100, 2}}, {1, 0, 2}},
    {"f32[8,32768,16]", {2, 1, 0}, {3, {16, 32768, 8}}, {2, 1, 0}},
    {"f32[32768,4,16,8]", {2, 0, 3, 1}, {4, {16, 32768, 8, 4}}, {2, 0, 3, 1}},
    {"f32[2,3,4]", {0, 1, 2}, {1, {24}}, {0}},
    {"f32[1,1]", {1, 0}, {1, {1}}, {0}},
    {"f32[]", {0}, {1, {1}}, {0}},
    {"f32[0,5]", {1, 0}, {1, {0}}, {0}},
};

RLO_TABLE_TEST(test_reshape__normalizes_transposes, transposes) {
  rlo_shape shape;
  rlo_normalized_transpose found;
  ck_assert_int_eq(rlo_shape_parse(transposes[_i].shape, strlen(transposes[_i].shape), &shape),
                   RLO_OK);
  ck_assert_int_eq(rlo_transpose_normalize(&shape, transposes[_i].permutation, &found), RLO_OK);
  ck_assert_int_eq(found.rank, transposes[_i].result.rank);
  for (int32_t k = 0; k < found.rank; ++k) {
    ck_assert_int_eq(found.dims[k], transposes[_i].result.dims[k]);
    ck_assert_int_eq(found.permutation[k], transposes[_i].normalized[k]);
  }
}

RLO_TEST(test_reshape__normalizes_plain_layouts_only) {
  static const char *const texts[] = {"f32[2,3]{0,1}", "f32[2,3]{1,0:T(2,2)}",
                                      "f32[2,3]{1,0:pad(2,4)}"};
  rlo_normalized_transpose found;
  rlo_shape shape;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    ck_assert_int_eq(rlo_shape_parse(texts[i], strlen(texts[i]), &shape), RLO_OK);
    ck_assert_int_eq(rlo_transpose_normalize(&shape, (int32_t[]){1, 0}, &found), RLO_UNSUPPORTED);
  }
  ck_assert_int_eq(rlo_shape_parse("f32[2,3]", 8, &shape), RLO_OK);
  ck_assert_int_eq(rlo_transpose_normalize(&shape, (int32_t[]){1, 1}, &found),
                   RLO_INVALID_ARGUMENT);
}
