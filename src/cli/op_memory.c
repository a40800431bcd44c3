/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "relayout/engine_ops.h"
#include "relayout/ops.h"

#include "message.h"
#include "op.h"
#include "session.h"
#include "subprocess.h"

typedef struct state {
  const rlo__op *op;
  rlo__array *inputs;
  /* In shared memory, filled by the child process. */
  rlo__array *outputs;
} state;

/* ----------------------------------------------------------------- factors */

/* By order, because compilers warn about == between floats. */
static bool is_equal(double a, double b) {
  return a <= b && a >= b;
}

bool rlo__op_factors_matter(const rlo__op_factors *factors) {
  return !is_equal(factors->alpha, 1.0) || !is_equal(factors->beta, 0.0);
}

/* Reads what the file of a result holds into the result's memory, if it is to
 * be added. */
static int load_old(const rlo__op_factors *factors,
                    const char *path,
                    const rlo__array *output) {
  if (is_equal(factors->beta, 0.0)) {
    return RLO__EXIT_OK;
  }
  rlo__array old;
  int code = rlo__array_load(path, &output->shape, &old);
  if (code == RLO__EXIT_OK) {
    memcpy(output->data, old.data, output->bytes);
  }
  rlo__array_deinit(&old);
  return code;
}

static rlo_status combine(const rlo__op_factors *factors,
                          rlo_tensor *result,
                          const rlo__array *output,
                          rlo_problem *problem,
                          void *memory) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = factors->alpha;
  options.beta = factors->beta;
  rlo_status status = rlo_tensor_read(result, memory, rlo_tensor_bytes(result));
  if (status == RLO_OK) {
    status = rlo_relayout_combine(
        rlo_tensor_shape(result), &output->shape, NULL, &options, problem);
  }
  return status == RLO_OK ? rlo_problem_run_host(problem, memory, output->data)
                          : status;
}

/* Combines a result with the array in output->data, on the host, and writes it
 * there in the output's layout. */
static rlo_status combine_result(const rlo__op_factors *factors,
                                 rlo_tensor *result,
                                 const rlo__array *output) {
  size_t bytes = (size_t)rlo_tensor_bytes(result);
  rlo_problem *problem = calloc(1, sizeof(*problem));
  void *memory = malloc(bytes + 1);
  rlo_status status =
      problem == NULL || memory == NULL
          ? rlo_error_set(RLO_OUT_OF_MEMORY,
                          "cannot get %zu bytes of memory for a result",
                          bytes)
          : combine(factors, result, output, problem, memory);
  free(memory);
  free(problem);
  return status;
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
static rlo_status read_output(const rlo__op *op,
                              rlo_tensor *result,
                              rlo_tensor *const *inputs,
                              const rlo__array *output) {
  if (rlo__op_factors_matter(&op->request->factors)) {
    rlo_status combined = combine_result(&op->request->factors, result, output);
    return combined == RLO_OK ? clear_gaps(output) : combined;
  }
  rlo_tensor *placed = NULL;
  rlo_status status = RLO_OK;
  if (rlo_shape_equal(rlo_tensor_shape(result), &output->shape)) {
    placed = rlo_tensor_retain(result);
  } else {
    status = rlo_op_relayout(result, &output->shape, &placed);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_read(placed, output->data, (int64_t)output->bytes);
  }
  for (int32_t n = 0; status == RLO_OK && n < op->num_inputs; ++n) {
    if (rlo_tensor_shares_memory(placed, inputs[n])) {
      status = clear_gaps(output);
      break;
    }
  }
  rlo_tensor_release(placed);
  return status;
}

/* `tensors` has room for the inputs, then the results. */
static rlo_status run_kernel(const state *s,
                             rlo_engine *engine,
                             rlo_tensor **tensors) {
  const rlo__op *op = s->op;
  rlo_tensor **results = tensors + op->num_inputs;
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    const rlo__array *input = &s->inputs[n];
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
    status = read_output(op, results[n], tensors, &s->outputs[n]);
  }
  return status;
}

