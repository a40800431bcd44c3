/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_REWRITE_H
#define RLO_IR_REWRITE_H

#include "relayout/problem.h"

/** Edits of a problem that preserve its meaning. Each edits all forms of the
 * problem; canonicalization consists of them. */

/**
 * Appends an axis, of which no form depends yet.
 * @param what, of  the words of the failure: "<what> more than 48 <of>".
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_AXES.
 */
RLO_NODISCARD rlo_status rlo__rewrite_add_axis(rlo_problem *problem, const char *what,
                                               const char *of, int64_t extent, int32_t *out_axis);

/** Appends the guard 0 <= form < limit. @return RLO_OK; RLO_UNSUPPORTED beyond
 *  RLO_MAX_GUARDS: "<what> needs more than 48 guards". */
RLO_NODISCARD rlo_status rlo__rewrite_add_guard(rlo_problem *problem, const char *what,
                                                rlo_guard_kind kind, const rlo_form *form,
                                                int64_t limit);

/** Counts an axis from another point: i becomes i + first, in all forms. The
 *  extent stays. Returns false on overflow. */
bool rlo__rewrite_shift(rlo_problem *problem, int32_t axis, int64_t first);

/**
 * Split an axis at a radix: axis a becomes ceil(extent / radix) steps of
 * `radix`, a new last axis counts 0 .. radix-1. Where the radix does not
 * divide the extent, a SKIP guard cuts the overhang off.
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_AXES or RLO_MAX_GUARDS;
 *         RLO_OVERFLOW. On failure *problem may be half changed.
 */
RLO_NODISCARD rlo_status rlo__rewrite_split(rlo_problem *problem, int32_t axis, int64_t radix);

/** Reverses an axis: i becomes extent - 1 - i. Returns false on overflow. */
bool rlo__rewrite_flip(rlo_problem *problem, int32_t axis);

/** Removes an axis of extent 1. */
void rlo__rewrite_remove_axis(rlo_problem *problem, int32_t axis);

/** Moves axis order[k] to index k, for every k; order is a permutation. */
void rlo__rewrite_permute_axes(rlo_problem *problem, const int32_t *order);

/** Removes a guard. */
void rlo__rewrite_remove_guard(rlo_problem *problem, int32_t guard);

/** Replaces a term by a linear form. `form` uses axes and earlier terms only.
 * Returns false on overflow. */
bool rlo__rewrite_replace_term(rlo_problem *problem, int32_t term, const rlo_form *form);

/** Removes the terms that no form uses. Returns whether there was one. */
bool rlo__rewrite_drop_unused_terms(rlo_problem *problem);

/** Makes this the problem without points. */
void rlo__rewrite_to_empty(rlo_problem *problem);

/* ------------------------------------------------------------------- guards */

/**
 * Simplifies the guards of a problem without extent 0, in one pass. Drops those
 * that always hold or that another implies; makes SKIP guards on a single axis
 * part of its extent; turns one that never holds into an empty problem (SKIP)
 * or into a pure fill (PAD); writes the others with coprime coefficients and a
 * minimum of 0 where only one side bounds; orders them.
 *
 * @param out_has_changed  set to true if anything changed, else unchanged.
 * @return RLO_OK or RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__guard_simplify(rlo_problem *problem, bool *out_has_changed);

/* -------------------------------------------------------------------- units */

/**
 * Doubles the unit, if the innermost run allows it: an axis
 * of stride 1 on both sides and even extent, with everything else even, and no
 * guard that separates the two units. The unit must be a power of two of bits.
 *
 * @return true if the unit was doubled.
 */
bool rlo__widen(rlo_problem *problem);

/**
 * Cuts each unit of a moving problem into parts of `bits`, which divides it: a
 * new last axis of stride 1 counts the parts. The fill becomes its first part:
 * see rlo__fill_repeats.
 *
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_AXES; RLO_OVERFLOW. On failure
 *         *problem may be half changed.
 */
RLO_NODISCARD rlo_status rlo__narrow(rlo_problem *problem, int32_t bits);

/** Tells if the fill consists of equal parts of `bits`, which divides the unit.
 */
bool rlo__fill_repeats(const rlo_problem *problem, int32_t bits);

#endif
