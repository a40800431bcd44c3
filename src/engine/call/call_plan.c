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

static rlo_status hash_attributes(rlo__shape_table *shapes, const rlo_attributes *attributes,
                                  rlo__hash *hash);

static rlo_status hash_shape(rlo__shape_table *shapes, const rlo_shape *shape, rlo__hash *hash) {
  rlo__shared_shape *shared = NULL;
  RLO_TRY(rlo__shape_table_get(shapes, shape, &shared));
  rlo__hash_u64(hash, shared->id);
  /* An id is never reused: without the shape, the key matches nothing. */
  rlo__shared_shape_release(shapes, shared);
  return RLO_OK;
}

/* Adds value i of an attribute: what is no integer is a double. */
static rlo_status hash_value(rlo__shape_table *shapes, const rlo_attribute *attribute, int32_t i,
                             rlo__hash *hash) {
  const bool is_list = (attribute->type & RLO_ATTRIBUTE_LIST) != 0;
  uint64_t word = 0;
  switch (attribute->type & ~(uint32_t)RLO_ATTRIBUTE_LIST) {
    case RLO_ATTRIBUTE_STRING:
      rlo__hash_string(hash, is_list ? attribute->value.strings[i] : attribute->value.string);
      return RLO_OK;
    case RLO_ATTRIBUTE_SHAPE:
      return hash_shape(shapes, &attribute->value.shapes[i], hash);
    case RLO_ATTRIBUTE_MAP:
      rlo__hash_i64(hash, attribute->value.map->count);
      return hash_attributes(shapes, attribute->value.map, hash);
    default:
      memcpy(&word, is_list ? &attribute->value.i64s[i] : &attribute->value.i64, sizeof word);
      rlo__hash_u64(hash, word);
      return RLO_OK;
  }
}

static rlo_status hash_attributes(rlo__shape_table *shapes, const rlo_attributes *attributes,
                                  rlo__hash *hash) {
  for (int32_t n = 0; attributes != NULL && n < attributes->count; ++n) {
    const rlo_attribute *item = &attributes->items[n];
    const bool is_list = (item->type & RLO_ATTRIBUTE_LIST) != 0;
    const int32_t count = is_list ? item->count : 1;
    rlo__hash_string(hash, item->name);
    rlo__hash_u64(hash, (uint64_t)item->type << 32 | (uint32_t)count);
    for (int32_t i = 0; i < count; ++i) {
      RLO_TRY(rlo__status_prefix(hash_value(shapes, item, i, hash), "'%s': ", item->name));
    }
  }
  return RLO_OK;
}

/* -------------------------------------------------------------------- plans */

rlo__call_plan *rlo__call_plan_retain(rlo__call_plan *plan) {
  atomic_fetch_add_explicit(&plan->num_references, 1, memory_order_relaxed);
  return plan;
}

