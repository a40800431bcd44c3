/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_PAIR_SUITE_H
#define RLO_CLI_PAIR_SUITE_H

#include <stddef.h>
#include <stdint.h>

#include "relayout/problem.h"
#include "relayout/shape.h"

#include "display.h"
#include "options.h"
#include "report.h"
#include "session.h"

/** Relayouts by their shapes, for the verbs that go through a list of them.
 *  Functions that return an int return an exit code of message.h, after a
 *  message unless it is RLO__EXIT_OK. */

typedef struct rlo__pair {
  rlo_shape src;
  rlo_shape dst;
  /** Destination dimension k is source dimension permutation[k]. */
  int32_t permutation[RLO_MAX_RANK];
} rlo__pair;

/** A pair at work, on an open device. */
typedef struct rlo__pair_run {
  rlo__session *session;
  rlo__report report;
  /** Lowered. */
  rlo_problem problem;
  /** The texts of the shapes. */
  const char *src;
  const char *dst;
} rlo__pair_run;

/** A list of pairs, and the work on them. Begins with all but the last three.
 */
typedef struct rlo__pair_suite {
  /** Messages name it. */
  const char *verb;
  const rlo__common_options *common;
  /** Adds rows before the pairs; NULL: none. `run` has no pair. */
  void (*begin)(void *payload, rlo__pair_run *run);
  /** Adds the rows of a pair to the list of them. */
  int (*work)(void *payload, rlo__pair_run *run);
  void *payload;
  size_t count, capacity;
  rlo__pair *pairs;
} rlo__pair_suite;

/** Appends a pair. `permutation` may be NULL. */
int rlo__pair_suite_add(rlo__pair_suite *suite, const char *src, const char *dst,
                        const char *permutation);

/** Appends what a line says: "SRC DST" or "SRC DST 1,0"; nothing for an empty
 *  one and for one that begins with #. Changes the line. */
int rlo__pair_suite_add_line(rlo__pair_suite *suite, char *line);

/** Appends the lines of a file, or of standard input for "-". A message names
 *  the file and the line. */
int rlo__pair_suite_read(rlo__pair_suite *suite, const char *path);

/** Opens the device, which the report names, and works on each pair, until one
 *  fails: in a child process, unless --no-isolate is given. */
int rlo__pair_suite_run(rlo__pair_suite *suite);

void rlo__pair_suite_deinit(rlo__pair_suite *suite);

#endif
