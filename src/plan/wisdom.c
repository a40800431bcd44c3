/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/wisdom.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/problem.h"

#define KEY_SEED UINT64_C(0x776973646f6d0001)

/* Alignment beyond a line makes no difference to any kernel. */
enum { ENOUGH_ALIGNMENT_BYTES = 64 };

/* Fields of the text end at control characters, so names have none. */
static void copy_name(const char *name, char *out_name, size_t room) {
  snprintf(out_name, room, "%s", name);
  for (char *c = out_name; *c != '\0'; ++c) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f) {
      *c = ' ';
    }
  }
}

void rlo__wisdom_init(const char *device,
                      const char *driver,
                      uint64_t table,
                      rlo__wisdom *out_wisdom) {
  *out_wisdom = (rlo__wisdom){.table = table};
  copy_name(device, out_wisdom->device, sizeof out_wisdom->device);
  copy_name(driver, out_wisdom->driver, sizeof out_wisdom->driver);
}

void rlo__wisdom_deinit(rlo__wisdom *wisdom) {
  rlo__free(wisdom->entries);
  wisdom->entries = NULL;
  wisdom->num_entries = 0;
  wisdom->capacity = 0;
}

rlo__wisdom_key rlo__wisdom_key_of(const rlo__family_query *query,
                                   rlo_device_class device_class) {
  rlo__hash hash = rlo__hash_init(KEY_SEED);
  rlo__hash_i64(&hash, device_class);
  rlo__problem_hash_into(query->problem, &hash);
  return (rlo__wisdom_key){
      .problem = rlo__hash_finish(&hash),
      .alignment_bytes = rlo__min(
          ENOUGH_ALIGNMENT_BYTES,
          rlo__min(query->src_alignment_bytes, query->dst_alignment_bytes))};
}

static int compare_u64(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int compare(const rlo__wisdom_key *a, const rlo__wisdom_key *b) {
  int order = compare_u64(a->problem.high, b->problem.high);
  if (order == 0) {
    order = compare_u64(a->problem.low, b->problem.low);
  }
  if (order == 0) {
    order = (a->alignment_bytes > b->alignment_bytes) -
            (a->alignment_bytes < b->alignment_bytes);
  }
  return order;
}

/* Index of the first entry whose key is not less. */
static int32_t find_place(const rlo__wisdom *wisdom,
                          const rlo__wisdom_key *key) {
  int32_t first = 0;
  int32_t last = wisdom->num_entries;
  while (first < last) {
    int32_t middle = first + (last - first) / 2;
    if (compare(&wisdom->entries[middle].key, key) < 0) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

const rlo__wisdom_entry *rlo__wisdom_find(const rlo__wisdom *wisdom,
                                          const rlo__wisdom_key *key) {
  int32_t place = find_place(wisdom, key);
  if (place == wisdom->num_entries ||
      compare(&wisdom->entries[place].key, key) != 0) {
    return NULL;
  }
  return &wisdom->entries[place];
}

static rlo_status make_room(rlo__wisdom *wisdom) {
  if (wisdom->num_entries >= RLO__WISDOM_MAX_ENTRIES) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "wisdom holds at most %d records of one device",
                    RLO__WISDOM_MAX_ENTRIES);
  }
  return rlo__array_reserve(&wisdom->entries,
                            sizeof *wisdom->entries,
                            (size_t)wisdom->num_entries + 1,
                            &wisdom->capacity);
}

rlo_status rlo__wisdom_put(rlo__wisdom *wisdom,
                           const rlo__wisdom_entry *entry) {
  int32_t place = find_place(wisdom, &entry->key);
  bool is_known = place < wisdom->num_entries &&
                  compare(&wisdom->entries[place].key, &entry->key) == 0;
  if (!is_known) {
    RLO_TRY(make_room(wisdom));
    memmove(&wisdom->entries[place + 1],
            &wisdom->entries[place],
            (size_t)(wisdom->num_entries - place) * sizeof *wisdom->entries);
    ++wisdom->num_entries;
  }
  wisdom->entries[place] = *entry;
  return RLO_OK;
}

rlo__wisdom_entry rlo__wisdom_entry_of(const rlo__family_query *query,
                                       const rlo__family *family,
                                       const rlo__schedule *schedule,
                                       double fraction) {
  const rlo_problem *problem = query->problem;
  rlo__wisdom_entry entry = {
      .key = rlo__wisdom_key_of(query, family->device_class),
      .family = family,
      .schedule = schedule,
      .fraction = fraction};
  rlo__str note = rlo__str_over(entry.note, sizeof entry.note);
  rlo__str_printf(&note, "%d bits", problem->unit_bits);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    rlo__str_printf(
        &note, "%s%lld", a == 0 ? ", " : " x ", (long long)problem->extents[a]);
  }
  if (problem->num_guards > 0) {
    rlo__str_printf(&note, ", %d guards", problem->num_guards);
  }
  return entry;
}
