/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/engine.h"
#include "relayout/kernel.h"
#include "relayout/ops.h"

#include "array_file.h"
#include "device_session.h"
#include "display.h"
#include "isolate.h"
#include "json.h"
#include "memory_limit.h"
#include "message.h"
#include "op_list.h"
#include "output_file.h"

typedef struct operation {
  const rlo__op_request *request;
  /** Of the host alone: for names, attributes and shapes. */
  rlo_engine *engine;
  rlo_kernel_config kernel;
  rlo__op_attributes attributes;
  int32_t num_inputs;
  int32_t num_outputs;
  rlo__array *inputs;
  /** In memory that the process that uses the device fills. */
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

/* ----------------------------------------------------------------- the files
 */

/* One input: the other files are outputs. Several: the last file is the output.
 * No operation has several of both. */
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

/* No file may be written that is read, or that another result goes to. */
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

/* What the kernel says of its results, which must be as many as their files. */
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

/* Memory for one result of a shape, in the layout that it shall have;
 * *held_bytes counts what all arrays take. */
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

/* `inputs` and `shapes` have room for those of all inputs and results. */
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

/* ------------------------------------------------------------------- running
 */

/* Clears the slots of an array that hold no element and take no fill: a result
 * that shares its memory with an input has there what the input's file has. */
static rlo_status clear_gaps(const rlo__array *array) {
  rlo_problem *problem = calloc(1, sizeof(*problem));
  void *elements = calloc(array->bytes == 0 ? 1 : array->bytes, 1);
  rlo_status status =
      problem == NULL || elements == NULL
          ? rlo_error_set(RLO_OUT_OF_MEMORY,
                          "cannot get %zu bytes of memory for a result",
                          array->bytes)
          : rlo_relayout_lower(&array->shape, &array->shape, NULL, problem);
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

/* Give a result its layout, and its bytes to the parent. */
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

/* `tensors` is room for those of the inputs, then those of the results. */
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
  /* So that a layout of the result's own costs no second move. */
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
  rlo__device_session session;
  int code =
      rlo__device_session_init(op->request->common.device_number, &session);
  if (code == RLO__EXIT_OK) {
    code = run_on(op, session.context);
  }
  rlo__device_session_deinit(&session);
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
             : rlo__isolate_run(
                   op->request->common.is_isolated, run_on_device, op);
}

static int operate(operation *op) {
  if (rlo_engine_create(NULL, &op->engine) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = rlo__op_find(op->engine, op->request->name, &op->kernel);
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

int rlo__operation_run(const rlo__op_request *request) {
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