void rlo__call_plan_release(rlo__call_plan *plan) {
  if (plan == NULL ||
      atomic_fetch_sub_explicit(&plan->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  rlo__backend_instance *instance = plan->instance;
  for (int32_t k = 0; k < plan->num_outputs; ++k) {
    void *program = atomic_load(&plan->outputs[k].program);
    if (program != NULL) {
      instance->methods.release_program(instance->self, program);
    }
    rlo__shared_shape_release(plan->plans->shapes, plan->outputs[k].shape);
  }
  for (int32_t n = 0; n < plan->call.num_inputs; ++n) {
    rlo__shared_shape_release(plan->plans->shapes, rlo__shared_shape_of(plan->call.inputs[n]));
  }
  rlo_attributes_release(plan->attributes);
  rlo__free(plan);
  rlo__backend_instance_release(instance);
}

/* Creates a plan with room for its parts: all that is not set is 0 or NULL. */
static rlo_status create(rlo__call_plans *plans, rlo__backend_instance *instance,
                         int32_t num_inputs, int32_t num_outputs, rlo__call_plan **out_plan) {
  rlo__call_plan *made = rlo__alloc(sizeof *made + (size_t)num_outputs * sizeof *made->outputs +
                                    (size_t)num_inputs * sizeof(rlo_shape *));
  RLO_TRY_MEMORY(made);
  *made = (rlo__call_plan){.num_references = 1,
                           .plans = plans,
                           .instance = rlo__backend_instance_retain(instance),
                           .num_outputs = num_outputs,
                           .outputs = (rlo__call_plan_output *)(void *)(made + 1)};
  *out_plan = made;
  return RLO_OK;
}

/* Threads that need it at once each make it, and keep the first. */
static rlo_status get_program(rlo__call_plan *plan, int32_t output, void **out_program) {
  _Atomic(void *) *place = &plan->outputs[output].program;
  rlo_problem_list *problems = NULL;
  rlo_segment_sum *sum = NULL;
  void *made = NULL;
  *out_program = atomic_load_explicit(place, memory_order_acquire);
  if (*out_program != NULL) {
    return RLO_OK;
  }
  RLO_TRY(rlo__copy_op_lower(&plan->call, output, &plan->outputs[output].shape->shape, &problems,
                             &sum));
  RLO_TRY(rlo__backend_instance_prepare(plan->instance, problems, sum, &made));
  if (atomic_compare_exchange_strong(place, out_program, made)) {
    *out_program = made;
  } else {
    plan->instance->methods.release_program(plan->instance->self, made);
  }
  return RLO_OK;
}

/* Finds out if an operation leaves every byte where it is. */
static rlo_status is_same_place(const rlo__copy_op *op, const rlo_shape *input,
                                const rlo_shape *result, bool *out_is_same) {
  *out_is_same = false;
  if (!rlo__copy_op_has(op, RLO__COPY_KEEPS_ORDER)) {
    return RLO_OK;
  }
  rlo_status status = rlo_shape_reshape_is_bitcast(input, result, 0, out_is_same);
  /* Copying is always correct. */
  return status == RLO_UNSUPPORTED ? RLO_OK : status;
}

/* -------------------------------------------------------------------- cache */

rlo_status rlo__call_plans_init(rlo__call_plans *plans, rlo__shape_table *shapes,
                                int32_t capacity) {
  *plans = (rlo__call_plans){.shapes = shapes, .capacity = (size_t)capacity};
  rlo__table_init(&plans->table, offsetof(rlo__call_plan, node));
  return rlo__mutex_init(&plans->mutex);
}

static bool has_key(const void *entry, const void *key) {
  const rlo__call_plan *plan = entry;
  return rlo__hash128_is_equal(plan->key, *(const rlo__hash128 *)key);
}

/* Under the mutex; retained. */
static rlo__call_plan *find_locked(rlo__call_plans *plans, rlo__hash128 key) {
  rlo__call_plan *plan = rlo__table_find(&plans->table, key.low, has_key, &key);
  if (plan != NULL) {
    rlo__table_touch(&plans->table, plan);
    rlo__call_plan_retain(plan);
  }
  return plan;
}

rlo__call_plan *rlo__call_plans_find(rlo__call_plans *plans, rlo__hash128 key) {
  rlo__mutex_lock(&plans->mutex);
  rlo__call_plan *found = find_locked(plans, key);
  rlo__mutex_unlock(&plans->mutex);
  atomic_fetch_add_explicit(found != NULL ? &plans->hits : &plans->misses, 1, memory_order_relaxed);
  return found;
}

/* Inserts a plan and returns it; or releases it and returns the one that
 * another thread inserted under the same key meanwhile. */
static rlo__call_plan *insert(rlo__call_plans *plans, rlo__hash128 key, rlo__call_plan *plan) {
  rlo__call_plan *evicted = NULL;
  rlo__mutex_lock(&plans->mutex);
  rlo__call_plan *first = find_locked(plans, key);
  if (first == NULL) {
    plan->key = key;
    rlo__table_insert(&plans->table, rlo__call_plan_retain(plan), key.low);
    if (plans->table.count > plans->capacity) {
      evicted = rlo__table_remove_oldest(&plans->table);
    }
  }
  rlo__mutex_unlock(&plans->mutex);
  rlo__call_plan_release(first != NULL ? plan : evicted);
  return first != NULL ? first : plan;
}

void rlo__call_plans_forget(rlo__call_plans *plans, const rlo__backend_instance *instance) {
  rlo__call_plan *plan = NULL;
  do {
    rlo__mutex_lock(&plans->mutex);
    plan = rlo__table_newest(&plans->table);
    while (plan != NULL && plan->instance != instance) {
      plan = rlo__table_older(&plans->table, plan);
    }
    if (plan != NULL) {
      rlo__table_remove(&plans->table, plan);
    }
    rlo__mutex_unlock(&plans->mutex);
    rlo__call_plan_release(plan);
  } while (plan != NULL);
}

void rlo__call_plans_deinit(rlo__call_plans *plans) {
  rlo__call_plan *plan = NULL;
  while ((plan = rlo__table_remove_oldest(&plans->table)) != NULL) {
    rlo__call_plan_release(plan);
  }
  rlo__table_deinit(&plans->table);
  rlo__mutex_deinit(&plans->mutex);
}

/* ------------------------------------------------------------------ getting */

/* Sets the results, for which the plan has room. */
static rlo_status set_outputs(rlo__call_plan *plan) {
  const rlo__copy_call *call = &plan->call;
  rlo_shape shape;
  for (int32_t k = 0; k < plan->num_outputs; ++k) {
    rlo__call_plan_output *output = &plan->outputs[k];
    RLO_TRY(rlo__copy_op_shape(call, k, &shape));
    RLO_TRY(rlo__shape_table_get(plan->plans->shapes, &shape, &output->shape));
    RLO_TRY(is_same_place(call->op, call->inputs[0], &shape, &output->is_view));
  }
  return RLO_OK;
}

static rlo_status create_op(rlo__call_plans *plans, rlo__backend_instance *instance,
                            rlo__hash128 key, const rlo__copy_call *call,
                            rlo__call_plan **out_plan) {
  rlo__call_plan *made = NULL;
  int32_t count = 0;
  RLO_TRY(rlo__copy_op_count(call, &count));
  RLO_TRY(create(plans, instance, call->num_inputs, count, &made));
  const rlo_shape **inputs = (const rlo_shape **)(void *)(made->outputs + count);
  made->call = *call;
  made->call.inputs = inputs;
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    inputs[n] = call->inputs[n];
    rlo__shared_shape_retain(rlo__shared_shape_of(inputs[n]));
  }
  rlo_status status = rlo_attributes_clone(call->attributes, &made->attributes);
  made->call.attributes = made->attributes;
  if (status == RLO_OK) {
    status = set_outputs(made);
  }
  if (status != RLO_OK) {
    rlo__call_plan_release(made);
    return status;
  }
  *out_plan = insert(plans, key, made);
  return RLO_OK;
}

rlo_status rlo__call_plan_get(rlo__call_plans *plans, rlo__backend_instance *instance,
                              const rlo__copy_call *call, rlo__call_plan **out_plan) {
  rlo__hash hash = rlo__hash_init((uint64_t)(uintptr_t)call->op);
  rlo__hash_u64(&hash, instance->id << 32 | (uint32_t)call->num_inputs);
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    rlo__hash_u64(&hash, rlo__shared_shape_of(call->inputs[n])->id);
  }
  RLO_TRY(rlo__status_prefix(hash_attributes(plans->shapes, call->attributes, &hash),
                             "%s: ", call->op->name));
  const rlo__hash128 key = rlo__hash_finish(&hash);
  *out_plan = rlo__call_plans_find(plans, key);
  return *out_plan != NULL ? RLO_OK : create_op(plans, instance, key, call, out_plan);
}

