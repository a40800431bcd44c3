/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "engine/call/kernel_call.h"
#include "engine/call/profile.h"
#include "engine/copy/copy_op.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "engine/tensor/attributes.h"
#include "relayout/xla/shape_util.h"

static rlo_status check_counts(const char *kernel_name, int32_t num_inputs, int32_t capacity) {
  RLO_FAIL_IF(num_inputs < 0 || capacity < 0, RLO_INVALID_ARGUMENT,
              "kernel '%s': %d inputs, and room for %d results", kernel_name, num_inputs, capacity);
  return RLO_OK;
}

static rlo_status check_call(const rlo__bound_kernel *bound, int32_t num_inputs,
                             const rlo_attributes *attributes) {
  const rlo_kernel_config *config = &bound->config;
  const rlo__copy_op *op = config->run == NULL ? config->built_in : NULL;
  RLO_TRY(rlo__input_count_check(config, num_inputs));
  if (op != NULL) {
    return rlo__copy_op_has(op, RLO__COPY_CHECKS_ATTRIBUTES)
               ? rlo__attributes_check_items(attributes)
               : rlo_attributes_check(attributes, op->name, op->kernel.attributes,
                                      op->kernel.num_attributes);
  }
  return config->attributes == NULL
             ? RLO_OK
             : rlo_attributes_check(attributes, config->kernel_name, config->attributes,
                                    config->num_attributes);
}

/* --------------------------------------------------------- kernel functions */

static rlo_status infer(const rlo_kernel_config *config, const rlo_shape *const *inputs,
                        int32_t num_inputs, const rlo_attributes *attributes, rlo_shape *out_shapes,
                        int32_t capacity, int32_t *out_count) {
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_FAIL_IF(
        config->input_type != RLO_DTYPE_INVALID && inputs[n]->dtype != config->input_type,
        RLO_INVALID_ARGUMENT, "kernel '%s': %s is of type %s, not %s (Cast)", config->kernel_name,
        rlo__input_text_of(config->input_names, config->num_input_names, num_inputs, n).text,
        rlo_dtype_name(inputs[n]->dtype), rlo_dtype_name(config->input_type));
  }
  return RLO__CALLBACK(config->infer(inputs, num_inputs, attributes, out_shapes, capacity,
                                     out_count, config->payload),
                       "the inference of kernel '%s' for backend '%s'", config->kernel_name,
                       config->backend_name);
}

/* Infers the results. `shapes` and `shared` have `room`; the caller releases
 * what is in `shared`, also after a failure. */
static rlo_status infer_shared(rlo__kernel_call *k, const rlo_shape *const *inputs, int32_t room,
                               rlo_shape *shapes, const rlo_shape **shared) {
  const rlo_kernel_config *config = &k->bound->config;
  int32_t count = 0;
  RLO_TRY(infer(config, inputs, k->call.num_inputs, k->call.attributes, shapes, room, &count));
  RLO_FAIL_IF(count < 1 || count > RLO_MAX_KERNEL_OUTPUTS, RLO_INVALID_ARGUMENT,
              "kernel '%s' infers %d results; 1 to %d are possible", config->kernel_name, count,
              RLO_MAX_KERNEL_OUTPUTS);
  RLO_TRY(rlo__kernel_call_set_count(k, count));
  for (int32_t n = 0; n < count; ++n) {
    rlo__shared_shape *shape = NULL;
    RLO_TRY(rlo__shape_table_get(k->call.engine->shapes, &shapes[n], &shape));
    shared[n] = &shape->shape;
  }
  return RLO_OK;
}

/* Brings the inputs to the kernel's backend. */
static rlo_status bring_inputs(const rlo__kernel_call *k) {
  for (int32_t n = 0; n < k->call.num_inputs; ++n) {
    rlo__allocation *allocation = NULL;
    RLO_TRY(rlo__tensor_need(k->call.inputs[n], k->bound->instance, &allocation));
    rlo__allocation_release(allocation);
  }
  return RLO_OK;
}

