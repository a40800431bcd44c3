/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/engine.h"
#include "relayout/kernel.h"
#include "relayout/ops.h"

#include "array_file.h"
#include "command.h"
#include "display.h"
#include "files.h"
#include "json.h"
#include "message.h"
#include "op_catalog.h"
#include "options.h"
#include "session.h"
#include "subprocess.h"

/* An operation on arrays in files, as on the command line. All borrowed. */
typedef struct op_request {
  const char *name;
  /* "NAME=VALUE" */
  const char *attributes[RLO__MAX_OP_ATTRIBUTES];
  int32_t num_attributes;
  /* The --from of each input, in their order; "-": the shape of the file. Room
   * for all arguments of the command line. */
  const char **from;
  int32_t num_from;
  /* NULL: row-major. */
  const char *to;
  /* Files of the inputs, then of the results. */
  char **paths;
  int32_t num_paths;
  rlo__common_options common;
  bool is_on_host;
} op_request;

typedef struct operation {
  const op_request *request;
  /* An engine without a device, for names, attributes and shapes. */
  rlo_engine *engine;
  rlo_kernel_config kernel;
  rlo__op_attributes attributes;
  int32_t num_inputs;
  int32_t num_outputs;
  rlo__array *inputs;
  /* In shared memory, filled by the child process. */
  rlo__array *outputs;
} operation;

static int read_attributes(operation *op) {
  int code = RLO__EXIT_OK;
  for (int32_t n = 0; n < op->request->num_attributes && code == RLO__EXIT_OK;
       ++n) {
    code = rlo__op_attributes_add(
        &op->attributes, &op->kernel, op->request->attributes[n]);
  }
  return code;
}

/* ------------------------------------------------------------------- files */

/* An operation with one input may have several outputs; one with several inputs
 * has one output. */
static int count_files(operation *op) {
  int32_t num_paths = op->request->num_paths;
  op->num_inputs = op->kernel.max_inputs == 1 ? 1 : num_paths - 1;
  if (num_paths < 2 || op->num_inputs < op->kernel.min_inputs ||
      (op->kernel.max_inputs >= 0 && op->num_inputs > op->kernel.max_inputs)) {
    return rlo__fail_usage("op",
                           "%s: %d file%s; name those of its inputs (%d%s), "
                           "then those of its results",
                           op->kernel.kernel_name,
                           num_paths,
                           num_paths == 1 ? "" : "s",
                           op->kernel.min_inputs,
                           op->kernel.max_inputs < 0 ? " or more" : "");
  }
  if (op->request->num_from > op->num_inputs) {
    return rlo__fail_usage("op",
                           "--from is given %d times for %d inputs",
                           op->request->num_from,
                           op->num_inputs);
  }
  op->num_outputs = num_paths - op->num_inputs;
  op->inputs = calloc((size_t)op->num_inputs, sizeof(*op->inputs));
  op->outputs = calloc((size_t)op->num_outputs, sizeof(*op->outputs));
  return op->inputs == NULL || op->outputs == NULL
             ? rlo__fail("cannot get memory for %d files", num_paths)
             : RLO__EXIT_OK;
}

/* Checks that each output file differs from the inputs and the other outputs.
 */
static int check_paths(operation *op) {
  char **paths = op->request->paths;
  for (int32_t n = op->num_inputs; n < op->request->num_paths; ++n) {
    for (int32_t other = 0; other < n; ++other) {
      if (strcmp(paths[n], paths[other]) == 0 ||
          rlo__path_is_same_file(paths[n], paths[other])) {
        return rlo__fail(
            "%s and %s are one file; write to another", paths[other], paths[n]);
      }
    }
  }
  return RLO__EXIT_OK;
}

static int load_inputs(operation *op) {
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    const char *text = n < op->request->num_from ? op->request->from[n] : "-";
    bool is_given = strcmp(text, "-") != 0;
    rlo_shape from;
    int code = is_given ? rlo__shape_operand_parse(text, &from) : RLO__EXIT_OK;
    if (code == RLO__EXIT_OK) {
      code = rlo__array_load(
          op->request->paths[n], is_given ? &from : NULL, &op->inputs[n]);
    }
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return RLO__EXIT_OK;
}

/* Infers the shapes of the results and checks their count. */
static int infer_outputs(const operation *op,
                         const rlo_shape **inputs,
                         rlo_shape *out_shapes) {
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    inputs[n] = &op->inputs[n].shape;
  }
  rlo_attributes attributes = {op->attributes.items, op->attributes.count};
  int32_t count = 0;
  if (rlo_infer_kernel(op->engine,
                       op->kernel.kernel_name,
                       inputs,
                       op->num_inputs,
                       &attributes,
                       out_shapes,
                       op->num_outputs,
                       &count) != RLO_OK) {
    return rlo__fail_last();
  }
  if (count != op->num_outputs) {
    return rlo__fail_usage("op",
                           "%s has %d result%s here, but %d file%s named for "
                           "them",
                           op->kernel.kernel_name,
                           count,
                           count == 1 ? "" : "s",
                           op->num_outputs,
                           op->num_outputs == 1 ? " is" : "s are");
  }
  return RLO__EXIT_OK;
}

