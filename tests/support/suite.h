/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_SUITE_H
#define RLO_TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stdbool.h>

/* Check's own definitions of tests would register nothing. */
#undef START_TEST
#undef END_TEST

/**
 * Tests that register themselves, on top of Check.
 *
 *     RLO_TEST(test_hash__is_the_same_everywhere) {
 *       ck_assert_uint_eq(...);
 *     }
 *
 * A file of tests is a suite, named after the file without its ".c". Many files
 * make one program; suite_main.c has its main():
 *
 *     PROGRAM                  runs every file
 *     PROGRAM FILE [TEST...]   runs one file, or the named tests of it
 *     PROGRAM --list           prints "FILE TEST" a line, a loop with its count
 *
 * Check's environment (CK_FORK, CK_RUN_CASE, CK_VERBOSITY...) applies. Where
 * the program is compiled with RELAYOUT_TEST_ON_DEVICE, Check never forks: a
 * driver hangs in a child of a process that has used OpenCL.
 */

/** Defines and registers a test; a block follows. */
#define RLO_TEST(fact) RLO_LOOP_TEST(fact, 0, 1)

/** Defines a test that runs for each `_i` of first <= _i < end. */
#define RLO_LOOP_TEST(fact, first, end)                                                         \
  static void fact(int _i);                                                                     \
  TEST_SUITE_REGISTER(fact, .kind = TEST_SUITE_TEST, .test = {#fact, fact, __FILE__, __LINE__}, \
                      .loop_first = (int)(first), .loop_end = (int)(end))                       \
  static void fact(int _i CK_ATTRIBUTE_UNUSED)

/** Defines a test that runs for each index `_i` of an array. */
#define RLO_TABLE_TEST(fact, table) RLO_LOOP_TEST(fact, 0, sizeof(table) / sizeof((table)[0]))

/** Calls `setup` before and `teardown` after each test of this file, in the
 *  test's process; each may be NULL. */
#define RLO_FIXTURE(setup, teardown)                                                            \
  TEST_SUITE_REGISTER(test_suite_fixture, .kind = TEST_SUITE_FIXTURE, .fixture_begin = (setup), \
                      .fixture_end = (teardown))                                                \
  _Static_assert(true, "")

/** Calls `setup` before the first and `teardown` after the last test of this
 *  file, in the process that forks the tests. */
#define RLO_FILE_FIXTURE(setup, teardown)                                       \
  TEST_SUITE_REGISTER(test_suite_file_fixture, .kind = TEST_SUITE_FILE_FIXTURE, \
                      .fixture_begin = (setup), .fixture_end = (teardown))      \
  _Static_assert(true, "")

/** Limits each test of this file to `seconds`, which Check multiplies with
 *  CK_TIMEOUT_MULTIPLIER. */
#define RLO_TIMEOUT(limit_seconds)                                                                \
  TEST_SUITE_REGISTER(test_suite_timeout, .kind = TEST_SUITE_TIMEOUT, .seconds = (limit_seconds)) \
  _Static_assert(true, "")

/** Runs the tests of this file in one process. */
#define RLO_NO_FORK()                                                 \
  TEST_SUITE_REGISTER(test_suite_no_fork, .kind = TEST_SUITE_NO_FORK) \
  _Static_assert(true, "")

/** The kinds of entries of a file: a test or a setting for all of its tests. */
typedef enum test_suite_kind {
  TEST_SUITE_TEST,
  TEST_SUITE_FIXTURE,
  TEST_SUITE_FILE_FIXTURE,
  TEST_SUITE_TIMEOUT,
  TEST_SUITE_NO_FORK
} test_suite_kind;

typedef struct test_suite_entry {
  test_suite_kind kind;
  const char *path;
  bool is_on_device;
  TTest test;
  int loop_first, loop_end;
  void (*fixture_begin)(void);
  void (*fixture_end)(void);
  double seconds;
  struct test_suite_entry *next;
} test_suite_entry;

/** Appends an entry, which must live as long as the program. Called by the
 *  macros above before main(). */
void test_suite_add(test_suite_entry *entry);

/** Runs the tests that the arguments name (see above) and returns the exit
 *  status: a failure, too, for a name that does not exist and where no test
 *  ran. For a main() that has something to do first. */
int test_suite_run(int argc, char **argv);

#ifdef RELAYOUT_TEST_ON_DEVICE
#define TEST_SUITE_IS_ON_DEVICE true
#else
#define TEST_SUITE_IS_ON_DEVICE false
#endif

#define TEST_SUITE_REGISTER(name, ...)                                           \
  __attribute__((constructor)) static void name##_register(void) {               \
    static test_suite_entry registered;                                          \
    registered = (test_suite_entry){                                             \
        .path = __FILE__, .is_on_device = TEST_SUITE_IS_ON_DEVICE, __VA_ARGS__}; \
    test_suite_add(&registered);                                                 \
  }

#endif
