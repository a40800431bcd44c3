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
  /** What the planner takes. */
  const char *family;
  /** Of the bytes in sectors that requests touch, and that groups touch, what
   *  is asked for, on the worse side: 0.9, but where runs begin anywhere and
   *  so touch a sector more. */
  double request_share;
  double group_share;
  /** The share of the rounds of local memory that cannot be saved. */
  double bank_share;
} coalescing_case;

extern const coalescing_case coalescing_cases[];
extern const int32_t num_coalescing_cases;

#endif
