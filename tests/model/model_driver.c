/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the cases of a file through the library's host reference and compares
 * with what the model expects:
 *
 *   model_driver FILE [ID]
 *
 * The number of fields tells the kind of a case. With an ID only that case
 * runs, and its problems and bytes are printed.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_case.h"

enum { MAX_SHOWN_FAILURES = 20 };

static const struct {
  int num_fields;
  bool (*run)(char *fields[MODEL_MAX_FIELDS]);
  /** Shows what is expected of a case, with its first field. */
  const char *show;
} kinds[] = {{4, model_run_index, "generate_cases.py --show-index"},
             {7, model_run_moves, "generate_cases.py or generate_ops.py --show"},
             {13, model_run_numbers, "the last field of case"}};

bool model_is_verbose;

static int64_t num_passed, num_failed;

bool model_complain(const char *what) {
  if (num_failed < MAX_SHOWN_FAILURES) {
    printf("%s\n", what);
  }
  return false;
}

bool model_is_ok(rlo_status status) {
  return status == RLO_OK || model_complain(rlo_error_last()->message);
}

/* Cuts a line at its tabs; returns the number of fields. */
static int cut(char *line, char *fields[MODEL_MAX_FIELDS]) {
  int count = 0;
  for (char *at = line; at != NULL && count < MODEL_MAX_FIELDS; ++count) {
    fields[count] = at;
    at = strchr(at, '\t');
    if (at != NULL) {
      *at++ = '\0';
    }
  }
  return count;
}

/* Runs the case of a line, unless another one is wanted. False if it is none.
 */
static bool run_line(char *line, const char *path, const char *only) {
  char *fields[MODEL_MAX_FIELDS] = {NULL};
  const int count = cut(line, fields);
  size_t k = 0;
  while (k < sizeof kinds / sizeof kinds[0] && kinds[k].num_fields != count) {
    ++k;
  }
  if (k == sizeof kinds / sizeof kinds[0]) {
    fprintf(stderr, "a line of %d fields is no case\n", count);
    return false;
  }
  if (only != NULL && strcmp(only, fields[0]) != 0) {
    return true;
  }
  if (kinds[k].run(fields)) {
    ++num_passed;
  } else if (num_failed++ < MAX_SHOWN_FAILURES) {
    printf("FAILED %s %s %s\n  again: model_driver %s '%s'\n  expected: %s '%s'\n", fields[0],
           fields[1], fields[2], path, fields[0], kinds[k].show, fields[0]);
  }
  return true;
}

/* Reads as many lines as the head line says; false after a message. */
static bool run_file(FILE *file, const char *path, const char *only) {
  char *line = NULL;
  size_t capacity = 0;
  int64_t seed = 0;
  int64_t num_lines = -1;
  int64_t num_read = 0;
  bool is_whole = getline(&line, &capacity, file) > 0 &&
                  sscanf(line, "# seed %" SCNd64 " lines %" SCNd64, &seed, &num_lines) == 2;
  while (is_whole && num_read < num_lines) {
    const ssize_t length = getline(&line, &capacity, file);
    is_whole = length > 0 && line[length - 1] == '\n';
    if (is_whole) {
      line[length - 1] = '\0';
      is_whole = run_line(line, path, only);
      ++num_read;
    }
  }
  if (!is_whole || getline(&line, &capacity, file) > 0) {
    fprintf(stderr, "%s: not whole after %" PRId64 " lines\n", path, num_read);
    is_whole = false;
  }
  printf("seed %" PRId64 ": %" PRId64 " passed, %" PRId64 " failed\n", seed, num_passed,
         num_failed);
  free(line);
  return is_whole;
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 || argc == 3 ? fopen(argv[1], "r") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: model_driver FILE [ID], of a file that can be read\n");
    return 2;
  }
  model_is_verbose = argc == 3;
  const bool is_whole = run_file(file, argv[1], argc == 3 ? argv[2] : NULL);
  (void)fclose(file);
  return is_whole && num_failed == 0 && num_passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
