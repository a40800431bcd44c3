/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
/*
 * base/checked.h: quotients, roundings, common divisors and a + b * c.
 *
 * For all values of numbers of 8 bits in place of 64, whose division the solver
 * cannot follow: the functions do not depend on the width.
 * tests/unit/test_checked.c has the ends of the 64 bits.
 *
 * prove quotients:
 * prove roundings:
 * prove divisors: --unwind 14
 * prove multiply_add:
 * fault quotients: base/checked.h: (a % b < 0) -> (a % b <= 0)
 * fault roundings: base/checked.h: (a % b > 0) -> (a % b > 1)
 * fault divisors: base/checked.h: a = a < 0 ? -a : a; -> a = a < -1 ? -a : a;
 * fault multiply_add: base/checked.h: return rlo__mul(b, c, &product) && -> product = (int64_t)(b * c); return
 */
// clang-format on
#include "proof.h"

#include "base/status.h"

static bool proof_add_8(int a, int b, int8_t *out) {
  *out = (int8_t)(a + b);
  return a + b != *out;
}

static bool proof_mul_8(int a, int b, int8_t *out) {
  *out = (int8_t)(a * b);
  return a * b != *out;
}

#undef __builtin_add_overflow
#undef __builtin_sub_overflow
#undef __builtin_mul_overflow
#define __builtin_add_overflow(a, b, out) proof_add_8((a), (b), (out))
#define __builtin_sub_overflow(a, b, out) proof_add_8((a), -(b), (out))
#define __builtin_mul_overflow(a, b, out) proof_mul_8((a), (b), (out))

#define int64_t int8_t
#undef INT64_MAX
#undef INT64_MIN
#define INT64_MAX INT8_MAX
#define INT64_MIN INT8_MIN
#include "base/checked.h"

void quotients(void) {
  const int8_t a = any_i8();
  const int8_t b = any_i8();
  PROOF_ASSUME(b > 0);
  const int quotient = rlo__floor_div(a, b);
  const int rest = rlo__floor_mod(a, b);
  PROOF(rest >= 0 && rest < b, "a remainder of the divisor");
  PROOF(quotient * b + rest == a, "its quotient");
}

void roundings(void) {
  const int8_t a = any_i8();
  const int8_t b = any_i8();
  PROOF_ASSUME(b > 0);
  const int up = rlo__ceil_div(a, b);
  PROOF(up * b >= a && (up - 1) * b < a, "rounded up");
  const int8_t before = any_i8();
  int8_t multiple = before;
  const bool fits = up * b <= INT8_MAX;
  PROOF(rlo__round_up(a, b, &multiple) == fits, "a multiple that fits is one");
  PROOF(multiple == (fits ? up * b : before), "it is the least");
}

void divisors(void) {
  const int8_t a = any_i8();
  const int8_t b = any_i8();
  const int8_t divisor = any_i8();
  PROOF_ASSUME(a > INT8_MIN && b > INT8_MIN && divisor > 0);
  const int gcd = rlo__gcd(a, b);
  PROOF(a == 0 && b == 0 ? gcd == 0 : gcd > 0, "the sign");
  if (gcd > 0) {
    PROOF(a % gcd == 0 && b % gcd == 0, "it divides both");
    PROOF(a % divisor != 0 || b % divisor != 0 || gcd % divisor == 0, "every other one divides it");
  }
}

void multiply_add(void) {
  const int8_t a = any_i8();
  const int8_t b = any_i8();
  const int8_t c = any_i8();
  const int8_t before = any_i8();
  int8_t total = before;
  const int product = b * c;
  const int exact = a + b * c;
  const bool fits =
      product >= INT8_MIN && product <= INT8_MAX && exact >= INT8_MIN && exact <= INT8_MAX;
  PROOF(rlo__mul_add(a, b, c, &total) == fits, "a + b * c that fits is one");
  PROOF(total == (fits ? exact : before), "it is exact");
}
