/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "support/expect.h"
#include "support/suite.h"

/* Compilers for 32-bit hosts have no wider integers to compare with: there the
 * ends of the range are all that is tried. */
#ifdef __SIZEOF_INT128__

enum { RANDOM_ROUNDS = 200000 };

__extension__ typedef __int128 wide;

/** Interesting numbers: small, near powers of two, near the ends. */
static int64_t random_int64(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  uint64_t bits = *state ^ (*state >> 31);
  unsigned kept = (unsigned)((*state >> 58) & 63) + 1;
  uint64_t value = bits >> (64 - kept);
  return (*state >> 57) & 1 ? (int64_t)(~value) : (int64_t)value;
}

static bool fits(wide value) {
  return value >= INT64_MIN && value <= INT64_MAX;
}

RLO_TEST(test_checked__agrees_with_128_bits) {
  const char *text = getenv("RELAYOUT_TEST_SEED");
  uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 20240607u;
  uint64_t state = seed;
  for (int i = 0; i < RANDOM_ROUNDS; ++i) {
    int64_t a = random_int64(&state);
    int64_t b = random_int64(&state);
    int64_t c = random_int64(&state);
    const wide exact[] = {(wide)a + b, (wide)a - b, (wide)a * b};
    int64_t out[3] = {42, 42, 42};
    const bool ok[] = {rlo__add(a, b, &out[0]), rlo__sub(a, b, &out[1]), rlo__mul(a, b, &out[2])};
    for (int k = 0; k < 3; ++k) {
      bool agrees = ok[k] == fits(exact[k]) && out[k] == (fits(exact[k]) ? (int64_t)exact[k] : 42);
      if (!agrees) {
        ck_abort_msg("operation %d on %" PRId64 " and %" PRId64
                     "; again with RELAYOUT_TEST_SEED=%" PRIu64 " ./test_checked",
                     k, a, b, seed);
      }
    }
    wide product = (wide)b * c;
    int64_t sum = 42;
    bool is_ok = rlo__mul_add(a, b, c, &sum);
    bool expected = fits(product) && fits(a + product);
    bool agrees = is_ok == expected && sum == (expected ? (int64_t)(a + product) : 42);
    if (b > 0) {
      int64_t q = rlo__floor_div(a, b);
      int64_t r = rlo__floor_mod(a, b);
      agrees = agrees && r >= 0 && r < b && (wide)q * b + r == a;
    }
    if (!agrees) {
      ck_abort_msg("mul_add, floor_div or floor_mod of %" PRId64 ", %" PRId64 ", %" PRId64
                   "; again with RELAYOUT_TEST_SEED=%" PRIu64 " ./test_checked",
                   a, b, c, seed);
    }
  }
}

#endif

RLO_TEST(test_checked__ends_of_the_range) {
  int64_t out = 42;
  ck_assert(!rlo__add(INT64_MAX, 1, &out));
  ck_assert(!rlo__sub(INT64_MIN, 1, &out));
  ck_assert(!rlo__mul(INT64_MIN, -1, &out));
  ck_assert(!rlo__mul_add(INT64_MAX, 1, 1, &out));
  ck_assert_int_eq(out, 42);
  ck_assert(rlo__add(INT64_MAX - 1, 1, &out));
  ck_assert(out == INT64_MAX);
  ck_assert(rlo__mul(INT64_MIN, 1, &out));
  ck_assert(out == INT64_MIN);
}

RLO_TEST(test_checked__rounding) {
  ck_assert_int_eq(rlo__floor_div(-1, 8), -1);
  ck_assert_int_eq(rlo__floor_div(-8, 8), -1);
  ck_assert_int_eq(rlo__floor_div(7, 8), 0);
  ck_assert_int_eq(rlo__floor_mod(-1, 8), 7);
  ck_assert_int_eq(rlo__floor_mod(-8, 8), 0);
  ck_assert_int_eq(rlo__ceil_div(0, 8), 0);
  ck_assert_int_eq(rlo__ceil_div(8, 8), 1);
  ck_assert_int_eq(rlo__ceil_div(9, 8), 2);
  ck_assert(rlo__ceil_div(INT64_MAX, 1) == INT64_MAX);
  ck_assert(rlo__ceil_div(INT64_MAX, 2) == INT64_MAX / 2 + 1);
  ck_assert_int_eq(rlo__ceil_div(-8, 8), -1);
  ck_assert_int_eq(rlo__ceil_div(-9, 8), -1);
  ck_assert_int_eq(rlo__ceil_div(-7, 8), 0);
  int64_t out = 42;
  ck_assert(rlo__round_up(300, 128, &out));
  ck_assert_int_eq(out, 384);
  ck_assert(rlo__round_up(0, 128, &out));
  ck_assert_int_eq(out, 0);
  ck_assert(!rlo__round_up(INT64_MAX, 128, &out));
  ck_assert_int_eq(out, 0);
}

RLO_TEST(test_checked__gcd) {
  ck_assert_int_eq(rlo__gcd(0, 0), 0);
  ck_assert_int_eq(rlo__gcd(0, 5), 5);
  ck_assert_int_eq(rlo__gcd(-12, 18), 6);
  ck_assert_int_eq(rlo__gcd(7, 13), 1);
}

RLO_TEST(test_checked__min_max_abs) {
  ck_assert_int_eq(rlo__min(-2, 3), -2);
  ck_assert_int_eq(rlo__min(3, -2), -2);
  ck_assert_int_eq(rlo__max(-2, 3), 3);
  ck_assert_int_eq(rlo__max(3, -2), 3);
  ck_assert_uint_eq(rlo__min_size(SIZE_MAX, 1), 1);
  ck_assert_int_eq(rlo__abs(-5), 5);
  ck_assert_int_eq(rlo__abs(5), 5);
  ck_assert(rlo__abs(INT64_MIN) == INT64_MAX);
  ck_assert(rlo__abs(INT64_MIN + 1) == INT64_MAX);
}

RLO_TEST(test_checked__fail_overflow_names_the_value) {
  ck_assert_int_eq(rlo__fail_overflow("the size"), RLO_OVERFLOW);
  expect_refusal(rlo_error_last()->status, RLO_OVERFLOW, "the size does not fit in 64 bits");
}
