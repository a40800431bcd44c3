/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include "base/alloc.h"

static rlo__table_node **bucket_of(rlo__table *table, uint64_t hash) {
  rlo__table_node **buckets = table->buckets != NULL ? table->buckets : table->first_buckets;
  return &buckets[(size_t)hash & (table->num_buckets - 1)];
}

static void link_chain(rlo__table *table, rlo__table_node *node) {
  rlo__table_node **bucket = bucket_of(table, node->hash);
  node->next = *bucket;
  *bucket = node;
}

static void link_newest(rlo__table *table, rlo__table_node *node) {
  node->newer = NULL;
  node->older = table->newest;
  *(table->newest != NULL ? &table->newest->newer : &table->oldest) = node;
  table->newest = node;
}

static void unlink_use(rlo__table *table, rlo__table_node *node) {
  *(node->newer != NULL ? &node->newer->older : &table->newest) = node->older;
  *(node->older != NULL ? &node->older->newer : &table->oldest) = node->newer;
}

void rlo__table_init(rlo__table *table, size_t node_offset) {
  *table = (rlo__table){.node_offset = node_offset, .num_buckets = RLO__TABLE_FIRST_BUCKETS};
}

void rlo__table_deinit(rlo__table *table) {
  rlo__free(table->buckets);
  rlo__table_init(table, table->node_offset);
}

static void grow(rlo__table *table) {
  size_t num_buckets = 2 * table->num_buckets;
  rlo__table_node **buckets = rlo__alloc_array_quiet(num_buckets, sizeof(rlo__table_node *));
  if (buckets == NULL) {
    return;
  }
  rlo__free(table->buckets);
  table->buckets = buckets;
  table->num_buckets = num_buckets;
  /* From the oldest, so that the newer entries come first in their chains. */
  for (rlo__table_node *n = table->oldest; n != NULL; n = n->newer) {
    link_chain(table, n);
  }
}

void rlo__table_insert(rlo__table *table, void *entry, uint64_t hash) {
  rlo__table_node *node = rlo__table_node_of(table, entry);
  node->hash = hash;
  if (table->count >= table->num_buckets) {
    grow(table);
  }
  link_chain(table, node);
  link_newest(table, node);
  ++table->count;
}

void rlo__table_remove(rlo__table *table, void *entry) {
  rlo__table_node *node = rlo__table_node_of(table, entry);
  rlo__table_node **link = bucket_of(table, node->hash);
  while (*link != node) {
    link = &(*link)->next;
  }
  *link = node->next;
  unlink_use(table, node);
  *node = (rlo__table_node){.hash = node->hash};
  --table->count;
}

void rlo__table_touch(rlo__table *table, void *entry) {
  rlo__table_node *node = rlo__table_node_of(table, entry);
  if (table->newest != node) {
    unlink_use(table, node);
    link_newest(table, node);
  }
}

void *rlo__table_remove_oldest(rlo__table *table) {
  void *entry = rlo__table_oldest(table);
  if (entry != NULL) {
    rlo__table_remove(table, entry);
  }
  return entry;
}
