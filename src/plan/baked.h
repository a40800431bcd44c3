/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_BAKED_H
#define RLO_PLAN_BAKED_H

#include "plan/launch.h"

/** What the kernels that include cl/point.cl have in common: the problem
 *  compiled into them, and their first arguments. */

/** Whether int suffices for every form of the problem, in bytes where it is a
 *  position, and for its terms. */
bool rlo__baked_fits_32_bits(const rlo_problem *problem);

/** Add the constants: axes, terms, forms, guards, indices. */
RLO_NODISCARD rlo_status rlo__baked_define(const rlo_problem *problem,
                                           rlo_launch *launch);

/** Add both memories with their offsets, the fill, and the indices with theirs
 *  if the problem loads some. */
RLO_NODISCARD rlo_status rlo__baked_add_arguments(const rlo_problem *problem,
                                                  rlo_launch *launch);

#endif
