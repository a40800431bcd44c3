/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

/* `out_to` is the dimension of the result that each of src becomes. */
static rlo_status infer(const rlo_shape *src,
                        const int64_t *dims,
                        int32_t rank,
                        const int32_t *from_dims,
                        int32_t out_to[RLO_MAX_RANK],
                        rlo_shape *out_shape) {
  rlo_shape result;
  rlo__dim_set taken;
  RLO_TRY(rlo__ops_shape_like(src, dims, rank, &result));
  rlo__dim_set_init(&taken, rank);
  for (int32_t k = 0; k < src->rank; ++k) {
    RLO_TRY(
        rlo__dim_set_add(&taken, "broadcast_in_dim", from_dims[k], &out_to[k]));
  }
  for (int32_t k = 0; k < src->rank; ++k) {
    int32_t to = out_to[k];
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
  int32_t to[RLO_MAX_RANK] = {0};
  RLO_TRY(infer(&chain->shape, dims, rank, from_dims, to, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[k].from = step.dims[k] == 1 ? -1 : to[k];
  }
  return rlo__chain_append(chain, &step, &result);
}
