/* SPDX-License-Identifier: Apache-2.0 */
#include "host/bounds.h"

#include "base/checked.h"
#include "ir/form.h"

/** The values that each term may have where the guards on it hold. */
typedef struct term_bounds {
  int64_t min[RLO_MAX_TERMS];
  int64_t max[RLO_MAX_TERMS];
} term_bounds;

static bool widen(int64_t coefficient,
                  int64_t low,
                  int64_t high,
                  int64_t *min,
                  int64_t *max) {
  int64_t least = coefficient >= 0 ? low : high;
  int64_t most = coefficient >= 0 ? high : low;
  return rlo__mul_add(*min, coefficient, least, min) &&
         rlo__mul_add(*max, coefficient, most, max);
}

static bool range_of(const rlo_problem *problem,
                     const rlo_form *form,
                     const term_bounds *terms,
                     int32_t num_terms,
                     int64_t *out_min,
                     int64_t *out_max) {
  bool fits = true;
  *out_min = *out_max = form->base;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    fits = fits &&
           widen(form->axis[a], 0, problem->extents[a] - 1, out_min, out_max);
  }
  for (int32_t t = 0; t < num_terms; ++t) {
    fits = fits &&
           widen(form->term[t], terms->min[t], terms->max[t], out_min, out_max);
  }
  return fits;
}

/** If the guard's form is a constant and a term, that term; else -1. */
static int32_t term_of(const rlo_problem *problem, const rlo_guard *guard) {
  int32_t found = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (guard->form.axis[a] != 0) {
      return -1;
    }
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    int64_t coefficient = guard->form.term[t];
    if (coefficient == 0) {
      continue;
    }
    if (found >= 0 || (coefficient != 1 && coefficient != -1)) {
      return -1;
    }
    found = t;
  }
  return found;
}

/** 0 <= base + q < limit, or 0 <= base - q < limit. */
static void apply_guards(const rlo_problem *problem,
                         rlo_guard_kind kind,
                         term_bounds *terms) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    int32_t t = guard->kind == kind ? term_of(problem, guard) : -1;
    if (t < 0) {
      continue;
    }
    int64_t base = guard->form.base;
    bool is_rising = guard->form.term[t] > 0;
    int64_t low = is_rising ? -base : base - guard->limit + 1;
    int64_t high = is_rising ? guard->limit - 1 - base : base;
    terms->min[t] = rlo__max(terms->min[t], low);
    terms->max[t] = rlo__min(terms->max[t], high);
  }
}

static bool bound_terms(const rlo_problem *problem, term_bounds *out) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    int64_t min;
    int64_t max;
    if (term->kind == RLO_TERM_LOAD) {
      out->min[t] = -1;
      out->max[t] = term->limit - 1;
    } else if (!range_of(problem, &term->form, out, t, &min, &max)) {
      return false;
    } else {
      out->min[t] = rlo__floor_div(min, term->divisor);
      out->max[t] = rlo__floor_div(max, term->divisor);
    }
  }
  return true;
}

static bool form_is_within(const rlo_problem *problem,
                           const rlo_form *form,
                           const term_bounds *terms,
                           int64_t unit_bits,
                           int64_t bytes) {
  int64_t min;
  int64_t max;
  int64_t end;
  return range_of(problem, form, terms, problem->num_terms, &min, &max) &&
         min >= 0 && rlo__mul_add(unit_bits, max, unit_bits, &end) &&
         rlo__ceil_div(end, 8) <= bytes;
}

bool rlo__host_is_within(const rlo_problem *problem) {
  term_bounds terms;
  if (!bound_terms(problem, &terms)) {
    return false;
  }
  apply_guards(problem, RLO_GUARD_SKIP, &terms);
  if (!form_is_within(problem,
                      &problem->dst,
                      &terms,
                      rlo_problem_dst_unit_bits(problem),
                      problem->dst_bytes)) {
    return false;
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (problem->guards[g].kind == RLO_GUARD_PAD &&
        rlo__form_is_constant(&problem->guards[g].form) &&
        problem->guards[g].limit <= problem->guards[g].form.base) {
      return true; /* it never holds, so nothing is read */
    }
  }
  apply_guards(problem, RLO_GUARD_PAD, &terms);
  return form_is_within(
      problem, &problem->src, &terms, problem->unit_bits, problem->src_bytes);
}
