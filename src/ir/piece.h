/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_PIECE_H
#define RLO_IR_PIECE_H

#include "ir/footprint.h"

/**
 * A piece of a problem is a problem: a part of its box, and the same problem
 * over packed memory that holds the bytes of its footprint only.
 */

/**
 * The part of a problem where begins[a] <= i_a < ends[a], for every axis a,
 * counted from 0. Both memories keep their sizes. Exact: pieces that have each
 * point of the box once, run in any order, have the effect of the problem, bit
 * for bit.
 * read_bytes and written_bytes become the piece's: exact where positions are
 * distinct and no axis is in two guards, else more; at most what they were.
 *
 * @param begins, ends  an entry for each axis, 0 <= begin <= end <= extent.
 * @param out  untouched on failure; may be `problem`.
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_UNSUPPORTED for a cut that may change
 *         the order of a sum: of a reduction axis, of an axis that a guard or a
 *         quotient ties to one, of any axis of a sequential problem;
 *         RLO_OVERFLOW; or what rlo__problem_validate returns.
 */
RLO_NODISCARD rlo_status rlo__problem_restrict_box(const rlo_problem *problem,
                                                   const int64_t *begins, const int64_t *ends,
                                                   rlo_problem *out);

/** Finds the axes that rlo__problem_restrict_box cuts, alone or together. */
void rlo__problem_find_free_axes(const rlo_problem *problem, bool out_is_free[RLO_MAX_AXES]);

/** Like rlo__problem_restrict_box, for a single axis. @return also
 *  RLO_INVALID_ARGUMENT for no axis of the problem. */
RLO_NODISCARD rlo_status rlo__problem_restrict(const rlo_problem *problem, int32_t axis,
                                               int64_t begin, int64_t end, rlo_problem *out);

/**
 * Restricts a problem to the points where a quotient has a value: a SKIP guard
 * says which these are, and the value takes the place of the term.
 * @param term  the number of a term of kind QUOTIENT. That of later terms falls.
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_GUARDS; RLO_OVERFLOW. On
 *         failure *problem may be half changed.
 */
RLO_NODISCARD rlo_status rlo__problem_fix_quotient(rlo_problem *problem, int32_t term,
                                                   int64_t value);

/**
 * The same problem with one side in packed memory that holds the bytes of a
 * lattice. Always succeeds for the hull of the side's footprint.
 *
 * @param lattice  holds all bytes that the problem touches on this side: its
 *                 footprint, or one that contains it.
 * @param out  not in canonical form even if `problem` is; untouched on failure;
 *             may be `problem`.
 * @return RLO_OK; RLO_UNSUPPORTED if the position in packed memory is not
 *         linear in the axes, or if packing might change the order of a sum:
 *         the lattice's hull has neither; else what rlo__problem_footprint
 *         returns.
 */
RLO_NODISCARD rlo_status rlo__problem_rebase(const rlo_problem *problem, rlo__problem_side side,
                                             const rlo__lattice *lattice, rlo_problem *out);

/**
 * The lattice to pack a side by: its footprint, or the hull of that where
 * rlo__problem_rebase would refuse the footprint.
 * @param out_is_hull  whether the hull has more bytes than the footprint.
 * @return what rlo__problem_footprint and rlo__problem_rebase return.
 */
RLO_NODISCARD rlo_status rlo__problem_packing(const rlo_problem *problem, rlo__problem_side side,
                                              rlo__lattice *out, bool *out_is_hull);

/**
 * Like rlo__problem_packing, in memory without bounds: where guards skip
 * points, the lattice may reach beyond the side's memory, before byte 0 too, by
 * bytes that are not touched. So the lattice does not depend on where in the
 * memory the points lie, and the end of the memory never makes it a hull.
 * @param problem  changed meanwhile, and restored.
 */
RLO_NODISCARD rlo_status rlo__problem_packing_unbounded(rlo_problem *problem,
                                                        rlo__problem_side side, rlo__lattice *out,
                                                        bool *out_is_hull);

#endif
