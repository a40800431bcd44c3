/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "engine/call/kernel_call.h"
#include "engine/call/recorder.h"
#include "engine/call/running.h"
#include "engine/tensor/attributes.h"

static rlo_status check_arguments(const rlo_engine *engine,
                                  const char *kernel_name,
                                  const void *inputs,
                                  int32_t num_inputs,
                                  const void *outputs,
                                  int32_t capacity) {
  if (engine == NULL || kernel_name == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    engine == NULL ? "engine" : "kernel's name");
  }
  if (num_inputs < 0 || (num_inputs > 0 && inputs == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s': %d inputs without a list of them",
                    kernel_name,
                    num_inputs);
  }
  if (capacity < 0 || (capacity > 0 && outputs == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s': no place for the results",
                    kernel_name);
  }
  return RLO_OK;
}

static rlo_status check_call(const rlo_kernel_config *config,
                             int32_t num_inputs,
                             const rlo_attributes *attributes) {
  if (num_inputs < config->min_inputs ||
      (config->max_inputs >= 0 && num_inputs > config->max_inputs)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    config->max_inputs < 0
                        ? "kernel '%s' has %d inputs; it takes at least %d"
                        : "kernel '%s' has %d inputs; it takes %d to %d",
                    config->kernel_name,
                    num_inputs,
                    config->min_inputs,
                    config->max_inputs);
  }
  const rlo__copy_op *op =
      config->run == rlo__copy_op_run ? config->payload : NULL;
  if (op != NULL && op->checks_attributes) {
    return rlo__attributes_check_items(attributes);
  }
  return config->attributes == NULL && op == NULL
             ? RLO_OK
             : rlo_attributes_check(attributes,
                                    config->kernel_name,
                                    config->attributes,
                                    config->num_attributes);
}

rlo_status rlo__running_check_room(const rlo__running *r, int32_t count) {
  if (count > r->capacity) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "kernel '%s' has %d results; there is room for %d",
                    r->bound->config.kernel_name,
                    count,
                    r->capacity);
  }
  return RLO_OK;
}

/* -------------------------------------------------------------- other kernels
 */

static rlo_status infer(const rlo_kernel_config *config,
                        const rlo_shape *const *inputs,
                        int32_t num_inputs,
                        const rlo_attributes *attributes,
                        rlo_shape *out_shapes,
                        int32_t capacity,
                        int32_t *out_count) {
  return RLO__CALLBACK(config->infer(inputs,
                                     num_inputs,
                                     attributes,
                                     out_shapes,
                                     capacity,
                                     out_count,
                                     config->payload),
                       "the inference of kernel '%s' for backend '%s'",
                       config->kernel_name,
                       config->backend_name);
}

/* Infer into shared shapes, on the heap. */
static rlo_status infer_shared(const rlo__running *r,
                               const rlo_shape *const *inputs,
                               rlo__shared_shape ***out_shapes,
                               int32_t *out_count) {
  const rlo_kernel_config *config = &r->bound->config;
  rlo_shape *shapes = NULL;
  rlo__shared_shape **shared = NULL;
  int32_t room = 1;
  int32_t count = 0;
  rlo_status status = RLO_OK;
  do {
    rlo__free(shapes);
    room = count > room ? count : room;
    shapes = rlo__alloc_array((size_t)room, sizeof *shapes);
    if (shapes == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    RLO_TRY_GOTO(infer(
        config, inputs, r->num_inputs, r->attributes, shapes, room, &count));
    if (count < 1 || count > RLO_MAX_KERNEL_OUTPUTS) {
      status = RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "kernel '%s' infers %d results; 1 to %d are possible",
                        config->kernel_name,
                        count,
                        RLO_MAX_KERNEL_OUTPUTS);
      goto fail;
    }
  } while (count > room);
  shared = rlo__alloc_array((size_t)count, sizeof(rlo__shared_shape *));
  if (shared == NULL) {
    status = RLO_OUT_OF_MEMORY;
    goto fail;
  }
  *out_shapes = shared;
  *out_count = count;
  for (int32_t k = 0; k < count; ++k) {
    RLO_TRY_GOTO(
        rlo__shape_table_get(&r->engine->shapes, &shapes[k], &shared[k]));
  }
fail:
  rlo__free(shapes);
  return status;
}

