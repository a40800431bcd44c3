/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/memory/backend_instance.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "engine/tensor/attributes.h"
#include "relayout/xla/bitcast.h"

/* ---------------------------------------------------------------------- key */

void rlo__call_key_init(rlo__call_key *key) {
  key->words = key->few;
  key->count = 0;
  key->capacity = sizeof key->few / sizeof key->few[0];
}

void rlo__call_key_deinit(rlo__call_key *key) {
  rlo__small_array_free(key->words, key->few);
}

rlo_status rlo__call_key_grow(rlo__call_key *key) {
  uint64_t *more = rlo__alloc_array(key->capacity * 2, sizeof *more);
  if (more == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(more, key->words, key->count * sizeof *more);
  rlo__small_array_free(key->words, key->few);
  key->words = more;
  key->capacity *= 2;
  return RLO_OK;
}

static rlo_status push_bytes(rlo__call_key *key, const char *text) {
  size_t length = strlen(text);
  RLO_TRY(rlo__call_key_push(key, length));
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, length - i < 8 ? length - i : 8);
    RLO_TRY(rlo__call_key_push(key, word));
  }
  return RLO_OK;
}

static rlo_status push_shape(rlo__shape_table *shapes,
                             rlo__call_key *key,
                             const rlo_shape *shape) {
  rlo__shared_shape *shared = NULL;
  RLO_TRY(rlo__shape_table_get(shapes, shape, &shared));
  uint64_t id = shared->id;
  /* An id is never reused: without the shape, the key matches nothing. */
  rlo__shared_shape_release(shapes, shared);
  return rlo__call_key_push(key, id);
}

static rlo_status push_attributes(rlo__shape_table *shapes,
                                  rlo__call_key *key,
                                  const rlo_attributes *attributes);

/* Value i of an attribute: what is no integer is a double. */
static rlo_status push_value(rlo__shape_table *shapes,
                             rlo__call_key *key,
                             const rlo_attribute *attribute,
                             int32_t i) {
  const bool is_list = (attribute->type & RLO_ATTRIBUTE_LIST) != 0;
  uint64_t word = 0;
  switch (attribute->type & ~(uint32_t)RLO_ATTRIBUTE_LIST) {
    case RLO_ATTRIBUTE_STRING:
      return push_bytes(
          key, is_list ? attribute->value.strings[i] : attribute->value.string);
    case RLO_ATTRIBUTE_SHAPE:
      return push_shape(shapes, key, &attribute->value.shapes[i]);
    case RLO_ATTRIBUTE_MAP:
      RLO_TRY(rlo__call_key_push(key, (uint64_t)attribute->value.map->count));
      return push_attributes(shapes, key, attribute->value.map);
    default:
      memcpy(&word,
             is_list ? &attribute->value.i64s[i] : &attribute->value.i64,
             sizeof word);
      return rlo__call_key_push(key, word);
  }
}

static rlo_status push_attributes(rlo__shape_table *shapes,
                                  rlo__call_key *key,
                                  const rlo_attributes *attributes) {
  for (int32_t i = 0; i < attributes->count; ++i) {
    const rlo_attribute *attribute = &attributes->items[i];
    RLO_TRY(push_bytes(key, attribute->name));
    const bool is_list = (attribute->type & RLO_ATTRIBUTE_LIST) != 0;
    const int32_t count = is_list ? attribute->count : 1;
    RLO_TRY(rlo__call_key_push(key, attribute->type));
    RLO_TRY(rlo__call_key_push(key, (uint64_t)count));
    for (int32_t k = 0; k < count; ++k) {
      rlo_status status = push_value(shapes, key, attribute, k);
      if (status != RLO_OK) {
        return rlo__status_prefix(status, "'%s': ", attribute->name);
      }
    }
  }
  return RLO_OK;
}

static uint64_t hash_key(const rlo__call_key *key) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i < key->count; ++i) {
    hash = (hash ^ key->words[i]) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
  }
  return hash;
}

/* -------------------------------------------------------------------- plans */

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
  rlo__shape_table *shapes = plan->plans->shapes;
  rlo__backend_instance *instance = plan->instance;
  for (int32_t k = 0; k < plan->num_outputs; ++k) {
    void *program = atomic_load(&plan->outputs[k].program);
    if (program != NULL) {
      instance->methods.release_program(instance->self, program);
    }
    rlo__shared_shape_release(shapes, plan->outputs[k].shape);
  }
  for (int32_t n = 0; n < plan->num_inputs; ++n) {
    rlo__shared_shape_release(shapes, rlo__shared_shape_of(plan->inputs[n]));
  }
  rlo_attributes_release(plan->attributes);
  rlo__free(plan);
  rlo__backend_instance_release(instance);
}

