/* SPDX-License-Identifier: Apache-2.0 */
#include "host/peel.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "ir/piece.h"

enum { MAX_ENDS = 4 };

typedef struct peeler {
  rlo__host_part_fn fn;
  void *payload;
  int32_t num_parts;
} peeler;

/** Where a guard changes along an axis: it is one of always, never or sometimes
 *  fulfilled between two neighbouring ends. */
typedef struct cut {
  int32_t axis;
  int64_t ends[MAX_ENDS];
} cut;

static bool is_decided(const rlo_guard *guard) {
  return rlo__form_is_constant(&guard->form);
}

/** The next guard to cut at, or NULL. */
static const rlo_guard *find_guard(const rlo_problem *problem) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (!is_decided(guard) && !rlo__form_has_terms(problem, &guard->form)) {
      return guard;
    }
  }
  return NULL;
}

/** The axis along which the guard's form changes most. */
static int32_t widest_axis(const rlo_problem *problem, const rlo_form *form) {
  int32_t widest = 0;
  int64_t most = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t span = rlo__abs(form->axis[a]) * (problem->extents[a] - 1);
    if (span > most) {
      most = span;
      widest = a;
    }
  }
  return widest;
}

/** @return false if a number exceeds 64 bits. */
static bool find_cut(const rlo_problem *problem, const rlo_guard *guard, cut *out) {
  out->axis = widest_axis(problem, &guard->form);
  const int64_t extent = problem->extents[out->axis];
  const int64_t step = guard->form.axis[out->axis];
  rlo_form rest = guard->form;
  int64_t min;
  int64_t max;
  rest.axis[out->axis] = 0;
  if (!rlo__form_range(problem, &rest, &min, &max)) {
    return false;
  }
  /* With i counted so that the form rises with it: it may be 0 or more from
   * ends[0] on, is so from ends[1]; is below the limit before ends[2], may be
   * so before ends[3]. */
  const int64_t rise = rlo__abs(step);
  const int64_t shift = step < 0 ? step * (extent - 1) : 0;
  out->ends[0] = rlo__ceil_div(-max - shift, rise);
  out->ends[1] = rlo__ceil_div(-min - shift, rise);
  out->ends[2] = rlo__ceil_div(guard->limit - max - shift, rise);
  out->ends[3] = rlo__ceil_div(guard->limit - min - shift, rise);
  for (int32_t n = 0; n < MAX_ENDS; ++n) {
    int64_t end = rlo__min(rlo__max(out->ends[n], 0), extent);
    out->ends[n] = step < 0 ? extent - end : end;
  }
  for (int32_t n = 1; n < MAX_ENDS; ++n) {
    for (int32_t k = n; k > 0 && out->ends[k - 1] > out->ends[k]; --k) {
      int64_t moved = out->ends[k];
      out->ends[k] = out->ends[k - 1];
      out->ends[k - 1] = moved;
    }
  }
  return true;
}

static rlo_status peel(peeler *p, const rlo_problem *problem);

static rlo_status peel_slice(peeler *p, const rlo_problem *problem, int32_t axis, int64_t begin,
                             int64_t end) {
  rlo_problem *slice = rlo__alloc(sizeof *slice);
  RLO_TRY_MEMORY(slice);
  rlo_status status = rlo__problem_restrict(problem, axis, begin, end, slice);
  if (status == RLO_OK) {
    status = rlo_problem_canonicalize(slice, RLO_MAX_UNIT_BITS, NULL, NULL);
  }
  if (status == RLO_OK) {
    status = peel(p, slice);
  }
  rlo__free(slice);
  return status;
}

/** Tells if the guard may hold for some points of the slice and fail for
 * others. */
static bool is_mixed(const rlo_problem *problem, const rlo_guard *guard, int32_t axis, int64_t at) {
  rlo_form form = guard->form;
  form.base += form.axis[axis] * at;
  form.axis[axis] = 0;
  rlo__guard_reach reach = rlo__form_reach(problem, &form, guard->limit);
  return reach == RLO__HOLDS_SOMEWHERE || reach == RLO__HOLDS_BEYOND;
}

static rlo_status emit(peeler *p, const rlo_problem *part) {
  bool is_plain =
      part->num_terms == 0 || (part->num_terms == 1 && part->terms[0].kind == RLO_TERM_OPERAND);
  for (int32_t g = 0; g < part->num_guards; ++g) {
    is_plain = is_plain && is_decided(&part->guards[g]);
  }
  p->num_parts += 1;
  return p->fn(p->payload, part, is_plain);
}

static rlo_status peel(peeler *p, const rlo_problem *problem) {
  if (rlo_problem_is_empty(problem)) {
    return RLO_OK;
  }
  const rlo_guard *guard = find_guard(problem);
  cut c;
  if (guard == NULL || p->num_parts >= rlo__thresholds.host_parts ||
      !find_cut(problem, guard, &c)) {
    return emit(p, problem);
  }
  const int64_t extent = problem->extents[c.axis];
  int64_t begin = 0;
  for (int32_t n = 0; n <= MAX_ENDS; ++n) {
    const int64_t end = n < MAX_ENDS ? c.ends[n] : extent;
    if (end == begin) {
      continue;
    }
    bool is_one_by_one = is_mixed(problem, guard, c.axis, begin);
    if (is_one_by_one && end - begin > rlo__thresholds.host_guard_points) {
      if (end - begin == extent) {
        return emit(p, problem);
      }
      is_one_by_one = false; /* as a part of its own it keeps the guard */
    }
    for (int64_t at = begin; at < end; at = is_one_by_one ? at + 1 : end) {
      RLO_TRY(peel_slice(p, problem, c.axis, at, is_one_by_one ? at + 1 : end));
    }
    begin = end;
  }
  return RLO_OK;
}

rlo_status rlo__host_peel(const rlo_problem *problem, rlo__host_part_fn fn, void *payload) {
  peeler p = {.fn = fn, .payload = payload};
  return peel(&p, problem);
}
