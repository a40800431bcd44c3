/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_CHECKED_H
#define RLO_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Arithmetic on int64 that cannot wrap. Each returns false, and leaves *out
 * alone, when the exact result does not fit; the caller, who knows what the
 * numbers mean, words the failure.
 */
static inline bool rlo__add(int64_t a, int64_t b, int64_t *out) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    return false;
  }
  *out = sum;
  return true;
}

static inline bool rlo__sub(int64_t a, int64_t b, int64_t *out) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) {
    return false;
  }
  *out = difference;
  return true;
}

static inline bool rlo__mul(int64_t a, int64_t b, int64_t *out) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    return false;
  }
  *out = product;
  return true;
}

/** *out = a + b * c. */
static inline bool rlo__mul_add(int64_t a, int64_t b, int64_t c, int64_t *out) {
  int64_t product;
  return rlo__mul(b, c, &product) && rlo__add(a, product, out);
}

/** Quotient rounded towards minus infinity; b > 0. */
static inline int64_t rlo__floor_div(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - (int64_t)(a % b < 0);
}

/** Remainder in [0, b); b > 0. */
static inline int64_t rlo__floor_mod(int64_t a, int64_t b) {
  int64_t remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

/** Quotient rounded up; a >= 0, b > 0. Never overflows. */
static inline int64_t rlo__ceil_div(int64_t a, int64_t b) {
  return a / b + (int64_t)(a % b != 0);
}

/** *out = the least multiple of b that is >= a; a >= 0, b > 0. */
static inline bool rlo__round_up(int64_t a, int64_t b, int64_t *out) {
  return rlo__mul(rlo__ceil_div(a, b), b, out);
}

/** Greatest common divisor of |a| and |b|; gcd(0, 0) = 0. Not for INT64_MIN. */
static inline int64_t rlo__gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

#endif
