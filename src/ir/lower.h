/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_LOWER_H
#define RLO_IR_LOWER_H

#include "desc/address.h"
#include "relayout/problem.h"
#include "relayout/shape.h"

/**
 * The two halves of every lowering. An operation calls the first for its
 * destination, maps the destination's logical index to the source's, and calls
 * the second with that.
 */

/**
 * Begins a problem whose box is the cells of a destination: one axis for each
 * physical dimension of extent above 1 (for a strided destination, each
 * logical one), guards for the cells that hold no element, the fill, the
 * destination's byte counts.
 *
 * With an unknown fill the guards are of kind SKIP, and the tail is no part of
 * the box.
 *
 * @param shape, address  the destination, valid.
 * @param problem    uninitialized on entry.
 * @param out_index  shape->rank forms: each logical coordinate over the axes.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a strided destination whose
 *         strides may place two indices on one cell; RLO_UNSUPPORTED beyond
 * RLO_MAX_AXES, RLO_MAX_TERMS or RLO_MAX_GUARDS; RLO_OVERFLOW;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__lower_destination(const rlo_shape *shape,
                                                const rlo_address_map *address,
                                                rlo_problem *problem, rlo_form *out_index);

/**
 * Completes a problem: the source position of each point, given the source's
 * logical coordinates as forms, and the source's byte counts.
 */
RLO_NODISCARD rlo_status rlo__lower_source(const rlo_shape *shape, const rlo_address_map *address,
                                           const rlo_form *index, rlo_problem *problem);

/**
 * *out = a new term: the index that `indices` holds at the logical coordinates
 * given as forms, or -1 where it is not below `limit`.
 *
 * @param indices, address  valid, of 32 or 64 bits; one array of them for each
 *                          problem, whose index_bits and index_bytes it sets.
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_TERMS; RLO_OVERFLOW;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__lower_load(const rlo_shape *indices, const rlo_address_map *address,
                                         const rlo_form *index, int64_t limit, rlo_problem *problem,
                                         rlo_form *out);

/** Like rlo__lower_load, at a position given as a form; the caller sets
 * index_bits and index_bytes of the problem. @return RLO_OK or RLO_UNSUPPORTED.
 */
RLO_NODISCARD rlo_status rlo__lower_load_at(rlo_problem *problem, const rlo_form *position,
                                            int64_t limit, rlo_form *out);

/** Adds the term of an operand's place, given as a form; the caller sets
 * index_bits and index_bytes. @return RLO_OK or RLO_UNSUPPORTED. */
RLO_NODISCARD rlo_status rlo__lower_operand_at(rlo_problem *problem, const rlo_form *position);

/**
 * The position that an address map gives an element, whose logical coordinates
 * are address->rank forms. The box has points.
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_TERMS; RLO_OVERFLOW;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__lower_position(const rlo_address_map *address, const rlo_form *index,
                                             rlo_problem *problem, rlo_form *out_position);

/**
 * *out = floor(form / divisor). What the divisor divides is divided; the rest
 * is a term, unless it stays within [0, divisor). Equal quotients are one term.
 * Canonicalisation resolves terms by splitting axes where it can. The box has
 * points.
 * @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_TERMS.
 */
RLO_NODISCARD rlo_status rlo__lower_quotient(rlo_problem *problem, const rlo_form *form,
                                             int64_t divisor, rlo_form *out);

#endif
