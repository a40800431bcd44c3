/* SPDX-License-Identifier: Apache-2.0 */
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/low_thresholds.h"

enum { MAX_NAME = 128 };

static test_suite_entry *entries;
static test_suite_entry *last;

void test_suite_add(test_suite_entry *entry) {
  *(last == NULL ? &entries : &last->next) = entry;
  last = entry;
}

/** A file's name without its folders and ".c". */
static void file_name(const test_suite_entry *entry, char out[MAX_NAME]) {
  const char *slash = strrchr(entry->path, '/');
  snprintf(out, MAX_NAME, "%s", slash == NULL ? entry->path : slash + 1);
  char *dot = strrchr(out, '.');
  if (dot != NULL) {
    *dot = '\0';
  }
}

static bool is_of_file(const test_suite_entry *entry, const char *file) {
  char name[MAX_NAME];
  file_name(entry, name);
  return strcmp(name, file) == 0;
}

static bool is_first_of_its_file(const test_suite_entry *entry) {
  const test_suite_entry *first = entries;
  while (strcmp(first->path, entry->path) != 0) {
    first = first->next;
  }
  return first == entry;
}

static bool is_among(const char *name, char **names, int num_names) {
  bool is_found = false;
  for (int n = 0; n < num_names; ++n) {
    is_found = is_found || strcmp(names[n], name) == 0;
  }
  return is_found;
}

static void list_tests(void) {
  for (const test_suite_entry *e = entries; e != NULL; e = e->next) {
    char file[MAX_NAME];
    file_name(e, file);
    if (e->kind == TEST_SUITE_TEST) {
      int count = e->loop_end - e->loop_first;
      printf(count == 1 ? "%s %s\n" : "%s %s %d\n", file, e->test.name, count);
    }
  }
}

/** Prints the first name that does not exist, if any. */
static bool check_names(const char *file, char **tests, int num_tests) {
  bool has_file = false;
  for (const test_suite_entry *e = entries; e != NULL; e = e->next) {
    has_file = has_file || is_of_file(e, file);
  }
  if (!has_file) {
    fprintf(stderr, "no file of tests is named '%s'; see --list\n", file);
    return false;
  }
  for (int t = 0; t < num_tests; ++t) {
    bool has_test = false;
    for (const test_suite_entry *e = entries; e != NULL; e = e->next) {
      has_test = has_test || (e->kind == TEST_SUITE_TEST && is_of_file(e, file) &&
                              strcmp(e->test.name, tests[t]) == 0);
    }
    if (!has_test) {
      fprintf(stderr, "%s has no test named '%s'; see --list\n", file, tests[t]);
      return false;
    }
  }
  return true;
}

/** Applies an entry to its file's case; a test only if it is among `tests`,
 *  num_tests 0 for all. */
static void add_entry(TCase *tcase, SRunner *runner, const test_suite_entry *entry, char **tests,
                      int num_tests) {
  if (entry->is_on_device || entry->kind == TEST_SUITE_NO_FORK) {
    srunner_set_fork_status(runner, CK_NOFORK);
  }
  switch (entry->kind) {
    case TEST_SUITE_TEST:
      if (num_tests == 0 || is_among(entry->test.name, tests, num_tests)) {
        tcase_add_loop_test(tcase, &entry->test, entry->loop_first, entry->loop_end);
      }
      break;
    case TEST_SUITE_FIXTURE:
      tcase_add_checked_fixture(tcase, entry->fixture_begin, entry->fixture_end);
      break;
    case TEST_SUITE_FILE_FIXTURE:
      tcase_add_unchecked_fixture(tcase, entry->fixture_begin, entry->fixture_end);
      break;
    case TEST_SUITE_TIMEOUT:
      tcase_set_timeout(tcase, entry->seconds);
      break;
    case TEST_SUITE_NO_FORK:
      break;
  }
}

/** Runs a file with a runner of its own, since whether to fork is a runner's
 *  property. Adds to the counts of tests. */
static void run_file(const char *file, char **tests, int num_tests, int *num_run, int *num_failed) {
  Suite *suite = suite_create(file);
  TCase *tcase = tcase_create(file);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  for (const test_suite_entry *e = entries; e != NULL; e = e->next) {
    if (is_of_file(e, file)) {
      add_entry(tcase, runner, e, tests, num_tests);
    }
  }
  srunner_run_all(runner, CK_ENV);
  *num_run += srunner_ntests_run(runner);
  *num_failed += srunner_ntests_failed(runner);
  srunner_free(runner);
}

int test_suite_run(int argc, char **argv) {
  int num_run = 0;
  int num_failed = 0;
  if (test_thresholds_are_low()) {
    printf("low thresholds\n");
  }
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    list_tests();
    return EXIT_SUCCESS;
  }
  if (argc > 1) {
    if (!check_names(argv[1], argv + 2, argc - 2)) {
      return EXIT_FAILURE;
    }
    run_file(argv[1], argv + 2, argc - 2, &num_run, &num_failed);
  } else {
    for (const test_suite_entry *e = entries; e != NULL; e = e->next) {
      if (is_first_of_its_file(e)) {
        char file[MAX_NAME];
        file_name(e, file);
        run_file(file, NULL, 0, &num_run, &num_failed);
      }
    }
  }
  if (num_run == 0) {
    fprintf(stderr, "no test ran\n");
    return EXIT_FAILURE;
  }
  return num_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
