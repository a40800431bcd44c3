/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_LOW_THRESHOLDS_H
#define RLO_TESTS_SUPPORT_LOW_THRESHOLDS_H

#include <stdbool.h>

/**
 * True if this process runs with low thresholds (base/threshold.h). A program
 * that links this file lowers them before main() as the environment says:
 * RELAYOUT_TEST_LOW is "all", or some of their names, separated by commas.
 */
bool test_thresholds_are_low(void);

#endif
