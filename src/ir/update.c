/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/update.h"

#include "base/status.h"
#include "ir/element.h"

int32_t rlo_problem_dst_unit_bits(const rlo_problem *problem) {
  RLO_REQUIRE_OR(0, problem);
  return problem->update == RLO_UPDATE_COMBINE
             ? problem->arithmetic.dst_unit_bits
             : problem->unit_bits;
}

bool rlo__problem_is_reduction_axis(const rlo_problem *problem, int32_t axis) {
  if (problem->update != RLO_UPDATE_COMBINE || problem->dst.axis[axis] != 0) {
    return false;
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (problem->dst.term[t] != 0) {
      return false;
    }
  }
  return true;
}

bool rlo__problem_is_summed(const rlo_problem *problem, int32_t axis) {
  return problem->extents[axis] > 1 &&
         rlo__problem_is_reduction_axis(problem, axis);
}

bool rlo_problem_is_sum(const rlo_problem *problem) {
  RLO_REQUIRE_OR(false, problem);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (rlo__problem_is_summed(problem, a)) {
      return true;
    }
  }
  return false;
}

static bool takes_operand(const rlo_arithmetic *a) {
  for (int32_t s = 0; s < a->num_steps && s < RLO_MAX_ELEMENT_STEPS; ++s) {
    const rlo__element_info *info = rlo__element_info_of(a->steps[s].op);
    if (info != NULL && info->has_operand) {
      return true;
    }
  }
  return false;
}

int32_t rlo__problem_operand_term(const rlo_problem *problem) {
  if (problem->update != RLO_UPDATE_COMBINE ||
      !takes_operand(&problem->arithmetic)) {
    return -1;
  }
  int32_t t = problem->num_terms - 1;
  while (t >= 0 && problem->terms[t].kind != RLO_TERM_OPERAND) {
    --t;
  }
  return t;
}

bool rlo__problem_reads_cells(const rlo_problem *problem) {
  return problem->update == RLO_UPDATE_COMBINE &&
         !rlo__factor_equal(
             rlo__arithmetic_factor(
                 &problem->arithmetic, RLO_ELEMENT_ACCUMULATE, 0.0),
             0.0);
}

bool rlo__problem_is_conversion(const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  for (int32_t s = 0; s < a->num_steps; ++s) {
    if (!rlo__element_is_idle(&a->steps[s])) {
      return false;
    }
  }
  return !rlo_problem_is_sum(problem);
}

bool rlo__problem_is_repacking(const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  return problem->update == RLO_UPDATE_COMBINE && a->src_type == a->dst_type &&
         problem->unit_bits != a->dst_unit_bits &&
         rlo__problem_is_conversion(problem);
}

/* Tells if a form changes along an axis through a term. */
static bool depends_by_terms(const rlo_problem *problem,
                             const rlo_form *form,
                             int32_t axis) {
  bool is_moved[RLO_MAX_TERMS] = {false};
  bool is_form_moved = false;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    is_moved[t] = problem->terms[t].form.axis[axis] != 0;
    for (int32_t u = 0; u < t; ++u) {
      is_moved[t] =
          is_moved[t] || (is_moved[u] && problem->terms[t].form.term[u] != 0);
    }
    is_form_moved = is_form_moved || (is_moved[t] && form->term[t] != 0);
  }
  return is_form_moved;
}

bool rlo__problem_form_depends_on(const rlo_problem *problem,
                                  const rlo_form *form,
                                  int32_t axis) {
  return form->axis[axis] != 0 || depends_by_terms(problem, form, axis);
}

int32_t rlo__problem_ending_guards(const rlo_problem *problem,
                                   int32_t out_guards[RLO_MAX_GUARDS]) {
  int32_t last = problem->num_axes - 1;
  int32_t count = 0;
  for (int32_t g = 0; last >= 0 && g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (guard->kind == RLO_GUARD_SKIP && guard->form.axis[last] != 0 &&
        !depends_by_terms(problem, &guard->form, last)) {
      out_guards[count++] = g;
    }
  }
  return count;
}
