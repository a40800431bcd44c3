/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PIECE_GRID_H
#define RLO_SERVICE_PIECE_GRID_H

#include <stdbool.h>

#include "ir/piece.h"

/**
 * The cuts of a problem's box on two levels: axis a is cut into boxes of
 * `box[a]`, and each box into pieces of `piece[a]`, which is at most box[a]; at
 * the upper edge of the axis, or of a box, they are smaller. Borrowed arrays.
 */
typedef struct rlo__piece_grid {
  const rlo_problem *problem;
  /** The granules and the bytes of the storages, which may be longer than the
   * memories: [RLO__SIDE_SOURCE], [RLO__SIDE_DESTINATION]. */
  int64_t granule_bytes[2], storage_bytes[2];
  const int64_t *box, *piece;
} rlo__piece_grid;

/** The number of pieces along an axis, of all boxes together. */
int64_t rlo__grid_num_parts(const rlo__piece_grid *grid, int32_t axis);

/** The number of pieces. @return RLO_OK; RLO_OVERFLOW. */
RLO_NODISCARD rlo_status rlo__grid_count(const rlo__piece_grid *grid, int64_t *out_count);

/** A part of an axis, or of what else is numbered. */
typedef struct rlo__range {
  int64_t begin, end;
} rlo__range;

/** The indices of piece number `part` along an axis. */
rlo__range rlo__grid_part(const rlo__piece_grid *grid, int32_t axis, int64_t part);

/** Orders the axes by how far they step in a side's memory, the shortest first;
 *  of a step through a quotient the mean counts. `out_steps` may be NULL. */
void rlo__grid_rank_axes(const rlo_problem *problem, rlo__problem_side side,
                         int32_t out_axes[RLO_MAX_AXES], double out_steps[RLO_MAX_AXES]);

/** The source's step for one step of a form while its quotient stays; 0 if it is not
 *  the same along all axes. */
int64_t rlo__grid_inner_step(const rlo_problem *problem, const rlo_form *form);

/** The least number of bits that is whole in units of a side and in bytes. */
int64_t rlo__grid_whole_bits(const rlo_problem *problem, rlo__problem_side side);

/** The least number of bytes that is whole in granules and in units of a side. */
int64_t rlo__grid_wide_granule(const rlo_problem *problem, rlo__problem_side side,
                               int64_t granule_bytes);

/**
 * The bytes of a part of a problem that are transferred, in whole granules of the
 * storage: the lattice of rlo__problem_packing(), or of the source the run of
 * granules that holds its span, and of the destination the granules of what it would
 * write without guards.
 * @param is_of_chunk  the part is a piece of chunks: its span is looked at in any case.
 * @return what rlo__problem_packing returns.
 */
RLO_NODISCARD rlo_status rlo__grid_moved(const rlo_problem *part, rlo__problem_side side,
                                         int64_t granule_bytes, int64_t storage_bytes,
                                         bool is_of_chunk, rlo__lattice *out);

/** Fills what a part writes up to whole granules, where the part is linear in that
 *  packed memory; else leaves it. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__grid_fill(const rlo_problem *part, int64_t granule_bytes,
                                        int64_t storage_bytes, rlo__lattice *lattice);

/** Drops the guards that depend on an axis along which the destination steps by
 *  granules: without them the parts of one extent are alike. */
void rlo__grid_drop_guards(rlo_problem *problem, int64_t granule_bytes);

/** The least number of steps along an axis that are whole granules and bytes on
 *  both sides; at most its extent. */
int64_t rlo__grid_atom(const rlo__piece_grid *grid, int32_t axis);

/** Tells if no two parts of these extents share a byte of the destination, as
 *  far as strides prove it: of the steps inside of parts and between them, each
 *  is at least what all shorter ones span, and if the parts have hulls, all
 * steps inside of parts are shorter than those between. The extents are
 * multiples of one whose steps are whole bytes. False may also mean that
 * strides do not decide it. */
bool rlo__grid_writes_apart(const rlo_problem *problem, const int64_t *part, bool has_hulls);

/* The tallies are of piece_tally.c. */

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
RLO_NODISCARD rlo_status rlo__grid_tally(const rlo__piece_grid *grid, rlo__problem_side side,
                                         rlo__tally *out);

/** The same for both sides. */
RLO_NODISCARD rlo_status rlo__grid_tally_both(const rlo__piece_grid *grid, rlo__tally out[2]);

#endif
