/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

/* Dimension numbers from the end: whatever takes one does the same for -1 and
 * for rank - 1, and refuses the numbers beside both ends. */

#define DIMS(...)    ((int64_t[]){__VA_ARGS__})
#define ENTRIES(...) ((int32_t[]){__VA_ARGS__})
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

/* --------------------------------------------------------------- operations */

/* An operation on s32[2,3,4] at dimension `dim`, which is 0, 1 or 2, or the
 * same from the end. `other` is a chain of its own of that shape. */
typedef struct named_op {
  const char *name;
  rlo_status (*append)(rlo_chain *chain, rlo_chain *other, int32_t dim);
  /** The number of dimensions that `dim` counts in; 0: 3. */
  int32_t rank;
  /** The lowest number that it takes: 1 for channels. */
  int32_t first;
} named_op;

static rlo_status transpose(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  /* Every dimension, where `dim` is none of them. */
  int32_t rest[3] = {0};
  (void)other;
  for (int32_t k = 0, at = 0; k < 3; ++k) {
    if (k != dim && k - 3 != dim) {
      rest[at++] = k;
    }
  }
  return rlo_chain_transpose(chain, ENTRIES(dim, rest[1], rest[0] - 3));
}

static rlo_status reverse(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  return rlo_chain_reverse(chain, &dim, 1);
}

static rlo_status roll(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  return rlo_chain_roll(chain, DIMS(1, 1), ENTRIES(dim, -3), 2);
}

/* The three become dimensions of five, of which dimension 1 is not named. */
static rlo_status broadcast(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  int32_t at = dim < 0 ? dim + 5 : dim;
  int64_t dims[5] = {7, 7, 7, 7, 7};
  int32_t from[3] = {0, 0, dim};
  for (int32_t k = 0, to = 0; k < 2; ++k, ++to) {
    to += to == at;
    from[k] = to;
    dims[to] = 2 + k;
  }
  dims[at < 0 || at > 4 ? 0 : at] = 4;
  return rlo_chain_broadcast_in_dim(chain, dims, 5, from);
}

static rlo_status concatenate(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  const rlo_chain *const others[] = {other};
  return rlo_chain_concatenate(chain, others, 1, dim);
}

static rlo_status stack(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  const rlo_chain *const others[] = {other};
  return rlo_chain_stack(chain, others, 1, dim);
}

static rlo_status split(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  int64_t k = dim < 0 ? dim + INT64_C(3) : dim;
  return rlo_chain_split(chain, DIMS(1, 1 + k), 2, dim, 1);
}

static rlo_status unstack(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  return rlo_chain_unstack(chain, dim, 1);
}

/* s32[2,3,4] as s32[2,6,6,6,...]: sizes that blocks divide. */
static rlo_status to_depth(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  rlo_status status = rlo_chain_pad(chain, NULL, DIMS(0, 3, 2), NULL, NULL);
  return status == RLO_OK ? rlo_chain_space_to_depth(chain, 2, dim) : status;
}

static rlo_status to_space(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  rlo_status status = rlo_chain_pad(chain, NULL, DIMS(0, 3, 2), NULL, NULL);
  return status == RLO_OK ? rlo_chain_depth_to_space(chain, 2, dim) : status;
}

static rlo_status gather(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  rlo_shape indices = test_shape_of("s32[5,2]");
  return rlo_chain_gather(chain, &indices, dim, 0);
}

static rlo_status sum(rlo_chain *chain, rlo_chain *other, int32_t dim) {
  (void)other;
  return rlo_chain_sum(chain, &dim, 1, false);
}

static const named_op ops[] = {
    {"transpose", transpose, 3, 0},
    {"reverse", reverse, 3, 0},
    {"roll", roll, 3, 0},
    {"broadcast_in_dim", broadcast, 5, 0},
    {"concatenate", concatenate, 3, 0},
    {"stack", stack, 4, 0},
    {"split", split, 3, 0},
    {"unstack", unstack, 3, 0},
    {"space_to_depth", to_depth, 3, 1},
    {"depth_to_space", to_space, 3, 1},
    {"gather", gather, 3, 0},
    {"sum", sum, 3, 0},
};

static rlo_chain *begin(void) {
  rlo_shape shape = test_shape_of("s32[2,3,4]");
  rlo_chain *chain;
  expect_ok(rlo_chain_create(&shape, &chain));
  return chain;
}

/* The chain of one operation; NULL if it is refused. */
static rlo_chain *chain_of(const named_op *op, int32_t dim) {
  rlo_chain *chain = begin();
  rlo_chain *other = begin();
  rlo_status status = op->append(chain, other, dim);
  rlo_chain_release(other);
  if (status != RLO_OK) {
    rlo_chain_release(chain);
    return NULL;
  }
  return chain;
}