/* Returns an input as the kernel reads it. */
static rlo_status make_plain(const rlo__kernel_call *k, rlo_tensor *x, rlo_tensor **out_x) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  rlo_shape plain;
  if (k->bound->config.input_type != RLO_DTYPE_INVALID) {
    RLO_TRY(rlo_shape_make(shape->dtype, shape->dims, shape->rank, &plain));
    if (!rlo_shape_equal(shape, &plain)) {
      const rlo_attribute item = rlo_attribute_shape("shape", &plain);
      return rlo_run_kernel(k->call.engine, RLO_KERNEL_NAME_RELAYOUT, &x, 1,
                            &(rlo_attributes){&item, 1}, out_x, 1, NULL);
    }
  }
  *out_x = rlo_tensor_retain(x);
  return RLO_OK;
}

static rlo_status check_output(const rlo__kernel_call *k, int32_t index) {
  rlo_tensor **output = &k->call.outputs[index];
  const char *fault = rlo__tensor_fault(*output, k->call.engine);
  RLO_FAIL_IF(fault != NULL, RLO_INVALID_ARGUMENT, "kernel '%s': output %d is %s",
              k->call.kernel_name, index, fault);
  RLO_FAIL_IF(rlo_tensor_shape(*output) != k->call.output_shapes[index], RLO_INVALID_ARGUMENT,
              "kernel '%s' wrote output %d in another shape than it inferred", k->call.kernel_name,
              index);
  for (int32_t n = 0; n < k->call.num_inputs; ++n) {
    if (k->call.inputs[n] == *output) {
      return rlo__tensor_make_alias(output);
    }
  }
  return RLO_OK;
}

static rlo_status call_function(rlo__kernel_call *k) {
  const rlo_kernel_config *config = &k->bound->config;
  rlo_tensor *const *given = k->call.inputs;
  const int32_t count = k->call.num_inputs;
  rlo_tensor **plain = rlo__alloc_array((size_t)count, sizeof(rlo_tensor *));
  RLO_TRY_MEMORY(plain);
  rlo__tensors_lend(given, count);
  rlo__recorder_enter();
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY_GOTO(make_plain(k, given[n], &plain[n]));
  }
  k->call.inputs = plain;
  RLO_TRY_GOTO(bring_inputs(k));
  RLO_TRY_GOTO(RLO__CALLBACK(config->run(&k->call, config->payload), "kernel '%s' for backend '%s'",
                             config->kernel_name, config->backend_name));
  for (int32_t n = 0; n < k->call.num_outputs; ++n) {
    RLO_TRY_GOTO(check_output(k, n));
  }
fail:
  rlo__recorder_leave();
  k->call.inputs = given;
  rlo__tensor_list_release(plain, count);
  const int32_t missing = rlo__tensors_take_back(given, count);
  return status != RLO_OK || missing < 0
             ? status
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "kernel '%s' released %s, which it borrows",
                        k->call.kernel_name,
                        rlo__input_text_of(k->call.input_names, k->call.num_input_names,
                                           k->call.num_inputs, missing)
                            .text);
}

static rlo_status run_function(rlo__kernel_call *k) {
  const size_t num_inputs = (size_t)k->call.num_inputs;
  /* More results than the caller has room for are a failure. */
  const int32_t room = k->capacity < RLO_MAX_KERNEL_OUTPUTS ? k->capacity : RLO_MAX_KERNEL_OUTPUTS;
  /* The shapes of the inputs, then the shared ones of the results. */
  const rlo_shape **lists = rlo__alloc_array(num_inputs + (size_t)room, sizeof(rlo_shape *));
  /* One at least, for a function that looks at no capacity. */
  rlo_shape *shapes = rlo__alloc_array(room > 0 ? (size_t)room : 1, sizeof *shapes);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (lists != NULL && shapes != NULL) {
    for (size_t n = 0; n < num_inputs; ++n) {
      lists[n] = rlo_tensor_shape(k->call.inputs[n]);
    }
    k->call.output_shapes = lists + num_inputs;
    status = infer_shared(k, lists, room, shapes, lists + num_inputs);
  }
  if (status == RLO_OK) {
    status = call_function(k);
  }
  for (int32_t n = 0; lists != NULL && n < room; ++n) {
    rlo__shared_shape_release(k->call.engine->shapes,
                              rlo__shared_shape_of(lists[num_inputs + (size_t)n]));
  }
  rlo__free(shapes);
  rlo__free(lists);
  return status;
}

