/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PIECE_PLAN_H
#define RLO_SERVICE_PIECE_PLAN_H

#include <math.h>

#include "ir/piece.h"
#include "relayout/storage.h"
#include "service/piece_grid.h"

/** A quotient by whose values pieces are cut, and the least and the greatest value
 *  of its form at points that are not skipped. */
typedef struct rlo__piece_quotient {
  int32_t term;
  int64_t min, max;
} rlo__piece_quotient;

/**
 * How a problem is cut. On two levels: a *box* is a part of the problem whose
 * bytes are gathered in host memory on one side, so that the runs on that side
 * are long; a *piece* is a part of a box, whose bytes on the other side are in
 * memory too, and which is run at once. With a gathered destination, the pieces
 * of a box are read and run one by one into the box, which is then written;
 * with a gathered source it is read, and its pieces are run and written one by
 * one.
 *
 * Where both orders have nothing but short runs in common, a problem is moved
 * by two plans. The first gathers boxes of the source and leaves each piece as
 * a *tile*: its bytes of the destination, one after the other. The destination
 * is divided into *bands*, which are contiguous parts of it; the tiles of a
 * band follow each other where the second band after it belongs. The second
 * plan reads the tiles of a band, whose pieces are copies now, into a box, and
 * writes it to its place. So a band's tiles are intact until the second band
 * after it is written.
 */
typedef struct rlo__piece_plan {
  /** Canonical, but of chunks. Units of less than a byte are joined to bytes where they can
   *  be, but no wider ones, which ask for alignment: a piece that is planned
   *  for a device is widened as its memory allows. */
  rlo_problem problem;
  rlo__problem_side gathered;
  /** Extents of a box and of a piece, for each axis of the problem: a piece's
   *  are at most its box's, which are at most the problem's. Boxes and pieces
   * at the upper edges are smaller. */
  int64_t box[RLO_MAX_AXES];
  int64_t piece[RLO_MAX_AXES];
  /** Where two grids of chunks do not divide each other, a quotient numbers the
   *  source's chunks along an index: the points of a piece have one value of
   *  each of these. Later terms first. */
  int32_t num_quotients;
  rlo__piece_quotient quotients[RLO_MAX_TERMS];
  /** The largest that a box's and a piece's packed bytes can be, on each side:
   *  [RLO__SIDE_SOURCE], [RLO__SIDE_DESTINATION]. */
  int64_t box_bytes[2];
  int64_t piece_bytes[2];
  int64_t num_boxes, num_pieces;
  /** Made by rlo__piece_plan_chunks(): gathers the destination, and the host runs
   *  the pieces, which write between the bytes of others. */
  bool is_of_chunks;
  /** The runs of the two sides, in bytes, but at edges: the length in which
   *  most bytes are moved. */
  int64_t read_run_bytes, write_run_bytes;
  /** Bytes of the footprints, summed over all boxes on the gathered side and
   *  over all pieces on the other. At most that, where more than some hundred
   *  of them differ by guards or quotients, where one begins within a granule that it
   *  reads, where guards skip all points of one that would write granules, and in memory. */
  int64_t bytes_read, bytes_written;
  /** Sides that are tiles: the destination of the first of two plans, the
   * source of the second. */
  bool is_tiled[2];
  /** The extents of a band. */
  int64_t band[RLO_MAX_AXES];
  /** Bytes of scratch that two plans use: how far behind the place of a band its tiles
   *  begin, two bands; or, in the first plan, the intermediate. */
  int64_t shift_bytes;
} rlo__piece_plan;

/** The memory that a plan of pieces may use. */
typedef struct rlo__piece_budget {
  /** Staging memory, in bytes: besides that of the indices, so that it may be
   *  below 0. */
  int64_t host_bytes;
  /** Memory of the indices, for messages. */
  int64_t index_bytes;
  /** Each box and each slot takes a multiple of this; at least 1. */
  int64_t alignment_bytes;
  /** Bytes of a piece, both sides together: what fits into a device's budget
   * several times; INT64_MAX on the host. */
  int64_t piece_bytes;
  /** Bytes of a box that is staged, on the gathered side; at least piece_bytes.
   *  What a device can use where it lies; INT64_MAX where none does. */
  int64_t box_bytes;
  /** How many pieces are in flight at once, if the memory suffices; at least 1.
   */
  int32_t num_slots;
  /** Tells if a side lies in host memory, where its bytes are taken and left
   *  without staging. Then such a side is the gathered one, each of its boxes
   * is one piece, and only the other side's pieces are staged. */
  bool is_memory[2];
  /** Pieces are copied to a device and back: a slot holds their source, then
   *  their destination. */
  bool copies;
  /** Bytes behind the destination's, or of an intermediate, that two plans may use. */
  int64_t scratch_bytes;
} rlo__piece_budget;

