/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "ops/chain.h"
#include "ops/combine.h"

/* Operations that compute: convert, sum, add_n. */

rlo_status rlo_chain_convert(rlo_chain *chain, rlo_dtype dtype) {
  RLO_REQUIRE(chain);
  const rlo_shape *src = &chain->shape;
  const rlo__dtype_info *info = rlo__dtype_info_of(dtype);
  RLO_FAIL_IF(info == NULL, RLO_INVALID_ARGUMENT, "convert: %d is not an element type", (int)dtype);
  if (dtype == src->dtype) {
    return RLO_OK;
  }
  RLO_FAIL_IF(info->format.is_unsigned, RLO_UNSUPPORTED,
              "convert: no other type is converted to %s, which has no zero", info->name);
  rlo_shape result;
  RLO_TRY(rlo_shape_make(dtype, src->dims, src->rank, &result));
  RLO_TRY(rlo__ops_check_exact("convert", chain));
  for (int32_t p = 0; p < chain->num_parts; ++p) {
    for (int32_t s = 0; s < chain->parts[p].num_steps; ++s) {
      uint8_t *fill = chain->parts[p].steps[s].fill;
      rlo__arithmetic_convert(chain->shape.dtype, dtype, fill, fill);
    }
  }
  chain->shape = result;
  return RLO_OK;
}

/* The points of a sum come from one operand, without a fill. */
static rlo_status check_chain(const rlo_chain *chain) {
  RLO_TRY(rlo__ops_check_exact("sum", chain));
  RLO_FAIL_IF(chain->num_parts > 1, RLO_UNSUPPORTED,
              "sum: the chain has %d parts; it sums one operand, and no mirrored edges",
              chain->num_parts);
  for (int32_t s = 0; s < chain->parts[0].num_steps; ++s) {
    RLO_FAIL_IF(chain->parts[0].steps[s].out_of_bounds == RLO__OOB_FILL, RLO_UNSUPPORTED,
                "sum: the chain pads; a fill has no part in a sum");
  }
  return RLO_OK;
}

rlo_status rlo_chain_sum(rlo_chain *chain, const int32_t *dims, int32_t count, bool keep_dims) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, count);
  rlo__dim_set summed;
  RLO_TRY(rlo__ops_check_addable("sum", chain->shape.dtype));
  RLO_TRY(rlo__dim_set_make(&summed, "sum", chain->shape.rank, dims, count));
  RLO_TRY(check_chain(chain));
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  step.result_rank = 0;
  for (int32_t k = 0; k < step.rank; ++k) {
    rlo__index_rule *rule = &step.rules[k];
    if (!summed.has[k]) {
      rule->from = step.result_rank;
      step.result_dims[step.result_rank++] = step.dims[k];
      continue;
    }
    if (keep_dims) {
      step.result_dims[step.result_rank++] = 1;
    }
    rule->from = -1;
    rule->count = step.dims[k];
    if (rule->count > 0) {
      rule->part = RLO__INDEX_SUMMED;
    } else {
      /* Without an element, the sum is a fill of 0. */
      rule->is_bounded = true;
      step.out_of_bounds = RLO__OOB_FILL;
    }
  }
  return rlo__chain_append(chain, &step);
}

/* -------------------------------------------------------------------- add_n */

static rlo_status lower(const rlo_shape *const *srcs, int32_t count, const rlo_shape *dst,
                        rlo_problem *problem, rlo_problem_list *list) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  for (int32_t n = 0; n < count; ++n) {
    options.beta = n > 0 ? 1.0 : 0.0;
    RLO_TRY(rlo_relayout_combine(srcs[n], dst, NULL, &options, problem));
    RLO_TRY(rlo__problem_list_add(list, n, -1, problem));
  }
  return RLO_OK;
}

rlo_status rlo_add_n_lower(const rlo_shape *const *srcs, int32_t count, const rlo_shape *dst,
                           rlo_problem_list **out_list) {
  RLO_REQUIRE(out_list);
  *out_list = NULL;
  RLO_REQUIRE(srcs, dst);
  RLO_REQUIRE_EACH(srcs, count);
  RLO_FAIL_IF(count < 1, RLO_INVALID_ARGUMENT, "add_n: %d arrays; at least 1 is needed", count);
  if (count > 1) {
    RLO_TRY(rlo__ops_check_addable("add_n", dst->dtype));
  }
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  rlo_problem_list *list = rlo__alloc(sizeof *list);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (problem != NULL && list != NULL) {
    status = lower(srcs, count, dst, problem, list);
  }
  rlo__free(problem);
  if (status != RLO_OK) {
    rlo_problem_list_release(list);
    return status;
  }
  *out_list = list;
  return RLO_OK;
}
