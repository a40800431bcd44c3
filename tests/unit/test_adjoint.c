/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/ops.h"
#include "relayout/plan.h"
#include "support/expect.h"
#include "support/suite.h"

#define DIMS(...)    ((int64_t[]){__VA_ARGS__})
#define ENTRIES(...) ((int32_t[]){__VA_ARGS__})

static rlo_chain *chain;
static rlo_problem_list *problems;
static rlo_problem adjoint;

static void setup(void) {
  chain = NULL;
  problems = NULL;
}

static void teardown(void) {
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

RLO_FIXTURE(setup, teardown);

static void begin(const int64_t *dims, int32_t rank) {
  rlo_shape shape;
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, dims, rank, &shape));
  expect_ok(rlo_chain_create(&shape, &chain));
}

static void lower(void) {
  expect_ok(rlo_chain_lower(chain, NULL, &problems));
}

/* dx of the chain's one operand, `count` integers, for this dy. */
static void expect_vjp(const int32_t *dy, const int32_t *wanted, int count) {
  int32_t dx[64] = {0};
  lower();
  for (int32_t n = 0; n < rlo_problem_list_count(problems); ++n) {
    expect_ok(rlo_problem_adjoint(rlo_problem_list_get(problems, n), RLO_DTYPE_S32, &adjoint));
    expect_ok(rlo_problem_run_host(&adjoint, dy, dx));
  }
  for (int k = 0; k < count; ++k) {
    ck_assert_msg(dx[k] == wanted[k], "dx[%d] is %d, not %d", k, dx[k], wanted[k]);
  }
  ck_assert_int_eq(dx[count], 0);
}

RLO_TEST(test_adjoint__transpose) {
  begin(DIMS(2, 2, 2), 3);
  expect_ok(rlo_chain_transpose(chain, ENTRIES(2, 1, 0)));
  expect_vjp(ENTRIES(111, 211, 121, 221, 112, 212, 122, 222),
             ENTRIES(111, 112, 121, 122, 211, 212, 221, 222), 8);
}

RLO_TEST(test_adjoint__pad) {
  begin(DIMS(3), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(2), DIMS(1), NULL, NULL));
  expect_vjp(ENTRIES(10, 20, 30, 40, 50, 60), ENTRIES(30, 40, 50), 3);
}

RLO_TEST(test_adjoint__pad_of_two) {
  begin(DIMS(2, 2), 2);
  expect_ok(rlo_chain_pad(chain, DIMS(1, 0), DIMS(0, 1), NULL, NULL));
  expect_vjp(ENTRIES(0, 0, 0, 10, 20, 0, 30, 40, 0), ENTRIES(10, 20, 30, 40), 4);
}

RLO_TEST(test_adjoint__interior_pad) {
  begin(DIMS(3), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(2), DIMS(1), NULL));
  expect_vjp(ENTRIES(10, 20, 30, 40, 50, 60, 70, 80), ENTRIES(20, 40, 60), 3);
}

RLO_TEST(test_adjoint__mirror_pad_reflect) {
  begin(DIMS(3), 1);
  expect_ok(rlo_chain_mirror_pad(chain, DIMS(2), DIMS(1), RLO_MIRROR_REFLECT));
  expect_vjp(ENTRIES(10, 20, 30, 40, 50, 60), ENTRIES(30, 120, 60), 3);
}

RLO_TEST(test_adjoint__mirror_pad_symmetric) {
  begin(DIMS(3), 1);
  expect_ok(rlo_chain_mirror_pad(chain, DIMS(2), DIMS(1), RLO_MIRROR_SYMMETRIC));
  expect_vjp(ENTRIES(10, 20, 30, 40, 50, 60), ENTRIES(50, 50, 110), 3);
}

RLO_TEST(test_adjoint__slice) {
  begin(DIMS(5), 1);
  expect_ok(rlo_chain_slice(chain, DIMS(1), DIMS(3), NULL));
  expect_vjp(ENTRIES(10, 100), ENTRIES(0, 10, 100, 0, 0), 5);
}

