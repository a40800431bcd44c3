/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_VALIDATE_H
#define RLO_IR_VALIDATE_H

#include "relayout/problem.h"

/** The rules that a problem written by a caller must keep. */

/**
 * Checks the counts, kinds and limits of a problem's parts, and its arithmetic
 * if it computes.
 * @return RLO_OK; RLO_INVALID_ARGUMENT; RLO_OVERFLOW for guards beyond a
 * quarter of int64, so that sums of two of them cannot wrap; or what
 *         rlo__arithmetic_validate returns.
 */
RLO_NODISCARD rlo_status rlo__problem_validate(const rlo_problem *problem);

/** Checks the arithmetic of a problem with RLO_UPDATE_COMBINE:
 *  RLO_INVALID_ARGUMENT for the rule it breaks, RLO_UNSUPPORTED for a
 *  destination type without a zero. */
RLO_NODISCARD rlo_status rlo__arithmetic_validate(const rlo_problem *problem);

/** RLO_OK for a finite factor, else RLO_INVALID_ARGUMENT with its name. */
RLO_NODISCARD rlo_status rlo__factor_check(const char *name, double value);

#endif
