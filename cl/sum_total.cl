/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum of parts as a binary tree, which arrive one by one: parts of equal
 * levels are joined, as a counter carries.
 */
#ifndef RLO_SUM_TOTAL_CL
#define RLO_SUM_TOTAL_CL

#include "arith.cl"

/* Bits of the number of parts of a sum; more are harmless. */
#ifndef RLO_SUM_LEVELS
#define RLO_SUM_LEVELS 1
#endif

/* Sums of 1, 2, 4, ... parts, which are blocks, or the lanes of all blocks. */
typedef struct rlo_total {
  rlo_t levels[RLO_SUM_LEVELS];
  ulong parts;
} rlo_total;

/* Unrolled, so that constant indices keep the levels in registers. */
static inline void rlo_total_add(__private rlo_total *total, rlo_t part) {
  bool is_carried = true;
#pragma unroll
  for (int level = 0; level < RLO_SUM_LEVELS; ++level) {
    const bool is_taken = (total->parts >> level & 1) != 0;
    if (is_carried && is_taken) {
      part = total->levels[level] + part;
    } else if (is_carried) {
      total->levels[level] = part;
      is_carried = false;
    }
  }
  total->parts += 1;
}

static inline rlo_t rlo_total_end(__private const rlo_total *total) {
  rlo_t sum = (rlo_t)(0);
  bool is_first = true;
#pragma unroll
  for (int level = 0; level < RLO_SUM_LEVELS; ++level) {
    if ((total->parts >> level & 1) != 0) {
      sum = is_first ? total->levels[level] : total->levels[level] + sum;
      is_first = false;
    }
  }
  return sum;
}

#endif
