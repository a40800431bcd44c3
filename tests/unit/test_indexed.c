/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/shape_of.h"
#include "support/suite.h"

static rlo_chain *gather(const char *src, const char *indices, int32_t dim, int32_t batch_dims) {
  rlo_shape src_shape = test_shape_of(src);
  rlo_shape index_shape = test_shape_of(indices);
  rlo_chain *chain;
  ck_assert_int_eq(rlo_chain_create(&src_shape, &chain), RLO_OK);
  ck_assert_msg(rlo_chain_gather(chain, &index_shape, dim, batch_dims) == RLO_OK, "%s",
                rlo_error_last()->message);
  return chain;
}

/* Lower, run, compare 32-bit elements; how many problems it took. */
static int32_t expect(rlo_chain *chain, const char *dst, const void *x, const void *indices,
                      const int32_t *wanted, int32_t count) {
  rlo_shape dst_shape;
  if (dst != NULL) {
    dst_shape = test_shape_of(dst);
  }
  rlo_problem_list *list;
  ck_assert_msg(rlo_chain_lower(chain, dst == NULL ? NULL : &dst_shape, &list) == RLO_OK, "%s",
                rlo_error_last()->message);
  int32_t got[64];
  memset(got, 0xee, sizeof got);
  const void *operands[] = {x, indices};
  ck_assert_msg(rlo_problem_list_run_host(list, operands, got) == RLO_OK, "%s",
                rlo_error_last()->message);
  for (int32_t k = 0; k < count; ++k) {
    ck_assert_msg(got[k] == wanted[k], "element %d is %d, not %d", k, got[k], wanted[k]);
  }
  ck_assert_int_eq((uint32_t)got[count], 0xeeeeeeeeu);
  int32_t problems = rlo_problem_list_count(list);
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
  return problems;
}

#define INTS(...)  ((const int32_t[]){__VA_ARGS__})
#define LONGS(...) ((const int64_t[]){__VA_ARGS__})

RLO_TEST(test_indexed__takes_rows) {
  const int32_t *x = INTS(1, 2, 3, 4, 5, 6);
  ck_assert_int_eq(expect(gather("s32[3,2]", "s32[4]", 0, 0), NULL, x, INTS(2, 0, 0, 1),
                          INTS(5, 6, 1, 2, 1, 2, 3, 4), 8),
                   1);
}

RLO_TEST(test_indexed__takes_columns_by_long_indices) {
  const int32_t *x = INTS(1, 2, 3, 4, 5, 6);
  expect(gather("s32[2,3]", "s64[2,2]", 1, 0), NULL, x, LONGS(2, 0, 1, 1),
         INTS(3, 1, 2, 2, 6, 4, 5, 5), 8);
}

RLO_TEST(test_indexed__a_scalar_index_drops_the_dimension) {
  expect(gather("s32[3,2]", "s32[]", 0, 0), NULL, INTS(1, 2, 3, 4, 5, 6), INTS(1), INTS(3, 4), 2);
}

RLO_TEST(test_indexed__each_batch_has_its_own_indices) {
  expect(gather("s32[2,3]", "s32[2,2]", 1, 1), NULL, INTS(1, 2, 3, 4, 5, 6), INTS(0, 2, 1, 1),
         INTS(1, 3, 5, 5), 4);
}

RLO_TEST(test_indexed__what_names_nothing_gives_zeros) {
  const int32_t *x = INTS(7, 8, 9);
  expect(gather("s32[3]", "s32[6]", 0, 0), NULL, x, INTS(-1, 3, 2, INT32_MIN, INT32_MAX, 0),
         INTS(0, 0, 9, 0, 0, 7), 6);
  expect(gather("s32[3]", "s64[4]", 0, 0), NULL, x,
         LONGS(INT64_C(1) << 32, INT64_MIN, INT64_MAX, 1), INTS(0, 0, 0, 8), 4);
  expect(gather("s32[0]", "s32[2]", 0, 0), NULL, x, INTS(0, 1), INTS(0, 0), 2);
}

RLO_TEST(test_indexed__layouts_of_all_three_count) {
  /* The source in tiles of 2 along the dimension that is gathered, so that a
   * quotient of the index is needed; the indices and the result padded. */
  const int32_t *x = INTS(1, 2, 3, 4, 5, -1);
  ck_assert_int_eq(
      expect(gather("s32[5]{0:T(2)}", "s32[3]{0:pad(4)}", 0, 0), "s32[3]{0:pad(5)fill(zero)}", x,
             INTS(4, 9, 1, 2), INTS(5, 0, 2, 0, 0), 5),
      1);
  /* Another fill than the zeros of what names nothing: two problems. */
  ck_assert_int_eq(expect(gather("s32[5]{0:T(2)}", "s32[3]", 0, 0), "s32[3]{0:pad(5)fill(one)}", x,
                          INTS(4, 9, 1), INTS(5, 0, 2, 1, 1), 5),
                   2);
}

