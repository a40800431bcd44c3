/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Sizes that exceed 64 bits. An array without elements may have any, since only
 * one of its dimensions has to be 0. */

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static rlo_chain *chain;
static rlo_chain *other;

static void setup(void) {
  chain = NULL;
  other = NULL;
}

static void teardown(void) {
  rlo_chain_release(chain);
  rlo_chain_release(other);
}

RLO_FIXTURE(setup, teardown);

static void begin(const char *text) {
  rlo_shape shape = test_shape_of(text);
  rlo_chain_release(chain);
  expect_ok(rlo_chain_create(&shape, &chain));
}

#define MOST "9223372036854775807"

RLO_TEST(test_ops_limits__arrays_side_by_side) {
  begin("s8[0," MOST "]");
  expect_ok(rlo_chain_clone(chain, &other));
  const rlo_chain *others[] = {other};
  expect_refusal(rlo_chain_concatenate(chain, others, 1, 1), RLO_OVERFLOW,
                 "concatenate: dimension 1 exceeds 64 bits at array 1");
  expect_refusal(rlo_chain_concatenate(chain, others, -1, 1), RLO_INVALID_ARGUMENT,
                 "concatenate: -1 other chains");
  expect_refusal(rlo_chain_stack(chain, others, -1, 0), RLO_INVALID_ARGUMENT,
                 "stack: -1 other chains");
}

RLO_TEST(test_ops_limits__other_element_sizes_are_not_joined) {
  begin("s4[2]{0:E(8)}");
  rlo_shape shape = test_shape_of("s4[2]{0:E(4)}");
  expect_ok(rlo_chain_create(&shape, &other));
  ck_assert_int_eq(rlo_chain_concatenate(chain, (const rlo_chain *[]){other}, 1, 0),
                   RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_ops_limits__edges) {
  begin("s8[0," MOST "]");
  expect_refusal(rlo_chain_mirror_pad(chain, DIMS(0, 1), NULL, RLO_MIRROR_SYMMETRIC), RLO_OVERFLOW,
                 "mirror_pad: dimension 1 exceeds 64 bits");
  expect_refusal(rlo_chain_mirror_pad(chain, NULL, DIMS(0, 1), RLO_MIRROR_SYMMETRIC), RLO_OVERFLOW,
                 "mirror_pad: dimension 1 exceeds 64 bits");
  expect_refusal(rlo_chain_mirror_pad(chain, DIMS(1, 0), NULL, RLO_MIRROR_SYMMETRIC),
                 RLO_INVALID_ARGUMENT,
                 "mirror_pad: low 1 and high 0 of dimension 0; the limits are 0 and 0");
  expect_refusal(rlo_chain_mirror_pad(chain, NULL, DIMS(0, -1), RLO_MIRROR_SYMMETRIC),
                 RLO_INVALID_ARGUMENT,
                 "mirror_pad: low 0 and high -1 of dimension 1; the limits are 0 "
                 "and " MOST);
  begin("s8[3]");
  expect_refusal(rlo_chain_pad(chain, DIMS(INT64_MAX), NULL, NULL, NULL), RLO_OVERFLOW,
                 "pad: dimension 0 of size 3 with low " MOST
                 ", high 0 and interior 0 exceeds 64 bits");
  expect_refusal(rlo_chain_pad(chain, NULL, DIMS(INT64_MAX), NULL, NULL), RLO_OVERFLOW,
                 "pad: dimension 0 of size 3 with low 0, high " MOST
                 " and interior 0 exceeds 64 bits");
  expect_refusal(rlo_chain_pad(chain, NULL, NULL, DIMS(INT64_MAX), NULL), RLO_OVERFLOW,
                 "pad: dimension 0 of size 3 with low 0, high 0 and interior " MOST
                 " exceeds 64 bits");
  expect_refusal(rlo_chain_pad(chain, NULL, NULL, DIMS(INT64_MAX - 1), NULL), RLO_OVERFLOW,
                 "pad: dimension 0 of size 3 with low 0, high 0 and interior "
                 "9223372036854775806 exceeds 64 bits");
  begin("s8[0]");
  expect_ok(rlo_chain_pad(chain, NULL, DIMS(2), DIMS(5), NULL));
  ck_assert_int_eq(rlo_chain_shape(chain)->dims[0], 2);
  /* All elements and more are taken away in front, and put behind. */
  begin("s8[0]");
  expect_refusal(
      rlo_chain_pad(chain, DIMS(INT64_MIN), DIMS(INT64_MAX), NULL, NULL), RLO_INVALID_ARGUMENT,
      "pad: low -9223372036854775808 and high " MOST " take 1 more from dimension 0 than it has");
  begin("s8[1]");
  expect_refusal(rlo_chain_pad(chain, DIMS(INT64_MIN), DIMS(INT64_MAX), NULL, NULL), RLO_OVERFLOW,
                 "pad: low[0]=-9223372036854775808 exceeds 64 bits");
}

RLO_TEST(test_ops_limits__repetitions_and_reshapes) {
  begin("s8[3]");
  expect_refusal(rlo_chain_tile(chain, DIMS(INT64_MAX)), RLO_OVERFLOW,
                 "tile: dimension 0 of size 3, " MOST " times, exceeds 64 bits");
  expect_refusal(rlo_chain_reshape(chain, DIMS(-1, INT64_MAX, INT64_MAX), 3), RLO_OVERFLOW,
                 "reshape: the sizes exceed 64 bits");
  expect_refusal(rlo_chain_reshape(chain, DIMS(-1, 0), 2), RLO_INVALID_ARGUMENT,
                 "reshape: no size of dimension 0 makes 3 elements 0 times "
                 "something");
  expect_refusal(rlo_chain_reshape(chain, DIMS(3), -1), RLO_UNSUPPORTED,
                 "the result would have rank -1; the limit is 32");
  ck_assert_int_eq(rlo_chain_reshape(chain, DIMS(3), RLO_MAX_RANK + 1), RLO_UNSUPPORTED);
  expect_refusal(rlo_chain_split(chain, DIMS(INT64_MAX, 1), 2, 0, 0), RLO_INVALID_ARGUMENT,
                 "split: sizes[1]=1 is negative or too large");
}

static void begin_of_ones(int32_t rank) {
  int64_t dims[RLO_MAX_RANK];
  rlo_shape shape;
  for (int32_t k = 0; k < rank; ++k) {
    dims[k] = 1;
  }
  expect_ok(rlo_shape_make(RLO_DTYPE_S8, dims, rank, &shape));
  rlo_chain_release(chain);
  expect_ok(rlo_chain_create(&shape, &chain));
}

RLO_TEST(test_ops_limits__blocks_of_channels) {
  begin("s8[0,2,0]");
  expect_refusal(rlo_chain_depth_to_space(chain, INT64_MAX, 2), RLO_OVERFLOW,
                 "depth_to_space: a block of " MOST " takes dimension 1 beyond 64 bits");
  begin("s8[0," MOST ",2]");
  expect_refusal(rlo_chain_space_to_depth(chain, INT64_MAX, 2), RLO_OVERFLOW,
                 "space_to_depth: a block of " MOST " takes dimension 1 beyond 64 bits");
  begin_of_ones(18);
  expect_refusal(rlo_chain_space_to_depth(chain, 1, 9), RLO_UNSUPPORTED,
                 "space_to_depth: rank 18; the limit is 17");
}

RLO_TEST(test_ops_limits__blocks_of_the_batch) {
  begin("s8[0,3," MOST "]");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(1), DIMS(INT64_MAX), NULL, 1), RLO_OVERFLOW,
                 "space_to_batch: dimension 1 exceeds 64 bits");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(1), NULL, DIMS(INT64_MAX), 1), RLO_OVERFLOW,
                 "space_to_batch: dimension 1 exceeds 64 bits");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(1), NULL, NULL, -1), RLO_OUT_OF_RANGE,
                 "space_to_batch: -1 spatial dimensions of an array of rank 3");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(1), DIMS(-1), NULL, 1), RLO_INVALID_ARGUMENT,
                 "space_to_batch: dimension 1 has a block of 1, low -1 and high 0; a "
                 "block is at least 1, the others not negative");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(1), NULL, DIMS(-1), 1), RLO_INVALID_ARGUMENT,
                 "space_to_batch: dimension 1 has a block of 1, low 0 and high -1; a "
                 "block is at least 1, the others not negative");
  expect_refusal(rlo_chain_batch_to_space(chain, DIMS(INT64_MAX), NULL, NULL, 1), RLO_OVERFLOW,
                 "batch_to_space: dimension 1 exceeds 64 bits");
  begin("s8[3,0]");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(INT64_MAX), NULL, NULL, 1), RLO_OVERFLOW,
                 "space_to_batch: the batch exceeds 64 bits");
  begin_of_ones(17);
  expect_refusal(rlo_chain_space_to_batch(chain, rlo_chain_shape(chain)->dims, NULL, NULL, 16),
                 RLO_UNSUPPORTED,
                 "space_to_batch: rank 17 and 16 blocks; the limit is 32 "
                 "together");
}

