/* SPDX-License-Identifier: Apache-2.0 */

#include "base/alloc.h"
#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

#define DIMS(...)    ((int64_t[]){__VA_ARGS__})
#define ENTRIES(...) ((int32_t[]){__VA_ARGS__})

static rlo_chain *chain;

static void setup(void) {
  chain = NULL;
}

static void teardown(void) {
  rlo_chain_release(chain);
}

RLO_FIXTURE(setup, teardown);

static void begin(const int64_t *dims, int32_t rank) {
  rlo_shape shape = test_shape_make(RLO_DTYPE_S32, dims, rank);
  chain = test_chain_of(&shape);
}

/* Expects the result of an operand 1, 2, 3, ...; returns how many problems it
 * took. */
static int32_t expect(const int32_t *wanted, int count) {
  int32_t from[64];
  int32_t got[64];
  const void *operands[] = {from};
  for (int32_t k = 0; k < 64; ++k) {
    from[k] = k + 1;
    got[k] = -1;
  }
  rlo_problem_list *list;
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  expect_ok(rlo_problem_list_run_host(list, operands, got));
  for (int k = 0; k < count; ++k) {
    ck_assert_msg(got[k] == wanted[k], "element %d is %d, not %d", k, got[k], wanted[k]);
  }
  ck_assert_int_eq(got[count], -1);
  int32_t problems = rlo_problem_list_count(list);
  rlo_problem_list_release(list);
  return problems;
}

RLO_TEST(test_ops_block__depth_to_space) {
  begin(DIMS(1, 2, 2, 4), 4);
  expect_ok(rlo_chain_depth_to_space(chain, 2, 3));
  const int32_t wanted[] = {1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16};
  ck_assert_int_eq(expect(wanted, 16), 1);
  const rlo_shape *shape = rlo_chain_shape(chain);
  ck_assert_int_eq(shape->dims[1], 4);
  ck_assert_int_eq(shape->dims[3], 1);
  expect_refusal(rlo_chain_depth_to_space(chain, 2, 3), RLO_INVALID_ARGUMENT,
                 "depth_to_space: blocks of 2 in 2 dimensions do not divide 1 channels");
}

/* ONNX's mode CRD, of two channels in space: each has its block by itself. */
RLO_TEST(test_ops_block__depth_to_space_crd) {
  begin(DIMS(1, 1, 1, 8), 4);
  rlo_chain *other;
  expect_ok(rlo_chain_clone(chain, &other));
  expect_ok(rlo_chain_depth_to_space(chain, 2, 3));
  ck_assert_int_eq(expect(ENTRIES(1, 2, 3, 4, 5, 6, 7, 8), 8), 1);
  rlo_chain_release(chain);
  chain = other;
  expect_ok(rlo_chain_depth_to_space_crd(chain, 2, 3));
  ck_assert_int_eq(expect(ENTRIES(1, 5, 2, 6, 3, 7, 4, 8), 8), 1);
  expect_refusal(rlo_chain_depth_to_space_crd(chain, 0, 3), RLO_INVALID_ARGUMENT,
                 "depth_to_space: a block of 0; it is at least 1");
}

/* Channels first: channel 0 of NCHW holds what channel 0 of NHWC does. */
RLO_TEST(test_ops_block__space_to_depth_of_nchw) {
  begin(DIMS(1, 1, 2, 4), 4);
  expect_ok(rlo_chain_space_to_depth(chain, 2, 1));
  ck_assert_int_eq(expect(ENTRIES(1, 3, 2, 4, 5, 7, 6, 8), 8), 1);
  expect_refusal(rlo_chain_space_to_depth(chain, 2, 1), RLO_INVALID_ARGUMENT,
                 "space_to_depth: a block of 2 does not divide dimension 2 of size 1");
  expect_refusal(rlo_chain_space_to_depth(chain, 0, 1), RLO_INVALID_ARGUMENT,
                 "space_to_depth: a block of 0; it is at least 1");
  expect_refusal(rlo_chain_space_to_depth(chain, 2, 0), RLO_INVALID_ARGUMENT,
                 "space_to_depth: dimension 0 is the batch and holds no channels");
  expect_refusal(rlo_chain_space_to_depth(chain, 2, 4), RLO_OUT_OF_RANGE,
                 "space_to_depth: dimension 4 of an array of rank 4; -4 to 3 "
                 "are possible");
}

