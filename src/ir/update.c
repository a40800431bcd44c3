/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/update.h"

#include <assert.h>

#include "base/status.h"
#include "ir/element.h"

int32_t rlo_problem_dst_unit_bits(const rlo_problem *problem) {
  RLO_REQUIRE_OR(0, problem);
  return problem->update == RLO_UPDATE_COMBINE ? problem->arithmetic.dst_unit_bits
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
  return problem->extents[axis] > 1 && rlo__problem_is_reduction_axis(problem, axis);
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

int32_t rlo__arithmetic_lists_before(const rlo_arithmetic *a, int32_t op) {
  int32_t count = 0;
  for (int32_t s = 0; s < a->num_steps && s < RLO_MAX_ELEMENT_STEPS; ++s) {
    const rlo__element_info *info = rlo__element_info_of(a->steps[s].op);
    count += info != NULL && info->has_operand && (int32_t)a->steps[s].op < op;
  }
  return count;
}

int32_t rlo__problem_operand_term(const rlo_problem *problem) {
  if (problem->update != RLO_UPDATE_COMBINE ||
      rlo__arithmetic_lists_before(&problem->arithmetic, INT32_MAX) == 0) {
    return -1;
  }
  int32_t t = problem->num_terms - 1;
  while (t >= 0 && problem->terms[t].kind != RLO_TERM_OPERAND) {
    --t;
  }
  return t;
}

bool rlo_problem_reads_cells(const rlo_problem *problem) {
  RLO_REQUIRE_OR(false, problem);
  const rlo_arithmetic *a = &problem->arithmetic;
  bool reads = false;
  for (int32_t s = 0; s < a->num_steps && problem->update == RLO_UPDATE_COMBINE; ++s) {
    const rlo__element_info *info = rlo__element_info_of(a->steps[s].op);
    reads = reads || (info != NULL && info->reads_cell && !rlo__element_is_idle(&a->steps[s]));
  }
  return reads;
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
         problem->unit_bits != a->dst_unit_bits && rlo__problem_is_conversion(problem);
}

_Static_assert(RLO_MAX_AXES <= 64, "a set of axes is a mask");

static uint64_t form_axes(const rlo_problem *problem, const rlo_form *form,
                          const uint64_t *of_terms, int32_t num_terms) {
  uint64_t axes = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    axes |= (uint64_t)(form->axis[a] != 0) << a;
  }
  for (int32_t t = 0; t < num_terms; ++t) {
    axes |= form->term[t] != 0 ? of_terms[t] : 0;
  }
  return axes;
}

uint64_t rlo__problem_form_axes(const rlo_problem *problem, const rlo_form *form,
                                bool through_loads) {
  uint64_t of_terms[RLO_MAX_TERMS];
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    of_terms[t] = through_loads || term->kind == RLO_TERM_QUOTIENT
                      ? form_axes(problem, &term->form, of_terms, t)
                      : 0;
  }
  return form_axes(problem, form, of_terms, problem->num_terms);
}

bool rlo__problem_form_depends_on(const rlo_problem *problem, const rlo_form *form, int32_t axis) {
  assert(axis >= 0 && axis < RLO_MAX_AXES);
  return form->axis[axis] != 0 || (rlo__problem_form_axes(problem, form, true) >> axis & 1) != 0;
}

int32_t rlo__problem_ending_guards(const rlo_problem *problem, int32_t out_guards[RLO_MAX_GUARDS]) {
  int32_t last = problem->num_axes - 1;
  int32_t count = 0;
  for (int32_t g = 0; last >= 0 && g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    rlo_form terms = guard->form;
    terms.axis[last] = 0;
    if (guard->kind == RLO_GUARD_SKIP && guard->form.axis[last] != 0 &&
        !rlo__problem_form_depends_on(problem, &terms, last)) {
      out_guards[count++] = g;
    }
  }
  return count;
}
