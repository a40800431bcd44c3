/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"
#include "relayout/permutation.h"

/*
 * Both directions are reshape, transpose, reshape, with a pad before or a slice
 * after them. Between the reshapes the blocks have dimensions of their own:
 *
 *                          outside                       inside
 *   space and depth    n, s_1, b_1, s_2, b_2, ...    n, s_1, s_2, ...
 *                      with c in its place           with b_1, b_2, ..., c in
 *                                                    its place
 *   space and batch    n, s_1, b_1, ..., s_m, b_m,   b_1, ..., b_m, n,
 *                      rest                          s_1, ..., s_m, rest
 */
typedef struct block_plan {
  int32_t rank;
  int64_t outside[RLO_MAX_RANK];
  /** inside[k] = outside[to_inside[k]]. */
  int32_t to_inside[RLO_MAX_RANK];
  /** The dimensions of the array with blocks in the depth or the batch, and
   *  with blocks in space, padded or not yet cropped. */
  int64_t packed[RLO_MAX_RANK], spread[RLO_MAX_RANK];
  /** The margins that the pad adds and the slice cuts off, for all dimensions.
   */
  bool has_margins;
  int64_t low[RLO_MAX_RANK], high[RLO_MAX_RANK];
} block_plan;

static rlo_status from_space(rlo_chain *chain, const block_plan *p) {
  int32_t rank = chain->shape.rank;
  if (p->has_margins) {
    RLO_TRY(rlo_chain_pad(chain, p->low, p->high, NULL, NULL));
  }
  RLO_TRY(rlo_chain_reshape(chain, p->outside, p->rank));
  RLO_TRY(rlo_chain_transpose(chain, p->to_inside));
  return rlo_chain_reshape(chain, p->packed, rank);
}

static rlo_status to_space(rlo_chain *chain, const block_plan *p) {
  int32_t rank = chain->shape.rank;
  int64_t inside[RLO_MAX_RANK];
  int32_t to_outside[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  rlo_permutation_apply(p->to_inside, p->rank, p->outside, inside);
  rlo_permutation_inverse(p->to_inside, p->rank, to_outside);
  RLO_TRY(rlo_chain_reshape(chain, inside, p->rank));
  RLO_TRY(rlo_chain_transpose(chain, to_outside));
  RLO_TRY(rlo_chain_reshape(chain, p->spread, rank));
  for (int32_t k = 0; k < rank; ++k) {
    end[k] = p->spread[k] - p->high[k];
  }
  return p->has_margins ? rlo_chain_slice(chain, p->low, end, NULL) : RLO_OK;
}

/* Runs one of them on a clone: on failure the chain is unchanged. */
static rlo_status move_blocks(rlo_chain *chain,
                              rlo_status (*move)(rlo_chain *chain, const block_plan *p),
                              const block_plan *p) {
  rlo_chain *trial;
  RLO_TRY(rlo_chain_clone(chain, &trial));
  return rlo__chain_end_trial(chain, trial, move(trial, p));
}

static rlo_status check_depth(const char *operation, const rlo_shape *src, int64_t block,
                              int32_t channel_dim) {
  RLO_FAIL_IF(channel_dim == 0, RLO_INVALID_ARGUMENT,
              "%s: dimension 0 is the batch and holds no channels", operation);
  RLO_FAIL_IF(block < 1, RLO_INVALID_ARGUMENT, "%s: a block of %lld; it is at least 1", operation,
              (long long)block);
  RLO_FAIL_IF(2 * src->rank - 2 > RLO_MAX_RANK, RLO_UNSUPPORTED, "%s: rank %d; the limit is %d",
              operation, src->rank, RLO_MAX_RANK / 2 + 1);
  return RLO_OK;
}

/* `has_depth`: the blocks of `src` are in its channels; `is_crd`: behind the
 * channel there. */
static rlo_status plan_depth(const char *operation, const rlo_shape *src, bool has_depth,
                             bool is_crd, int64_t block, int32_t channel_dim, block_plan *out) {
  int64_t counts[RLO_MAX_RANK];
  int64_t channels = src->dims[channel_dim];
  RLO_TRY(check_depth(operation, src, block, channel_dim));
  for (int32_t k = 0; k < src->rank; ++k) {
    int64_t divisor = k == 0 || k == channel_dim ? 1 : block;
    counts[k] = has_depth ? src->dims[k] : src->dims[k] / divisor;
    RLO_FAIL_IF(has_depth && channels % divisor != 0, RLO_INVALID_ARGUMENT,
                "%s: blocks of %lld in %d dimensions do not divide %lld channels", operation,
                (long long)block, src->rank - 2, (long long)src->dims[channel_dim]);
    RLO_FAIL_IF(!has_depth && src->dims[k] % divisor != 0, RLO_INVALID_ARGUMENT,
                "%s: a block of %lld does not divide dimension %d of size %lld", operation,
                (long long)block, k, (long long)src->dims[k]);
    channels /= has_depth ? divisor : 1;
  }
  int32_t at = 0;
  int32_t outside_of[RLO_MAX_RANK];
  int32_t block_of[RLO_MAX_RANK] = {0};
  int64_t deep = channels;
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k != 0 && k != channel_dim;
    outside_of[k] = at;
    out->outside[at++] = k == channel_dim ? channels : counts[k];
    out->spread[k] = out->outside[at - 1];
    if (!is_spatial) {
      continue;
    }
    block_of[k] = at;
    out->outside[at++] = block;
    RLO_FAIL_IF(!rlo__mul(counts[k], block, &out->spread[k]) || !rlo__mul(deep, block, &deep),
                RLO_OVERFLOW, "%s: a block of %lld takes dimension %d beyond 64 bits", operation,
                (long long)block, k);
  }
  out->rank = at;
  at = 0;
  for (int32_t k = 0; k < src->rank; ++k) {
    out->packed[k] = k == channel_dim ? deep : counts[k];
    for (int32_t s = 0; s <= src->rank; ++s) {
      if (s == (is_crd ? 0 : src->rank)) {
        out->to_inside[at++] = outside_of[k];
      } else if (k == channel_dim && s > 0 && s < src->rank && s != channel_dim) {
        out->to_inside[at++] = block_of[s];
      }
    }
  }
  return RLO_OK;
}

