/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/random_indexed.h"
#include "support/shape_of.h"
#include "support/suite.h"

#define INTS(...) ((const int32_t[]){__VA_ARGS__})

static rlo_segment_sum *lower(const char *src, const char *ids, int32_t dim, int32_t batch_dims,
                              const char *dst) {
  rlo_shape s = test_shape_of(src);
  rlo_shape i = test_shape_of(ids);
  rlo_shape d = test_shape_of(dst);
  rlo_segment_sum *sum;
  expect_ok(rlo_segment_sum_create(&s, &i, dim, batch_dims, &d, &sum));
  return sum;
}

/* Sum 32-bit elements and compare; how many problems it took. */
static int32_t expect(rlo_segment_sum *sum, const void *src, const void *ids, const int32_t *wanted,
                      int32_t count) {
  int32_t got[64];
  memset(got, 0xee, sizeof got);
  expect_ok(rlo_segment_sum_run_host(sum, src, ids, got));
  for (int32_t k = 0; k < count; ++k) {
    ck_assert_msg(got[k] == wanted[k], "element %d is %d, not %d", k, got[k], wanted[k]);
  }
  ck_assert_int_eq((uint32_t)got[count], 0xeeeeeeeeu);
  int32_t problems = rlo_problem_list_count(rlo_segment_sum_problems(sum));
  rlo_segment_sum_release(sum);
  return problems;
}

RLO_TIMEOUT(120);

/* The values are those of TensorFlow.js's tests of the gradients of gather. */
RLO_TEST(test_segment_sum__is_the_gradient_of_a_gather) {
  expect(lower("s32[4]", "s32[4]", 0, 0, "s32[3]"), INTS(3, 4, 5, 6), INTS(0, 2, 0, 1),
         INTS(8, 6, 4), 3);
  expect(lower("s32[4,2]", "s32[4]", 0, 0, "s32[2,2]"), INTS(3, 4, 5, 6, 7, 8, 9, 10),
         INTS(1, 0, 0, 1), INTS(12, 14, 12, 14), 4);
  expect(lower("s32[2,4]", "s32[4]", 1, 0, "s32[2,2]"), INTS(3, 4, 5, 6, 7, 8, 9, 10),
         INTS(1, 0, 0, 1), INTS(9, 9, 17, 17), 4);
}

RLO_TEST(test_segment_sum__leaves_out_rows_that_name_nothing) {
  ck_assert_int_eq(expect(lower("s32[5]", "s32[5]", 0, 0, "s32[4]"), INTS(1, 2, 4, 8, 16),
                          INTS(-1, 3, 4, 3, INT32_MIN), INTS(0, 0, 0, 10), 4),
                   2);
}

RLO_TEST(test_segment_sum__adds_several_dimensions_of_rows_in_each_batch) {
  expect(lower("s32[2,2,2]", "s64[2,2,2]", 1, 1, "s32[2,3]"), INTS(1, 2, 3, 4, 5, 6, 7, 8),
         ((const int64_t[]){0, 2, 0, 2, 1, 1, 1, INT64_C(1) << 32}), INTS(4, 0, 6, 0, 18, 0), 6);
}

RLO_TEST(test_segment_sum__scalar_ids_place_one_slice) {
  expect(lower("s32[2]", "s32[]", 0, 0, "s32[3,2]"), INTS(5, 6), INTS(1), INTS(0, 0, 5, 6, 0, 0),
         6);
}

RLO_TEST(test_segment_sum__writes_zeros_where_there_are_no_rows) {
  expect(lower("s32[0,2]", "s32[0]", 0, 0, "s32[2,2]"), NULL, NULL, INTS(0, 0, 0, 0), 4);
  expect(lower("s32[2,2]", "s32[2]", 0, 0, "s32[0,2]"), INTS(1, 2, 3, 4), INTS(0, 0), INTS(0), 0);
}

RLO_TEST(test_segment_sum__fills_what_holds_no_element) {
  /* Tiles on the side of the rows, so that the rows' places take quotients. */
  ck_assert_int_eq(expect(lower("s32[3,3]{1,0:T(2,2)}", "s32[3]{0:pad(5)}", 0, 0,
                                "s32[2,3]{1,0:pad(2,4)fill(lowest)}"),
                          /* 1 2 | 3 -, 4 5 | 6 -, then 7 8 | 9 - */
                          INTS(1, 2, 4, 5, 3, 0, 6, 0, 7, 8, 0, 0, 9, 0, 0, 0),
                          INTS(1, 0, 1, 77, 77), INTS(4, 5, 6, INT32_MIN, 8, 10, 12, INT32_MIN), 8),
                   3);
}

