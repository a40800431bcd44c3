/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_SCOPE_STACK_H
#define RLO_ENGINE_SCOPE_STACK_H

#include "relayout/scope.h"

/** A reference to a tensor that a scope holds. A tensor may have several. */
typedef struct rlo__scope_entry {
  rlo_tensor *tensor;
  struct rlo_scope *scope;
  /** The tensor's next older entry. */
  struct rlo__scope_entry *older_of_tensor;
  /** The neighbours in the scope's list. */
  struct rlo__scope_entry *newer, *older;
} rlo__scope_entry;

/**
 * The functions of the library, and those of users that they call, have levels:
 * a scope holds what its own level is given, and the levels within own what
 * they make. Setups of kernels and factories of backends are levels too.
 */
typedef struct rlo__scope_level {
  /** How many calls of functions of the library the thread is in that may call
   *  functions of a user's. */
  int32_t depth;
  /** The registry that the thread changes. */
  const void *change;
} rlo__scope_level;

struct rlo_scope {
  /** Retained. */
  rlo_engine *engine;
  rlo__scope_level level;
  /** The thread's scope before this one, of any engine. */
  rlo_scope *below;
  /** Guarded by the engine's scope_mutex, as are the entries of a tensor. */
  rlo__scope_entry *newest;
};

/** This thread enters and leaves a call that may call functions of a user's. */
void rlo__scope_stack_enter(void);
void rlo__scope_stack_leave(void);

/** The level that this thread is in; `up` calls further out. */
rlo__scope_level rlo__scope_stack_level(int32_t up);
bool rlo__scope_level_equal(rlo__scope_level a, rlo__scope_level b);

void rlo__scope_stack_push(rlo_scope *scope);
void rlo__scope_stack_remove(rlo_scope *scope);

/** The scope that this thread began last and that is open; NULL: none. */
rlo_scope *rlo__scope_stack_newest(void);

/** Tells if this thread is in a scope, at the scope's own level. The scope may
 * be any thread's; it is not looked into. */
bool rlo__scope_is_current(const rlo_scope *scope);

/** From `scope` on downwards, the first one of an engine and a level; NULL if
 *  there is none. */
rlo_scope *rlo__scope_find(rlo_scope *scope,
                           const rlo_engine *engine,
                           rlo__scope_level level);

/** Link an entry, whose tensor is set, into a scope and into the tensor's list;
 *  unlink it from both. Under the scope_mutex. */
void rlo__scope_entry_link(rlo__scope_entry *entry,
                           rlo_scope *scope,
                           rlo__scope_entry **of_tensor);
void rlo__scope_entry_unlink(rlo__scope_entry *entry,
                             rlo__scope_entry **of_tensor);

#endif