rlo_status rlo__call_plan_create_chain(rlo__call_plans *plans, rlo__backend_instance *instance,
                                       const rlo__hash128 *key, const rlo_chain *chain,
                                       rlo__shared_shape *shape, rlo__call_plan **out_plan) {
  rlo__call_plan *made = NULL;
  rlo_problem_list *problems = NULL;
  void *program = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(create(plans, instance, 0, 1, &made));
  made->outputs[0].shape = rlo__shared_shape_retain(shape);
  RLO_TRY_GOTO(rlo_chain_lower(chain, &shape->shape, &problems));
  RLO_TRY_GOTO(rlo__backend_instance_prepare(instance, problems, NULL, &program));
  atomic_store(&made->outputs[0].program, program);
  *out_plan = key != NULL ? insert(plans, *key, made) : made;
  return RLO_OK;
fail:
  rlo__call_plan_release(made);
  return status;
}

/* ------------------------------------------------------------------ running */

rlo_status rlo__call_plan_run(rlo__call_plan *plan, int32_t output, rlo__allocation *const *inputs,
                              int32_t num_inputs, rlo__allocation **out_allocation) {
  const rlo__call_plan_output *result = &plan->outputs[output];
  if (result->is_view) {
    *out_allocation = rlo__allocation_retain(inputs[0]);
    return RLO_OK;
  }
  void *few[8];
  void *program = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  void **operands = RLO__SMALL_ARRAY(few, (size_t)num_inputs);
  RLO_TRY_MEMORY(operands);
  for (int32_t n = 0; n < num_inputs; ++n) {
    operands[n] = inputs[n]->memory;
  }
  RLO_TRY_GOTO(get_program(plan, output, &program));
  RLO_TRY_GOTO(rlo__allocation_create(plan->instance, result->shape->bytes, result->shape->has_gaps,
                                      NULL, &allocation));
  if (result->shape->bytes > 0) {
    RLO_TRY_GOTO(rlo__backend_instance_run(plan->instance, program, operands, allocation->memory));
  }
  *out_allocation = allocation;
  allocation = NULL;
fail:
  rlo__allocation_release(allocation);
  rlo__small_array_free(operands, few);
  return status;
}

