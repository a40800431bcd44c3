/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/engine.h"
#include "relayout/kernel.h"

#include "array_file.h"
#include "command.h"
#include "device_session.h"
#include "display.h"
#include "isolate.h"
#include "json.h"
#include "memory_limit.h"
#include "message.h"
#include "op_attributes.h"
#include "op_list.h"
#include "options.h"
#include "output_file.h"

enum { MAX_FILES = 256 };

typedef struct op_request {
  const char *name;
  /** As given: "NAME=VALUE". */
  const char *attributes[RLO__MAX_OP_ATTRIBUTES];
  int32_t num_attributes;
  /** Of the inputs, in their order; "-": what the file says. */
  const char *from[MAX_FILES];
  int32_t num_from;
  /** NULL: row-major. */
  const char *to;
  char **paths;
  int32_t num_paths;
  rlo__common_options common;
  bool is_listing;
  bool is_on_host;
} op_request;

/** One result, in memory that the process that uses the device fills. */
typedef struct op_output {
  rlo_shape shape;
  void *data;
  size_t bytes;
} op_output;

typedef struct operation {
  op_request request;
  /** Of the host alone: for names, attributes and shapes. */
  rlo_engine *engine;
  rlo_kernel_config kernel;
  rlo__op_attributes attributes;
  rlo__array inputs[MAX_FILES];
  int32_t num_inputs;
  op_output outputs[MAX_FILES];
  int32_t num_outputs;
} operation;

static int read_attributes(operation *op) {
  int code = RLO__EXIT_OK;
  for (int32_t n = 0; n < op->request.num_attributes && code == RLO__EXIT_OK;
       ++n) {
    code = rlo__op_attributes_add(
        &op->attributes, &op->kernel, op->request.attributes[n]);
  }
  return code;
}

/* ----------------------------------------------------------------- the files
 */

/* One input: the other files are outputs. Several: the last file is the output.
 * No operation has several of both. */
static int count_files(operation *op) {
  int32_t num_paths = op->request.num_paths;
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
  if (op->request.num_from > op->num_inputs) {
    return rlo__fail_usage("op",
                           "--from is given %d times for %d inputs",
                           op->request.num_from,
                           op->num_inputs);
  }
  op->num_outputs = num_paths - op->num_inputs;
  return RLO__EXIT_OK;
}

/* No file may be written that is read, or that another result goes to. */
static int check_paths(const operation *op) {
  char **paths = op->request.paths;
  for (int32_t n = op->num_inputs; n < op->request.num_paths; ++n) {
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
    const char *text = n < op->request.num_from ? op->request.from[n] : "-";
    bool is_given = strcmp(text, "-") != 0;
    rlo_shape from;
    int code = is_given ? rlo__shape_operand_parse(text, &from) : RLO__EXIT_OK;
    if (code == RLO__EXIT_OK) {
      code = rlo__array_load(
          op->request.paths[n], is_given ? &from : NULL, &op->inputs[n]);
    }
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return RLO__EXIT_OK;
}

/* Shapes and memory of the results. */
static int prepare_outputs(operation *op) {
  const rlo_shape *inputs[MAX_FILES];
  rlo_shape *shapes = calloc(MAX_FILES, sizeof(*shapes));
  if (shapes == NULL) {
    return rlo__fail("cannot get memory for %d shapes", (int)MAX_FILES);
  }
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    inputs[n] = &op->inputs[n].shape;
  }
  rlo_attributes attributes = {op->attributes.items, op->attributes.count};
  int32_t count = 0;
  int code = RLO__EXIT_OK;
  if (rlo_infer_kernel(op->engine,
                       op->kernel.kernel_name,
                       inputs,
                       op->num_inputs,
                       &attributes,
                       shapes,
                       MAX_FILES,
                       &count) != RLO_OK) {
    code = rlo__fail_last();
  } else if (count != op->num_outputs) {
    code = rlo__fail_usage("op",
                           "%s has %d result%s here, but %d file%s named for "
                           "them",
                           op->kernel.kernel_name,
                           count,
                           count == 1 ? "" : "s",
                           op->num_outputs,
                           op->num_outputs == 1 ? " is" : "s are");
  }
  int64_t total_bytes = 0;
  for (int32_t n = 0; code == RLO__EXIT_OK && n < count; ++n) {
    op_output *output = &op->outputs[n];
    output->shape = shapes[n];
    if (op->request.to != NULL) {
      code = rlo__layout_operand_apply(op->request.to, &output->shape);
    }
    rlo_shape_extent extent = {0};
    if (code == RLO__EXIT_OK &&
        rlo_shape_measure(&output->shape, &extent) != RLO_OK) {
      code = rlo__fail_last();
    }
    if (code == RLO__EXIT_OK) {
      code = rlo__memory_check(total_bytes, extent.physical_bytes);
    }
    if (code == RLO__EXIT_OK) {
      total_bytes += extent.physical_bytes;
      output->bytes = (size_t)extent.physical_bytes;
      output->data = rlo__shared_create(output->bytes);
      code = output->data == NULL ? RLO__EXIT_FAILURE : RLO__EXIT_OK;
    }
  }
  free(shapes);
  return code;
}

