/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_H
#define RLO_CLI_OP_H

#include "relayout/engine.h"
#include "relayout/kernel.h"

#include "array_file.h"
#include "op_catalog.h"
#include "op_profile.h"
#include "options.h"
#include "stream.h"

/** An operation on arrays in files. */

/** The factors of an operation's results: out = alpha * result + beta *
 *  out, by the rules of rlo_arithmetic. */
typedef struct rlo__op_factors {
  double alpha, beta;
} rlo__op_factors;

#define RLO__OP_FACTORS_INIT \
  { 1.0, 0.0 }

/** Returns whether the results are more than what the operation gives. */
bool rlo__op_factors_matter(const rlo__op_factors *factors);

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
  rlo__op_factors factors;
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
  /** Without a device, for names, attributes and shapes. */
  rlo_engine *engine;
  rlo_kernel_config kernel;
  rlo__op_attributes attributes;
  int32_t num_inputs;
  int32_t num_outputs;
  /** The files of the inputs in their places, then of the results. */
  const char **paths;
  /** The --from of each input; "-": none. */
  const char **from;
  /** Open. */
  rlo__array_source *sources;
  int32_t num_open;
  /** The shapes in them. */
  const rlo_shape **input_shapes;
  /** The results, each in its layout. */
  rlo_shape *output_shapes;
  rlo__stream_output *outputs;
  /** Some array is moved in several pieces, mostly. */
  bool is_in_pieces;
  /** All files may be open at once, as jobs need them. */
  bool has_files;
} rlo__op;

/** Finds the files of the inputs and results, and allocates the lists with a
 *  place for each. Returns an exit code, as below. */
int rlo__op_take_files(rlo__op *op);

/** Reads the inputs, runs the operation on a device or on the host, and writes
 *  all of its results or none. Returns an exit code, after a message unless it
 *  is RLO__EXIT_OK. */
int rlo__op_in_memory(const rlo__op *op);

#endif
