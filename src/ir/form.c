/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/form.h"

#include <string.h>

#include "base/checked.h"

/* Most coefficients of most forms are 0. */
static bool add(int64_t factor, int64_t other, int64_t *sum) {
  return other == 0 || rlo__mul_add(*sum, factor, other, sum);
}

bool rlo__form_add(rlo_form *form, int64_t factor, const rlo_form *other) {
  bool fits = add(factor, other->base, &form->base);
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    fits = fits && add(factor, other->axis[a], &form->axis[a]);
  }
  for (int32_t t = 0; t < RLO_MAX_TERMS; ++t) {
    fits = fits && add(factor, other->term[t], &form->term[t]);
  }
  return fits;
}

bool rlo__form_is_constant(const rlo_form *form) {
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    if (form->axis[a] != 0) {
      return false;
    }
  }
  for (int32_t t = 0; t < RLO_MAX_TERMS; ++t) {
    if (form->term[t] != 0) {
      return false;
    }
  }
  return true;
}

bool rlo__form_has_terms(const rlo_problem *problem, const rlo_form *form) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (form->term[t] != 0) {
      return true;
    }
  }
  return false;
}

bool rlo__form_equal(const rlo_form *a, const rlo_form *b) {
  return memcmp(a, b, sizeof *a) == 0; /* int64 only: no padding bytes */
}

/* Widens [*min, *max] by coefficient * [low, high]. */
static bool add_interval(int64_t coefficient,
                         int64_t low,
                         int64_t high,
                         int64_t *min,
                         int64_t *max) {
  if (coefficient == 0) {
    return true;
  }
  int64_t least = coefficient > 0 ? low : high;
  int64_t most = coefficient > 0 ? high : low;
  return rlo__mul_add(*min, coefficient, least, min) &&
         rlo__mul_add(*max, coefficient, most, max);
}

static bool range_with_terms(const rlo_problem *problem,
                             const rlo_form *form,
                             const int64_t *term_min,
                             const int64_t *term_max,
                             int32_t num_terms,
                             int64_t *min,
                             int64_t *max) {
  *min = form->base;
  *max = form->base;
  bool fits = true;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    fits = fits &&
           add_interval(form->axis[a], 0, problem->extents[a] - 1, min, max);
  }
  for (int32_t t = 0; t < num_terms; ++t) {
    fits =
        fits && add_interval(form->term[t], term_min[t], term_max[t], min, max);
  }
  return fits;
}

bool rlo__form_range(const rlo_problem *problem,
                     const rlo_form *form,
                     int64_t *out_min,
                     int64_t *out_max) {
  int64_t term_min[RLO_MAX_TERMS];
  int64_t term_max[RLO_MAX_TERMS];
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    if (term->kind == RLO_TERM_LOAD) {
      term_min[t] = -1;
      term_max[t] = term->limit - 1;
      continue;
    }
    int64_t min;
    int64_t max;
    if (!range_with_terms(
            problem, &term->form, term_min, term_max, t, &min, &max)) {
      return false;
    }
    term_min[t] = rlo__floor_div(min, term->divisor);
    term_max[t] = rlo__floor_div(max, term->divisor);
  }
  return range_with_terms(
      problem, form, term_min, term_max, problem->num_terms, out_min, out_max);
}

void rlo__form_divide(const rlo_problem *problem,
                      const rlo_form *form,
                      int64_t divisor,
                      rlo_form *out_high,
                      rlo_form *out_low) {
  *out_low = *form;
  memset(out_high, 0, sizeof *out_high);
  out_high->base = rlo__floor_div(form->base, divisor);
  out_low->base = rlo__floor_mod(form->base, divisor);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (form->axis[a] % divisor == 0) {
      out_high->axis[a] = form->axis[a] / divisor;
      out_low->axis[a] = 0;
    }
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (form->term[t] % divisor == 0) {
      out_high->term[t] = form->term[t] / divisor;
      out_low->term[t] = 0;
    }
  }
}

bool rlo__form_quotient(const rlo_problem *problem,
                        const rlo_form *form,
                        int64_t divisor,
                        rlo_form *out) {
  rlo_form high;
  rlo_form low;
  rlo__form_divide(problem, form, divisor, &high, &low);
  int64_t min;
  int64_t max;
  if (!rlo__form_range(problem, &low, &min, &max) || min < 0 ||
      max >= divisor) {
    return false;
  }
  *out = high;
  return true;
}

int32_t rlo__problem_num_forms(const rlo_problem *problem) {
  return 2 + problem->num_terms + problem->num_guards;
}

rlo_form *rlo__problem_form(rlo_problem *problem, int32_t number) {
  if (number == 0) {
    return &problem->src;
  }
  if (number == 1) {
    return &problem->dst;
  }
  number -= 2;
  return number < problem->num_terms
             ? &problem->terms[number].form
             : &problem->guards[number - problem->num_terms].form;
}
