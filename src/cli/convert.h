/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_CONVERT_H
#define RLO_CLI_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/service.h"

#include "array_file.h"
#include "options.h"

/** The move of an array from one file to another, in memory or in pieces.
 *  Functions that return an int return an exit code of message.h, after a
 *  message unless it is RLO__EXIT_OK. */

/** What the command line asks for. All borrowed. */
typedef struct rlo__convert_request {
  const char *input_path;
  const char *output_path;
  /** NULL if not given. */
  const char *from;
  const char *to;
  const char *permutation;
  const char *family;
  const char *schedule;
  rlo__file_hints hints;
  rlo__device_choice devices;
  rlo__common_options common;
  /** 0: not given. */
  int64_t memory_bytes;
  bool is_verified;
  bool is_dry_run;
  bool is_quiet;
  bool is_progress_wanted;
} rlo__convert_request;

typedef struct rlo__conversion {
  rlo__convert_request request;
  /** The shape of request.from. */
  rlo_shape from;
  rlo__array_source source;
  /** Dimension k of the output is dimension permutation[k] of the input. */
  int32_t permutation[RLO_MAX_RANK];
  rlo_shape dst_shape;
  rlo_problem problem;
} rlo__conversion;

/** What was done. Plain, without pointers: processes share it. */
typedef struct rlo__convert_result {
  /** "" for a job, which may use several. */
  char family[32];
  /** Between commas; "" on the host. */
  char device_names[256];
  /** Of the relayout; of a job, from its first byte to its last. */
  double seconds;
  /** In pieces; then the rest is valid. */
  bool is_job;
  rlo_job_info info;
  /** Why the job failed; RLO_OK also if it was not the job that did. */
  rlo_status status;
} rlo__convert_result;

/** Reads the source, moves it, and writes the output at once. */
int rlo__convert_in_memory(const rlo__conversion *conversion,
                           rlo__convert_result *out_result);

/** Computes what a job would do. Prints nothing: on failure the error record
 *  has the message. */
rlo_status rlo__convert_estimate(const rlo__conversion *conversion,
                                 rlo_job_estimate *out_estimate);

/**
 * Runs a job, so that neither side is in memory as a whole. The output appears
 * complete or not at all, whatever ends the command. Prints an event each
 * second for --json.
 */
int rlo__convert_in_pieces(const rlo__conversion *conversion,
                           rlo__convert_result *out_result);

#endif
