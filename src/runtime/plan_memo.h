/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLAN_MEMO_H
#define RLO_RUNTIME_PLAN_MEMO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "base/thread.h"

/** Something that was planned, by a key of numbers. Counted by references. */
typedef struct rlo__memo_entry {
  rlo__table_node node;
  atomic_int_fast32_t num_references;
  /** Owned. */
  int64_t *key;
  size_t key_count;
  /** Called with the last reference; frees the entry, but for its key. */
  void (*destroy)(struct rlo__memo_entry *entry);
} rlo__memo_entry;

/** Begins an entry with one reference and no key. */
void rlo__memo_entry_init(rlo__memo_entry *entry, void (*destroy)(rlo__memo_entry *entry));

/** Adds a reference. Threads: safe. */
void rlo__memo_entry_retain(rlo__memo_entry *entry);

/** Drops a reference; NULL is legal. Threads: safe. */
void rlo__memo_entry_release(rlo__memo_entry *entry);

/** The most recently used launches of a context, or moves of a place. Those of
 *  a context are forgotten when its wisdom changes, which might decide
 *  otherwise. Threads: safe, but for init and deinit. */
typedef struct rlo__plan_memo {
  rlo__mutex mutex;
  rlo__table table;
  /** The most entries. */
  size_t capacity;
  /** Rises with each rlo__plan_memo_clear. */
  int64_t generation;
  /** How often something was found. */
  int64_t num_hits;
} rlo__plan_memo;

/** A key that is looked for, and what rlo__plan_memo_find leaves for
 *  rlo__plan_memo_add. */
typedef struct rlo__memo_key {
  /** Borrowed. */
  const int64_t *numbers;
  size_t count;
  uint64_t hash;
  int64_t generation;
} rlo__memo_key;

/** @param memo  zeroed. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__plan_memo_init(rlo__plan_memo *memo, size_t capacity);

/** Forgets everything. A zeroed memo is legal. */
void rlo__plan_memo_deinit(rlo__plan_memo *memo);

/**
 * Finds what was planned for a key.
 * @param key  its numbers and their count; the rest is written.
 * @return a new reference; NULL if there is nothing.
 */
rlo__memo_entry *rlo__plan_memo_find(rlo__plan_memo *memo, rlo__memo_key *key);

/** Gives a copy of the key to what has just been planned, and remembers it with
 *  a reference of the memo's own; unless another thread has planned the same
 *  meanwhile, or the memo was cleared since rlo__plan_memo_find. @return
 * RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__plan_memo_add(rlo__plan_memo *memo, const rlo__memo_key *key,
                                            rlo__memo_entry *entry);

/** Forgets everything: the wisdom has changed. */
void rlo__plan_memo_clear(rlo__plan_memo *memo);

#endif
