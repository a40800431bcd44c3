/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHARD_HOLDING_H
#define RLO_SHARD_HOLDING_H

#include <stdbool.h>

#include "shard/sharding.h"

/* ------------------------------------------------------------------- boxes */

/** The number of elements, which fits 64 bits within an array; 0 if a start is
 *  not below its limit. */
int64_t rlo__box_count(const rlo_box *box);

/** Orders boxes by their starts, then by their limits: -1, 0 or 1. */
int rlo__box_compare(const rlo_box *a, const rlo_box *b);

/** The common part of two boxes. */
rlo_box rlo__box_intersect(const rlo_box *a, const rlo_box *b);

/* ---------------------------------------------------------------- holdings */

/** The place of a device in the tiles. */
typedef struct rlo__holder {
  /** -1: the device holds no tile. */
  int64_t tile;
  int64_t addend;
  int64_t copy;
} rlo__holder;

/**
 * Who holds what of one array: its tiles, which are disjoint boxes, and the
 * devices of each. Where the devices of a tile hold summands, `addends` of them
 * make up its elements, each held by as many copies.
 */
typedef struct rlo__holding {
  const rlo_sharding *sharding;
  int64_t num_devices;
  int32_t rank, grid_rank;
  int64_t dims[RLO_MAX_RANK];
  /** Tiles along each dimension, and their width; one, where the sharding has
   *  no grid. BOXES: a line of tiles, each a distinct box. */
  int64_t counts[RLO_MAX_RANK];
  int64_t widths[RLO_MAX_RANK];
  int64_t num_addends;
  /** BOXES: the devices, by box; where the devices of each distinct box begin,
   *  and end with num_devices; the place of each device. Owned. Empty boxes
   *  are of no tile. */
  int64_t *order;
  int64_t *begins;
  rlo__holder *holders;
} rlo__holding;

/** A tile, as rlo__tile_walk finds it. */
typedef struct rlo__held_tile {
  int64_t tile;
  /** The part of it within the box that was asked for; not empty. */
  rlo_box box;
  int64_t num_copies;
} rlo__held_tile;

/** A walk over the tiles that a box meets, in row-major order. */
typedef struct rlo__tile_walk {
  const rlo__holding *holding;
  rlo_box box;
  /** The tiles first..last along each dimension of the grid, and the next one.
   */
  int64_t first[RLO_MAX_RANK], last[RLO_MAX_RANK], next[RLO_MAX_RANK];
  bool is_done;
} rlo__tile_walk;

/** Prepares a holding of arrays of this shape, for which the sharding was
 *  validated. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__holding_init(const rlo_sharding *sharding, const rlo_shape *shape,
                                           int64_t num_devices, rlo__holding *out_holding);

/** Frees what a holding owns. Legal on zeroed storage. */
void rlo__holding_deinit(rlo__holding *holding);

/** Finds a device's place. */
rlo__holder rlo__holding_find(const rlo__holding *holding, int64_t device);

/** The number of copies of each addend of a tile. */
int64_t rlo__holding_count_copies(const rlo__holding *holding, int64_t tile);

/** The device that holds this copy of an addend of a tile. */
int64_t rlo__holding_device(const rlo__holding *holding, int64_t tile, int64_t addend,
                            int64_t copy);

/** The box of a tile. */
rlo_box rlo__holding_tile_box(const rlo__holding *holding, int64_t tile);

/** Begins a walk over the tiles that `box` meets. */
void rlo__tile_walk_begin(rlo__tile_walk *walk, const rlo__holding *holding, const rlo_box *box);

/** Finds the next tile; false after the last one. */
bool rlo__tile_walk_next(rlo__tile_walk *walk, rlo__held_tile *out_tile);

/** The number of copies, of one addend each, that a walk which has just begun
 *  will find before this copy of this tile; -1 if it will not find the tile. */
int64_t rlo__tile_walk_count_before(const rlo__tile_walk *walk, int64_t tile, int64_t copy);

#endif
