/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/engine.h"
#include "relayout/bitcast.h"

/* ------------------------------------------------------------------- recipes
 */

rlo__recipe *rlo__recipe_retain(rlo__recipe *recipe) {
  atomic_fetch_add_explicit(&recipe->num_references, 1, memory_order_relaxed);
  return recipe;
}

void rlo__recipe_release(rlo__recipe *recipe) {
  if (recipe == NULL ||
      atomic_fetch_sub_explicit(
          &recipe->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  rlo__shape_table *shapes = &recipe->engine->shapes;
  rlo__instance *instance = recipe->instance;
  for (int32_t k = 0; recipe->outputs != NULL && k < recipe->num_outputs; ++k) {
    void *program = atomic_load(&recipe->outputs[k].program);
    if (program != NULL) {
      instance->methods.release_program(instance->self, program);
    }
    rlo__shared_shape_release(shapes, recipe->outputs[k].shape);
  }
  for (int32_t n = 0; recipe->inputs != NULL && n < recipe->num_inputs; ++n) {
    rlo__shared_shape_release(shapes, recipe->inputs[n]);
  }
  if (recipe->has_mutex) {
    rlo__mutex_deinit(&recipe->mutex);
  }
  rlo_attributes_release(recipe->attributes);
  rlo__free(recipe->outputs);
  rlo__free(recipe->inputs);
  rlo__free(recipe->words);
  rlo__instance_release(instance);
  rlo__free(recipe);
}

/* A recipe with room for its parts. */
static rlo_status create(rlo_engine *engine,
                         rlo__instance *instance,
                         const rlo__words *words,
                         int32_t num_inputs,
                         int32_t num_outputs,
                         rlo__recipe **out_recipe) {
  rlo__recipe *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&made->num_references, 1);
  made->engine = engine;
  made->instance = rlo__instance_retain(instance);
  made->num_inputs = num_inputs;
  made->num_outputs = num_outputs;
  rlo_status status = rlo__mutex_init(&made->mutex);
  made->has_mutex = status == RLO_OK;
  made->inputs =
      rlo__alloc_array((size_t)num_inputs + 1, sizeof(rlo__shared_shape *));
  made->outputs = rlo__alloc_array((size_t)num_outputs, sizeof *made->outputs);
  if (words != NULL) {
    made->num_words = words->count;
    made->words = rlo__alloc_array((size_t)words->count, sizeof *made->words);
  }
  if (status != RLO_OK || made->inputs == NULL || made->outputs == NULL ||
      (words != NULL && made->words == NULL)) {
    rlo__recipe_release(made);
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t k = 0; k < num_outputs; ++k) {
    atomic_init(&made->outputs[k].program, NULL);
  }
  if (words != NULL) {
    memcpy(made->words,
           rlo__words_data(words),
           (size_t)words->count * sizeof *made->words);
    made->hash = rlo__words_hash(made->words, made->num_words);
  }
  *out_recipe = made;
  return RLO_OK;
}

static rlo_status prepare(const rlo__instance *instance,
                          const rlo_chain *chain,
                          const rlo_shape *shape,
                          void **out_program) {
  rlo_moves *moves = NULL;
  RLO_TRY(rlo_chain_lower(chain, shape, &moves));
  return rlo__instance_prepare(instance, moves, out_program);
}

static rlo_status make_program(rlo__recipe *recipe,
                               int32_t output,
                               void **out_program) {
  const rlo__move *move = recipe->move;
  const rlo_shape *dst = &recipe->outputs[output].shape->shape;
  int32_t count = recipe->num_inputs;
  rlo_moves *moves = NULL;
  rlo_status status = RLO_OK;
  const rlo_shape **shapes =
      rlo__alloc_array((size_t)count, sizeof(rlo_shape *));
  if (shapes == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < count; ++n) {
    shapes[n] = &recipe->inputs[n]->shape;
  }
  const rlo__move_call call = {move, shapes, count, recipe->attributes};
  if (move->append != NULL) {
    RLO_TRY_GOTO(rlo__move_lower(&call, output, dst, &moves));
    status = rlo__instance_prepare(recipe->instance, moves, out_program);
  } else {
    status = move->prepare(recipe->instance, &call, dst, out_program);
    if (status != RLO_OK) {
      status = rlo__status_prefix(status, "%s: ", move->name);
    }
  }
fail:
  rlo__free(shapes);
  return status;
}

static rlo_status need_program(rlo__recipe *recipe,
                               int32_t output,
                               void **out_program) {
  _Atomic(void *) *place = &recipe->outputs[output].program;
  *out_program = atomic_load_explicit(place, memory_order_acquire);
  if (*out_program != NULL) {
    return RLO_OK;
  }
  rlo_status status = RLO_OK;
  rlo__mutex_lock(&recipe->mutex);
  *out_program = atomic_load_explicit(place, memory_order_relaxed);
  if (*out_program == NULL) {
    status = make_program(recipe, output, out_program);
    if (status == RLO_OK) {
      atomic_store_explicit(place, *out_program, memory_order_release);
    }
  }
  rlo__mutex_unlock(&recipe->mutex);
  return status;
}

/* Whether a move that keeps the order of elements also keeps their places. */
static rlo_status is_same_place(const rlo__move *move,
                                const rlo_shape *input,
                                const rlo_shape *result,
                                bool *out_is_same) {
  *out_is_same = false;
  if (!move->keeps_order) {
    return RLO_OK;
  }
  rlo_status status =
      rlo_shape_reshape_is_bitcast(input, result, 0, out_is_same);
  /* Where it is not known, moving is right. */
  return status == RLO_UNSUPPORTED ? RLO_OK : status;
}

static rlo_status fill_in(rlo__recipe *recipe, const rlo__move_call *call) {
  rlo_shape shape;
  RLO_TRY(rlo_attributes_clone(call->attributes, &recipe->attributes));
  for (int32_t k = 0; k < recipe->num_outputs; ++k) {
    rlo__recipe_output *output = &recipe->outputs[k];
    RLO_TRY(rlo__move_shape(call, k, &shape));
    RLO_TRY(
        rlo__shape_table_get(&recipe->engine->shapes, &shape, &output->shape));
    RLO_TRY(
        is_same_place(call->move, call->inputs[0], &shape, &output->is_view));
  }
  return RLO_OK;
}

static rlo_status make_move(rlo_engine *engine,
                            rlo__instance *instance,
                            const rlo__words *words,
                            const rlo__move *move,
                            rlo__shared_shape *const *inputs,
                            int32_t num_inputs,
                            const rlo_attributes *attributes,
                            rlo__recipe **out_recipe) {
  rlo__recipe *made = NULL;
  const rlo_shape **shapes =
      rlo__alloc_array((size_t)num_inputs, sizeof(rlo_shape *));
  if (shapes == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    shapes[n] = &inputs[n]->shape;
  }
  const rlo__move_call call = {move, shapes, num_inputs, attributes};
  int32_t count = 0;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__move_count(&call, &count));
  RLO_TRY_GOTO(create(engine, instance, words, num_inputs, count, &made));
  made->move = move;
  for (int32_t n = 0; n < num_inputs; ++n) {
    made->inputs[n] = rlo__shared_shape_retain(inputs[n]);
  }
  RLO_TRY_GOTO(fill_in(made, &call));
  *out_recipe = rlo__recipe_keep(made);
  rlo__free(shapes);
  return RLO_OK;
fail:
  rlo__free(shapes);
  rlo__recipe_release(made);
  return status;
}

