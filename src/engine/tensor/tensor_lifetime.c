/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/tensor_lifetime.h"

#include "base/alloc.h"
#include "base/status.h"
#include "engine/parts.h"

static _Thread_local int64_t balance;

void rlo__pending_release(rlo__pending pending) {
  if (pending.ops != NULL) {
    pending.ops->release(pending.state);
  }
}

int64_t rlo__tensor_balance(void) {
  return balance;
}

uint64_t rlo__tensor_next_id(const rlo_engine *engine) {
  return 1 + (uint64_t)atomic_load_explicit(&engine->counters.tensors_made,
                                            memory_order_relaxed);
}

rlo_status rlo__tensor_create(rlo_engine *engine,
                              rlo__shared_shape *shape,
                              rlo__allocation *allocation,
                              rlo__pending pending,
                              rlo_tensor **out_tensor) {
  rlo_tensor *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = rlo__mutex_init(&made->mutex);
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  atomic_init(&made->references, RLO__USER_REFERENCE);
  made->id = 1 + (uint64_t)atomic_fetch_add_explicit(
                     &engine->counters.tensors_made, 1, memory_order_relaxed);
  made->engine = rlo__engine_retain(engine);
  made->shape = rlo__shared_shape_retain(shape);
  made->allocation = allocation;
  made->pending = pending;
  made->usage = allocation != NULL
                    ? allocation->instance->usage
                    : pending.ops->instance(pending.state)->usage;
  rlo__usage_add(made->usage, RLO__USAGE_TENSORS, 1);
  ++balance;
  *out_tensor = made;
  return RLO_OK;
}

static void destroy(rlo_tensor *tensor) {
  rlo_engine *engine = tensor->engine;
  rlo__usage_add(tensor->usage, RLO__USAGE_TENSORS, -1);
  while (tensor->replicas != NULL) {
    rlo__replica *replica = tensor->replicas;
    tensor->replicas = replica->next;
    rlo__allocation_release(replica->allocation);
    rlo__free(replica);
  }
  rlo__allocation_release(tensor->allocation);
  rlo__pending_release(tensor->pending);
  rlo__shared_shape_release(engine->shapes, tensor->shape);
  rlo__mutex_deinit(&tensor->mutex);
  rlo__free(tensor);
  --balance;
  rlo__engine_release(engine);
}

/* --------------------------------------------------------------- references */

static rlo_tensor *add_reference(rlo_tensor *tensor, uint64_t reference) {
  if (tensor != NULL) {
    atomic_fetch_add_explicit(
        &tensor->references, reference, memory_order_relaxed);
  }
  return tensor;
}

rlo_tensor *rlo_tensor_retain(rlo_tensor *tensor) {
  return add_reference(tensor, RLO__USER_REFERENCE);
}

rlo_tensor *rlo__tensor_hold(rlo_tensor *tensor) {
  return add_reference(tensor, RLO__ANY_REFERENCE);
}

void rlo__tensor_drop(rlo_tensor *tensor) {
  if (tensor != NULL &&
      atomic_fetch_sub_explicit(&tensor->references,
                                RLO__ANY_REFERENCE,
                                memory_order_acq_rel) == RLO__ANY_REFERENCE) {
    destroy(tensor);
  }
}

bool rlo__tensor_release_own(rlo_tensor *tensor) {
  uint_fast64_t count =
      atomic_load_explicit(&tensor->references, memory_order_relaxed);
  do {
    if (count < RLO__USER_REFERENCE) {
      return false;
    }
  } while (!atomic_compare_exchange_weak_explicit(&tensor->references,
                                                  &count,
                                                  count - RLO__USER_REFERENCE,
                                                  memory_order_acq_rel,
                                                  memory_order_relaxed));
  if (count == RLO__USER_REFERENCE) {
    destroy(tensor);
  }
  return true;
}

/* Takes the newest reference out of a scope that a thread is in or, without
 * `is_of_thread`, out of any. False if there is none. */
