/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/call/call_plan.h"
#include "engine/call/kernel_call.h"
#include "engine/call/profile.h"
#include "engine/parts.h"
#include "ops/chain.h"

/* The attributes of a pad, each of which is given once, and in addition the
 * value that was input 1. */
typedef struct with_value {
  rlo_attributes attributes;
  rlo_attribute items[8];
  int64_t words[2];
} with_value;

/* The element of a scalar in any layout: its memory may be larger, and the
 * element need not come first. */
static rlo_status read_element(rlo_tensor *value, uint8_t out_bits[16]) {
  const rlo_shape *shape = rlo_tensor_shape(value);
  int64_t bytes = rlo_tensor_bytes(value);
  if (rlo_layout_is_row_major(&shape->layout, 0)) {
    return rlo_tensor_read(value, out_bits, bytes);
  }
  rlo_shape plain;
  RLO_TRY(rlo__ops_shape_like(shape, NULL, 0, &plain));
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  void *memory = rlo__alloc((size_t)bytes);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (problem != NULL && memory != NULL) {
    RLO_TRY_GOTO(rlo_relayout_lower(shape, &plain, NULL, problem));
    RLO_TRY_GOTO(rlo_tensor_read(value, memory, bytes));
    RLO_TRY_GOTO(rlo_problem_run_host(problem, memory, out_bits));
  }
fail:
  rlo__free(memory);
  rlo__free(problem);
  return status;
}

/* Clears the bits of a unit that are no part of the value, and makes a pred,
 * which takes its whole byte, 0 or 1. */
static void keep_value_bits(rlo_dtype dtype, uint8_t bits[16]) {
  if (dtype == RLO_DTYPE_PRED) {
    bits[0] = bits[0] != 0;
  }
  for (int32_t b = rlo_dtype_value_bits(dtype); b < 128; ++b) {
    bits[b / 8] = (uint8_t)(bits[b / 8] & ~(1U << b % 8));
  }
}

static rlo_status take_value(const rlo__kernel_call *k, const rlo__copy_op *op, with_value *out) {
  rlo_tensor *value = k->call.inputs[1];
  uint8_t bytes[16] = {0};
  RLO_TRY(rlo__copy_op_check_value(op, rlo_tensor_shape(k->call.inputs[0]), rlo_tensor_shape(value),
                                   k->call.attributes));
  RLO_TRY(read_element(value, bytes));
  keep_value_bits(rlo_tensor_shape(value)->dtype, bytes);
  memcpy(out->words, bytes, sizeof out->words);
  const rlo_attributes *given = k->call.attributes;
  int32_t count = given != NULL ? given->count : 0;
  assert(count < (int32_t)(sizeof out->items / sizeof out->items[0]));
  if (count > 0) {
    memcpy(out->items, given->items, (size_t)count * sizeof out->items[0]);
  }
  out->items[count] = rlo_attribute_i64s("value_bits", out->words, 2);
  out->attributes = (rlo_attributes){out->items, count + 1};
  return RLO_OK;
}

static rlo_status get_plan(const rlo__kernel_call *k, const rlo__copy_op *op, int32_t num_inputs,
                           const rlo_attributes *attributes, rlo__call_plan **out_plan) {
  const rlo_shape *few[8];
  const rlo_shape **shapes = RLO__SMALL_ARRAY(few, (size_t)num_inputs);
  RLO_TRY_MEMORY(shapes);
  for (int32_t n = 0; n < num_inputs; ++n) {
    shapes[n] = &k->call.inputs[n]->shape->shape;
  }
  rlo_status status =
      rlo__call_plan_get(k->call.engine->plans, k->bound->instance,
                         &(rlo__copy_call){op, shapes, num_inputs, attributes}, out_plan);
  rlo__small_array_free(shapes, few);
  return status;
}

static rlo_status make_result(const rlo__kernel_call *k, rlo__call_plan *plan, int32_t output,
                              int32_t num_inputs, rlo_tensor **out_tensor) {
  rlo_engine *engine = k->call.engine;
  rlo_tensor *const *inputs = k->call.inputs;
  const rlo__call_plan_output *result = &plan->outputs[output];
  rlo__allocation *allocation = NULL;
  rlo__pending *pending = NULL;
  /* A view need not wait unless its input does. */
  bool is_fusing = engine->options.is_fusing &&
                   !rlo__copy_op_has(plan->call.op, RLO__COPY_STANDS_ALONE) &&
                   !(result->is_view && !rlo_tensor_is_pending(inputs[0]));
  if (is_fusing) {
    RLO_TRY(rlo__fusion_create(plan, output, inputs, num_inputs, &pending));
    rlo__engine_count(engine, RLO__COUNT_PENDING, 1);
  } else {
    RLO_TRY(rlo__call_plan_run_or_fall_back(plan, output, inputs, num_inputs, &allocation));
  }
  return rlo__tensor_create(engine, result->shape, allocation, pending, out_tensor);
}

