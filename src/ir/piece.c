/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/piece.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "desc/strides.h"
#include "ir/form.h"
#include "ir/rewrite.h"
#include "ir/update.h"
#include "ir/validate.h"

/* Adds the axes that share a guard or a quotient with one of a set:
 * canonicalization may simplify a guard or a quotient of a piece and not that
 * of the whole, and so change the axes. The values of loads do not depend on a
 * cut. */
static uint64_t add_tied_axes(const rlo_problem *problem, uint64_t axes) {
  uint64_t before;
  do {
    before = axes;
    for (int32_t n = 2; n < rlo__problem_num_forms(problem); ++n) {
      const rlo_form *form = rlo__problem_form_of(problem, n);
      bool is_tie = n - 2 >= problem->num_terms || problem->terms[n - 2].kind == RLO_TERM_QUOTIENT;
      if (is_tie && (rlo__problem_form_axes(problem, form, false) & axes) != 0) {
        axes |= rlo__problem_form_axes(problem, form, true);
      }
    }
  } while (axes != before);
  return axes;
}

static uint64_t summed_axes(const rlo_problem *problem) {
  uint64_t axes = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    axes |= (uint64_t)rlo__problem_is_summed(problem, a) << a;
  }
  return axes;
}

/* The order of a sum follows from the canonical form of its reduction axes,
 * which must be that of the whole. */
static rlo_status check_order(const rlo_problem *problem, uint64_t cut) {
  RLO_FAIL_IF(
      problem->update == RLO_UPDATE_COMBINE && problem->arithmetic.is_sequential, RLO_UNSUPPORTED,
      "a sequential problem is not cut: its points are combined in the order of the whole box");
  uint64_t summed = summed_axes(problem);
  uint64_t wrong = summed == 0 ? 0 : summed & add_tied_axes(problem, cut);
  if (wrong != 0) {
    int32_t a = __builtin_ctzll(wrong);
    return RLO_FAIL(
        RLO_UNSUPPORTED,
        (cut >> a & 1) != 0
            ? "axis %d is summed; a cut would change the order of the sum"
            : "axis %d is summed, and a guard or a quotient ties it to an axis that is cut",
        a);
  }
  return RLO_OK;
}

void rlo__problem_find_free_axes(const rlo_problem *problem, bool out_is_free[RLO_MAX_AXES]) {
  uint64_t summed = summed_axes(problem);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    out_is_free[a] =
        !(problem->update == RLO_UPDATE_COMBINE && problem->arithmetic.is_sequential) &&
        (summed & add_tied_axes(problem, UINT64_C(1) << a)) == 0;
  }
}

/* How many of the positions that strides make, the widest first, are below
 * `end`; each stride is wider than what the narrower ones span. */
static int64_t count_below(const rlo__stride *list, int32_t count, int64_t points, int64_t span,
                           int64_t end) {
  int64_t below = count == 0 && end > 0 ? 1 : 0;
  for (int32_t n = 0; n < count && end > 0; ++n) {
    points /= list[n].extent;
    span -= list[n].stride * (list[n].extent - 1);
    int64_t whole = end > span ? (end - span - 1) / list[n].stride + 1 : 0;
    whole = rlo__min(whole, list[n].extent);
    below += whole * points;
    if (whole == list[n].extent) {
      break;
    }
    end -= whole * list[n].stride;
  }
  return below;
}

/* Counts the points over the guard's `count` axes where it holds. False if that
 * takes more than strides. */
static bool count_inside(const rlo_problem *problem, const rlo_guard *guard, rlo__stride *list,
                         int32_t count, int64_t *out_points) {
  int64_t min;
  int64_t max;
  int64_t span;
  int64_t end;
  int64_t begin;
  if (!rlo__strides_are_distinct(list, count) ||
      !rlo__form_range(problem, &guard->form, &min, &max) || !rlo__sub(max, min, &span) ||
      !rlo__sub(guard->limit, min, &end) || !rlo__sub(0, min, &begin)) {
    return false;
  }
  int64_t points = 1;
  for (int32_t n = 0; n < count; ++n) {
    if (!rlo__mul(points, list[n].extent, &points)) {
      return false;
    }
  }
  *out_points = rlo__max(0, count_below(list, count, points, span, end) -
                                count_below(list, count, points, span, begin));
  return true;
}

/* The number of units that the problem touches, or more; -1 beyond 64 bits.
 * Exact if each axis is in one guard at most and positions are distinct. */