/* ------------------------------------------------------------------- running
 */

/* Give a result its layout, and its bytes to the parent. */
static rlo_status read_output(rlo_tensor *result, op_output *output) {
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
  rlo_tensor_release(placed);
  return status;
}

static rlo_status run_kernel(operation *op, rlo_engine *engine) {
  rlo_tensor *inputs[MAX_FILES] = {0};
  rlo_tensor *results[MAX_FILES] = {0};
  rlo_attributes attributes = {op->attributes.items, op->attributes.count};
  rlo_status status = RLO_OK;
  for (int32_t n = 0; status == RLO_OK && n < op->num_inputs; ++n) {
    status = rlo_tensor_create(
        engine, &op->inputs[n].shape, op->inputs[n].data, &inputs[n]);
  }
  if (status == RLO_OK) {
    status = rlo_run_kernel(engine,
                            op->kernel.kernel_name,
                            inputs,
                            op->num_inputs,
                            &attributes,
                            results,
                            op->num_outputs,
                            NULL);
  }
  for (int32_t n = 0; status == RLO_OK && n < op->num_outputs; ++n) {
    status = read_output(results[n], &op->outputs[n]);
  }
  for (int32_t n = 0; n < MAX_FILES; ++n) {
    rlo_tensor_release(inputs[n]);
    rlo_tensor_release(results[n]);
  }
  return status;
}

static int run_on(operation *op, rlo_context *context) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  /* So that a layout of the result's own costs no second move. */
  options.is_fusing = true;
  rlo_engine *engine = NULL;
  rlo_status status = rlo_engine_create(&options, &engine);
  if (status == RLO_OK) {
    status = run_kernel(op, engine);
  }
  int code = status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
  rlo_engine_release(engine);
  return code;
}

static int run_on_device(void *payload) {
  operation *op = payload;
  rlo__device_session session;
  int code =
      rlo__device_session_init(op->request.common.device_number, &session);
  if (code == RLO__EXIT_OK) {
    code = run_on(op, session.context);
  }
  rlo__device_session_deinit(&session);
  return code;
}

static void print_results(const operation *op,
                          const rlo__array_target *targets) {
  const bool is_json = op->request.common.is_json;
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

static int save_outputs(const operation *op) {
  rlo__array_target *targets =
      calloc((size_t)op->num_outputs, sizeof(*targets));
  if (targets == NULL) {
    return rlo__fail("cannot get memory for %d files", op->num_outputs);
  }
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    const op_output *output = &op->outputs[n];
    targets[n] = (rlo__array_target){
        op->request.paths[op->num_inputs + n], &output->shape, output->data};
  }
  int code = rlo__arrays_save(targets, op->num_outputs);
  if (code == RLO__EXIT_OK) {
    print_results(op, targets);
  }
  free(targets);
  return code;
}