RLO_TEST(test_indexed__is_one_link_of_a_chain) {
  rlo_chain *chain = gather("s32[3,2]", "s32[2]", 0, 0);
  ck_assert_int_eq(rlo_chain_transpose(chain, (int32_t[]){1, 0}), RLO_OK);
  ck_assert_int_eq(rlo_chain_reverse(chain, (int32_t[]){1}, 1), RLO_OK);
  ck_assert_int_eq(rlo_chain_num_operands(chain), 2);
  ck_assert_int_eq(expect(chain, NULL, INTS(1, 2, 3, 4, 5, 6), INTS(2, 0), INTS(1, 5, 2, 6), 4), 1);
}

RLO_TEST(test_indexed__two_gathers_of_one_part_are_too_many) {
  rlo_chain *chain = gather("s32[3,2]", "s32[2]", 0, 0);
  rlo_shape indices = test_shape_of("s32[2]");
  ck_assert_int_eq(rlo_chain_gather(chain, &indices, 1, 0), RLO_OK);
  rlo_problem_list *list;
  expect_refusal(rlo_chain_lower(chain, NULL, &list), RLO_UNSUPPORTED,
                 "the chain gathers with operand 2 and with operand 1; one "
                 "movement loads from one array of indices");
  rlo_chain_release(chain);
}

RLO_TEST(test_indexed__joined_chains_keep_their_indices) {
  rlo_chain *first = gather("s32[3]", "s32[2]", 0, 0);
  rlo_chain *second = gather("s32[2]", "s64[1]", 0, 0);
  ck_assert_int_eq(rlo_chain_concatenate(first, (const rlo_chain *const[]){second}, 1, 0), RLO_OK);
  rlo_chain_release(second);
  ck_assert_int_eq(rlo_chain_num_operands(first), 4);
  rlo_problem_list *list;
  ck_assert_int_eq(rlo_chain_lower(first, NULL, &list), RLO_OK);
  int32_t got[3] = {0};
  const void *operands[] = {INTS(1, 2, 3), INTS(2, 1), INTS(4, 5), LONGS(1)};
  ck_assert_int_eq(rlo_problem_list_run_host(list, operands, got), RLO_OK);
  ck_assert_mem_eq(got, INTS(3, 2, 5), sizeof got);
  ck_assert_int_eq(rlo_problem_list_indices(list, 0), 1);
  ck_assert_int_eq(rlo_problem_list_indices(list, 1), 3);
  ck_assert_int_eq(rlo_problem_list_indices(list, 2), -1);
  rlo_problem_list_release(list);
  rlo_chain_release(first);
}

static rlo_status infer_gather(const rlo_shape *src, const rlo_shape *indices, int32_t dim,
                               int32_t batch_dims, rlo_shape *out_shape) {
  rlo_chain *chain = NULL;
  ck_assert_int_eq(rlo_chain_create(src, &chain), RLO_OK);
  rlo_status status = rlo_chain_gather(chain, indices, dim, batch_dims);
  *out_shape = *rlo_chain_shape(chain);
  rlo_chain_release(chain);
  return status;
}

RLO_TEST(test_indexed__infers_the_shape) {
  rlo_shape src = test_shape_of("f32[2,3,4]{0,1,2}");
  rlo_shape indices = test_shape_of("s32[2,5,6]");
  rlo_shape shape;
  ck_assert_int_eq(infer_gather(&src, &indices, 1, 1, &shape), RLO_OK);
  rlo_shape wanted = test_shape_of("f32[2,5,6,4]");
  ck_assert(rlo_shape_equal(&shape, &wanted));
  ck_assert_int_eq(infer_gather(&src, &indices, 2, 0, &shape), RLO_OK);
  wanted = test_shape_of("f32[2,3,2,5,6]");
  ck_assert(rlo_shape_equal(&shape, &wanted));
}

