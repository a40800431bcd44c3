/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_H
#define RLO_CLI_OP_H

#include <jansson.h>

#include "relayout/engine.h"
#include "relayout/kernel.h"

#include "array_file.h"
#include "base/sentence.h"
#include "base/str.h"
#include "options.h"
#include "stream.h"

/** An operation on arrays in files. */

/** Attributes from the command line and a file. */
typedef struct rlo__op_attributes {
  /** The first ones of `items`, where there is room for one more. The lists and
   *  the shapes of it are on the heap. */
  rlo_attributes list;
  rlo_attribute *items;
  /** Names and texts of items point into it. */
  json_t *root;
} rlo__op_attributes;

/**
 * Reads attributes as JSON.
 *
 * @param path   a file with an object, "-" for standard input; NULL: none.
 * @param texts  "NAME=VALUE": JSON, which may lack the quotes of a text and the
 *               brackets of a list ("-" for an empty one), or a number that
 *               JSON has not.
 * @param out_attributes  rlo__op_attributes_deinit must follow in any case.
 * @return RLO__EXIT_OK; else an exit code, after a message with file, line and
 *         column, or with the name of the attribute. Names and types are
 *         checked by the engine.
 */
int rlo__op_attributes_read(const rlo_kernel_config *kernel, const char *path,
                            const rlo__text_list *texts, rlo__op_attributes *out_attributes);

void rlo__op_attributes_deinit(rlo__op_attributes *attributes);

/** Finds a built-in operation by its name, as rlo__nearest compares. The parts of *out_kernel are
 * borrowed from the engine. Returns RLO__EXIT_OK; RLO__EXIT_USAGE, after a message, if there is
 *  none. */
int rlo__op_catalog_find(rlo_engine *engine, const char *name, rlo_kernel_config *out_kernel);

/** Compares a word with the names of all operations. */
int rlo__op_catalog_try(rlo__nearest *nearest);

/** Appends the names of an operation's inputs: "x, value (may be left out)". */
void rlo__op_inputs_text(const rlo_kernel_config *kernel, rlo__str *out);

/** Prints every built-in operation with its inputs, whether it has a gradient,
 *  and its attributes. Returns
 *  RLO__EXIT_OK, or prints the reason and returns RLO__EXIT_FAILURE. */
int rlo__op_catalog_print(bool is_json);

/** The request of a command line. All borrowed. */
typedef struct rlo__op_request {
  bool is_listing;
  const char *name;
  /** "NAME=VALUE". */
  rlo__text_list attributes;
  /** A file of further ones, "-" for standard input; NULL: none. */
  const char *attributes_path;
  /** "NAME=FILE". */
  rlo__text_list inputs;
  /** The --from, --offset and --array of each input; "-": none. */
  rlo__text_list from;
  rlo__text_list offsets;
  rlo__text_list arrays;
  /** The byte order of inputs of bare bytes. */
  rlo__byte_order byte_order;
  /** The bits of .npy elements are those of the type of --from. */
  bool is_bitcast;
  /** The results are alpha * result + beta * what the file holds. */
  double alpha, beta;
  /** beta is 1. */
  bool is_accumulating;
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
  rlo__op_request *request;
  /** It has no device, and tells names, attributes, shapes and problems. */
  rlo_engine *engine;
  rlo_kernel_config kernel;
  rlo__op_attributes attributes;
  int32_t num_inputs;
  int32_t num_outputs;
  /** The files of the inputs in their places, then of the results. */
  const char **paths;
  /** The number of the input, from 0, that each one is named as. */
  int32_t *order;
  /** Open: the inputs and, for --beta, what the files of the results hold. */
  rlo__array_source *sources;
  int32_t num_open;
  /** The shapes in them. */
  const rlo_shape **input_shapes;
  /** The results, as the operation makes them and each in its layout. */
  rlo_shape plain_shapes[RLO_MAX_KERNEL_OUTPUTS];
  rlo_shape output_shapes[RLO_MAX_KERNEL_OUTPUTS];
  /** The results, then what is made in memory before them. */
  rlo__stream_output *outputs;
  int32_t num_stages;
  rlo__stream_job *jobs;
  int32_t num_jobs;
  size_t jobs_capacity;
  /** The inputs that the problems read. */
  int32_t num_operands;
} rlo__op;

/** Functions that return an int return an exit code, after a message unless it
 *  is RLO__EXIT_OK. */

/** Returns whether the results are added to what is there. */
bool rlo__op_is_adding(const rlo__op_request *request);

/** Makes the jobs of all results. */
int rlo__op_make_jobs(rlo__op *op);
void rlo__op_release_jobs(rlo__op *op);

#endif
