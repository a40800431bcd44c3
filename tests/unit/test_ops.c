/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/expect.h"
#include "support/suite.h"

/* The chain under test: its operands hold 1, 2, 3, ... as 32-bit integers. */
static rlo_chain *chain;
static int32_t memory[3][64];

static void setup(void) {
  chain = NULL;
  for (int32_t n = 0; n < 3; ++n) {
    for (int32_t k = 0; k < 64; ++k) {
      memory[n][k] = k + 1 + 100 * n;
    }
  }
}

static void teardown(void) {
  rlo_chain_release(chain);
}

RLO_FIXTURE(setup, teardown);

#define DIMS(...)    ((int64_t[]){__VA_ARGS__})
#define ENTRIES(...) ((int32_t[]){__VA_ARGS__})

static rlo_shape array(const int64_t *dims, int32_t rank) {
  rlo_shape shape;
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, dims, rank, &shape));
  return shape;
}

static rlo_chain *begin_with(const int64_t *dims, int32_t rank) {
  rlo_shape shape = array(dims, rank);
  rlo_chain *made;
  expect_ok(rlo_chain_create(&shape, &made));
  return made;
}

/* Lower into `dst` (NULL: plain), run, compare; how many problems it took. */
static int32_t expect_in(const rlo_shape *dst, const int32_t *wanted, int32_t count) {
  int32_t got[128];
  memset(got, 0xee, sizeof got);
  rlo_problem_list *list;
  expect_ok(rlo_chain_lower(chain, dst, &list));
  const void *operands[3] = {memory[0], memory[1], memory[2]};
  expect_ok(rlo_problem_list_run_host(list, operands, got));
  for (int32_t k = 0; k < count; ++k) {
    ck_assert_msg(got[k] == wanted[k], "element %d is %d, not %d", k, got[k], wanted[k]);
  }
  ck_assert_int_eq((uint32_t)got[count], 0xeeeeeeeeu);
  int32_t problems = rlo_problem_list_count(list);
  rlo_problem_list_release(list);
  return problems;
}

#define EXPECT(...)                           \
  expect_in(NULL, ((int32_t[]){__VA_ARGS__}), \
            (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

static void expect_dims(const int64_t *dims, int32_t rank) {
  const rlo_shape *shape = rlo_chain_shape(chain);
  ck_assert_int_eq(shape->rank, rank);
  for (int32_t k = 0; k < rank; ++k) {
    ck_assert_int_eq(shape->dims[k], dims[k]);
  }
}

RLO_TEST(test_ops__transpose) {
  chain = begin_with(DIMS(2, 3), 2);
  expect_ok(rlo_chain_transpose(chain, ENTRIES(1, 0)));
  expect_dims(DIMS(3, 2), 2);
  ck_assert_int_eq(EXPECT(1, 4, 2, 5, 3, 6), 1);
  expect_refusal(rlo_chain_transpose(chain, ENTRIES(0, 2)), RLO_INVALID_ARGUMENT,
                 "permutation[1]=2 is out of range for rank 2; -2 to 1 are "
                 "possible");
}

RLO_TEST(test_ops__transpose_of_three) {
  const int32_t data[] = {1, 11, 2, 22, 3, 33, 4, 44};
  memcpy(memory[0], data, sizeof data);
  chain = begin_with(DIMS(2, 2, 2), 3);
  rlo_chain *other;
  expect_ok(rlo_chain_clone(chain, &other));
  expect_ok(rlo_chain_transpose(chain, ENTRIES(2, 0, 1)));
  EXPECT(1, 2, 3, 4, 11, 22, 33, 44);
  rlo_chain_release(chain);
  chain = other;
  expect_ok(rlo_chain_transpose(chain, ENTRIES(2, 1, 0)));
  EXPECT(1, 3, 2, 4, 11, 33, 22, 44);
}

typedef struct slice_case {
  int64_t begin, end, stride;
  int32_t count;
  int32_t wanted[4];
} slice_case;

/* Slices of 1 2 3 4. */
static const slice_case slice_cases[] = {
    {0, 3, 2, 2, {1, 3}},
    {-1, -4, -1, 3, {4, 3, 2}},
    {5, -2, -1, 1, {4}},
    {10, 3, 2, 0, {0}},
    {INT64_MIN, INT64_MAX, 1, 4, {1, 2, 3, 4}},
    {INT64_MAX, INT64_MIN, -1, 4, {4, 3, 2, 1}},
    {INT64_MAX, INT64_MIN, INT64_MIN, 1, {4}},
    {1, INT64_MAX, INT64_MAX, 1, {2}},
    {3, 1, 1, 0, {0}},
    {0, 4, 3, 2, {1, 4}},
    {3, INT64_MIN, -3, 2, {4, 1}},
};

RLO_TABLE_TEST(test_ops__slice, slice_cases) {
  const slice_case *c = &slice_cases[_i];
  chain = begin_with(DIMS(4), 1);
  expect_ok(rlo_chain_slice(chain, &c->begin, &c->end, &c->stride));
  expect_dims(DIMS(c->count), 1);
  expect_in(NULL, c->wanted, c->count);
}

RLO_TEST(test_ops__slice_of_two) {
  chain = begin_with(DIMS(2, 3), 2);
  expect_ok(rlo_chain_slice(chain, DIMS(0, 0), DIMS(2, 3), DIMS(2, 2)));
  EXPECT(1, 3);
  expect_refusal(rlo_chain_slice(chain, DIMS(0, 0), DIMS(1, 1), DIMS(1, 0)), RLO_INVALID_ARGUMENT,
                 "slice: the stride of dimension 1 is 0");
  expect_dims(DIMS(1, 2), 2);
}

RLO_TEST(test_ops__pad) {
  const int32_t nine = 9;
  chain = begin_with(DIMS(4), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(2), DIMS(3), NULL, &nine));
  ck_assert_int_eq(EXPECT(9, 9, 1, 2, 3, 4, 9, 9, 9), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(-3), DIMS(-2), DIMS(1), NULL));
  EXPECT(0, 1, 0, 2, 0, 3, 0, 4, 0, 9, 0, 9);
  expect_refusal(rlo_chain_pad(chain, NULL, NULL, DIMS(-1), NULL), RLO_INVALID_ARGUMENT,
                 "pad: interior[0]=-1 is negative");
  expect_refusal(rlo_chain_pad(chain, DIMS(-10), DIMS(-4), NULL, NULL), RLO_INVALID_ARGUMENT,
                 "pad: low -10 and high -4 take 2 more from dimension 0 than "
                 "it has");
  expect_dims(DIMS(12), 1);
}