/* Creates a plan with room for its parts: all that is not set is 0 or NULL. */
static rlo_status create(rlo__call_plans *plans,
                         rlo__backend_instance *instance,
                         const rlo__call_key *key,
                         int32_t num_inputs,
                         int32_t num_outputs,
                         rlo__call_plan **out_plan) {
  const size_t key_length = key != NULL ? key->count : 0;
  rlo__call_plan *made =
      rlo__alloc(sizeof *made + (size_t)num_outputs * sizeof *made->outputs +
                 (size_t)num_inputs * sizeof *made->inputs +
                 key_length * sizeof *made->key);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&made->num_references, 1);
  made->plans = plans;
  made->instance = rlo__backend_instance_retain(instance);
  made->num_inputs = num_inputs;
  made->num_outputs = num_outputs;
  made->outputs = (rlo__call_plan_output *)(void *)(made + 1);
  made->inputs = (const rlo_shape **)(void *)(made->outputs + num_outputs);
  made->key = (uint64_t *)(void *)(made->inputs + num_inputs);
  made->key_length = key_length;
  if (key != NULL) {
    memcpy(made->key, key->words, key_length * sizeof *made->key);
  }
  *out_plan = made;
  return RLO_OK;
}

static rlo_status make_program(const rlo__call_plan *plan,
                               int32_t output,
                               void **out_program) {
  const rlo__copy_call call = {
      plan->op, plan->inputs, plan->num_inputs, plan->attributes};
  return rlo__copy_op_prepare(plan->instance,
                              &call,
                              output,
                              &plan->outputs[output].shape->shape,
                              out_program);
}

/* Threads that need it at once each make it, and keep the first. */
static rlo_status get_program(rlo__call_plan *plan,
                              int32_t output,
                              void **out_program) {
  _Atomic(void *) *place = &plan->outputs[output].program;
  void *made = NULL;
  *out_program = atomic_load_explicit(place, memory_order_acquire);
  if (*out_program != NULL) {
    return RLO_OK;
  }
  RLO_TRY(make_program(plan, output, &made));
  if (atomic_compare_exchange_strong(place, out_program, made)) {
    *out_program = made;
  } else {
    plan->instance->methods.release_program(plan->instance->self, made);
  }
  return RLO_OK;
}

/* Finds out if an operation leaves every byte where it is. */
static rlo_status is_same_place(const rlo__copy_op *op,
                                const rlo_shape *input,
                                const rlo_shape *result,
                                bool *out_is_same) {
  *out_is_same = false;
  if (!rlo__copy_op_has(op, RLO__COPY_KEEPS_ORDER)) {
    return RLO_OK;
  }
  rlo_status status =
      rlo_shape_reshape_is_bitcast(input, result, 0, out_is_same);
  /* Copying is always correct. */
  return status == RLO_UNSUPPORTED ? RLO_OK : status;
}

static rlo_status fill_in(rlo__call_plan *plan, const rlo__copy_call *call) {
  rlo_shape shape;
  RLO_TRY(rlo_attributes_clone(call->attributes, &plan->attributes));
  for (int32_t k = 0; k < plan->num_outputs; ++k) {
    rlo__call_plan_output *output = &plan->outputs[k];
    RLO_TRY(rlo__copy_op_shape(call, k, &shape));
    RLO_TRY(rlo__shape_table_get(plan->plans->shapes, &shape, &output->shape));
    RLO_TRY(is_same_place(call->op, call->inputs[0], &shape, &output->is_view));
  }
  return RLO_OK;
}

/* -------------------------------------------------------------------- cache */

rlo_status rlo__call_plans_init(rlo__call_plans *plans,
                                rlo__shape_table *shapes,
                                int32_t capacity) {
  *plans = (rlo__call_plans){
      .shapes = shapes, .capacity = (size_t)capacity, .next_id = 1};
  atomic_init(&plans->hits, 0);
  atomic_init(&plans->misses, 0);
  rlo__table_init(&plans->table, offsetof(rlo__call_plan, node));
  return rlo__mutex_init(&plans->mutex);
}

static bool has_key(const void *entry, const void *key) {
  const rlo__call_plan *plan = entry;
  const rlo__call_key *wanted = key;
  return plan->key_length == wanted->count &&
         memcmp(plan->key,
                wanted->words,
                wanted->count * sizeof *wanted->words) == 0;
}

/* Under the mutex; retained. */
static rlo__call_plan *find_locked(rlo__call_plans *plans,
                                   const rlo__call_key *key,
                                   uint64_t hash) {
  rlo__call_plan *plan = rlo__table_find(&plans->table, hash, has_key, key);
  if (plan != NULL) {
    rlo__table_touch(&plans->table, plan);
    rlo__call_plan_retain(plan);
  }
  return plan;
}

