/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

static rlo_status find_reversed(const rlo_shape *src,
                                const int32_t *dims,
                                int32_t count,
                                bool *out_is_reversed) {
  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    out_is_reversed[k] = false;
  }
  for (int32_t d = 0; d < count; ++d) {
    RLO_TRY(rlo__ops_check_dim("reverse", src, dims[d]));
    if (out_is_reversed[dims[d]]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "reverse: dimension %d is named twice",
                      dims[d]);
    }
    out_is_reversed[dims[d]] = true;
  }
  return RLO_OK;
}

rlo_status rlo_chain_reverse(rlo_chain *chain,
                             const int32_t *dims,
                             int32_t count) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, count);
  bool is_reversed[RLO_MAX_RANK];
  RLO_TRY(find_reversed(&chain->shape, dims, count, is_reversed));
  rlo_shape result = chain->shape;
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    if (is_reversed[k]) {
      step.rules[k].base = step.dims[k] - 1;
      step.rules[k].coef = -1;
    }
  }
  return rlo__chain_append(chain, &step, &result);
}
