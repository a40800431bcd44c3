/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/rewrite.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/update.h"
#include "relayout/permutation.h"

rlo_status rlo__rewrite_add_axis(rlo_problem *problem, const char *what, const char *of,
                                 int64_t extent, int32_t *out_axis) {
  const int32_t axis = problem->num_axes;
  RLO_FAIL_IF(axis == RLO_MAX_AXES, RLO_UNSUPPORTED, "%s more than %d %s", what, RLO_MAX_AXES, of);
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo__problem_form(problem, n)->axis[axis] = 0;
  }
  problem->extents[axis] = extent;
  *out_axis = problem->num_axes++;
  return RLO_OK;
}

rlo_status rlo__rewrite_add_guard(rlo_problem *problem, const char *what, rlo_guard_kind kind,
                                  const rlo_form *form, int64_t limit) {
  RLO_FAIL_IF(problem->num_guards == RLO_MAX_GUARDS, RLO_UNSUPPORTED,
              "%s needs more than %d guards", what, RLO_MAX_GUARDS);
  problem->guards[problem->num_guards++] = (rlo_guard){.kind = kind, .form = *form, .limit = limit};
  return RLO_OK;
}

bool rlo__rewrite_shift(rlo_problem *problem, int32_t axis, int64_t first) {
  bool fits = true;
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    fits = fits && rlo__mul_add(form->base, form->axis[axis], first, &form->base);
  }
  return fits;
}

rlo_status rlo__rewrite_split(rlo_problem *problem, int32_t axis, int64_t radix) {
  int64_t extent = problem->extents[axis];
  int32_t low;
  RLO_TRY(rlo__rewrite_add_axis(problem, "splitting at the tiles needs", "axes", radix, &low));
  problem->extents[axis] = rlo__ceil_div(extent, radix);
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    form->axis[low] = form->axis[axis];
    RLO_FAIL_IF(!rlo__mul(form->axis[axis], radix, &form->axis[axis]), RLO_OVERFLOW,
                "an axis of stride %lld split at %lld exceeds 64 bits", (long long)form->axis[low],
                (long long)radix);
  }
  rlo_form overhang = {0};
  overhang.axis[axis] = radix;
  overhang.axis[low] = 1;
  return extent % radix == 0 ? RLO_OK
                             : rlo__rewrite_add_guard(problem, "splitting at the tiles",
                                                      RLO_GUARD_SKIP, &overhang, extent);
}

bool rlo__rewrite_flip(rlo_problem *problem, int32_t axis) {
  bool fits = rlo__rewrite_shift(problem, axis, problem->extents[axis] - 1);
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    fits = fits && rlo__sub(0, form->axis[axis], &form->axis[axis]);
  }
  return fits;
}

void rlo__rewrite_remove_axis(rlo_problem *problem, int32_t axis) {
  int32_t after = problem->num_axes - axis - 1;
  memmove(&problem->extents[axis], &problem->extents[axis + 1],
          (size_t)after * sizeof problem->extents[0]);
  --problem->num_axes;
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    memmove(&form->axis[axis], &form->axis[axis + 1], (size_t)after * sizeof form->axis[0]);
    form->axis[problem->num_axes] = 0;
  }
}

void rlo__rewrite_permute_axes(rlo_problem *problem, const int32_t *order) {
  int64_t old[RLO_MAX_AXES];
  memcpy(old, problem->extents, sizeof old);
  rlo_permutation_apply(order, problem->num_axes, old, problem->extents);
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    memcpy(old, form->axis, sizeof old);
    rlo_permutation_apply(order, problem->num_axes, old, form->axis);
  }
}

void rlo__rewrite_remove_guard(rlo_problem *problem, int32_t guard) {
  memmove(&problem->guards[guard], &problem->guards[guard + 1],
          (size_t)(problem->num_guards - guard - 1) * sizeof problem->guards[0]);
  --problem->num_guards;
}

static void remove_term(rlo_problem *problem, int32_t term) {
  int32_t after = problem->num_terms - term - 1;
  memmove(&problem->terms[term], &problem->terms[term + 1],
          (size_t)after * sizeof problem->terms[0]);
  --problem->num_terms;
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *form = rlo__problem_form(problem, n);
    memmove(&form->term[term], &form->term[term + 1], (size_t)after * sizeof form->term[0]);
    form->term[problem->num_terms] = 0;
  }
}

bool rlo__rewrite_replace_term(rlo_problem *problem, int32_t term, const rlo_form *form) {
  bool fits = true;
  for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
    rlo_form *user = rlo__problem_form(problem, n);
    int64_t factor = user->term[term];
    if (factor != 0) {
      user->term[term] = 0;
      fits = fits && rlo__form_add(user, factor, form);
    }
  }
  remove_term(problem, term);
  return fits;
}

bool rlo__rewrite_drop_unused_terms(rlo_problem *problem) {
  bool has_dropped = false;
  for (int32_t t = problem->num_terms - 1; t >= 0; --t) {
    bool is_used = t == rlo__problem_operand_term(problem);
    for (int32_t n = 0; n < rlo__problem_num_forms(problem); ++n) {
      is_used = is_used || rlo__problem_form(problem, n)->term[t] != 0;
    }
    if (!is_used) {
      remove_term(problem, t);
      has_dropped = true;
    }
  }
  return has_dropped;
}

void rlo__rewrite_to_empty(rlo_problem *problem) {
  problem->num_axes = 1;
  problem->num_terms = 0;
  problem->num_guards = 0;
  problem->update = RLO_UPDATE_STORE;
  problem->index_bits = 0;
  problem->index_bytes = 0;
  problem->extents[0] = 0;
  memset(&problem->src, 0, sizeof problem->src);
  memset(&problem->dst, 0, sizeof problem->dst);
  memset(problem->fill, 0, sizeof problem->fill);
}
