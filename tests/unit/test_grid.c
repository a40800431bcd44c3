/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/grid.h"
#include "support/suite.h"

/* The quotient as kernels compute it. */
static uint32_t quotient(uint32_t n, uint32_t magic, int32_t log2) {
  return (uint32_t)(((uint64_t)(n + n) * magic) >> 32) >> log2;
}

RLO_TEST(test_grid__divides_by_magic) {
  static const uint32_t large[] = {65535,          65536,    65537,    1000003,
                                   (1U << 30) - 1, 1U << 30, INT32_MAX};

  enum { SMALL = 3000, NUM_LARGE = sizeof large / sizeof large[0] };

  for (uint32_t k = 1; k < SMALL + NUM_LARGE; ++k) {
    uint32_t d = k < SMALL ? k : large[k - SMALL];
    int32_t log2;
    uint32_t magic = (uint32_t)rlo__gpu_magic(d, &log2);
    for (uint32_t q = 0; q <= INT32_MAX / d; q += 1 + INT32_MAX / d / 40) {
      uint32_t n = q * d;
      ck_assert_uint_eq(quotient(n, magic, log2), q);
      n += n <= INT32_MAX - (d - 1) ? d - 1 : INT32_MAX - n;
      ck_assert_uint_eq(quotient(n, magic, log2), n / d);
      if (q == INT32_MAX / d) {
        break; /* the next step leaves 32 bits */
      }
    }
    ck_assert_uint_eq(quotient(INT32_MAX, magic, log2), INT32_MAX / d);
  }
}
