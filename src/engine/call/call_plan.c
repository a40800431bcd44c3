/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/engine.h"
#include "relayout/bitcast.h"

/* ------------------------------------------------------------------- recipes
 */

rlo__call_plan *rlo__call_plan_retain(rlo__call_plan *plan) {
  atomic_fetch_add_explicit(&plan->num_references, 1, memory_order_relaxed);
  return plan;
}

void rlo__call_plan_release(rlo__call_plan *plan) {
  if (plan == NULL ||
      atomic_fetch_sub_explicit(
          &plan->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  rlo__shape_table *shapes = &plan->engine->shapes;
  rlo__backend_instance *instance = plan->instance;
  for (int32_t k = 0; plan->outputs != NULL && k < plan->num_outputs; ++k) {
    void *program = atomic_load(&plan->outputs[k].program);
    if (program != NULL) {
      instance->methods.release_program(instance->self, program);
    }
    rlo__shared_shape_release(shapes, plan->outputs[k].shape);
  }
  for (int32_t n = 0; plan->inputs != NULL && n < plan->num_inputs; ++n) {
    rlo__shared_shape_release(shapes, plan->inputs[n]);
  }
  if (plan->has_mutex) {
    rlo__mutex_deinit(&plan->mutex);
  }
  rlo_attributes_release(plan->attributes);
  rlo__free(plan->outputs);
  rlo__free(plan->inputs);
  rlo__free(plan->key);
  rlo__backend_instance_release(instance);
  rlo__free(plan);
}

/* A recipe with room for its parts. */
static rlo_status create(rlo_engine *engine,
                         rlo__backend_instance *instance,
                         const rlo__call_key *key,
                         int32_t num_inputs,
                         int32_t num_outputs,
                         rlo__call_plan **out_plan) {
  rlo__call_plan *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&made->num_references, 1);
  made->engine = engine;
  made->instance = rlo__backend_instance_retain(instance);
  made->num_inputs = num_inputs;
  made->num_outputs = num_outputs;
  rlo_status status = rlo__mutex_init(&made->mutex);
  made->has_mutex = status == RLO_OK;
  made->inputs =
      rlo__alloc_array((size_t)num_inputs + 1, sizeof(rlo__shared_shape *));
  made->outputs = rlo__alloc_array((size_t)num_outputs, sizeof *made->outputs);
  if (key != NULL) {
    made->key_length = key->count;
    made->key = rlo__alloc_array((size_t)key->count, sizeof *made->key);
  }
  if (status != RLO_OK || made->inputs == NULL || made->outputs == NULL ||
      (key != NULL && made->key == NULL)) {
    rlo__call_plan_release(made);
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t k = 0; k < num_outputs; ++k) {
    atomic_init(&made->outputs[k].program, NULL);
  }
  if (key != NULL) {
    memcpy(made->key,
           rlo__call_key_data(key),
           (size_t)key->count * sizeof *made->key);
    made->hash = rlo__call_key_hash(made->key, made->key_length);
  }
  *out_plan = made;
  return RLO_OK;
}

static rlo_status prepare(const rlo__backend_instance *instance,
                          const rlo_chain *chain,
                          const rlo_shape *shape,
                          void **out_program) {
  rlo_moves *moves = NULL;
  RLO_TRY(rlo_chain_lower(chain, shape, &moves));
  return rlo__backend_instance_prepare(instance, moves, out_program);
}

static rlo_status make_program(rlo__call_plan *plan,
                               int32_t output,
                               void **out_program) {
  const rlo__copy_op *op = plan->op;
  const rlo_shape *dst = &plan->outputs[output].shape->shape;
  int32_t count = plan->num_inputs;
  rlo_moves *moves = NULL;
  rlo_status status = RLO_OK;
  const rlo_shape **shapes =
      rlo__alloc_array((size_t)count, sizeof(rlo_shape *));
  if (shapes == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < count; ++n) {
    shapes[n] = &plan->inputs[n]->shape;
  }
  const rlo__copy_call call = {op, shapes, count, plan->attributes};
  if (op->append != NULL) {
    RLO_TRY_GOTO(rlo__copy_op_lower(&call, output, dst, &moves));
    status = rlo__backend_instance_prepare(plan->instance, moves, out_program);
  } else {
    status = op->prepare(plan->instance, &call, dst, out_program);
    if (status != RLO_OK) {
      status = rlo__status_prefix(status, "%s: ", op->name);
    }
  }
fail:
  rlo__free(shapes);
  return status;
}

static rlo_status need_program(rlo__call_plan *plan,
                               int32_t output,
                               void **out_program) {
  _Atomic(void *) *place = &plan->outputs[output].program;
  *out_program = atomic_load_explicit(place, memory_order_acquire);
  if (*out_program != NULL) {
    return RLO_OK;
  }
  rlo_status status = RLO_OK;
  rlo__mutex_lock(&plan->mutex);
  *out_program = atomic_load_explicit(place, memory_order_relaxed);
  if (*out_program == NULL) {
    status = make_program(plan, output, out_program);
    if (status == RLO_OK) {
      atomic_store_explicit(place, *out_program, memory_order_release);
    }
  }
  rlo__mutex_unlock(&plan->mutex);
  return status;
}

/* Whether a move that keeps the order of elements also keeps their places. */
static rlo_status is_same_place(const rlo__copy_op *op,
                                const rlo_shape *input,
                                const rlo_shape *result,
                                bool *out_is_same) {
  *out_is_same = false;
  if (!op->keeps_order) {
    return RLO_OK;
  }
  rlo_status status =
      rlo_shape_reshape_is_bitcast(input, result, 0, out_is_same);
  /* Where it is not known, moving is right. */
  return status == RLO_UNSUPPORTED ? RLO_OK : status;
}

static rlo_status fill_in(rlo__call_plan *plan, const rlo__copy_call *call) {
  rlo_shape shape;
  RLO_TRY(rlo_attributes_clone(call->attributes, &plan->attributes));
  for (int32_t k = 0; k < plan->num_outputs; ++k) {
    rlo__call_plan_output *output = &plan->outputs[k];
    RLO_TRY(rlo__copy_op_shape(call, k, &shape));
    RLO_TRY(
        rlo__shape_table_get(&plan->engine->shapes, &shape, &output->shape));
    RLO_TRY(is_same_place(call->op, call->inputs[0], &shape, &output->is_view));
  }
  return RLO_OK;
}

static rlo_status make_move(rlo_engine *engine,
                            rlo__backend_instance *instance,
                            const rlo__call_key *key,
                            const rlo__copy_op *op,
                            rlo__shared_shape *const *inputs,
                            int32_t num_inputs,
                            const rlo_attributes *attributes,
                            rlo__call_plan **out_plan) {
  rlo__call_plan *made = NULL;
  const rlo_shape **shapes =
      rlo__alloc_array((size_t)num_inputs, sizeof(rlo_shape *));
  if (shapes == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    shapes[n] = &inputs[n]->shape;
  }
  const rlo__copy_call call = {op, shapes, num_inputs, attributes};
  int32_t count = 0;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__copy_op_count(&call, &count));
  RLO_TRY_GOTO(create(engine, instance, key, num_inputs, count, &made));
  made->op = op;
  for (int32_t n = 0; n < num_inputs; ++n) {
    made->inputs[n] = rlo__shared_shape_retain(inputs[n]);
  }
  RLO_TRY_GOTO(fill_in(made, &call));
  *out_plan = rlo__call_plans_insert(made);
  rlo__free(shapes);
  return RLO_OK;
fail:
  rlo__free(shapes);
  rlo__call_plan_release(made);
  return status;
}

