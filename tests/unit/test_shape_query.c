/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/index.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

static const struct {
  const char *shape;
  int64_t elements;
  bool has_none;
  int32_t true_rank;
} counts[] = {
    {"f32[]", 1, false, 0},       {"f32[0]", 0, true, 1},        {"f32[3,0,5]", 0, true, 3},
    {"f32[1,3,5]", 15, false, 2}, {"f32[13,17]", 221, false, 2}, {"f32[2,1]", 2, false, 1},
    {"f32[2,1,1]", 2, false, 1},  {"f32[3,0,1]", 0, true, 2},
};

RLO_TABLE_TEST(test_shape_query__counts, counts) {
  rlo_shape shape = test_shape_of(counts[_i].shape);
  int64_t elements;
  ck_assert_int_eq(rlo_shape_elements_in(&shape, &elements), RLO_OK);
  ck_assert_int_eq(elements, counts[_i].elements);
  ck_assert_int_eq(rlo_shape_is_zero_element_array(&shape), counts[_i].has_none);
  ck_assert_int_eq(rlo_shape_true_rank(&shape), counts[_i].true_rank);
  ck_assert_int_eq(rlo_shape_is_scalar(&shape), shape.rank == 0);
  ck_assert_int_eq(rlo_shape_is_effective_scalar(&shape), counts[_i].true_rank == 0);
}

static const struct {
  const char *shape;
  int64_t byte_size, array_size, data_size;
} sizes[] = {
    {"f32[]", 4, 4, 4},
    {"f32[10,20]", 800, 800, 800},
    {"f64[10,20]", 1600, 1600, 1600},
    {"c64[10,20]", 1600, 1600, 1600},
    {"s4[64,128]{1,0:E(4)}", 4096, 4096, 4096},
    {"s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}", 28311552, 28311552, 28311552},
    {"s4[0,6144]{1,0:T(64,128)(8,1)E(4)}", 0, 0, 0},
    {"f32[10,20]{1,0:pad(15,21)}", 800, 1260, 4 * (9 * 21 + 20)},
    {"f32[3,5]{1,0:T(2,2)}", 60, 96, 4 * 21},
    {"f32[3]{0:L(8)}", 12, 32, 12},
    {"f32[3]{0:T(8,128)}", 12, 4096, 12},
    {"f32[20,300]{1,0:T(8,128)}", 24000, 36864, 4 * (2 * 3072 + 2 * 1024 + 3 * 128 + 44)},
    {"f32[2,3]{:strides(8,1)offset(3)}", 24, 56, 56},
    {"f32[2,3]{:strides(0,0)offset(3)}", 24, 16, 16},
    /* The last element in memory is not the last one of the array: it is
     * number 3 of 5. */
    {"f32[5]{0:T(4)(2,2)}", 20, 32, 24},
    {"f32[0,3]{1,0:pad(2,3)}", 0, 24, 0},
};

RLO_TABLE_TEST(test_shape_query__measures_bytes, sizes) {
  rlo_shape shape = test_shape_of(sizes[_i].shape);
  int64_t bytes;
  ck_assert_int_eq(rlo_shape_byte_size(&shape, &bytes), RLO_OK);
  ck_assert_int_eq(bytes, sizes[_i].byte_size);
  ck_assert_int_eq(rlo_shape_array_size(&shape, &bytes), RLO_OK);
  ck_assert_int_eq(bytes, sizes[_i].array_size);
  ck_assert_int_eq(rlo_shape_array_data_size(&shape, &bytes), RLO_OK);
  ck_assert_int_eq(bytes, sizes[_i].data_size);
}

/* Nobody counts 10^15 elements. */
RLO_TEST(test_shape_query__finds_the_last_element_of_large_arrays) {
  rlo_shape shape = test_shape_of("u8[1000001,999,1000003]{1,2,0:T(8,128)(4,1)}");
  int64_t bytes;
  ck_assert_int_eq(rlo_shape_array_data_size(&shape, &bytes), RLO_OK);
  int64_t index[] = {1000000, 998, 1000002};
  int64_t slot;
  ck_assert_int_eq(rlo_index_to_linear(&shape, index, &slot), RLO_OK);
  ck_assert_int_ge(bytes, slot + 1);
  ck_assert_int_lt(bytes, slot + 1024);
}

static void bump(const rlo_shape *shape, int64_t *index, bool *out_is_done) {
  *out_is_done = !rlo_index_bump(shape, index);
}