/* Bring the inputs to the kernel's backend. */
static rlo_status bring_inputs(const rlo__running *r) {
  for (int32_t n = 0; n < r->num_inputs; ++n) {
    rlo__storage *storage = NULL;
    RLO_TRY(rlo__tensor_need(r->inputs[n], r->bound->instance, &storage));
    rlo__storage_release(storage);
  }
  return RLO_OK;
}

/* A tensor of its own over the bytes of another. */
static rlo_status make_alias(rlo_tensor **tensor) {
  rlo_tensor *alias = NULL;
  rlo__storage *storage = NULL;
  RLO_TRY(rlo__tensor_need(*tensor, NULL, &storage));
  rlo_status status = rlo__tensor_create(
      (*tensor)->engine, (*tensor)->shape, storage, NULL, &alias);
  if (status != RLO_OK) {
    rlo__storage_release(storage);
    return status;
  }
  rlo_tensor_release(*tensor);
  *tensor = alias;
  return RLO_OK;
}

/* What the kernel has made of an output. */
static rlo_status check_output(const rlo__running *r,
                               const rlo__shared_shape *shape,
                               int32_t number) {
  const char *kernel_name = r->bound->config.kernel_name;
  rlo_tensor **output = &r->outputs[number];
  if (*output == NULL || (*output)->engine != r->engine) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s' left output %d %s",
                    kernel_name,
                    number,
                    *output == NULL ? "unwritten" : "to another engine");
  }
  if ((*output)->shape != shape) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s' wrote output %d in another shape than it "
                    "inferred",
                    kernel_name,
                    number);
  }
  for (int32_t n = 0; n < r->num_inputs; ++n) {
    if (r->inputs[n] == *output) {
      return make_alias(output);
    }
  }
  return RLO_OK;
}

static rlo_status call_kernel(rlo__running *r,
                              rlo__shared_shape *const *shapes,
                              const rlo_shape *const *shape_list,
                              int32_t count) {
  const rlo_kernel_config *config = &r->bound->config;
  rlo__call call = {.call = {.engine = r->engine,
                             .kernel_name = config->kernel_name,
                             .backend_name = config->backend_name,
                             .backend_self = r->bound->instance->self,
                             .inputs = r->inputs,
                             .num_inputs = r->num_inputs,
                             .attributes = r->attributes,
                             .num_outputs = count,
                             .output_shapes = shape_list,
                             .outputs = r->outputs},
                    .instance = r->bound->instance,
                    .shapes = shapes};
  RLO_TRY(bring_inputs(r));
  rlo__recorder_enter();
  rlo_status status = RLO__CALLBACK(config->run(&call.call, config->payload),
                                    "kernel '%s' for backend '%s'",
                                    config->kernel_name,
                                    config->backend_name);
  rlo__recorder_leave();
  for (int32_t k = 0; k < count && status == RLO_OK; ++k) {
    status = check_output(r, shapes[k], k);
  }
  return status;
}

static rlo_status run_other(rlo__running *r) {
  const rlo_shape **lists = NULL;
  rlo__shared_shape **shapes = NULL;
  int32_t count = 0;
  rlo_status status = RLO_OUT_OF_MEMORY;
  const rlo_shape **inputs =
      rlo__alloc_array((size_t)r->num_inputs + 1, sizeof(rlo_shape *));
  if (inputs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < r->num_inputs; ++n) {
    inputs[n] = rlo_tensor_shape(r->inputs[n]);
  }
  RLO_TRY_GOTO(infer_shared(r, inputs, &shapes, &count));
  r->num_outputs = count;
  RLO_TRY_GOTO(rlo__running_check_room(r, count));
  lists = rlo__alloc_array((size_t)count, sizeof(rlo_shape *));
  if (lists == NULL) {
    status = RLO_OUT_OF_MEMORY;
    goto fail;
  }
  for (int32_t k = 0; k < count; ++k) {
    lists[k] = &shapes[k]->shape;
  }
  RLO_TRY_GOTO(call_kernel(r, shapes, lists, count));
fail:
  for (int32_t k = 0; shapes != NULL && k < count; ++k) {
    rlo__shared_shape_release(&r->engine->shapes, shapes[k]);
  }
  rlo__free(shapes);
  rlo__free(lists);
  rlo__free(inputs);
  return status;
}

/* ------------------------------------------------------------------- running
 */

