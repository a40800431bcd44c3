/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/joined_rows.h"

#include "base/checked.h"
#include "base/threshold.h"
#include "ir/form.h"

/* The axis of stride 1 of a form, the longest of several; -1: none. */
static int32_t innermost_axis(const rlo_problem *problem, const rlo_form *form) {
  int32_t found = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (form->axis[a] == 1 && (found < 0 || problem->extents[a] > problem->extents[found])) {
      found = a;
    }
  }
  return found;
}

/* Tells if the count divides every position of a form at which the coordinate
 * along `axis` is 0. */
static bool is_whole(const rlo_problem *problem, const rlo_form *form, int32_t axis,
                     int64_t count) {
  bool whole = form->base % count == 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    whole = whole && (a == axis || form->axis[a] % count == 0);
  }
  return whole;
}

/* Tells if a guard treats the elements of a byte of the destination alike: it
 * does not see their axis, or its bounds fall between bytes. With coefficient
 * -1 the elements of a byte count downwards. */
static bool guard_allows(const rlo_problem *problem, const rlo_guard *guard, int32_t axis,
                         int64_t count) {
  int64_t step = guard->form.axis[axis];
  if (step == 0) {
    return true;
  }
  if ((step != 1 && step != -1) || guard->limit % count != 0 ||
      rlo__floor_mod(guard->form.base, count) != (step == 1 ? 0 : count - 1)) {
    return false;
  }
  rlo_form rest = guard->form;
  rest.base = 0;
  return is_whole(problem, &rest, axis, count);
}

/* Tells if rows along b may be joined wherever they begin: each is behind the one before in the
 * destination, where b is the last axis, and no other axis seems to be innermost once strides are
 * divided. */
static bool takes_odd_rows(const rlo_problem *problem, int32_t a, int32_t b, int64_t count) {
  int64_t reach = problem->extents[b];
  bool takes = problem->num_guards == 0 && b == problem->num_axes - 1 &&
               reach >= rlo__thresholds.plan_cpu_odd_row_bytes * count;
  for (int32_t n = b - 1; takes && n >= 0; --n) {
    takes = problem->dst.axis[n] >= reach;
    reach += problem->dst.axis[n] * (problem->extents[n] - 1);
  }
  for (int32_t n = 0; takes && n <= b; ++n) {
    int64_t step = rlo__abs(problem->src.axis[n]);
    takes = n == a || step == 0 || step >= 2 * count;
  }
  return takes;
}

static bool find_axes(const rlo_problem *problem, int64_t count, bool takes_odd, int32_t *out_a,
                      int32_t *out_b, bool *out_is_odd, rlo__str *why) {
  int32_t a = innermost_axis(problem, &problem->src);
  int32_t b = innermost_axis(problem, &problem->dst);
  if (a < 0 || b < 0) {
    return RLO__REFUSE(why, "no axis has stride 1 in the %s", a < 0 ? "source" : "destination");
  }
  if (a == b) {
    return RLO__REFUSE(why, "the innermost axis is the same on both sides");
  }
  *out_is_odd = problem->extents[a] % count != 0 || problem->extents[b] % count != 0 ||
                !is_whole(problem, &problem->src, a, count) ||
                !is_whole(problem, &problem->dst, b, count);
  if (*out_is_odd && !(takes_odd && takes_odd_rows(problem, a, b, count))) {
    return RLO__REFUSE(why, "its rows of elements of %d bits are not whole bytes",
                       problem->unit_bits);
  }
  if (problem->dst.axis[a] == count || problem->src.axis[b] == 0) {
    return RLO__REFUSE(why, "its rows are single bytes, or all the same");
  }
  *out_a = a;
  *out_b = b;
  return true;
}

/* Divides a form by the count; `axis` keeps its coefficient. */
static void divide(rlo_form *form, int32_t axis, int64_t count) {
  int64_t kept = form->axis[axis];
  form->base = rlo__floor_div(form->base, count);
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    form->axis[a] /= count;
  }
  form->axis[axis] = kept;
}

/* A guard on the coordinates of the problem of bytes: that of the source's
 * innermost axis is n * x + h. False on overflow. */
static bool divide_guard(rlo_guard *guard, int32_t a, int32_t b, int32_t h, int64_t count) {
  int64_t step = guard->form.axis[a];
  if (guard->form.axis[b] != 0) {
    divide(&guard->form, b, count);
    guard->limit /= count;
    guard->form.axis[h] = step / count;
    guard->form.axis[a] = step;
    return true;
  }
  guard->form.axis[h] = step;
  return rlo__mul(step, count, &guard->form.axis[a]);
}

bool rlo__join_rows(const rlo_problem *problem, bool takes_odd, rlo_problem *out_bytes,
                    rlo__joined_rows *out_joined, rlo__str *why) {
  int32_t bits = problem->unit_bits;
  if (bits != 1 && bits != 2 && bits != 4) {
    return RLO__REFUSE(why, "units of %d bits do not make up bytes", bits);
  }
  if (problem->num_terms > 0 || problem->num_axes == RLO_MAX_AXES) {
    return RLO__REFUSE(why, "%d quotients and %d axes are left", problem->num_terms,
                       problem->num_axes);
  }
  int64_t count = 8 / bits;
  int32_t a;
  int32_t b;
  bool is_odd;
  if (!find_axes(problem, count, takes_odd, &a, &b, &is_odd, why)) {
    return false;
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (!guard_allows(problem, &problem->guards[g], b, count)) {
      return RLO__REFUSE(why, "a guard ends within a byte");
    }
  }
  int32_t h = problem->num_axes;
  int64_t src_ld = problem->src.axis[b];
  int64_t dst_ld = problem->dst.axis[a];
  *out_bytes = *problem;
  rlo_problem *bytes = out_bytes;
  bytes->unit_bits = 8;
  bytes->fill[0] = (uint8_t)(problem->fill[0] * (0xff / ((1 << bits) - 1)));
  bytes->num_axes = h + 1;
  bytes->extents[h] = count;
  bytes->extents[a] = rlo__ceil_div(bytes->extents[a], count);
  bytes->extents[b] = rlo__ceil_div(bytes->extents[b], count);
  for (int32_t n = 0; n < rlo__problem_num_forms(bytes); ++n) {
    rlo__problem_form(bytes, n)->axis[h] = 0;
  }
  divide(&bytes->src, a, count);
  bytes->src.axis[b] = src_ld;
  divide(&bytes->dst, b, count);
  bytes->dst.axis[h] = dst_ld / count;
  bytes->dst.axis[a] = dst_ld;
  for (int32_t g = 0; g < bytes->num_guards; ++g) {
    if (!divide_guard(&bytes->guards[g], a, b, h, count)) {
      return RLO__REFUSE(why, "a guard exceeds 64 bits");
    }
  }
  *out_joined = (rlo__joined_rows){
      .bits = bits, .axis = h, .step_bytes = src_ld / count, .elements = is_odd ? problem : NULL};
  return true;
}
