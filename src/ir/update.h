/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_UPDATE_H
#define RLO_IR_UPDATE_H

#include "relayout/problem.h"

/** Questions about cells and axes that a problem's update answers. */

/** The term that is the position of a step's operand; -1 if no step takes one,
 *  or there is no such term. */
int32_t rlo__problem_operand_term(const rlo_problem *problem);

/** The lists of operands in the third memory that lie before that of an operation; for
 *  INT32_MAX all of them. */
int32_t rlo__arithmetic_lists_before(const rlo_arithmetic *arithmetic, int32_t op);

/** Tells if a sum runs along the axis. */
bool rlo__problem_is_reduction_axis(const rlo_problem *problem, int32_t axis);

/** Tells if a sum runs along the axis over more than one point. */
bool rlo__problem_is_summed(const rlo_problem *problem, int32_t axis);

/** Tells if values are only converted: no step, no sum. */
bool rlo__problem_is_conversion(const rlo_problem *problem);

/** Tells if it is a conversion to the same type in units of another size. */
bool rlo__problem_is_repacking(const rlo_problem *problem);

/** Finds the SKIP guards of a canonical problem that are linear along its last
 *  axis: each ends the axis at some point. Returns their number. */
int32_t rlo__problem_ending_guards(const rlo_problem *problem, int32_t out_guards[RLO_MAX_GUARDS]);

/** The axes along which a form changes, itself or through a term, of those that
 *  load if `through_loads`: bit a is axis a. */
uint64_t rlo__problem_form_axes(const rlo_problem *problem, const rlo_form *form,
                                bool through_loads);

/** Tells if a form changes along an axis, itself or through a term. */
bool rlo__problem_form_depends_on(const rlo_problem *problem, const rlo_form *form, int32_t axis);

#endif
