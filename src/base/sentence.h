/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_SENTENCE_H
#define RLO_BASE_SENTENCE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/export.h"
#include "relayout/status.h"

enum {
  /** Room for a message of the library and some words of the command. */
  RLO__SENTENCE_BYTES = 768,
  /** Room for a character, or the four that stand for a byte. */
  RLO__SENTENCE_STEP_BYTES = 8
};

/**
 * Steps over the next character of a text that does not end here, and writes
 * what a terminal may get of it: the character, or \xNN for one of its bytes
 * if it is a control character or a mark that turns the direction of writing,
 * or if it is not UTF-8.
 *
 * @param out  RLO__SENTENCE_STEP_BYTES; not ended by a NUL.
 * @return the bytes written.
 */
size_t rlo__sentence_next(const char **text, char *out);

/**
 * Copies a text so that a terminal shows it and obeys none of it, by
 * rlo__sentence_next. A text that does not fit keeps its two ends, with "..."
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
size_t rlo__sentence_print(char *out, size_t capacity, const char *format, va_list arguments);

/**
 * The name that a word is nearest to, of those that it is compared with: for
 * the sentence that refuses the word. Case, blanks, '-' and '_' do not count.
 */
typedef struct rlo__nearest {
  /** The word without what does not count, or as much of it as has room. */
  char word[48];
  /** How many letters in one place of the word are others in the name; 1 for
   *  two that are exchanged, for the beginning of a name and for what goes on
   *  behind a name. */
  size_t distance;
  /** "; did you mean 'NAME'?"; "": no name is near. */
  char hint[80];
} rlo__nearest;

/** Begins with a word, which need not end in NUL. */
rlo__nearest rlo__nearest_begin(const char *word, size_t length);

/** Compares the word with a name, which is near if at most a third of its
 *  letters are others. Of names of one distance the first counts. */
void rlo__nearest_try(rlo__nearest *nearest, const char *name);

typedef enum rlo__log_level {
  RLO__LOG_ERROR = 0,
  RLO__LOG_WARNING = 1,
  RLO__LOG_INFO = 2,
  RLO__LOG_DEBUG = 3
} rlo__log_level;

/**
 * A receiver of messages. `fn` has the type of the public log functions
 * (rlo_log_fn), and `severity` is a rlo__log_level. `line` is a
 * sentence, without newline, of at most 1023 characters, and valid during the
 * call. `fn` may be called by
 * several threads at once and must not call relayout.
 */
typedef struct rlo__log_sink {
  /** NULL: messages are dropped. */
  void (*fn)(void *payload, int32_t severity, const char *line);
  void *payload;
  /** Messages of a higher level are dropped before they are formatted. */
  rlo__log_level level;
} rlo__log_sink;

/** Formats a message and passes it to `sink`. NULL is legal. */
RLO_PRINTF(3, 4)
void rlo__log(const rlo__log_sink *sink, rlo__log_level level, const char *format, ...);

#endif
