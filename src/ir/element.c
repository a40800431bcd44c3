/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/element.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const rlo__element_info elements[] = {
    [RLO_ELEMENT_SCALE] = {.name = "scaled",
                           .numbers = {"alpha"},
                           .idle = 1.0,
                           .adjoint = RLO__ADJOINT_REPEATS},
    [RLO_ELEMENT_ACCUMULATE] = {.name = "added",
                                .numbers = {"beta"},
                                .adjoint = RLO__ADJOINT_DROPS,
                                .reads_cell = true},
    [RLO_ELEMENT_CLAMP] = {.name = "clamped",
                           .numbers = {"low", "high"},
                           .idle = (double)NAN,
                           .adjoint = RLO__ADJOINT_NONE,
                           .domain = RLO__DOMAIN_ORDERED,
                           .is_bound = true},
    [RLO_ELEMENT_SCALE_BY] = {.name = "scaled by an operand",
                              .idle = (double)NAN,
                              .adjoint = RLO__ADJOINT_REPEATS,
                              .has_operand = true},
    [RLO_ELEMENT_MULTIPLY] = {.name = "multiplied",
                              .idle = (double)NAN,
                              .adjoint = RLO__ADJOINT_NONE,
                              .domain = RLO__DOMAIN_REAL,
                              .reads_cell = true},
    [RLO_ELEMENT_COMPARE] = {.name = "compared",
                             .numbers = {"below", "equal"},
                             .idle = (double)NAN,
                             .adjoint = RLO__ADJOINT_NONE,
                             .domain = RLO__DOMAIN_ORDERED,
                             .reads_cell = true},
    [RLO_ELEMENT_ABS] = {.name = "made absolute",
                         .idle = (double)NAN,
                         .adjoint = RLO__ADJOINT_NONE,
                         .domain = RLO__DOMAIN_ORDERED},
    [RLO_ELEMENT_STEP] = {.name = "made a step",
                          .numbers = {"alpha"},
                          .idle = (double)NAN,
                          .adjoint = RLO__ADJOINT_NONE,
                          .domain = RLO__DOMAIN_ORDERED},
    [RLO_ELEMENT_EXP] = {.name = "made an exponential",
                         .idle = (double)NAN,
                         .adjoint = RLO__ADJOINT_NONE,
                         .domain = RLO__DOMAIN_FLOAT},
    [RLO_ELEMENT_TANH] = {.name = "made a hyperbolic tangent",
                          .idle = (double)NAN,
                          .adjoint = RLO__ADJOINT_NONE,
                          .domain = RLO__DOMAIN_FLOAT},
    [RLO_ELEMENT_DIVIDE_BY] = {.name = "divided by an operand",
                               .idle = (double)NAN,
                               .adjoint = RLO__ADJOINT_REPEATS,
                               .domain = RLO__DOMAIN_FLOAT,
                               .has_operand = true},
    [RLO_ELEMENT_ADD_BY] = {.name = "increased by an operand",
                            .numbers = {"factor"},
                            .adjoint = RLO__ADJOINT_DROPS,
                            .domain = RLO__DOMAIN_REAL,
                            .has_operand = true},
    [RLO_ELEMENT_DIVIDE] = {.name = "divided",
                            .numbers = {"divisor"},
                            .idle = 1.0,
                            .adjoint = RLO__ADJOINT_REPEATS,
                            .domain = RLO__DOMAIN_FLOAT},
    [RLO_ELEMENT_ADD] = {.name = "increased",
                         .numbers = {"addend"},
                         .adjoint = RLO__ADJOINT_DROPS,
                         .domain = RLO__DOMAIN_REAL},
    [RLO_ELEMENT_ROUND] = {.name = "rounded",
                           .idle = (double)NAN,
                           .adjoint = RLO__ADJOINT_NONE,
                           .domain = RLO__DOMAIN_FLOAT},
};

const rlo__element_info *rlo__element_info_of(rlo_element_op op) {
  const size_t number = (size_t)op;
  bool is_known = number < sizeof elements / sizeof elements[0] && elements[number].name != NULL;
  return is_known ? &elements[number] : NULL;
}

/** The bits of a number, with 0 for -0. */
static uint64_t bits_of(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits << 1 == 0 ? 0 : bits;
}

bool rlo__factor_equal(double a, double b) {
  return !isnan(a) && bits_of(a) == bits_of(b);
}

double rlo__factor_normal(double number) {
  return bits_of(number) == 0 ? 0.0 : number;
}

int64_t rlo__element_integer(double number) {
  if (isinf(number)) {
    return number < 0 ? INT64_MIN : INT64_MAX;
  }
  return (int64_t)number;
}

bool rlo__element_is_idle(const rlo_element_step *step) {
  const rlo__element_info *info = rlo__element_info_of(step->op);
  return info != NULL && rlo__factor_equal(step->numbers[0], info->idle);
}

/* The place of an operation in the list, or -1. Its count may not be
 * validated yet. */
static int32_t find_step(const rlo_arithmetic *a, rlo_element_op op) {
  for (int32_t s = 0; s < a->num_steps && s < RLO_MAX_ELEMENT_STEPS; ++s) {
    if (a->steps[s].op == op) {
      return s;
    }
  }
  return -1;
}

void rlo__arithmetic_append(rlo_arithmetic *a, rlo_element_op op, double number) {
  const rlo_element_step step = {op, {number, 0.0}};
  if (!rlo__element_is_idle(&step)) {
    a->steps[a->num_steps++] = step;
  }
}

void rlo__arithmetic_remove(rlo_arithmetic *a, rlo_element_op op) {
  int32_t s = find_step(a, op);
  if (s >= 0) {
    --a->num_steps;
    memmove(&a->steps[s], &a->steps[s + 1], (size_t)(a->num_steps - s) * sizeof a->steps[0]);
  }
}

void rlo__arithmetic_tidy(rlo_arithmetic *a) {
  int32_t count = 0;
  for (int32_t s = 0; s < a->num_steps; ++s) {
    rlo_element_step step = a->steps[s];
    const rlo__element_info *info = rlo__element_info_of(step.op);
    for (int32_t n = 0; n < 2; ++n) {
      bool has_number = info != NULL && info->numbers[n] != NULL;
      step.numbers[n] = has_number ? rlo__factor_normal(step.numbers[n]) : 0.0;
    }
    if (!rlo__element_is_idle(&step)) {
      a->steps[count++] = step;
    }
  }
  memset(&a->steps[count], 0, (size_t)(RLO_MAX_ELEMENT_STEPS - count) * sizeof a->steps[0]);
  a->num_steps = count;
}
