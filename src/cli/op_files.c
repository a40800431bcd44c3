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

/* Finds the place of each --input NAME=FILE. `names` gets the names, which the
 * caller frees. */
static int place_inputs(const rlo__op *op, char **names, int32_t *out_places) {
  const rlo__text_list *inputs = &op->request->inputs;
  for (int32_t n = 0; n < inputs->count; ++n) {
    const char *text = inputs->texts[n];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
      return rlo__fail_usage("op", "--input %s: write NAME=FILE", text);
    }
    names[n] = strndup(text, (size_t)(equals - text));
    if (names[n] == NULL) {
      return rlo__fail("cannot get memory for a name");
    }
  }
  return rlo_kernel_place_inputs(op->engine,
                                 op->kernel.kernel_name,
                                 (const char *const *)names,
                                 inputs->count,
                                 out_places) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail_usage("op", "%s", rlo_error_last()->message);
}

/* Takes the inputs, by name or else by their place among the operands. */
static int take_inputs(rlo__op *op) {
  const rlo__op_request *request = op->request;
  const bool is_named = request->inputs.count > 0;
  char **names = calloc((size_t)op->num_inputs, sizeof(*names));
  int32_t *places = calloc((size_t)op->num_inputs, sizeof(*places));
  const bool has_memory = names != NULL && places != NULL;
  int code = !has_memory
                 ? rlo__fail("cannot get memory for %d names", op->num_inputs)
             : is_named ? place_inputs(op, names, places)
                        : RLO__EXIT_OK;
  const bool has_places = has_memory && code == RLO__EXIT_OK;
  for (int32_t n = 0; has_places && n < op->num_inputs; ++n) {
    const int32_t place = is_named ? places[n] : n;
    op->paths[place] = is_named ? strchr(request->inputs.texts[n], '=') + 1
                                : request->paths[n];
    op->from[place] = n < request->from.count ? request->from.texts[n] : "-";
  }
  for (int32_t n = 0; names != NULL && n < op->num_inputs; ++n) {
    free(names[n]);
  }
  free((void *)names);
  free(places);
  return code;
}

/* Prints what files are wanted. */
static int fail_count(const rlo__op *op) {
  char text[512];
  rlo__str names = rlo__str_over(text, sizeof(text));
  rlo__op_inputs_text(&op->kernel, &names);
  int32_t num_paths = op->request->num_paths;
  return rlo__fail_usage("op",
                         "%s: %d file%s; name those of its inputs (%s), then "
                         "those of its results",
                         op->kernel.kernel_name,
                         num_paths,
                         num_paths == 1 ? "" : "s",
                         rlo__str_text(&names));
}

int rlo__op_take_files(rlo__op *op) {
  const rlo__op_request *request = op->request;
  const rlo_kernel_config *kernel = &op->kernel;
  bool is_named = request->inputs.count > 0;
  int32_t num_paths = request->num_paths;
  /* By their places: one input and several outputs, or several inputs and one
   * output. Inputs that are named may be as many as the outputs. */
  op->num_inputs = is_named                  ? request->inputs.count
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
  if (request->from.count > op->num_inputs) {
    return rlo__fail_usage("op",
                           "--from is given %d times for %d inputs",
                           request->from.count,
                           op->num_inputs);
  }
  RLO__EXIT_TRY(allocate(op));
  RLO__EXIT_TRY(take_inputs(op));
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    op->paths[op->num_inputs + n] =
        request->paths[num_paths - op->num_outputs + n];
  }
  return RLO__EXIT_OK;
}
