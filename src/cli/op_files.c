/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "op.h"

/* Which files hold the inputs and which the results of an operation. */

static int allocate(rlo__op *op) {
  size_t num_inputs = (size_t)op->num_inputs;
  size_t num_outputs = (size_t)op->num_outputs;
  op->paths = calloc(num_inputs + num_outputs, sizeof(*op->paths));
  op->from = calloc(num_inputs, sizeof(*op->from));
  op->sources = calloc(num_inputs + num_outputs, sizeof(*op->sources));
  op->input_shapes = calloc(num_inputs, sizeof(*op->input_shapes));
  op->plain_shapes = calloc(num_outputs, sizeof(*op->plain_shapes));
  op->output_shapes = calloc(num_outputs, sizeof(*op->output_shapes));
  op->outputs = calloc(2 * num_outputs, sizeof(*op->outputs));
  return op->paths == NULL || op->from == NULL || op->sources == NULL ||
                 op->input_shapes == NULL || op->plain_shapes == NULL ||
                 op->output_shapes == NULL || op->outputs == NULL
             ? rlo__fail("cannot get memory for %d files",
                         op->num_inputs + op->num_outputs)
             : RLO__EXIT_OK;
}

/* Reads the names of --input NAME=FILE, and finds their places. `names` has
 * room for them; the text before '=' is copied to `room`. */
static int place_inputs(const rlo__op *op,
                        char *room,
                        const char **names,
                        int32_t *out_places) {
  const rlo__op_request *request = op->request;
  for (int32_t n = 0; n < request->num_inputs; ++n) {
    const char *text = request->inputs[n];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
      return rlo__fail_usage("op", "--input %s: write NAME=FILE", text);
    }
    size_t length = (size_t)(equals - text);
    memcpy(room, text, length);
    room[length] = '\0';
    names[n] = room;
    room += length + 1;
  }
  return rlo_kernel_place_inputs(op->engine,
                                 op->kernel.kernel_name,
                                 names,
                                 request->num_inputs,
                                 out_places) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail_usage("op", "%s", rlo_error_last()->message);
}

/* The inputs by name; the operands are the files of the results. */
static int take_named(rlo__op *op) {
  const rlo__op_request *request = op->request;
  size_t count = (size_t)request->num_inputs;
  size_t bytes = 0;
  for (size_t n = 0; n < count; ++n) {
    bytes += strlen(request->inputs[n]) + 1;
  }
  char *room = malloc(bytes);
  const char **names = calloc(count, sizeof(*names));
  int32_t *places = calloc(count, sizeof(*places));
  int code = RLO__EXIT_FAILURE;
  if (room == NULL || names == NULL || places == NULL) {
    rlo__fail("cannot get memory for %zu names", count);
  } else {
    code = place_inputs(op, room, names, places);
    for (size_t n = 0; code == RLO__EXIT_OK && n < count; ++n) {
      int32_t place = places[n];
      op->paths[place] = strchr(request->inputs[n], '=') + 1;
      op->from[place] = (int32_t)n < request->num_from ? request->from[n] : "-";
    }
  }
  free(places);
  free((void *)names);
  free(room);
  return code;
}

static void take_by_place(rlo__op *op) {
  const rlo__op_request *request = op->request;
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    op->paths[n] = request->paths[n];
    op->from[n] = n < request->num_from ? request->from[n] : "-";
  }
}

/* Prints what files are wanted. */
static int fail_count(const rlo__op *op) {
  char names[512];
  rlo__op_inputs_text(&op->kernel, names, sizeof(names));
  int32_t num_paths = op->request->num_paths;
  return rlo__fail_usage("op",
                         "%s: %d file%s; name those of its inputs (%s), then "
                         "those of its results",
                         op->kernel.kernel_name,
                         num_paths,
                         num_paths == 1 ? "" : "s",
                         names);
}

int rlo__op_take_files(rlo__op *op) {
  const rlo__op_request *request = op->request;
  const rlo_kernel_config *kernel = &op->kernel;
  bool is_named = request->num_inputs > 0;
  int32_t num_paths = request->num_paths;
  /* By their places: one input and several outputs, or several inputs and one
   * output. Inputs that are named may be as many as the outputs. */
  op->num_inputs = is_named                  ? request->num_inputs
                   : kernel->max_inputs == 1 ? 1
                                             : num_paths - 1;
  op->num_outputs = is_named ? num_paths : num_paths - op->num_inputs;
  if (is_named && num_paths < 1) {
    return rlo__fail_usage(
        "op", "%s: name the files of its results", kernel->kernel_name);
  }
  if (!is_named &&
      (num_paths < 2 || op->num_inputs < kernel->min_inputs ||
       (kernel->max_inputs >= 0 && op->num_inputs > kernel->max_inputs))) {
    return fail_count(op);
  }
  if (request->num_from > op->num_inputs) {
    return rlo__fail_usage("op",
                           "--from is given %d times for %d inputs",
                           request->num_from,
                           op->num_inputs);
  }
  int code = allocate(op);
  if (code == RLO__EXIT_OK && is_named) {
    code = take_named(op);
  } else if (code == RLO__EXIT_OK) {
    take_by_place(op);
  }
  for (int32_t n = 0; code == RLO__EXIT_OK && n < op->num_outputs; ++n) {
    op->paths[op->num_inputs + n] =
        request->paths[num_paths - op->num_outputs + n];
  }
  return code;
}