/* Allocates one result in the requested layout and adds its size to
 * *held_bytes. */
static int prepare_output(const char *to,
                          const rlo_shape *shape,
                          int64_t *held_bytes,
                          rlo__array *output) {
  output->shape = *shape;
  int code =
      to == NULL ? RLO__EXIT_OK : rlo__layout_operand_apply(to, &output->shape);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo_shape_extent extent = {0};
  if (rlo_shape_measure(&output->shape, &extent) != RLO_OK) {
    return rlo__fail_last();
  }
  code = rlo__memory_check(*held_bytes, extent.physical_bytes);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  *held_bytes += extent.physical_bytes;
  output->bytes = (size_t)extent.physical_bytes;
  output->data = rlo__shared_create(output->bytes);
  return output->data == NULL ? RLO__EXIT_FAILURE : RLO__EXIT_OK;
}

/* `inputs` has room for all inputs, `shapes` for all results. */
static int prepare_with(operation *op,
                        const rlo_shape **inputs,
                        rlo_shape *shapes) {
  int code = infer_outputs(op, inputs, shapes);
  int64_t held_bytes = 0;
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    held_bytes += (int64_t)op->inputs[n].bytes;
  }
  for (int32_t n = 0; code == RLO__EXIT_OK && n < op->num_outputs; ++n) {
    code = prepare_output(
        op->request->to, &shapes[n], &held_bytes, &op->outputs[n]);
  }
  return code;
}

static int prepare_outputs(operation *op) {
  const rlo_shape **inputs = calloc((size_t)op->num_inputs, sizeof(*inputs));
  rlo_shape *shapes = calloc((size_t)op->num_outputs, sizeof(*shapes));
  int code =
      inputs == NULL || shapes == NULL
          ? rlo__fail("cannot get memory for %d shapes", op->request->num_paths)
          : prepare_with(op, inputs, shapes);
  free(shapes);
  free((void *)inputs);
  return code;
}

/* ----------------------------------------------------------------- running */

/* Clears the slots of an array that hold no element and have no fill. A result
 * that shares the memory of an input has the bytes of the input's file there.
 */
static rlo_status clear_gaps(const rlo__array *array) {
  rlo_problem *problem = calloc(1, sizeof(*problem));
  void *elements = calloc(array->bytes == 0 ? 1 : array->bytes, 1);
  if (problem == NULL || elements == NULL) {
    free(elements);
    free(problem);
    return rlo_error_set(RLO_OUT_OF_MEMORY,
                         "cannot get %zu bytes of memory for a result",
                         array->bytes);
  }
  rlo_status status =
      rlo_relayout_lower(&array->shape, &array->shape, NULL, problem);
  if (status == RLO_OK && (problem->written_bytes < problem->dst_bytes ||
                           problem->unit_bits % 8 != 0)) {
    status = rlo_problem_canonicalize(problem, RLO_MAX_UNIT_BITS, NULL, NULL);
    if (status == RLO_OK) {
      status = rlo_problem_run_host(problem, array->data, elements);
    }
    if (status == RLO_OK) {
      memcpy(array->data, elements, array->bytes);
    }
  }
  free(elements);
  free(problem);
  return status;
}

/* Converts a result to its layout and copies it to shared memory. */
static rlo_status read_output(rlo_tensor *result,
                              rlo_tensor *const *inputs,
                              int32_t num_inputs,
                              const rlo__array *output) {
  rlo_attribute attribute = rlo_attribute_shape("shape", &output->shape);
  rlo_attributes attributes = {&attribute, 1};
  rlo_tensor *placed = NULL;
  rlo_status status = rlo_run_kernel(rlo_tensor_engine(result),
                                     "Relayout",
                                     &result,
                                     1,
                                     &attributes,
                                     &placed,
                                     1,
                                     NULL);
  if (status == RLO_OK) {
    status = rlo_tensor_read(placed, output->data, (int64_t)output->bytes);
  }
  for (int32_t n = 0; status == RLO_OK && n < num_inputs; ++n) {
    if (rlo_tensor_shares_memory(placed, inputs[n])) {
      status = clear_gaps(output);
      break;
    }
  }
  rlo_tensor_release(placed);
  return status;
}

