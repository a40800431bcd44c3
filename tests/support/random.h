/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_H
#define RLO_TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Random numbers for tests, the same on every machine for the same seed.
 *
 * The seed comes from RELAYOUT_TEST_SEED, else it is always the same, so that a
 * test fails for a reason and not for a day; it is printed with the line that
 * repeats the run.
 */
typedef struct test_random {
  uint64_t state;
} test_random;

/** Begin, and print the seed for the suite of this name. */
test_random test_random_begin(const char *suite);

/** 64 random bits. */
uint64_t test_random_bits(test_random *random);

/** A number in [low, high]; high - low fits 63 bits. */
int64_t test_random_in(test_random *random, int64_t low, int64_t high);

/** True once in `times`, on average. */
bool test_random_once_in(test_random *random, int64_t times);

#endif
