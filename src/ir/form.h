/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_FORM_H
#define RLO_IR_FORM_H

#include "relayout/problem.h"

/** Linear forms, and the values that they take over the box of a problem. */

/** The numbers of a form: its base, then the coefficients of axes and terms. */
enum { RLO__FORM_NUMBERS = 1 + RLO_MAX_AXES + RLO_MAX_TERMS };

static inline int64_t *rlo__form_numbers(rlo_form *form) {
  return (int64_t *)(void *)form;
}

static inline const int64_t *rlo__form_read(const rlo_form *form) {
  return (const int64_t *)(const void *)form;
}

/** Compares two lists of numbers by their first difference: below 0, 0 or above
 *  it, as memcmp. */
int rlo__compare_numbers(const int64_t *a, const int64_t *b, int32_t count);

/** *form += factor * other. False, with *form undefined, on overflow. */
bool rlo__form_add(rlo_form *form, int64_t factor, const rlo_form *other);

/** *form *= factor. False, with *form undefined, on overflow. */
bool rlo__form_scale(rlo_form *form, int64_t factor);

/** Tells if no axis and no term has a coefficient. */
bool rlo__form_is_constant(const rlo_form *form);

/** Tells if a term of the problem has a coefficient. */
bool rlo__form_has_terms(const rlo_problem *problem, const rlo_form *form);

bool rlo__form_equal(const rlo_form *a, const rlo_form *b);

/** Bounds of the values of each term. */
typedef struct rlo__term_bounds {
  int64_t min[RLO_MAX_TERMS], max[RLO_MAX_TERMS];
} rlo__term_bounds;

/** Computes the bounds of a problem's terms. Returns false on overflow. */
bool rlo__term_bounds_find(const rlo_problem *problem, rlo__term_bounds *out_bounds);

/** Like rlo__form_range, where the terms have these bounds. */
bool rlo__form_range_with(const rlo_problem *problem, const rlo_form *form,
                          const rlo__term_bounds *bounds, int64_t *out_min, int64_t *out_max);

/** Computes bounds of a form over the box of a problem without extent 0: exact
 * without terms, else safe. Returns false on overflow. */
bool rlo__form_range(const rlo_problem *problem, const rlo_form *form, int64_t *out_min,
                     int64_t *out_max);

/** A bound of |form| over the box and of its partial sums, in any order;
 *  INT64_MAX if that exceeds 64 bits. */
int64_t rlo__form_magnitude(const rlo_problem *problem, const rlo_form *form);

/** The part of a box in which a guard holds, as far as the range of its form
 *  tells. */
typedef enum rlo__guard_reach {
  RLO__HOLDS_NOWHERE,
  RLO__HOLDS_SOMEWHERE,
  RLO__HOLDS_EVERYWHERE,
  /** The range exceeds 64 bits. */
  RLO__HOLDS_BEYOND
} rlo__guard_reach;

/** Tells where 0 <= form < limit holds, in the box of a problem without extent 0. */
rlo__guard_reach rlo__form_reach(const rlo_problem *problem, const rlo_form *form, int64_t limit);

/** form = divisor * high + low: low keeps the coefficients that the divisor
 *  does not divide, and has a base in [0, divisor). */
void rlo__form_divide(const rlo_form *form, int64_t divisor, rlo_form *out_high, rlo_form *out_low);

/**
 * *out = floor(form / divisor), if that is linear: if the part of the form
 * whose coefficients the divisor does not divide stays within [0, divisor).
 * @return false, with *out untouched, if it is not (or may not be) linear.
 */
bool rlo__form_quotient(const rlo_problem *problem, const rlo_form *form, int64_t divisor,
                        rlo_form *out);

/** The forms of a problem, numbered: source, destination, terms, guards. */
int32_t rlo__problem_num_forms(const rlo_problem *problem);
const rlo_form *rlo__problem_form_of(const rlo_problem *problem, int32_t number);

static inline rlo_form *rlo__problem_form(rlo_problem *problem, int32_t number) {
  const char *form = (const char *)rlo__problem_form_of(problem, number);
  return (rlo_form *)(void *)((char *)problem + (form - (const char *)problem));
}

#endif