RLO_TEST(test_adjoint__slice_of_two) {
  begin(DIMS(2, 3), 2);
  expect_ok(rlo_chain_slice(chain, DIMS(0, 1), DIMS(2, 2), NULL));
  expect_vjp(ENTRIES(20, 50), ENTRIES(0, 20, 0, 0, 50, 0), 6);
}

RLO_TEST(test_adjoint__strided_slice) {
  begin(DIMS(4), 1);
  expect_ok(rlo_chain_slice(chain, DIMS(0), DIMS(3), DIMS(2)));
  expect_vjp(ENTRIES(10, 20), ENTRIES(10, 0, 20, 0), 4);
}

RLO_TEST(test_adjoint__backward_slice) {
  begin(DIMS(4), 1);
  expect_ok(rlo_chain_slice(chain, DIMS(-1), DIMS(-4), DIMS(-1)));
  expect_vjp(ENTRIES(10, 20, 30), ENTRIES(0, 30, 20, 10), 4);
}

typedef struct reverse_case {
  int32_t count;
  int32_t dims[2];
  int32_t wanted[6];
} reverse_case;

static const reverse_case reverse_cases[] = {
    {2, {0, 1}, {60, 50, 40, 30, 20, 10}},
    {1, {0, 0}, {40, 50, 60, 10, 20, 30}},
    {1, {1, 0}, {30, 20, 10, 60, 50, 40}},
};

RLO_TABLE_TEST(test_adjoint__reverse, reverse_cases) {
  const reverse_case *c = &reverse_cases[_i];
  begin(DIMS(2, 3), 2);
  expect_ok(rlo_chain_reverse(chain, c->dims, c->count));
  expect_vjp(ENTRIES(10, 20, 30, 40, 50, 60), c->wanted, 6);
}

RLO_TEST(test_adjoint__tile) {
  begin(DIMS(3), 1);
  expect_ok(rlo_chain_tile(chain, DIMS(3)));
  expect_vjp(ENTRIES(1, 2, 3, 10, 20, 30, 100, 200, 300), ENTRIES(111, 222, 333), 3);
}

RLO_TEST(test_adjoint__tile_of_two) {
  begin(DIMS(2, 2), 2);
  expect_ok(rlo_chain_tile(chain, DIMS(1, 2)));
  expect_vjp(ENTRIES(1, 2, 10, 20, 3, 4, 30, 40), ENTRIES(11, 22, 33, 44), 4);
}

RLO_TEST(test_adjoint__broadcast) {
  begin(DIMS(2), 1);
  expect_ok(rlo_chain_broadcast_in_dim(chain, DIMS(3, 2), 2, ENTRIES(1)));
  expect_vjp(ENTRIES(1, 2, 3, 4, 5, 6), ENTRIES(9, 12), 2);
}

RLO_TEST(test_adjoint__broadcast_of_a_column) {
  begin(DIMS(3, 1), 2);
  expect_ok(rlo_chain_broadcast_in_dim(chain, DIMS(3, 2), 2, ENTRIES(0, 1)));
  expect_vjp(ENTRIES(1, 2, 3, 4, 5, 6), ENTRIES(3, 7, 11), 3);
}

RLO_TEST(test_adjoint__split) {
  begin(DIMS(3), 1);
  expect_ok(rlo_chain_split(chain, DIMS(1, 2), 2, 0, 1));
  expect_vjp(ENTRIES(1, 1), ENTRIES(0, 1, 1), 3);
}

RLO_TEST(test_adjoint__depth_to_space) {
  int32_t dy[16];
  for (int32_t k = 0; k < 16; ++k) {
    dy[k] = k + 1;
  }
  begin(DIMS(1, 2, 2, 4), 4);
  expect_ok(rlo_chain_depth_to_space(chain, 2, 3));
  expect_vjp(dy, ENTRIES(1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16), 16);
}

