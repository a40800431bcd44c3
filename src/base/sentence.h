/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_SENTENCE_H
#define RLO_BASE_SENTENCE_H

#include <stdarg.h>
#include <stddef.h>

#include "relayout/export.h"
#include "relayout/status.h"

enum {
  /** Of a longer text only the two ends are shown. */
  RLO__SENTENCE_TEXT_CHARS = 120,
  /** Room for a sentence with a few such texts. */
  RLO__SENTENCE_BYTES = 4096
};

/**
 * Prints the sentence of an error, as vsnprintf does, but for the texts that %s
 * and %c insert, which may be a caller's or a file's: what a terminal would not
 * show as it is (control characters, marks that turn the direction of writing,
 * bytes that are not UTF-8) is printed as \xNN, and of a text of more than
 * RLO__SENTENCE_TEXT_CHARS characters only both ends, with "..." in between.
 * A precision in the format itself, %.400s, allows so many; one that is passed,
 * %.*s, only ends the text. The text of the format "%s" is a sentence itself,
 * and is not cut so.
 *
 * @param whole  a sentence already: where it is inserted, it is not cut. May be
 *               NULL.
 * @return the length of what was printed, less than `capacity`. The output is
 *         cut there, but not within a character or \xNN.
 */
RLO_PRINTF(4, 0)
size_t rlo__sentence_print(char *out,
                           size_t capacity,
                           const char *whole,
                           const char *format,
                           va_list arguments);

#endif
