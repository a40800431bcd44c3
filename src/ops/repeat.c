/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

/* Operations whose result has an element more than once. */

static rlo_status multiply(const char *operation, int32_t dim, int64_t times,
                           rlo__index_step *step) {
  RLO_FAIL_IF(times < 0, RLO_INVALID_ARGUMENT, "%s: times[%d]=%lld is negative", operation, dim,
              (long long)times);
  RLO_FAIL_IF(!rlo__mul(step->dims[dim], times, &step->result_dims[dim]), RLO_OVERFLOW,
              "%s: dimension %d of size %lld, %lld times, exceeds 64 bits", operation, dim,
              (long long)step->dims[dim], (long long)times);
  return RLO_OK;
}

rlo_status rlo_chain_tile(rlo_chain *chain, const int64_t *times) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(times, chain->shape.rank);
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    RLO_TRY(multiply("tile", k, times[k], &step));
    if (times[k] > 1 && step.dims[k] > 0) {
      step.rules[k].part = RLO__INDEX_REMAINDER;
      step.rules[k].divisor = step.dims[k];
    }
  }
  return rlo__chain_append(chain, &step);
}

rlo_status rlo_chain_repeat(rlo_chain *chain, const int64_t *times) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(times, chain->shape.rank);
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    RLO_TRY(multiply("repeat", k, times[k], &step));
    step.rules[k].divisor = rlo__max(times[k], 1);
  }
  return rlo__chain_append(chain, &step);
}

rlo_status rlo_chain_broadcast_in_dim(rlo_chain *chain, const int64_t *dims, int32_t rank,
                                      const int32_t *from_dims) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(dims, rank);
  RLO_REQUIRE_LIST(from_dims, chain->shape.rank);
  rlo__dim_set taken;
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  RLO_TRY(rlo__step_set_dims(&step, dims, rank));
  rlo__dim_set_init(&taken, rank);
  int32_t to[RLO_MAX_RANK] = {0};
  for (int32_t k = 0; k < step.rank; ++k) {
    RLO_TRY(rlo__dim_set_add(&taken, "broadcast_in_dim", from_dims[k], &to[k]));
  }
  for (int32_t k = 0; k < step.rank; ++k) {
    RLO_FAIL_IF(step.dims[k] != 1 && step.dims[k] != dims[to[k]], RLO_INVALID_ARGUMENT,
                "broadcast_in_dim: dimension %d of size %lld cannot become dimension %d of size "
                "%lld; only size 1 can",
                k, (long long)step.dims[k], to[k], (long long)dims[to[k]]);
    step.rules[k].from = step.dims[k] == 1 ? -1 : to[k];
  }
  return rlo__chain_append(chain, &step);
}
