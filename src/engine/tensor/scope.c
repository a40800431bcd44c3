/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/scope.h"

#include "base/alloc.h"
#include "base/status.h"
#include "engine/parts.h"
#include "engine/tensor/tensor_lifetime.h"

rlo_status rlo_scope_begin(rlo_engine *engine, rlo_scope **out_scope) {
  RLO_REQUIRE(engine, out_scope);
  rlo_scope *scope = rlo__alloc(sizeof *scope);
  if (scope == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  scope->engine = rlo__engine_retain(engine);
  scope->level = rlo__scope_stack_level(0);
  rlo__scope_stack_push(scope);
  *out_scope = scope;
  return RLO_OK;
}

/* RLO_OK for a scope that this thread may use now. One that has ended is not
 * looked into. */
static rlo_status check_scope(const rlo_scope *scope, const char *action) {
  const rlo_scope *s = rlo__scope_stack_newest();
  while (s != NULL && s != scope) {
    s = s->below;
  }
  if (s == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: it is not open on this thread; it has ended, or "
                    "another thread began it",
                    action);
  }
  return rlo__scope_level_equal(s->level, rlo__scope_stack_level(0))
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "%s: it was begun around the call that this function "
                        "is called from",
                        action);
}

/* The scope around another one, which gets what is kept in it. */
static rlo_scope *find_outer(const rlo_scope *scope) {
  return rlo__scope_find(scope->below, scope->engine, scope->level);
}

/* ------------------------------------------------------------------ keeping */

/* The newest reference to a tensor that a scope holds, or one begun within it
 * on this thread. Under the mutex. */
static rlo__scope_entry *find_entry(const rlo_scope *scope,
                                    const rlo_tensor *tensor) {
  for (rlo__scope_entry *e = tensor->scope_entries; e != NULL;
       e = e->older_of_tensor) {
    const rlo_scope *s = rlo__scope_stack_newest();
    while (s != e->scope && s != scope) {
      s = s->below;
    }
    if (s == e->scope) {
      return e;
    }
  }
  return NULL;
}

/* Passes the scope's reference to `outer`, or to the caller if that is NULL.
 * False if there is none. */
static bool pass_on(const rlo_scope *scope,
                    rlo_scope *outer,
                    rlo_tensor *tensor) {
  rlo__mutex *mutex = &scope->engine->scope_mutex;
  rlo__mutex_lock(mutex);
  rlo__scope_entry *entry = find_entry(scope, tensor);
  if (entry != NULL) {
    rlo__scope_entry_unlink(entry, &tensor->scope_entries);
    if (outer != NULL) {
      rlo__scope_entry_link(entry, outer, &tensor->scope_entries);
    } else {
      rlo__tensor_give_to_user(tensor);
    }
  }
  rlo__mutex_unlock(mutex);
  if (entry != NULL && outer == NULL) {
    rlo__free(entry);
  }
  return entry != NULL;
}

rlo_status rlo_scope_keep(rlo_scope *scope, rlo_tensor *tensor) {
  RLO_REQUIRE(scope, tensor);
  RLO_TRY(check_scope(scope, "keeping a tensor of a scope"));
  if (tensor->engine != scope->engine) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "keeping a tensor: it is of another engine than the scope");
  }
  rlo_scope *outer = find_outer(scope);
  if (pass_on(scope, outer, tensor)) {
    return RLO_OK;
  }
  rlo_tensor_retain(tensor);
  rlo_status status =
      outer != NULL ? rlo__tensor_give_to_scope(outer, &tensor, 1) : RLO_OK;
  if (status != RLO_OK) {
    (void)rlo__tensor_release_own(tensor);
  }
  return status;
}

/* ------------------------------------------------------------------- ending */

/* Takes the newest reference out of a scope; NULL if there is none. */
static rlo_tensor *take_newest(rlo_scope *scope) {
  rlo__mutex *mutex = &scope->engine->scope_mutex;
  rlo_tensor *tensor = NULL;
  rlo__mutex_lock(mutex);
  rlo__scope_entry *entry = scope->newest;
  if (entry != NULL) {
    tensor = entry->tensor;
    rlo__scope_entry_unlink(entry, &tensor->scope_entries);
  }
  rlo__mutex_unlock(mutex);
  rlo__free(entry);
  return tensor;
}

static void end_scope(rlo_scope *scope) {
  rlo__scope_stack_remove(scope);
  rlo_tensor *tensor = NULL;
  while ((tensor = take_newest(scope)) != NULL) {
    rlo__tensor_drop(tensor);
  }
  rlo__engine_release(scope->engine);
  rlo__free(scope);
}

rlo_status rlo_scope_end(rlo_scope *scope) {
  if (scope == NULL) {
    return RLO_OK;
  }
  RLO_TRY(check_scope(scope, "ending a scope"));
  if (rlo__scope_find(rlo__scope_stack_newest(), scope->engine, scope->level) !=
      scope) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "ending a scope: one that was begun within it is still "
                    "open; end that first");
  }
  /* A setup or a factory may have left one open. */
  for (rlo_scope *s = rlo__scope_stack_newest(); s != scope;) {
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
  rlo_scope *scope = rlo__scope_stack_newest();
  return scope != NULL && scope->level.depth >= rlo__scope_stack_level(0).depth
             ? scope
             : NULL;
}

void rlo__scope_enter(void) {
  rlo__scope_stack_enter();
}

static rlo_status give_to_scope(rlo_engine *engine,
                                rlo_tensor *const *tensors,
                                int32_t count) {
  rlo_scope *newest = rlo__scope_stack_newest();
  if (newest == NULL) {
    return RLO_OK;
  }
  if (find_left_open() != NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a function that this call has called left a scope open");
  }
  rlo_scope *scope = rlo__scope_find(newest, engine, rlo__scope_stack_level(1));
  return scope != NULL ? rlo__tensor_give_to_scope(scope, tensors, count)
                       : RLO_OK;
}

rlo_status rlo__scope_hand_out(rlo_engine *engine,
                               rlo_tensor **tensors,
                               int32_t count,
                               rlo_tensor **outputs) {
  RLO_TRY(give_to_scope(engine, tensors, count));
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
  rlo__scope_stack_leave();
}
