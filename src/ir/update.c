/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/update.h"

#include <math.h>

#include "base/status.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"

int32_t rlo_problem_dst_unit_bits(const rlo_problem *problem) {
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

bool rlo_problem_is_sum(const rlo_problem *problem) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (problem->extents[a] > 1 && rlo__problem_is_reduction_axis(problem, a)) {
      return true;
    }
  }
  return false;
}

bool rlo__factor_equal(double a, double b) {
  return !(a < b) && !(a > b);
}

bool rlo__problem_reads_cells(const rlo_problem *problem) {
  return problem->update == RLO_UPDATE_COMBINE &&
         !rlo__factor_equal(problem->arithmetic.beta, 0.0);
}

bool rlo__problem_is_conversion(const rlo_problem *problem) {
  return rlo__factor_equal(problem->arithmetic.alpha, 1.0) &&
         !rlo__problem_reads_cells(problem) && !rlo_problem_is_sum(problem);
}

static rlo_status check_factor(const char *name, double value, bool is_whole) {
  if (!isfinite(value)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "%s is not finite", name);
  }
  bool fits = value >= -0x1p63 && value < 0x1p63;
  if (is_whole && (!fits || !rlo__factor_equal(value, trunc(value)))) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s is %g; between integers it must be a whole number of "
                    "at most 63 bits",
                    name,
                    value);
  }
  return RLO_OK;
}

static rlo_status check_type(const char *side, rlo_dtype dtype, int32_t bits) {
  if (!rlo_dtype_is_valid(dtype)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s type %d is not an element type",
                    side,
                    (int)dtype);
  }
  if (bits < rlo_dtype_value_bits(dtype) || bits > RLO_MAX_UNIT_BITS) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a %s unit of %d bits for values of type %s; the limits "
                    "are %d and %d",
                    side,
                    bits,
                    rlo_dtype_name(dtype),
                    rlo_dtype_value_bits(dtype),
                    RLO_MAX_UNIT_BITS);
  }
  return RLO_OK;
}

/* Whether a form changes along an axis by way of a term. */
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

static bool depends_on(const rlo_problem *problem,
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

static rlo_status check_guards(const rlo_problem *problem) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    for (int32_t a = 0; a < problem->num_axes; ++a) {
      if (guard->kind == RLO_GUARD_PAD && problem->extents[a] > 1 &&
          rlo__problem_is_reduction_axis(problem, a) &&
          depends_on(problem, &guard->form, a)) {
        return RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "guard %d pads along axis %d, which is summed; a fill "
                        "has no part in a sum",
                        g,
                        a);
      }
    }
  }
  return RLO_OK;
}

rlo_status rlo__arithmetic_validate(const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  RLO_TRY(check_type("source", a->src_type, problem->unit_bits));
  RLO_TRY(check_type("destination", a->dst_type, a->dst_unit_bits));
  if (rlo__dtype_info_of(a->dst_type)->format.is_unsigned) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "nothing is converted to %s, which has no zero",
                    rlo_dtype_name(a->dst_type));
  }
  bool is_whole = rlo__arithmetic_compute(a) == RLO__COMPUTE_INTEGER;
  if (a->compute_type != RLO_DTYPE_INVALID &&
      (a->compute_type != RLO_DTYPE_F64 || is_whole)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s values become %s by computing in %s; f64, for floats, "
                    "is all that can be asked for",
                    rlo_dtype_name(a->src_type),
                    rlo_dtype_name(a->dst_type),
                    rlo_dtype_name(a->compute_type));
  }
  RLO_TRY(check_factor("alpha", a->alpha, is_whole));
  RLO_TRY(check_factor("beta", a->beta, is_whole));
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (problem->dst.term[t] != 0 && !a->is_sequential) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "the destination's position has the coefficient %lld of "
                      "term %d; only sequential problems may have one",
                      (long long)problem->dst.term[t],
                      t);
    }
  }
  return check_guards(problem);
}