rlo_status rlo__kernel_call_run_copy(rlo__kernel_call *k) {
  const rlo__copy_op *op = k->bound->config.built_in;
  with_value value;
  const rlo_attributes *attributes = k->call.attributes;
  int32_t num_inputs = k->call.num_inputs;
  rlo__call_plan *plan = NULL;
  rlo_status status = RLO_OK;
  if (rlo__copy_op_has(op, RLO__COPY_TAKES_VALUE) && num_inputs == 2) {
    RLO_TRY(take_value(k, op, &value));
    attributes = &value.attributes;
    num_inputs = 1;
  }
  RLO_TRY_GOTO(get_plan(k, op, num_inputs, attributes, &plan));
  RLO_TRY_GOTO(rlo__kernel_call_set_count(k, plan->num_outputs));
  for (int32_t n = 0; n < plan->num_outputs; ++n) {
    RLO_TRY_GOTO(make_result(k, plan, n, num_inputs, &k->call.outputs[n]));
  }
fail:
  rlo__call_plan_release(plan);
  return status;
}

/* ------------------------------------------------------------------- chains */

static rlo_status check_operands(const rlo_engine *engine, const rlo_chain *chain,
                                 rlo_tensor *const *inputs, int32_t num_inputs) {
  RLO_FAIL_IF(num_inputs != rlo_chain_num_operands(chain), RLO_INVALID_ARGUMENT,
              "%d inputs for a chain of %d operands", num_inputs, rlo_chain_num_operands(chain));
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY(rlo__tensor_check(inputs[n], engine, "input", n));
    RLO_FAIL_IF(!rlo_shape_equal(rlo_tensor_shape(inputs[n]), rlo_chain_operand(chain, n)),
                RLO_INVALID_ARGUMENT,
                "input %d has another shape or layout than operand %d of the chain", n, n);
  }
  return RLO_OK;
}

/* Runs a checked chain; the caller releases the instance, also after a failure.
 */
static rlo_status run_chain(rlo_engine *engine, const rlo_chain *chain, rlo_tensor *const *inputs,
                            int32_t num_inputs, const rlo_shape *out_shape,
                            rlo__backend_instance **instance, rlo_tensor **out_tensor) {
  rlo__shared_shape *shape = NULL;
  rlo__call_plan *plan = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__backend_get(engine->registry, NULL, instance));
  RLO_TRY_GOTO(rlo__shape_table_get(
      engine->shapes, out_shape != NULL ? out_shape : rlo_chain_shape(chain), &shape));
  do {
    status = rlo__call_plan_create_chain(engine->plans, *instance, NULL, chain, shape, &plan);
  } while (rlo__fall_back(engine, status, instance));
  RLO_TRY_GOTO(status);
  RLO_TRY_GOTO(rlo__call_plan_run_tensors(plan, 0, inputs, num_inputs, &allocation));
  status = rlo__tensor_create_for_caller(engine, shape, allocation, out_tensor);
fail:
  rlo__call_plan_release(plan);
  rlo__shared_shape_release(engine->shapes, shape);
  return status;
}

rlo_status rlo_run_chain(rlo_engine *engine, const rlo_chain *chain, rlo_tensor *const *inputs,
                         int32_t num_inputs, const rlo_shape *out_shape, rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, chain, out_tensor);
  RLO_REQUIRE_LIST(inputs, num_inputs);
  RLO_TRY(check_operands(engine, chain, inputs, num_inputs));
  rlo__backend_instance *instance = NULL;
  rlo__profile_run run;
  rlo__profile_run_begin(engine->profiler, &run);
  rlo_status status =
      run_chain(engine, chain, inputs, num_inputs, out_shape, &instance, out_tensor);
  rlo__profile_run_end_tensors(&run, status, "chain", instance != NULL ? instance->name : NULL,
                               inputs, num_inputs, out_tensor, 1);
  rlo__backend_instance_release(instance);
  return status;
}
