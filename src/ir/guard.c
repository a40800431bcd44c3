/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/guard.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/rewrite.h"

static rlo_status overflow(void) {
  return RLO_FAIL(RLO_OVERFLOW, "a guard of the problem exceeds 64 bits");
}

/* ceil(a / b), b > 0, for either sign of a. */
static int64_t ceil_div(int64_t a, int64_t b) {
  return -rlo__floor_div(-a, b);
}

static int64_t coefficient_gcd(const rlo_form *form) {
  int64_t gcd = 0;
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    gcd = rlo__gcd(gcd, form->axis[a]);
  }
  for (int32_t t = 0; t < RLO_MAX_TERMS; ++t) {
    gcd = rlo__gcd(gcd, form->term[t]);
  }
  return gcd;
}

/*
 * 0 <= base + g*f < limit  is  ceil(-base/g) <= f < ceil((limit-base)/g).
 */
static void make_coprime(rlo_guard *guard) {
  int64_t gcd = coefficient_gcd(&guard->form);
  if (gcd <= 1) {
    return;
  }
  int64_t first = ceil_div(-guard->form.base, gcd);
  int64_t end = ceil_div(guard->limit - guard->form.base, gcd);
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    guard->form.axis[a] /= gcd;
  }
  for (int32_t t = 0; t < RLO_MAX_TERMS; ++t) {
    guard->form.term[t] /= gcd;
  }
  guard->form.base = -first;
  guard->limit = end - first;
}

/* If only one side bounds, writes the guard as form < limit, with minimum 0 of
 * the form, so that equal guards have equal values. */
static bool make_one_sided(const rlo_problem *problem, rlo_guard *guard) {
  int64_t min;
  int64_t max;
  if (!rlo__form_range(problem, &guard->form, &min, &max)) {
    return false;
  }
  if (min < 0 && max < guard->limit) {
    rlo_form negated;
    memset(&negated, 0, sizeof negated);
    if (!rlo__form_add(&negated, -1, &guard->form)) {
      return false;
    }
    guard->form = negated;
    guard->limit = 1;
    min = -max;
  } else if (min < 0) {
    return true;
  }
  return rlo__sub(guard->form.base, min, &guard->form.base) &&
         rlo__sub(guard->limit, min, &guard->limit);
}

/* The only axis that decides the guard, or -1. */
static int32_t single_axis(const rlo_guard *guard) {
  int32_t found = -1;
  for (int32_t t = 0; t < RLO_MAX_TERMS; ++t) {
    if (guard->form.term[t] != 0) {
      return -1;
    }
  }
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    if (guard->form.axis[a] != 0) {
      if (found >= 0) {
        return -1;
      }
      found = a;
    }
  }
  return found;
}

/* A SKIP guard on one axis with coefficient 1 or -1 leaves the points first ..
 * last of it: shifts the axis there and shortens it. Both are points of the
 * axis: a side that does not bound is at its end (make_one_sided). */
static rlo_status absorb(rlo_problem *problem, int32_t number, int32_t axis) {
  rlo_guard guard = problem->guards[number];
  rlo__rewrite_remove_guard(problem, number);
  int64_t first = guard.form.axis[axis] > 0 ? -guard.form.base
                                            : guard.form.base - guard.limit + 1;
  int64_t last = guard.form.axis[axis] > 0 ? guard.limit - guard.form.base - 1
                                           : guard.form.base;
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    if (!rlo__mul_add(form->base, form->axis[axis], first, &form->base)) {
      return overflow();
    }
  }
  problem->extents[axis] = last - first + 1;
  return RLO_OK;
}

/*
 * Tells if `other` fails wherever `guard` does: other = k * guard + rest with
 * k > 0, so where guard's form is at or above its limit, other's is at least
 * k * limit + min(rest). Guards with two bounding sides imply nothing here.
 */
static bool is_implied(const rlo_problem *problem,
                       const rlo_guard *guard,
                       const rlo_guard *other) {
  int64_t min;
  int64_t max;
  if (!rlo__form_range(problem, &guard->form, &min, &max) || min < 0) {
    return false;
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (guard->form.axis[a] == 0) {
      continue;
    }
    int64_t factor = other->form.axis[a] / guard->form.axis[a];
    if (factor <= 0) {
      continue;
    }
    rlo_form rest = other->form;
    int64_t least;
    if (rlo__form_add(&rest, -factor, &guard->form) &&
        rlo__form_range(problem, &rest, &min, &max) &&
        rlo__mul_add(min, factor, guard->limit, &least) &&
        least >= other->limit) {
      return true;
    }
  }
  return false;
}