rlo_status rlo__recipe_get(rlo_engine *engine,
                           rlo__instance *instance,
                           const rlo__move *move,
                           rlo__shared_shape *const *inputs,
                           int32_t num_inputs,
                           const rlo_attributes *attributes,
                           rlo__recipe **out_recipe) {
  rlo__words words;
  rlo__words_init(&words);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__words_push(&words, (uint64_t)(uintptr_t)move));
  RLO_TRY_GOTO(rlo__words_push(&words, instance->id));
  RLO_TRY_GOTO(rlo__words_push(&words, (uint64_t)num_inputs));
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY_GOTO(rlo__words_push(&words, inputs[n]->id));
  }
  for (int32_t i = 0; attributes != NULL && i < attributes->count; ++i) {
    status = rlo__words_push_attribute(engine, &words, &attributes->items[i]);
    if (status != RLO_OK) {
      rlo__status_prefix(status, "%s: ", move->name);
      goto fail;
    }
  }
  *out_recipe = rlo__recipe_find(engine, &words);
  if (*out_recipe == NULL) {
    status = make_move(engine,
                       instance,
                       &words,
                       move,
                       inputs,
                       num_inputs,
                       attributes,
                       out_recipe);
  }
fail:
  rlo__words_deinit(&words);
  return status;
}

static rlo_status make_chain(rlo_engine *engine,
                             rlo__instance *instance,
                             const rlo__words *words,
                             const rlo_chain *chain,
                             rlo__shared_shape *shape,
                             rlo__recipe **out_recipe) {
  rlo__recipe *made = NULL;
  void *program = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(create(engine, instance, words, 0, 1, &made));
  made->outputs[0].shape = rlo__shared_shape_retain(shape);
  RLO_TRY_GOTO(prepare(instance, chain, &shape->shape, &program));
  atomic_store(&made->outputs[0].program, program);
  *out_recipe = made;
  return RLO_OK;
fail:
  rlo__recipe_release(made);
  return status;
}

rlo_status rlo__recipe_put_chain(rlo_engine *engine,
                                 rlo__instance *instance,
                                 const rlo__words *words,
                                 const rlo_chain *chain,
                                 rlo__shared_shape *shape,
                                 rlo__recipe **out_recipe) {
  rlo__recipe *made = NULL;
  RLO_TRY(make_chain(engine, instance, words, chain, shape, &made));
  *out_recipe = rlo__recipe_keep(made);
  return RLO_OK;
}

rlo_status rlo__recipe_of_chain(rlo_engine *engine,
                                rlo__instance *instance,
                                const rlo_chain *chain,
                                rlo__shared_shape *shape,
                                rlo__recipe **out_recipe) {
  return make_chain(engine, instance, NULL, chain, shape, out_recipe);
}

rlo_status rlo__recipe_run(rlo__recipe *recipe,
                           int32_t output,
                           rlo__storage *const *inputs,
                           int32_t num_inputs,
                           rlo__storage **out_storage) {
  enum { FEW = 8 };

  const rlo__recipe_output *result = &recipe->outputs[output];
  if (result->is_view) {
    *out_storage = rlo__storage_retain(inputs[0]);
    return RLO_OK;
  }
  rlo__instance *instance = recipe->instance;
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
  RLO_TRY_GOTO(need_program(recipe, output, &program));
  RLO_TRY_GOTO(rlo__storage_create(
      instance, result->shape->bytes, result->shape->has_gaps, &storage));
  if (result->shape->bytes > 0) {
    RLO_TRY_GOTO(
        rlo__instance_run(instance, program, operands, storage->memory));
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
