/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "ir/element.h"
#include "ir/form.h"
#include "ir/problem.h"
#include "ir/rewrite.h"
#include "ir/update.h"
#include "ir/validate.h"

typedef struct canonicalizer {
  rlo_problem *problem;
  int32_t max_unit_bits;
  rlo_problem_trace_fn trace;
  void *payload;
  /** True if the current round has changed something. */
  bool has_changed;
} canonicalizer;

RLO_PRINTF(2, 3)

static void note(canonicalizer *c, const char *format, ...) {
  c->has_changed = true;
  if (c->trace == NULL) {
    return;
  }
  char step[128];
  rlo__str text = rlo__str_over(step, sizeof step);
  va_list arguments;
  va_start(arguments, format);
  rlo__str_vprintf(&text, format, arguments);
  va_end(arguments);
  c->trace(c->payload, step, c->problem);
}

static void clear_from(int64_t *numbers, int32_t first, int32_t end) {
  memset(numbers + first, 0, (size_t)(end - first) * sizeof *numbers);
}

/* Forms are compared with all their coefficients, so those beyond the counts
 * must be 0; likewise the steps. */
static void clear_uncounted(rlo_problem *problem) {
  if (problem->update == RLO_UPDATE_STORE) {
    memset(&problem->arithmetic, 0, sizeof problem->arithmetic);
  } else {
    rlo__arithmetic_tidy(&problem->arithmetic);
  }
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    bool is_term = n >= 2 && n - 2 < problem->num_terms;
    clear_from(form->axis, problem->num_axes, RLO_MAX_AXES);
    clear_from(form->term, is_term ? n - 2 : problem->num_terms, RLO_MAX_TERMS);
  }
}

/* The only axis whose step the divisor does not divide, if that step is 1 or
 * -1; else -1. */
static int32_t unit_step_axis(const rlo_problem *problem, const rlo_term *term) {
  int32_t found = -1;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (term->form.term[t] % term->divisor != 0) {
      return -1;
    }
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = term->form.axis[a];
    if (step % term->divisor == 0) {
      continue;
    }
    if (found >= 0 || (step != 1 && step != -1)) {
      return -1;
    }
    found = a;
  }
  return found;
}

/*
 * A slice that begins within a tile: floor((i + 5) / 8) jumps where i + 5 is a
 * multiple of 8. Count the axis from `shift` points earlier, so that its jumps
 * are those of a split; a SKIP guard keeps the points before the first out.
 * Short axes stay: their box would be mostly such points.
 */
static rlo_status align_axis(rlo_problem *problem, int32_t number) {
  const rlo_term *term = &problem->terms[number];
  int64_t divisor = term->divisor;
  int32_t axis = unit_step_axis(problem, term);
  if (axis < 0 || problem->extents[axis] < divisor) {
    return RLO_OK;
  }
  int64_t rest = rlo__floor_mod(term->form.base, divisor);
  int64_t shift = term->form.axis[axis] > 0 ? rest : divisor - 1 - rest;
  if (shift == 0) {
    return RLO_OK;
  }
  const int64_t extent = problem->extents[axis];
  rlo_form earlier = {0};
  earlier.axis[axis] = 1;
  RLO_TRY(
      rlo__rewrite_add_guard(problem, "splitting at the tiles", RLO_GUARD_SKIP, &earlier, extent));
  return rlo__add(extent, shift, &problem->extents[axis]) &&
                 rlo__rewrite_shift(problem, axis, -shift)
             ? RLO_OK
             : RLO_FAIL(RLO_OVERFLOW, "an aligned axis exceeds 64 bits");
}

/* Tries to make a term linear by splitting the axes at the radices where their
 * steps align with the divisor. If it returns RLO_OK with *out_is_linear false,
 * `trial` is undefined and the problem unchanged. */
static rlo_status resolve_term(const rlo_problem *problem, int32_t number, rlo_problem *trial,
                               bool *out_is_linear) {
  *out_is_linear = false;
  if (problem->terms[number].kind != RLO_TERM_QUOTIENT) {
    return RLO_OK;
  }
  rlo__problem_copy(problem, trial);
  RLO_TRY(align_axis(trial, number));
  int64_t divisor = problem->terms[number].divisor;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = trial->terms[number].form.axis[a];
    if (step % divisor == 0) {
      continue;
    }
    int64_t radix = divisor / rlo__gcd(step, divisor);
    if (radix < trial->extents[a]) {
      RLO_TRY(rlo__rewrite_split(trial, a, radix));
    }
  }
  rlo_form linear;
  if (!rlo__form_quotient(trial, &trial->terms[number].form, divisor, &linear)) {
    return RLO_OK;
  }
  RLO_FAIL_IF(!rlo__rewrite_replace_term(trial, number, &linear), RLO_OVERFLOW,
              "a split position exceeds 64 bits");
  *out_is_linear = true;
  return RLO_OK;
}