rlo_status rlo__call_plan_run_tensors(rlo__call_plan *plan, int32_t output,
                                      rlo_tensor *const *inputs, int32_t num_inputs,
                                      rlo__allocation **out_allocation) {
  rlo__allocation *few[8];
  rlo__allocation **allocations = RLO__SMALL_ARRAY(few, (size_t)num_inputs);
  RLO_TRY_MEMORY(allocations);
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY_GOTO(rlo__tensor_need(inputs[n], plan->instance, &allocations[n]));
  }
  RLO_TRY_GOTO(rlo__call_plan_run(plan, output, allocations, num_inputs, out_allocation));
fail:
  for (int32_t n = 0; n < num_inputs; ++n) {
    rlo__allocation_release(allocations[n]);
  }
  rlo__small_array_free(allocations, few);
  return status;
}

/* ------------------------------------------------------------ on the host */

bool rlo__fall_back(rlo_engine *engine, rlo_status status, rlo__backend_instance **inout_instance) {
  rlo__backend_instance *host = NULL;
  if (status != RLO_UNSUPPORTED || !engine->options.allow_host_fallback ||
      strcmp((*inout_instance)->name, RLO__HOST_BACKEND) == 0 ||
      rlo__backend_get(engine->registry, RLO__HOST_BACKEND, &host) != RLO_OK) {
    return false;
  }
  rlo__log(&engine->log, RLO__LOG_INFO, "the host runs what backend '%s' refuses: %s",
           (*inout_instance)->name, rlo_error_last()->message);
  rlo__engine_count(engine, RLO__COUNT_FALLBACKS, 1);
  rlo__backend_instance_release(*inout_instance);
  *inout_instance = host;
  return true;
}

rlo_status rlo__call_plan_run_or_fall_back(rlo__call_plan *plan, int32_t output,
                                           rlo_tensor *const *inputs, int32_t num_inputs,
                                           rlo__allocation **out_allocation) {
  rlo_status status = rlo__call_plan_run_tensors(plan, output, inputs, num_inputs, out_allocation);
  if (status != RLO_UNSUPPORTED) {
    return status;
  }
  rlo__backend_instance *instance = rlo__backend_instance_retain(plan->instance);
  rlo__call_plan *on_host = NULL;
  if (!rlo__fall_back(inputs[0]->engine, status, &instance)) {
    goto fail;
  }
  RLO_TRY_GOTO(rlo__call_plan_get(plan->plans, instance, &plan->call, &on_host));
  RLO_TRY_GOTO(rlo__call_plan_run_tensors(on_host, output, inputs, num_inputs, out_allocation));
fail:
  rlo__call_plan_release(on_host);
  rlo__backend_instance_release(instance);
  return status;
}
