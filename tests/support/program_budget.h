/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_PROGRAM_BUDGET_H
#define RLO_TESTS_SUPPORT_PROGRAM_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Which programs a test may compile. Cases are free and programs are dear: a
 * case takes microseconds, its program half a second of compiling. So a suite
 * offers all of its cases twice. The first time nothing runs: the keys of their
 * programs are listed, and some of those that no case has run yet are drawn.
 * The second time each case runs whose program is compiled already or drawn.
 *
 * With RELAYOUT_TEST_ALL every case runs.
 */
typedef enum test_budget_phase {
  /** Each case runs and its program counts as known. */
  TEST_BUDGET_OPEN,
  /** No case runs; programs that are not known are listed. */
  TEST_BUDGET_LISTING,
  /** Cases run whose programs are known. */
  TEST_BUDGET_CLOSED
} test_budget_phase;

typedef struct test_budget {
  test_budget_phase phase;
  /** Keys of programs, in ascending order. */
  uint64_t *known, *listed;
  int64_t num_known, num_listed;
  int64_t known_capacity, listed_capacity;
  /** Cases that ran and that were left out since the phase began. */
  int64_t num_taken, num_left;
} test_budget;

/** Starts with no program known, in phase OPEN. */
void test_budget_init(test_budget *budget);
void test_budget_deinit(test_budget *budget);

/** Goes on to `phase` and clears the counts of cases. */
void test_budget_enter(test_budget *budget, test_budget_phase phase);

/** True if a case whose program has this key is to run. */
bool test_budget_takes(test_budget *budget, uint64_t key);

/** Makes `count` listed programs known, drawn by the seed: the same ones for
 *  the same seed, in whatever order they were listed. Empties the list.
 *  @return how many were drawn, fewer if fewer were listed. */
int64_t test_budget_draw(test_budget *budget, int64_t count, uint64_t seed);

#endif