RLO_TEST(test_adjoint__space_to_batch) {
  int32_t dy[32];
  for (int32_t k = 0; k < 32; ++k) {
    dy[k] = k + 1;
  }
  begin(DIMS(4, 2, 2), 3);
  expect_ok(rlo_chain_space_to_batch(chain, DIMS(2), DIMS(0), DIMS(2), 1));
  expect_vjp(dy, ENTRIES(1, 2, 17, 18, 5, 6, 21, 22, 9, 10, 25, 26, 13, 14, 29, 30), 16);
}

RLO_TEST(test_adjoint__concatenate) {
  const int32_t dy[] = {66, 6, 55, 5, 44, 4, 33, 3, 22, 2, 11, 1};
  const int32_t wanted[2][8] = {{66, 6, 55, 5}, {44, 4, 33, 3, 22, 2, 11, 1}};
  rlo_shape shape;
  rlo_chain *other;
  begin(DIMS(1, 2, 2), 3);
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, DIMS(2, 2, 2), 3, &shape));
  expect_ok(rlo_chain_create(&shape, &other));
  expect_ok(rlo_chain_concatenate(chain, (const rlo_chain *[]){other}, 1, 0));
  rlo_chain_release(other);
  lower();
  ck_assert_int_eq(rlo_problem_list_count(problems), 2);
  for (int32_t n = 0; n < 2; ++n) {
    int32_t dx[8] = {0};
    expect_ok(rlo_problem_adjoint(rlo_problem_list_get(problems, n), RLO_DTYPE_INVALID, &adjoint));
    expect_ok(rlo_problem_run_host(&adjoint, dy, dx));
    ck_assert_mem_eq(dx, wanted[rlo_problem_list_operand(problems, n)], sizeof dx);
  }
}

/* The padding of a layout holds no elements: no part of dy, and taking the fill
 * in dx. */
RLO_TEST(test_adjoint__padded_layout) {
  int32_t dy[15];
  for (int32_t k = 0; k < 15; ++k) {
    dy[k] = k + 1;
  }
  rlo_shape dst;
  begin(DIMS(2, 3), 2);
  dst = *rlo_chain_shape(chain);
  dst.layout = rlo_layout_column_major(2);
  dst.layout.has_padded_dimensions = true;
  dst.layout.padded_dimensions[0] = 3;
  dst.layout.padded_dimensions[1] = 5;
  dst.layout.fill = RLO_FILL_ZERO;
  expect_ok(rlo_chain_lower(chain, &dst, &problems));
  ck_assert_int_eq(rlo_problem_list_count(problems), 1);
  int32_t dx[6] = {0};
  expect_ok(rlo_problem_adjoint(rlo_problem_list_get(problems, 0), RLO_DTYPE_INVALID, &adjoint));
  expect_ok(rlo_problem_run_host(&adjoint, dy, dx));
  ck_assert_mem_eq(dx, ENTRIES(1, 4, 7, 2, 5, 8), sizeof dx);
}

RLO_TEST(test_adjoint__storing_needs_reading_once) {
  bool reads_once = true;
  begin(DIMS(2), 1);
  expect_ok(rlo_chain_tile(chain, DIMS(2)));
  lower();
  const rlo_problem *problem = rlo_problem_list_get(problems, 0);
  expect_ok(rlo_problem_reads_once(problem, &reads_once));
  ck_assert(!reads_once);
  memset(&adjoint, 0, sizeof adjoint);
  adjoint.num_axes = 7;
  ck_assert_int_eq(rlo_problem_adjoint(problem, RLO_DTYPE_INVALID, &adjoint), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the problem may read a unit more than once; its adjoint "
                   "has to accumulate");
  ck_assert_int_eq(adjoint.num_axes, 7);
  ck_assert_int_eq(rlo_problem_adjoint(problem, (rlo_dtype)999, &adjoint), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_problem_adjoint(problem, RLO_DTYPE_PRED, &adjoint), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message, "values of type pred are not added up");
}