RLO_TEST(test_ops_limits__chains_that_compute) {
  begin("s8[4]");
  expect_refusal(rlo_chain_convert(chain, (rlo_dtype)200), RLO_INVALID_ARGUMENT,
                 "convert: 200 is not an element type");
  rlo_shape floats = test_shape_of("f32[4]");
  rlo_problem_list *list;
  expect_refusal(rlo_chain_lower(chain, &floats, &list), RLO_INVALID_ARGUMENT,
                 "the chain holds s8, the destination f32");
  begin("f32[4]");
  expect_ok(rlo_chain_mirror_pad(chain, DIMS(1), NULL, RLO_MIRROR_REFLECT));
  ck_assert_int_eq(rlo_chain_sum(chain, (const int32_t[]){0}, 1, false), RLO_UNSUPPORTED);
  begin("f32[4]");
  ck_assert_int_eq(rlo_chain_unstack(chain, 0, -1), RLO_OUT_OF_RANGE);
}

RLO_TEST(test_ops_limits__sums_of_segments) {
  rlo_shape src = test_shape_of("f32[0,2]");
  rlo_shape ids = test_shape_of("s32[0]");
  rlo_shape dst = test_shape_of("f32[" MOST ",0]");
  rlo_segment_sum *sum;
  src.dims[1] = 0;
  expect_refusal(rlo_segment_sum_create(&src, &ids, 0, 0, &dst, &sum), RLO_OVERFLOW,
                 "an index of the segment sum exceeds 64 bits");
}