RLO_TEST(test_ops__pad_of_nothing) {
  const int32_t two = 2;
  chain = begin_with(DIMS(0), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(0), DIMS(4), NULL, &two));
  EXPECT(2, 2, 2, 2);
}

/* One fill: one problem. */
RLO_TEST(test_ops__a_chain_is_one_problem) {
  chain = begin_with(DIMS(3, 4), 2);
  expect_ok(rlo_chain_slice(chain, DIMS(0, 1), DIMS(3, 4), DIMS(2, 1)));
  expect_ok(rlo_chain_transpose(chain, ENTRIES(1, 0)));
  expect_ok(rlo_chain_pad(chain, DIMS(1, 0), DIMS(0, 1), NULL, NULL));
  expect_ok(rlo_chain_reverse(chain, ENTRIES(1), 1));
  ck_assert_int_eq(EXPECT(0, 0, 0, 0, 10, 2, 0, 11, 3, 0, 12, 4), 1);
}

/* A fill outside of another: two problems, in order. */
RLO_TEST(test_ops__two_fills_are_two_problems) {
  const int32_t nine = 9;
  chain = begin_with(DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(1), NULL, NULL));
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(0), NULL, &nine));
  ck_assert_int_eq(EXPECT(9, 0, 1, 2, 0), 2);
  expect_ok(rlo_chain_pad(chain, DIMS(0), DIMS(1), NULL, &nine));
  ck_assert_int_eq(EXPECT(9, 0, 1, 2, 0, 9), 2);
}

/* The destination's own padding is the outermost fill. */
RLO_TEST(test_ops__padded_destination) {
  const int32_t nine = 9;
  chain = begin_with(DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(0), DIMS(1), NULL, &nine));
  rlo_shape dst = *rlo_chain_shape(chain);
  dst.layout.has_padded_dimensions = true;
  dst.layout.padded_dimensions[0] = 5;
  dst.layout.fill = RLO_FILL_ONE;
  ck_assert_int_eq(expect_in(&dst, ENTRIES(1, 2, 9, 1, 1), 5), 2);
  dst.layout.fill = RLO_FILL_BITS;
  dst.layout.fill_bits[0] = 9;
  ck_assert_int_eq(expect_in(&dst, ENTRIES(1, 2, 9, 9, 9), 5), 1);
}