RLO_TEST(test_shape_query__last_element_agrees_with_counting) {
  enum { RUNS = 1500 };

  test_random random = test_random_begin("shape_query");
  for (int run = 0; run < RUNS; ++run) {
    int32_t rank = (int32_t)test_random_in(&random, 0, 4);
    int64_t dims[RLO_MAX_RANK];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 7);
    }
    rlo_shape shape =
        test_random_shape(&random, RLO_DTYPE_U8, dims, rank, TEST_ALL | TEST_BROADCAST);
    int64_t index[RLO_MAX_RANK] = {0};
    int64_t last = -1;
    for (bool is_done = false; !is_done; bump(&shape, index, &is_done)) {
      int64_t slot;
      ck_assert_int_eq(rlo_index_to_linear(&shape, index, &slot), RLO_OK);
      last = slot > last ? slot : last;
    }
    int64_t bytes;
    ck_assert_int_eq(rlo_shape_array_data_size(&shape, &bytes), RLO_OK);
    ck_assert_msg(bytes == last + 1, "%s", test_text_of(&shape));
  }
}

RLO_TEST(test_shape_query__takes_negative_dimension_numbers) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  int64_t size;
  int32_t dimension;
  ck_assert_int_eq(rlo_shape_dimension(&shape, -1, &size), RLO_OK);
  ck_assert_int_eq(size, 3);
  ck_assert_int_eq(rlo_shape_dimension(&shape, -2, &size), RLO_OK);
  ck_assert_int_eq(size, 2);
  ck_assert_int_eq(rlo_shape_dimension(&shape, -3, &size), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_shape_dimension(&shape, 2, &size), RLO_OUT_OF_RANGE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "dimension 2 of an array of rank 2; -2 to 1 are possible");
  ck_assert_int_eq(rlo_shape_dimension_number(&shape, -1, &dimension), RLO_OK);
  ck_assert_int_eq(dimension, 1);
}

RLO_TEST(test_shape_query__element_size_is_of_the_layout_first) {
  rlo_shape shape = test_shape_of("s4[2]");
  ck_assert_int_eq(rlo_shape_element_size_bits(&shape), 8);
  shape = test_shape_of("s4[2]{0:E(4)}");
  ck_assert_int_eq(rlo_shape_element_size_bits(&shape), 4);
  shape = test_shape_of("pred[2]{0:E(32)}");
  ck_assert_int_eq(rlo_shape_element_size_bits(&shape), 32);
}

static const struct {
  const char *shape;
  int32_t dimension;
  bool answer;
} most_major[] = {
    {"f32[1,1,16,1,279]{4,0,1,2,3}", 2, true},
    {"f32[1,1,16,1,279]{4,1,2,3,0}", 2, true},
    {"f32[1,1,16,1,279]{0,1,2,3,4}", 2, false},
    {"f32[1,1,16,1,279]{0,1,2,3,4}", 4, true},
    /* minor_to_major says dimension 0, but its rows lie side by side. */
    {"f32[4,279]{1,0:T(8,128)}", 0, false},
    {"f32[4,279]{1,0:T(8,128)}", 1, false},
    {"f32[16,128]{1,0:T(8,128)}", 0, true},
    {"f32[3,16,279]{2,1,0:T(8,128)}", 0, true},
    {"f32[3,16,279]{2,1,0:T(8,128)}", 1, false},
    {"f32[2,3]{:strides(8,1)}", 0, true},
    {"f32[2,3]{:strides(-8,1)offset(8)}", 0, false},
    {"f32[2,3]{:strides(2,1)}", 0, false},
    {"f32[8]{0:T(4)(2,2)}", 0, false}, /* element 4 lies before element 3 */
    {"f32[5,1]", 1, true},
    /* A later tile combines again what an earlier one cuts. */
    {"f32[4]{0:T(2)(4,*,3)}", 0, true},
    {"f32[64]{0:T(4)(2)(*,*,8)}", 0, true},
    {"f32[8]{0:T(4)(2,2)(*,*,*,5)}", 0, false},
    {"f32[5,4]{1,0:T(2)(2,*,3)}", 0, false},
    {"f32[4,5]{0,1:T(2)(1,*,3)}", 1, true},
    {"f32[1099511627776]{0:T(2)(*,3)}", 0, true},
};

RLO_TABLE_TEST(test_shape_query__knows_the_effectively_most_major_dimension, most_major) {
  rlo_shape shape = test_shape_of(most_major[_i].shape);
  bool answer;
  ck_assert_int_eq(rlo_shape_is_effectively_most_major(&shape, most_major[_i].dimension, &answer),
                   RLO_OK);
  ck_assert_int_eq(answer, most_major[_i].answer);
  ck_assert_int_eq(rlo_shape_is_effectively_most_major(&shape, shape.rank, &answer),
                   RLO_OUT_OF_RANGE);
}

