/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_MESSAGE_H
#define RLO_CLI_MESSAGE_H

#include <stdint.h>

#include "relayout/status.h"

/** What the command returns to the shell. */
typedef enum rlo__exit {
  /** Help was printed in place of the work: main makes it RLO__EXIT_OK. */
  RLO__EXIT_HELP = -1,
  RLO__EXIT_OK = 0,
  /** The work failed; a line on standard error says why. */
  RLO__EXIT_FAILURE = 1,
  /** The command line makes no sense. */
  RLO__EXIT_USAGE = 2,
  /** The OpenCL driver ended the process that used it. */
  RLO__EXIT_DRIVER = 70
} rlo__exit;

/** Have the messages from here on begin with "path:line: "; NULL ends that.
 *  `path` is borrowed. */
void rlo__message_set_place(const char *path, int64_t line);

/** Print "relayout: <sentence>" on standard error; returns RLO__EXIT_FAILURE.
 */
RLO_PRINTF(1, 2)
int rlo__fail(const char *format, ...);

/** The same with the record of the library call that just failed, and the log
 *  of a kernel build if there is one. */
int rlo__fail_last(void);

/** Print the sentence and where help is; returns RLO__EXIT_USAGE. `verb` may
 *  be NULL. */
RLO_PRINTF(2, 3)
int rlo__fail_usage(const char *verb, const char *format, ...);

/** Flush standard output: `code`, or RLO__EXIT_FAILURE with a line if what was
 *  printed could not be written. */
int rlo__finish_output(int code);

#endif