/* ------------------------------------------------------------------ running */

static rlo_status run_checked(rlo__kernel_call *k) {
  const rlo_kernel_call *call = &k->call;
  int64_t before = rlo__tensor_balance();
  RLO_TRY(check_call(k->bound, call->num_inputs, call->attributes));
  RLO_TRY(
      rlo__kernel_check_inputs(&k->bound->config, call->engine, call->inputs, call->num_inputs));
  RLO_TRY(k->bound->config.run == NULL ? rlo__kernel_call_run_copy(k) : run_function(k));
  int64_t leaked = rlo__tensor_balance() - before - call->num_outputs;
  RLO_FAIL_IF(call->engine->options.checks_leaks && leaked > 0, RLO_INTERNAL,
              "kernel '%s' for backend '%s' has leaked %lld tensors", call->kernel_name,
              call->backend_name, (long long)leaked);
  return rlo__recorder_notify(&(rlo__record){.call = call, .config = &k->bound->config});
}

/* Puts named inputs into their places. */
static rlo_status place_inputs(const rlo_kernel_config *config, const rlo_named_tensor *inputs,
                               int32_t num_inputs, rlo_tensor **out_tensors) {
  const char *few_names[8];
  int32_t few_places[8];
  const char **names = RLO__SMALL_ARRAY(few_names, (size_t)num_inputs);
  int32_t *places = RLO__SMALL_ARRAY(few_places, (size_t)num_inputs);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (names == NULL || places == NULL) {
    goto fail;
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    names[n] = inputs[n].name;
  }
  RLO_TRY_GOTO(rlo__input_names_place(config, names, num_inputs, places));
  for (int32_t n = 0; n < num_inputs; ++n) {
    out_tensors[places[n]] = inputs[n].tensor;
  }
fail:
  rlo__small_array_free(names, few_names);
  rlo__small_array_free(places, few_places);
  return status;
}

/* Runs a call and hands its results out. */
static rlo_status run_and_hand_out(rlo__kernel_call *k, rlo_tensor **out_tensors,
                                   const int32_t *out_count) {
  const rlo_kernel_call *call = &k->call;
  RLO_TRY(run_checked(k));
  RLO_FAIL_IF(call->num_outputs < k->capacity && out_count == NULL, RLO_INVALID_ARGUMENT,
              "kernel '%s' has %d results, not %d, and there is no place for that number",
              call->kernel_name, call->num_outputs, k->capacity);
  return rlo__scope_hand_out(call->engine, call->outputs, call->num_outputs, out_tensors);
}

/* Runs a bound call whose inputs are in their places. */
static rlo_status run_bound(rlo__kernel_call *k, rlo_tensor **out_tensors, int32_t *out_count) {
  rlo_tensor *few[4];
  rlo_kernel_call *call = &k->call;
  call->outputs = RLO__SMALL_ARRAY(few, (size_t)k->capacity);
  RLO_TRY_MEMORY(call->outputs);
  rlo__profile_run run;
  rlo__profile_run_begin(call->engine->profiler, &run);
  rlo__scope_enter();
  rlo_status status = run_and_hand_out(k, out_tensors, out_count);
  rlo__profile_run_end_tensors(&run, status, call->kernel_name, call->backend_name, call->inputs,
                               call->num_inputs, out_tensors, call->num_outputs);
  if (out_count != NULL && (status == RLO_OK || call->num_outputs > k->capacity)) {
    *out_count = call->num_outputs;
  }
  for (int32_t n = 0; n < call->num_outputs && n < k->capacity; ++n) {
    rlo_tensor_release(call->outputs[n]);
  }
  rlo__small_array_free(call->outputs, few);
  rlo__scope_leave();
  return status;
}

