/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SUPPORT_FACTORS_H
#define TEST_SUPPORT_FACTORS_H

#include "relayout/problem.h"

/** Makes the steps alpha * v + beta * cell, also those that change nothing. */
static inline void test_set_factors(rlo_arithmetic *arithmetic, double alpha, double beta) {
  arithmetic->num_steps = 2;
  arithmetic->steps[0] = (rlo_element_step){RLO_ELEMENT_SCALE, {alpha, 0}};
  arithmetic->steps[1] = (rlo_element_step){RLO_ELEMENT_ACCUMULATE, {beta, 0}};
}

/** True if a step accumulates, other than 0 times the cell. */
static inline bool test_accumulates(const rlo_arithmetic *arithmetic) {
  for (int32_t s = 0; s < arithmetic->num_steps; ++s) {
    const rlo_element_step *step = &arithmetic->steps[s];
    if (step->op == RLO_ELEMENT_ACCUMULATE && (step->numbers[0] < 0 || step->numbers[0] > 0)) {
      return true;
    }
  }
  return false;
}

#endif