static bool release_of_scope(rlo_tensor *tensor, bool is_of_thread) {
  rlo__mutex *mutex = &tensor->engine->scope_mutex;
  rlo__mutex_lock(mutex);
  rlo__scope_entry *entry = tensor->scope_entries;
  while (is_of_thread && entry != NULL &&
         !rlo__scope_is_current(entry->scope)) {
    entry = entry->older_of_tensor;
  }
  if (entry != NULL) {
    rlo__scope_entry_unlink(entry, &tensor->scope_entries);
  }
  rlo__mutex_unlock(mutex);
  if (entry == NULL) {
    return false;
  }
  rlo__free(entry);
  rlo__tensor_drop(tensor);
  return true;
}

void rlo_tensor_release(rlo_tensor *tensor) {
  if (tensor == NULL) {
    return;
  }
  /* One of a scope on another thread only if the caller has none of its own,
   * and releases what it has borrowed. */
  if ((rlo__scope_stack_newest() == NULL || !release_of_scope(tensor, true)) &&
      !rlo__tensor_release_own(tensor)) {
    (void)release_of_scope(tensor, false);
  }
}

void rlo__tensor_give_to_user(rlo_tensor *tensor) {
  atomic_fetch_add_explicit(&tensor->references,
                            RLO__USER_REFERENCE - RLO__ANY_REFERENCE,
                            memory_order_relaxed);
}

/* A list of entries, linked by `older`; NULL for 0 or if there is no memory. */
static rlo__scope_entry *make_entries(int32_t count) {
  rlo__scope_entry *made = NULL;
  for (int32_t n = 0; n < count; ++n) {
    rlo__scope_entry *entry = rlo__alloc(sizeof *entry);
    if (entry == NULL) {
      while (made != NULL) {
        rlo__scope_entry *older = made->older;
        rlo__free(made);
        made = older;
      }
      return NULL;
    }
    entry->older = made;
    made = entry;
  }
  return made;
}

/* `entries` is one for each tensor that is not NULL. */
static void give(rlo_scope *scope,
                 rlo_tensor *const *tensors,
                 int32_t count,
                 rlo__scope_entry *entries) {
  rlo__mutex_lock(&scope->engine->scope_mutex);
  for (int32_t n = 0; n < count; ++n) {
    rlo_tensor *tensor = tensors[n];
    if (tensor != NULL) {
      rlo__scope_entry *entry = entries;
      entries = entry->older;
      entry->tensor = tensor;
      rlo__scope_entry_link(entry, scope, &tensor->scope_entries);
      atomic_fetch_sub_explicit(&tensor->references,
                                RLO__USER_REFERENCE - RLO__ANY_REFERENCE,
                                memory_order_relaxed);
    }
  }
  rlo__mutex_unlock(&scope->engine->scope_mutex);
}

rlo_status rlo__tensor_give_to_scope(rlo_scope *scope,
                                     rlo_tensor *const *tensors,
                                     int32_t count) {
  int32_t num_given = 0;
  for (int32_t n = 0; n < count; ++n) {
    num_given += tensors[n] != NULL;
  }
  rlo__scope_entry *entries = make_entries(num_given);
  if (entries == NULL && num_given > 0) {
    return RLO_OUT_OF_MEMORY;
  }
  give(scope, tensors, count, entries);
  return RLO_OK;
}

rlo_status rlo__tensor_create_for_caller(rlo_engine *engine,
                                         rlo__shared_shape *shape,
                                         rlo__allocation *allocation,
                                         rlo__pending pending,
                                         rlo_tensor **out_tensor) {
  rlo_scope *scope = rlo__scope_find(
      rlo__scope_stack_newest(), engine, rlo__scope_stack_level(0));
  rlo__scope_entry *entry = NULL;
  if (scope != NULL) {
    entry = make_entries(1);
    if (entry == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  rlo_status status =
      rlo__tensor_create(engine, shape, allocation, pending, out_tensor);
  if (status == RLO_OK && scope != NULL) {
    give(scope, out_tensor, 1, entry);
  } else {
    rlo__free(entry);
  }
  return status;
}

void rlo__tensor_list_release(rlo_tensor **tensors, int32_t count) {
  for (int32_t n = 0; tensors != NULL && n < count; ++n) {
    rlo_tensor_release(tensors[n]);
  }
  rlo__free(tensors);
}

void rlo__tensor_list_drop(rlo_tensor **tensors, int32_t count) {
  for (int32_t n = 0; tensors != NULL && n < count; ++n) {
    rlo__tensor_drop(tensors[n]);
  }
  rlo__free(tensors);
}
