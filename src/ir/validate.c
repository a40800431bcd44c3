/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/validate.h"

#include <math.h>

#include "base/status.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "ir/element.h"
#include "ir/update.h"

rlo_status rlo__factor_check(const char *name, double value) {
  RLO_FAIL_IF(!isfinite(value), RLO_INVALID_ARGUMENT, "%s is %s; a factor must be finite", name,
              isnan(value) ? "NaN"
              : value < 0  ? "-infinity"
                           : "infinity");
  return RLO_OK;
}

static rlo_status check_factor(const char *name, double value, bool is_whole) {
  RLO_TRY(rlo__factor_check(name, value));
  bool fits = value >= -0x1p63 && value < 0x1p63;
  RLO_FAIL_IF(is_whole && (!fits || !rlo__factor_equal(value, trunc(value))), RLO_INVALID_ARGUMENT,
              "%s is %g; between integers it must be a whole number of at most 63 bits", name,
              value);
  return RLO_OK;
}

static rlo_status check_type(const char *side, rlo_dtype dtype, int32_t bits) {
  RLO_FAIL_IF(!rlo_dtype_is_valid(dtype), RLO_INVALID_ARGUMENT,
              "the %s type %d is not an element type", side, (int)dtype);
  RLO_FAIL_IF(bits < rlo_dtype_value_bits(dtype) || bits > RLO_MAX_UNIT_BITS, RLO_INVALID_ARGUMENT,
              "a %s unit of %d bits for values of type %s; the limits are %d and %d", side, bits,
              rlo_dtype_name(dtype), rlo_dtype_value_bits(dtype), RLO_MAX_UNIT_BITS);
  return RLO_OK;
}

static rlo_status check_domain(const rlo_arithmetic *a, const rlo__element_info *info,
                               bool is_whole) {
  const rlo_dtype dtypes[] = {a->src_type, a->dst_type};
  for (int32_t n = 0; n < 2; ++n) {
    bool is_complex = info->domain != RLO__DOMAIN_ANY && rlo_dtype_is_complex(dtypes[n]);
    bool is_unordered =
        info->domain == RLO__DOMAIN_ORDERED && is_whole && dtypes[n] == RLO_DTYPE_U64;
    RLO_FAIL_IF(is_complex || is_unordered || (info->domain == RLO__DOMAIN_FLOAT && is_whole),
                RLO_UNSUPPORTED, "numbers of type %s are not %s; %s", rlo_dtype_name(dtypes[n]),
                info->name,
                info->domain == RLO__DOMAIN_FLOAT ? "real floats are"
                : info->domain == RLO__DOMAIN_REAL
                    ? "complex numbers are scaled only"
                    : "integers compare as signed numbers of 64 bits, complex numbers not at all");
  }
  return RLO_OK;
}

static rlo_status check_bounds(const rlo_element_step *step) {
  RLO_FAIL_IF(step->numbers[0] > step->numbers[1], RLO_INVALID_ARGUMENT,
              "a value is clamped to [%g, %g], which is empty", step->numbers[0], step->numbers[1]);
  return RLO_OK;
}

static rlo_status check_steps(const rlo_arithmetic *a) {
  RLO_FAIL_IF(a->num_steps < 0 || a->num_steps > RLO_MAX_ELEMENT_STEPS, RLO_INVALID_ARGUMENT,
              "%d element-wise steps; the limit is %d", a->num_steps, RLO_MAX_ELEMENT_STEPS);
  bool is_whole = rlo__arithmetic_compute(a) == RLO__COMPUTE_INTEGER;
  for (int32_t s = 0; s < a->num_steps; ++s) {
    const rlo_element_step *step = &a->steps[s];
    const rlo__element_info *info = rlo__element_info_of(step->op);
    RLO_FAIL_IF(info == NULL, RLO_INVALID_ARGUMENT,
                "step %d has the operation %d, which is unknown", s, (int)step->op);
    for (int32_t other = 0; other < s; ++other) {
      RLO_FAIL_IF(a->steps[other].op == step->op, RLO_INVALID_ARGUMENT,
                  "the value is %s by step %d and by step %d; a list has an operation once",
                  info->name, other, s);
    }
    RLO_TRY(check_domain(a, info, is_whole));
    if (info->is_bound) {
      RLO_TRY(check_bounds(step));
    }
    for (int32_t n = 0; n < 2 && info->numbers[n] != NULL; ++n) {
      if (!(info->is_bound && isinf(step->numbers[n]))) {
        RLO_TRY(check_factor(info->numbers[n], step->numbers[n], is_whole));
      }
    }
  }
  return RLO_OK;
}

