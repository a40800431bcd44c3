/* SPDX-License-Identifier: Apache-2.0 */

#include "relayout/xla/layout_util.h"
#include "support/suite.h"

RLO_TEST(test_permutation__accepts_permutations) {
  static const int32_t one[] = {0};
  static const int32_t four[] = {3, 1, 0, 2};

  ck_assert(rlo_permutation_is_valid(NULL, 0));
  ck_assert(rlo_permutation_is_valid(one, 1));
  ck_assert(rlo_permutation_is_valid(four, 4));
  ck_assert_int_eq(rlo_permutation_validate(NULL, 0), RLO_OK);
  ck_assert_int_eq(rlo_permutation_validate(one, 1), RLO_OK);
  ck_assert_int_eq(rlo_permutation_validate(four, 4), RLO_OK);
}

static const struct {
  int32_t p[4];
  int32_t size;
  const char *message;
} refused[] = {
    {{-3}, 1, "permutation[0]=-3 is out of range for rank 1"},
    {{1, 1}, 2, "permutation[1]=1 repeats permutation[0]"},
    {{3, 0, 2}, 3, "permutation[0]=3 is out of range for rank 3"},
    {{0, 1, 5}, 3, "permutation[2]=5 is out of range for rank 3"},
    {{2, 0, 1, 0}, 4, "permutation[3]=0 repeats permutation[1]"},
    {{0}, -1, "a permutation cannot have -1 entries"},
};

RLO_TABLE_TEST(test_permutation__names_the_entry_at_fault, refused) {
  const int32_t *p = refused[_i].p;
  int32_t size = refused[_i].size;

  ck_assert(!rlo_permutation_is_valid(p, size));
  ck_assert_int_eq(rlo_permutation_validate(p, size), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message, refused[_i].message);
}

