/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/call/fusion.h"
#include "engine/call/running.h"
#include "engine/tensor/attributes.h"

/* Attributes with the value to pad with, which was an input. */
typedef struct with_value {
  rlo_attributes attributes;
  rlo_attribute *items;
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
  rlo_layout layout = rlo_layout_row_major(0);
  layout.element_size_bits = shape->layout.element_size_bits;
  RLO_TRY(rlo_shape_make_with_layout(shape->dtype, NULL, 0, &layout, &plain));
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

static rlo_status take_value(const rlo__running *r,
                             const rlo__copy_op *op,
                             with_value *out) {
  rlo_tensor *value = r->inputs[1];
  uint8_t bytes[16] = {0};
  RLO_TRY(rlo__copy_op_check_value(op,
                                   rlo_tensor_shape(r->inputs[0]),
                                   rlo_tensor_shape(value),
                                   r->attributes));
  RLO_TRY(read_element(value, bytes));
  memcpy(out->words, bytes, sizeof out->words);
  int32_t count = r->attributes != NULL ? r->attributes->count : 0;
  out->items = rlo__alloc_array((size_t)count + 1, sizeof *out->items);
  if (out->items == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  if (count > 0) {
    memcpy(
        out->items, r->attributes->items, (size_t)count * sizeof *out->items);
  }
  out->items[count] = rlo_attribute_i64s("value_bits", out->words, 2);
  out->attributes.items = out->items;
  out->attributes.count = count + 1;
  return RLO_OK;
}

static rlo_status get_recipe(const rlo__running *r,
                             const rlo__copy_op *op,
                             int32_t num_inputs,
                             const rlo_attributes *attributes,
                             rlo__call_plan **out_plan) {
  enum { FEW = 8 };

  rlo__shared_shape *few[FEW] = {NULL};
  rlo__shared_shape **shapes = few;
  if (num_inputs > FEW) {
    shapes = rlo__alloc_array((size_t)num_inputs, sizeof(rlo__shared_shape *));
    if (shapes == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    shapes[n] = r->inputs[n]->shape;
  }
  rlo_status status = rlo__call_plan_get(r->engine,
                                         r->bound->instance,
                                         op,
                                         shapes,
                                         num_inputs,
                                         attributes,
                                         out_plan);
  if (shapes != few) {
    rlo__free(shapes);
  }
  return status;
}

static rlo_status make_result(const rlo__running *r,
                              rlo__call_plan *plan,
                              int32_t output,
                              int32_t num_inputs,
                              rlo_tensor **out_tensor) {
  const rlo__call_plan_output *result = &plan->outputs[output];
  rlo__storage *storage = NULL;
  rlo__pending *pending = NULL;
  rlo_status status = RLO_OK;
  /* What moves no byte need not wait, if its input does not. */
  bool is_fusing = r->engine->options.is_fusing && !plan->op->stands_alone &&
                   !(result->is_view && !rlo_tensor_is_pending(r->inputs[0]));
  if (is_fusing) {
    RLO_TRY_GOTO(
        rlo__pending_create(plan, output, r->inputs, num_inputs, &pending));
    rlo__engine_count(&r->engine->counters.pending, 1);
  } else {
    RLO_TRY_GOTO(rlo__call_plan_run_tensors(
        plan, output, r->inputs, num_inputs, &storage));
  }
  RLO_TRY_GOTO(rlo__tensor_create(
      r->engine, result->shape, storage, pending, out_tensor));
  return RLO_OK;
fail:
  rlo__storage_release(storage);
  rlo__pending_release(pending);
  return status;
}

rlo_status rlo__running_run_move(rlo__running *r) {
  const rlo__copy_op *op = r->bound->config.payload;
  with_value value = {{NULL, 0}, NULL, {0, 0}};
  const rlo_attributes *attributes = r->attributes;
  int32_t num_inputs = r->num_inputs;
  rlo__call_plan *plan = NULL;
  rlo_status status = RLO_OK;
  if (op->takes_value && num_inputs == 2) {
    RLO_TRY(take_value(r, op, &value));
    attributes = &value.attributes;
    num_inputs = 1;
  }
  RLO_TRY_GOTO(get_recipe(r, op, num_inputs, attributes, &plan));
  r->num_outputs = plan->num_outputs;
  RLO_TRY_GOTO(rlo__running_check_room(r, plan->num_outputs));
  for (int32_t k = 0; k < plan->num_outputs; ++k) {
    RLO_TRY_GOTO(make_result(r, plan, k, num_inputs, &r->outputs[k]));
  }
fail:
  rlo__call_plan_release(plan);
  rlo__free(value.items);
  return status;
}
