/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "ops/combine.h"

static rlo_status infer(const rlo_shape *src,
                        const rlo__dim_set *summed,
                        bool keep_dims,
                        rlo_shape *out_shape) {
  int64_t dims[RLO_MAX_RANK];
  int32_t rank = 0;
  for (int32_t k = 0; k < src->rank; ++k) {
    if (!summed->has[k]) {
      dims[rank++] = src->dims[k];
    } else if (keep_dims) {
      dims[rank++] = 1;
    }
  }
  return rlo__ops_shape_like(src, dims, rank, out_shape);
}

/* The points of a sum come from one operand, without a fill. */
static rlo_status check_chain(const rlo_chain *chain) {
  RLO_TRY(rlo__ops_check_exact("sum", chain));
  if (chain->num_parts > 1) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "sum: the chain has %d parts; it sums one operand, and no "
                    "mirrored edges",
                    chain->num_parts);
  }
  for (int32_t s = 0; s < chain->parts[0].num_steps; ++s) {
    if (chain->parts[0].steps[s].out_of_bounds == RLO__OOB_FILL) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "sum: the chain pads; a fill has no part in a sum");
    }
  }
  return RLO_OK;
}

rlo_status rlo_chain_sum(rlo_chain *chain,
                         const int32_t *dims,
                         int32_t count,
                         bool keep_dims) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, count);
  rlo__dim_set summed;
  rlo_shape result;
  RLO_TRY(rlo__ops_check_addable("sum", chain->shape.dtype));
  RLO_TRY(rlo__dim_set_make(&summed, "sum", chain->shape.rank, dims, count));
  RLO_TRY(infer(&chain->shape, &summed, keep_dims, &result));
  RLO_TRY(check_chain(chain));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  int32_t next = 0;
  for (int32_t k = 0; k < step.rank; ++k) {
    rlo__index_rule *rule = &step.rules[k];
    if (!summed.has[k]) {
      rule->from = next++;
      continue;
    }
    next += keep_dims;
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
  return rlo__chain_append(chain, &step, &result);
}
