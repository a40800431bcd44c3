/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

rlo_status rlo_chain_reverse(rlo_chain *chain,
                             const int32_t *dims,
                             int32_t count) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, count);
  rlo__dim_set reversed;
  RLO_TRY(
      rlo__dim_set_make(&reversed, "reverse", chain->shape.rank, dims, count));
  rlo_shape result = chain->shape;
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    if (reversed.has[k]) {
      step.rules[k].base = step.dims[k] - 1;
      step.rules[k].coef = -1;
    }
  }
  return rlo__chain_append(chain, &step, &result);
}
