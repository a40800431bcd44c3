/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHARD_SHARDING_H
#define RLO_SHARD_SHARDING_H

#include <stdatomic.h>

#include "base/hash.h"
#include "relayout/sharding.h"

struct rlo_sharding {
  atomic_int references;
  rlo_sharding_kind kind;
  /** The result of rlo_sharding_num_devices. */
  int64_t num_devices;
  /** TILED: the grid; its iota is canonical. */
  rlo_sharding_tiles tiles;
  /** TILED: tiles.devices, owned. */
  int64_t *devices;
  /** TILED: the cell of each device, the inverse of tiles.devices. */
  int64_t *cells;
  /** BOXES: one for each device. */
  rlo_box *boxes;
};

/** The word of a kind that has no parameters, as XLA has it; NULL for another kind. */
const char *rlo__sharding_word(rlo_sharding_kind kind);

/** Writes the list of a TILED sharding's devices as iota, if it is one. */
rlo_status rlo__sharding_shorten(rlo_sharding *sharding);

/** Adds what a sharding means: equal for two that give each device the same. */
void rlo__sharding_hash(const rlo_sharding *sharding, rlo__hash *hash);

#endif
