/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
/*
 * Division by multiplication on devices: for each divisor d from 1 to 2^31 and
 * each n below 2^31, rlo_quotient of cl/gpu_common.cl by the multiplier and the
 * shift of rlo__gpu_magic is n / d, and rlo_axis_quotient divides by that shift.
 *
 * No solver: every divisor is tried. As n grows n + n, its mul_hi by one factor
 * and the shift to the right do not fall, so that the quotients between k * d and
 * k * d + d - 1 are k if those two are, and every such pair is tried.
 *
 * take plan/grid.c: rlo__gpu_magic
 * take gpu_common.cl: rlo_quotient
 * take gpu_common.cl: rlo_axis_quotient
 * run main: -O2
 * fault main: plan/grid.c: rlo__ceil_div(INT64_C(1) << (31 + log2), divisor) -> (INT64_C(1) << (31 + log2)) / divisor
 * fault main: plan/grid.c: (INT64_C(1) << log2) < divisor -> (INT64_C(1) << log2) < divisor && log2 < 30
 * fault main: gpu_common.cl: mul_hi(n + n, magic) >> l; -> mul_hi(n + n, magic - (l > 20)) >> l;
 * fault main: gpu_common.cl: 32 - clz((uint)extent[d] - 1) -> 32 - clz((uint)extent[d])
 * fault main: gpu_common.cl: magic[8 + d] -> magic[7 + d]
 */
// clang-format on
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/checked.h"

/* Names of OpenCL C. */
#define __private
typedef uint32_t uint;
typedef int64_t rlo_index;

static inline uint mul_hi(uint a, uint b) {
  return (uint)((uint64_t)a * b >> 32);
}

static inline uint clz(uint a) {
  return a == 0 ? 32 : (uint)__builtin_clz(a);
}

#include "taken_rlo__gpu_magic.h"

#include "taken_rlo_quotient.h"

/* rlo_axis_quotient of up to 8 axes, and of more: the shift that it divides by.
 */
#define rlo_quotient(n, magic, l) ((void)(n), (void)(magic), (l))
#define RLO_GRID_AXES             8
#define rlo_axis_quotient         shift_of_lane
#include "taken_rlo_axis_quotient.h"
#undef RLO_GRID_AXES
#undef rlo_axis_quotient
#define RLO_GRID_AXES     9
#define rlo_axis_quotient shift_of_extent
#include "taken_rlo_axis_quotient.h"
#undef rlo_quotient

static bool divides(uint32_t divisor) {
  int32_t log2 = -1;
  const int64_t magic = rlo__gpu_magic(divisor, &log2);
  if (magic < INT32_MIN || magic > INT32_MAX) {
    return false;
  }
  const uint factor = (uint)magic;
  const uint shift = (uint)log2;
  const rlo_index extents[1] = {divisor};
  int lanes[16] = {0};
  lanes[8] = log2;
  if (shift_of_lane(0, extents, lanes, 0) != shift ||
      shift_of_extent(0, extents, lanes, 0) != shift) {
    return false;
  }
  const uint32_t most = INT32_MAX / divisor;
  uint32_t wrong = rlo_quotient(0, factor, shift) | (rlo_quotient(INT32_MAX, factor, shift) ^ most);
  for (uint32_t k = 1; k <= most; ++k) {
    wrong |= rlo_quotient(k * divisor, factor, shift) ^ k;
    wrong |= rlo_quotient(k * divisor - 1, factor, shift) ^ (k - 1);
  }
  return wrong == 0;
}

/* From both ends, so that a fault is soon found. */
int main(void) {
  const uint32_t most = UINT32_C(1) << 31;
  for (uint32_t low = 1; low <= most / 2; ++low) {
    const uint32_t high = most + 1 - low;
    const bool is_low = !divides(low);
    if (is_low || !divides(high)) {
      printf("a division by %" PRIu32 "\n", is_low ? low : high);
      return 1;
    }
  }
  return 0;
}
