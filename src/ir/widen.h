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

#endif
