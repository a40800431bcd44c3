/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan_memo.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

void rlo__memo_entry_init(rlo__memo_entry *entry, void (*destroy)(rlo__memo_entry *entry)) {
  atomic_init(&entry->num_references, 1);
  entry->destroy = destroy;
}

void rlo__memo_entry_retain(rlo__memo_entry *entry) {
  atomic_fetch_add_explicit(&entry->num_references, 1, memory_order_relaxed);
}

void rlo__memo_entry_release(rlo__memo_entry *entry) {
  if (entry != NULL &&
      atomic_fetch_sub_explicit(&entry->num_references, 1, memory_order_acq_rel) == 1) {
    rlo__free(entry->key);
    entry->destroy(entry);
  }
}

static bool is_wanted(const void *entry, const void *key) {
  const rlo__memo_entry *have = entry;
  const rlo__memo_key *wanted = key;
  return have->key_count == wanted->count &&
         memcmp(have->key, wanted->numbers, wanted->count * sizeof wanted->numbers[0]) == 0;
}

rlo_status rlo__plan_memo_init(rlo__plan_memo *memo, size_t capacity) {
  memo->capacity = capacity;
  rlo__table_init(&memo->table, offsetof(rlo__memo_entry, node));
  return rlo__mutex_init(&memo->mutex);
}

void rlo__plan_memo_clear(rlo__plan_memo *memo) {
  rlo__memo_entry *entry = NULL;
  rlo__table_node *list = NULL;
  rlo__mutex_lock(&memo->mutex);
  ++memo->generation;
  while ((entry = rlo__table_remove_oldest(&memo->table)) != NULL) {
    entry->node.next = list;
    list = &entry->node;
  }
  rlo__mutex_unlock(&memo->mutex);
  while (list != NULL) {
    entry = rlo__table_entry_of(&memo->table, list);
    list = list->next;
    rlo__memo_entry_release(entry);
  }
}

void rlo__plan_memo_deinit(rlo__plan_memo *memo) {
  if (memo->mutex.is_there) {
    rlo__plan_memo_clear(memo);
    rlo__table_deinit(&memo->table);
    rlo__mutex_deinit(&memo->mutex);
  }
}

/* Two multiplications a number, of which a key has some forty, and none waits
 * for the other: base/hash takes six. Keys are compared, so that a collision
 * costs a comparison. */
static uint64_t hash_of(const rlo__memo_key *key) {
  uint64_t hash = key->count;
  uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
  for (size_t n = 0; n < key->count; ++n) {
    hash += (uint64_t)key->numbers[n] * factor;
    factor *= UINT64_C(0xbb67ae8584caa73b);
  }
  return (hash ^ hash >> 32) * factor >> 32;
}

rlo__memo_entry *rlo__plan_memo_find(rlo__plan_memo *memo, rlo__memo_key *key) {
  key->hash = hash_of(key);
  rlo__mutex_lock(&memo->mutex);
  rlo__memo_entry *found = rlo__table_find(&memo->table, key->hash, is_wanted, key);
  if (found != NULL) {
    rlo__table_touch(&memo->table, found);
    rlo__memo_entry_retain(found);
    ++memo->num_hits;
  }
  key->generation = memo->generation;
  rlo__mutex_unlock(&memo->mutex);
  return found;
}

rlo_status rlo__plan_memo_add(rlo__plan_memo *memo, const rlo__memo_key *key,
                              rlo__memo_entry *entry) {
  rlo__memo_entry *gone = NULL;
  entry->key = rlo__alloc_array(key->count, sizeof key->numbers[0]);
  RLO_TRY_MEMORY(entry->key);
  memcpy(entry->key, key->numbers, key->count * sizeof key->numbers[0]);
  entry->key_count = key->count;
  rlo__mutex_lock(&memo->mutex);
  if (key->generation == memo->generation &&
      rlo__table_find(&memo->table, key->hash, is_wanted, key) == NULL) {
    rlo__memo_entry_retain(entry);
    rlo__table_insert(&memo->table, entry, key->hash);
    if (memo->table.count > memo->capacity) {
      gone = rlo__table_remove_oldest(&memo->table);
    }
  }
  rlo__mutex_unlock(&memo->mutex);
  rlo__memo_entry_release(gone);
  return RLO_OK;
}