RLO_TEST(test_ops__reverse) {
  chain = begin_with(DIMS(2, 3), 2);
  expect_ok(rlo_chain_reverse(chain, ENTRIES(1), 1));
  EXPECT(3, 2, 1, 6, 5, 4);
  expect_ok(rlo_chain_reverse(chain, ENTRIES(1, 0), 2));
  EXPECT(4, 5, 6, 1, 2, 3);
  expect_refusal(rlo_chain_reverse(chain, ENTRIES(1, 1), 2), RLO_INVALID_ARGUMENT,
                 "reverse: dimensions 1 and 1 are one and the same of an "
                 "array of rank 2");
  expect_refusal(rlo_chain_reverse(chain, ENTRIES(2), 1), RLO_OUT_OF_RANGE,
                 "reverse: dimension 2 of an array of rank 2; -2 to 1 are "
                 "possible");
}

RLO_TEST(test_ops__roll) {
  chain = begin_with(DIMS(2, 3), 2);
  expect_ok(rlo_chain_roll(chain, DIMS(1), ENTRIES(1), 1));
  /* The elements that stay in front of the edge, and those that wrap. */
  ck_assert_int_eq(EXPECT(3, 1, 2, 6, 4, 5), 2);
  expect_ok(rlo_chain_roll(chain, DIMS(-1, 0), ENTRIES(1, 0), 2));
  EXPECT(1, 2, 3, 4, 5, 6);
  rlo_chain_release(chain);
  chain = begin_with(DIMS(2, 3), 2);
  /* Shifts of one dimension add up: 2 + 2 = 1 modulo 3. */
  expect_ok(rlo_chain_roll(chain, DIMS(2, 2), ENTRIES(1, 1), 2));
  ck_assert_int_eq(EXPECT(3, 1, 2, 6, 4, 5), 2);
  rlo_chain_release(chain);
  chain = begin_with(DIMS(2, 3), 2);
  expect_ok(rlo_chain_roll(chain, DIMS(INT64_MIN, INT64_MAX), ENTRIES(0, 0), 2));
  ck_assert_int_eq(EXPECT(4, 5, 6, 1, 2, 3), 2);
  expect_refusal(rlo_chain_roll(chain, DIMS(1), ENTRIES(2), 1), RLO_OUT_OF_RANGE,
                 "roll: dimension 2 of an array of rank 2; -2 to 1 are "
                 "possible");
  rlo_chain_release(chain);
  chain = begin_with(DIMS(0, 3), 2);
  expect_ok(rlo_chain_roll(chain, DIMS(5), ENTRIES(0), 1));
}

RLO_TEST(test_ops__broadcast_in_dim) {
  chain = begin_with(DIMS(2), 1);
  expect_ok(rlo_chain_broadcast_in_dim(chain, DIMS(2, 3), 2, ENTRIES(0)));
  EXPECT(1, 1, 1, 2, 2, 2);
  rlo_chain_release(chain);
  chain = begin_with(DIMS(1, 2), 2);
  expect_ok(rlo_chain_broadcast_in_dim(chain, DIMS(2, 3), 2, ENTRIES(1, 0)));
  EXPECT(1, 1, 1, 2, 2, 2);
  expect_refusal(rlo_chain_broadcast_in_dim(chain, DIMS(2, 3), 2, ENTRIES(1, 0)),
                 RLO_INVALID_ARGUMENT,
                 "broadcast_in_dim: dimension 0 of size 2 cannot become dimension 1 of "
                 "size 3; only size 1 can");
  expect_refusal(rlo_chain_broadcast_in_dim(chain, DIMS(2, 3), 2, ENTRIES(0, 0)),
                 RLO_INVALID_ARGUMENT,
                 "broadcast_in_dim: dimensions 0 and 0 are one and the same of an array "
                 "of rank 2");
}

RLO_TEST(test_ops__tile_and_repeat) {
  chain = begin_with(DIMS(1, 2), 2);
  expect_ok(rlo_chain_tile(chain, DIMS(2, 2)));
  EXPECT(1, 2, 1, 2, 1, 2, 1, 2);
  rlo_chain_release(chain);
  chain = begin_with(DIMS(3), 1);
  expect_ok(rlo_chain_repeat(chain, DIMS(2)));
  EXPECT(1, 1, 2, 2, 3, 3);
  expect_refusal(rlo_chain_repeat(chain, DIMS(-1)), RLO_INVALID_ARGUMENT,
                 "repeat: times[0]=-1 is negative");
}

