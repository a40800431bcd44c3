/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
/*
 * base/checked.h: a result is exact or is refused, and then *out is unchanged.
 *
 * Sums, differences, products, capped ones, minimum, maximum and |a| for all
 * values of 64 bits. What is a product is gcc's builtin's affair, by its
 * definition in proof.h. proof_quotients.c has the rest.
 *
 * prove sums:
 * prove products:
 * prove capped:
 * fault sums: base/checked.h: __builtin_sub_overflow(a, b, &difference) -> (difference = (int64_t)((uint64_t)a - (uint64_t)b), false)
 * fault products: base/checked.h: __builtin_mul_overflow(a, b, &product) -> __builtin_mul_overflow(a, b, out)
 * fault capped: base/checked.h: b > INT64_MAX - a ? -> b >= INT64_MAX - a + 1 ?
 */
// clang-format on
#include "proof.h"

#include "base/checked.h"

void sums(void) {
  const int64_t a = any_i64();
  const int64_t b = any_i64();
  const int64_t before = any_i64();
  int64_t sum = before;
  int64_t difference = before;
  const __int128 exact_sum = (__int128)a + b;
  const __int128 exact_difference = (__int128)a - b;
  const bool sum_fits = exact_sum == (int64_t)exact_sum;
  const bool difference_fits = exact_difference == (int64_t)exact_difference;
  PROOF(rlo__add(a, b, &sum) == sum_fits, "a sum that fits is one");
  PROOF(sum == (sum_fits ? (int64_t)exact_sum : before), "it is exact");
  PROOF(rlo__sub(a, b, &difference) == difference_fits, "a difference that fits is one");
  PROOF(difference == (difference_fits ? (int64_t)exact_difference : before), "it is exact");
  PROOF(a == INT64_MIN ? rlo__abs(a) == INT64_MAX : rlo__abs(a) == (a < 0 ? -a : a), "|a|");
  PROOF(rlo__min(a, b) <= a && rlo__min(a, b) <= b && (rlo__min(a, b) == a || rlo__min(a, b) == b),
        "the minimum");
  PROOF(rlo__max(a, b) >= a && rlo__max(a, b) >= b && (rlo__max(a, b) == a || rlo__max(a, b) == b),
        "the maximum");
}

void products(void) {
  const int64_t before = any_i64();
  int64_t product = before;
  const bool fits = rlo__mul(any_i64(), any_i64(), &product);
  PROOF(fits == !proof_last.is_cut, "a product that fits is one");
  PROOF(product == (fits ? proof_last.result : before), "it is exact");
}

void capped(void) {
  const int64_t a = any_i64();
  const int64_t b = any_i64();
  PROOF_ASSUME(a >= 0 && b >= 0);
  const __int128 exact = (__int128)a + b;
  PROOF(rlo__add_capped(a, b) == (exact > INT64_MAX ? INT64_MAX : exact),
        "the sum or the largest number");
  const int64_t product = rlo__mul_capped(a, b);
  PROOF(product == (proof_last.is_cut ? INT64_MAX : proof_last.result),
        "the product or the largest number");
}
