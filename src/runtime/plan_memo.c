/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan_memo.h"

#include <string.h>

#include "base/alloc.h"

void rlo__memo_entry_retain(rlo__memo_entry *entry) {
  atomic_fetch_add_explicit(&entry->num_references, 1, memory_order_relaxed);
}

void rlo__memo_entry_release(rlo__memo_entry *entry) {
  if (entry != NULL &&
      atomic_fetch_sub_explicit(
          &entry->num_references, 1, memory_order_acq_rel) == 1) {
    rlo__free(entry->key);
    entry->destroy(entry);
  }
}

/** A key that is looked for. */
typedef struct wanted_key {
  const int64_t *key;
  size_t key_count;
} wanted_key;

static bool is_wanted(const void *entry, const void *key) {
  const rlo__memo_entry *have = entry;
  const wanted_key *wanted = key;
  return have->key_count == wanted->key_count &&
         memcmp(have->key,
                wanted->key,
                wanted->key_count * sizeof wanted->key[0]) == 0;
}

rlo_status rlo__plan_memo_init(rlo__plan_memo *memo, size_t capacity) {
  memo->capacity = capacity;
  rlo__table_init(&memo->table, offsetof(rlo__memo_entry, node));
  rlo_status status = rlo__mutex_init(&memo->mutex);
  memo->has_mutex = status == RLO_OK;
  return status;
}

/** Takes all entries out of the table, as a list. */
static rlo__table_node *remove_all(rlo__plan_memo *memo) {
  rlo__table_node *list = NULL;
  rlo__memo_entry *entry;
  while ((entry = rlo__table_remove_oldest(&memo->table)) != NULL) {
    entry->node.next = list;
    list = &entry->node;
  }
  return list;
}

static void release_all(rlo__plan_memo *memo, rlo__table_node *list) {
  while (list != NULL) {
    rlo__memo_entry *entry = rlo__table_entry_of(&memo->table, list);
    list = list->next;
    rlo__memo_entry_release(entry);
  }
}

void rlo__plan_memo_deinit(rlo__plan_memo *memo) {
  if (memo->has_mutex) {
    release_all(memo, remove_all(memo));
    rlo__table_deinit(&memo->table);
    rlo__mutex_deinit(&memo->mutex);
  }
}

/* One multiplication a number, of which a key has some forty: base/hash takes
 * six. Keys are compared, so that a collision costs a comparison. */
uint64_t rlo__plan_memo_hash(const int64_t *key, size_t key_count) {
  uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ key_count;
  for (size_t n = 0; n < key_count; ++n) {
    hash = (hash ^ (uint64_t)key[n]) * UINT64_C(0xbb67ae8584caa73b);
    hash ^= hash >> 29;
  }
  return hash ^ hash >> 32;
}

rlo__memo_entry *rlo__plan_memo_find(rlo__plan_memo *memo,
                                     uint64_t hash,
                                     const int64_t *key,
                                     size_t key_count,
                                     int64_t *out_generation) {
  const wanted_key wanted = {key, key_count};
  rlo__mutex_lock(&memo->mutex);
  rlo__memo_entry *found =
      rlo__table_find(&memo->table, hash, is_wanted, &wanted);
  if (found != NULL) {
    rlo__table_touch(&memo->table, found);
    rlo__memo_entry_retain(found);
    ++memo->num_hits;
  }
  *out_generation = memo->generation;
  rlo__mutex_unlock(&memo->mutex);
  return found;
}

void rlo__plan_memo_add(rlo__plan_memo *memo,
                        uint64_t hash,
                        int64_t generation,
                        rlo__memo_entry *entry) {
  const wanted_key wanted = {entry->key, entry->key_count};
  rlo__memo_entry *gone = NULL;
  rlo__mutex_lock(&memo->mutex);
  /* Another thread may have planned the same meanwhile. */
  if (generation == memo->generation &&
      rlo__table_find(&memo->table, hash, is_wanted, &wanted) == NULL) {
    rlo__memo_entry_retain(entry);
    rlo__table_insert(&memo->table, entry, hash);
    if (memo->table.count > memo->capacity) {
      gone = rlo__table_remove_oldest(&memo->table);
    }
  }
  rlo__mutex_unlock(&memo->mutex);
  rlo__memo_entry_release(gone);
}

void rlo__plan_memo_clear(rlo__plan_memo *memo) {
  rlo__mutex_lock(&memo->mutex);
  ++memo->generation;
  rlo__table_node *list = remove_all(memo);
  rlo__mutex_unlock(&memo->mutex);
  release_all(memo, list);
}
