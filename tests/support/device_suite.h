/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_DEVICE_SUITE_H
#define RLO_TESTS_SUPPORT_DEVICE_SUITE_H

#include "support/device_arena.h"
#include "support/random.h"
#include "support/suite.h"

/** The device of the file that runs, for RLO_FILE_FIXTURE. Apart from
 *  device_arena.h, where parameters have this name. */
extern test_device device;

void open_device(void);

/** One more queue of the device, whose commands run in any order. */
extern cl_command_queue unordered;

/** The device with both queues. */
void open_device_unordered(void);

/** Reads an arena back. False, and prints where, if it is not as expected;
 *  scratch memory may hold anything between its guards. */
bool arena_is_right(test_arena *arena, bool is_scratch);

/** Runs a plan in arenas that are uploaded, `ids` may be NULL, and in scratch
 *  memory of its own; on either queue, if there is `random`. Asserts that only
 *  the destination has changed, with `words`. Releases the plan and the arenas.
 *  @return whether the destination is as expected. */
bool run_in_arenas(rlo_plan *plan, test_random *random, const char *words, test_arena *src,
                   test_arena *ids, test_arena *dst);

/** Asserts that the file has built at most so many programs until now, unless
 *  RELAYOUT_TEST_ALL lifts the budget: tests/README.md. */
void expect_programs_within(int64_t max);

/** Prints how many programs, kernels and launches the file needed, and closes
 *  the device and its queues. */
void close_device(void);

#endif