/* `tensors` has room for the inputs, then the results. */
static rlo_status run_kernel(const operation *op,
                             rlo_engine *engine,
                             rlo_tensor **tensors) {
  rlo_tensor **results = tensors + op->num_inputs;
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    const rlo__array *input = &op->inputs[n];
    rlo_status status =
        rlo_tensor_create(engine, &input->shape, input->data, &tensors[n]);
    if (status != RLO_OK) {
      return status;
    }
  }
  rlo_attributes attributes = {op->attributes.items, op->attributes.count};
  rlo_status status = rlo_run_kernel(engine,
                                     op->kernel.kernel_name,
                                     tensors,
                                     op->num_inputs,
                                     &attributes,
                                     results,
                                     op->num_outputs,
                                     NULL);
  for (int32_t n = 0; status == RLO_OK && n < op->num_outputs; ++n) {
    status = read_output(results[n], tensors, op->num_inputs, &op->outputs[n]);
  }
  return status;
}

static int run_on(const operation *op, rlo_context *context) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  /* So that the result's layout costs no second launch. */
  options.is_fusing = true;
  const int32_t num_tensors = op->request->num_paths;
  rlo_tensor **tensors = calloc((size_t)num_tensors, sizeof(rlo_tensor *));
  if (tensors == NULL) {
    return rlo__fail("cannot get memory for %d tensors", num_tensors);
  }
  rlo_engine *engine = NULL;
  rlo_status status = rlo_engine_create(&options, &engine);
  if (status == RLO_OK) {
    status = run_kernel(op, engine, tensors);
  }
  int code = status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
  for (int32_t n = 0; n < num_tensors; ++n) {
    rlo_tensor_release(tensors[n]);
  }
  free((void *)tensors);
  rlo_engine_release(engine);
  return code;
}

static int run_on_device(void *payload) {
  const operation *op = payload;
  rlo__session session;
  int code = rlo__session_init(op->request->common.device_index, &session);
  if (code == RLO__EXIT_OK) {
    code = run_on(op, session.context);
  }
  rlo__session_deinit(&session);
  return code;
}

static void print_results(const operation *op,
                          const rlo__array_target *targets) {
  const bool is_json = op->request->common.is_json;
  rlo__shape_text text;
  rlo__json json = {0};
  if (is_json) {
    rlo__json_begin_object(&json, NULL);
    rlo__json_string(&json, "operation", op->kernel.kernel_name);
    rlo__json_begin_array(&json, "results");
  }
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo__shape_text_make(targets[n].shape, &text);
    if (!is_json) {
      puts(text.text);
      continue;
    }
    rlo__json_begin_object(&json, NULL);
    rlo__json_string(&json, "shape", text.text);
    rlo__json_string(&json, "file", targets[n].path);
    rlo__json_end_object(&json);
  }
  if (is_json) {
    rlo__json_end_array(&json);
    rlo__json_end_object(&json);
  }
}

static int save_outputs(operation *op) {
  rlo__array_target *targets =
      calloc((size_t)op->num_outputs, sizeof(*targets));
  if (targets == NULL) {
    return rlo__fail("cannot get memory for %d files", op->num_outputs);
  }
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    const rlo__array *output = &op->outputs[n];
    targets[n] = (rlo__array_target){
        op->request->paths[op->num_inputs + n], &output->shape, output->data};
  }
  int code = rlo__arrays_save(targets, op->num_outputs);
  if (code == RLO__EXIT_OK) {
    print_results(op, targets);
  }
  free(targets);
  return code;
}

static int run_operation(operation *op) {
  return op->request->is_on_host
             ? run_on(op, NULL)
             : rlo__subprocess_run(
                   op->request->common.is_isolated, run_on_device, op);
}

