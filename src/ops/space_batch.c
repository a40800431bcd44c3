/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/layout_util.h"
#include "relayout/ops.h"

/*
 * Both directions are reshape, transpose, reshape, with a pad before or a slice
 * after them. Between the reshapes the blocks have dimensions of their own:
 *
 *   outside the batch   n, s_1, b_1, ..., s_m, b_m, rest
 *   inside it           b_1, ..., b_m, n, s_1, ..., s_m, rest
 */
typedef struct plan {
  int32_t rank;
  int64_t outside[RLO_MAX_RANK];
  int64_t inside[RLO_MAX_RANK];
  int32_t to_inside[RLO_MAX_RANK];
  /** The array with its blocks in the batch; the one with them in space,
   *  padded or before it is cropped; and that without what goes. */
  int64_t batched[RLO_MAX_RANK], padded[RLO_MAX_RANK], cropped[RLO_MAX_RANK];
  /** For all dimensions. */
  int64_t low[RLO_MAX_RANK], high[RLO_MAX_RANK];
} plan;

static rlo_status read_attributes(const char *operation,
                                  const rlo_shape *src,
                                  const int64_t *blocks,
                                  const int64_t *low,
                                  const int64_t *high,
                                  int32_t count,
                                  plan *out) {
  if (count < 0 || count >= src->rank) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "%s: %d spatial dimensions of an array of rank %d",
                    operation,
                    count,
                    src->rank);
  }
  if (src->rank + count > RLO_MAX_RANK) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "%s: rank %d and %d blocks; the limit is %d together",
                    operation,
                    src->rank,
                    count,
                    RLO_MAX_RANK);
  }
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k >= 1 && k <= count;
    out->low[k] = is_spatial && low != NULL ? low[k - 1] : 0;
    out->high[k] = is_spatial && high != NULL ? high[k - 1] : 0;
    if (is_spatial &&
        (blocks[k - 1] < 1 || out->low[k] < 0 || out->high[k] < 0)) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "%s: dimension %d has a block of %lld, low %lld and high "
                      "%lld; a block is at least 1, the others not negative",
                      operation,
                      k,
                      (long long)blocks[k - 1],
                      (long long)out->low[k],
                      (long long)out->high[k]);
    }
  }
  return RLO_OK;
}

/* The rest of the plan from the batch without blocks and out->padded. */
static rlo_status make_plan(const char *operation,
                            const rlo_shape *src,
                            const int64_t *blocks,
                            int64_t batch,
                            int32_t count,
                            plan *out) {
  int32_t at = 0;
  out->rank = src->rank + count;
  out->padded[0] = out->cropped[0] = batch;
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k >= 1 && k <= count;
    int64_t block = is_spatial ? blocks[k - 1] : 1;
    out->to_inside[count + k] = at;
    out->outside[at++] = out->batched[k] = out->padded[k] / block;
    if (is_spatial) {
      out->to_inside[k - 1] = at;
      out->outside[at++] = block;
    }
  }
  for (int32_t k = 0; k < count; ++k) {
    if (!rlo__mul(out->batched[0], blocks[k], &out->batched[0])) {
      return RLO_FAIL(RLO_OVERFLOW, "%s: the batch leaves 64 bits", operation);
    }
  }
  for (int32_t k = 0; k < out->rank; ++k) {
    out->inside[k] = out->outside[out->to_inside[k]];
  }
  return RLO_OK;
}

static rlo_status plan_to_batch(const rlo_shape *src,
                                const int64_t *blocks,
                                const int64_t *low,
                                const int64_t *high,
                                int32_t count,
                                plan *out) {
  const char *operation = "space_to_batch";
  RLO_TRY(read_attributes(operation, src, blocks, low, high, count, out));
  for (int32_t k = 0; k < src->rank; ++k) {
    out->cropped[k] = src->dims[k];
    if (!rlo__add(src->dims[k], out->low[k], &out->padded[k]) ||
        !rlo__add(out->padded[k], out->high[k], &out->padded[k])) {
      return RLO_FAIL(
          RLO_OVERFLOW, "space_to_batch: dimension %d leaves 64 bits", k);
    }
    if (k >= 1 && k <= count && out->padded[k] % blocks[k - 1] != 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "space_to_batch: a block of %lld does not divide "
                      "dimension %d, which padded has size %lld",
                      (long long)blocks[k - 1],
                      k,
                      (long long)out->padded[k]);
    }
  }
  return make_plan(operation, src, blocks, src->dims[0], count, out);
}

