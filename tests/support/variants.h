/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_VARIANTS_H
#define RLO_TESTS_SUPPORT_VARIANTS_H

#include "plan/planner.h"
#include "support/device_table.h"

/**
 * The kernels that planning can choose, told apart by the constants that choose
 * code in them: a *variant* is a kernel file, one such constant, a value of it
 * and, where code depends on both, the width of the unit. The table in
 * variants_table.c declares them all.
 *
 * Three tests hold to it: that planning makes these and no others, that the
 * device runs each, and that the simulator does.
 */

enum { TEST_MAX_VARIANTS = 1024 };

/** Variants by their number. */
typedef struct test_variant_set {
  uint64_t words[TEST_MAX_VARIANTS / 64];
} test_variant_set;

/** How many the table declares. */
int32_t test_variants_count(void);

/** "cpu_tile RLO_NT=1, units of 4 bytes". Static, until the next call. */
const char *test_variant_name(int32_t number);

bool test_variant_set_has(const test_variant_set *set, int32_t number);

/** How many of `set` are not in `beside`. */
int32_t test_variant_set_count_new(const test_variant_set *set, const test_variant_set *beside);
void test_variant_set_add(test_variant_set *set, const test_variant_set *other);

/** Makes a set one of the first width, without the width itself. Of each
 * constant the value number `most_values` of the table and those after it count
 * as one. */
void test_variant_set_merge(test_variant_set *set, int32_t most_values);

/** The variants that a launch is made of. False, after a line that says what to
 *  add to the table, if it has a constant or a value that is not declared. */
bool test_variants_of(const rlo__launch *launch, test_variant_set *out_set);

/** Something to plan or to run. */
typedef struct test_variant_case {
  const test_pair *pair;
  /** In test_dtypes. */
  int32_t width;
  const rlo__family *family;
  const rlo__schedule *schedule;
  /** Memory is aligned as the device aligns it; else to the element. */
  bool is_aligned;
} test_variant_case;

/** True if a case is wanted. */
typedef bool (*test_variant_filter)(const test_variant_case *c);

typedef void (*test_variant_fn)(void *payload, const test_variant_case *c,
                                const rlo__launch *launch);

/** Plan every pair of test_pairs, and those that only variants need, by every
 *  family in every schedule in every width, and tell each launch.
 *  @param is_small  only pairs for a simulator.
 *  @param filter  NULL: all. */
void test_variants_each(const rlo_device_info *device, bool is_small, test_variant_filter filter,
                        test_variant_fn fn, void *payload);

/** How many elements a case moves. */
int64_t test_variant_case_elements(const test_variant_case *c);

/** The variants to cover. */
typedef struct test_cover {
  /** Only pairs for a simulator, and of cases with the same variants one of the
   *  smallest. */
  bool is_small;
  /** Chooses the cases; NULL: all. */
  test_variant_filter filter;
  /** Cases of which a constant counts in one width as in all; NULL: none. */
  test_variant_filter merges_widths;
  /** Kernels of few cases are compiled with optimisation, those that together
   *  have each constant in one width, with its first value and with another; by
   *  default it is left as it is. */
  bool optimises_few;
  /** Leaves out cases with a value that variants_table.c does not declare, and
   *  prints it: of devices other than PoCL's, whose sizes the table is of. */
  bool skips_undeclared;
  /** Gets each launch too; NULL: nobody does. */
  test_variant_fn watch;
} test_cover;

/** Few cases that together have every variant that any case has, in an order in
 *  which the next one always has most that is new. And the variants of each.
 *  `capacity` is asserted.
 *  @param out_reached  the variants of the cases.
 *  @return how many. */
int32_t test_variants_cover(const rlo_device_info *device, const test_cover *cover,
                            test_variant_case *out_cases, test_variant_set *out_sets,
                            int32_t capacity, test_variant_set *out_reached);

#endif