/** The staging memory that executing a plan takes. */
typedef struct rlo__staging {
  /** Boxes that are in work at once: two, or the only one; one where a job that is
   *  resumed has too little for two. Their bytes are of
   *  the gathered side; 0 if that is in memory. */
  int32_t num_boxes;
  int64_t box_bytes;
  /** Pieces in flight: the other side's bytes; 0 if that is in memory. */
  int32_t num_slots;
  int64_t slot_bytes;
  /** Bytes of all boxes and slots. */
  int64_t bytes;
} rlo__staging;

/**
 * The time of a transfer in runs of `run_bytes`, divided by that of the same
 * bytes in long runs: 1 or more. A run of `good_bytes`, a storage's trait,
 * costs 1.08, a quarter of it 1.9, a sixteenth 6.5: the shape of reads and
 * writes of a solid-state disk with eight in flight.
 */
static inline double rlo__run_cost(int64_t run_bytes, int64_t good_bytes) {
  return run_bytes > 0 ? hypot(1.0, 0.4 * (double)good_bytes / (double)run_bytes) : 1.0;
}

/** The time of all transfers of a plan, in bytes of long runs. `good_bytes` is
 *  of the two storages; 0: runs of any length are good. */
static inline double rlo__piece_plan_cost(const rlo__piece_plan *plan,
                                          const int64_t good_bytes[2]) {
  return (double)plan->bytes_read * rlo__run_cost(plan->read_run_bytes, good_bytes[0]) +
         (double)plan->bytes_written * rlo__run_cost(plan->write_run_bytes, good_bytes[1]);
}

/** The same of two passes. */
static inline double rlo__piece_plans_cost(const rlo__piece_plan plans[2],
                                           const int64_t good_bytes[2]) {
  return rlo__piece_plan_cost(&plans[0], good_bytes) + rlo__piece_plan_cost(&plans[1], good_bytes);
}

/**
 * Cuts a problem into boxes and pieces. A side of either is packed by the
 * lattice of rlo__problem_packing(), which is what the plan counts; a piece of
 * what lies packed in a box is rebased with the box's lattice. No two pieces
 * write one byte, nor do the footprints of two boxes or two pieces share one,
 * with what is between units that are written: they can be read, changed and
 * written back side by side.
 *
 * @param problem  one without points has a plan without boxes.
 * @param src, dst  with all defaults in place (rlo_storage_get_traits); not
 * used for a side in memory.
 * @param out  about 40 KiB; untouched on failure.
 * @return RLO_OK; RLO_OUT_OF_RANGE if the budget is too small, naming the least
 *         that suffices; RLO_UNSUPPORTED for a problem whose pieces would share
 *         bytes and that is larger than the budget, and for granules that no
 * cut keeps; or what
 * rlo_problem_canonicalize returns. Threads: safe (pure).
 */
RLO_NODISCARD rlo_status rlo__piece_plan_make(const rlo_problem *problem,
                                              const rlo_storage_traits *src,
                                              const rlo_storage_traits *dst,
                                              const rlo__piece_budget *budget,
                                              rlo__piece_plan *out);

/**
 * Cuts a problem for two passes.
 * @param out  the plans of the first and of the second pass.
 * @return RLO_OK; RLO_OUT_OF_RANGE if the budget is too small; RLO_UNSUPPORTED
 *         for a problem that does not write each byte of the destination once
 *         or reads it, for one that loads indices,
 *         where a side is in memory, and for granules of the destination; or
 *         what rlo__piece_plan_make returns. Threads: safe (pure).
 */
