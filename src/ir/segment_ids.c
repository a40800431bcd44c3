/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/segment_ids.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "ir/problem.h"

static void set_number(void *memory, int64_t n, int32_t bits, int64_t value) {
  int32_t narrow = (int32_t)value;
  memcpy((uint8_t *)memory + n * (bits / 8),
         bits == 64 ? (const void *)&value : (const void *)&narrow, (size_t)(bits / 8));
}

/** The segment of a row over all batches, or -1. */
static int64_t segment_of(const rlo__segment_ids *ids, const void *plain, int64_t row) {
  int64_t id = rlo__index_at(plain, row, ids->problem.unit_bits);
  if (id < 0 || id >= ids->batch_segments) {
    return -1;
  }
  return row / ids->batch_rows * ids->batch_segments + id;
}

/** Offset s holds the count of segment s first, then the place of its first
 * row, and advances while the rows are placed. */
static void sort_rows(const rlo__segment_ids *ids, const void *plain, void *order) {
  int32_t bits = ids->order_bits;
  for (int64_t s = 0; s <= ids->segments; ++s) {
    set_number(order, s, bits, 0);
  }
  for (int64_t r = 0; r < ids->rows; ++r) {
    int64_t s = segment_of(ids, plain, r);
    if (s >= 0) {
      set_number(order, s, bits, rlo__index_at(order, s, bits) + 1);
    }
  }
  int64_t begin = 0;
  for (int64_t s = 0; s <= ids->segments; ++s) {
    int64_t count = rlo__index_at(order, s, bits);
    set_number(order, s, bits, begin);
    begin += count;
  }
  int64_t first = ids->segments + 1;
  for (int64_t r = 0; r < ids->rows; ++r) {
    int64_t s = segment_of(ids, plain, r);
    if (s >= 0) {
      int64_t place = rlo__index_at(order, s, bits);
      set_number(order, first + place, bits, r % ids->batch_rows);
      set_number(order, s, bits, place + 1);
    }
  }
  /* Each offset has advanced to the beginning of the next segment. */
  for (int64_t s = ids->segments; s > 0; --s) {
    set_number(order, s, bits, rlo__index_at(order, s - 1, bits));
  }
  set_number(order, 0, bits, 0);
}

rlo_status rlo__segment_ids_order(const rlo__segment_ids *ids, const void *memory, void *order) {
  void *plain = rlo__alloc_array((size_t)ids->problem.dst_bytes + 1, 1);
  RLO_TRY_MEMORY(plain);
  rlo_status status = rlo_problem_run_host(&ids->problem, memory, plain);
  if (status == RLO_OK) {
    sort_rows(ids, plain, order);
  }
  rlo__free(plain);
  return status;
}
