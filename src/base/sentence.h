/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_SENTENCE_H
#define RLO_BASE_SENTENCE_H

#include <stdarg.h>
#include <stddef.h>

#include "relayout/export.h"
#include "relayout/status.h"

enum {
  /** Room for a message of the library and some words of the command. */
  RLO__SENTENCE_BYTES = 768
};

/**
 * Copies a text so that a terminal shows it and obeys none of it: control
 * characters, marks that turn the direction of writing and bytes that are not
 * UTF-8 become \xNN. A text that does not fit keeps its two ends, with "..."
 * in between, and all of each character or \xNN.
 *
 * @param capacity  of `out`, at least 16.
 * @return the length of the copy, less than `capacity`.
 */
size_t rlo__sentence_escape(char *out, size_t capacity, const char *text);

/**
 * Prints as vsnprintf does and escapes the result. Arguments may point into
 * `out`.
 */
RLO_PRINTF(3, 0)
size_t rlo__sentence_print(char *out,
                           size_t capacity,
                           const char *format,
                           va_list arguments);

#endif
