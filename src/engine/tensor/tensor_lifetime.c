/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/tensor_lifetime.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"

static _Thread_local int64_t balance;
/* How many calls of functions of the library this thread is in that may call
 * functions of a user's. */
static _Thread_local int32_t depth;
/* The tensors that were released within them, the last one first. */
static _Thread_local rlo_tensor *released;

void rlo__pending_release(rlo__pending *pending) {
  if (pending != NULL &&
      atomic_fetch_sub_explicit(&pending->num_references, 1, memory_order_acq_rel) == 1) {
    pending->destroy(pending);
  }
}

int64_t rlo__tensor_balance(void) {
  return balance;
}

uint64_t rlo__tensor_next_id(const rlo_engine *engine) {
  return 1 + (uint64_t)rlo__engine_counted(engine, RLO__COUNT_TENSORS_MADE);
}

/* Frees what a function of a user's can no longer return. */
static void free_released(void) {
  while (depth == 0 && released != NULL) {
    rlo_tensor *tensor = released;
    released = tensor->next_released;
    rlo__free(tensor);
  }
}

static void destroy(rlo_tensor *tensor) {
  rlo_engine *engine = tensor->engine;
  if (engine == NULL) {
    return;
  }
  rlo__usage_add(tensor->usage, RLO__USAGE_TENSORS, -1);
  while (tensor->replicas != NULL) {
    rlo__allocation *replica = tensor->replicas;
    tensor->replicas = replica->next_replica;
    rlo__allocation_release(replica);
  }
  rlo__allocation_release(tensor->allocation);
  rlo__pending_release(tensor->pending);
  rlo__shared_shape_release(engine->shapes, tensor->shape);
  rlo__mutex_deinit(&tensor->mutex);
  tensor->engine = NULL;
  tensor->next_released = released;
  released = tensor;
  free_released();
  --balance;
  rlo__engine_release(engine);
}

const char *rlo__tensor_fault(const rlo_tensor *tensor, const rlo_engine *engine) {
  return tensor == NULL             ? "NULL"
         : tensor->engine == NULL   ? "released already; a scope releases what is not kept"
         : tensor->engine != engine ? "of another engine"
                                    : NULL;
}

rlo_status rlo__tensor_create(rlo_engine *engine, rlo__shared_shape *shape,
                              rlo__allocation *allocation, rlo__pending *pending,
                              rlo_tensor **out_tensor) {
  rlo_tensor *made = rlo__alloc_unset(sizeof *made);
  if (made == NULL) {
    rlo__allocation_release(allocation);
    rlo__pending_release(pending);
    return RLO_OUT_OF_MEMORY;
  }
  assert(allocation != NULL || pending != NULL);
  *made =
      (rlo_tensor){.references = RLO__USER_REFERENCE,
                   .id = 1 + (uint64_t)rlo__engine_count(engine, RLO__COUNT_TENSORS_MADE, 1),
                   .engine = rlo__engine_retain(engine),
                   .shape = rlo__shared_shape_retain(shape),
                   .usage = (allocation != NULL ? allocation->instance : pending->instance)->usage,
                   .allocation = allocation,
                   .pending = pending};
  rlo__usage_add(made->usage, RLO__USAGE_TENSORS, 1);
  ++balance;
  rlo_status status = rlo__mutex_init(&made->mutex);
  if (status != RLO_OK) {
    destroy(made);
    return status;
  }
  *out_tensor = made;
  return RLO_OK;
}

/* ------------------------------------------------------------------- levels */

/* The scope that this thread began last and that is open. */
static _Thread_local rlo_scope *newest;

/**
 * The functions of the library, and those of users that they call, have levels:
 * a scope holds what its own level is given, and the levels within own what
 * they make. Setups of kernels and factories of backends are levels too.
 */
typedef struct scope_level {
  /** How many calls of functions of the library the thread is in that may call
   *  functions of a user's. */
  int32_t depth;
  /** The registry that the thread changes. */
  const void *change;
} scope_level;

struct rlo_scope {
  /** Retained. */
  rlo_engine *engine;
  scope_level level;
  /** The thread's scope before this one, of any engine. */
  rlo_scope *below;
  /** Guarded by the engine's scope_mutex, as are the entries of a tensor. */
  rlo__scope_entry *newest;
};

