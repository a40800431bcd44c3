/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

/* Tile and repeat: sizes multiply. */
static rlo_status infer(const char *operation,
                        const rlo_shape *src,
                        const int64_t *times,
                        rlo_shape *out_shape) {
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k < src->rank; ++k) {
    if (times[k] < 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "%s: times[%d]=%lld is negative",
                      operation,
                      k,
                      (long long)times[k]);
    }
    if (!rlo__mul(src->dims[k], times[k], &dims[k])) {
      return RLO_FAIL(RLO_OVERFLOW,
                      "%s: dimension %d of size %lld, %lld times, exceeds 64 "
                      "bits",
                      operation,
                      k,
                      (long long)src->dims[k],
                      (long long)times[k]);
    }
  }
  return rlo__ops_shape_like(src, dims, src->rank, out_shape);
}

rlo_status rlo_chain_tile(rlo_chain *chain, const int64_t *times) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(times, chain->shape.rank);
  rlo_shape result;
  RLO_TRY(infer("tile", &chain->shape, times, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    if (times[k] > 1 && step.dims[k] > 0) {
      step.rules[k].part = RLO__INDEX_REMAINDER;
      step.rules[k].divisor = step.dims[k];
    }
  }
  return rlo__chain_append(chain, &step, &result);
}

rlo_status rlo_chain_repeat(rlo_chain *chain, const int64_t *times) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(times, chain->shape.rank);
  rlo_shape result;
  RLO_TRY(infer("repeat", &chain->shape, times, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  for (int32_t k = 0; k < step.rank; ++k) {
    step.rules[k].divisor = times[k] > 1 ? times[k] : 1;
  }
  return rlo__chain_append(chain, &step, &result);
}