static rlo_status plan_to_space(const rlo_shape *src,
                                const int64_t *blocks,
                                const int64_t *low,
                                const int64_t *high,
                                int32_t count,
                                plan *out) {
  const char *operation = "batch_to_space";
  RLO_TRY(read_attributes(operation, src, blocks, low, high, count, out));
  int64_t batch = src->dims[0];
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k >= 1 && k <= count;
    int64_t block = is_spatial ? blocks[k - 1] : 1;
    if (batch % block != 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "batch_to_space: the blocks do not divide a batch of "
                      "%lld",
                      (long long)src->dims[0]);
    }
    batch /= block;
    if (!rlo__mul(src->dims[k], block, &out->padded[k])) {
      return RLO_FAIL(
          RLO_OVERFLOW, "batch_to_space: dimension %d leaves 64 bits", k);
    }
    out->cropped[k] = out->padded[k] - out->low[k];
    if (out->cropped[k] < out->high[k]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "batch_to_space: low %lld and high %lld take more than "
                      "the %lld that dimension %d has",
                      (long long)out->low[k],
                      (long long)out->high[k],
                      (long long)out->padded[k],
                      k);
    }
    out->cropped[k] -= out->high[k];
  }
  return make_plan(operation, src, blocks, batch, count, out);
}

rlo_status rlo_space_to_batch_infer(const rlo_shape *src,
                                    const int64_t *blocks,
                                    const int64_t *low,
                                    const int64_t *high,
                                    int32_t count,
                                    rlo_shape *out_shape) {
  plan p = {0};
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(plan_to_batch(src, blocks, low, high, count, &p));
  return rlo__ops_shape_like(src, p.batched, src->rank, out_shape);
}

rlo_status rlo_batch_to_space_infer(const rlo_shape *src,
                                    const int64_t *blocks,
                                    const int64_t *low,
                                    const int64_t *high,
                                    int32_t count,
                                    rlo_shape *out_shape) {
  plan p = {0};
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(plan_to_space(src, blocks, low, high, count, &p));
  return rlo__ops_shape_like(src, p.cropped, src->rank, out_shape);
}

rlo_status rlo_chain_space_to_batch(rlo_chain *chain,
                                    const int64_t *blocks,
                                    const int64_t *low,
                                    const int64_t *high,
                                    int32_t count) {
  plan p = {0};
  rlo_chain *trial;
  RLO_TRY(plan_to_batch(&chain->shape, blocks, low, high, count, &p));
  RLO_TRY(rlo_chain_clone(chain, &trial));
  rlo_status status = rlo_chain_pad(trial, p.low, p.high, NULL, NULL);
  if (status == RLO_OK) {
    status = rlo__chain_regroup(
        trial, p.outside, p.rank, p.to_inside, p.batched, trial->shape.rank);
  }
  if (status == RLO_OK) {
    rlo__chain_swap(chain, trial);
  }
  rlo_chain_release(trial);
  return status;
}

static rlo_status to_space(rlo_chain *chain, const plan *p) {
  int32_t to_outside[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  rlo_permutation_inverse(p->to_inside, p->rank, to_outside);
  RLO_TRY(rlo__chain_regroup(
      chain, p->inside, p->rank, to_outside, p->padded, chain->shape.rank));
  for (int32_t k = 0; k < chain->shape.rank; ++k) {
    end[k] = p->low[k] + p->cropped[k];
  }
  return rlo_chain_slice(chain, p->low, end, NULL);
}

rlo_status rlo_chain_batch_to_space(rlo_chain *chain,
                                    const int64_t *blocks,
                                    const int64_t *low,
                                    const int64_t *high,
                                    int32_t count) {
  plan p = {0};
  rlo_chain *trial;
  RLO_TRY(plan_to_space(&chain->shape, blocks, low, high, count, &p));
  RLO_TRY(rlo_chain_clone(chain, &trial));
  rlo_status status = to_space(trial, &p);
  if (status == RLO_OK) {
    rlo__chain_swap(chain, trial);
  }
  rlo_chain_release(trial);
  return status;
}
