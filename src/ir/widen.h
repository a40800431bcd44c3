/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_WIDEN_H
#define RLO_IR_WIDEN_H

#include "relayout/problem.h"

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
