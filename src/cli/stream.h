/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_H
#define RLO_CLI_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "stream_jobs.h"

/** Jobs from files to files, in pieces: no side is in memory as a whole.
 *  Functions that return an int return an exit code of message.h, after a
 *  message unless it is RLO__EXIT_OK. */

/**
 * Plans the jobs, runs them unless that is all that is wanted, and prints what
 * they need and have done. The outputs appear complete, all of them or none,
 * whatever ends the command. What can be resumed then stays, and the command
 * says so. Draws the progress on standard error, and prints an event each
 * second for --json.
 * @param out_is_done  as in rlo__stream_plan: false, and nothing was done,
 * where the arrays are to be loaded. NULL: jobs are the only way.
 */
int rlo__stream_do(const rlo__stream *stream, bool *out_is_done);

/**
 * Runs the jobs of the only output, whose bytes begin at a position of a file
 * that is open for both: a part of an output that others begin and end. In this
 * process.
 */
int rlo__stream_run_share(const rlo__stream *stream,
                          int fd,
                          int64_t offset_bytes,
                          rlo__stream_result *out_result);

#endif