/* The level that this thread is in; `up` calls further out. */
static scope_level get_level(int32_t up) {
  return (scope_level){depth - up, rlo__registry_changing()};
}

static bool is_level(scope_level a, scope_level b) {
  return a.depth == b.depth && a.change == b.change;
}

/* Tells if a scope, which is not looked into, is open on this thread. */
static bool is_open(const rlo_scope *scope) {
  const rlo_scope *s = newest;
  while (s != NULL && s != scope) {
    s = s->below;
  }
  return s != NULL;
}

/* From `scope` on downwards, the first one of an engine and a level; NULL if
 * there is none. */
static rlo_scope *find_scope(rlo_scope *scope, const rlo_engine *engine, scope_level level) {
  while (scope != NULL && (scope->engine != engine || !is_level(scope->level, level))) {
    scope = scope->below;
  }
  return scope;
}

/* Links an entry, whose tensor is set, into a scope and the tensor's list.
 * Under the scope_mutex. */
static void link_entry(rlo__scope_entry *entry, rlo_scope *scope) {
  entry->scope = scope;
  entry->newer = NULL;
  entry->older = scope->newest;
  if (entry->older != NULL) {
    entry->older->newer = entry;
  }
  scope->newest = entry;
  entry->older_of_tensor = entry->tensor->scope_entries;
  entry->tensor->scope_entries = entry;
}

/* Unlinks it from both. */
static void unlink_entry(rlo__scope_entry *entry) {
  rlo__scope_entry **of_tensor = &entry->tensor->scope_entries;
  if (entry->newer != NULL) {
    entry->newer->older = entry->older;
  } else {
    entry->scope->newest = entry->older;
  }
  if (entry->older != NULL) {
    entry->older->newer = entry->newer;
  }
  while (*of_tensor != entry) {
    of_tensor = &(*of_tensor)->older_of_tensor;
  }
  *of_tensor = entry->older_of_tensor;
}

/* --------------------------------------------------------------- references */

