/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_UPDATE_H
#define RLO_IR_UPDATE_H

#include "relayout/problem.h"

/** What a problem's update says of its cells and axes. */

/** Whether two finite factors are the same; -0 and 0 are. Compared by order,
 *  for compilers warn of == between floats. */
bool rlo__factor_equal(double a, double b);

/** Whether cells are read before they are written: points are combined with
 *  what is there. */
bool rlo__problem_reads_cells(const rlo_problem *problem);

/** Whether an axis is one that a sum runs along. */
bool rlo__problem_is_reduction_axis(const rlo_problem *problem, int32_t axis);

/** Whether values are converted and no more: alpha 1, beta 0, no sum. */
bool rlo__problem_is_conversion(const rlo_problem *problem);

/** The SKIP guards of a canonical problem that are linear along its last axis:
 *  from some point on none of its points is left. How many there are. */
int32_t rlo__problem_ending_guards(const rlo_problem *problem,
                                   int32_t out_guards[RLO_MAX_GUARDS]);

/** RLO_OK, or which rule the arithmetic of a problem breaks:
 *  RLO_INVALID_ARGUMENT, or RLO_UNSUPPORTED for a destination type without a
 *  zero. */
RLO_NODISCARD rlo_status rlo__arithmetic_validate(const rlo_problem *problem);

#endif
