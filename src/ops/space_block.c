/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "desc/dimension.h"
#include "ops/chain.h"
#include "relayout/ops.h"
#include "relayout/xla/layout_util.h"

/* Reshape, transpose, reshape: blocks move between dimensions. On failure the
 * chain is unchanged. */
static rlo_status regroup(rlo_chain *chain,
                          const int64_t *dims,
                          int32_t rank,
                          const int32_t *permutation,
                          const int64_t *result_dims,
                          int32_t result_rank) {
  rlo_chain *trial = NULL;
  rlo_status status;
  RLO_TRY_GOTO(rlo_chain_clone(chain, &trial));
  RLO_TRY_GOTO(rlo_chain_reshape(trial, dims, rank));
  RLO_TRY_GOTO(rlo_chain_transpose(trial, permutation));
  RLO_TRY_GOTO(rlo_chain_reshape(trial, result_dims, result_rank));
  rlo__chain_swap(chain, trial);
fail:
  rlo_chain_release(trial);
  return status;
}

/*
 * Both directions are reshape, transpose, reshape. Between the reshapes the
 * blocks have dimensions of their own:
 *
 *   outside the channels   n, s_1, b_1, s_2, b_2, ... with c in its place
 *   inside them            n, s_1, s_2, ... with b_1, b_2, ..., c in its place
 */
typedef struct depth_plan {
  int32_t rank;
  int64_t outside[RLO_MAX_RANK];
  int64_t inside[RLO_MAX_RANK];
  /** inside[k] = outside[to_inside[k]]. */
  int32_t to_inside[RLO_MAX_RANK];
  /** The results in both directions. */
  int64_t deep[RLO_MAX_RANK], wide[RLO_MAX_RANK];
} depth_plan;

static rlo_status check_depth(const char *operation,
                              const rlo_shape *src,
                              int64_t block,
                              int32_t channel_dim) {
  if (channel_dim == 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: dimension 0 is the batch and holds no channels",
                    operation);
  }
  if (block < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: a block of %lld; it is at least 1",
                    operation,
                    (long long)block);
  }
  if (2 * src->rank - 2 > RLO_MAX_RANK) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "%s: rank %d; the limit is %d",
                    operation,
                    src->rank,
                    RLO_MAX_RANK / 2 + 1);
  }
  return RLO_OK;
}

/* `counts` are the sizes of the array with blocks inside the channels,
 * `channels` the channels without blocks. */
static rlo_status make_depth_plan(const char *operation,
                                  const rlo_shape *src,
                                  const int64_t *counts,
                                  int64_t channels,
                                  int64_t block,
                                  int32_t channel_dim,
                                  depth_plan *out) {
  int32_t at = 0;
  int32_t outside_of[RLO_MAX_RANK];
  int32_t block_of[RLO_MAX_RANK] = {0};
  int64_t deep = channels;
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k != 0 && k != channel_dim;
    outside_of[k] = at;
    out->outside[at++] = k == channel_dim ? channels : counts[k];
    out->wide[k] = out->outside[at - 1];
    if (!is_spatial) {
      continue;
    }
    block_of[k] = at;
    out->outside[at++] = block;
    if (!rlo__mul(counts[k], block, &out->wide[k]) ||
        !rlo__mul(deep, block, &deep)) {
      return RLO_FAIL(RLO_OVERFLOW,
                      "%s: a block of %lld takes dimension %d beyond 64 bits",
                      operation,
                      (long long)block,
                      k);
    }
  }
  out->rank = at;
  at = 0;
  for (int32_t k = 0; k < src->rank; ++k) {
    out->deep[k] = k == channel_dim ? deep : counts[k];
    for (int32_t s = 1; k == channel_dim && s < src->rank; ++s) {
      if (s != channel_dim) {
        out->to_inside[at++] = block_of[s];
      }
    }
    out->to_inside[at++] = outside_of[k];
  }
  for (int32_t k = 0; k < out->rank; ++k) {
    out->inside[k] = out->outside[out->to_inside[k]];
  }
  return RLO_OK;
}

static rlo_status plan_to_depth(const rlo_shape *src,
                                int64_t block,
                                int32_t channel_dim,
                                depth_plan *out) {
  RLO_TRY(check_depth("space_to_depth", src, block, channel_dim));
  int64_t counts[RLO_MAX_RANK];
  for (int32_t k = 0; k < src->rank; ++k) {
    bool is_spatial = k != 0 && k != channel_dim;
    counts[k] = is_spatial ? src->dims[k] / block : src->dims[k];
    if (is_spatial && src->dims[k] % block != 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "space_to_depth: a block of %lld does not divide "
                      "dimension %d of size %lld",
                      (long long)block,
                      k,
                      (long long)src->dims[k]);
    }
  }
  return make_depth_plan("space_to_depth",
                         src,
                         counts,
                         src->dims[channel_dim],
                         block,
                         channel_dim,
                         out);
}

static rlo_status plan_from_depth(const rlo_shape *src,
                                  int64_t block,
                                  int32_t channel_dim,
                                  depth_plan *out) {
  RLO_TRY(check_depth("depth_to_space", src, block, channel_dim));
  int64_t channels = src->dims[channel_dim];
  for (int32_t s = 2; s < src->rank; ++s) {
    if (channels % block != 0) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "depth_to_space: blocks of %lld in %d dimensions do not "
                      "divide %lld channels",
                      (long long)block,
                      src->rank - 2,
                      (long long)src->dims[channel_dim]);
    }
    channels /= block;
  }
  return make_depth_plan(
      "depth_to_space", src, src->dims, channels, block, channel_dim, out);
}