RLO_TEST(test_ops__reshape) {
  chain = begin_with(DIMS(2, 3), 2);
  expect_ok(rlo_chain_transpose(chain, ENTRIES(1, 0)));
  expect_ok(rlo_chain_reshape(chain, DIMS(-1, 1, 3), 3));
  expect_dims(DIMS(2, 1, 3), 3);
  EXPECT(1, 4, 2, 5, 3, 6);
  expect_refusal(rlo_chain_reshape(chain, DIMS(4, -1), 2), RLO_INVALID_ARGUMENT,
                 "reshape: no size of dimension 1 makes 6 elements 4 times "
                 "something");
  expect_refusal(rlo_chain_reshape(chain, DIMS(-1, -1), 2), RLO_INVALID_ARGUMENT,
                 "reshape: dimensions 0 and 1 are both -1");
  expect_refusal(rlo_chain_reshape(chain, DIMS(5), 1), RLO_INVALID_ARGUMENT,
                 "reshape: 6 elements cannot become 5");
}

/* Also if the dimensions that both have are equal. */
RLO_TEST(test_ops__a_destination_has_the_dimensions_of_the_result) {
  chain = begin_with(DIMS(2, 3), 2);
  rlo_problem_list *list;
  rlo_shape dst = array(DIMS(2), 1);
  expect_refusal(rlo_chain_lower(chain, &dst, &list), RLO_INVALID_ARGUMENT,
                 "the chain's result has rank 2, the destination rank 1");
  dst = array(DIMS(2, 4), 2);
  expect_refusal(rlo_chain_lower(chain, &dst, &list), RLO_INVALID_ARGUMENT,
                 "dimension 1 of the chain's result is 3, of the destination "
                 "4; they must be equal");
}

/* With what lies behind its elements, on both sides. */
RLO_TEST(test_ops__tells_the_bytes_of_its_memories) {
  static const char text[] = "s32[2,3]{1,0:T(4,8)}";
  rlo_shape tiled;
  expect_ok(rlo_shape_parse(text, sizeof text - 1, &tiled));
  expect_ok(rlo_chain_create(&tiled, &chain));
  expect_ok(rlo_chain_transpose(chain, ENTRIES(1, 0)));
  rlo_problem_list *list;
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  const rlo_problem *problem = rlo_problem_list_get(list, 0);
  ck_assert_int_eq(rlo_problem_src_bytes(problem), 4 * 8 * 4);
  ck_assert_int_eq(rlo_problem_dst_bytes(problem), 2 * 3 * 4);
  ck_assert_int_eq(problem->read_bytes, 2 * 3 * 4);
  ck_assert_int_eq(problem->written_bytes, 2 * 3 * 4);
  rlo_problem_list_release(list);

  /* An operand is one even if all of the result is padding. */
  rlo_chain_release(chain);
  chain = begin_with(DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(-2), DIMS(3), NULL, &memory[0][6]));
  EXPECT(7, 7, 7);
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  ck_assert_int_eq(rlo_problem_src_bytes(rlo_problem_list_get(list, 0)), 2 * 4);
  rlo_problem_list_release(list);
}

/* A row-major operand leaves nothing to do, whatever the ranks. */
RLO_TEST(test_ops__reshape_of_plain_is_a_copy) {
  int64_t twos[30];
  for (int32_t k = 0; k < 30; ++k) {
    twos[k] = 2;
  }
  chain = begin_with(twos, 30);
  expect_ok(rlo_chain_reshape(chain, DIMS(-1), 1));
  rlo_problem_list *list;
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  ck_assert_int_eq(rlo_problem_list_count(list), 1);
  rlo_problem problem = *rlo_problem_list_get(list, 0);
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  ck_assert_int_eq(problem.num_axes, 1);
  ck_assert_int_eq(problem.num_terms, 0);
  ck_assert_int_eq(problem.src.axis[0], 1);
  ck_assert_int_eq(problem.dst.axis[0], 1);
  rlo_problem_list_release(list);
}

