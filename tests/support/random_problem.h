/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_PROBLEM_H
#define RLO_TESTS_SUPPORT_RANDOM_PROBLEM_H

#include "relayout/problem.h"
#include "support/random.h"

/** The most indices of 64 bits of a random problem. */
enum { TEST_PROBLEM_INDICES = 2048 };

/** A random problem and the indices that it loads, if any. */
typedef struct test_problem {
  rlo_problem problem;

  union {
    int64_t wide[TEST_PROBLEM_INDICES];
    int32_t narrow[2 * TEST_PROBLEM_INDICES];
  } indices;
} test_problem;

/** The kinds of problems that test_random_problem draws. */
typedef enum test_problem_kind {
  /** A relayout between two random layouts. */
  TEST_PROBLEM_RELAYOUT,
  /** The same, into another element type. */
  TEST_PROBLEM_CONVERSION,
  /** Slices, pads, reversals, transpositions, reshapes, one after another. */
  TEST_PROBLEM_CHAIN,
  TEST_PROBLEM_GATHER,
  /** A segment sum of arbitrary indices. */
  TEST_PROBLEM_SEGMENT_SUM,
  /** Random forms, guards and terms; memory without a byte to spare. */
  TEST_PROBLEM_FORMS,
  /** The same with reduction axes. */
  TEST_PROBLEM_SUM,
  TEST_PROBLEM_NUM_KINDS
} test_problem_kind;

/** How many points a problem has, and how many bytes a side at most. */
typedef enum test_problem_size {
  /** Up to 400 points, 4 KiB. */
  TEST_PROBLEM_SMALL,
  /** 1,000 to 30,000 points, 256 KiB. */
  TEST_PROBLEM_LARGE
} test_problem_size;

enum { TEST_PROBLEM_LARGE_BYTES = 256 * 1024 };

/** Draws a problem; false if what was drawn is of another size, or
 *  no problem. */
bool test_random_problem_of(test_random *random, test_problem_kind kind, test_problem_size size,
                            test_problem *out);

/** Draws a small problem. */
bool test_random_problem(test_random *random, test_problem_kind kind, test_problem *out);

/** The points of a problem, one after the other, by the plain definition. */
typedef struct test_walk {
  const test_problem *of;
  int64_t axis[RLO_MAX_AXES];
  int64_t term[RLO_MAX_TERMS];
  bool has_begun;
} test_walk;

/** Goes on to the next point; false if there is none. */
bool test_walk_next(test_walk *walk);

/** The value of a form at the point. */
int64_t test_walk_value(const test_walk *walk, const rlo_form *form);

/** True if each guard of this kind holds at the point. */
bool test_walk_holds(const test_walk *walk, rlo_guard_kind kind);

/** True if a guard may skip points. */
bool test_problem_skips(const rlo_problem *problem);

#endif
