/* SPDX-License-Identifier: Apache-2.0 */
#include "support/program_budget.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

void test_budget_init(test_budget *budget) {
  memset(budget, 0, sizeof *budget);
}

void test_budget_deinit(test_budget *budget) {
  free(budget->known);
  free(budget->listed);
  memset(budget, 0, sizeof *budget);
}

void test_budget_enter(test_budget *budget, test_budget_phase phase) {
  budget->phase = phase;
  budget->num_taken = 0;
  budget->num_left = 0;
}

/** Where a key is or belongs. */
static int64_t find_place(const uint64_t *keys, int64_t count, uint64_t key) {
  int64_t low = 0;
  int64_t high = count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool has_key(const uint64_t *keys, int64_t count, uint64_t key) {
  int64_t place = find_place(keys, count, key);
  return place < count && keys[place] == key;
}

static void add_key(uint64_t **keys, int64_t *count, int64_t *capacity, uint64_t key) {
  int64_t place = find_place(*keys, *count, key);
  if (place < *count && (*keys)[place] == key) {
    return;
  }
  if (*count == *capacity) {
    *capacity = *capacity == 0 ? 256 : 2 * *capacity;
    *keys = realloc(*keys, (size_t)*capacity * sizeof **keys);
    ck_assert_ptr_nonnull(*keys);
  }
  memmove(*keys + place + 1, *keys + place, (size_t)(*count - place) * sizeof **keys);
  (*keys)[place] = key;
  ++*count;
}

static void add_known(test_budget *budget, uint64_t key) {
  add_key(&budget->known, &budget->num_known, &budget->known_capacity, key);
}

bool test_budget_takes(test_budget *budget, uint64_t key) {
  bool is_known = has_key(budget->known, budget->num_known, key);
  bool is_taken = is_known;
  if (budget->phase == TEST_BUDGET_OPEN) {
    add_known(budget, key);
    is_taken = true;
  } else if (budget->phase == TEST_BUDGET_LISTING) {
    if (!is_known) {
      add_key(&budget->listed, &budget->num_listed, &budget->listed_capacity, key);
    }
    is_taken = false;
  }
  budget->num_taken += is_taken;
  budget->num_left += !is_taken;
  return is_taken;
}

/** Orders keys by chance, another way for each seed. */
static uint64_t mix(uint64_t key, uint64_t seed) {
  uint64_t x = (key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 32;
}

int64_t test_budget_draw(test_budget *budget, int64_t count, uint64_t seed) {
  int64_t num_drawn = 0;
  for (; num_drawn < count && budget->num_listed > 0; ++num_drawn) {
    int64_t first = 0;
    for (int64_t n = 1; n < budget->num_listed; ++n) {
      if (mix(budget->listed[n], seed) < mix(budget->listed[first], seed)) {
        first = n;
      }
    }
    add_known(budget, budget->listed[first]);
    memmove(budget->listed + first, budget->listed + first + 1,
            (size_t)(budget->num_listed - first - 1) * sizeof *budget->listed);
    --budget->num_listed;
  }
  budget->num_listed = 0;
  return num_drawn;
}
