/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

static int64_t entry(const int64_t *entries, int32_t k) {
  return entries == NULL ? 0 : entries[k];
}

/* low + n + (n - 1) * interior + high. */
static rlo_status padded_size(int32_t dim,
                              int64_t size,
                              int64_t low,
                              int64_t high,
                              int64_t interior,
                              int64_t *out_size) {
  if (interior < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "pad: interior[%d]=%lld is negative",
                    dim,
                    (long long)interior);
  }
  int64_t sum = size;
  if (interior == INT64_MAX ||
      (size > 0 && !rlo__mul_add(sum, size - 1, interior, &sum)) ||
      !rlo__add(sum, low, &sum) || !rlo__add(sum, high, &sum)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "pad: dimension %d of size %lld with low %lld, high %lld "
                    "and interior %lld exceeds 64 bits",
                    dim,
                    (long long)size,
                    (long long)low,
                    (long long)high,
                    (long long)interior);
  }
  if (sum < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "pad: low %lld and high %lld take %lld more from dimension "
                    "%d than it has",
                    (long long)low,
                    (long long)high,
                    (long long)-sum,
                    dim);
  }
  *out_size = sum;
  return RLO_OK;
}

static rlo_status infer(const rlo_shape *src,
                        const int64_t *low,
                        const int64_t *high,
                        const int64_t *interior,
                        rlo_shape *out_shape) {
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k < src->rank; ++k) {
    RLO_TRY(padded_size(k,
                        src->dims[k],
                        entry(low, k),
                        entry(high, k),
                        entry(interior, k),
                        &dims[k]));
  }
  return rlo__ops_shape_like(src, dims, src->rank, out_shape);
}

/* The fill as a unit: bits beyond the value are 0. */
static void copy_fill(rlo_dtype dtype, const void *fill, uint8_t *out) {
  int32_t bits = rlo_dtype_value_bits(dtype);
  memcpy(out, fill, (size_t)(bits + 7) / 8);
  if (bits % 8 != 0) {
    out[bits / 8] = (uint8_t)(out[bits / 8] & ((1 << bits % 8) - 1));
  }
}

rlo_status rlo_chain_pad(rlo_chain *chain,
                         const int64_t *low,
                         const int64_t *high,
                         const int64_t *interior,
                         const void *fill) {
  RLO_REQUIRE(chain);
  rlo_shape result;
  RLO_TRY(infer(&chain->shape, low, high, interior, &result));
  rlo__index_step step;
  rlo__step_begin(chain, &result, &step);
  step.out_of_bounds = RLO__OOB_FILL;
  if (fill != NULL) {
    copy_fill(chain->shape.dtype, fill, step.fill);
  }
  for (int32_t k = 0; k < step.rank; ++k) {
    rlo__index_rule *rule = &step.rules[k];
    if (!rlo__sub(0, entry(low, k), &rule->base)) {
      return RLO_FAIL(RLO_OVERFLOW,
                      "pad: low[%d]=%lld exceeds 64 bits",
                      k,
                      (long long)entry(low, k));
    }
    rule->part = RLO__INDEX_EXACT;
    rule->divisor = entry(interior, k) + 1;
    rule->is_bounded = true;
    rule->count = step.dims[k];
  }
  return rlo__chain_append(chain, &step, &result);
}