/* Quotients that are left after a slice of a tiled array. */
static int32_t terms_of_tiled_slice(int64_t begin, int64_t end) {
  rlo_layout layout = rlo_layout_row_major(1);
  rlo_shape src;
  rlo_problem_list *list;
  expect_ok(rlo_layout_add_tile(&layout, DIMS(3, 8), 2));
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_S32, DIMS(100), 1, &layout, &src));
  expect_ok(rlo_chain_create(&src, &chain));
  expect_ok(rlo_chain_slice(chain, &begin, &end, NULL));
  expect_ok(rlo_chain_reverse(chain, ENTRIES(0), 1));
  expect_ok(rlo_chain_lower(chain, NULL, &list));
  rlo_problem problem = *rlo_problem_list_get(list, 0);
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
  chain = NULL;
  expect_ok(rlo_problem_canonicalize(&problem, 0, NULL, NULL));
  return problem.num_terms;
}

/* The box is counted from the beginning of the tile; one that is shorter than a
 * tile is not worth it. */
RLO_TEST(test_ops__slice_within_tiles_splits) {
  ck_assert_int_eq(terms_of_tiled_slice(0, 96), 0);
  ck_assert_int_eq(terms_of_tiled_slice(5, 90), 0);
  ck_assert_int_eq(terms_of_tiled_slice(5, 12), 1);
}

/* A name or number out of place is told, and the chain stays. */
RLO_TEST(test_ops__split_stack_unstack) {
  chain = begin_with(DIMS(2, 3), 2);
  rlo_chain *other = begin_with(DIMS(2, 3), 2);
  expect_refusal(rlo_chain_split(chain, DIMS(1, 1), 2, 1, 0), RLO_INVALID_ARGUMENT,
                 "split: the sizes add up to 2, dimension 1 is 3");
  expect_refusal(rlo_chain_split(chain, DIMS(4, -1), 2, 1, 0), RLO_INVALID_ARGUMENT,
                 "split: sizes[1]=-1 is negative or too large");
  expect_refusal(rlo_chain_split(chain, DIMS(1, 2), 2, 1, 2), RLO_OUT_OF_RANGE,
                 "split: part 2 of 2");
  expect_refusal(rlo_chain_unstack(chain, 1, 3), RLO_OUT_OF_RANGE,
                 "unstack: index 3 in dimension 1 of size 3");
  expect_refusal(rlo_chain_stack(chain, (const rlo_chain *[]){other}, 1, 3), RLO_OUT_OF_RANGE,
                 "stack: dimension 3 of an array of rank 3; -3 to 2 are "
                 "possible");
  expect_ok(rlo_chain_split(chain, DIMS(1, 2), 2, 1, 1));
  expect_refusal(rlo_chain_stack(chain, (const rlo_chain *[]){other}, 1, 0), RLO_INVALID_ARGUMENT,
                 "stack: array 1 has another type or other dimensions than array 0");
  expect_ok(rlo_chain_split(other, DIMS(2, 1), 2, 1, 0));
  expect_ok(rlo_chain_stack(chain, (const rlo_chain *[]){other}, 1, 1));
  expect_dims(DIMS(2, 2, 2), 3);
  EXPECT(2, 3, 101, 102, 5, 6, 104, 105);
  expect_ok(rlo_chain_unstack(chain, 2, 1));
  EXPECT(3, 102, 6, 105);
  rlo_chain_release(other);
}

RLO_TEST(test_ops__concatenate) {
  chain = begin_with(DIMS(2, 1), 2);
  rlo_chain *other = begin_with(DIMS(2, 2), 2);
  expect_ok(rlo_chain_concatenate(chain, (const rlo_chain *[]){other, chain}, 2, 1));
  expect_dims(DIMS(2, 4), 2);
  ck_assert_int_eq(rlo_chain_num_operands(chain), 3);
  ck_assert_int_eq(EXPECT(1, 101, 102, 201, 2, 103, 104, 202), 3);
  expect_refusal(rlo_chain_concatenate(chain, (const rlo_chain *[]){other}, 1, 0),
                 RLO_INVALID_ARGUMENT,
                 "concatenate: dimension 1 of array 1 is 2, of array 0 it is 4; only "
                 "dimension 0 may differ");
  ck_assert_int_eq(rlo_chain_num_operands(chain), 3);
  rlo_chain_release(other);
}

/* Padding of the whole is written once, before the parts; padding of a part
 * stays in that part. */
