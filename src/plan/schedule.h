/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SCHEDULE_H
#define RLO_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/** Order of the work-groups. */
typedef enum rlo__grid_order {
  /** The family's own: on CPUs, neighbours in the source are consecutive; on
   *  GPUs, plane after plane. */
  RLO__GRID_ORDER_OWN = 0,
  /** Neighbours in the destination are consecutive. */
  RLO__GRID_ORDER_DST,
  /** Plane after plane, each in the order of the source. */
  RLO__GRID_ORDER_PLANE,
  /** Neighbours in the source are consecutive. */
  RLO__GRID_ORDER_SRC,
  /** Diagonals of a plane's tiles, on GPUs; else the family's own. */
  RLO__GRID_ORDER_DIAGONAL
} rlo__grid_order;

/** Stores of destination lines. */
typedef enum rlo__stores {
  /** Non-temporal where the family expects a gain. */
  RLO__STORES_OWN = 0,
  RLO__STORES_PLAIN,
  /** Non-temporal wherever the family can prove alignment. */
  RLO__STORES_NONTEMPORAL
} rlo__stores;

/** A setting of knobs, of which a family reads those that apply to it; zero
 *  stands for the family's own choice. A schedule never changes what is
 *  written, and knobs that do not apply are ignored, so that every schedule is
 *  legal for every family. */
typedef struct rlo__schedule {
  /** The name in wisdom and of `--schedule`. Its meaning never changes. */
  const char *name;
  rlo__grid_order order;
  rlo__stores stores;
  bool has_no_prefetch;
  /** Sides of a tile, in lines along a and along b; 0: the family's own. */
  int32_t tile_a_lines;
  int32_t tile_b_lines;
  /** log2 of the factor by which a group moves more than the family's own. */
  int32_t group_log2;
  /** How often the tiles of GPUs are halved on both sides. */
  int32_t tile_halvings;
  /** Most work-items of a group; 0: the family's own. */
  int32_t max_lanes;
} rlo__schedule;

/** All schedules; the first one is the families' own. Those that need no
 *  program of their own, then those that won most often in measurements, come
 *  first, so that a search that runs out of time has tried them. */
extern const rlo__schedule rlo__schedules[];
extern const int32_t rlo__num_schedules;

/** Name for reports; "input order" for the families' own. Static. */
const char *rlo__grid_order_name(rlo__grid_order order);

/** The schedule of a name (not NULL); NULL if there is none. */
const rlo__schedule *rlo__schedule_find(const char *name);

/** Bytes that a group moves by a schedule, given the family's own: at least 1.
 */
int64_t rlo__schedule_group_bytes(const rlo__schedule *schedule, int64_t own_bytes);

#endif