static rlo_status check_guards(const rlo_problem *problem) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    for (int32_t a = 0; a < problem->num_axes; ++a) {
      RLO_FAIL_IF(guard->kind == RLO_GUARD_PAD && problem->extents[a] > 1 &&
                      rlo__problem_is_reduction_axis(problem, a) &&
                      rlo__problem_form_depends_on(problem, &guard->form, a),
                  RLO_INVALID_ARGUMENT,
                  "guard %d pads along axis %d, which is summed; a fill has no part in a sum", g,
                  a);
    }
  }
  return RLO_OK;
}

/* The operand of a step is the only use of the third memory, and is known when
 * the steps run: after the sum. */
static rlo_status check_operand(const rlo_problem *problem, const char *name) {
  int32_t number = rlo__problem_operand_term(problem);
  int32_t num_third = 0;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    num_third += problem->terms[t].kind != RLO_TERM_QUOTIENT;
  }
  RLO_FAIL_IF(number < 0 || num_third != 1, RLO_INVALID_ARGUMENT,
              "the value is %s; the problem needs one term with its place, and none that loads "
              "indices, because there is one third memory",
              name);
  rlo_dtype dtype = rlo__arithmetic_operand_type(problem);
  RLO_FAIL_IF(problem->index_bits != rlo_dtype_value_bits(dtype), RLO_INVALID_ARGUMENT,
              "an operand of %d bits; the value is computed in %s", problem->index_bits,
              rlo_dtype_name(dtype));
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    RLO_FAIL_IF(rlo__problem_is_summed(problem, a) &&
                    rlo__problem_form_depends_on(problem, &problem->terms[number].form, a),
                RLO_UNSUPPORTED,
                "the operand follows axis %d, which is summed; steps come after the sum", a);
  }
  return RLO_OK;
}

rlo_status rlo__arithmetic_validate(const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  RLO_TRY(check_type("source", a->src_type, problem->unit_bits));
  RLO_TRY(check_type("destination", a->dst_type, a->dst_unit_bits));
  RLO_FAIL_IF(
      rlo__dtype_info_of(a->dst_type)->format.is_unsigned && !rlo__problem_is_repacking(problem),
      RLO_UNSUPPORTED, "nothing is converted to %s, which has no zero",
      rlo_dtype_name(a->dst_type));
  bool is_whole = rlo__arithmetic_compute(a) == RLO__COMPUTE_INTEGER;
  RLO_FAIL_IF(
      a->compute_type != RLO_DTYPE_INVALID && (a->compute_type != RLO_DTYPE_F64 || is_whole),
      RLO_INVALID_ARGUMENT,
      "%s values become %s by computing in %s; f64, for floats, is the only choice",
      rlo_dtype_name(a->src_type), rlo_dtype_name(a->dst_type), rlo_dtype_name(a->compute_type));
  RLO_TRY(check_steps(a));
  for (int32_t s = 0; s < a->num_steps; ++s) {
    const rlo__element_info *info = rlo__element_info_of(a->steps[s].op);
    if (info->has_operand) {
      RLO_TRY(check_operand(problem, info->name));
    }
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    RLO_FAIL_IF(problem->dst.term[t] != 0 && !a->is_sequential, RLO_INVALID_ARGUMENT,
                "the destination's position has the coefficient %lld of term %d; only sequential "
                "problems may have one",
                (long long)problem->dst.term[t], t);
  }
  return check_guards(problem);
}

