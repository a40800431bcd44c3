/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_ELEMENT_H
#define RLO_IR_ELEMENT_H

#include "relayout/problem.h"

/** The list of element-wise steps of rlo_arithmetic. */

/** Tells if two factors are equal: -0 equals 0, NaN equals nothing. Compares
 * bits, for a caller's floating-point mode may take denormals for 0. */
bool rlo__factor_equal(double a, double b);

/** The number, or 0 for -0. */
double rlo__factor_normal(double number);

/** The part of a step in the adjoint. */
typedef enum rlo__element_adjoint {
  RLO__ADJOINT_REPEATS,
  /** It adds what does not depend on the source. */
  RLO__ADJOINT_DROPS,
  /** A problem with this step has no adjoint. */
  RLO__ADJOINT_NONE
} rlo__element_adjoint;

/** The values that a step takes. */
typedef enum rlo__element_domain {
  RLO__DOMAIN_ANY,
  /** No complex numbers. */
  RLO__DOMAIN_REAL,
  /** Types that have an order; among integers u64 is left out, too. */
  RLO__DOMAIN_ORDERED,
  RLO__DOMAIN_FLOAT
} rlo__element_domain;

/** The facts of an operation of a step. */
typedef struct rlo__element_info {
  /** The value that it makes: "scaled". */
  const char *name;
  /** Names of its numbers; NULL for those that it does not have. */
  const char *numbers[2];
  /** The first number with which it changes nothing; NaN for none. */
  double idle;
  rlo__element_adjoint adjoint;
  rlo__element_domain domain;
  /** True if the numbers bound a value: they may be infinite, and the first is
   *  not above the second. */
  bool is_bound;
  /** True if it takes the old contents of the cell. */
  bool reads_cell;
  /** True if it takes an operand. */
  bool has_operand;
} rlo__element_info;

/** NULL for a value that is no operation. */
const rlo__element_info *rlo__element_info_of(rlo_element_op op);

/** A number of a step between integers; infinity is the nearest limit. */
int64_t rlo__element_integer(double number);

/** Tells if a step of a known operation changes nothing. */
bool rlo__element_is_idle(const rlo_element_step *step);

/** Removes the steps that change nothing, and makes 0 of -0 and of the numbers
 *  that a step does not have. The operations are known. */
void rlo__arithmetic_tidy(rlo_arithmetic *arithmetic);

/** Appends a step with one number, unless it would change nothing. */
void rlo__arithmetic_append(rlo_arithmetic *arithmetic, rlo_element_op op, double number);

/** Removes the step with an operation, if there is one. */
void rlo__arithmetic_remove(rlo_arithmetic *arithmetic, rlo_element_op op);

#endif
