/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/form.h"

#include <string.h>

#include "base/checked.h"

_Static_assert(sizeof(rlo_form) == RLO__FORM_NUMBERS * sizeof(int64_t),
               "a form is its numbers, without padding");

int rlo__compare_numbers(const int64_t *a, const int64_t *b, int32_t count) {
  int32_t n = 0;
  while (n < count && a[n] == b[n]) {
    ++n;
  }
  return n == count ? 0 : a[n] < b[n] ? -1 : 1;
}

bool rlo__form_add(rlo_form *form, int64_t factor, const rlo_form *other) {
  int64_t *to = rlo__form_numbers(form);
  const int64_t *from = rlo__form_read(other);
  bool fits = true;
  for (int32_t n = 0; n < RLO__FORM_NUMBERS; ++n) {
    /* Most coefficients of most forms are 0. */
    fits = fits && (from[n] == 0 || rlo__mul_add(to[n], factor, from[n], &to[n]));
  }
  return fits;
}

bool rlo__form_scale(rlo_form *form, int64_t factor) {
  int64_t *numbers = rlo__form_numbers(form);
  bool fits = true;
  for (int32_t n = 0; n < RLO__FORM_NUMBERS; ++n) {
    fits = fits && rlo__mul(numbers[n], factor, &numbers[n]);
  }
  return fits;
}

bool rlo__form_is_constant(const rlo_form *form) {
  static const rlo_form zero;
  return rlo__compare_numbers(form->axis, zero.axis, RLO_MAX_AXES) == 0 &&
         rlo__compare_numbers(form->term, zero.term, RLO_MAX_TERMS) == 0;
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
  return memcmp(a, b, sizeof *a) == 0;
}

/* Widens [*min, *max] by coefficient * [low, high]. */
static bool add_interval(int64_t coefficient, int64_t low, int64_t high, int64_t *min,
                         int64_t *max) {
  if (coefficient == 0) {
    return true;
  }
  int64_t least = coefficient > 0 ? low : high;
  int64_t most = coefficient > 0 ? high : low;
  return rlo__mul_add(*min, coefficient, least, min) && rlo__mul_add(*max, coefficient, most, max);
}

static bool range_with_terms(const rlo_problem *problem, const rlo_form *form,
                             const rlo__term_bounds *bounds, int32_t num_terms, int64_t *min,
                             int64_t *max) {
  *min = form->base;
  *max = form->base;
  bool fits = true;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    fits = fits && add_interval(form->axis[a], 0, problem->extents[a] - 1, min, max);
  }
  for (int32_t t = 0; t < num_terms; ++t) {
    fits = fits && add_interval(form->term[t], bounds->min[t], bounds->max[t], min, max);
  }
  return fits;
}

bool rlo__term_bounds_find(const rlo_problem *problem, rlo__term_bounds *out_bounds) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    int64_t min = -1;
    int64_t max = term->limit - 1;
    if (term->kind != RLO_TERM_LOAD) {
      if (!range_with_terms(problem, &term->form, out_bounds, t, &min, &max)) {
        return false;
      }
      min = rlo__floor_div(min, term->divisor);
      max = rlo__floor_div(max, term->divisor);
    }
    out_bounds->min[t] = min;
    out_bounds->max[t] = max;
  }
  return true;
}

bool rlo__form_range_with(const rlo_problem *problem, const rlo_form *form,
                          const rlo__term_bounds *bounds, int64_t *out_min, int64_t *out_max) {
  return range_with_terms(problem, form, bounds, problem->num_terms, out_min, out_max);
}

bool rlo__form_range(const rlo_problem *problem, const rlo_form *form, int64_t *out_min,
                     int64_t *out_max) {
  rlo__term_bounds bounds;
  return rlo__term_bounds_find(problem, &bounds) &&
         rlo__form_range_with(problem, form, &bounds, out_min, out_max);
}

static int64_t magnitude(const rlo_problem *problem, const rlo_form *form,
                         const int64_t *term_magnitudes, int32_t num_terms) {
  int64_t sum = rlo__abs(form->base);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t along = rlo__mul_capped(rlo__abs(form->axis[a]), problem->extents[a]);
    sum = rlo__add_capped(sum, along);
  }
  for (int32_t t = 0; t < num_terms; ++t) {
    int64_t along = rlo__mul_capped(rlo__abs(form->term[t]), term_magnitudes[t]);
    sum = rlo__add_capped(sum, along);
  }
  return sum;
}

int64_t rlo__form_magnitude(const rlo_problem *problem, const rlo_form *form) {
  int64_t terms[RLO_MAX_TERMS];
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    terms[t] =
        term->kind == RLO_TERM_LOAD
            ? term->limit
            : magnitude(problem, &term->form, terms, t) / term->divisor + (term->divisor > 1);
  }
  return magnitude(problem, form, terms, problem->num_terms);
}

rlo__guard_reach rlo__form_reach(const rlo_problem *problem, const rlo_form *form, int64_t limit) {
  int64_t min;
  int64_t max;
  if (!rlo__form_range(problem, form, &min, &max)) {
    return RLO__HOLDS_BEYOND;
  }
  return min >= 0 && max < limit   ? RLO__HOLDS_EVERYWHERE
         : max < 0 || min >= limit ? RLO__HOLDS_NOWHERE
                                   : RLO__HOLDS_SOMEWHERE;
}

void rlo__form_divide(const rlo_form *form, int64_t divisor, rlo_form *out_high,
                      rlo_form *out_low) {
  int64_t *high = rlo__form_numbers(out_high);
  int64_t *low = rlo__form_numbers(out_low);
  *out_low = *form;
  memset(out_high, 0, sizeof *out_high);
  high[0] = rlo__floor_div(form->base, divisor);
  low[0] = rlo__floor_mod(form->base, divisor);
  for (int32_t n = 1; n < RLO__FORM_NUMBERS; ++n) {
    if (low[n] != 0 && low[n] % divisor == 0) {
      high[n] = low[n] / divisor;
      low[n] = 0;
    }
  }
}

bool rlo__form_quotient(const rlo_problem *problem, const rlo_form *form, int64_t divisor,
                        rlo_form *out) {
  rlo_form high;
  rlo_form low;
  rlo__form_divide(form, divisor, &high, &low);
  int64_t min;
  int64_t max;
  if (!rlo__form_range(problem, &low, &min, &max) || min < 0 || max >= divisor) {
    return false;
  }
  *out = high;
  return true;
}

int32_t rlo__problem_num_forms(const rlo_problem *problem) {
  return 2 + problem->num_terms + problem->num_guards;
}

const rlo_form *rlo__problem_form_of(const rlo_problem *problem, int32_t number) {
  if (number < 2) {
    return number == 0 ? &problem->src : &problem->dst;
  }
  number -= 2;
  return number < problem->num_terms ? &problem->terms[number].form
                                     : &problem->guards[number - problem->num_terms].form;
}
