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
static rlo_status padded_size(int32_t dim, int64_t size, int64_t low, int64_t high,
                              int64_t interior, int64_t *out_size) {
  RLO_FAIL_IF(interior < 0, RLO_INVALID_ARGUMENT, "pad: interior[%d]=%lld is negative", dim,
              (long long)interior);
  int64_t sum = size;
  RLO_FAIL_IF(
      interior == INT64_MAX || (size > 0 && !rlo__mul_add(sum, size - 1, interior, &sum)) ||
          !rlo__add(sum, low, &sum) || !rlo__add(sum, high, &sum),
      RLO_OVERFLOW,
      "pad: dimension %d of size %lld with low %lld, high %lld and interior %lld exceeds 64 bits",
      dim, (long long)size, (long long)low, (long long)high, (long long)interior);
  RLO_FAIL_IF(sum < 0, RLO_INVALID_ARGUMENT,
              "pad: low %lld and high %lld take %lld more from dimension %d than it has",
              (long long)low, (long long)high, (long long)-sum, dim);
  *out_size = sum;
  return RLO_OK;
}

/* The fill as a unit: bits beyond the value are 0. */
static void copy_fill(rlo_dtype dtype, const void *fill, uint8_t *out) {
  int32_t bits = rlo_dtype_value_bits(dtype);
  memcpy(out, fill, (size_t)(bits + 7) / 8);
  if (bits % 8 != 0) {
    out[bits / 8] = (uint8_t)(out[bits / 8] & ((1 << bits % 8) - 1));
  }
}

rlo_status rlo_chain_pad(rlo_chain *chain, const int64_t *low, const int64_t *high,
                         const int64_t *interior, const void *fill) {
  RLO_REQUIRE(chain);
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  step.out_of_bounds = RLO__OOB_FILL;
  if (fill != NULL) {
    copy_fill(chain->shape.dtype, fill, step.fill);
  }
  for (int32_t k = 0; k < step.rank; ++k) {
    rlo__index_rule *rule = &step.rules[k];
    RLO_TRY(padded_size(k, step.dims[k], entry(low, k), entry(high, k), entry(interior, k),
                        &step.result_dims[k]));
    RLO_FAIL_IF(!rlo__sub(0, entry(low, k), &rule->base), RLO_OVERFLOW,
                "pad: low[%d]=%lld exceeds 64 bits", k, (long long)entry(low, k));
    rule->part = RLO__INDEX_EXACT;
    rule->divisor = entry(interior, k) + 1;
    rule->is_bounded = true;
    rule->count = step.dims[k];
  }
  return rlo__chain_append(chain, &step);
}

/* -------------------------------------------------------------------- place */

rlo_status rlo_chain_place(rlo_chain *chain, const int64_t *begin, const int64_t *dims) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(begin, chain->shape.rank);
  RLO_REQUIRE_LIST(dims, chain->shape.rank);
  rlo__index_step step;
  rlo__step_begin(chain, &step);
  step.out_of_bounds = RLO__OOB_SKIP;
  for (int32_t k = 0; k < step.rank; ++k) {
    int64_t size = step.dims[k];
    int64_t end;
    RLO_FAIL_IF(begin[k] < 0 || !rlo__add(begin[k], size, &end) || end > dims[k], RLO_OUT_OF_RANGE,
                "place: dimension %d, of size %lld, begins at %lld: the result has size %lld", k,
                (long long)size, (long long)begin[k], (long long)dims[k]);
    step.result_dims[k] = dims[k];
    step.rules[k].base = -begin[k];
    step.rules[k].is_bounded = true;
    step.rules[k].count = size;
  }
  return rlo__chain_append(chain, &step);
}

/* --------------------------------------------------------------- mirror_pad */

