/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"

static rlo_status infer_split(const rlo_shape *src,
                              const int64_t *sizes,
                              int32_t count,
                              int32_t dim,
                              int32_t part,
                              int64_t *out_begin,
                              rlo_shape *out_shape) {
  if (part < 0 || part >= count) {
    return RLO_FAIL(RLO_OUT_OF_RANGE, "split: part %d of %d", part, count);
  }
  int64_t sum = 0;
  int64_t begin = 0;
  for (int32_t n = 0; n < count; ++n) {
    begin = n == part ? sum : begin;
    if (sizes[n] < 0 || !rlo__add(sum, sizes[n], &sum)) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "split: sizes[%d]=%lld is negative or too large",
                      n,
                      (long long)sizes[n]);
    }
  }
  if (sum != src->dims[dim]) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "split: the sizes add up to %lld, dimension %d is %lld",
                    (long long)sum,
                    dim,
                    (long long)src->dims[dim]);
  }
  rlo_shape result = *src;
  result.dims[dim] = sizes[part];
  RLO_TRY(rlo__ops_shape_like(src, result.dims, src->rank, out_shape));
  *out_begin = begin;
  return RLO_OK;
}

rlo_status rlo_chain_split(rlo_chain *chain,
                           const int64_t *sizes,
                           int32_t count,
                           int32_t dim,
                           int32_t part) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(sizes, count);
  int64_t begin = 0;
  rlo_shape result;
  RLO_TRY(rlo__dim_find("split", dim, chain->shape.rank, &dim));
  RLO_TRY(infer_split(&chain->shape, sizes, count, dim, part, &begin, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  step.rules[dim].base = begin;
  return rlo__chain_append(chain, &step, &result);
}
