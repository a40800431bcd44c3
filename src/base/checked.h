/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_CHECKED_H
#define RLO_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/**
 * Integer arithmetic without wrap-around. Functions that return bool return
 * false, and leave *out unchanged, when the exact result does not fit; the
 * caller reports it with a name for the value (rlo__fail_overflow). Names
 * without a suffix are for int64_t, those with `_size` for size_t.
 */

/** Fails with RLO_OVERFLOW: "<value> does not fit in 64 bits". */
static inline rlo_status rlo__fail_overflow(const char *value) {
  return RLO_FAIL(RLO_OVERFLOW, "%s does not fit in 64 bits", value);
}

static inline int64_t rlo__min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t rlo__max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static inline size_t rlo__min_size(size_t a, size_t b) {
  return a < b ? a : b;
}

/** |a|; INT64_MAX for INT64_MIN. */
static inline int64_t rlo__abs(int64_t a) {
  return a == INT64_MIN ? INT64_MAX : a < 0 ? -a : a;
}

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

/** a + b, of two that are not negative; INT64_MAX where that does not fit: for
 *  bounds. */
static inline int64_t rlo__add_capped(int64_t a, int64_t b) {
  return b > INT64_MAX - a ? INT64_MAX : a + b;
}

/** a * b, as rlo__add_capped. */
static inline int64_t rlo__mul_capped(int64_t a, int64_t b) {
  int64_t product;
  return rlo__mul(a, b, &product) ? product : INT64_MAX;
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

/** Quotient rounded towards plus infinity; b > 0. Never overflows. */
static inline int64_t rlo__ceil_div(int64_t a, int64_t b) {
  return a / b + (int64_t)(a % b > 0);
}

/** *out = the smallest multiple of b that is >= a; b > 0. */
static inline bool rlo__round_up(int64_t a, int64_t b, int64_t *out) {
  return rlo__mul(rlo__ceil_div(a, b), b, out);
}

/** Greatest common divisor of |a| and |b|; gcd(0, 0) = 0. 2^63, which INT64_MIN
 *  may have, is INT64_MIN. */
static inline int64_t rlo__gcd(int64_t a, int64_t b) {
  uint64_t m = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t n = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (n != 0) {
    const uint64_t rest = m % n;
    m = n;
    n = rest;
  }
  return (int64_t)m;
}

#endif
