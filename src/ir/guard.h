/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_GUARD_H
#define RLO_IR_GUARD_H

#include "relayout/problem.h"

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
RLO_NODISCARD rlo_status rlo__guard_simplify(rlo_problem *problem,
                                             bool *out_has_changed);

#endif