static rlo_tensor *add_reference(rlo_tensor *tensor, uint64_t reference) {
  if (tensor != NULL) {
    atomic_fetch_add_explicit(&tensor->references, reference, memory_order_relaxed);
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
  if (tensor != NULL && atomic_fetch_sub_explicit(&tensor->references, RLO__ANY_REFERENCE,
                                                  memory_order_acq_rel) == RLO__ANY_REFERENCE) {
    destroy(tensor);
  }
}

/* Releases a reference that is the user's and no scope's; false if there is
 * none. */
static bool release_own(rlo_tensor *tensor) {
  uint_fast64_t count = atomic_load_explicit(&tensor->references, memory_order_relaxed);
  do {
    if (count < RLO__USER_REFERENCE) {
      return false;
    }
  } while (!atomic_compare_exchange_weak_explicit(&tensor->references, &count,
                                                  count - RLO__USER_REFERENCE, memory_order_acq_rel,
                                                  memory_order_relaxed));
  if (count == RLO__USER_REFERENCE) {
    destroy(tensor);
  }
  return true;
}

/* Tells if a scope is `within`, or was begun within it on this thread. */
static bool is_within(const rlo_scope *scope, const rlo_scope *within) {
  const rlo_scope *s = newest;
  while (s != scope && s != within) {
    s = s->below;
  }
  return s == scope;
}

/* Tells if this thread is in a scope, which is not looked into unless it is
 * open. */
static bool is_current(const rlo_scope *scope) {
  return is_open(scope) && is_level(scope->level, get_level(0));
}

/* Releases the newest reference that a scope holds: one that is within another
 * one or, with a NULL, one that the thread is in or else, without
 * `is_of_thread`, any. False if there is none. */
static bool release_of_scope(rlo_tensor *tensor, const rlo_scope *within, bool is_of_thread) {
  rlo__mutex *mutex = &tensor->engine->scope_mutex;
  rlo__mutex_lock(mutex);
  rlo__scope_entry *entry = tensor->scope_entries;
  while (entry != NULL && ((within != NULL && !is_within(entry->scope, within)) ||
                           (is_of_thread && !is_current(entry->scope)))) {
    entry = entry->older_of_tensor;
  }
  if (entry != NULL) {
    unlink_entry(entry);
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
  if (tensor == NULL || tensor->engine == NULL) {
    return;
  }
  /* One of a scope on another thread only if the caller has none of its own,
   * and releases what it has borrowed. */
  if ((newest == NULL || !release_of_scope(tensor, NULL, true)) && !release_own(tensor)) {
    (void)release_of_scope(tensor, NULL, false);
  }
}

void rlo__tensors_lend(rlo_tensor *const *tensors, int32_t count) {
  for (int32_t n = 0; n < count; ++n) {
    rlo__tensor_hold(tensors[n]);
  }
}

int32_t rlo__tensors_take_back(rlo_tensor *const *tensors, int32_t count) {
  int32_t missing = -1;
  for (int32_t n = count - 1; n >= 0; --n) {
    if (atomic_load_explicit(&tensors[n]->references, memory_order_relaxed) == RLO__ANY_REFERENCE) {
      missing = n;
      rlo_tensor_retain(tensors[n]);
    }
    rlo__tensor_drop(tensors[n]);
  }
  return missing;
}

/* Makes one reference of the user's to each tensor the scope's. NULLs are
 * passed over. RLO_OUT_OF_MEMORY: then nothing has changed. */
static rlo_status give_to_scope(rlo_scope *scope, rlo_tensor *const *tensors, int32_t count) {
  /* Linked by `older`. */
  rlo__scope_entry *entry = NULL;
  rlo__scope_entry *made = NULL;
  rlo_status status = RLO_OK;
  for (int32_t n = count - 1; n >= 0 && status == RLO_OK; --n) {
    if (tensors[n] != NULL) {
      entry = rlo__alloc_unset(sizeof *entry);
      if (entry == NULL) {
        status = RLO_OUT_OF_MEMORY;
      } else {
        *entry = (rlo__scope_entry){.tensor = tensors[n], .older = made};
        made = entry;
      }
    }
  }
  rlo__mutex_lock(&scope->engine->scope_mutex);
  while ((entry = made) != NULL) {
    made = entry->older;
    if (status == RLO_OK) {
      link_entry(entry, scope);
      atomic_fetch_sub_explicit(&entry->tensor->references,
                                RLO__USER_REFERENCE - RLO__ANY_REFERENCE, memory_order_relaxed);
    } else {
      rlo__free(entry);
    }
  }
  rlo__mutex_unlock(&scope->engine->scope_mutex);
  return status;
}

rlo_status rlo__tensor_create_for_caller(rlo_engine *engine, rlo__shared_shape *shape,
                                         rlo__allocation *allocation, rlo_tensor **out_tensor) {
  rlo_scope *scope = find_scope(newest, engine, get_level(0));
  rlo_tensor *made = NULL;
  RLO_TRY(rlo__tensor_create(engine, shape, allocation, NULL, &made));
  rlo_status status = scope != NULL ? give_to_scope(scope, &made, 1) : RLO_OK;
  if (status != RLO_OK) {
    destroy(made);
    return status;
  }
  *out_tensor = made;
  return RLO_OK;
}

void rlo__tensor_list_release(rlo_tensor **tensors, int32_t count) {
  for (int32_t n = 0; tensors != NULL && n < count; ++n) {
    rlo_tensor_release(tensors[n]);
  }
  rlo__free(tensors);
}

/* ------------------------------------------------------------------- scopes */

rlo_status rlo_scope_begin(rlo_engine *engine, rlo_scope **out_scope) {
  RLO_REQUIRE(engine, out_scope);
  rlo_scope *scope = rlo__alloc_unset(sizeof *scope);
  RLO_TRY_MEMORY(scope);
  *scope =
      (rlo_scope){.engine = rlo__engine_retain(engine), .level = get_level(0), .below = newest};
  newest = scope;
  *out_scope = scope;
  return RLO_OK;
}

/* RLO_OK for a scope that this thread may use now. One that has ended is not
 * looked into. */
static rlo_status check_scope(const rlo_scope *scope, const char *action) {
  RLO_FAIL_IF(!is_open(scope), RLO_INVALID_ARGUMENT,
              "%s: it is not open on this thread; it has ended, or another thread began it",
              action);
  return is_level(scope->level, get_level(0))
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "%s: it was begun around the call that this function is called from",
                        action);
}

/* ------------------------------------------------------------------ keeping */

rlo_status rlo_scope_keep(rlo_scope *scope, rlo_tensor *tensor) {
  RLO_REQUIRE(scope, tensor);
  RLO_TRY(check_scope(scope, "keeping a tensor of a scope"));
  const char *fault = rlo__tensor_fault(tensor, scope->engine);
  RLO_FAIL_IF(fault != NULL, RLO_INVALID_ARGUMENT, "keeping a tensor in a scope: it is %s", fault);
  /* The scope around this one gets a reference, or else the caller; that of
   * this one goes. */
  rlo_scope *outer = find_scope(scope->below, scope->engine, scope->level);
  rlo_tensor_retain(tensor);
  rlo_status status = outer != NULL ? give_to_scope(outer, &tensor, 1) : RLO_OK;
  if (status != RLO_OK) {
    (void)release_own(tensor);
    return status;
  }
  (void)release_of_scope(tensor, scope, false);
  return RLO_OK;
}

/* ------------------------------------------------------------------- ending */

static void end_scope(rlo_scope *scope) {
  rlo__mutex *mutex = &scope->engine->scope_mutex;
  rlo_scope **link = &newest;
  rlo__scope_entry *entry = NULL;
  while (*link != scope) {
    link = &(*link)->below;
  }
  *link = scope->below;
  do {
    rlo__mutex_lock(mutex);
    entry = scope->newest;
    if (entry != NULL) {
      unlink_entry(entry);
    }
    rlo__mutex_unlock(mutex);
    rlo__tensor_drop(entry != NULL ? entry->tensor : NULL);
    rlo__free(entry);
  } while (entry != NULL);
  rlo__engine_release(scope->engine);
  rlo__free(scope);
}

rlo_status rlo_scope_end(rlo_scope *scope) {
  if (scope == NULL) {
    return RLO_OK;
  }
  RLO_TRY(check_scope(scope, "ending a scope"));
  RLO_FAIL_IF(find_scope(newest, scope->engine, scope->level) != scope, RLO_INVALID_ARGUMENT,
              "ending a scope: one that was begun within it is still open; end that first");
  /* A setup or a factory may have left one open. */
  for (rlo_scope *s = newest; s != scope;) {
    rlo_scope *below = s->below;
    if (s->engine == scope->engine) {
      end_scope(s);
    }
    s = below;
  }
  end_scope(scope);
  return RLO_OK;
}

/* ------------------------------------------------- the calls of the library */

/* A scope that was begun within the call that the thread is in, at any level;
 * NULL if there is none. */
static rlo_scope *find_left_open(void) {
  return newest != NULL && newest->level.depth >= depth ? newest : NULL;
}

void rlo__scope_enter(void) {
  ++depth;
}

rlo_status rlo__scope_hand_out(rlo_engine *engine, rlo_tensor **tensors, int32_t count,
                               rlo_tensor **outputs) {
  for (int32_t n = 0; n < count; ++n) {
    RLO_FAIL_IF(tensors[n] != NULL && tensors[n]->engine == NULL, RLO_INVALID_ARGUMENT,
                "a function that this call has called released a tensor that it returned, or ended "
                "its scope without keeping it");
  }
  if (newest != NULL) {
    RLO_FAIL_IF(find_left_open() != NULL, RLO_INVALID_ARGUMENT,
                "a function that this call has called left a scope open");
    rlo_scope *scope = find_scope(newest, engine, get_level(1));
    RLO_TRY(scope != NULL ? give_to_scope(scope, tensors, count) : RLO_OK);
  }
  for (int32_t n = 0; n < count; ++n) {
    rlo_tensor *tensor = tensors[n];
    tensors[n] = NULL;
    outputs[n] = tensor;
  }
  return RLO_OK;
}

void rlo__scope_leave(void) {
  rlo_scope *scope = NULL;
  while ((scope = find_left_open()) != NULL) {
    end_scope(scope);
  }
  assert(depth > 0);
  --depth;
  free_released();
}
