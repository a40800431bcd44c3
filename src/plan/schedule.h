/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SCHEDULE_H
#define RLO_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/** In which order work-groups go through a problem. */
typedef enum rlo__grid_order {
  /** As the family has it: on CPUs, neighbours in the source follow each other.
   */
  RLO__GRID_ORDER_OWN = 0,
  /** Neighbours in the destination follow each other. */
  RLO__GRID_ORDER_DST,
  /** All of a plane before the next plane, each in the source's order. */
  RLO__GRID_ORDER_PLANE
} rlo__grid_order;

/** How destination lines are stored. */
typedef enum rlo__stores {
  /** Past the caches where the family thinks that it pays. */
  RLO__STORES_OWN = 0,
  RLO__STORES_PLAIN,
  /** Past the caches where the family can prove it safe, however little. */
  RLO__STORES_NONTEMPORAL
} rlo__stores;

/**
 * One schedule for a family to run a problem, beside its own: knobs, of which a
 * family reads those that it has. Zeros leave the family alone. A schedule
 * never changes what is written, and a knob that a family lacks changes
 * nothing, so every schedule is legal for every family.
 */
typedef struct rlo__schedule {
  /** As wisdom and `--schedule` have it: once given, it keeps its meaning. */
  const char *name;
  rlo__grid_order order;
  rlo__stores stores;
  bool has_no_prefetch;
  /** A tile's sides, in lines along a and along b; 0: the family's own. */
  int32_t tile_a_lines;
  int32_t tile_b_lines;
  /** What one group moves, as a power of two of what the family gives it. */
  int32_t group_log2;
} rlo__schedule;

/**
 * All schedules; the first is the families' own. Those that need no program of
 * their own, and then those that won most often when they were measured, stand
 * first: a search that runs out of time has tried them.
 */
extern const rlo__schedule rlo__schedules[];
extern const int32_t rlo__num_schedules;

/** For people: "input order" for the families' own. Static. */
const char *rlo__grid_order_name(rlo__grid_order order);

/** A schedule by its name (not NULL); NULL if there is none. */
const rlo__schedule *rlo__schedule_find(const char *name);

/** What a schedule makes of the bytes that a family gives a group: at least 1.
 */
int64_t rlo__schedule_group_bytes(const rlo__schedule *schedule,
                                  int64_t own_bytes);

#endif