static rlo_status resolve_terms(canonicalizer *c) {
  if (c->problem->num_terms == 0) {
    return RLO_OK;
  }
  if (rlo__rewrite_drop_unused_terms(c->problem)) {
    note(c, "drop terms that nothing uses");
  }
  rlo_problem *trial = rlo__alloc_unset(sizeof *trial);
  RLO_TRY_MEMORY(trial);
  rlo_status status = RLO_OK;
  for (int32_t t = 0; status == RLO_OK && t < c->problem->num_terms;) {
    bool is_linear;
    int64_t divisor = c->problem->terms[t].divisor;
    status = resolve_term(c->problem, t, trial, &is_linear);
    if (status == RLO_UNSUPPORTED) {
      /* There is no room to split: the quotient stays, and a family that takes
       * quotients runs it. */
      status = RLO_OK;
      is_linear = false;
    }
    if (status == RLO_OK && is_linear) {
      rlo__problem_copy(trial, c->problem);
      note(c, "split at %lld", (long long)divisor);
    } else {
      ++t;
    }
  }
  rlo__free(trial);
  return status;
}

static rlo_status flip_axes(canonicalizer *c) {
  for (int32_t a = 0; a < c->problem->num_axes; ++a) {
    int64_t stride = c->problem->dst.axis[a];
    RLO_FAIL_IF(c->problem->extents[a] > 1 && stride == 0 && c->problem->update == RLO_UPDATE_STORE,
                RLO_INVALID_ARGUMENT, "axis %d writes %lld points to one cell", a,
                (long long)c->problem->extents[a]);
    if (stride < 0) {
      RLO_FAIL_IF(!rlo__rewrite_flip(c->problem, a), RLO_OVERFLOW,
                  "a reversed axis exceeds 64 bits");
      note(c, "count axis %d backwards", a);
    }
  }
  return RLO_OK;
}

static void drop_axes(canonicalizer *c) {
  for (int32_t a = c->problem->num_axes - 1; a >= 0; --a) {
    if (c->problem->extents[a] == 1) {
      rlo__rewrite_remove_axis(c->problem, a);
      note(c, "drop axis %d of extent 1", a);
    }
  }
}

/* Guards by what they say of one axis each. */
static int compare_guards_along(const rlo_guard *g, int32_t a, const rlo_guard *h, int32_t b) {
  const int64_t of_g[] = {g->kind, g->limit, g->form.base, g->form.axis[a]};
  const int64_t of_h[] = {h->kind, h->limit, h->form.base, h->form.axis[b]};
  return rlo__compare_numbers(of_h, of_g, 4);
}

static void sort_guards_along(const rlo_problem *problem, int32_t a, const rlo_guard **out_sorted) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    int32_t place = g;
    for (; place > 0 && compare_guards_along(out_sorted[place - 1], a, guard, a) > 0; --place) {
      out_sorted[place] = out_sorted[place - 1];
    }
    out_sorted[place] = guard;
  }
}

/* Axes by what guards say of them, whatever the order of the guards: that
 * follows from the order of the axes. */
static int compare_in_guards(const rlo_problem *problem, int32_t a, int32_t b) {
  const rlo_guard *of_a[RLO_MAX_GUARDS];
  const rlo_guard *of_b[RLO_MAX_GUARDS];
  sort_guards_along(problem, a, of_a);
  sort_guards_along(problem, b, of_b);
  int order = 0;
  for (int32_t g = 0; order == 0 && g < problem->num_guards; ++g) {
    order = compare_guards_along(of_a[g], a, of_b[g], b);
  }
  return order;
}

/* The order of the canonical form: falling destination stride; reduction axes
 * by falling source stride; other ties, which only guards can make legal, by
 * everything else. */
static int compare_axes(const rlo_problem *problem, int32_t a, int32_t b) {
  const rlo_form *dst = &problem->dst;
  const rlo_form *src = &problem->src;
  const bool is_summed = dst->axis[a] == 0;
  const int64_t of_a[] = {dst->axis[a], is_summed ? src->axis[a] : 0, problem->extents[a]};
  const int64_t of_b[] = {dst->axis[b], is_summed ? src->axis[b] : 0, problem->extents[b]};
  int order = rlo__compare_numbers(of_b, of_a, 3);
  int32_t num_forms = rlo__problem_num_forms(problem) - problem->num_guards;
  for (int32_t n = 0; order == 0 && n < num_forms; ++n) {
    const rlo_form *form = rlo__problem_form_of(problem, n);
    order = rlo__compare_numbers(&form->axis[b], &form->axis[a], 1);
  }
  return order != 0 ? order : compare_in_guards(problem, a, b);
}

