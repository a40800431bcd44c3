/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_PAIR_SUITE_H
#define RLO_CLI_PAIR_SUITE_H

#include <stdint.h>

#include "relayout/problem.h"
#include "relayout/shape.h"

/** Relayouts by their shapes, for the verbs that go through a list of them.
 *  Functions that return an int return an exit code of message.h, after a
 *  message unless it is RLO__EXIT_OK. `verb` is used in messages. */

typedef struct rlo__pair {
  rlo_shape src;
  rlo_shape dst;
  /** Destination dimension k is source dimension permutation[k]. */
  int32_t permutation[RLO_MAX_RANK];
} rlo__pair;

/** Begin with zeros. */
typedef struct rlo__pair_suite {
  int32_t count;
  rlo__pair *pairs;
} rlo__pair_suite;

/** Appends a pair. `permutation` may be NULL. */
int rlo__pair_suite_add(rlo__pair_suite *suite,
                        const char *verb,
                        const char *src,
                        const char *dst,
                        const char *permutation);

/** Appends what a line says: "SRC DST" or "SRC DST 1,0"; nothing for an empty
 *  one and for one that begins with #. Changes the line. */
int rlo__pair_suite_add_line(rlo__pair_suite *suite,
                             const char *verb,
                             char *line);

/** Appends the lines of a file, or of standard input for "-". A message names
 *  the file and the line. */
int rlo__pair_suite_read(rlo__pair_suite *suite,
                         const char *verb,
                         const char *path);

/** Works on a pair, whose problem has been lowered. */
typedef int (*rlo__pair_fn)(void *payload,
                            const rlo__pair *pair,
                            const rlo_problem *problem);

/** Lowers each pair and calls `fn`, until one fails. */
int rlo__pair_suite_run(const rlo__pair_suite *suite,
                        rlo__pair_fn fn,
                        void *payload);

void rlo__pair_suite_deinit(rlo__pair_suite *suite);

#endif