static int run_on(const state *s, rlo_context *context) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  /* So that the result's layout costs no second launch. */
  options.is_fusing = true;
  const int32_t num_tensors = s->op->num_inputs + s->op->num_outputs;
  const char *trace_path = s->op->request->trace_path;
  options.is_profiling = trace_path != NULL;
  rlo_tensor **tensors = calloc((size_t)num_tensors, sizeof(rlo_tensor *));
  if (tensors == NULL) {
    return rlo__fail("cannot get memory for %d tensors", num_tensors);
  }
  rlo_engine *engine = NULL;
  rlo__trace trace;
  rlo__trace_init(&trace);
  rlo_status status = rlo_engine_create(&options, &engine);
  if (status == RLO_OK && options.is_profiling) {
    status = rlo_profile_begin(engine, rlo__trace_add, &trace);
  }
  if (status == RLO_OK) {
    status = run_kernel(s, engine, tensors);
  }
  int code = status == RLO_OK  ? RLO__EXIT_OK
             : context == NULL ? rlo__fail_last()
                               : rlo__fail_on_device();
  if (code == RLO__EXIT_OK && options.is_profiling) {
    code = rlo__trace_save(&trace, trace_path);
  }
  rlo__trace_deinit(&trace);
  for (int32_t n = 0; n < num_tensors; ++n) {
    rlo_tensor_release(tensors[n]);
  }
  free((void *)tensors);
  rlo_engine_release(engine);
  return code;
}

static int run_on_device(void *payload) {
  const state *s = payload;
  rlo__session session;
  /* One runs an operation as a whole: the first. */
  int code = rlo__session_init(
      rlo__device_choice_first(&s->op->request->stream.devices), &session);
  if (code == RLO__EXIT_OK) {
    code = run_on(s, session.context);
  }
  rlo__session_deinit(&session);
  return code;
}

/* ------------------------------------------------------------------- arrays */

static int load_inputs(state *s) {
  int code = RLO__EXIT_OK;
  for (int32_t n = 0; code == RLO__EXIT_OK && n < s->op->num_inputs; ++n) {
    code = rlo__array_source_read(&s->op->sources[n], &s->inputs[n]);
  }
  return code;
}

static int allocate_outputs(state *s) {
  const rlo__op *op = s->op;
  int64_t held_bytes = 0;
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    held_bytes += (int64_t)s->inputs[n].bytes;
  }
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    const rlo__stream_output *output = &op->outputs[n];
    int code = rlo__memory_check(held_bytes, output->bytes);
    if (code != RLO__EXIT_OK) {
      return code;
    }
    held_bytes += output->bytes;
    s->outputs[n] = (rlo__array){*output->shape,
                                 rlo__shared_create((size_t)output->bytes),
                                 (size_t)output->bytes};
    if (s->outputs[n].data == NULL) {
      return RLO__EXIT_FAILURE;
    }
    code = load_old(&op->request->factors, output->path, &s->outputs[n]);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return RLO__EXIT_OK;
}

static int run_operation(state *s) {
  const rlo__op_request *request = s->op->request;
  return request->stream.devices.is_none
             ? run_on(s, NULL)
             : rlo__subprocess_run(
                   request->common.is_isolated, run_on_device, s);
}

static int save_outputs(state *s) {
  const rlo__op *op = s->op;
  rlo__array_target *targets =
      calloc((size_t)op->num_outputs, sizeof(*targets));
  if (targets == NULL) {
    return rlo__fail("cannot get memory for %d files", op->num_outputs);
  }
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    targets[n] = (rlo__array_target){
        op->outputs[n].path, op->outputs[n].shape, s->outputs[n].data};
  }
  int code = rlo__arrays_save(targets, op->num_outputs);
  free(targets);
  return code;
}

static int operate(state *s) {
  const rlo__op *op = s->op;
  s->inputs = calloc((size_t)op->num_inputs, sizeof(*s->inputs));
  s->outputs = calloc((size_t)op->num_outputs, sizeof(*s->outputs));
  if (s->inputs == NULL || s->outputs == NULL) {
    return rlo__fail("cannot get memory for %d arrays",
                     op->num_inputs + op->num_outputs);
  }
  int (*const stages[])(state *) = {
      load_inputs, allocate_outputs, run_operation, save_outputs};
  int code = RLO__EXIT_OK;
  for (size_t i = 0;
       code == RLO__EXIT_OK && i < sizeof(stages) / sizeof(stages[0]);
       ++i) {
    code = stages[i](s);
  }
  return code;
}

int rlo__op_in_memory(const rlo__op *op) {
  state s = {.op = op};
  int code = operate(&s);
  for (int32_t n = 0; s.inputs != NULL && n < op->num_inputs; ++n) {
    rlo__array_deinit(&s.inputs[n]);
  }
  for (int32_t n = 0; s.outputs != NULL && n < op->num_outputs; ++n) {
    rlo__shared_release(s.outputs[n].data, s.outputs[n].bytes);
  }
  free(s.outputs);
  free(s.inputs);
  return code;
}
