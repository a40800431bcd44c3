/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

rlo_status rlo_chain_place(rlo_chain *chain,
                           const int64_t *begin,
                           const int64_t *dims) {
  RLO_REQUIRE(chain);
  int32_t rank = chain->shape.rank;
  RLO_REQUIRE_LIST(begin, rank);
  RLO_REQUIRE_LIST(dims, rank);
  rlo_shape result;
  RLO_TRY(rlo__ops_shape_like(&chain->shape, dims, rank, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  step.out_of_bounds = RLO__OOB_SKIP;
  for (int32_t k = 0; k < rank; ++k) {
    int64_t size = chain->shape.dims[k];
    int64_t end;
    if (begin[k] < 0 || !rlo__add(begin[k], size, &end) || end > dims[k]) {
      return RLO_FAIL(RLO_OUT_OF_RANGE,
                      "place: dimension %d, of size %lld, begins at %lld: the "
                      "result has size %lld",
                      k,
                      (long long)size,
                      (long long)begin[k],
                      (long long)dims[k]);
    }
    step.dims[k] = size;
    step.rules[k].base = -begin[k];
    step.rules[k].is_bounded = true;
    step.rules[k].count = size;
  }
  return rlo__chain_append(chain, &step, &result);
}
