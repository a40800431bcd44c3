/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

static rlo_status infer(const rlo_shape *src,
                        const int64_t *dims,
                        int32_t rank,
                        const int32_t *from_dims,
                        rlo_shape *out_shape) {
  rlo_shape result;
  bool is_taken[RLO_MAX_RANK] = {false};
  RLO_TRY(rlo__ops_shape_like(src, dims, rank, &result));
  for (int32_t k = 0; k < src->rank; ++k) {
    int32_t to = from_dims[k];
    RLO_TRY(rlo__ops_check_dim("broadcast_in_dim", &result, to));
    if (is_taken[to]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "broadcast_in_dim: dimension %d of the result is named "
                      "twice",
                      to);
    }
    is_taken[to] = true;
    if (src->dims[k] != 1 && src->dims[k] != dims[to]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "broadcast_in_dim: dimension %d of size %lld cannot "
                      "become dimension %d of size %lld; only size 1 can",
                      k,
                      (long long)src->dims[k],
                      to,
                      (long long)dims[to]);
    }
  }
  *out_shape = result;
  return RLO_OK;
}

rlo_status rlo_chain_broadcast_in_dim(rlo_chain *chain,
                                      const int64_t *dims,
                                      int32_t rank,
                                      const int32_t *from_dims) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, rank);
  RLO_REQUIRE_LIST(from_dims, chain->shape.rank);
  rlo_shape result;
  RLO_TRY(infer(&chain->shape, dims, rank, from_dims, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[k].from = step.dims[k] == 1 ? -1 : from_dims[k];
  }
  return rlo__chain_append(chain, &step, &result);
}