rlo__call_plan *rlo__call_plans_find(rlo__call_plans *plans,
                                     const rlo__call_key *key) {
  uint64_t hash = hash_key(key);
  rlo__mutex_lock(&plans->mutex);
  rlo__call_plan *found = find_locked(plans, key, hash);
  rlo__mutex_unlock(&plans->mutex);
  atomic_fetch_add_explicit(
      found != NULL ? &plans->hits : &plans->misses, 1, memory_order_relaxed);
  return found;
}

/* Inserts a plan and returns it; or releases it and returns the one that
 * another thread inserted under the same key meanwhile. */
static rlo__call_plan *insert(rlo__call_plans *plans,
                              const rlo__call_key *key,
                              rlo__call_plan *plan) {
  uint64_t hash = hash_key(key);
  rlo__call_plan *evicted = NULL;
  rlo__mutex_lock(&plans->mutex);
  rlo__call_plan *first = find_locked(plans, key, hash);
  if (first == NULL) {
    plan->id = plans->next_id++;
    rlo__table_insert(&plans->table, rlo__call_plan_retain(plan), hash);
    if (plans->table.count > plans->capacity) {
      evicted = rlo__table_remove_oldest(&plans->table);
    }
  }
  rlo__mutex_unlock(&plans->mutex);
  rlo__call_plan_release(first != NULL ? plan : evicted);
  return first != NULL ? first : plan;
}

void rlo__call_plans_forget(rlo__call_plans *plans,
                            const rlo__backend_instance *instance) {
  /* Linked by their nodes, which are in no table any more. */
  rlo__table_node *dropped = NULL;
  rlo__mutex_lock(&plans->mutex);
  for (rlo__call_plan *p = rlo__table_newest(&plans->table); p != NULL;) {
    rlo__call_plan *older = rlo__table_older(&plans->table, p);
    if (instance == NULL || p->instance == instance) {
      rlo__table_remove(&plans->table, p);
      p->node.next = dropped;
      dropped = &p->node;
    }
    p = older;
  }
  rlo__mutex_unlock(&plans->mutex);
  while (dropped != NULL) {
    rlo__call_plan *plan = rlo__table_entry_of(&plans->table, dropped);
    dropped = dropped->next;
    rlo__call_plan_release(plan);
  }
}

void rlo__call_plans_deinit(rlo__call_plans *plans) {
  rlo__call_plans_forget(plans, NULL);
  rlo__table_deinit(&plans->table);
  rlo__mutex_deinit(&plans->mutex);
}

/* ------------------------------------------------------------------ getting */

static rlo_status create_op(rlo__call_plans *plans,
                            rlo__backend_instance *instance,
                            const rlo__call_key *key,
                            const rlo__copy_call *call,
                            rlo__call_plan **out_plan) {
  rlo__call_plan *made = NULL;
  int32_t count = 0;
  RLO_TRY(rlo__copy_op_count(call, &count));
  RLO_TRY(create(plans, instance, key, call->num_inputs, count, &made));
  made->op = call->op;
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    made->inputs[n] = call->inputs[n];
    rlo__shared_shape_retain(rlo__shared_shape_of(call->inputs[n]));
  }
  rlo_status status = fill_in(made, call);
  if (status != RLO_OK) {
    rlo__call_plan_release(made);
    return status;
  }
  *out_plan = insert(plans, key, made);
  return RLO_OK;
}

rlo_status rlo__call_plan_get(rlo__call_plans *plans,
                              rlo__backend_instance *instance,
                              const rlo__copy_op *op,
                              const rlo_shape *const *inputs,
                              int32_t num_inputs,
                              const rlo_attributes *attributes,
                              rlo__call_plan **out_plan) {
  const rlo__copy_call call = {op, inputs, num_inputs, attributes};
  rlo__call_key key;
  rlo__call_key_init(&key);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__call_key_push(&key, (uint64_t)(uintptr_t)op));
  RLO_TRY_GOTO(rlo__call_key_push(&key, instance->id));
  RLO_TRY_GOTO(rlo__call_key_push(&key, (uint64_t)num_inputs));
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY_GOTO(rlo__call_key_push(&key, rlo__shared_shape_of(inputs[n])->id));
  }
  if (attributes != NULL) {
    status = push_attributes(plans->shapes, &key, attributes);
    if (status != RLO_OK) {
      rlo__status_prefix(status, "%s: ", op->name);
      goto fail;
    }
  }
  *out_plan = rlo__call_plans_find(plans, &key);
  if (*out_plan == NULL) {
    status = create_op(plans, instance, &key, &call, out_plan);
  }
fail:
  rlo__call_key_deinit(&key);
  return status;
}