RLO_NODISCARD rlo_status rlo__piece_plan_make_two(const rlo_problem *problem,
                                                  const rlo_storage_traits *src,
                                                  const rlo_storage_traits *dst,
                                                  const rlo__piece_budget *budget,
                                                  rlo__piece_plan out[2]);

/**
 * Cuts a problem for two passes through an intermediate that is as long as what is read:
 * each chunk of the source is read once, by the first pass.
 * @param mid     the intermediate, of granules of a byte.
 * @param offset  where it begins there, in bytes; it ends after `budget->scratch_bytes`
 *                more at most.
 * @param out  the plans of the first and of the second pass.
 * @return RLO_OK; RLO_OUT_OF_RANGE if the scratch or the budget is too small;
 *         RLO_UNSUPPORTED for a problem that sums, loads, or reads its destination, where
 *         a side is in memory or has an order; or what rlo__piece_plan_make returns.
 *         Threads: safe (pure).
 */
RLO_NODISCARD rlo_status rlo__piece_plan_make_between(const rlo_problem *problem,
                                                      const rlo_storage_traits *src,
                                                      const rlo_storage_traits *dst,
                                                      const rlo_storage_traits *mid, int64_t offset,
                                                      const rlo__piece_budget *budget,
                                                      rlo__piece_plan out[2]);

/**
 * Cuts a problem into boxes of whole granules of the destination, and those into
 * pieces that each read the granules of one chunk of the source, so that two of
 * one box never read the same. Boxes are those with which the fewest chunks are
 * read again, within the budget's host memory.
 *
 * @param grid  of a problem as it was lowered, which is not empty, without boxes
 *              and pieces.
 * @param out_least_bytes  the least host memory that suffices; INT64_MAX if
 *                 chunks cannot be told.
 * @param out  untouched without a plan.
 * @return RLO_OK, also without a plan; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__piece_plan_chunks(const rlo__piece_grid *grid,
                                                const rlo__piece_budget *budget,
                                                int64_t *out_least_bytes, bool *out_is_found,
                                                rlo__piece_plan *out);

static inline rlo__problem_side rlo__other_side(rlo__problem_side side) {
  return side == RLO__SIDE_SOURCE ? RLO__SIDE_DESTINATION : RLO__SIDE_SOURCE;
}

/** Writes all of a plan but its problem and what is about tiles.
 *  @param grid  its boxes and pieces.
 *  @param boxes, pieces  the tallies of both sides.
 *  @return RLO_OK; RLO_OVERFLOW. */
RLO_NODISCARD rlo_status rlo__piece_plan_write(const rlo__piece_grid *grid,
                                               rlo__problem_side gathered,
                                               const rlo__tally boxes[2],
                                               const rlo__tally pieces[2], rlo__piece_plan *plan);

/** Its bytes are at most host_bytes for the budget that the plan was made for,
 *  and the least that executing the plan takes for a budget of 0. */
rlo__staging rlo__piece_plan_staging(const rlo__piece_plan *plan, const rlo__piece_budget *budget);

/** Box number `box`, in the order in which the gathered side's memory is passed
 *  through: a problem over the whole memories. */
RLO_NODISCARD rlo_status rlo__piece_plan_box(const rlo__piece_plan *plan, int64_t box,
                                             rlo_problem *out);

/** Returns how many pieces a box has. */
int64_t rlo__piece_plan_num_pieces(const rlo__piece_plan *plan, int64_t box);

/** Piece number `piece` of a box, in the order in which the other side's memory
 *  is passed through, cut out of the box: of what rlo__piece_plan_box gave, in
 * which sides may have been moved into packed memory since. If the source is
 * tiled, the piece is the copy of its tile, which is its whole source, to the
 * destination. */
RLO_NODISCARD rlo_status rlo__piece_plan_cut(const rlo__piece_plan *plan, int64_t box,
                                             int64_t piece, const rlo_problem *box_problem,
                                             rlo_problem *out);

/** Returns where the tile of a piece begins, in bytes of the destination's
 * memory; it is as long as the piece's part of the destination. A side is
 * tiled. */
int64_t rlo__piece_plan_tile(const rlo__piece_plan *plan, int64_t box, int64_t piece);

#endif