static rlo_status check_terms(const rlo_problem *problem) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    RLO_FAIL_IF(term->kind == RLO_TERM_QUOTIENT && term->divisor <= 0, RLO_INVALID_ARGUMENT,
                "term %d has the divisor %lld, below 1", t, (long long)term->divisor);
    RLO_FAIL_IF(term->kind == RLO_TERM_LOAD && term->limit < 0, RLO_INVALID_ARGUMENT,
                "term %d loads indices below %lld; the limit is 0 or more", t,
                (long long)term->limit);
    RLO_FAIL_IF(term->kind == RLO_TERM_OPERAND && term->divisor != 1, RLO_INVALID_ARGUMENT,
                "term %d, the place of an operand, has the divisor %lld, not 1", t,
                (long long)term->divisor);
    RLO_FAIL_IF(term->kind != RLO_TERM_QUOTIENT && term->kind != RLO_TERM_LOAD &&
                    term->kind != RLO_TERM_OPERAND,
                RLO_INVALID_ARGUMENT,
                "term %d is of kind %d, neither %d (quotient) nor %d (load) nor %d (operand)", t,
                (int)term->kind, (int)RLO_TERM_QUOTIENT, (int)RLO_TERM_LOAD, (int)RLO_TERM_OPERAND);
  }
  RLO_FAIL_IF(
      rlo_problem_loads(problem) &&
          ((problem->index_bits != 32 && problem->index_bits != 64) || problem->index_bytes < 0),
      RLO_INVALID_ARGUMENT,
      "the problem loads indices of %d bits from %lld bytes; they have 32 or 64 bits",
      problem->index_bits, (long long)problem->index_bytes);
  return RLO_OK;
}

rlo_status rlo__problem_validate(const rlo_problem *problem) {
  RLO_FAIL_IF(problem->unit_bits < 1 || problem->unit_bits > RLO_MAX_UNIT_BITS,
              RLO_INVALID_ARGUMENT, "a unit of %d bits; the limits are 1 and %d",
              problem->unit_bits, RLO_MAX_UNIT_BITS);
  RLO_FAIL_IF(problem->num_axes < 0 || problem->num_axes > RLO_MAX_AXES || problem->num_terms < 0 ||
                  problem->num_terms > RLO_MAX_TERMS || problem->num_guards < 0 ||
                  problem->num_guards > RLO_MAX_GUARDS,
              RLO_INVALID_ARGUMENT,
              "a problem of %d axes, %d terms and %d guards; the limits are %d, %d and %d",
              problem->num_axes, problem->num_terms, problem->num_guards, RLO_MAX_AXES,
              RLO_MAX_TERMS, RLO_MAX_GUARDS);
  RLO_FAIL_IF(problem->update != RLO_UPDATE_STORE && problem->update != RLO_UPDATE_COMBINE,
              RLO_INVALID_ARGUMENT, "update %d is neither %d (store) nor %d (combine)",
              (int)problem->update, (int)RLO_UPDATE_STORE, (int)RLO_UPDATE_COMBINE);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    RLO_FAIL_IF(problem->extents[a] < 0, RLO_INVALID_ARGUMENT,
                "axis %d has the extent %lld, below 0", a, (long long)problem->extents[a]);
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    /* Sums of two such numbers do not overflow. */
    const int64_t max = INT64_MAX / 4;
    const rlo_guard *guard = &problem->guards[g];
    RLO_FAIL_IF(guard->form.base < -max || guard->form.base > max || guard->limit < -max ||
                    guard->limit > max,
                RLO_OVERFLOW, "guard %d has base %lld and limit %lld; they must lie within +-%lld",
                g, (long long)guard->form.base, (long long)guard->limit, (long long)max);
  }
  RLO_TRY(check_terms(problem));
  return problem->update == RLO_UPDATE_COMBINE ? rlo__arithmetic_validate(problem) : RLO_OK;
}