static rlo_status run_checked(rlo__running *r) {
  const rlo_kernel_config *config = &r->bound->config;
  int64_t before = rlo__tensor_balance();
  RLO_TRY(check_call(config, r->num_inputs, r->attributes));
  for (int32_t n = 0; n < r->num_inputs; ++n) {
    RLO_TRY(rlo__tensor_check(r->inputs[n], r->engine, "input", n));
  }
  RLO_TRY(config->run == rlo__copy_op_run ? rlo__running_run_move(r)
                                          : run_other(r));
  int64_t leaked = rlo__tensor_balance() - before - r->num_outputs;
  if (r->engine->options.checks_leaks && leaked > 0) {
    return RLO_FAIL(RLO_INTERNAL,
                    "kernel '%s' for backend '%s' has leaked %lld tensors",
                    config->kernel_name,
                    config->backend_name,
                    (long long)leaked);
  }
  const rlo__record record = {.engine = r->engine,
                              .kernel_name = config->kernel_name,
                              .inputs = r->inputs,
                              .num_inputs = r->num_inputs,
                              .attributes = r->attributes,
                              .outputs = r->outputs,
                              .num_outputs = r->num_outputs};
  return rlo__recorder_notify(&record);
}

rlo_status rlo_run_kernel(rlo_engine *engine,
                          const char *kernel_name,
                          rlo_tensor *const *inputs,
                          int32_t num_inputs,
                          const rlo_attributes *attributes,
                          rlo_tensor **out_tensors,
                          int32_t capacity,
                          int32_t *out_count) {
  enum { FEW = 4 };

  RLO_TRY(check_arguments(
      engine, kernel_name, inputs, num_inputs, out_tensors, capacity));
  rlo__running r = {
      engine, NULL, inputs, num_inputs, attributes, NULL, capacity, 0};
  bool is_fallback = false;
  rlo_tensor *few[FEW] = {NULL};
  r.outputs = few;
  if (capacity > FEW) {
    r.outputs = rlo__alloc_array((size_t)capacity, sizeof(rlo_tensor *));
    if (r.outputs == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__registry_find(engine, kernel_name, &r.bound, &is_fallback));
  RLO_TRY_GOTO(run_checked(&r));
  if (r.num_outputs < capacity && out_count == NULL) {
    status = RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "kernel '%s' has %d results, not %d, and there is no "
                      "place for that number",
                      kernel_name,
                      r.num_outputs,
                      capacity);
    goto fail;
  }
  rlo__engine_count(&engine->counters.kernels_run, 1);
  rlo__engine_count(&engine->counters.fallbacks, is_fallback);
  for (int32_t k = 0; k < r.num_outputs; ++k) {
    out_tensors[k] = r.outputs[k];
    r.outputs[k] = NULL;
  }
fail:
  if (out_count != NULL && (status == RLO_OK || r.num_outputs > capacity)) {
    *out_count = r.num_outputs;
  }
  for (int32_t k = 0; k < r.num_outputs && k < capacity; ++k) {
    rlo_tensor_release(r.outputs[k]);
  }
  if (r.outputs != few) {
    rlo__free(r.outputs);
  }
  rlo__bound_kernel_release(r.bound);
  return status;
}

rlo_status rlo_infer_kernel(rlo_engine *engine,
                            const char *kernel_name,
                            const rlo_shape *const *inputs,
                            int32_t num_inputs,
                            const rlo_attributes *attributes,
                            rlo_shape *out_shapes,
                            int32_t capacity,
                            int32_t *out_count) {
  RLO_TRY(check_arguments(
      engine, kernel_name, inputs, num_inputs, out_shapes, capacity));
  if (out_count == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s': no place for the number of results",
                    kernel_name);
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    if (inputs[n] == NULL) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT, "input %d is NULL", n);
    }
  }
  rlo__bound_kernel *bound = NULL;
  bool is_fallback = false;
  RLO_TRY(rlo__registry_find(engine, kernel_name, &bound, &is_fallback));
  const rlo_kernel_config *config = &bound->config;
  rlo_status status = check_call(config, num_inputs, attributes);
  if (status == RLO_OK) {
    status = infer(config,
                   inputs,
                   num_inputs,
                   attributes,
                   out_shapes,
                   capacity,
                   out_count);
  }
  rlo__bound_kernel_release(bound);
  return status;
}