static bool is_same_list(const rlo_problem_list *a, const rlo_problem_list *b) {
  bool is_same = rlo_problem_list_count(a) == rlo_problem_list_count(b);
  for (int32_t n = 0; is_same && n < rlo_problem_list_count(a); ++n) {
    is_same = rlo_problem_list_operand(a, n) == rlo_problem_list_operand(b, n) &&
              rlo_problem_equal(rlo_problem_list_get(a, n), rlo_problem_list_get(b, n));
  }
  return is_same;
}

RLO_TABLE_TEST(test_dimension__operations_count_from_both_ends, ops) {
  const named_op *op = &ops[_i];
  for (int32_t dim = op->first; dim < op->rank; ++dim) {
    rlo_chain *chains[2] = {chain_of(op, dim), chain_of(op, dim - op->rank)};
    rlo_problem_list *lists[2] = {NULL, NULL};
    for (int32_t n = 0; n < 2; ++n) {
      ck_assert_msg(chains[n] != NULL, "%s at %d from end %d: %s", op->name, dim, n,
                    rlo_error_last()->message);
      expect_ok(rlo_chain_lower(chains[n], NULL, &lists[n]));
    }
    ck_assert_msg(rlo_shape_equal(rlo_chain_shape(chains[0]), rlo_chain_shape(chains[1])) &&
                      is_same_list(lists[0], lists[1]),
                  "%s at %d is another one from the end", op->name, dim);
    for (int32_t n = 0; n < 2; ++n) {
      rlo_problem_list_release(lists[n]);
      rlo_chain_release(chains[n]);
    }
  }
}

RLO_TABLE_TEST(test_dimension__operations_refuse_beyond_both_ends, ops) {
  const named_op *op = &ops[_i];
  const int32_t beyond[] = {op->rank, -op->rank - 1, INT32_MIN, INT32_MAX};
  char wanted[64];
  (void)snprintf(wanted, sizeof wanted, "; %d to %d are possible", -op->rank, op->rank - 1);
  for (int32_t n = 0; n < COUNT(beyond); ++n) {
    ck_assert_ptr_null(chain_of(op, beyond[n]));
    ck_assert_msg(strstr(rlo_error_last()->message, wanted) != NULL, "%s at %d: %s", op->name,
                  beyond[n], rlo_error_last()->message);
  }
}

RLO_TEST(test_dimension__two_numbers_for_one_dimension_are_named) {
  rlo_chain *chain = begin();
  expect_refusal(rlo_chain_transpose(chain, ENTRIES(2, 0, -1)), RLO_INVALID_ARGUMENT,
                 "permutation[0]=2 and permutation[2]=-1 are one and the same "
                 "dimension of rank 3");
  expect_refusal(rlo_chain_reverse(chain, ENTRIES(-3, 1, 0), 3), RLO_INVALID_ARGUMENT,
                 "reverse: dimensions -3 and 0 are one and the same of an "
                 "array of rank 3");
  expect_refusal(rlo_chain_sum(chain, ENTRIES(1, -2), 2, true), RLO_INVALID_ARGUMENT,
                 "sum: dimensions 1 and -2 are one and the same of an array of "
                 "rank 3");
  expect_refusal(rlo_chain_broadcast_in_dim(chain, DIMS(2, 3, 4), 3, ENTRIES(0, 2, -1)),
                 RLO_INVALID_ARGUMENT,
                 "broadcast_in_dim: dimensions 2 and -1 are one and the same of an array "
                 "of rank 3");
  rlo_chain_release(chain);
  rlo_shape shape = test_shape_of("f32[1,2,1]");
  expect_refusal(rlo_shape_delete_dims(&shape, ENTRIES(0, -3), 2, &shape), RLO_INVALID_ARGUMENT,
                 "dimensions 0 and -3 are one and the same of an array of rank "
                 "3");
  rlo_shape scalar = test_shape_of("s32[]");
  expect_ok(rlo_chain_create(&scalar, &chain));
  expect_refusal(rlo_chain_unstack(chain, -1, 0), RLO_OUT_OF_RANGE,
                 "unstack: dimension -1 of an array of rank 0, which has none");
  rlo_chain_release(chain);
}

RLO_TEST(test_dimension__relayouts_count_from_both_ends) {
  rlo_shape src = test_shape_of("f32[2,3,4]");
  rlo_shape dst = test_shape_of("f32[4,2,3]{0,1,2}");
  static rlo_problem a, b;
  expect_ok(rlo_relayout_lower(&src, &dst, ENTRIES(2, 0, 1), &a));
  expect_ok(rlo_relayout_lower(&src, &dst, ENTRIES(-1, -3, 1), &b));
  ck_assert(rlo_problem_equal(&a, &b));
  expect_ok(rlo_relayout_combine(&src, &dst, ENTRIES(2, 0, -2), NULL, &b));
  ck_assert(rlo_problem_equal(&a, &b));
  expect_refusal(rlo_relayout_lower(&src, &dst, ENTRIES(2, 0, 0), &b), RLO_INVALID_ARGUMENT,
                 "permutation[1]=0 and permutation[2]=0 are one and the same "
                 "dimension of rank 3");
}