static int operate(operation *op) {
  if (rlo_engine_create(NULL, &op->engine) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = rlo__op_find(op->engine, op->request.name, &op->kernel);
  if (code == RLO__EXIT_OK) {
    code = read_attributes(op);
  }
  if (code == RLO__EXIT_OK) {
    code = count_files(op);
  }
  if (code == RLO__EXIT_OK) {
    code = check_paths(op);
  }
  if (code == RLO__EXIT_OK) {
    code = load_inputs(op);
  }
  if (code == RLO__EXIT_OK) {
    code = prepare_outputs(op);
  }
  if (code == RLO__EXIT_OK) {
    code = op->request.is_on_host
               ? run_on(op, NULL)
               : rlo__isolate_run(
                     op->request.common.is_isolated, run_on_device, op);
  }
  return code == RLO__EXIT_OK ? save_outputs(op) : code;
}

static int run_operation(const op_request *request) {
  operation *op = calloc(1, sizeof(*op));
  if (op == NULL) {
    return rlo__fail("cannot get %zu bytes of memory", sizeof(*op));
  }
  op->request = *request;
  int code = operate(op);
  for (int32_t n = 0; n < MAX_FILES; ++n) {
    rlo__array_deinit(&op->inputs[n]);
    rlo__shared_release(op->outputs[n].data, op->outputs[n].bytes);
  }
  rlo__op_attributes_deinit(&op->attributes);
  rlo_engine_release(op->engine);
  free(op);
  return code;
}

/* -------------------------------------------------------------- command line
 */

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

static int add_text(const char **texts,
                    int32_t capacity,
                    const char *option,
                    const char *text,
                    int32_t *count) {
  if (*count == capacity) {
    return rlo__fail_usage(
        "op", "%s is given more than %d times", option, capacity);
  }
  texts[(*count)++] = text;
  return RLO__EXIT_OK;
}

static int take_option(void *payload, int option, const char *value) {
  op_request *request = payload;
  switch (option) {
    case RLO__OPTION_LIST:
      request->is_listing = true;
      return RLO__EXIT_OK;
    case RLO__OPTION_ATTR:
      return add_text(request->attributes,
                      RLO__MAX_OP_ATTRIBUTES,
                      "--attr",
                      value,
                      &request->num_attributes);
    case RLO__OPTION_FROM:
      return add_text(
          request->from, MAX_FILES, "--from", value, &request->num_from);
    case RLO__OPTION_TO:
      request->to = value;
      return RLO__EXIT_OK;
    default:
      request->is_on_host = true;
      return RLO__EXIT_OK;
  }
}

static int run(int argc, char **argv) {
  op_request request = {0};
  int code =
      rlo__options_take(&rlo__cmd_op, argc, argv, &request, &request.common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (request.is_listing) {
    char **none;
    code = rlo__operands_take(argc, argv, 0, "nothing", &none);
    return code == RLO__EXIT_OK ? rlo__op_list_print(request.common.is_json)
                                : code;
  }
  if (optind >= argc) {
    return rlo__fail_usage("op", "name an operation, or give --list");
  }
  if (request.is_on_host && request.common.device_number >= 0) {
    return rlo__fail_usage("op",
                           "--host uses no device: it goes without "
                           "--device");
  }
  request.name = argv[optind];
  request.paths = &argv[optind + 1];
  request.num_paths = argc - optind - 1;
  if (request.num_paths > MAX_FILES) {
    return rlo__fail_usage(
        "op", "%d files; at most %d", request.num_paths, (int)MAX_FILES);
  }
  return run_operation(&request);
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
        "                   input, in their order, - for what its file says\n"
        "  --device N       a device of `relayout devices`; the default "
        "device\n"
        "                   without it\n"
        "  --host           use the host backend, and no OpenCL\n"
        "  --json           print an object with the keys operation and "
        "results\n"
        "                   (each shape, file)\n"
        "  --no-isolate     use the OpenCL driver in this process\n"
        "\n"
        "NAME may be written in any case, with or without underscores. Files\n"
        "are as in `relayout convert`. What is printed is the shape of each\n"
        "result. No OUT changes before all results are complete on the disk.\n",
    .options = options,
    .take_option = take_option,
    .run = run,
};