static int64_t count_units(const rlo_problem *problem, rlo__problem_side side) {
  if (rlo_problem_is_empty(problem)) {
    return 0;
  }
  uint64_t left = rlo__problem_form_axes(problem, rlo__side_form(problem, side), true);
  int64_t units = 1;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (!rlo__side_guarded_by(guard, side) || rlo__form_has_terms(problem, &guard->form)) {
      continue;
    }
    rlo__stride list[RLO_MAX_AXES];
    int32_t count = 0;
    uint64_t axes = 0;
    for (int32_t a = 0; a < problem->num_axes; ++a) {
      if (problem->extents[a] > 1 && guard->form.axis[a] != 0) {
        axes |= UINT64_C(1) << a;
        list[count++] = (rlo__stride){problem->extents[a], rlo__abs(guard->form.axis[a]), a};
      }
    }
    int64_t points;
    if ((axes & ~left) != 0 || !count_inside(problem, guard, list, count, &points)) {
      continue;
    }
    left &= ~axes;
    if (!rlo__mul(units, points, &units)) {
      return -1;
    }
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if ((left >> a & 1) != 0 && !rlo__mul(units, problem->extents[a], &units)) {
      return -1;
    }
  }
  return units;
}

/* Never more than the whole's: a bound of the whole holds for each piece. */
static int64_t piece_bytes(const rlo_problem *piece, rlo__problem_side side, int64_t whole) {
  int64_t bits = count_units(piece, side);
  if (bits < 0 || !rlo__mul(bits, rlo__side_unit_bits(piece, side), &bits)) {
    return whole;
  }
  return rlo__min(rlo__ceil_div(bits, 8), whole);
}

static void count_bytes(rlo_problem *piece) {
  piece->written_bytes = piece_bytes(piece, RLO__SIDE_DESTINATION, piece->written_bytes);
  int64_t read = piece_bytes(piece, RLO__SIDE_SOURCE, piece->read_bytes);
  if (rlo_problem_reads_cells(piece) && !rlo__add(read, piece->written_bytes, &read)) {
    read = piece->read_bytes;
  }
  piece->read_bytes = rlo__min(read, piece->read_bytes);
}

rlo_status rlo__problem_restrict_box(const rlo_problem *problem, const int64_t *begins,
                                     const int64_t *ends, rlo_problem *out) {
  RLO_TRY(rlo__problem_validate(problem));
  uint64_t cut = 0;
  bool is_empty = false;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    RLO_FAIL_IF(begins[a] < 0 || ends[a] < begins[a] || ends[a] > problem->extents[a],
                RLO_OUT_OF_RANGE, "axis %d is cut to [%lld, %lld); it is [0, %lld)", a,
                (long long)begins[a], (long long)ends[a], (long long)problem->extents[a]);
    cut |= (uint64_t)(ends[a] - begins[a] < problem->extents[a]) << a;
    is_empty = is_empty || ends[a] == begins[a];
  }
  if (cut != 0) {
    RLO_TRY(check_order(problem, cut));
  }
  int64_t bases[2 + RLO_MAX_TERMS + RLO_MAX_GUARDS];
  int32_t num_forms = rlo__problem_num_forms(problem);
  for (int32_t n = 0; n < num_forms; ++n) {
    const rlo_form *form = rlo__problem_form_of(problem, n);
    bases[n] = form->base;
    for (int32_t a = 0; a < problem->num_axes && !is_empty; ++a) {
      if (!rlo__mul_add(bases[n], form->axis[a], begins[a], &bases[n])) {
        return rlo__fail_overflow("a position of the piece");
      }
    }
  }
  if (out != problem) {
    *out = *problem;
  }
  for (int32_t n = 0; n < num_forms; ++n) {
    rlo__problem_form(out, n)->base = bases[n];
  }
  for (int32_t a = 0; a < out->num_axes; ++a) {
    out->extents[a] = ends[a] - begins[a];
  }
  if (cut != 0) {
    count_bytes(out);
  }
  return RLO_OK;
}

rlo_status rlo__problem_fix_quotient(rlo_problem *problem, int32_t term, int64_t value) {
  const int64_t divisor = problem->terms[term].divisor;
  rlo_form form = problem->terms[term].form;
  rlo_form constant = {0};
  constant.base = value;
  if (!rlo__mul_add(form.base, -divisor, value, &form.base)) {
    return rlo__fail_overflow("a quotient");
  }
  RLO_TRY(
      rlo__rewrite_add_guard(problem, "a quotient of one value", RLO_GUARD_SKIP, &form, divisor));
  return rlo__rewrite_replace_term(problem, term, &constant) ? RLO_OK
                                                             : rlo__fail_overflow("a position");
}

rlo_status rlo__problem_restrict(const rlo_problem *problem, int32_t axis, int64_t begin,
                                 int64_t end, rlo_problem *out) {
  RLO_TRY(rlo__problem_validate(problem));
  RLO_FAIL_IF(axis < 0 || axis >= problem->num_axes, RLO_INVALID_ARGUMENT,
              "axis %d of a problem of %d axes", axis, problem->num_axes);
  int64_t begins[RLO_MAX_AXES] = {0};
  int64_t ends[RLO_MAX_AXES];
  memcpy(ends, problem->extents, sizeof ends);
  begins[axis] = begin;
  ends[axis] = end;
  return rlo__problem_restrict_box(problem, begins, ends, out);
}
