/* SPDX-License-Identifier: Apache-2.0 */

#include "base/alloc.h"
#include "base/table.h"
#include "relayout/status.h"
#include "support/suite.h"

enum { MANY = 1000 };

/* The node is not the first member, so that offsets are tested too. */
typedef struct entry {
  int key;
  rlo__table_node node;
} entry;

static bool is_equal(const void *e, const void *key) {
  return ((const entry *)e)->key == *(const int *)key;
}

/* Several keys to a hash; hashes that agree in their low bits. */
static uint64_t hash_of(int key) {
  return (uint64_t)(key / 3) * 64;
}

static entry *find(const rlo__table *table, int key) {
  return rlo__table_find(table, hash_of(key), is_equal, &key);
}

static void init(rlo__table *table) {
  rlo__table_init(table, offsetof(entry, node));
}

static void insert_all(rlo__table *table, entry *entries, int count) {
  for (int k = 0; k < count; ++k) {
    entries[k].key = k;
    rlo__table_insert(table, &entries[k], hash_of(k));
  }
}

RLO_TEST(test_table__empty) {
  rlo__table table;
  init(&table);
  ck_assert_uint_eq(table.count, 0);
  ck_assert_ptr_null(find(&table, 0));
  ck_assert_ptr_null(rlo__table_newest(&table));
  ck_assert_ptr_null(rlo__table_oldest(&table));
  ck_assert_ptr_null(rlo__table_remove_oldest(&table));
  rlo__table_deinit(&table);
}

RLO_TEST(test_table__finds_what_was_inserted_and_not_removed) {
  static entry entries[MANY];
  rlo__table table;
  init(&table);
  insert_all(&table, entries, MANY);
  ck_assert_uint_eq(table.count, MANY);
  ck_assert_uint_ge(table.num_buckets, MANY);
  for (int k = 0; k < MANY; k += 2) {
    rlo__table_remove(&table, &entries[k]);
    ck_assert_ptr_null(entries[k].node.next);
  }
  ck_assert_uint_eq(table.count, MANY / 2);
  for (int k = 0; k < MANY; ++k) {
    ck_assert_ptr_eq(find(&table, k), k % 2 == 0 ? NULL : &entries[k]);
  }
  ck_assert_ptr_null(find(&table, MANY));
  /* A removed entry can be inserted again. */
  rlo__table_insert(&table, &entries[4], hash_of(4));
  ck_assert_ptr_eq(find(&table, 4), &entries[4]);
  rlo__table_deinit(&table);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
  ck_assert_ptr_null(find(&table, 1));
}

RLO_TEST(test_table__iterates_in_order_of_use) {
  entry entries[40];
  rlo__table table;
  init(&table);
  insert_all(&table, entries, 40);
  int key = 40;
  for (entry *e = rlo__table_newest(&table); e != NULL; e = rlo__table_older(&table, e)) {
    ck_assert_int_eq(e->key, --key);
  }
  ck_assert_int_eq(key, 0);
  for (entry *e = rlo__table_oldest(&table); e != NULL; e = rlo__table_newer(&table, e)) {
    ck_assert_int_eq(e->key, key++);
  }
  ck_assert_int_eq(key, 40);
  rlo__table_deinit(&table);
}

RLO_TEST(test_table__evicts_the_least_recently_used) {
  entry entries[4];
  rlo__table table;
  init(&table);
  insert_all(&table, entries, 4);
  rlo__table_touch(&table, &entries[0]);
  rlo__table_touch(&table, &entries[2]);
  rlo__table_touch(&table, &entries[2]);
  rlo__table_remove(&table, &entries[3]);
  ck_assert_ptr_eq(rlo__table_newest(&table), &entries[2]);
  ck_assert_ptr_eq(rlo__table_remove_oldest(&table), &entries[1]);
  ck_assert_ptr_eq(rlo__table_remove_oldest(&table), &entries[0]);
  ck_assert_ptr_null(find(&table, 0));
  ck_assert_ptr_eq(find(&table, 2), &entries[2]);
  ck_assert_ptr_eq(rlo__table_remove_oldest(&table), &entries[2]);
  ck_assert_ptr_null(rlo__table_remove_oldest(&table));
  ck_assert_uint_eq(table.count, 0);
  rlo__table_deinit(&table);
}

RLO_TEST(test_table__inserts_without_memory_to_grow) {
  static entry entries[MANY];
  rlo__table table;
  init(&table);
  (void)rlo_error_set(RLO_PARSE, "before");
  rlo__alloc_set_fault(1, true);
  insert_all(&table, entries, MANY / 2);
  ck_assert_int_gt(rlo__alloc_tried_count(), 0);
  ck_assert_uint_eq(table.num_buckets, RLO__TABLE_FIRST_BUCKETS);
  ck_assert_str_eq(rlo_error_last()->message, "before");
  for (int k = 0; k < MANY / 2; ++k) {
    ck_assert_ptr_eq(find(&table, k), &entries[k]);
  }
  /* It grows again once there is memory. */
  rlo__alloc_set_fault(0, false);
  for (int k = MANY / 2; k < MANY; ++k) {
    entries[k].key = k;
    rlo__table_insert(&table, &entries[k], hash_of(k));
  }
  ck_assert_uint_ge(table.num_buckets, MANY / 2);
  for (int k = 0; k < MANY; ++k) {
    ck_assert_ptr_eq(find(&table, k), &entries[k]);
  }
  rlo__table_deinit(&table);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}