/* The definition, over all pairs of elements. */
static bool counted_most_major(const rlo_shape *shape, int32_t dimension) {
  int64_t least[64];
  int64_t most[64];
  for (int c = 0; c < 64; ++c) {
    least[c] = INT64_MAX;
    most[c] = -1;
  }
  int64_t index[RLO_MAX_RANK] = {0};
  for (bool is_done = false; !is_done; bump(shape, index, &is_done)) {
    int64_t slot;
    int64_t c = index[dimension];
    ck_assert_int_eq(rlo_index_to_linear(shape, index, &slot), RLO_OK);
    least[c] = slot < least[c] ? slot : least[c];
    most[c] = slot > most[c] ? slot : most[c];
  }
  for (int64_t c = 1; c < shape->dims[dimension]; ++c) {
    for (int64_t d = 0; d < c; ++d) {
      if (most[d] >= least[c]) {
        return false;
      }
    }
  }
  return true;
}

RLO_TEST(test_shape_query__most_major_agrees_with_counting) {
  enum { RUNS = 1500 };

  test_random random = test_random_begin("shape_query");
  int found = 0;
  int refused = 0;
  for (int run = 0; run < RUNS; ++run) {
    int32_t rank = (int32_t)test_random_in(&random, 1, 4);
    int64_t dims[RLO_MAX_RANK];
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_once_in(&random, 3) ? 1 : test_random_in(&random, 1, 7);
    }
    rlo_shape shape =
        test_random_shape(&random, RLO_DTYPE_U8, dims, rank, TEST_ALL | TEST_BROADCAST);
    int32_t k = (int32_t)test_random_in(&random, 0, rank - 1);
    bool answer = false;
    rlo_status status = rlo_shape_is_effectively_most_major(&shape, k, &answer);
    if (status == RLO_UNSUPPORTED) {
      ++refused;
      continue;
    }
    ck_assert_int_eq(status, RLO_OK);
    ck_assert_msg(answer == counted_most_major(&shape, k), "%s, dimension %d", test_text_of(&shape),
                  k);
    found += answer;
  }
  ck_assert_int_gt(found, RUNS / 10);
  ck_assert_int_lt(refused, RUNS / 10);
}

RLO_TEST(test_shape_query__knows_a_minor_most_last_dimension) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  ck_assert(rlo_shape_last_dim_is_minor_most(&shape));
  shape = test_shape_of("f32[2,3]{0,1}");
  ck_assert(!rlo_shape_last_dim_is_minor_most(&shape));
  shape = test_shape_of("f32[]");
  ck_assert(rlo_shape_last_dim_is_minor_most(&shape));
  shape = test_shape_of("f32[2,3]{:strides(8,1)}");
  ck_assert(rlo_shape_last_dim_is_minor_most(&shape));
  shape = test_shape_of("f32[2,3]{:strides(8,2)}");
  ck_assert(!rlo_shape_last_dim_is_minor_most(&shape));
}

RLO_TEST(test_shape_query__fits_bounds) {
  rlo_shape bounds = test_shape_of("f32[10,20]");
  rlo_shape actual = test_shape_of("f32[10,5]{0,1}");
  ck_assert(rlo_shape_fits_bounds(&actual, &bounds));
  ck_assert(!rlo_shape_fits_bounds(&bounds, &actual));
  bounds.is_dynamic[1] = true;
  bounds.dims[1] = RLO_DIM_UNBOUNDED;
  ck_assert(rlo_shape_fits_bounds(&actual, &bounds));
  ck_assert(!rlo_shape_fits_bounds(&bounds, &actual));
  actual.dtype = RLO_DTYPE_S32;
  ck_assert(!rlo_shape_fits_bounds(&actual, &bounds));
}

RLO_TEST(test_shape_query__any_dimension_of_nothing_is_most_major) {
  rlo_shape shape = test_shape_of("f32[2,0]{0,1}");
  bool answer = false;
  ck_assert_int_eq(rlo_shape_is_effectively_most_major(&shape, 0, &answer), RLO_OK);
  ck_assert(answer);
}

RLO_TEST(test_shape_query__does_not_count_long_periods) {
  rlo_shape shape = test_shape_of("u8[1013]{0:T(*,1000003)(1021,128)}");
  bool answer = false;
  expect_refusal(rlo_shape_is_effectively_most_major(&shape, 0, &answer), RLO_UNSUPPORTED,
                 "the tiles cut dimension 0, and may repeat only after more than "
                 "1048576 elements");
}

RLO_TEST(test_shape_query__gives_up_a_search_of_the_last_element) {
  rlo_shape shape = test_shape_of("u8[8,2048,65537]{2,1,0:T(*,5,65537)}");
  int64_t bytes;
  expect_refusal(rlo_shape_array_data_size(&shape, &bytes), RLO_UNSUPPORTED,
                 "the tiles do not divide one another, and the last element is "
                 "one of too many that may be it");
}