RLO_TEST(test_indexed__says_what_is_wrong) {
  rlo_shape src = test_shape_of("f32[2,3,4]");
  rlo_shape indices = test_shape_of("s32[2,5]");
  rlo_shape floats = test_shape_of("f32[2,5]");
  rlo_shape other = test_shape_of("s32[7,5]");
  rlo_shape wide = test_shape_of("s32[2,5]{1,0:E(64)}");
  rlo_shape shape;
  expect_refusal(infer_gather(&src, &indices, 3, 0, &shape), RLO_OUT_OF_RANGE,
                 "gather: dimension 3 of an array of rank 3; -3 to 2 are "
                 "possible");
  expect_refusal(infer_gather(&src, &indices, -4, 0, &shape), RLO_OUT_OF_RANGE,
                 "gather: dimension -4 of an array of rank 3; -3 to 2 are "
                 "possible");
  expect_refusal(infer_gather(&src, &floats, 0, 0, &shape), RLO_INVALID_ARGUMENT,
                 "gather: the array of indices is f32; it must be s32 or s64");
  expect_refusal(infer_gather(&src, &wide, 0, 0, &shape), RLO_INVALID_ARGUMENT,
                 "gather: the array of indices is s32 of 64 bits; it must have "
                 "32");
  expect_refusal(infer_gather(&src, &indices, 1, 2, &shape), RLO_OUT_OF_RANGE,
                 "gather: 2 batch dimensions; there may be 0 to 1, for they "
                 "come before dimension 1 and the array of indices has rank 2");
  expect_refusal(infer_gather(&src, &other, 1, 1, &shape), RLO_INVALID_ARGUMENT,
                 "gather: batch dimension 0 is 2 in the array and 7 in the "
                 "array of indices; they must be equal");
}

/* A problem that loads is not run without its indices. */
RLO_TEST(test_indexed__indices_cannot_be_forgotten) {
  rlo_chain *chain = gather("s32[3]", "s32[2]", 0, 0);
  rlo_problem_list *list;
  ck_assert_int_eq(rlo_chain_lower(chain, NULL, &list), RLO_OK);
  const rlo_problem *problem = rlo_problem_list_get(list, 0);
  ck_assert(rlo_problem_loads(problem));
  int32_t got[2];
  expect_refusal(rlo_problem_run_host(problem, INTS(1, 2, 3), got), RLO_INVALID_ARGUMENT,
                 "the problem loads indices; rlo_problem_run_host_indexed takes "
                 "them");
  expect_refusal(rlo_problem_run_host_indexed(problem, INTS(1, 2, 3), NULL, got),
                 RLO_INVALID_ARGUMENT, "'indices' is NULL, but its length is 8");
  char text[600];
  rlo_problem_format(problem, text, sizeof text);
  ck_assert_ptr_nonnull(strstr(text, "q0  = indices[a0] of 32 bits; -1 unless 0 <= it < 3\n"));
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
}

RLO_TEST(test_indexed__what_is_loaded_tells_problems_apart) {
  rlo_chain *chain = gather("s32[3]", "s32[2]", 0, 0);
  rlo_problem_list *list;
  ck_assert_int_eq(rlo_chain_lower(chain, NULL, &list), RLO_OK);
  static rlo_problem a;
  static rlo_problem b;
  a = *rlo_problem_list_get(list, 0);
  b = a;
  ck_assert(rlo_problem_equal(&a, &b));
  ck_assert_uint_eq(rlo_problem_hash(&a), rlo_problem_hash(&b));
  b.index_bits = 64;
  ck_assert(!rlo_problem_equal(&a, &b));
  ck_assert_uint_ne(rlo_problem_hash(&a), rlo_problem_hash(&b));
  b = a;
  b.terms[0].limit = 2;
  ck_assert(!rlo_problem_equal(&a, &b));
  ck_assert_uint_ne(rlo_problem_hash(&a), rlo_problem_hash(&b));
  b = a;
  b.terms[0].kind = RLO_TERM_QUOTIENT;
  ck_assert(!rlo_problem_equal(&a, &b));
  b = a;
  b.index_bits = 16;
  expect_refusal(rlo_problem_canonicalize(&b, 0, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "the problem loads indices of 16 bits from 8 bytes; they have "
                 "32 or 64 bits");
  b = a;
  b.terms[0].limit = -1;
  expect_refusal(rlo_problem_canonicalize(&b, 0, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "term 0 loads indices below -1; the limit is 0 or more");
  b = a;
  b.terms[0].kind = (rlo_term_kind)3;
  expect_refusal(rlo_problem_canonicalize(&b, 0, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "term 0 is of kind 3, neither 0 (quotient) nor 1 (load) nor 2 "
                 "(operand)");
  rlo_problem_list_release(list);
  rlo_chain_release(chain);
}