/* From the end, `dim` counts in the result, as the gather's counts in what it
 * reads: s32[5,3,2] sums over ids of [3,2], and over ids of []. */
RLO_TEST(test_dimension__segment_sums_count_in_the_result) {
  const struct {
    const char *ids;
    int32_t batch_dims, dim, from_end;
    const char *result;
  } cases[] = {
      {"s32[3,2]", 0, 1, -1, "s32[5,7]"},   {"s32[5,3,2]", 0, 0, -1, "s32[7]"},
      {"s32[3]", 0, 1, -2, "s32[5,7,2]"},   {"s32[5]", 0, 0, -3, "s32[7,3,2]"},
      {"s32[5,3]", 1, 1, -2, "s32[5,7,2]"}, {"s32[]", 0, 3, -1, "s32[5,3,2,7]"},
      {"s32[]", 0, 0, -4, "s32[7,5,3,2]"},
  };

  rlo_shape src = test_shape_of("s32[5,3,2]");
  for (int32_t n = 0; n < COUNT(cases); ++n) {
    rlo_shape ids = test_shape_of(cases[n].ids);
    rlo_shape shapes[2];
    rlo_segment_sum *sums[2];
    const int32_t dims[2] = {cases[n].dim, cases[n].from_end};
    for (int32_t k = 0; k < 2; ++k) {
      expect_ok(rlo_segment_sum_infer(&src, &ids, dims[k], cases[n].batch_dims, 7, &shapes[k]));
      test_expect_shape(&shapes[k], cases[n].result);
      expect_ok(
          rlo_segment_sum_create(&src, &ids, dims[k], cases[n].batch_dims, &shapes[k], &sums[k]));
    }
    ck_assert(is_same_list(rlo_segment_sum_problems(sums[0]), rlo_segment_sum_problems(sums[1])));
    rlo_segment_sum_release(sums[0]);
    rlo_segment_sum_release(sums[1]);
  }
  rlo_shape ids = test_shape_of("s32[3,2]");
  rlo_shape shape;
  expect_refusal(rlo_segment_sum_infer(&src, &ids, -3, 0, 7, &shape), RLO_OUT_OF_RANGE,
                 "segment_sum: dimension -3 of an array of rank 2; -2 to 1 are "
                 "possible");
  ids = test_shape_of("s32[5,3,2,1]");
  expect_refusal(rlo_segment_sum_infer(&src, &ids, -1, 0, 7, &shape), RLO_INVALID_ARGUMENT,
                 "segment_sum: the array of ids has 4 dimensions of rows, the "
                 "source of rank 3 has 3 from dimension 0 on");
  expect_refusal(rlo_segment_sum_infer(&src, &ids, -1, 5, 7, &shape), RLO_OUT_OF_RANGE,
                 "segment_sum: 5 batch dimensions; there may be 0 to 0, for "
                 "they come before dimension 0 and the array of ids has rank 4");
}

/* -------------------------------------------------------------- descriptors */

typedef rlo_status (*edit)(const rlo_shape *shape, int32_t dim, rlo_shape *out_shape);

static rlo_status delete_one(const rlo_shape *shape, int32_t dim, rlo_shape *out_shape) {
  return rlo_shape_delete_dims(shape, &dim, 1, out_shape);
}

static rlo_status delete_of_layout(const rlo_shape *shape, int32_t dim, rlo_shape *out_shape) {
  rlo_status status = rlo_shape_filter_dims(shape, (bool[]){true, true, false}, out_shape);
  return status == RLO_OK ? rlo_layout_delete_dim(&shape->layout, 3, dim, &out_shape->layout)
                          : status;
}

static const edit edits[] = {delete_one, delete_of_layout, rlo_shape_move_dim_to_major,
                             rlo_shape_move_dim_to_minor};

RLO_TABLE_TEST(test_dimension__edits_count_from_both_ends, edits) {
  rlo_shape shape = test_shape_of("f32[2,3,4]{1,2,0:T(2,2)}");
  rlo_shape a;
  rlo_shape b;
  for (int32_t dim = 0; dim < 3; ++dim) {
    expect_ok(edits[_i](&shape, dim, &a));
    expect_ok(edits[_i](&shape, dim - 3, &b));
    ck_assert(rlo_shape_equal(&a, &b));
  }
  expect_refusal(edits[_i](&shape, -4, &a), RLO_OUT_OF_RANGE,
                 "dimension -4 of an array of rank 3; -3 to 2 are possible");
  expect_refusal(edits[_i](&shape, 3, &a), RLO_OUT_OF_RANGE,
                 "dimension 3 of an array of rank 3; -3 to 2 are possible");
}

