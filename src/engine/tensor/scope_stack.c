/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/scope_stack.h"

#include <assert.h>
#include <stddef.h>

#include "engine/registry/registry.h"

static _Thread_local rlo_scope *newest;
static _Thread_local int32_t depth;

void rlo__scope_stack_enter(void) {
  ++depth;
}

void rlo__scope_stack_leave(void) {
  assert(depth > 0);
  --depth;
}

rlo__scope_level rlo__scope_stack_level(int32_t up) {
  return (rlo__scope_level){depth - up, rlo__registry_changing()};
}

bool rlo__scope_level_equal(rlo__scope_level a, rlo__scope_level b) {
  return a.depth == b.depth && a.change == b.change;
}

void rlo__scope_stack_push(rlo_scope *scope) {
  scope->below = newest;
  newest = scope;
}

void rlo__scope_stack_remove(rlo_scope *scope) {
  rlo_scope **link = &newest;
  while (*link != scope) {
    link = &(*link)->below;
  }
  *link = scope->below;
}

rlo_scope *rlo__scope_stack_newest(void) {
  return newest;
}

bool rlo__scope_is_current(const rlo_scope *scope) {
  const rlo_scope *s = newest;
  while (s != NULL && s != scope) {
    s = s->below;
  }
  return s != NULL &&
         rlo__scope_level_equal(s->level, rlo__scope_stack_level(0));
}

rlo_scope *rlo__scope_find(rlo_scope *scope,
                           const rlo_engine *engine,
                           rlo__scope_level level) {
  while (scope != NULL && (scope->engine != engine ||
                           !rlo__scope_level_equal(scope->level, level))) {
    scope = scope->below;
  }
  return scope;
}

void rlo__scope_entry_link(rlo__scope_entry *entry,
                           rlo_scope *scope,
                           rlo__scope_entry **of_tensor) {
  entry->scope = scope;
  entry->newer = NULL;
  entry->older = scope->newest;
  if (entry->older != NULL) {
    entry->older->newer = entry;
  }
  scope->newest = entry;
  entry->older_of_tensor = *of_tensor;
  *of_tensor = entry;
}

void rlo__scope_entry_unlink(rlo__scope_entry *entry,
                             rlo__scope_entry **of_tensor) {
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
