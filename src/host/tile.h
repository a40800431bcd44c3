/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_TILE_H
#define RLO_HOST_TILE_H

#include "host/nest.h"

/** Where a tile is assembled before it is stored past the caches, and one of units below a byte
 *  is unpacked, with some of its columns behind. */
#define RLO__HOST_STAGE_BYTES (320 * 1024)

struct rlo__host_workspace {
  /** Positions of the tile's rows in the source, of its columns in the
   *  destination, and of both in the stage. */
  int64_t rows[RLO__HOST_MAX_TILE + RLO__HOST_LINE_BYTES];
  int64_t columns[RLO__HOST_MAX_TILE];
  int64_t staged_columns[RLO__HOST_MAX_TILE];
  int64_t staged_rows[RLO__HOST_MAX_TILE];
  /** Places of operands that the tile's rows and columns add. */
  int64_t operand_rows[RLO__HOST_MAX_TILE + RLO__HOST_LINE_BYTES];
  int64_t operand_columns[RLO__HOST_MAX_TILE];
  rlo__host_operands operands;
  /** How bytes are shuffled, and what is left of the last period, before and after. */
  rlo__host_shuffle shuffle;
  uint8_t masks[RLO__HOST_MAX_MASK_BYTES];
  uint8_t rest[2][RLO__HOST_MAX_PERIOD];
  uint8_t stage[RLO__HOST_STAGE_BYTES + RLO__HOST_LINE_BYTES];
};

/** A tile: ni positions along the source from i0, nj along the destination from
 *  j0. Both memories begin at (i0, j0) and the present chunk of the grain, but
 *  for what `rows` and the workspace's columns add. */
typedef struct rlo__host_tile {
  const rlo__host_nest *nest;
  const rlo__host_kernels *kernels;
  rlo__host_workspace *workspace;
  const uint8_t *src;
  uint8_t *dst;
  /** Where the next tile begins, to be prefetched, if it has the same rows; else NULL. */
  const uint8_t *next_src;
  /** Where the tile begins in `src` and `dst`, which then are whole memories, if units are less
   *  than a byte. */
  int64_t src_at, dst_at;
  /** The nest's. */
  int64_t src_step, dst_step;
  int64_t i0, ni, j0, nj;
  /** The workspace's, some more than nj where there are. */
  const int64_t *rows;
  int64_t grain_bytes;
  /** The operands' place, but for what rows and columns add. */
  int64_t operand;
} rlo__host_tile;

/** Moves a tile. */
void rlo__host_tile_run(const rlo__host_tile *tile);

#endif
