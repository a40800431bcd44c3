/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_SUITE_FILE_H
#define RLO_CLI_SUITE_FILE_H

#include "relayout/shape.h"

/** A relayout that somebody has written down. */
typedef struct rlo__pair {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
} rlo__pair;

/** Pairs of shapes, one to a line: "SRC DST" or "SRC DST 1,0". */
typedef struct rlo__suite {
  int32_t count;
  rlo__pair *pairs;
} rlo__suite;

/**
 * A pair from its texts; `permutation` may be NULL. `verb` and `what` name the
 * place in messages. RLO__EXIT_OK, or prints why not.
 */
int rlo__pair_parse(const char *verb,
                    const char *src,
                    const char *dst,
                    const char *permutation,
                    rlo__pair *out_pair);

/** Read a file, or standard input for "-". Empty lines and lines that begin
 *  with # are skipped. RLO__EXIT_OK, or prints the line that is wrong; deinit
 *  must follow in any case. */
int rlo__suite_read(const char *verb, const char *path, rlo__suite *out_suite);

void rlo__suite_deinit(rlo__suite *suite);

#endif
