/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/ops.h"

static int64_t entry(const int64_t *entries, int32_t k) {
  return entries == NULL ? 0 : entries[k];
}

static rlo_status infer(const rlo_shape *src,
                        const int64_t *low,
                        const int64_t *high,
                        rlo_mirror mirror,
                        rlo_shape *out_shape) {
  int64_t dims[RLO_MAX_RANK];
  if (mirror != RLO_MIRROR_REFLECT && mirror != RLO_MIRROR_SYMMETRIC) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "mirror_pad: mirror %d is neither %d (reflect) nor %d "
                    "(symmetric)",
                    (int)mirror,
                    (int)RLO_MIRROR_REFLECT,
                    (int)RLO_MIRROR_SYMMETRIC);
  }
  for (int32_t k = 0; k < src->rank; ++k) {
    int64_t most = src->dims[k] - (mirror == RLO_MIRROR_REFLECT);
    most = most < 0 ? 0 : most;
    if (entry(low, k) < 0 || entry(low, k) > most || entry(high, k) < 0 ||
        entry(high, k) > most) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "mirror_pad: low %lld and high %lld of dimension %d; the "
                      "limits are 0 and %lld",
                      (long long)entry(low, k),
                      (long long)entry(high, k),
                      k,
                      (long long)most);
    }
    if (!rlo__add(src->dims[k], entry(low, k), &dims[k]) ||
        !rlo__add(dims[k], entry(high, k), &dims[k])) {
      return RLO_FAIL(
          RLO_OVERFLOW, "mirror_pad: dimension %d exceeds 64 bits", k);
    }
  }
  return rlo__ops_shape_like(src, dims, src->rank, out_shape);
}

/* Mirrors one dimension: the parts of the chain, and copies of them for the low
 * and the high border. */
static rlo_status mirror_dim(rlo_chain *chain,
                             const rlo_chain *before,
                             int32_t dim,
                             int64_t low,
                             int64_t high,
                             bool is_symmetric) {
  rlo_shape result = chain->shape;
  int64_t size = result.dims[dim];
  int64_t edge = is_symmetric ? 0 : 1;
  result.dims[dim] = size + low + high;
  rlo__index_rule rule = rlo__index_rule_keep(dim);
  rule.is_bounded = true;
  rule.base = -low;
  rule.count = size;
  int32_t num_parts = chain->num_parts;
  RLO_TRY(rlo__chain_append_box(chain, 0, &result, dim, size, &rule));
  rule.coef = -1;
  if (low > 0) {
    /* i = 0 .. low-1 is low - 1 + edge - i, down to edge. */
    RLO_TRY(rlo__chain_take_copies(chain, before));
    rule.base = low - 1 + edge;
    rule.first = edge;
    rule.count = low;
    RLO_TRY(rlo__chain_append_box(chain, num_parts, &result, dim, size, &rule));
    num_parts = chain->num_parts;
  }
  if (high > 0) {
    /* i = low + size + (0 .. high-1) is size - 1 - edge - (0 .. high-1). */
    RLO_TRY(rlo__chain_take_copies(chain, before));
    rule.base = low + size + size - 1 - edge;
    rule.first = size - edge - high;
    rule.count = high;
    RLO_TRY(rlo__chain_append_box(chain, num_parts, &result, dim, size, &rule));
  }
  chain->shape = result;
  return RLO_OK;
}

static rlo_status mirror_all(rlo_chain *chain,
                             const int64_t *low,
                             const int64_t *high,
                             rlo_mirror mirror) {
  for (int32_t k = 0; k < chain->shape.rank; ++k) {
    if (entry(low, k) == 0 && entry(high, k) == 0) {
      continue;
    }
    rlo_chain *before;
    RLO_TRY(rlo_chain_clone(chain, &before));
    rlo_status status = mirror_dim(chain,
                                   before,
                                   k,
                                   entry(low, k),
                                   entry(high, k),
                                   mirror == RLO_MIRROR_SYMMETRIC);
    rlo_chain_release(before);
    RLO_TRY(status);
  }
  return RLO_OK;
}

rlo_status rlo_chain_mirror_pad(rlo_chain *chain,
                                const int64_t *low,
                                const int64_t *high,
                                rlo_mirror mirror) {
  RLO_REQUIRE(chain);
  rlo_shape result;
  rlo_chain *trial;
  RLO_TRY(infer(&chain->shape, low, high, mirror, &result));
  RLO_TRY(rlo_chain_clone(chain, &trial));
  return rlo__chain_end_trial(
      chain, trial, mirror_all(trial, low, high, mirror));
}