rlo_status rlo__call_plan_get(rlo_engine *engine,
                              rlo__backend_instance *instance,
                              const rlo__copy_op *op,
                              rlo__shared_shape *const *inputs,
                              int32_t num_inputs,
                              const rlo_attributes *attributes,
                              rlo__call_plan **out_plan) {
  rlo__call_key key;
  rlo__call_key_init(&key);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__call_key_push(&key, (uint64_t)(uintptr_t)op));
  RLO_TRY_GOTO(rlo__call_key_push(&key, instance->id));
  RLO_TRY_GOTO(rlo__call_key_push(&key, (uint64_t)num_inputs));
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY_GOTO(rlo__call_key_push(&key, inputs[n]->id));
  }
  for (int32_t i = 0; attributes != NULL && i < attributes->count; ++i) {
    status = rlo__call_key_push_attribute(engine, &key, &attributes->items[i]);
    if (status != RLO_OK) {
      rlo__status_prefix(status, "%s: ", op->name);
      goto fail;
    }
  }
  *out_plan = rlo__call_plans_find(engine, &key);
  if (*out_plan == NULL) {
    status = make_move(
        engine, instance, &key, op, inputs, num_inputs, attributes, out_plan);
  }
fail:
  rlo__call_key_deinit(&key);
  return status;
}

