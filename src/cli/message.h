/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_MESSAGE_H
#define RLO_CLI_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "relayout/status.h"

/** Exit codes of the command. */
typedef enum rlo__exit {
  /** --help was printed; main exits with RLO__EXIT_OK. */
  RLO__EXIT_HELP = -1,
  RLO__EXIT_OK = 0,
  /** The work failed; a line on standard error gives the reason. */
  RLO__EXIT_FAILURE = 1,
  /** The command line is wrong. */
  RLO__EXIT_USAGE = 2,
  /** The OpenCL driver ended the process that used it. */
  RLO__EXIT_DRIVER = 70
} rlo__exit;

/** Writes a text to a stream so that a terminal shows it and obeys none of it:
 *  see base/sentence.h. A line break is one of these characters. */
void rlo__print_escaped(FILE *out, const char *text);

/** Names the command whose help is told; "relayout" without it. Borrowed. */
void rlo__message_set_program(const char *name);

/** Prefixes the messages that follow with "path:line: "; NULL removes the
 * prefix. `path` is borrowed. */
void rlo__message_set_place(const char *path, int64_t line);

/** Appends what the functions below print to a string in place of standard
 *  error, cut at its capacity, from now on. `buffer` is empty, and borrowed. */
void rlo__message_hold(char *buffer, size_t capacity);

/** Prints "relayout: <sentence>" on standard error; returns RLO__EXIT_FAILURE.
 */
RLO_PRINTF(1, 2)
int rlo__fail(const char *format, ...);

/** The same with the message of the library call that failed last on this
 *  thread, and the build log if a kernel did not compile. */
int rlo__fail_last(void);

/** Returns the exit code for a status of the library: RLO__EXIT_OK, or what
 *  rlo__fail_last does. */
int rlo__check(rlo_status status);

/** Returns the exit code of `expression` from the current function unless it is
 *  RLO__EXIT_OK: RLO_TRY for exit codes. */
#define RLO__EXIT_TRY(expression)       \
  do {                                  \
    const int try_code_ = (expression); \
    if (try_code_ != RLO__EXIT_OK) {    \
      return try_code_;                 \
    }                                   \
  } while (0)

/** Fails as rlo__fail_last from the current function if an allocation gave NULL. */
#define RLO__EXIT_TRY_MEMORY(pointer) \
  do {                                \
    if ((pointer) == NULL) {          \
      return rlo__fail_last();        \
    }                                 \
  } while (0)

/** A check: fails as rlo__fail from the current function if a condition holds. */
#define RLO__EXIT_IF(condition, ...) \
  do {                               \
    if (condition) {                 \
      return rlo__fail(__VA_ARGS__); \
    }                                \
  } while (0)

/** The same for what the user wrote: RLO__USAGE_IF(count == 0, verb, "..."). */
#define RLO__USAGE_IF(condition, ...)      \
  do {                                     \
    if (condition) {                       \
      return rlo__fail_usage(__VA_ARGS__); \
    }                                      \
  } while (0)

/** The same for a text from the command line, which the sentence begins with: a
 *  position in the message is one of this text. */
int rlo__fail_in_text(const char *text);

/** Prints the sentence and how to get help; returns RLO__EXIT_USAGE. `verb` may
 *  be NULL. */
RLO_PRINTF(2, 3)
int rlo__fail_usage(const char *verb, const char *format, ...);

/** Flushes standard output. Returns `code`; RLO__EXIT_FAILURE, after a message,
 *  if `code` is RLO__EXIT_OK and the output could not be written. */
int rlo__finish_output(int code);

#endif