RLO_TEST(test_adjoint__the_update_is_part_of_a_problem) {
  static rlo_problem other;
  begin(DIMS(4), 1);
  lower();
  expect_ok(rlo_problem_adjoint(rlo_problem_list_get(problems, 0), RLO_DTYPE_S32, &adjoint));
  other = adjoint;
  other.update = RLO_UPDATE_STORE;
  ck_assert(!rlo_problem_equal(&adjoint, &other));
  ck_assert(rlo_problem_hash(&adjoint) != rlo_problem_hash(&other));
  char text[512];
  ck_assert_uint_lt(rlo_problem_format(&adjoint, text, sizeof text), sizeof text);
  ck_assert_ptr_nonnull(strstr(text, "cell = s32(1 * src + 1 * cell)"));
  /* A carry must not leave its element. */
  expect_ok(rlo_problem_canonicalize(&adjoint, RLO_MAX_UNIT_BITS, NULL, NULL));
  ck_assert_int_eq(adjoint.unit_bits, 32);
  other.update = (rlo_update)2;
  ck_assert_int_eq(rlo_problem_canonicalize(&other, 0, NULL, NULL), RLO_INVALID_ARGUMENT);
}

/* Carries run through a unit of any size and end with it. */
RLO_TEST(test_adjoint__adds_modulo_the_unit) {
  const uint8_t src[4] = {0xff, 0xff, 0x01, 0x80};
  uint8_t dst[4] = {0x01, 0x00, 0x01, 0x80};
  memset(&adjoint, 0, sizeof adjoint);
  adjoint.num_axes = 1;
  adjoint.extents[0] = 2;
  adjoint.unit_bits = 16;
  adjoint.src.axis[0] = adjoint.dst.axis[0] = 1;
  adjoint.src_bytes = adjoint.dst_bytes = 4;
  adjoint.update = RLO_UPDATE_COMBINE;
  adjoint.arithmetic = (rlo_arithmetic){.src_type = RLO_DTYPE_U16,
                                        .dst_type = RLO_DTYPE_U16,
                                        .dst_unit_bits = 16,
                                        .num_steps = 1,
                                        .steps = {{RLO_ELEMENT_ACCUMULATE, {1.0}}}};
  expect_ok(rlo_problem_run_host(&adjoint, src, dst));
  ck_assert_mem_eq(dst, ((uint8_t[]){0, 0, 2, 0}), 4);
  adjoint.extents[0] = 8;
  adjoint.unit_bits = adjoint.arithmetic.dst_unit_bits = 4;
  adjoint.arithmetic.src_type = adjoint.arithmetic.dst_type = RLO_DTYPE_U4;
  expect_ok(rlo_problem_run_host(&adjoint, src, dst));
  ck_assert_mem_eq(dst, ((uint8_t[]){0xff, 0xff, 0x03, 0x80}), 4);
}

/* Windows that overlap: the gradient adds to a unit from two of them. */
RLO_TEST(test_adjoint__devices_refuse_what_may_share_cells) {
  rlo_device_info device = RLO_DEVICE_INFO_INIT;
  device.device_class = RLO_DEVICE_CLASS_CPU;
  rlo_plan_report *report = NULL;
  static rlo_problem windows;
  windows = (rlo_problem){.unit_bits = 32,
                          .num_axes = 2,
                          .extents = {3, 2},
                          .src = {.axis = {1, 1}},
                          .dst = {.axis = {2, 1}},
                          .src_bytes = 16,
                          .dst_bytes = 24};
  expect_ok(rlo_problem_adjoint(&windows, RLO_DTYPE_S32, &adjoint));
  ck_assert(adjoint.arithmetic.is_sequential);
  const int32_t dy[6] = {1, 2, 4, 8, 16, 32};
  int32_t dx[4] = {0};
  expect_ok(rlo_problem_run_host(&adjoint, dy, dx));
  ck_assert_mem_eq(dx, ((int32_t[]){1, 6, 24, 32}), sizeof dx);
  ck_assert_int_eq(rlo_plan_explain(&adjoint, &device, NULL, 0, 0, &report), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "several points of the problem may add to one cell one "
                   "after the other; the host reference runs it");
}