static bool is_redundant(const rlo_problem *problem, int32_t number) {
  const rlo_guard *guard = &problem->guards[number];
  for (int32_t h = 0; h < problem->num_guards; ++h) {
    const rlo_guard *other = &problem->guards[h];
    /* A skipped cell needs no fill; a filled cell is not skipped. */
    if (h != number &&
        (guard->kind == RLO_GUARD_PAD || other->kind == RLO_GUARD_SKIP) &&
        is_implied(problem, guard, other)) {
      return true;
    }
  }
  return false;
}

static int compare_int64(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int compare_guards(const rlo_guard *a, const rlo_guard *b) {
  int order = compare_int64(a->kind, b->kind);
  order = order != 0 ? order : compare_int64(a->limit, b->limit);
  order = order != 0 ? order : compare_int64(a->form.base, b->form.base);
  for (int32_t v = 0; order == 0 && v < RLO_MAX_AXES; ++v) {
    order = compare_int64(a->form.axis[v], b->form.axis[v]);
  }
  for (int32_t v = 0; order == 0 && v < RLO_MAX_TERMS; ++v) {
    order = compare_int64(a->form.term[v], b->form.term[v]);
  }
  return order;
}

/* Every cell takes the fill: nothing is read. */
static bool make_pure_fill(rlo_problem *problem, int32_t number) {
  rlo_guard never;
  memset(&never, 0, sizeof never);
  never.kind = RLO_GUARD_PAD;
  if (compare_guards(&problem->guards[number], &never) == 0 &&
      rlo__form_is_constant(&problem->src) && problem->src.base == 0) {
    return false;
  }
  for (int32_t g = problem->num_guards - 1; g >= 0; --g) {
    if (g != number && problem->guards[g].kind == RLO_GUARD_PAD) {
      rlo__rewrite_remove_guard(problem, g);
      number -= g < number;
    }
  }
  problem->guards[number] = never;
  memset(&problem->src, 0, sizeof problem->src);
  return true;
}

static bool sort_guards(rlo_problem *problem) {
  bool has_moved = false;
  for (int32_t g = 1; g < problem->num_guards; ++g) {
    for (int32_t h = g; h > 0 && compare_guards(&problem->guards[h - 1],
                                                &problem->guards[h]) > 0;
         --h) {
      rlo_guard moved = problem->guards[h];
      problem->guards[h] = problem->guards[h - 1];
      problem->guards[h - 1] = moved;
      has_moved = true;
    }
  }
  return has_moved;
}

/* Simplifies one guard. Sets *out_is_gone if its index now belongs to another
 * guard. */
static rlo_status simplify_one(rlo_problem *problem,
                               int32_t number,
                               bool *out_has_changed,
                               bool *out_is_gone) {
  rlo_guard *guard = &problem->guards[number];
  rlo_guard before = *guard;
  *out_is_gone = false;
  int64_t min;
  int64_t max;
  if (!rlo__form_range(problem, &guard->form, &min, &max)) {
    return overflow();
  }
  if (min >= 0 && max < guard->limit) {
    rlo__rewrite_remove_guard(problem, number);
    *out_is_gone = *out_has_changed = true;
    return RLO_OK;
  }
  if (max < 0 || min >= guard->limit) {
    if (guard->kind == RLO_GUARD_SKIP) {
      rlo__rewrite_to_empty(problem);
      *out_is_gone = *out_has_changed = true;
    } else if (make_pure_fill(problem, number)) {
      *out_is_gone = *out_has_changed = true;
    }
    return RLO_OK;
  }
  make_coprime(guard);
  if (!make_one_sided(problem, guard)) {
    return overflow();
  }
  int32_t axis = single_axis(guard);
  if (guard->kind == RLO_GUARD_SKIP && axis >= 0) {
    *out_is_gone = *out_has_changed = true;
    return absorb(problem, number, axis);
  }
  if (is_redundant(problem, number)) {
    rlo__rewrite_remove_guard(problem, number);
    *out_is_gone = *out_has_changed = true;
    return RLO_OK;
  }
  if (compare_guards(&before, guard) != 0) {
    *out_has_changed = true;
  }
  return RLO_OK;
}

rlo_status rlo__guard_simplify(rlo_problem *problem, bool *out_has_changed) {
  for (int32_t g = 0; g < problem->num_guards;) {
    bool is_gone;
    RLO_TRY(simplify_one(problem, g, out_has_changed, &is_gone));
    if (is_gone) {
      if (rlo_problem_is_empty(problem)) {
        return RLO_OK;
      }
      g = 0; /* a dropped guard may have been what kept another */
    } else {
      ++g;
    }
  }
  if (sort_guards(problem)) {
    *out_has_changed = true;
  }
  return RLO_OK;
}
