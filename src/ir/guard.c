/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/rewrite.h"

static rlo_status overflow(void) {
  return RLO_FAIL(RLO_OVERFLOW, "a guard of the problem exceeds 64 bits");
}

static int64_t coefficient_gcd(const rlo_form *form) {
  int64_t gcd = 0;
  for (int32_t n = 1; n < RLO__FORM_NUMBERS; ++n) {
    gcd = rlo__gcd(gcd, rlo__form_read(form)[n]);
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
  int64_t first = rlo__ceil_div(-guard->form.base, gcd);
  int64_t end = rlo__ceil_div(guard->limit - guard->form.base, gcd);
  for (int32_t n = 1; n < RLO__FORM_NUMBERS; ++n) {
    rlo__form_numbers(&guard->form)[n] /= gcd;
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
    if (!rlo__form_scale(&guard->form, -1)) {
      return false;
    }
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
  int32_t found = 0;
  for (int32_t n = 1; n < RLO__FORM_NUMBERS; ++n) {
    if (rlo__form_read(&guard->form)[n] != 0) {
      if (found > 0 || n > RLO_MAX_AXES) {
        return -1;
      }
      found = n;
    }
  }
  return found - 1;
}

/* A SKIP guard on one axis with coefficient 1 or -1 leaves the points first ..
 * last of it: shifts the axis there and shortens it. Both are points of the
 * axis: a side that does not bound is at its end (make_one_sided). */
static rlo_status absorb(rlo_problem *problem, int32_t number, int32_t axis) {
  rlo_guard guard = problem->guards[number];
  rlo__rewrite_remove_guard(problem, number);
  int64_t first = guard.form.axis[axis] > 0 ? -guard.form.base : guard.form.base - guard.limit + 1;
  int64_t last = guard.form.axis[axis] > 0 ? guard.limit - guard.form.base - 1 : guard.form.base;
  problem->extents[axis] = last - first + 1;
  return rlo__rewrite_shift(problem, axis, first) ? RLO_OK : overflow();
}

/*
 * Tells if `other` fails wherever `guard` does: other = k * guard + rest with
 * k > 0, so where guard's form is at or above its limit, other's is at least
 * k * limit + min(rest). Guards with two bounding sides imply nothing here.
 */
static bool is_implied(const rlo_problem *problem, const rlo_guard *guard, const rlo_guard *other) {
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
        rlo__mul_add(min, factor, guard->limit, &least) && least >= other->limit) {
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
    if (h != number && (guard->kind == RLO_GUARD_PAD || other->kind == RLO_GUARD_SKIP) &&
        is_implied(problem, guard, other)) {
      return true;
    }
  }
  return false;
}

static int compare_guards(const rlo_guard *a, const rlo_guard *b) {
  const int64_t of_a[] = {a->kind, a->limit};
  const int64_t of_b[] = {b->kind, b->limit};
  int order = rlo__compare_numbers(of_a, of_b, 2);
  return order != 0 ? order
                    : rlo__compare_numbers(rlo__form_read(&a->form), rlo__form_read(&b->form),
                                           RLO__FORM_NUMBERS);
}

/* Every cell takes the fill: nothing is read. */
static bool make_pure_fill(rlo_problem *problem, int32_t number) {
  static const rlo_guard never = {.kind = RLO_GUARD_PAD};
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
    for (int32_t h = g; h > 0 && compare_guards(&problem->guards[h - 1], &problem->guards[h]) > 0;
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
static rlo_status simplify_one(rlo_problem *problem, int32_t number, bool *out_has_changed,
                               bool *out_is_gone) {
  rlo_guard *guard = &problem->guards[number];
  rlo_guard before = *guard;
  rlo__guard_reach reach = rlo__form_reach(problem, &guard->form, guard->limit);
  if (reach == RLO__HOLDS_NOWHERE && guard->kind == RLO_GUARD_PAD) {
    *out_is_gone = make_pure_fill(problem, number);
    return RLO_OK;
  }
  *out_is_gone = true;
  if (reach == RLO__HOLDS_NOWHERE) {
    rlo__rewrite_to_empty(problem);
    return RLO_OK;
  }
  if (reach == RLO__HOLDS_SOMEWHERE) {
    make_coprime(guard);
    reach = make_one_sided(problem, guard) ? reach : RLO__HOLDS_BEYOND;
  }
  if (reach == RLO__HOLDS_BEYOND) {
    return overflow();
  }
  int32_t axis = single_axis(guard);
  if (reach == RLO__HOLDS_SOMEWHERE && guard->kind == RLO_GUARD_SKIP && axis >= 0) {
    return absorb(problem, number, axis);
  }
  if (reach == RLO__HOLDS_EVERYWHERE || is_redundant(problem, number)) {
    rlo__rewrite_remove_guard(problem, number);
    return RLO_OK;
  }
  *out_is_gone = false;
  *out_has_changed = *out_has_changed || compare_guards(&before, guard) != 0;
  return RLO_OK;
}

rlo_status rlo__guard_simplify(rlo_problem *problem, bool *out_has_changed) {
  for (int32_t g = 0; g < problem->num_guards;) {
    bool is_gone;
    RLO_TRY(simplify_one(problem, g, out_has_changed, &is_gone));
    *out_has_changed = *out_has_changed || is_gone;
    if (is_gone && rlo_problem_is_empty(problem)) {
      return RLO_OK;
    }
    /* A dropped guard may have been what kept another one. */
    g = is_gone ? 0 : g + 1;
  }
  bool has_moved = sort_guards(problem);
  *out_has_changed = *out_has_changed || has_moved;
  return RLO_OK;
}
