/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IR_FORM_H
#define RLO_IR_FORM_H

#include "relayout/problem.h"

/** Linear forms, and the values that they take over the box of a problem. */

/** *form += factor * other. False, with *form undefined, on overflow. */
bool rlo__form_add(rlo_form *form, int64_t factor, const rlo_form *other);

/** Tells if no axis and no term has a coefficient. */
bool rlo__form_is_constant(const rlo_form *form);

/** Tells if a term of the problem has a coefficient. */
bool rlo__form_has_terms(const rlo_problem *problem, const rlo_form *form);

bool rlo__form_equal(const rlo_form *a, const rlo_form *b);

/** Computes bounds of a form over the box of a problem without extent 0: exact
 * without terms, else safe. Returns false on overflow. */
bool rlo__form_range(const rlo_problem *problem,
                     const rlo_form *form,
                     int64_t *out_min,
                     int64_t *out_max);

/** form = divisor * high + low: low keeps the coefficients that the divisor
 *  does not divide, and has a base in [0, divisor). */
void rlo__form_divide(const rlo_problem *problem,
                      const rlo_form *form,
                      int64_t divisor,
                      rlo_form *out_high,
                      rlo_form *out_low);

/**
 * *out = floor(form / divisor), if that is linear: if the part of the form
 * whose coefficients the divisor does not divide stays within [0, divisor).
 * @return false, with *out untouched, if it is not (or may not be) linear.
 */
bool rlo__form_quotient(const rlo_problem *problem,
                        const rlo_form *form,
                        int64_t divisor,
                        rlo_form *out);

/** The forms of a problem, numbered: source, destination, terms, guards. */
int32_t rlo__problem_num_forms(const rlo_problem *problem);
rlo_form *rlo__problem_form(rlo_problem *problem, int32_t number);

#endif
