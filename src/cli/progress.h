/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_PROGRESS_H
#define RLO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/service.h"

/** How far a job is, on standard error. */

typedef enum rlo__progress_kind {
  RLO__PROGRESS_NONE = 0,
  /** A line of a terminal that is drawn anew ten times a second. */
  RLO__PROGRESS_LINE = 1,
  /** A line each ten seconds, for files and pipes. */
  RLO__PROGRESS_LINES = 2
} rlo__progress_kind;

/** Used by one thread. */
typedef struct rlo__progress {
  rlo__progress_kind kind;
  /** The output that is being made. Borrowed. */
  const char *name;
  /** When it is shown next, in seconds of the job. */
  double next_seconds;
  /** The columns of the terminal's line that it has; 0: none. */
  int drawn_columns;
} rlo__progress;

/** Begins, for what standard error is: a terminal that can go back to the
 *  beginning of a line, or not; then lines only if they are wanted. Shows
 *  nothing yet, nor in the first second. `name` is borrowed. */
void rlo__progress_begin(rlo__progress *progress,
                         bool is_wanted,
                         bool is_quiet,
                         const char *name);

/** Shows it if it is time to; call it ten times a second. */
void rlo__progress_show(rlo__progress *progress, const rlo_job_info *info);

/** Ends the line, if there is one: with the totals of a job that is done. */
void rlo__progress_end(rlo__progress *progress, const rlo_job_info *info);

/** Returns "read", "run" or "write": the stage that threads were busy with
 *  longest. */
const char *rlo__progress_bottleneck(const rlo_job_info *info);

#endif
