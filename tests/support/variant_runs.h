/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_VARIANT_RUNS_H
#define RLO_TESTS_SUPPORT_VARIANT_RUNS_H

#include "support/device_arena.h"
#include "support/variants.h"

/**
 * Run cases that together have every variant that planning reaches on the
 * device, each held against the host byte by byte, and assert that every one
 * of them has run. Prints those of the table that the device has no use for.
 * @param is_small  only pairs for a simulator.
 * @param stride    run one case in so many; then nothing is asserted of those
 *                  that have not run.
 */
void test_variants_run(const test_device *device,
                       bool is_small,
                       int32_t stride);

/** Run one case; the test fails if a byte is wrong or the family refuses. */
void test_variant_run(const test_device *device, const test_variant_case *c);

#endif