static rlo_status move_depth(rlo_chain *chain, const char *operation, bool has_depth, bool is_crd,
                             int64_t block, int32_t channel_dim) {
  block_plan p = {0};
  const rlo_shape *src = &chain->shape;
  RLO_TRY(rlo__dim_find(operation, channel_dim, src->rank, &channel_dim));
  RLO_TRY(plan_depth(operation, src, has_depth, is_crd, block, channel_dim, &p));
  return move_blocks(chain, has_depth ? to_space : from_space, &p);
}

rlo_status rlo_chain_space_to_depth(rlo_chain *chain, int64_t block, int32_t channel_dim) {
  RLO_REQUIRE(chain);
  return move_depth(chain, "space_to_depth", false, false, block, channel_dim);
}

rlo_status rlo_chain_depth_to_space(rlo_chain *chain, int64_t block, int32_t channel_dim) {
  RLO_REQUIRE(chain);
  return move_depth(chain, "depth_to_space", true, false, block, channel_dim);
}

rlo_status rlo_chain_depth_to_space_crd(rlo_chain *chain, int64_t block, int32_t channel_dim) {
  RLO_REQUIRE(chain);
  return move_depth(chain, "depth_to_space", true, true, block, channel_dim);
}

static rlo_status read_attributes(const char *operation, const rlo_shape *src,
                                  const int64_t *blocks, const int64_t *low, const int64_t *high,
                                  int32_t count, block_plan *out) {
  RLO_FAIL_IF(count < 0 || count >= src->rank, RLO_OUT_OF_RANGE,
              "%s: %d spatial dimensions of an array of rank %d", operation, count, src->rank);
  RLO_FAIL_IF(src->rank + count > RLO_MAX_RANK, RLO_UNSUPPORTED,
              "%s: rank %d and %d blocks; the limit is %d together", operation, src->rank, count,
              RLO_MAX_RANK);
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k >= 1 && k <= count;
    out->low[k] = is_spatial && low != NULL ? low[k - 1] : 0;
    out->high[k] = is_spatial && high != NULL ? high[k - 1] : 0;
    RLO_FAIL_IF(is_spatial && (blocks[k - 1] < 1 || out->low[k] < 0 || out->high[k] < 0),
                RLO_INVALID_ARGUMENT,
                "%s: dimension %d has a block of %lld, low %lld and high %lld; a block is at least "
                "1, the others not negative",
                operation, k, (long long)blocks[k - 1], (long long)out->low[k],
                (long long)out->high[k]);
  }
  return RLO_OK;
}

