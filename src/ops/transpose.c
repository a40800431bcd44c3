/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"
#include "relayout/xla/layout_util.h"

rlo_status rlo_chain_transpose(rlo_chain *chain, const int32_t *permutation) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(permutation, chain->shape.rank);
  const rlo_shape *src = &chain->shape;
  const int32_t rank = src->rank;
  int32_t from[RLO_MAX_RANK];
  RLO_TRY(rlo_permutation_normalize(permutation, rank, from));
  int64_t dims[RLO_MAX_RANK];
  rlo_permutation_apply(from, rank, src->dims, dims);
  rlo_shape result;
  RLO_TRY(rlo__ops_shape_like(src, dims, rank, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < rank; ++k) {
    step.rules[from[k]].from = k;
  }
  return rlo__chain_append(chain, &step, &result);
}
