/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_TABLE_H
#define RLO_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * An intrusive hash table with chaining, and a list of its entries in order of
 * use. An entry is a struct of the caller that embeds a rlo__table_node:
 *
 *     typedef struct entry { rlo__table_node node; ... } entry;
 *     rlo__table_init(&table, offsetof(entry, node));
 *     rlo__table_insert(&table, e, hash);
 *     entry *found = rlo__table_find(&table, hash, is_equal, &key);
 *     for (entry *e = rlo__table_newest(&table); e != NULL;
 *          e = rlo__table_older(&table, e)) ...
 *
 * The table owns its bucket array only; the entries stay the caller's. No
 * operation can fail: if the bucket array cannot grow, the chains get longer.
 * Threads: external synchronization. The functions that take a const table
 * only read, so several threads may run them at once.
 */
typedef struct rlo__table_node {
  /** Next in the chain. The caller may use it while the entry is in no table.
   */
  struct rlo__table_node *next;
  struct rlo__table_node *newer, *older;
  uint64_t hash;
} rlo__table_node;

enum { RLO__TABLE_FIRST_BUCKETS = 16 };

typedef struct rlo__table {
  /** Offset of the node in an entry, in bytes. */
  size_t node_offset;
  size_t count;
  /** A power of two. */
  size_t num_buckets;
  /** On the heap; NULL while first_buckets suffice. */
  rlo__table_node **buckets;
  rlo__table_node *first_buckets[RLO__TABLE_FIRST_BUCKETS];
  rlo__table_node *newest, *oldest;
} rlo__table;

/** Initializes an empty table. @param node_offset  offsetof(entry, node). */
void rlo__table_init(rlo__table *table, size_t node_offset);

/** Frees the bucket array and empties the table; the entries are untouched. */
void rlo__table_deinit(rlo__table *table);

/** Adds an entry that is in no table, as the newest. Equal entries may coexist.
 *  Doubles the bucket array when there are more entries than buckets; if there
 *  is no memory for it, it stays as it is, and the error record too. */
void rlo__table_insert(rlo__table *table, void *entry, uint64_t hash);

/** Removes an entry of this table. */
void rlo__table_remove(rlo__table *table, void *entry);

/** Makes an entry of this table the newest: for caches that evict the least
 *  recently used entry. */
void rlo__table_touch(rlo__table *table, void *entry);

/** Removes and returns the oldest entry; NULL if the table is empty. */
void *rlo__table_remove_oldest(rlo__table *table);

/** The internals of the functions below. */
static inline rlo__table_node *rlo__table_node_of(const rlo__table *table, void *entry) {
  return (rlo__table_node *)(void *)((char *)entry + table->node_offset);
}

static inline void *rlo__table_entry_of(const rlo__table *table, rlo__table_node *node) {
  return node == NULL ? NULL : (char *)node - table->node_offset;
}

/** The most recently inserted or touched entry; NULL if the table is empty. */
static inline void *rlo__table_newest(const rlo__table *table) {
  return rlo__table_entry_of(table, table->newest);
}

/** The least recently inserted or touched entry; NULL if the table is empty. */
static inline void *rlo__table_oldest(const rlo__table *table) {
  return rlo__table_entry_of(table, table->oldest);
}

/** The entry used before this one; NULL after the oldest. Read it before the
 *  entry is removed. */
static inline void *rlo__table_older(const rlo__table *table, void *entry) {
  return rlo__table_entry_of(table, rlo__table_node_of(table, entry)->older);
}

/** The entry used after this one; NULL after the newest. */
static inline void *rlo__table_newer(const rlo__table *table, void *entry) {
  return rlo__table_entry_of(table, rlo__table_node_of(table, entry)->newer);
}

/** The newest entry with this hash for which is_equal(entry, key) holds, or any
 * for NULL; NULL if there is none. */
static inline void *rlo__table_find(const rlo__table *table, uint64_t hash,
                                    bool (*is_equal)(const void *entry, const void *key),
                                    const void *key) {
  rlo__table_node *const *buckets = table->buckets != NULL ? table->buckets : table->first_buckets;
  for (rlo__table_node *n = buckets[(size_t)hash & (table->num_buckets - 1)]; n != NULL;
       n = n->next) {
    void *entry = rlo__table_entry_of(table, n);
    if (n->hash == hash && (is_equal == NULL || is_equal(entry, key))) {
      return entry;
    }
  }
  return NULL;
}

#endif