rlo_status rlo_chain_space_to_depth(rlo_chain *chain,
                                    int64_t block,
                                    int32_t channel_dim) {
  RLO_REQUIRE(chain);
  depth_plan p = {0};
  RLO_TRY(rlo__dim_find(
      "space_to_depth", channel_dim, chain->shape.rank, &channel_dim));
  RLO_TRY(plan_to_depth(&chain->shape, block, channel_dim, &p));
  return regroup(
      chain, p.outside, p.rank, p.to_inside, p.deep, chain->shape.rank);
}

rlo_status rlo_chain_depth_to_space(rlo_chain *chain,
                                    int64_t block,
                                    int32_t channel_dim) {
  RLO_REQUIRE(chain);
  depth_plan p = {0};
  int32_t to_outside[RLO_MAX_RANK];
  RLO_TRY(rlo__dim_find(
      "depth_to_space", channel_dim, chain->shape.rank, &channel_dim));
  RLO_TRY(plan_from_depth(&chain->shape, block, channel_dim, &p));
  rlo_permutation_inverse(p.to_inside, p.rank, to_outside);
  return regroup(
      chain, p.inside, p.rank, to_outside, p.wide, chain->shape.rank);
}

/*
 * Both directions are reshape, transpose, reshape, with a pad before or a slice
 * after them. Between the reshapes the blocks have dimensions of their own:
 *
 *   outside the batch   n, s_1, b_1, ..., s_m, b_m, rest
 *   inside it           b_1, ..., b_m, n, s_1, ..., s_m, rest
 */
typedef struct batch_plan {
  int32_t rank;
  int64_t outside[RLO_MAX_RANK];
  int64_t inside[RLO_MAX_RANK];
  int32_t to_inside[RLO_MAX_RANK];
  /** The dimensions with blocks in the batch; with blocks in space, padded or
   * not yet cropped; and cropped. */
  int64_t batched[RLO_MAX_RANK], padded[RLO_MAX_RANK], cropped[RLO_MAX_RANK];
  /** For all dimensions. */
  int64_t low[RLO_MAX_RANK], high[RLO_MAX_RANK];
} batch_plan;

static rlo_status read_attributes(const char *operation,
                                  const rlo_shape *src,
                                  const int64_t *blocks,
                                  const int64_t *low,
                                  const int64_t *high,
                                  int32_t count,
                                  batch_plan *out) {
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

/* Fills in what follows from the batch without blocks and out->padded. */
static rlo_status make_plan(const char *operation,
                            const rlo_shape *src,
                            const int64_t *blocks,
                            int64_t batch,
                            int32_t count,
                            batch_plan *out) {
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
      return RLO_FAIL(RLO_OVERFLOW, "%s: the batch exceeds 64 bits", operation);
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
                                batch_plan *out) {
  const char *operation = "space_to_batch";
  RLO_TRY(read_attributes(operation, src, blocks, low, high, count, out));
  for (int32_t k = 0; k < src->rank; ++k) {
    out->cropped[k] = src->dims[k];
    if (!rlo__add(src->dims[k], out->low[k], &out->padded[k]) ||
        !rlo__add(out->padded[k], out->high[k], &out->padded[k])) {
      return RLO_FAIL(
          RLO_OVERFLOW, "space_to_batch: dimension %d exceeds 64 bits", k);
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

static rlo_status plan_from_batch(const rlo_shape *src,
                                  const int64_t *blocks,
                                  const int64_t *low,
                                  const int64_t *high,
                                  int32_t count,
                                  batch_plan *out) {
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
          RLO_OVERFLOW, "batch_to_space: dimension %d exceeds 64 bits", k);
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

rlo_status rlo_chain_space_to_batch(rlo_chain *chain,
                                    const int64_t *blocks,
                                    const int64_t *low,
                                    const int64_t *high,
                                    int32_t count) {
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(blocks, count);
  batch_plan p = {0};
  rlo_chain *trial;
  RLO_TRY(plan_to_batch(&chain->shape, blocks, low, high, count, &p));
  RLO_TRY(rlo_chain_clone(chain, &trial));
  rlo_status status = rlo_chain_pad(trial, p.low, p.high, NULL, NULL);
  if (status == RLO_OK) {
    status = regroup(
        trial, p.outside, p.rank, p.to_inside, p.batched, trial->shape.rank);
  }
  if (status == RLO_OK) {
    rlo__chain_swap(chain, trial);
  }
  rlo_chain_release(trial);
  return status;
}

static rlo_status to_space(rlo_chain *chain, const batch_plan *p) {
  int32_t to_outside[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  rlo_permutation_inverse(p->to_inside, p->rank, to_outside);
  RLO_TRY(regroup(
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
  RLO_REQUIRE(chain);
  RLO_REQUIRE_LIST(blocks, count);
  batch_plan p = {0};
  rlo_chain *trial;
  RLO_TRY(plan_from_batch(&chain->shape, blocks, low, high, count, &p));
  RLO_TRY(rlo_chain_clone(chain, &trial));
  rlo_status status = to_space(trial, &p);
  if (status == RLO_OK) {
    rlo__chain_swap(chain, trial);
  }
  rlo_chain_release(trial);
  return status;
}
