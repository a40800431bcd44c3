/* SPDX-License-Identifier: Apache-2.0 */
#include "shard/assignment.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* The cost of a cell is the largest gain less its own. Prices of rows and
 * columns keep every reduced cost, cost - row - column, at 0 and above, and
 * those of assigned cells at 0. A column without row has the price 0, so that
 * no path is longer than the largest cost. */
typedef struct search {
  const int64_t *gains;
  int64_t count;
  int64_t largest;
  int64_t *row_prices;
  int64_t *column_prices;
  /* The row of each column; -1: none yet. */
  int64_t *rows;
  /* The search for a path, by column: the length of the way to it, the column
   * before it (-1 for the first), and if that way is the shortest. */
  int64_t *lengths;
  int64_t *before;
  bool *is_settled;
} search;

/* Passes on from a row that was reached by `length` through `column`, and
 * returns the nearest column that is not settled. */
static int64_t relax(search *s, int64_t row, int64_t column, int64_t length) {
  int64_t nearest = -1;
  for (int64_t k = 0; k < s->count; ++k) {
    if (s->is_settled[k]) {
      continue;
    }
    int64_t cost = s->largest - s->gains[row * s->count + k];
    int64_t through = length + cost - s->row_prices[row] - s->column_prices[k];
    if (through < s->lengths[k]) {
      s->lengths[k] = through;
      s->before[k] = column;
    }
    if (nearest < 0 || s->lengths[k] < s->lengths[nearest]) {
      nearest = k;
    }
  }
  return nearest;
}

/* Settles columns until one has no row; returns it. */
static int64_t find_path(search *s, int64_t first_row) {
  for (int64_t k = 0; k < s->count; ++k) {
    s->lengths[k] = INT64_MAX;
    s->before[k] = -1;
    s->is_settled[k] = false;
  }
  int64_t column = relax(s, first_row, -1, 0);
  while (s->rows[column] >= 0) {
    s->is_settled[column] = true;
    column = relax(s, s->rows[column], column, s->lengths[column]);
  }
  return column;
}

/* Gives a row a column; rows of the path move on to the next one's. */
static void assign(search *s, int64_t first_row) {
  int64_t column = find_path(s, first_row);
  int64_t length = s->lengths[column];
  s->row_prices[first_row] += length;
  for (int64_t k = 0; k < s->count; ++k) {
    if (s->is_settled[k]) {
      s->row_prices[s->rows[k]] += length - s->lengths[k];
      s->column_prices[k] -= length - s->lengths[k];
    }
  }
  for (; s->before[column] >= 0; column = s->before[column]) {
    s->rows[column] = s->rows[s->before[column]];
  }
  s->rows[column] = first_row;
}

rlo_status rlo__assignment_find(const int64_t *gains,
                                int64_t count,
                                int64_t *out_columns) {
  enum { NUM_ARRAYS = 5 };

  size_t size = (size_t)count;
  int64_t *memory = rlo__alloc_array(NUM_ARRAYS * size, sizeof *memory);
  bool *is_settled = rlo__alloc_array(size, sizeof *is_settled);
  search s = {.gains = gains, .count = count, .is_settled = is_settled};
  rlo_status status =
      memory == NULL || is_settled == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
  if (status == RLO_OK) {
    s.row_prices = memory;
    s.column_prices = memory + size;
    s.rows = memory + 2 * size;
    s.lengths = memory + 3 * size;
    s.before = memory + 4 * size;
    for (int64_t k = 0; k < count * count; ++k) {
      s.largest = rlo__max(s.largest, gains[k]);
    }
    for (int64_t k = 0; k < count; ++k) {
      s.rows[k] = -1;
    }
    for (int64_t row = 0; row < count; ++row) {
      assign(&s, row);
    }
    for (int64_t k = 0; k < count; ++k) {
      out_columns[s.rows[k]] = k;
    }
  }
  rlo__free(memory);
  rlo__free(is_settled);
  return status;
}