/* The size of a mirrored dimension. */
static rlo_status mirrored_size(int64_t size, int32_t dim, int64_t low, int64_t high,
                                rlo_mirror mirror, int64_t *out_size) {
  const int64_t most = mirror == RLO_MIRROR_EDGE && size > 0
                           ? INT64_MAX
                           : rlo__max(size - (mirror == RLO_MIRROR_REFLECT ? 1 : 0), 0);
  RLO_FAIL_IF(low < 0 || low > most || high < 0 || high > most, RLO_INVALID_ARGUMENT,
              "mirror_pad: low %lld and high %lld of dimension %d; the limits are 0 and %lld",
              (long long)low, (long long)high, dim, (long long)most);
  RLO_FAIL_IF(!rlo__add(size, low, out_size) || !rlo__add(*out_size, high, out_size), RLO_OVERFLOW,
              "mirror_pad: dimension %d exceeds 64 bits", dim);
  return RLO_OK;
}

/* Mirrors one dimension of size 1 or more: the parts of the chain, and copies
 * of them for the low and the high border. */
static rlo_status mirror_dim(rlo_chain *chain, const rlo_chain *before, int32_t dim, int64_t low,
                             int64_t high, rlo_mirror mirror) {
  int64_t size = chain->shape.dims[dim];
  const int64_t edge = mirror == RLO_MIRROR_REFLECT ? 1 : 0;
  const rlo__index_rule inside = {.from = dim, .coef = 1, .base = -low, .count = size};
  /* i = 0 .. low-1 is low - 1 + edge - i, down to edge. */
  rlo__index_rule before_it = {
      .from = dim, .coef = -1, .base = low - 1 + edge, .first = edge, .count = low};
  /* i = low + size + (0 .. high-1) is size - 1 - edge - (0 .. high-1). */
  rlo__index_rule after_it = {.from = dim,
                              .coef = -1,
                              .base = low + size + size - 1 - edge,
                              .first = size - edge - high,
                              .count = high};
  if (mirror == RLO_MIRROR_EDGE) {
    /* The quotient by the border's width, moved, is the edge all along it. */
    before_it = (rlo__index_rule){.from = dim, .coef = 1, .divisor = low, .count = 1};
    after_it =
        (rlo__index_rule){.from = dim, .coef = 1, .divisor = high, .first = size - 1, .count = 1};
    RLO_FAIL_IF(!rlo__mul_add(-low - size, size - 1, high, &after_it.base), RLO_OVERFLOW,
                "mirror_pad: the edge of dimension %d exceeds 64 bits", dim);
  }
  RLO_TRY(rlo__chain_append_box(chain, 0, size, inside));
  if (low > 0) {
    RLO_TRY(rlo__chain_add_box(chain, before, true, size, before_it));
  }
  return high > 0 ? rlo__chain_add_box(chain, before, true, size, after_it) : RLO_OK;
}

static rlo_status mirror_all(rlo_chain *chain, const int64_t *low, const int64_t *high,
                             rlo_mirror mirror) {
  for (int32_t k = 0; k < chain->shape.rank; ++k) {
    int64_t size = 0;
    RLO_TRY(mirrored_size(chain->shape.dims[k], k, entry(low, k), entry(high, k), mirror, &size));
    if (size == chain->shape.dims[k]) {
      continue;
    }
    rlo_chain *before;
    RLO_TRY(rlo_chain_clone(chain, &before));
    rlo_status status = mirror_dim(chain, before, k, entry(low, k), entry(high, k), mirror);
    rlo_chain_release(before);
    RLO_TRY(status);
    RLO_TRY(rlo__chain_set_size(chain, k, size));
  }
  return RLO_OK;
}

rlo_status rlo_chain_mirror_pad(rlo_chain *chain, const int64_t *low, const int64_t *high,
                                rlo_mirror mirror) {
  RLO_REQUIRE(chain);
  RLO_FAIL_IF(
      mirror != RLO_MIRROR_REFLECT && mirror != RLO_MIRROR_SYMMETRIC && mirror != RLO_MIRROR_EDGE,
      RLO_INVALID_ARGUMENT,
      "mirror_pad: mirror %d is none of %d (reflect), %d (symmetric) and %d (edge)", (int)mirror,
      (int)RLO_MIRROR_REFLECT, (int)RLO_MIRROR_SYMMETRIC, (int)RLO_MIRROR_EDGE);
  rlo_chain *trial;
  RLO_TRY(rlo_chain_clone(chain, &trial));
  return rlo__chain_end_trial(chain, trial, mirror_all(trial, low, high, mirror));
}
