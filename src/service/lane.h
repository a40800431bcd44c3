/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_LANE_H
#define RLO_SERVICE_LANE_H

#include "move/move.h"

/**
 * A context that runs pieces, one after the other on a queue of its own: one
 * thread's, which waits for each. Where the device shares the host's memory a
 * piece runs where it lies; else it is copied to buffers and back.
 */
typedef struct rlo__lane {
  rlo__place *place;
  /** Pieces are copied; the memory that they come from and go to may then be
   * the same. */
  bool copies;
  /** Buffers, which stay for the next piece and grow. */
  rlo__free_buffer src, dst, indices;
  /** The number of the indices that their buffer holds; 0: none. */
  uint64_t index_number;
} rlo__lane;

/** Retains the context. @param copies  to buffers and back, whatever the device
 *  is. @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__lane_init(rlo__lane *lane,
                                        rlo_context *context,
                                        bool copies);

/** A zeroed one is legal. */
void rlo__lane_deinit(rlo__lane *lane);

/** Bytes of the buffers. */
int64_t rlo__lane_buffer_bytes(const rlo__lane *lane);

/** Releases the buffers. */
void rlo__lane_trim(rlo__lane *lane);

/** A piece in host memory. */
typedef struct rlo__lane_piece {
  /** NULL for 0 bytes. */
  void *src, *dst;
  int64_t src_bytes, dst_bytes;
  /** The indices that it loads, and a number that only equal ones share. */
  const void *indices;
  int64_t index_bytes;
  uint64_t index_number;
  /** NULL, or puts what the destination holds into `dst`: called after `src`
   * was copied, if the lane copies. */
  rlo_status (*load_gaps)(void *payload);
  void *payload;
} rlo__lane_piece;

/**
 * Runs a move of the lane's place over host memory and waits for it.
 * @return RLO_OK; what rlo_enqueue and rlo_buffer_create return.
 */
RLO_NODISCARD rlo_status rlo__lane_run(rlo__lane *lane,
                                       const rlo__move *move,
                                       const rlo__lane_piece *piece);

#endif