RLO_TEST(test_segment_sum__rounds_to_the_destination_type_once) {
  /* 1 + 2^-8 four times: bf16 has 8 bits, f32 keeps them all. */
  rlo_segment_sum *sum = lower("f32[4]", "s32[4]", 0, 0, "bf16[2]");
  const float rows[] = {1.00390625f, 1.00390625f, 1.00390625f, 1.00390625f};
  uint16_t got[2];
  expect_ok(rlo_segment_sum_run_host(sum, rows, INTS(1, 1, 1, 1), got));
  ck_assert_uint_eq(got[0], 0);
  ck_assert_uint_eq(got[1], 0x4080); /* 4.015625 is nearest to 4 */
  rlo_segment_sum_release(sum);
  /* And bf16 is added in f32: 256 + 1 + 1 is 258 and not 256. */
  sum = lower("bf16[3]", "s32[3]", 0, 0, "bf16[1]");
  const uint16_t halves[] = {0x4380, 0x3f80, 0x3f80};
  expect_ok(rlo_segment_sum_run_host(sum, halves, INTS(0, 0, 0), got));
  ck_assert_uint_eq(got[0], 0x4381);
  rlo_segment_sum_release(sum);
}

RLO_TEST(test_segment_sum__orders_rows_stably) {
  rlo_segment_sum *sum = lower("s32[2,4]", "s32[2,4]", 1, 1, "s32[2,2]");
  rlo_segment_sum_sizes sizes;
  rlo_segment_sum_get_sizes(sum, &sizes);
  ck_assert_int_eq(sizes.order_bits, 32);
  ck_assert_int_eq(sizes.order_bytes, (5 + 8) * 4);
  ck_assert_int_eq(sizes.ids_bytes, 32);
  int32_t order[13];
  memset(order, 0x77, sizeof order);
  expect_ok(rlo_segment_sum_order_host(sum, INTS(1, 0, 1, 9, 0, -1, 0, 1), order));
  ck_assert_mem_eq(order, INTS(0, 1, 3, 5, 6, 1, 0, 2, 0, 2, 3), 11 * sizeof order[0]);
  ck_assert_int_eq(order[11], 0x77777777);
  rlo_segment_sum_release(sum);
}

RLO_TEST(test_segment_sum__says_what_is_wrong) {
  rlo_shape src = test_shape_of("f32[2,3,4]");
  rlo_shape ids = test_shape_of("s32[3]");
  rlo_shape pair = test_shape_of("s32[2,3]");
  rlo_shape floats = test_shape_of("f32[3]");
  rlo_shape flags = test_shape_of("pred[3]");
  rlo_shape shape;
  expect_refusal(rlo_segment_sum_infer(&src, &ids, 4, 0, 5, &shape), RLO_OUT_OF_RANGE,
                 "segment_sum: rows from dimension 4 on, in an array of rank "
                 "3");
  expect_refusal(rlo_segment_sum_infer(&src, &ids, 0, 0, 5, &shape), RLO_INVALID_ARGUMENT,
                 "segment_sum: dimension 0 of the source is 2, dimension 0 of "
                 "the array of ids 3; they must be equal");
  expect_refusal(rlo_segment_sum_infer(&src, &pair, 2, 0, 5, &shape), RLO_INVALID_ARGUMENT,
                 "segment_sum: the array of ids has 2 dimensions of rows, the "
                 "source of rank 3 has 1 from dimension 2 on");
  expect_refusal(rlo_segment_sum_infer(&src, &floats, 1, 0, 5, &shape), RLO_INVALID_ARGUMENT,
                 "segment_sum: the array of ids is f32; it must be s32 or "
                 "s64");
  expect_refusal(rlo_segment_sum_infer(&flags, &ids, 0, 0, 5, &shape), RLO_UNSUPPORTED,
                 "segment_sum: values of type pred are not added up");
  expect_refusal(rlo_segment_sum_infer(&src, &ids, 1, 0, -1, &shape), RLO_INVALID_ARGUMENT,
                 "segment_sum: -1 segments");
  rlo_shape dst = test_shape_of("f32[2,5,3]");
  rlo_segment_sum *sum;
  expect_refusal(rlo_segment_sum_create(&src, &ids, 1, 0, &dst, &sum), RLO_INVALID_ARGUMENT,
                 "segment_sum: dimension 2 of the result is 4, of the "
                 "destination 3; they must be equal");
  ck_assert_ptr_null(sum);
  dst = test_shape_of("f32[2,5]");
  expect_refusal(rlo_segment_sum_create(&src, &ids, 1, 0, &dst, &sum), RLO_INVALID_ARGUMENT,
                 "segment_sum: the result has rank 3, the destination rank 2");
  expect_ok(rlo_segment_sum_infer(&src, &ids, 1, 0, 5, &shape));
  rlo_shape wanted = test_shape_of("f32[2,5,4]");
  ck_assert(rlo_shape_equal(&shape, &wanted));
}

/* A result of so many dimensions of 4, the last ones of which are cut into
 * tiles of 2: an axis more each. One axis is for the rows. */
