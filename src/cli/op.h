/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_H
#define RLO_CLI_OP_H

#include "relayout/engine.h"
#include "relayout/kernel.h"

#include "array_file.h"
#include "op_catalog.h"
#include "options.h"
#include "stream.h"

/** An operation on arrays in files. */

/** The request of a command line. All borrowed. */
typedef struct rlo__op_request {
  const char *name;
  /** "NAME=VALUE". Room for all arguments of the command line. */
  const char **attributes;
  int32_t num_attributes;
  /** A file of further ones, "-" for standard input; NULL: none. */
  const char *attributes_path;
  /** "NAME=FILE". Room as above. */
  const char **inputs;
  int32_t num_inputs;
  /** The --from of each input, in the order in which they are named; "-": the
   *  shape of the file. Room as above. */
  const char **from;
  int32_t num_from;
  /** The bits of .npy elements are those of the type of --from. */
  bool is_bitcast;
  /** The results are alpha * result + beta * what the file holds. */
  double alpha, beta;
  /** NULL: as the operation makes it, which is row-major but for Identity. */
  const char *to;
  /** Files of the inputs, unless `inputs` are named, then of the results. */
  char **paths;
  int32_t num_paths;
  rlo__stream_options stream;
  /** --trace; NULL: not given. */
  const char *trace_path;
  rlo__common_options common;
} rlo__op_request;

typedef struct rlo__op {
  const rlo__op_request *request;
  /** Those of the request, and where the jobs run. */
  rlo__stream_options stream_options;
  /** Without a device, for names, attributes, shapes and problems. */
  rlo_engine *engine;
  rlo_kernel_config kernel;
  rlo__op_attributes attributes;
  int32_t num_inputs;
  int32_t num_outputs;
  /** The files of the inputs in their places, then of the results. */
  const char **paths;
  /** The --from of each input; "-": none. */
  const char **from;
  /** Open: the inputs and, for --beta, what the files of the results hold. */
  rlo__array_source *sources;
  int32_t num_open;
  /** The shapes in them. */
  const rlo_shape **input_shapes;
  /** The results, as the operation makes them and each in its layout. */
  rlo_shape *plain_shapes;
  rlo_shape *output_shapes;
  /** The results, then what is made in memory before them. */
  rlo__stream_output *outputs;
  int32_t num_stages;
  rlo__stream_job *jobs;
  int32_t num_jobs;
  /** The inputs that the problems read. */
  int32_t num_operands;
  /** The bits of an input that is a value. */
  int64_t value_words[2];
  /** The order of the rows of a segment sum; NULL for others. */
  void *order;
  /** Some array is moved in several pieces, mostly. */
  bool is_in_pieces;
} rlo__op;

/** Functions that return an int return an exit code, after a message unless it
 *  is RLO__EXIT_OK. */

/** Finds the files of the inputs and results, and allocates the lists with a
 *  place for each. */
int rlo__op_take_files(rlo__op *op);

/** Returns whether the results are more than what the operation gives: whether
 *  they are multiplied or added; whether they are added. */
bool rlo__op_is_factored(const rlo__op_request *request);
bool rlo__op_is_adding(const rlo__op_request *request);

/** Makes the jobs of all results. */
int rlo__op_make_jobs(rlo__op *op);
void rlo__op_release_jobs(rlo__op *op);

/** Adds the results to a report, as in rlo__stream; the payload is the
 *  operation. */
void rlo__op_report(const void *payload,
                    rlo__report *report,
                    const rlo__stream_result *result);

/** Writes the file of --trace: the seconds of what ran, in the Trace Event
 *  Format of Chrome. */
int rlo__op_save_trace(const rlo__op *op, const rlo__stream_result *result);

#endif
