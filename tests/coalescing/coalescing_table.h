/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_COALESCING_COALESCING_TABLE_H
#define RLO_TESTS_COALESCING_COALESCING_TABLE_H

#include <stdint.h>

/** A case of the benchmarks, and the least shares that it may have. */
typedef struct coalescing_case {
  /** The names of the suite and the case. */
  const char *name;
  const char *src;
  const char *dst;
  const char *permutation;
  /** The family that the planner chooses. */
  const char *family;
  /** The least share of requested bytes in the sectors that requests touch, and
   *  that groups touch, on the worse side: 0.9, but less where runs begin
   *  anywhere and so touch one sector more. */
  double request_share;
  double group_share;
  /** The share of the rounds of local memory that cannot be saved. */
  double bank_share;
} coalescing_case;

extern const coalescing_case coalescing_cases[];
extern const int32_t num_coalescing_cases;

#endif
