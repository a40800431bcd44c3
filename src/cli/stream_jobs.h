/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_JOBS_H
#define RLO_CLI_STREAM_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/service.h"

#include "array_file.h"
#include "options.h"
#include "report.h"
#include "stream_options.h"

/** A stream: jobs from files to files. */

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

/** The result of a stream. Plain, without pointers: processes share it. */
typedef struct rlo__stream_result {
  /** Between commas; "" on the host. */
  char device_names[256];
  /** The family of the kernel, where one kernel runs the whole of it. */
  char family[32];
  /** The state of all jobs together. */
  rlo_job_info info;
  /** Why a job failed; RLO_OK also if it was none that did. */
  rlo_status status;
  /** All jobs were accepted. */
  bool has_begun;
} rlo__stream_result;

/** The work of a stream. All borrowed. */
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
  /** The outputs are compared with what the host makes of the sources, before
   *  they get their names. */
  bool is_verified;
  /** --json has an event for the plan, for each second and for the end. */
  bool has_events;
  /** Each job is one piece, mostly: one kernel on a device. */
  bool is_whole;
  /** Adds what a verb says of its outputs, and, if there is a result, of where
   *  they were made. NULL: nothing is printed. */
  void (*report)(const void *payload,
                 rlo__report *report,
                 const rlo__stream_result *result);
  const void *payload;
} rlo__stream;

#endif
