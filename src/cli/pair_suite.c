/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_suite.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"

#include "base/alloc.h"
#include "display.h"
#include "message.h"
#include "options.h"

enum { MAX_PAIRS = 1 << 16 };

int rlo__pair_suite_add(rlo__pair_suite *suite, const char *src, const char *dst,
                        const char *permutation) {
  RLO__EXIT_IF(suite->count == MAX_PAIRS, "a suite has at most %d pairs", MAX_PAIRS);
  RLO__EXIT_TRY(rlo__check(rlo__array_reserve(&suite->pairs, sizeof(*suite->pairs),
                                              suite->count + 1, &suite->capacity)));
  rlo__pair *pair = &suite->pairs[suite->count];
  RLO__EXIT_TRY(rlo__shape_operand_parse(src, &pair->src));
  RLO__EXIT_TRY(rlo__shape_operand_parse(dst, &pair->dst));
  RLO__EXIT_TRY(rlo__permutation_parse(suite->verb, "the permutation", permutation, pair->src.rank,
                                       pair->permutation));
  ++suite->count;
  return RLO__EXIT_OK;
}

int rlo__pair_suite_add_line(rlo__pair_suite *suite, char *line) {
  static const char blanks[] = " \t\r\n";
  char *rest = NULL;
  const char *src = strtok_r(line, blanks, &rest);
  if (src == NULL || src[0] == '#') {
    return RLO__EXIT_OK;
  }
  const char *dst = strtok_r(NULL, blanks, &rest);
  const char *permutation = strtok_r(NULL, blanks, &rest);
  RLO__EXIT_IF(dst == NULL || strtok_r(NULL, blanks, &rest) != NULL,
               "expected two shapes and optionally a permutation");
  return rlo__pair_suite_add(suite, src, dst, permutation);
}

int rlo__pair_suite_read(rlo__pair_suite *suite, const char *path) {
  const bool is_stdin = strcmp(path, "-") == 0;
  const char *name = is_stdin ? "standard input" : path;
  FILE *file = is_stdin ? stdin : fopen(path, "re");
  char *line = NULL;
  size_t capacity = 0;
  int code = RLO__EXIT_OK;
  RLO__EXIT_IF(file == NULL, "cannot open %s: %s", path, strerror(errno));
  for (int64_t number = 1; code == RLO__EXIT_OK && getline(&line, &capacity, file) >= 0; ++number) {
    rlo__message_set_place(name, number);
    code = rlo__pair_suite_add_line(suite, line);
  }
  rlo__message_set_place(NULL, 0);
  if (code == RLO__EXIT_OK && !feof(file)) {
    code = rlo__fail("cannot read %s: %s", name, strerror(errno));
  }
  free(line);
  if (!is_stdin) {
    fclose(file);
  }
  return code;
}

void rlo__pair_suite_deinit(rlo__pair_suite *suite) {
  rlo__free(suite->pairs);
}

/* ------------------------------------------------------------------ running */

static int run_pair(const rlo__pair_suite *suite, const rlo__pair *pair, rlo__pair_run *run) {
  RLO__EXIT_TRY(
      rlo__check(rlo_relayout_lower(&pair->src, &pair->dst, pair->permutation, &run->problem)));
  run->src = rlo__shape_text(&pair->src);
  run->dst = rlo__shape_text(&pair->dst);
  RLO__EXIT_TRY(suite->work(suite->payload, run));
  fflush(stdout);
  return RLO__EXIT_OK;
}

static int run_pairs(void *payload, rlo__session *session) {
  /* Static: a problem is too large for the stack. */
  static rlo__pair_run run;
  const rlo__pair_suite *suite = payload;
  int code = RLO__EXIT_OK;
  run.session = session;
  rlo__report_begin(&run.report, suite->common->is_json, 0);
  RLO__REPORT(&run.report, RLO__STRING("device", NULL, session->device_name));
  if (suite->begin != NULL) {
    suite->begin(suite->payload, &run);
  }
  rlo__report_open(&run.report, "pairs", '[');
  for (size_t n = 0; code == RLO__EXIT_OK && n < suite->count; ++n) {
    code = run_pair(suite, &suite->pairs[n], &run);
  }
  rlo__report_end(&run.report);
  return code;
}

int rlo__pair_suite_run(rlo__pair_suite *suite) {
  return rlo__session_run(suite->common, NULL, run_pairs, suite);
}