RLO_TEST(test_ops_block__space_to_batch_and_back) {
  begin(DIMS(1, 3, 2), 3);
  expect_ok(rlo_chain_space_to_batch(chain, DIMS(2), DIMS(1), DIMS(0), 1));
  ck_assert_int_eq(expect(ENTRIES(0, 0, 3, 4, 1, 2, 5, 6), 8), 1);
  expect_ok(rlo_chain_batch_to_space(chain, DIMS(2), DIMS(1), DIMS(0), 1));
  ck_assert_int_eq(expect(ENTRIES(1, 2, 3, 4, 5, 6), 6), 1);
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(2), NULL, NULL, 1), RLO_INVALID_ARGUMENT,
                 "space_to_batch: a block of 2 does not divide dimension 1, which padded "
                 "has size 3");
  expect_refusal(rlo_chain_batch_to_space(chain, DIMS(2), NULL, NULL, 1), RLO_INVALID_ARGUMENT,
                 "batch_to_space: the blocks do not divide a batch of 1");
  expect_refusal(rlo_chain_batch_to_space(chain, DIMS(1), DIMS(2), DIMS(2), 1),
                 RLO_INVALID_ARGUMENT,
                 "batch_to_space: low 2 and high 2 take more than the 3 that dimension 1 "
                 "has");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(2), DIMS(-1), NULL, 1), RLO_INVALID_ARGUMENT,
                 "space_to_batch: dimension 1 has a block of 2, low -1 and high 0; a "
                 "block is at least 1, the others not negative");
  expect_refusal(rlo_chain_space_to_batch(chain, DIMS(1, 1, 1), NULL, NULL, 3), RLO_OUT_OF_RANGE,
                 "space_to_batch: 3 spatial dimensions of an array of rank 3");
}

RLO_TEST(test_ops_block__mirror_pad) {
  begin(DIMS(3), 1);
  rlo_chain *other;
  expect_ok(rlo_chain_clone(chain, &other));
  expect_ok(rlo_chain_mirror_pad(chain, DIMS(2), DIMS(2), RLO_MIRROR_REFLECT));
  ck_assert_int_eq(expect(ENTRIES(3, 2, 1, 2, 3, 2, 1), 7), 3);
  rlo_chain_release(chain);
  chain = other;
  expect_refusal(rlo_chain_mirror_pad(chain, DIMS(3), NULL, RLO_MIRROR_REFLECT),
                 RLO_INVALID_ARGUMENT,
                 "mirror_pad: low 3 and high 0 of dimension 0; the limits are 0 and 2");
  expect_refusal(rlo_chain_mirror_pad(chain, DIMS(0), NULL, (rlo_mirror)3), RLO_INVALID_ARGUMENT,
                 "mirror_pad: mirror 3 is none of 0 (reflect), 1 (symmetric) and 2 (edge)");
  expect_ok(rlo_chain_mirror_pad(chain, DIMS(2), DIMS(2), RLO_MIRROR_SYMMETRIC));
  ck_assert_int_eq(expect(ENTRIES(2, 1, 1, 2, 3, 3, 2), 7), 3);
}

RLO_TEST(test_ops_block__edge_pad) {
  begin(DIMS(2, 2), 2);
  expect_ok(rlo_chain_mirror_pad(chain, DIMS(1, 3), DIMS(0, 1), RLO_MIRROR_EDGE));
  ck_assert_int_eq(expect(ENTRIES(1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4), 18), 6);
  rlo_chain_release(chain);
  begin(DIMS(0, 2), 2);
  expect_refusal(rlo_chain_mirror_pad(chain, DIMS(1, 0), NULL, RLO_MIRROR_EDGE),
                 RLO_INVALID_ARGUMENT,
                 "mirror_pad: low 1 and high 0 of dimension 0; the limits are 0 and 0");
}