/* Fills in what follows from the batch without blocks and out->spread. */
static rlo_status plan_batch(const char *operation, const rlo_shape *src, const int64_t *blocks,
                             int64_t batch, int32_t count, block_plan *out) {
  int32_t at = 0;
  out->rank = src->rank + count;
  out->spread[0] = batch;
  out->has_margins = true;
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k >= 1 && k <= count;
    int64_t block = is_spatial ? blocks[k - 1] : 1;
    out->to_inside[count + k] = at;
    out->outside[at++] = out->packed[k] = out->spread[k] / block;
    if (is_spatial) {
      out->to_inside[k - 1] = at;
      out->outside[at++] = block;
    }
  }
  for (int32_t k = 0; k < count; ++k) {
    RLO_FAIL_IF(!rlo__mul(out->packed[0], blocks[k], &out->packed[0]), RLO_OVERFLOW,
                "%s: the batch exceeds 64 bits", operation);
  }
  return RLO_OK;
}

static rlo_status plan_to_batch(const rlo_shape *src, const int64_t *blocks, const int64_t *low,
                                const int64_t *high, int32_t count, block_plan *out) {
  const char *operation = "space_to_batch";
  RLO_TRY(read_attributes(operation, src, blocks, low, high, count, out));
  for (int32_t k = 0; k < src->rank; ++k) {
    RLO_FAIL_IF(!rlo__add(src->dims[k], out->low[k], &out->spread[k]) ||
                    !rlo__add(out->spread[k], out->high[k], &out->spread[k]),
                RLO_OVERFLOW, "space_to_batch: dimension %d exceeds 64 bits", k);
    RLO_FAIL_IF(
        k >= 1 && k <= count && out->spread[k] % blocks[k - 1] != 0, RLO_INVALID_ARGUMENT,
        "space_to_batch: a block of %lld does not divide dimension %d, which padded has size %lld",
        (long long)blocks[k - 1], k, (long long)out->spread[k]);
  }
  return plan_batch(operation, src, blocks, src->dims[0], count, out);
}

static rlo_status plan_from_batch(const rlo_shape *src, const int64_t *blocks, const int64_t *low,
                                  const int64_t *high, int32_t count, block_plan *out) {
  const char *operation = "batch_to_space";
  RLO_TRY(read_attributes(operation, src, blocks, low, high, count, out));
  int64_t batch = src->dims[0];
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k >= 1 && k <= count;
    int64_t block = is_spatial ? blocks[k - 1] : 1;
    RLO_FAIL_IF(batch % block != 0, RLO_INVALID_ARGUMENT,
                "batch_to_space: the blocks do not divide a batch of %lld",
                (long long)src->dims[0]);
    batch /= block;
    RLO_FAIL_IF(!rlo__mul(src->dims[k], block, &out->spread[k]), RLO_OVERFLOW,
                "batch_to_space: dimension %d exceeds 64 bits", k);
    RLO_FAIL_IF(
        out->spread[k] - out->low[k] < out->high[k], RLO_INVALID_ARGUMENT,
        "batch_to_space: low %lld and high %lld take more than the %lld that dimension %d has",
        (long long)out->low[k], (long long)out->high[k], (long long)out->spread[k], k);
  }
  return plan_batch(operation, src, blocks, batch, count, out);
}

rlo_status rlo_chain_space_to_batch(rlo_chain *chain, const int64_t *blocks, const int64_t *low,
                                    const int64_t *high, int32_t count) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(blocks, count);
  block_plan p = {0};
  RLO_TRY(plan_to_batch(&chain->shape, blocks, low, high, count, &p));
  return move_blocks(chain, from_space, &p);
}

rlo_status rlo_chain_batch_to_space(rlo_chain *chain, const int64_t *blocks, const int64_t *low,
                                    const int64_t *high, int32_t count) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(blocks, count);
  block_plan p = {0};
  RLO_TRY(plan_from_batch(&chain->shape, blocks, low, high, count, &p));
  return move_blocks(chain, to_space, &p);
}