/* Runs a kernel on `inputs`, or on those that are named. */
static rlo_status run(rlo_engine *engine, const char *kernel_name, const rlo_named_tensor *named,
                      rlo_tensor *const *inputs, int32_t num_inputs,
                      const rlo_attributes *attributes, rlo_tensor **out_tensors, int32_t capacity,
                      int32_t *out_count) {
  rlo_tensor *few[8];
  rlo_tensor **placed = NULL;
  rlo__bound_kernel *bound = NULL;
  bool is_fallback = false;
  RLO_TRY(check_counts(kernel_name, num_inputs, capacity));
  RLO_TRY(rlo__kernel_bind(engine->registry, kernel_name, &bound, &is_fallback));
  const rlo_kernel_config *config = &bound->config;
  rlo_status status = RLO_OK;
  if (named != NULL) {
    placed = RLO__SMALL_ARRAY(few, (size_t)num_inputs);
    RLO_TRY_GOTO(placed == NULL ? RLO_OUT_OF_MEMORY
                                : place_inputs(config, named, num_inputs, placed));
  }
  rlo__kernel_call k = {.call = {.engine = engine,
                                 .kernel_name = config->kernel_name,
                                 .backend_name = config->backend_name,
                                 .backend_self = bound->instance->self,
                                 .inputs = named != NULL ? placed : inputs,
                                 .num_inputs = num_inputs,
                                 .input_names = config->input_names,
                                 .num_input_names = config->num_input_names,
                                 .attributes = attributes},
                        .bound = bound,
                        .capacity = capacity};
  RLO_TRY_GOTO(run_bound(&k, out_tensors, out_count));
  rlo__engine_count(engine, RLO__COUNT_KERNELS_RUN, 1);
  rlo__engine_count(engine, RLO__COUNT_FALLBACKS, is_fallback);
fail:
  rlo__bound_kernel_release(bound);
  rlo__small_array_free(placed, few);
  return status;
}

rlo_status rlo_run_kernel(rlo_engine *engine, const char *kernel_name, rlo_tensor *const *inputs,
                          int32_t num_inputs, const rlo_attributes *attributes,
                          rlo_tensor **out_tensors, int32_t capacity, int32_t *out_count) {
  RLO_REQUIRE(engine, kernel_name);
  RLO_REQUIRE_LIST(inputs, num_inputs);
  RLO_REQUIRE_LIST(out_tensors, capacity);
  return run(engine, kernel_name, NULL, inputs, num_inputs, attributes, out_tensors, capacity,
             out_count);
}

rlo_status rlo_run_kernel_named(rlo_engine *engine, const char *kernel_name,
                                const rlo_named_tensor *inputs, int32_t num_inputs,
                                const rlo_attributes *attributes, rlo_tensor **out_tensors,
                                int32_t capacity, int32_t *out_count) {
  static const rlo_named_tensor none;
  RLO_REQUIRE(engine, kernel_name);
  RLO_REQUIRE_LIST(inputs, num_inputs);
  RLO_REQUIRE_LIST(out_tensors, capacity);
  return run(engine, kernel_name, inputs != NULL ? inputs : &none, NULL, num_inputs, attributes,
             out_tensors, capacity, out_count);
}

rlo_status rlo_kernel_place_inputs(rlo_engine *engine, const char *kernel_name,
                                   const char *const *names, int32_t count, int32_t *out_places) {
  RLO_REQUIRE(engine, kernel_name);
  RLO_REQUIRE_LIST(names, count);
  RLO_REQUIRE_LIST(out_places, count);
  RLO_TRY(check_counts(kernel_name, count, count));
  int32_t few[8];
  rlo__bound_kernel *bound = NULL;
  RLO_TRY(rlo__kernel_bind(engine->registry, kernel_name, &bound, NULL));
  int32_t *places = RLO__SMALL_ARRAY(few, (size_t)count);
  rlo_status status = places == NULL ? RLO_OUT_OF_MEMORY
                                     : rlo__input_names_place(&bound->config, names, count, places);
  for (int32_t n = 0; n < count && status == RLO_OK; ++n) {
    out_places[n] = places[n];
  }
  rlo__bound_kernel_release(bound);
  rlo__small_array_free(places, few);
  return status;
}

/* -------------------------------------------------------------- only shapes */

/* Finds the kernel of a call of which only the shapes are known, and checks the
 * call. The caller releases the kernel. */
