/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/index_rule.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "ir/lower.h"
#include "ir/rewrite.h"

static rlo_status overflow(void) {
  return RLO_FAIL(RLO_OVERFLOW, "an index of the chain exceeds 64 bits");
}

static rlo_status add(rlo_form *form, int64_t factor, const rlo_form *other) {
  return rlo__form_add(form, factor, other) ? RLO_OK : overflow();
}

rlo__index_rule rlo__index_rule_keep(int32_t from) {
  return (rlo__index_rule){.from = from, .coef = 1, .divisor = 1};
}

rlo_status rlo__guard_list_add(rlo__guard_list *list, const rlo_problem *problem,
                               const rlo_form *form, int64_t limit) {
  rlo__guard_reach reach = rlo__form_reach(problem, form, limit);
  if (reach == RLO__HOLDS_BEYOND) {
    return overflow();
  }
  if (reach != RLO__HOLDS_SOMEWHERE) {
    list->never_holds = list->never_holds || reach == RLO__HOLDS_NOWHERE;
    return RLO_OK;
  }
  RLO_FAIL_IF(list->count == RLO_MAX_GUARDS, RLO_UNSUPPORTED, "the chain needs more than %d guards",
              RLO_MAX_GUARDS);
  list->guards[list->count++] = (rlo_guard){.form = *form, .limit = limit};
  return RLO_OK;
}

static rlo_status add_summed(const rlo__index_rule *rule, rlo_problem *problem, rlo_form *value) {
  if (rule->count == 1) {
    return RLO_OK;
  }
  int32_t axis;
  RLO_TRY(rlo__rewrite_add_axis(problem, "the chain needs", "axes, those of its sums among them",
                                rule->count, &axis));
  value->axis[axis] = 1;
  return RLO_OK;
}

static rlo_status apply_rule(const rlo__index_rule *rule, rlo_problem *problem,
                             const rlo_form *result, rlo_form *out, rlo__guard_list *guards) {
  rlo_form value = {0};
  value.base = rule->base;
  if (rule->from >= 0) {
    RLO_TRY(add(&value, rule->coef, &result[rule->from]));
  }
  if (rule->part == RLO__INDEX_SUMMED) {
    RLO_TRY(add_summed(rule, problem, &value));
  }
  *out = value;
  if (rule->divisor > 1 || rule->part == RLO__INDEX_REMAINDER) {
    rlo_form high;
    RLO_TRY(rlo__lower_quotient(problem, &value, rule->divisor, &high));
    rlo_form low = value;
    RLO_TRY(add(&low, -rule->divisor, &high));
    *out = rule->part == RLO__INDEX_REMAINDER ? low : high;
    if (rule->part == RLO__INDEX_EXACT) {
      RLO_TRY(rlo__guard_list_add(guards, problem, &low, 1));
    }
  }
  if (rule->is_bounded) {
    value = *out;
    if (!rlo__sub(value.base, rule->first, &value.base)) {
      return overflow();
    }
    RLO_TRY(rlo__guard_list_add(guards, problem, &value, rule->count));
  }
  return RLO_OK;
}

/* Both the result dimensions [result_first, result_end) and the operand
 * dimensions [first, end) are one row-major index, with equal products of their
 * sizes. */
typedef struct reshape_group {
  int32_t first, end, result_first, result_end;
} reshape_group;

static rlo_status reshape_one(const rlo__index_step *step, const reshape_group *group,
                              rlo_problem *problem, const rlo_form *result, rlo_form *out) {
  rlo_form number = {0};
  int64_t stride = 1;
  for (int32_t k = group->result_end - 1; k >= group->result_first; --k) {
    RLO_TRY(add(&number, stride, &result[k]));
    stride *= step->result_dims[k];
  }
  /* Each quotient divides the index itself, and not the quotient before it, so
   * that splitting axes can make it linear. */
  rlo_form rest = number;
  stride = 1;
  for (int32_t k = group->end - 1; k > group->first; --k) {
    if (step->dims[k] == 1) {
      continue;
    }
    rlo_form high;
    stride *= step->dims[k];
    RLO_TRY(rlo__lower_quotient(problem, &number, stride, &high));
    RLO_TRY(add(&rest, -step->dims[k], &high));
    out[k] = rest;
    rest = high;
  }
  out[group->first] = rest;
  return RLO_OK;
}

static bool is_empty(const int64_t *dims, int32_t rank) {
  for (int32_t k = 0; k < rank; ++k) {
    if (dims[k] == 0) {
      return true;
    }
  }
  return false;
}

/* The smallest group that ends before the two positions; none if all remaining
 * dimensions have size 1. */
static bool next_group(const rlo__index_step *step, int32_t end, int32_t result_end,
                       reshape_group *out) {
  *out = (reshape_group){end, end, result_end, result_end};
  int64_t product = 1;
  int64_t result_product = 1;
  while (out->first > 0 && product == 1) {
    product = step->dims[--out->first];
  }
  while (product != result_product) {
    if (result_product < product) {
      result_product *= step->result_dims[--out->result_first];
    } else {
      product *= step->dims[--out->first];
    }
  }
  return product != 1;
}

/* `out` holds zeros. */
static rlo_status reshape(const rlo__index_step *step, rlo_problem *problem, const rlo_form *result,
                          rlo_form *out) {
  if (is_empty(step->dims, step->rank)) {
    return RLO_OK; /* no element is read */
  }
  reshape_group group;
  int32_t end = step->rank;
  int32_t result_end = step->result_rank;
  while (next_group(step, end, result_end, &group)) {
    RLO_TRY(reshape_one(step, &group, problem, result, out));
    end = group.first;
    result_end = group.result_first;
  }
  return RLO_OK;
}

rlo_status rlo__index_step_back(const rlo__index_step *step, rlo_problem *problem, rlo_form *index,
                                rlo__guard_list *guards) {
  rlo_form *out = rlo__alloc_array(RLO_MAX_RANK, sizeof *out);
  RLO_TRY_MEMORY(out);
  rlo_status status = RLO_OK;
  if (step->is_reshape) {
    status = reshape(step, problem, index, out);
  } else {
    for (int32_t k = 0; status == RLO_OK && k < step->rank; ++k) {
      status = apply_rule(&step->rules[k], problem, index, &out[k], guards);
    }
  }
  if (status == RLO_OK) {
    memcpy(index, out, RLO_MAX_RANK * sizeof *out);
  }
  rlo__free(out);
  return status;
}