static rlo_status lower_tiled(int32_t rank, int32_t num_tiled) {
  int64_t dims[RLO_MAX_RANK];
  rlo_layout layout = rlo_layout_row_major(rank);
  layout.num_tiles = 1;
  layout.tiles[0].rank = num_tiled;
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = 4;
  }
  for (int32_t k = 0; k < num_tiled; ++k) {
    layout.tiles[0].dims[k] = 2;
  }
  rlo_shape src;
  rlo_shape dst;
  rlo_shape ids = test_shape_of("s32[4]");
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, dims, rank, &src));
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_S32, dims, rank, &layout, &dst));
  rlo_segment_sum *sum;
  rlo_status status = rlo_segment_sum_create(&src, &ids, 0, 0, &dst, &sum);
  rlo_segment_sum_release(sum);
  return status;
}

RLO_TEST(test_segment_sum__has_an_axis_for_its_rows) {
  const int32_t rank = RLO_MAX_AXES / 2;
  expect_ok(lower_tiled(rank, rank - 1));
  expect_refusal(lower_tiled(rank, rank), RLO_UNSUPPORTED,
                 "segment_sum: the destination needs more than 47 axes or 47 "
                 "guards");
}

/* ---------------------------------------------------------- against gathers */

static void *memory_of(const rlo_shape *shape, uint8_t content) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(shape, &extent));
  void *memory = malloc((size_t)extent.physical_bytes + 1);
  ck_assert_ptr_nonnull(memory);
  memset(memory, content, (size_t)extent.physical_bytes);
  return memory;
}

static int64_t bytes_of(const rlo_shape *shape) {
  rlo_shape_extent extent;
  expect_ok(rlo_shape_measure(shape, &extent));
  return extent.physical_bytes;
}

static void relayout(const rlo_shape *src, const rlo_shape *dst, const void *from, void *to) {
  static rlo_problem problem;
  expect_ok(rlo_relayout_lower(src, dst, NULL, &problem));
  expect_ok(rlo_problem_run_host(&problem, from, to));
}

/* The same sum by way of the adjoint of the gather between plain arrays. */
static void sum_by_adjoint(const test_indexed *x, const rlo_shape *array, const rlo_shape *rows,
                           const void *plain_rows, void *plain_sums) {
  static rlo_problem adjoint;
  rlo_chain *chain;
  rlo_problem_list *problems;
  expect_ok(rlo_chain_create(array, &chain));
  expect_ok(rlo_chain_gather(chain, &x->indices, x->dim, x->batch_dims));
  expect_ok(rlo_chain_lower(chain, rows, &problems));
  for (int32_t n = 0; n < rlo_problem_list_count(problems); ++n) {
    expect_ok(rlo_problem_adjoint(rlo_problem_list_get(problems, n), array->dtype, &adjoint));
    expect_ok(rlo_problem_run_host_indexed(&adjoint, plain_rows, x->index_memory, plain_sums));
  }
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

static void check_case(test_random *random, const test_indexed *x, uint64_t seed) {
  rlo_shape array;
  rlo_shape rows;
  expect_ok(rlo_shape_make(x->array.dtype, x->array.dims, x->array.rank, &array));
  expect_ok(rlo_shape_make(x->rows.dtype, x->rows.dims, x->rows.rank, &rows));
  uint8_t *src = memory_of(&x->rows, 0);
  for (int64_t b = 0; b < bytes_of(&x->rows); ++b) {
    src[b] = (uint8_t)(test_random_bits(random) >> 56);
  }
  uint8_t *plain_rows = memory_of(&rows, 0);
  uint8_t *plain_sums = memory_of(&array, 0);
  uint8_t *wanted = memory_of(&x->array, 0xee);
  uint8_t *got = memory_of(&x->array, 0xee);
  relayout(&x->rows, &rows, src, plain_rows);
  sum_by_adjoint(x, &array, &rows, plain_rows, plain_sums);
  relayout(&array, &x->array, plain_sums, wanted);

  rlo_segment_sum *sum;
  expect_ok(rlo_segment_sum_create(&x->rows, &x->indices, x->dim, x->batch_dims, &x->array, &sum));
  expect_ok(rlo_segment_sum_run_host(sum, src, x->index_memory, got));
  ck_assert_msg(memcmp(got, wanted, (size_t)bytes_of(&x->array)) == 0,
                "%s; RELAYOUT_TEST_SEED=%llu makes it the first", x->words,
                (unsigned long long)seed);
  rlo_segment_sum_release(sum);
  free(src);
  free(plain_rows);
  free(plain_sums);
  free(wanted);
  free(got);
}

RLO_TEST(test_segment_sum__random_sums_are_adjoints_of_gathers) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_S32, RLO_DTYPE_U8, RLO_DTYPE_S16, RLO_DTYPE_U64};
  test_random random = test_random_begin("test_segment_sum");
  for (int32_t i = 0; i < 400; ++i) {
    uint64_t case_seed = random.state;
    test_indexed x;
    test_random_indexed(&random, dtypes[test_random_in(&random, 0, 3)], 600, true, &x);
    check_case(&random, &x, case_seed);
    free(x.index_memory);
  }
}
