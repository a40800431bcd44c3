/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_SHORT_MEMORY_H
#define RLO_TESTS_SUPPORT_SHORT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/status.h"

/**
 * Calls with the first of their allocations failing, then with the second, and
 * so on until they succeed:
 *
 *     test_short_memory run = {0};
 *     while (test_short_memory_next(&run)) {
 *       ck_assert_ptr_null(thing);
 *       run.status = rlo_thing_make(&thing);
 *     }
 *     ck_assert_int_gt(run.num_tries, 3);
 */
typedef struct test_short_memory {
  /** The status of the calls; the caller sets it. */
  rlo_status status;
  int64_t num_tries;
  int64_t live_count;
} test_short_memory;

/** False when the calls have succeeded; else makes the next allocation fail.
 *  Fails the test unless the last try failed for want of memory, and freed what
 *  it had allocated. */
bool test_short_memory_next(test_short_memory *run);

#endif