RLO_TEST(test_permutation__refuses_null_with_entries) {
  ck_assert(!rlo_permutation_is_valid(NULL, 2));
  ck_assert_int_eq(rlo_permutation_validate(NULL, 2), RLO_INVALID_ARGUMENT);
  int32_t p[2] = {0, 1};
  ck_assert_int_eq(rlo_permutation_normalize(NULL, 2, p), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_permutation_normalize(p, 2, NULL), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_permutation__converts_numbers_from_the_end) {
  static const int32_t p[] = {-1, 0, -2};
  static const int32_t wanted[] = {2, 0, 1};
  int32_t out[3];

  ck_assert_int_eq(rlo_permutation_normalize(p, 3, out), RLO_OK);
  ck_assert_mem_eq(out, wanted, sizeof wanted);
  ck_assert_int_eq(rlo_permutation_normalize(wanted, 3, out), RLO_OK);
  ck_assert_mem_eq(out, wanted, sizeof wanted);
  ck_assert_int_eq(rlo_permutation_normalize(NULL, 0, NULL), RLO_OK);
  /* The other functions take what this one gives. */
  ck_assert(!rlo_permutation_is_valid(p, 3));
}

static const struct {
  int32_t p[3];
  int32_t size;
  const char *message;
} not_normal[] = {
    {{0, -4, 1}, 3, "permutation[1]=-4 is out of range for rank 3; -3 to 2 are possible"},
    {{3, 0, 1}, 3, "permutation[0]=3 is out of range for rank 3; -3 to 2 are possible"},
    {{2, 0, -1},
     3,
     "permutation[0]=2 and permutation[2]=-1 are one and the same dimension of "
     "rank 3"},
    {{-1, -1},
     2,
     "permutation[0]=-1 and permutation[1]=-1 are one and the same dimension "
     "of rank 2"},
    {{0}, -1, "a permutation cannot have -1 entries"},
};

RLO_TABLE_TEST(test_permutation__names_both_entries_at_fault, not_normal) {
  int32_t out[3];

  ck_assert_int_eq(rlo_permutation_normalize(not_normal[_i].p, not_normal[_i].size, out),
                   RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message, not_normal[_i].message);
}

RLO_TEST(test_permutation__knows_the_identity) {
  static const int32_t identity[] = {0, 1, 2};
  static const int32_t swapped[] = {0, 2, 1};

  ck_assert(rlo_permutation_is_identity(NULL, 0));
  ck_assert(rlo_permutation_is_identity(identity, 3));
  ck_assert(!rlo_permutation_is_identity(swapped, 3));
}

RLO_TEST(test_permutation__composes_as_xla_does) {
  static const int32_t first[] = {1, 3, 2, 0};
  static const int32_t second[] = {2, 1, 3, 0};
  static const int32_t expected[] = {2, 3, 0, 1};
  int32_t out[4];

  rlo_permutation_compose(first, second, 4, out);
  ck_assert_mem_eq(out, expected, sizeof expected);
}

RLO_TEST(test_permutation__inverse_undoes_apply) {
  /* XLA's PermuteInverse(abc, {2,0,1}) is bca. */
  static const int32_t p[] = {2, 0, 1};
  static const int64_t abc[] = {'a', 'b', 'c'};
  static const int64_t bca[] = {'b', 'c', 'a'};
  int32_t inverse[3];
  int64_t permuted[3];
  int64_t back[3];

  rlo_permutation_inverse(p, 3, inverse);
  rlo_permutation_apply(inverse, 3, abc, permuted);
  ck_assert_mem_eq(permuted, bca, sizeof bca);
  rlo_permutation_apply(p, 3, permuted, back);
  ck_assert_mem_eq(back, abc, sizeof abc);
}

RLO_TEST(test_permutation__inverse_composes_to_identity) {
  /* All 120 permutations of five, counted in the factorial number system. */
  for (int32_t n = 0; n < 120; ++n) {
    int32_t p[5], inverse[5], both[5];
    bool is_used[5] = {false};
    int32_t rest = n;
    for (int32_t i = 0; i < 5; ++i) {
      int32_t skip = rest % (5 - i);
      rest /= 5 - i;
      int32_t value = 0;
      while (is_used[value] || skip-- > 0) {
        ++value;
      }
      is_used[value] = true;
      p[i] = value;
    }
    ck_assert(rlo_permutation_is_valid(p, 5));
    rlo_permutation_inverse(p, 5, inverse);
    rlo_permutation_compose(p, inverse, 5, both);
    ck_assert(rlo_permutation_is_identity(both, 5));
    rlo_permutation_compose(inverse, p, 5, both);
    ck_assert(rlo_permutation_is_identity(both, 5));
  }
}

RLO_TEST(test_permutation__apply_is_numpy_transpose_of_dims) {
  static const int32_t p[] = {1, 2, 0};
  static const int64_t dims[] = {10, 20, 30};
  static const int64_t expected[] = {20, 30, 10};
  int64_t out[3];

  rlo_permutation_apply(p, 3, dims, out);
  ck_assert_mem_eq(out, expected, sizeof expected);
}

RLO_TEST(test_permutation__apply_inverse_as_xla_does) {
  static const int32_t p[] = {2, 0, 1};
  static const int64_t in[] = {'a', 'b', 'c'};
  static const int64_t expected[] = {'b', 'c', 'a'};
  int64_t out[3];

  rlo_permutation_apply_inverse(p, 3, in, out);
  ck_assert_mem_eq(out, expected, sizeof expected);
}

RLO_TEST(test_permutation__moves_one_element) {
  static const int32_t up[] = {0, 2, 3, 1, 4};
  static const int32_t down[] = {0, 3, 1, 2, 4};
  int32_t p[] = {0, 1, 2, 3, 4};
  int32_t q[] = {0, 1, 2, 3, 4};

  ck_assert_int_eq(rlo_permutation_move_element(p, 5, 1, 3), RLO_OK);
  ck_assert_mem_eq(p, up, sizeof up);
  ck_assert_int_eq(rlo_permutation_move_element(q, 5, 3, 1), RLO_OK);
  ck_assert_mem_eq(q, down, sizeof down);
  ck_assert_int_eq(rlo_permutation_move_element(q, 5, 2, 2), RLO_OK);
  ck_assert_mem_eq(q, down, sizeof down);
  ck_assert_int_eq(rlo_permutation_move_element(q, 5, 5, 1), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo_permutation_move_element(q, 5, 1, -1), RLO_OUT_OF_RANGE);
  ck_assert_mem_eq(q, down, sizeof down);
}
