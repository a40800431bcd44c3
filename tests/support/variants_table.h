/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_VARIANTS_TABLE_H
#define RLO_TESTS_SUPPORT_VARIANTS_TABLE_H

#include "support/device_table.h"

/** The constants that make variants, for support/variants.c. */

/** How the value of a constant chooses code. */
typedef enum test_reading {
  AS_IS,
  /** Units of a tile's side: in lines of 64 bytes. */
  IN_LINES,
  /** 0 or more. */
  IS_ANY,
  /** 1 or more. */
  IS_MANY,
  /** The unit's alignment, or a line's. */
  IS_LINE,
  /** It does not: a size that the code is the same for. */
  IGNORED
} test_reading;

enum { MAX_VALUES = 16 };

/** A constant of a kernel file, and the values that planning gives it. */
typedef struct test_constant {
  const char *kernel_file;
  const char *name;
  test_reading reading;
  /** Code depends on the width of the unit too. */
  bool is_per_unit;
  int32_t num_values;
  int64_t values[MAX_VALUES];
} test_constant;

extern const test_constant test_constants[];
extern const int32_t test_num_constants;

/** Pairs for variants that test_pairs have no reason to have. */
extern const test_pair test_variant_pairs[];
extern const int32_t test_num_variant_pairs;

#endif