static rlo_status make_chain(rlo_engine *engine,
                             rlo__backend_instance *instance,
                             const rlo__call_key *key,
                             const rlo_chain *chain,
                             rlo__shared_shape *shape,
                             rlo__call_plan **out_plan) {
  rlo__call_plan *made = NULL;
  void *program = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(create(engine, instance, key, 0, 1, &made));
  made->outputs[0].shape = rlo__shared_shape_retain(shape);
  RLO_TRY_GOTO(prepare(instance, chain, &shape->shape, &program));
  atomic_store(&made->outputs[0].program, program);
  *out_plan = made;
  return RLO_OK;
fail:
  rlo__call_plan_release(made);
  return status;
}

rlo_status rlo__call_plan_get_chain(rlo_engine *engine,
                                    rlo__backend_instance *instance,
                                    const rlo__call_key *key,
                                    const rlo_chain *chain,
                                    rlo__shared_shape *shape,
                                    rlo__call_plan **out_plan) {
  rlo__call_plan *made = NULL;
  RLO_TRY(make_chain(engine, instance, key, chain, shape, &made));
  *out_plan = rlo__call_plans_insert(made);
  return RLO_OK;
}

rlo_status rlo__call_plan_create_chain(rlo_engine *engine,
                                       rlo__backend_instance *instance,
                                       const rlo_chain *chain,
                                       rlo__shared_shape *shape,
                                       rlo__call_plan **out_plan) {
  return make_chain(engine, instance, NULL, chain, shape, out_plan);
}

rlo_status rlo__call_plan_run(rlo__call_plan *plan,
                              int32_t output,
                              rlo__storage *const *inputs,
                              int32_t num_inputs,
                              rlo__storage **out_storage) {
  enum { FEW = 8 };

  const rlo__call_plan_output *result = &plan->outputs[output];
  if (result->is_view) {
    *out_storage = rlo__storage_retain(inputs[0]);
    return RLO_OK;
  }
  rlo__backend_instance *instance = plan->instance;
  void *few[FEW] = {NULL};
  void **operands = few;
  void *program = NULL;
  rlo__storage *storage = NULL;
  rlo_status status = RLO_OK;
  if (num_inputs > FEW) {
    operands = rlo__alloc_array((size_t)num_inputs, sizeof(void *));
    if (operands == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    operands[n] = inputs[n]->memory;
  }
  RLO_TRY_GOTO(need_program(plan, output, &program));
  RLO_TRY_GOTO(rlo__storage_create(
      instance, result->shape->bytes, result->shape->has_gaps, &storage));
  if (result->shape->bytes > 0) {
    RLO_TRY_GOTO(rlo__backend_instance_run(
        instance, program, operands, storage->memory));
  }
  *out_storage = storage;
  storage = NULL;
fail:
  rlo__storage_release(storage);
  if (operands != few) {
    rlo__free(operands);
  }
  return status;
}