static int operate(operation *op) {
  if (rlo_engine_create(NULL, &op->engine) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = rlo__op_catalog_find(op->engine, op->request->name, &op->kernel);
  int (*const stages[])(operation *) = {read_attributes,
                                        count_files,
                                        check_paths,
                                        load_inputs,
                                        prepare_outputs,
                                        run_operation,
                                        save_outputs};
  for (size_t i = 0;
       code == RLO__EXIT_OK && i < sizeof(stages) / sizeof(stages[0]);
       ++i) {
    code = stages[i](op);
  }
  return code;
}

/* Reads the inputs, runs the operation on a device or on the host, writes all
 * of its results or none, and prints their shapes. */
static int run_request(const op_request *request) {
  operation op = {.request = request};
  int code = operate(&op);
  for (int32_t n = 0; op.inputs != NULL && n < op.num_inputs; ++n) {
    rlo__array_deinit(&op.inputs[n]);
  }
  for (int32_t n = 0; op.outputs != NULL && n < op.num_outputs; ++n) {
    rlo__shared_release(op.outputs[n].data, op.outputs[n].bytes);
  }
  free(op.outputs);
  free(op.inputs);
  rlo__op_attributes_deinit(&op.attributes);
  rlo_engine_release(op.engine);
  return code;
}

typedef struct op_arguments {
  op_request request;
  bool is_listing;
} op_arguments;

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {"list", no_argument, NULL, RLO__OPTION_LIST},
    {"attr", required_argument, NULL, RLO__OPTION_ATTR},
    {"from", required_argument, NULL, RLO__OPTION_FROM},
    {"to", required_argument, NULL, RLO__OPTION_TO},
    {"device", required_argument, NULL, RLO__OPTION_DEVICE},
    {"host", no_argument, NULL, RLO__OPTION_HOST},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int take_option(void *payload, int option, const char *value) {
  op_arguments *arguments = payload;
  op_request *request = &arguments->request;
  switch (option) {
    case RLO__OPTION_LIST:
      arguments->is_listing = true;
      return RLO__EXIT_OK;
    case RLO__OPTION_ATTR:
      if (request->num_attributes == RLO__MAX_OP_ATTRIBUTES) {
        return rlo__fail_usage(
            "op", "--attr is given more than %d times", RLO__MAX_OP_ATTRIBUTES);
      }
      request->attributes[request->num_attributes++] = value;
      return RLO__EXIT_OK;
    case RLO__OPTION_FROM:
      request->from[request->num_from++] = value;
      return RLO__EXIT_OK;
    case RLO__OPTION_TO:
      request->to = value;
      return RLO__EXIT_OK;
    default:
      request->is_on_host = true;
      return RLO__EXIT_OK;
  }
}

static int take_arguments(int argc, char **argv, op_arguments *arguments) {
  op_request *request = &arguments->request;
  int code =
      rlo__options_take(&rlo__cmd_op, argc, argv, arguments, &request->common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (arguments->is_listing) {
    char **none;
    return rlo__operands_take(argc, argv, 0, "nothing", &none);
  }
  if (optind >= argc) {
    return rlo__fail_usage("op", "name an operation, or give --list");
  }
  if (request->is_on_host && request->common.device_index >= 0) {
    return rlo__fail_usage("op",
                           "--host uses no device: it excludes "
                           "--device");
  }
  request->name = argv[optind];
  request->paths = &argv[optind + 1];
  request->num_paths = argc - optind - 1;
  return RLO__EXIT_OK;
}

static int run(int argc, char **argv) {
  op_arguments arguments = {0};
  const char **from = calloc((size_t)argc, sizeof(*from));
  if (from == NULL) {
    return rlo__fail("cannot get memory for %d arguments", argc);
  }
  arguments.request.from = from;
  int code = take_arguments(argc, argv, &arguments);
  if (code == RLO__EXIT_OK) {
    code = arguments.is_listing
               ? rlo__op_catalog_print(arguments.request.common.is_json)
               : run_request(&arguments.request);
  }
  free((void *)from);
  return code;
}

const rlo__command rlo__cmd_op = {
    .name = "op",
    .summary = "run an operation on arrays in files",
    .help =
        "Usage: relayout op NAME [OPTION...] IN... OUT...\n"
        "       relayout op --list [--json]\n"
        "\n"
        "Reads arrays, runs one of the built-in operations on a device, and\n"
        "writes its results:\n"
        "\n"
        "  relayout op pad_v2 --attr paddings=0,1,2,2 in.npy out.npy\n"
        "  relayout op concat --attr axis=1 a.npy b.npy c.npy out.npy\n"
        "  relayout op split_v --attr num_or_size_splits=2 in.npy a.npy "
        "b.npy\n"
        "\n"
        "  --list           print the operations: their inputs and attributes\n"
        "  --attr KEY=VALUE an attribute: a number, numbers between commas "
        "(-\n"
        "                   for none), true or false, a word, or a shape\n"
        "  --to LAYOUT      the layout of the results, in braces; row-major\n"
        "                   without it\n"
        "  --from SHAPE     the shape whose slots an input holds; one for "
        "each\n"
        "                   input, in their order, - for the shape in its "
        "file\n"
        "  --device N       a device of `relayout devices`; the default "
        "device\n"
        "                   without it\n"
        "  --host           use the host backend, and no OpenCL\n"
        "  --json           print an object with the keys operation and "
        "results\n"
        "                   (each shape, file)\n"
        "  --no-isolate     use the OpenCL driver in this process\n"
        "\n"
        "NAME may be written in any case, with or without underscores. Prints\n"
        "the shape of each result. No OUT changes before all results are\n"
        "complete on the disk.\n",
    .print_more_help = rlo__array_file_print_help,
    .options = options,
    .take_option = take_option,
    .run = run,
};
