/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GPU_COST_H
#define RLO_PLAN_GPU_COST_H

#include <stdint.h>

/** The rate that a launch of the GPU class may reach: set by the slowest of
 *  memory, the instructions that a multiprocessor issues, and its waits. */

/** Bytes of a sector, the least that memory moves. */
#define RLO__GPU_SECTOR_BYTES 32

/** The inner loops of the kernels. */
typedef enum rlo__gpu_loop {
  RLO__GPU_COPY,
  RLO__GPU_ROWS,
  /** Rows of bytes that begin anywhere: two words for one. */
  RLO__GPU_ROWS_SHIFTED,
  /** Each piece decodes the grid. */
  RLO__GPU_ROWS_FLAT,
  /** A lane moves a piece of each stream; a move is that of a part of a unit. */
  RLO__GPU_SKINNY,
  RLO__GPU_TILE,
  RLO__GPU_TILE_SQUARES,
  RLO__GPU_PACKED,
  RLO__GPU_COMPUTE_ROWS,
  RLO__GPU_COMPUTE_TILE,
  RLO__GPU_NUM_LOOPS
} rlo__gpu_loop;

/** A group. What "a lane" does is the mean of all, where the block is whole. */
typedef struct rlo__gpu_group {
  rlo__gpu_loop loop;
  /** Work-items, and bytes of local memory. */
  int64_t items;
  int64_t local_bytes;
  /** Bytes read and written together. */
  double bytes;
  /** The share of all blocks that is inside of the problem's box, > 0: the rest
   *  moves nothing, but lanes and places count it. */
  double fullness;
  /** Results of rlo__gpu_sector_share, > 0. */
  double src_share;
  double dst_share;
  int32_t num_grid_axes;
  int32_t num_guards;
  /** Axes whose last block overhangs (packed). */
  int32_t num_ends;
  /** Places that a lane finds in a block of so many axes (packed). */
  double finds;
  double find_axes;
  /** Pieces that a lane moves: through local memory each twice, from memory and
   *  to it. */
  double moves;
  /** Bytes that a lane has asked for at a time. */
  double flight_bytes;
  /** Rounds in which the banks of local memory serve the group (packed: others
   *  have no conflicts, and do not wait for it). */
  double bank_rounds;
} rlo__gpu_group;

/** The fraction of the copy limit that launches of such groups may reach. */
double rlo__gpu_rate(const rlo__gpu_group *group);

/**
 * The mean share of a run's bytes in the 32-byte sectors that memory moves for
 * it.
 *
 * @param begin_bytes  power of two, at most 32, that divides the addresses at
 *                     which runs begin.
 */
double rlo__gpu_sector_share(int64_t run_bytes, int64_t begin_bytes);

#endif