RLO_TEST(test_dimension__permuted_shapes_count_from_both_ends) {
  rlo_shape shape = test_shape_of("f32[2,3,4]{1,2,0}");
  rlo_shape out;
  expect_ok(rlo_shape_permute_dims(&shape, ENTRIES(-1, 0, -2), &out));
  test_expect_shape(&out, "f32[4,2,3]{2,0,1}");
  expect_ok(rlo_shape_permute_dims_ignoring_layout(&shape, ENTRIES(-1, 0, -2), &out));
  test_expect_shape(&out, "f32[4,2,3]{1,2,0}");
  bool is_bitcast = false;
  rlo_shape dst = test_shape_of("f32[4,2,3]{2,0,1}");
  expect_ok(rlo_shape_transpose_is_bitcast(&shape, &dst, ENTRIES(-1, 0, -2), 0, &is_bitcast));
  ck_assert(is_bitcast);
  rlo_shape plain = test_shape_of("f32[2,3,4]");
  rlo_normalized_transpose a;
  rlo_normalized_transpose b;
  expect_ok(rlo_transpose_normalize(&plain, ENTRIES(1, 2, 0), &a));
  expect_ok(rlo_transpose_normalize(&plain, ENTRIES(-2, -1, 0), &b));
  ck_assert_mem_eq(&a, &b, sizeof a);
}

RLO_TEST(test_dimension__places_count_from_both_ends) {
  rlo_shape shape = test_shape_of("f32[2,3]");
  rlo_shape out;
  expect_ok(rlo_shape_insert_dims(&shape, -1, DIMS(5), 1, &out));
  test_expect_shape(&out, "f32[2,3,5]{1,0,2}");
  expect_ok(rlo_shape_insert_dims(&shape, -3, DIMS(5, 6), 2, &out));
  test_expect_shape(&out, "f32[5,6,2,3]");
  expect_refusal(rlo_shape_insert_dims(&shape, -4, DIMS(5), 1, &out), RLO_OUT_OF_RANGE,
                 "place -4 for new dimensions in a shape of rank 2; -3 to 2 "
                 "are possible");
}

RLO_TEST(test_dimension__queries_count_from_both_ends) {
  rlo_shape shape = test_shape_of("f32[4,6,8]{1,2,0:SC(0:1)(2:1,4)}");
  bool answers[2] = {false, false};
  for (int32_t dim = 0; dim < 3; ++dim) {
    expect_ok(rlo_shape_is_effectively_most_major(&shape, dim, &answers[0]));
    expect_ok(rlo_shape_is_effectively_most_major(&shape, dim - 3, &answers[1]));
    ck_assert_int_eq(answers[0], answers[1]);
    ck_assert_int_eq(rlo_layout_max_split_size(&shape.layout, shape.dims, 3, dim),
                     rlo_layout_max_split_size(&shape.layout, shape.dims, 3, dim - 3));
  }
  expect_refusal(rlo_shape_is_effectively_most_major(&shape, -4, answers), RLO_OUT_OF_RANGE,
                 "dimension -4 of an array of rank 3; -3 to 2 are possible");
  const rlo_layout *layout = &shape.layout;
  ck_assert(rlo_layout_are_dims_consecutive(layout, 3, ENTRIES(-1, 1), 2));
  ck_assert(!rlo_layout_are_dims_consecutive(layout, 3, ENTRIES(-3, 1), 2));
  ck_assert(!rlo_layout_are_dims_consecutive(layout, 3, ENTRIES(-4), 1));
  bool are_kept = false;
  int32_t to[2];
  expect_ok(rlo_reshape_leaves_dims_unmodified(DIMS(4, 6, 8), 3, DIMS(4, 2, 3, 8), 4,
                                               ENTRIES(0, -1), 2, &are_kept, to));
  ck_assert(are_kept && to[0] == 0 && to[1] == 3);
}

/* Orders of layouts are XLA's, which have no numbers from the end. */
RLO_TEST(test_dimension__orders_of_layouts_do_not) {
  rlo_layout layout;
  ck_assert_int_eq(rlo_layout_from_minor_to_major(ENTRIES(-1, 0), 2, &layout),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_layout_from_major_to_minor(ENTRIES(0, -1), 2, &layout),
                   RLO_INVALID_ARGUMENT);
  rlo_shape shape;
  ck_assert_int_eq(test_parse_shape("f32[2,3]{-1,0}", &shape), RLO_INVALID_ARGUMENT);
}