/* A mirror also mirrors elements that an earlier pad filled. */
RLO_TEST(test_ops_block__mirror_of_a_pad) {
  const int32_t nine = 9;
  begin(DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(0), NULL, &nine));
  expect_ok(rlo_chain_mirror_pad(chain, DIMS(1), DIMS(2), RLO_MIRROR_REFLECT));
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(0), NULL, NULL));
  ck_assert_int_eq(expect(ENTRIES(0, 1, 9, 1, 2, 1, 9), 7), 4);
}

RLO_TEST(test_ops_block__too_many_boxes) {
  const int64_t ones[] = {1, 1, 1, 1, 1, 1, 1};
  begin(ones, 7);
  expect_refusal(rlo_chain_mirror_pad(chain, ones, ones, RLO_MIRROR_SYMMETRIC), RLO_UNSUPPORTED,
                 "the chain would have 1458 parts; the limit is 1024");
  ck_assert_int_eq(rlo_chain_shape(chain)->dims[0], 1);
}

/* Elements of 4 bits: only the value's bits of a fill count. */
RLO_TEST(test_ops_block__fill_of_packed_elements) {
  const uint8_t fill = 0xf7;
  const uint8_t from[] = {0x21};
  uint8_t to[2] = {0, 0};
  const void *operands[] = {from};
  rlo_layout layout = rlo_layout_row_major(1);
  layout.element_size_bits = 4;
  rlo_shape shape;
  rlo_problem_list *list;
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_U4, DIMS(2), 1, &layout, &shape));
  chain = test_chain_of(&shape);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(1), NULL, &fill));
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  expect_ok(rlo_problem_list_run_host(list, operands, to));
  ck_assert_uint_eq(to[0], 0x17);
  ck_assert_uint_eq(to[1], 0x72);
  rlo_problem_list_release(list);
}

/* Everything that takes memory, once. */
static rlo_status move_depth(void) {
  rlo_shape shape;
  rlo_chain *deep = NULL;
  rlo_status status = rlo_shape_make(RLO_DTYPE_S32, DIMS(1, 2, 2, 4), 4, &shape);
  THEN(rlo_chain_create(&shape, &deep));
  THEN(rlo_chain_depth_to_space(deep, 2, 3));
  THEN(rlo_chain_space_to_depth(deep, 2, 3));
  rlo_chain_release(deep);
  return status;
}

static rlo_status build_and_lower(void) {
  rlo_shape shape;
  rlo_chain *one = NULL;
  rlo_chain *two = NULL;
  rlo_problem_list *list = NULL;
  rlo_status status = rlo_shape_make(RLO_DTYPE_S32, DIMS(2, 4), 2, &shape);
  THEN(rlo_chain_create(&shape, &one));
  THEN(rlo_chain_clone(one, &two));
  THEN(rlo_chain_space_to_batch(one, DIMS(2), DIMS(0), DIMS(0), 1));
  THEN(rlo_chain_batch_to_space(one, DIMS(2), DIMS(0), DIMS(0), 1));
  THEN(rlo_chain_mirror_pad(one, DIMS(0, 1), NULL, RLO_MIRROR_SYMMETRIC));
  THEN(rlo_chain_pad(two, DIMS(0, 1), DIMS(0, 0), NULL, NULL));
  THEN(rlo_chain_stack(one, (const rlo_chain *[]){two}, 1, 1));
  THEN(rlo_chain_lower(one, NULL, &list));
  rlo_problem_list_release(list);
  rlo_chain_release(two);
  rlo_chain_release(one);
  return status;
}

static rlo_status (*const all_that_takes_memory[])(void) = {build_and_lower, move_depth};

RLO_TABLE_TEST(test_ops_block__survives_every_failing_allocation, all_that_takes_memory) {
  int64_t live = rlo__alloc_live_count();
  rlo__alloc_set_fault(0, false);
  expect_ok(all_that_takes_memory[_i]());
  int64_t tried = rlo__alloc_tried_count();
  ck_assert_int_gt(tried, 10);
  for (int64_t n = 1; n <= 2 * tried; ++n) {
    rlo__alloc_set_fault((n + 1) / 2, n % 2 == 0);
    ck_assert_int_eq(all_that_takes_memory[_i](), RLO_OUT_OF_MEMORY);
    rlo__alloc_set_fault(0, false);
    ck_assert_int_eq(rlo__alloc_live_count(), live);
  }
}
