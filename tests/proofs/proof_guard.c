/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
/*
 * ir/guard.c: what is dropped or rewritten holds at the same points.
 *
 * For boxes of 3 by 2 points and forms without terms, whose numbers have 8 bits
 * in place of 64: coefficients from -3 to 3, a base and a limit within +-31, as
 * rlo__problem_validate lets them be within a quarter of what fits; the
 * form of a guard that is implied is i alone, which the solver divides by.
 *
 * bound: relayout/problem.h: #define RLO_MAX_AXES 48 -> #define RLO_MAX_AXES 2
 * bound: relayout/problem.h: #define RLO_MAX_TERMS 16 -> #define RLO_MAX_TERMS 1
 * bound: relayout/problem.h: #define RLO_MAX_GUARDS 48 -> #define RLO_MAX_GUARDS 2
 * prove implication: --unwind 5 --conversion-check --object-bits 12
 * prove coprime: --unwind 14 --conversion-check
 * prove one_sided: --unwind 5 --conversion-check
 * fault implication: ir/guard.c: least >= other->limit -> least >= other->limit - 1
 * fault coprime: ir/guard.c: guard->limit = end - first; -> guard->limit = end - first + 1;
 * fault one_sided: ir/guard.c: guard->limit = 1; -> guard->limit = 2;
 */
// clang-format on
#define PROOF_BITS 8
#include "narrow.h"

#include "ir/form.c"
#include "ir/guard.c"

enum { EXTENT_0 = 3, EXTENT_1 = 2 };

static rlo_problem any_problem(void) {
  rlo_problem problem = {.num_axes = 2, .extents = {EXTENT_0, EXTENT_1}};
  return problem;
}

static rlo_guard any_guard(void) {
  rlo_guard guard = {.kind = any_bool() ? RLO_GUARD_PAD : RLO_GUARD_SKIP,
                     .form = {.base = any_of(-31, 31), .axis = {any_of(-3, 3), any_of(-3, 3)}},
                     .limit = any_of(0, 31)};
  return guard;
}

/* True if a guard holds at a point, by its definition. */
static bool holds(const rlo_guard *guard, int i, int j) {
  int value = guard->form.base + guard->form.axis[0] * i + guard->form.axis[1] * j;
  return value >= 0 && value < guard->limit;
}

/* At every point of the box: constants, by which the solver multiplies well. */
static bool hold_at_same_points(const rlo_guard *a, const rlo_guard *b) {
  bool is_same = true;
  for (int i = 0; i < EXTENT_0; ++i) {
    for (int j = 0; j < EXTENT_1; ++j) {
      is_same = is_same && holds(a, i, j) == holds(b, i, j);
    }
  }
  return is_same;
}

/* A guard with these coefficients, by which the solver divides well. */
static void imply(int8_t axis_0, int8_t axis_1) {
  const rlo_problem problem = any_problem();
  const rlo_guard other = any_guard();
  rlo_guard guard = any_guard();
  guard.form.axis[0] = axis_0;
  guard.form.axis[1] = axis_1;
  if (is_implied(&problem, &guard, &other)) {
    for (int i = 0; i < EXTENT_0; ++i) {
      for (int j = 0; j < EXTENT_1; ++j) {
        PROOF(holds(&guard, i, j) || !holds(&other, i, j),
              "where a guard fails, so does the one that implies it");
      }
    }
  }
}

void implication(void) {
  imply(1, 0);
}

/* The conditions of rlo__guard_simplify: the form has a range, and the guard
 * neither always holds nor never. */
void coprime(void) {
  const rlo_problem problem = any_problem();
  rlo_guard guard = any_guard();
  const rlo_guard before = guard;
  int64_t min;
  int64_t max;
  PROOF_ASSUME(rlo__form_range(&problem, &guard.form, &min, &max));
  PROOF_ASSUME(max >= 0 && min < guard.limit);
  make_coprime(&guard);
  PROOF(hold_at_same_points(&guard, &before), "coprime coefficients hold at the same points");
}

void one_sided(void) {
  const rlo_problem problem = any_problem();
  rlo_guard guard = any_guard();
  const rlo_guard before = guard;
  if (make_one_sided(&problem, &guard)) {
    PROOF(hold_at_same_points(&guard, &before), "with one side it holds at the same points");
  }
}