static rlo_status bind_shapes(rlo_engine *engine, const char *kernel_name,
                              const rlo_shape *const *inputs, int32_t num_inputs, int32_t capacity,
                              const rlo_attributes *attributes, rlo__bound_kernel **out_bound) {
  RLO_TRY(check_counts(kernel_name, num_inputs, capacity));
  RLO_TRY(rlo__kernel_bind(engine->registry, kernel_name, out_bound, NULL));
  const rlo_kernel_config *config = &(*out_bound)->config;
  rlo_status status = check_call(*out_bound, num_inputs, attributes);
  for (int32_t n = 0; n < num_inputs && status == RLO_OK; ++n) {
    if (inputs[n] == NULL) {
      status = RLO_FAIL(
          RLO_INVALID_ARGUMENT, "kernel '%s': %s is NULL", config->kernel_name,
          rlo__input_text_of(config->input_names, config->num_input_names, num_inputs, n).text);
    }
  }
  if (status != RLO_OK) {
    rlo__bound_kernel_release(*out_bound);
  }
  return status;
}

rlo_status rlo_infer_kernel(rlo_engine *engine, const char *kernel_name,
                            const rlo_shape *const *inputs, int32_t num_inputs,
                            const rlo_attributes *attributes, rlo_shape *out_shapes,
                            int32_t capacity, int32_t *out_count) {
  RLO_REQUIRE(engine, kernel_name, out_count);
  RLO_REQUIRE_LIST(inputs, num_inputs);
  RLO_REQUIRE_LIST(out_shapes, capacity);
  rlo__bound_kernel *bound = NULL;
  RLO_TRY(bind_shapes(engine, kernel_name, inputs, num_inputs, capacity, attributes, &bound));
  rlo_status status =
      infer(&bound->config, inputs, num_inputs, attributes, out_shapes, capacity, out_count);
  rlo__bound_kernel_release(bound);
  return status;
}

/* Lowers a result of a checked call. */
static rlo_status lower(const rlo__bound_kernel *bound, const rlo_shape *const *inputs,
                        int32_t num_inputs, const rlo_attributes *attributes, int32_t output,
                        const rlo_shape *dst, rlo_problem_list **out_problems) {
  const rlo_kernel_config *config = &bound->config;
  RLO_FAIL_IF(bound->config.run != NULL, RLO_UNSUPPORTED,
              "kernel '%s' for backend '%s' is a function of the user's, which has no problems",
              config->kernel_name, config->backend_name);
  const rlo__copy_op *op = config->built_in;
  RLO_FAIL_IF(rlo__copy_op_has(op, RLO__COPY_TAKES_VALUE) && num_inputs == 2, RLO_UNSUPPORTED,
              "%s: input 'value' is known only when it runs; the attribute 'value' is known before",
              op->name);
  const rlo__copy_call call = {op, inputs, num_inputs, attributes};
  int32_t count = 0;
  RLO_TRY(rlo__copy_op_count(&call, &count));
  RLO_FAIL_IF(output < 0 || output >= count, RLO_OUT_OF_RANGE,
              "%s: there is no result %d; it has %d", op->name, output, count);
  rlo_shape shape;
  RLO_TRY(rlo__copy_op_shape(&call, output, &shape));
  RLO_FAIL_IF(dst != NULL && !rlo_shape_compatible(dst, &shape), RLO_INVALID_ARGUMENT,
              "%s: the destination has another type or other dimensions than result %d", op->name,
              output);
  return rlo__copy_op_lower(&call, output, dst != NULL ? dst : &shape, out_problems, NULL);
}

rlo_status rlo_lower_kernel(rlo_engine *engine, const char *kernel_name,
                            const rlo_shape *const *inputs, int32_t num_inputs,
                            const rlo_attributes *attributes, int32_t output, const rlo_shape *dst,
                            rlo_problem_list **out_problems) {
  RLO_REQUIRE(engine, kernel_name, out_problems);
  RLO_REQUIRE_LIST(inputs, num_inputs);
  rlo__bound_kernel *bound = NULL;
  RLO_TRY(bind_shapes(engine, kernel_name, inputs, num_inputs, 1, attributes, &bound));
  rlo_status status = lower(bound, inputs, num_inputs, attributes, output, dst, out_problems);
  rlo__bound_kernel_release(bound);
  return status;
}
