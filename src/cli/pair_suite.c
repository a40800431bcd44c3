/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_suite.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"

#include "display.h"
#include "message.h"
#include "options.h"

enum { MAX_LINE_BYTES = 65536, MAX_PAIRS = 1 << 16 };

/* The capacity doubles when the count reaches a power of two. */
static int reserve(rlo__pair_suite *suite) {
  if (suite->count == MAX_PAIRS) {
    return rlo__fail("a suite has at most %d pairs", MAX_PAIRS);
  }
  if ((suite->count & (suite->count - 1)) == 0) {
    size_t room = suite->count == 0 ? 1 : 2 * (size_t)suite->count;
    rlo__pair *pairs = realloc(suite->pairs, room * sizeof(*pairs));
    if (pairs == NULL) {
      return rlo__fail("cannot get memory for %zu pairs", room);
    }
    suite->pairs = pairs;
  }
  return RLO__EXIT_OK;
}

int rlo__pair_suite_add(rlo__pair_suite *suite,
                        const char *verb,
                        const char *src,
                        const char *dst,
                        const char *permutation) {
  int code = reserve(suite);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo__pair *pair = &suite->pairs[suite->count];
  code = rlo__shape_operand_parse(src, &pair->src);
  if (code == RLO__EXIT_OK) {
    code = rlo__shape_operand_parse(dst, &pair->dst);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__permutation_parse(verb,
                                  "the permutation",
                                  permutation,
                                  pair->src.rank,
                                  pair->permutation);
  }
  suite->count += code == RLO__EXIT_OK;
  return code;
}

int rlo__pair_suite_add_line(rlo__pair_suite *suite,
                             const char *verb,
                             char *line) {
  static const char blanks[] = " \t\r\n";
  char *rest = NULL;
  const char *src = strtok_r(line, blanks, &rest);
  if (src == NULL || src[0] == '#') {
    return RLO__EXIT_OK;
  }
  const char *dst = strtok_r(NULL, blanks, &rest);
  const char *permutation = strtok_r(NULL, blanks, &rest);
  if (dst == NULL || strtok_r(NULL, blanks, &rest) != NULL) {
    return rlo__fail("expected two shapes and optionally a permutation");
  }
  return rlo__pair_suite_add(suite, verb, src, dst, permutation);
}

static int read_lines(rlo__pair_suite *suite,
                      const char *verb,
                      const char *path,
                      FILE *file,
                      char *line) {
  int code = RLO__EXIT_OK;
  for (int64_t number = 1;
       code == RLO__EXIT_OK && fgets(line, MAX_LINE_BYTES, file) != NULL;
       ++number) {
    rlo__message_set_place(path, number);
    bool is_whole = strchr(line, '\n') != NULL || feof(file);
    code = is_whole ? rlo__pair_suite_add_line(suite, verb, line)
                    : rlo__fail("the line has more than %d bytes",
                                MAX_LINE_BYTES - 2);
  }
  rlo__message_set_place(NULL, 0);
  if (code == RLO__EXIT_OK && ferror(file)) {
    code = rlo__fail("cannot read %s: %s", path, strerror(errno));
  }
  return code;
}

int rlo__pair_suite_read(rlo__pair_suite *suite,
                         const char *verb,
                         const char *path) {
  const bool is_stdin = strcmp(path, "-") == 0;
  FILE *file = is_stdin ? stdin : fopen(path, "r");
  if (file == NULL) {
    return rlo__fail("cannot open %s: %s", path, strerror(errno));
  }
  char *line = malloc(MAX_LINE_BYTES);
  int code =
      line == NULL
          ? rlo__fail("cannot get %d bytes of memory", MAX_LINE_BYTES)
          : read_lines(
                suite, verb, is_stdin ? "standard input" : path, file, line);
  free(line);
  if (!is_stdin) {
    fclose(file);
  }
  return code;
}

int rlo__pair_suite_run(const rlo__pair_suite *suite,
                        rlo__pair_fn fn,
                        void *payload) {
  rlo_problem *problem = calloc(1, sizeof(*problem));
  if (problem == NULL) {
    return rlo__fail("cannot get %zu bytes of memory", sizeof(*problem));
  }
  int code = RLO__EXIT_OK;
  for (int32_t n = 0; code == RLO__EXIT_OK && n < suite->count; ++n) {
    const rlo__pair *pair = &suite->pairs[n];
    code = rlo_relayout_lower(
               &pair->src, &pair->dst, pair->permutation, problem) == RLO_OK
               ? fn(payload, pair, problem)
               : rlo__fail_last();
  }
  free(problem);
  return code;
}

void rlo__pair_suite_deinit(rlo__pair_suite *suite) {
  free(suite->pairs);
  *suite = (rlo__pair_suite){0};
}