rlo_status rlo__call_plan_create_chain(rlo__call_plans *plans,
                                       rlo__backend_instance *instance,
                                       const rlo__call_key *key,
                                       const rlo_chain *chain,
                                       rlo__shared_shape *shape,
                                       rlo__call_plan **out_plan) {
  rlo__call_plan *made = NULL;
  rlo_problem_list *problems = NULL;
  void *program = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(create(plans, instance, key, 0, 1, &made));
  made->outputs[0].shape = rlo__shared_shape_retain(shape);
  RLO_TRY_GOTO(rlo_chain_lower(chain, &shape->shape, &problems));
  RLO_TRY_GOTO(rlo__backend_instance_prepare(instance, problems, &program));
  atomic_store(&made->outputs[0].program, program);
  *out_plan = key != NULL ? insert(plans, key, made) : made;
  return RLO_OK;
fail:
  rlo__call_plan_release(made);
  return status;
}

/* ------------------------------------------------------------------ running */

rlo_status rlo__call_plan_run(rlo__call_plan *plan,
                              int32_t output,
                              rlo__allocation *const *inputs,
                              int32_t num_inputs,
                              rlo__allocation **out_allocation) {
  const rlo__call_plan_output *result = &plan->outputs[output];
  if (result->is_view) {
    *out_allocation = rlo__allocation_retain(inputs[0]);
    return RLO_OK;
  }
  rlo__backend_instance *instance = plan->instance;
  void *few[8];
  void *program = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  void **operands = RLO__SMALL_ARRAY(few, (size_t)num_inputs);
  if (operands == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    operands[n] = inputs[n]->memory;
  }
  RLO_TRY_GOTO(get_program(plan, output, &program));
  RLO_TRY_GOTO(rlo__allocation_create(
      instance, result->shape->bytes, result->shape->has_gaps, &allocation));
  if (result->shape->bytes > 0) {
    RLO_TRY_GOTO(rlo__backend_instance_run(
        instance, program, operands, allocation->memory));
  }
  *out_allocation = allocation;
  allocation = NULL;
fail:
  rlo__allocation_release(allocation);
  rlo__small_array_free(operands, few);
  return status;
}

rlo_status rlo__call_plan_run_tensors(rlo__call_plan *plan,
                                      int32_t output,
                                      rlo_tensor *const *inputs,
                                      int32_t num_inputs,
                                      rlo__allocation **out_allocation) {
  rlo__allocation *few[8];
  rlo__allocation **allocations = RLO__SMALL_ARRAY(few, (size_t)num_inputs);
  if (allocations == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY_GOTO(rlo__tensor_need(inputs[n], plan->instance, &allocations[n]));
  }
  RLO_TRY_GOTO(rlo__call_plan_run(
      plan, output, allocations, num_inputs, out_allocation));
fail:
  for (int32_t n = 0; n < num_inputs; ++n) {
    rlo__allocation_release(allocations[n]);
  }
  rlo__small_array_free(allocations, few);
  return status;
}

/* ------------------------------------------------------------ on the host */

bool rlo__fall_back(rlo_engine *engine,
                    rlo_status status,
                    rlo__backend_instance **inout_instance) {
  rlo__backend_instance *host = NULL;
  if (status != RLO_UNSUPPORTED || !engine->options.allow_host_fallback ||
      rlo__backend_get(engine->registry, RLO__HOST_BACKEND, &host) != RLO_OK) {
    return false;
  }
  if (host == *inout_instance) {
    rlo__backend_instance_release(host);
    return false;
  }
  rlo__log(&engine->log,
           RLO__LOG_INFO,
           "the host runs what backend '%s' refuses: %s",
           (*inout_instance)->name,
           rlo_error_last()->message);
  rlo__engine_count(engine, RLO__COUNT_FALLBACKS, 1);
  rlo__backend_instance_release(*inout_instance);
  *inout_instance = host;
  return true;
}

rlo_status rlo__call_plan_run_or_fall_back(rlo__call_plan *plan,
                                           int32_t output,
                                           rlo_tensor *const *inputs,
                                           int32_t num_inputs,
                                           rlo__allocation **out_allocation) {
  rlo_status status = rlo__call_plan_run_tensors(
      plan, output, inputs, num_inputs, out_allocation);
  if (status != RLO_UNSUPPORTED) {
    return status;
  }
  rlo__backend_instance *instance =
      rlo__backend_instance_retain(plan->instance);
  rlo__call_plan *on_host = NULL;
  if (!rlo__fall_back(inputs[0]->engine, status, &instance)) {
    goto fail;
  }
  RLO_TRY_GOTO(rlo__call_plan_get(plan->plans,
                                  instance,
                                  plan->op,
                                  plan->inputs,
                                  plan->num_inputs,
                                  plan->attributes,
                                  &on_host));
  RLO_TRY_GOTO(rlo__call_plan_run_tensors(
      on_host, output, inputs, num_inputs, out_allocation));
fail:
  rlo__call_plan_release(on_host);
  rlo__backend_instance_release(instance);
  return status;
}
