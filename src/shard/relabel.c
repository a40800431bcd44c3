/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "shard/redistribution.h"

/* ------------------------------------------------------------- assignments */

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

rlo_status rlo__assignment_find(const int64_t *gains, int64_t count, int64_t *out_columns) {
  enum { NUM_ARRAYS = 5 };

  size_t size = (size_t)count;
  int64_t *memory = rlo__alloc_array(NUM_ARRAYS * size, sizeof *memory);
  bool *is_settled = rlo__alloc_array(size, sizeof *is_settled);
  rlo_status status = memory == NULL || is_settled == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
  if (status == RLO_OK) {
    search s = {.gains = gains,
                .count = count,
                .row_prices = memory,
                .column_prices = memory + size,
                .rows = memory + 2 * size,
                .lengths = memory + 3 * size,
                .before = memory + 4 * size,
                .is_settled = is_settled};
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

/* ------------------------------------------------------------------- gains */

/* A part is what the plan gives to the device of the same number. The gain of a
 * part and a device is what the device need not be sent if it takes the part:
 * the pieces of the part that it holds. */

/* Visits the gains of parts. */
typedef struct gain_walk {
  const rlo_redistribution *plan;
  int64_t part;
  rlo_status (*fn)(struct gain_walk *walk, int64_t device, int64_t gain);
  /* All: part x device. */
  int64_t *matrix;
  /* Best: the devices that are not to be had, and what was found among the
   * others; -1: nothing. */
  const bool *is_taken;
  int64_t best_device;
  int64_t best_gain;
  /* The gains of all parts that were visited, each on its own device. */
  int64_t kept;
  int64_t num_visits;
} gain_walk;

/* Visits all devices that hold a piece. */
static rlo_status visit_holders(void *payload, const rlo_redistribution_piece *piece) {
  gain_walk *walk = payload;
  const rlo__holding *source = &walk->plan->source;
  int64_t tile = rlo__holding_find(source, piece->peer).tile;
  int64_t num_copies = rlo__holding_count_copies(source, tile);
  for (int64_t copy = 0; copy < num_copies; ++copy) {
    int64_t device = rlo__holding_device(source, tile, piece->addend, copy);
    RLO_FAIL_IF(++walk->num_visits > rlo__thresholds.shard_weighed_gains, RLO_UNSUPPORTED,
                "too many pieces to relabel: more than %" PRId64 " gains of parts",
                rlo__thresholds.shard_weighed_gains);
    RLO_TRY(walk->fn(walk, device, piece->bytes));
  }
  return RLO_OK;
}

static rlo_status visit_gains(gain_walk *walk, int64_t part) {
  walk->part = part;
  walk->best_device = -1;
  walk->best_gain = 0;
  return rlo_redistribution_visit_receives(walk->plan, part, visit_holders, walk);
}

/* ------------------------------------------------------------------- exact */

/* Gains count by the number of devices plus one, and staying by one: among
 * equally good assignments the one that leaves most parts where they are wins.
 */
static rlo_status note_gain(gain_walk *walk, int64_t device, int64_t gain) {
  int64_t count = walk->plan->num_devices;
  RLO_FAIL_IF(gain > RLO_RELABEL_MAX_PIECE_BYTES, RLO_OVERFLOW,
              "a piece of device %" PRId64 " has %" PRId64
              " bytes, and parts are assigned for at most %" PRId64,
              walk->part, gain, (int64_t)RLO_RELABEL_MAX_PIECE_BYTES);
  walk->matrix[walk->part * count + device] += gain * (count + 1);
  return RLO_OK;
}

static rlo_status relabel_exactly(const rlo_redistribution *plan, int64_t *out_devices) {
  int64_t count = plan->num_devices;
  gain_walk walk = {.plan = plan, .fn = note_gain};
  walk.matrix = rlo__alloc_array((size_t)(count * count), sizeof *walk.matrix);
  rlo_status status = walk.matrix == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
  for (int64_t part = 0; part < count && status == RLO_OK; ++part) {
    walk.matrix[part * count + part] = 1;
    status = visit_gains(&walk, part);
  }
  if (status == RLO_OK) {
    status = rlo__assignment_find(walk.matrix, count, out_devices);
  }
  rlo__free(walk.matrix);
  return status;
}

/* ------------------------------------------------------------------ greedy */

/* A part, and the most that it can gain. */
typedef struct claim {
  int64_t part;
  int64_t gain;
} claim;

static int compare_claims(const void *left, const void *right) {
  const claim *a = left;
  const claim *b = right;
  if (a->gain != b->gain) {
    return a->gain > b->gain ? -1 : 1;
  }
  return a->part < b->part ? -1 : a->part > b->part;
}

/* Among equal gains the part's own device wins. */
static rlo_status note_best(gain_walk *walk, int64_t device, int64_t gain) {
  if (device == walk->part) {
    walk->kept = rlo__add_capped(walk->kept, gain);
  }
  if (walk->is_taken[device]) {
    return RLO_OK;
  }
  if (gain > walk->best_gain || (gain == walk->best_gain && device == walk->part)) {
    walk->best_device = device;
    walk->best_gain = gain;
  }
  return RLO_OK;
}

/* Each part that is left takes its own device, or else the first free one. */
static void assign_rest(int64_t count, bool *is_taken, int64_t *devices) {
  for (int64_t part = 0; part < count; ++part) {
    if (devices[part] < 0 && !is_taken[part]) {
      devices[part] = part;
      is_taken[part] = true;
    }
  }
  int64_t free_device = 0;
  for (int64_t part = 0; part < count; ++part) {
    if (devices[part] < 0) {
      while (is_taken[free_device]) {
        ++free_device;
      }
      devices[part] = free_device;
      is_taken[free_device] = true;
    }
  }
}

/* The parts take devices in the order of the most that each can gain: a device
 * holds one piece of a part at most, and what the rest of the parts take gains
 * nothing. */
static rlo_status claim_devices(const rlo_redistribution *plan, claim *claims, bool *is_taken,
                                int64_t *devices) {
  int64_t count = plan->num_devices;
  gain_walk walk = {.plan = plan, .fn = note_best, .is_taken = is_taken};
  int64_t gained = 0;
  for (int64_t part = 0; part < count; ++part) {
    RLO_TRY(visit_gains(&walk, part));
    claims[part] = (claim){.part = part, .gain = walk.best_gain};
    devices[part] = -1;
  }
  qsort(claims, (size_t)count, sizeof *claims, compare_claims);
  const int64_t kept = walk.kept;
  for (int64_t k = 0; k < count && claims[k].gain > 0; ++k) {
    RLO_TRY(visit_gains(&walk, claims[k].part));
    gained = rlo__add_capped(gained, walk.best_gain);
    if (walk.best_device >= 0) {
      devices[claims[k].part] = walk.best_device;
      is_taken[walk.best_device] = true;
    }
  }
  assign_rest(count, is_taken, devices);
  for (int64_t part = 0; part < count && gained <= kept; ++part) {
    devices[part] = part;
  }
  return RLO_OK;
}

static rlo_status relabel_greedily(const rlo_redistribution *plan, int64_t *out_devices) {
  size_t count = (size_t)plan->num_devices;
  claim *claims = rlo__alloc_array(count, sizeof *claims);
  bool *is_taken = rlo__alloc_array(count, sizeof *is_taken);
  rlo_status status = claims == NULL || is_taken == NULL
                          ? RLO_OUT_OF_MEMORY
                          : claim_devices(plan, claims, is_taken, out_devices);
  rlo__free(claims);
  rlo__free(is_taken);
  return status;
}

rlo_status rlo_redistribution_relabel(const rlo_redistribution *plan, int64_t *out_devices) {
  RLO_REQUIRE(plan, out_devices);
  return plan->num_devices <= RLO_RELABEL_MAX_EXACT_DEVICES ? relabel_exactly(plan, out_devices)
                                                            : relabel_greedily(plan, out_devices);
}
