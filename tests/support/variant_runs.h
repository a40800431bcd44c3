/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_VARIANT_RUNS_H
#define RLO_TESTS_SUPPORT_VARIANT_RUNS_H

#include "support/device_arena.h"
#include "support/variants.h"

/**
 * Run the cases of a cover on the device, each held against the host byte by
 * byte, and assert that every variant that they are there for has run. Without
 * a filter, prints those of the table that the device has no use for.
 * @param min_variants  how many there must be.
 * @param stride        run one case in so many; then nothing is asserted of
 *                      those that have not run.
 */
void test_variants_run(const test_device *device, const test_cover *cover, int32_t min_variants,
                       int32_t stride);

/** Run one case; the test fails if a byte is wrong or the family refuses. */
void test_variant_run(const test_device *device, const test_variant_case *c);

#endif
