/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
/*
 * Division by multiplication on devices: rlo__gpu_magic, for
 * rlo_quotient of cl/gpu_common.cl.
 *
 * With m = ceil(2^(31 + l) / d) let m * d = 2^(31 + l) + e. If 0 <= e < d <=
 * 2^l then for n < 2^31 the error n * e / (d * 2^(31 + l)) is below 1 / d, so
 * that floor(n * m / 2^(31 + l)) is floor(n / d). `multiplier` proves the
 * bounds of e for the divisors 1 to 60. The solver has no answer to the whole;
 * tests/unit/test_gpu_launch.c tries divisors of all sizes.
 *
 * prove multiplier: --unwind 61 --object-bits 16
 * fault multiplier: plan/gpu_launch.c: rlo__ceil_div(INT64_C(1) << (31 + log2), divisor) -> (INT64_C(1) << (31 + log2)) / divisor
 */
// clang-format on
#include "proof.h"

#include "plan/gpu_launch.c"

void multiplier(void) {
  for (int64_t divisor = 1; divisor <= 60; ++divisor) {
    int32_t log2 = -1;
    const int64_t magic = rlo__gpu_magic(divisor, &log2);
    const int64_t power = INT64_C(1) << log2;
    PROOF(divisor <= power && power < 2 * divisor, "the logarithm, rounded up");
    PROOF(magic >= INT32_MIN && magic <= INT32_MAX, "an int of the kernel");
    const int64_t error = (int64_t)(uint32_t)magic * divisor - (power << 31);
    PROOF(error >= 0 && error < divisor, "the error of the multiplier");
  }
}
