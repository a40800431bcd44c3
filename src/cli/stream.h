/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_H
#define RLO_CLI_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "stream_jobs.h"

/** Jobs from files to files, in pieces: no side is in memory as a whole.
 *  Functions that return an int return an exit code of message.h, after a
 *  message unless it is RLO__EXIT_OK. */

/** What was done. Plain, without pointers: processes share it. */
typedef struct rlo__stream_result {
  /** Between commas; "" on the host. */
  char device_names[256];
  /** The family of the kernel, where one kernel runs the whole of it. */
  char family[32];
  /** Of all jobs together. */
  rlo_job_info info;
  /** Why a job failed; RLO_OK also if it was none that did. */
  rlo_status status;
  /** All jobs were accepted. */
  bool has_begun;
} rlo__stream_result;

/**
 * Runs the jobs. The outputs appear complete, all of them or none, whatever
 * ends the command. What can be resumed then stays, and the command says so.
 * Draws the progress on standard error, and prints an event each second for
 * --json.
 */
int rlo__stream_run(const rlo__stream *stream, rlo__stream_result *out_result);

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