RLO_TEST(test_ops__padded_concatenation) {
  const int32_t nine = 9;
  chain = begin_with(DIMS(2), 1);
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(0), NULL, NULL));
  rlo_chain *other = begin_with(DIMS(1), 1);
  expect_ok(rlo_chain_pad(other, DIMS(0), DIMS(1), NULL, &nine));
  expect_ok(rlo_chain_concatenate(chain, (const rlo_chain *[]){other}, 1, 0));
  expect_ok(rlo_chain_pad(chain, DIMS(1), DIMS(1), NULL, NULL));
  ck_assert_int_eq(EXPECT(0, 0, 1, 2, 101, 9, 0), 3);
  expect_ok(rlo_chain_reverse(chain, ENTRIES(0), 1));
  ck_assert_int_eq(EXPECT(0, 9, 101, 2, 1, 0, 0), 3);
  rlo_chain_release(other);
}

RLO_TEST(test_ops__results_are_row_major) {
  rlo_shape src = array(DIMS(2, 3), 2);
  src.layout = rlo_layout_column_major(2);
  rlo_chain *other = NULL;
  rlo_chain *third = NULL;
  expect_ok(rlo_chain_create(&src, &other));
  expect_ok(rlo_chain_pad(other, DIMS(1, 0), NULL, NULL, NULL));
  rlo_shape wanted = array(DIMS(3, 3), 2);
  ck_assert(rlo_shape_equal(rlo_chain_shape(other), &wanted));
  expect_ok(rlo_chain_slice(other, DIMS(0, 1), DIMS(2, 3), NULL));
  wanted = array(DIMS(2, 2), 2);
  ck_assert(rlo_shape_equal(rlo_chain_shape(other), &wanted));
  expect_ok(rlo_chain_clone(other, &third));
  expect_ok(rlo_chain_concatenate(other, (const rlo_chain *[]){third, third}, 2, 0));
  wanted = array(DIMS(6, 2), 2);
  ck_assert(rlo_shape_equal(rlo_chain_shape(other), &wanted));
  rlo_chain_release(third);
  rlo_chain_release(other);
}

RLO_TEST(test_ops__refuses_other_destinations) {
  chain = begin_with(DIMS(2, 3), 2);
  rlo_shape dst = array(DIMS(3, 2), 2);
  rlo_problem_list *list;
  expect_refusal(rlo_chain_lower(chain, &dst, &list), RLO_INVALID_ARGUMENT,
                 "dimension 0 of the chain's result is 2, of the destination "
                 "3; they must be equal");
  ck_assert_ptr_null(list);
}

/* ------------------------------------------------------------------- place */

RLO_TEST(test_ops__a_placed_array_is_a_box_of_a_larger_one) {
  chain = begin_with(DIMS(2, 2), 2);
  expect_ok(rlo_chain_place(chain, DIMS(1, 0), DIMS(3, 3)));
  rlo_shape plain = array(DIMS(3, 3), 2);
  const int32_t none = (int32_t)0xeeeeeeee;
  const int32_t wanted[] = {none, none, none, 1, 2, none, 3, 4, none};
  ck_assert_int_eq(expect_in(&plain, wanted, 9), 1);
}

/* The fill comes first, and elements of no value have it too. */
RLO_TEST(test_ops__a_placed_array_lies_in_the_fill_of_a_layout) {
  chain = begin_with(DIMS(2, 1), 2);
  expect_ok(rlo_chain_place(chain, DIMS(0, 1), DIMS(2, 3)));
  rlo_shape padded = array(DIMS(2, 3), 2);
  padded.layout.has_padded_dimensions = true;
  padded.layout.padded_dimensions[0] = 2;
  padded.layout.padded_dimensions[1] = 4;
  padded.layout.fill_bits[0] = 7;
  padded.layout.fill = RLO_FILL_BITS;
  const int32_t filled[] = {7, 1, 7, 7, 7, 2, 7, 7};
  ck_assert_int_eq(expect_in(&padded, filled, 8), 2);
  padded.layout.fill = RLO_FILL_UNKNOWN;
  const int32_t none = (int32_t)0xeeeeeeee;
  const int32_t left[] = {none, 1, none, none, none, 2, none, none};
  ck_assert_int_eq(expect_in(&padded, left, 8), 1);
}

static void expect_out_of_range(rlo_status status) {
  ck_assert_int_eq(status, RLO_OUT_OF_RANGE);
}

RLO_TEST(test_ops__a_placed_array_has_to_fit) {
  chain = begin_with(DIMS(2, 2), 2);
  expect_out_of_range(rlo_chain_place(chain, DIMS(2, 0), DIMS(3, 3)));
  expect_out_of_range(rlo_chain_place(chain, DIMS(-1, 0), DIMS(3, 3)));
  expect_out_of_range(rlo_chain_place(chain, DIMS(INT64_MAX, 0), DIMS(3, 3)));
}
