/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PIECE_TALLY_H
#define RLO_SERVICE_PIECE_TALLY_H

#include "service/piece_grid.h"

/** rlo__problem_packing() of all pieces of a grid on one side. */
typedef struct rlo__tally {
  /** Summed over the pieces, and of the largest. Bounds where more than some
   *  hundred pieces differ by guards or quotients. INT64_MAX beyond 64 bits. */
  int64_t sum_bytes, max_bytes;
  /** The length of the runs of the pieces that have most bytes together, of
   *  those that are alike. */
  int64_t run_bytes;
  /** All runs begin and end at granules, or end with the storage. */
  bool is_granular;
  /** Some of the lattices are hulls, or may be. */
  bool has_hulls;
} rlo__tally;

/** Adds the footprints on a side up, without visiting each piece.
 *  @return RLO_OK, or what rlo__problem_packing returns for a piece. */
RLO_NODISCARD rlo_status rlo__grid_tally(const rlo__piece_grid *grid,
                                         rlo__problem_side side,
                                         rlo__tally *out);

/** The same for both sides. */
RLO_NODISCARD rlo_status rlo__grid_tally_both(const rlo__piece_grid *grid,
                                              rlo__tally out[2]);

#endif