static void sort_axes(canonicalizer *c) {
  int32_t order[RLO_MAX_AXES];
  bool is_moved = false;
  for (int32_t a = 0; a < c->problem->num_axes; ++a) {
    int32_t place = a;
    while (place > 0 && compare_axes(c->problem, order[place - 1], a) > 0) {
      order[place] = order[place - 1];
      --place;
      is_moved = true;
    }
    order[place] = a;
  }
  if (is_moved) {
    rlo__rewrite_permute_axes(c->problem, order);
    note(c, "order the axes by destination stride");
  }
}

/* Axis `outer` continues `inner` in every form: one axis can count both. */
static bool can_merge(rlo_problem *problem, int32_t outer, int32_t inner) {
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    const rlo_form *form = rlo__problem_form(problem, n);
    int64_t step;
    if (!rlo__mul(form->axis[inner], problem->extents[inner], &step) || step != form->axis[outer]) {
      return false;
    }
  }
  return true;
}

static void merge_axes(canonicalizer *c) {
  rlo_problem *problem = c->problem;
  for (int32_t outer = 0; outer < problem->num_axes; ++outer) {
    for (int32_t inner = 0; inner < problem->num_axes; ++inner) {
      if (inner == outer || !can_merge(problem, outer, inner) ||
          !rlo__mul(problem->extents[inner], problem->extents[outer], &problem->extents[inner])) {
        continue;
      }
      rlo__rewrite_remove_axis(problem, outer);
      note(c, "merge axes %d and %d", outer, inner);
      outer = -1; /* restart: the merged axis may merge once more */
      break;
    }
  }
}

static void widen_unit(canonicalizer *c) {
  if (c->problem->update == RLO_UPDATE_COMBINE) {
    return; /* a unit is a number */
  }
  while (c->problem->unit_bits * 2 <= c->max_unit_bits && rlo__widen(c->problem)) {
    note(c, "widen the unit to %d bits", c->problem->unit_bits);
  }
}

static rlo_status make_canonical(canonicalizer *c) {
  clear_uncounted(c->problem);
  do {
    c->has_changed = false;
    if (rlo_problem_is_empty(c->problem)) {
      break;
    }
    bool has_changed = false;
    RLO_TRY(rlo__guard_simplify(c->problem, &has_changed));
    if (has_changed) {
      note(c, "simplify the guards");
    }
    if (rlo_problem_is_empty(c->problem)) {
      break;
    }
    RLO_TRY(resolve_terms(c));
    RLO_TRY(flip_axes(c));
    drop_axes(c);
    sort_axes(c);
    merge_axes(c);
    widen_unit(c);
  } while (c->has_changed);
  if (rlo_problem_is_empty(c->problem)) {
    rlo__rewrite_to_empty(c->problem);
  }
  return RLO_OK;
}

static void clear_unused_fill(rlo_problem *problem) {
  if (!rlo__problem_uses_fill(problem)) {
    memset(problem->fill, 0, sizeof problem->fill);
  }
}

/* Everything, on the canonicalizer's problem, which is not known to be valid.
 */
static rlo_status check_and_make(canonicalizer *c) {
  RLO_TRY(rlo__problem_validate(c->problem));
  RLO_FAIL_IF(c->max_unit_bits < 0 || c->max_unit_bits > RLO_MAX_UNIT_BITS, RLO_INVALID_ARGUMENT,
              "max_unit_bits=%d; the limits are 0 and %d", c->max_unit_bits, RLO_MAX_UNIT_BITS);
  RLO_TRY(make_canonical(c));
  clear_unused_fill(c->problem);
  return RLO_OK;
}

rlo_status rlo__problem_canonicalize_in_place(rlo_problem *problem, int32_t max_unit_bits) {
  canonicalizer c = {.problem = problem, .max_unit_bits = max_unit_bits};
  return check_and_make(&c);
}

rlo_status rlo_problem_canonicalize(rlo_problem *problem, int32_t max_unit_bits,
                                    rlo_problem_trace_fn trace, void *payload) {
  RLO_REQUIRE(problem);
  rlo_problem *work = rlo__alloc_unset(sizeof *work);
  RLO_TRY_MEMORY(work);
  rlo__problem_copy(problem, work);
  canonicalizer c = {work, max_unit_bits, trace, payload, false};
  rlo_status status = check_and_make(&c);
  if (status == RLO_OK) {
    rlo__problem_copy(work, problem);
  }
  rlo__free(work);
  return status;
}
