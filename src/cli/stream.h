/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_H
#define RLO_CLI_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/service.h"

#include "array_file.h"
#include "options.h"
#include "stream_options.h"

/** Jobs from files to files, in pieces: no side is in memory as a whole.
 *  Functions that return an int return an exit code of message.h, after a
 *  message unless it is RLO__EXIT_OK. */

/** A file that is written: by one job, or by several, each its own bytes. */
typedef struct rlo__stream_output {
  const char *path;
  /** Whose physical bytes it holds, behind a header. */
  const rlo_shape *shape;
  int64_t bytes;
} rlo__stream_output;

/** A problem, and which of the sources and outputs it reads and writes. */
typedef struct rlo__stream_job {
  const rlo_problem *problem;
  int32_t source;
  int32_t output;
} rlo__stream_job;

/** What to do. All borrowed. */
typedef struct rlo__stream {
  const rlo__stream_options *options;
  const rlo__common_options *common;
  /** Open. */
  const rlo__array_source *sources;
  int32_t num_sources;
  /** At least one. */
  const rlo__stream_output *outputs;
  int32_t num_outputs;
  /** They run one after the other, in this order. */
  const rlo__stream_job *jobs;
  int32_t num_jobs;
  /** Looks at an output before it gets its name: the open part, and where in it
   *  the array begins. NULL: nobody does. */
  int (*verify)(const void *payload,
                int32_t output,
                int fd,
                int64_t offset_bytes);
  const void *payload;
} rlo__stream;

/** What was done. Plain, without pointers: processes share it. */
typedef struct rlo__stream_result {
  /** Between commas; "" on the host. */
  char device_names[256];
  /** Of all jobs together. */
  rlo_job_info info;
  /** Why a job failed; RLO_OK also if it was none that did. */
  rlo_status status;
} rlo__stream_result;

/**
 * Computes what the jobs would do together, for arrays of which some are larger
 * than RLO__LARGE_BYTES or for whom pieces are asked for
 * (rlo__stream_is_asked_for).
 *
 * @param out_is_worth  false: the arrays are to be loaded. Some problem cannot
 *                 be cut, or some output is no regular file, either of which is
 *                 an error if pieces are asked for; or the jobs would write
 *                 bytes here and there between those of each other, which is
 *                 slow, and the machine has memory for all of them.
 */
int rlo__stream_plan(const rlo__stream *stream,
                     rlo_job_estimate *out_estimate,
                     bool *out_is_worth);

/**
 * Runs the jobs. The outputs appear complete, all of them or none, whatever
 * ends the command. Draws the progress on standard error, and prints an event
 * each second for --json.
 */
int rlo__stream_run(const rlo__stream *stream, rlo__stream_result *out_result);

#endif
