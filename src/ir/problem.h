/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_PROBLEM_H
#define RLO_IR_PROBLEM_H

#include "base/hash.h"
#include "relayout/problem.h"

/** Hashes what rlo_problem_equal compares, for hashes of more than a problem or
 * of more bits than rlo_problem_hash. */
void rlo__problem_hash_into(const rlo_problem *problem, rlo__hash *hash);

/** Whether some cells may take the fill: there is a PAD guard. */
bool rlo__problem_uses_fill(const rlo_problem *problem);

#endif
