/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "shard/assignment.h"
#include "shard/redistribution.h"

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
  /* Best: the devices that are not to be had, NULL for none, and what was found
   * among the others; -1: nothing. */
  const bool *is_taken;
  int64_t best_device;
  int64_t best_gain;
} gain_walk;

/* Visits all devices that hold a piece. */
static rlo_status visit_holders(void *payload,
                                const rlo_redistribution_piece *piece) {
  gain_walk *walk = payload;
  const rlo__holding *source = &walk->plan->source;
  int64_t tile = rlo__holding_find(source, piece->peer).tile;
  int64_t num_copies = rlo__holding_count_copies(source, tile);
  for (int64_t copy = 0; copy < num_copies; ++copy) {
    int64_t device = rlo__holding_device(source, tile, piece->addend, copy);
    RLO_TRY(walk->fn(walk, device, piece->bytes));
  }
  return RLO_OK;
}

static rlo_status visit_gains(gain_walk *walk, int64_t part) {
  walk->part = part;
  walk->best_device = -1;
  walk->best_gain = 0;
  return rlo_redistribution_visit_receives(
      walk->plan, part, visit_holders, walk);
}

/* ------------------------------------------------------------------- exact */

/* Gains count by the number of devices plus one, and staying by one: among
 * equally good assignments the one that leaves most parts where they are wins.
 */
static rlo_status note_gain(gain_walk *walk, int64_t device, int64_t gain) {
  int64_t count = walk->plan->num_devices;
  if (gain > RLO_RELABEL_MAX_PIECE_BYTES) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "a piece of device %" PRId64 " has %" PRId64
                    " bytes, and parts are assigned for at most %" PRId64,
                    walk->part,
                    gain,
                    (int64_t)RLO_RELABEL_MAX_PIECE_BYTES);
  }
  walk->matrix[walk->part * count + device] += gain * (count + 1);
  return RLO_OK;
}

static rlo_status relabel_exactly(const rlo_redistribution *plan,
                                  int64_t *out_devices) {
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
  if (walk->is_taken != NULL && walk->is_taken[device]) {
    return RLO_OK;
  }
  if (gain > walk->best_gain ||
      (gain == walk->best_gain && device == walk->part)) {
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

/* The sum of what the parts gain on the devices of a list; NULL: each on its
 * own. */
typedef struct gain_sum {
  gain_walk walk;
  const int64_t *devices;
  int64_t sum;
} gain_sum;

static rlo_status add_gain(gain_walk *walk, int64_t device, int64_t gain) {
  gain_sum *s = (gain_sum *)walk;
  int64_t taker = s->devices == NULL ? walk->part : s->devices[walk->part];
  if (device == taker) {
    s->sum = rlo__add_capped(s->sum, gain);
  }
  return RLO_OK;
}

static rlo_status sum_gains(const rlo_redistribution *plan,
                            const int64_t *devices,
                            int64_t *out_sum) {
  gain_sum s = {.walk = {.plan = plan, .fn = add_gain}, .devices = devices};
  for (int64_t part = 0; part < plan->num_devices; ++part) {
    RLO_TRY(visit_gains(&s.walk, part));
  }
  *out_sum = s.sum;
  return RLO_OK;
}

/* The parts take devices in the order of the most that each can gain. */
static rlo_status claim_devices(const rlo_redistribution *plan,
                                claim *claims,
                                bool *is_taken,
                                int64_t *devices) {
  int64_t count = plan->num_devices;
  gain_walk walk = {.plan = plan, .fn = note_best};
  for (int64_t part = 0; part < count; ++part) {
    RLO_TRY(visit_gains(&walk, part));
    claims[part] = (claim){.part = part, .gain = walk.best_gain};
    devices[part] = -1;
  }
  qsort(claims, (size_t)count, sizeof *claims, compare_claims);
  walk.is_taken = is_taken;
  for (int64_t k = 0; k < count && claims[k].gain > 0; ++k) {
    RLO_TRY(visit_gains(&walk, claims[k].part));
    if (walk.best_device >= 0) {
      devices[claims[k].part] = walk.best_device;
      is_taken[walk.best_device] = true;
    }
  }
  assign_rest(count, is_taken, devices);
  int64_t gained;
  int64_t gained_before;
  RLO_TRY(sum_gains(plan, devices, &gained));
  RLO_TRY(sum_gains(plan, NULL, &gained_before));
  for (int64_t part = 0; part < count && gained <= gained_before; ++part) {
    devices[part] = part;
  }
  return RLO_OK;
}

static rlo_status relabel_greedily(const rlo_redistribution *plan,
                                   int64_t *out_devices) {
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

rlo_status rlo_redistribution_relabel(const rlo_redistribution *plan,
                                      int64_t *out_devices) {
  RLO_REQUIRE(plan, out_devices);
  return plan->num_devices <= RLO_RELABEL_MAX_EXACT_DEVICES
             ? relabel_exactly(plan, out_devices)
             : relabel_greedily(plan, out_devices);
}
