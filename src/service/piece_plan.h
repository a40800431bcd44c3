/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PIECE_PLAN_H
#define RLO_SERVICE_PIECE_PLAN_H

#include "ir/piece.h"
#include "relayout/storage.h"

/**
 * How a problem is cut. On two levels: a *box* is a part of the problem whose
 * bytes are gathered in host memory on one side, so that the runs on that side
 * are long; a *piece* is a part of a box, whose bytes on the other side are in
 * memory too, and which is run at once. With a gathered destination, the pieces
 * of a box are read and run one by one into the box, which is then written;
 * with a gathered source it is read, and its pieces are run and written one by
 * one.
 */
typedef struct rlo__piece_plan {
  /** Canonical. Units of less than a byte are joined to bytes where they can
   *  be, but no wider ones, which ask for alignment: a piece that is planned
   *  for a device is widened as its memory allows. */
  rlo_problem problem;
  rlo__problem_side gathered;
  /** Extents of a box and of a piece, for each axis of the problem: a piece's
   *  are at most its box's, which are at most the problem's. Boxes and pieces
   * at the upper edges are smaller. */
  int64_t box[RLO_MAX_AXES];
  int64_t piece[RLO_MAX_AXES];
  /** The largest that a box's and a piece's packed bytes can be, on each side:
   *  [RLO__SIDE_SOURCE], [RLO__SIDE_DESTINATION]. */
  int64_t box_bytes[2];
  int64_t piece_bytes[2];
  int64_t num_boxes, num_pieces;
  /** The runs of the two sides, in bytes, but at edges: the length in which
   *  most bytes are moved. */
  int64_t read_run_bytes, write_run_bytes;
  /** Bytes of the footprints, summed over all boxes on the gathered side and
   *  over all pieces on the other. At most that, where more than some hundred
   *  of them differ by guards or quotients. */
  int64_t bytes_read, bytes_written;
} rlo__piece_plan;

/** What a plan of pieces may use. */
typedef struct rlo__piece_budget {
  /** Host memory of the job, in bytes: two boxes, of the gathered side only,
   * and for each slot a piece, of the other side only. */
  int64_t host_bytes;
  /** Of a piece, both sides together: what fits into a device's budget several
   *  times; INT64_MAX on the host. */
  int64_t piece_bytes;
  /** How many pieces are in flight at once; at least 1. */
  int32_t num_slots;
  /** Whether a side lies in host memory, where its bytes are taken and left
   *  without staging. Then such a side is the gathered one, each of its boxes
   * is one piece, and only the other side's pieces are staged. */
  bool is_memory[2];
  /** The most that a box should have on the gathered side; 0: no limit. It is
   *  exceeded where no smaller box is possible. */
  int64_t box_bytes;
} rlo__piece_budget;

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
 *         that suffices; RLO_UNSUPPORTED for a problem that loads, sums, or
 * adds to its destination, for one whose pieces would share bytes and that is
 * larger than the budget, and for granules that no cut keeps; or what
 * rlo_problem_canonicalize returns. Threads: safe (pure).
 */
RLO_NODISCARD rlo_status rlo__piece_plan_make(const rlo_problem *problem,
                                              const rlo_storage_traits *src,
                                              const rlo_storage_traits *dst,
                                              const rlo__piece_budget *budget,
                                              rlo__piece_plan *out);

/** The staging memory that executing the plan takes, in bytes: two boxes, or
 *  the only one, and min(num_slots, num_pieces) pieces. At most host_bytes for
 *  the budget that the plan was made for. */
int64_t rlo__piece_plan_host_bytes(const rlo__piece_plan *plan,
                                   const rlo__piece_budget *budget);

/** Box number `box`, in the order in which the gathered side's memory is passed
 *  through: a problem over the whole memories. */
RLO_NODISCARD rlo_status rlo__piece_plan_box(const rlo__piece_plan *plan,
                                             int64_t box,
                                             rlo_problem *out);

/** How many pieces a box has. */
int64_t rlo__piece_plan_num_pieces(const rlo__piece_plan *plan, int64_t box);

/** Piece number `piece` of a box, in the order in which the other side's memory
 *  is passed through: a problem over the whole memories. */
RLO_NODISCARD rlo_status rlo__piece_plan_piece(const rlo__piece_plan *plan,
                                               int64_t box,
                                               int64_t piece,
                                               rlo_problem *out);

/** Piece number `piece` of a box, cut out of the box: of what
 *  rlo__piece_plan_box gave, in which sides may have been moved into packed
 *  memory since. */
RLO_NODISCARD rlo_status rlo__piece_plan_cut(const rlo__piece_plan *plan,
                                             int64_t box,
                                             int64_t piece,
                                             const rlo_problem *box_problem,
                                             rlo_problem *out);

#endif
