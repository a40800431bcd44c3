/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ops/chain.h"
#include "relayout/layout_util.h"
#include "relayout/ops.h"

/*
 * Both directions are reshape, transpose, reshape. Between the reshapes the
 * blocks have dimensions of their own:
 *
 *   outside the channels   n, s_1, b_1, s_2, b_2, ... with c in its place
 *   inside them            n, s_1, s_2, ... with b_1, b_2, ..., c in its place
 */
typedef struct plan {
  int32_t rank;
  int64_t outside[RLO_MAX_RANK];
  int64_t inside[RLO_MAX_RANK];
  /** inside[k] = outside[to_inside[k]]. */
  int32_t to_inside[RLO_MAX_RANK];
  /** The results in both directions. */
  int64_t deep[RLO_MAX_RANK], wide[RLO_MAX_RANK];
} plan;

static rlo_status check(const char *operation,
                        const rlo_shape *src,
                        int64_t block,
                        int32_t channel_dim) {
  RLO_TRY(rlo__ops_check_dim(operation, src, channel_dim));
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

/* `counts` are the sizes of the array whose blocks are inside the channels,
 * with `channels` without them. */
static rlo_status make_plan(const char *operation,
                            const rlo_shape *src,
                            const int64_t *counts,
                            int64_t channels,
                            int64_t block,
                            int32_t channel_dim,
                            plan *out) {
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
                                plan *out) {
  RLO_TRY(check("space_to_depth", src, block, channel_dim));
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
  return make_plan("space_to_depth",
                   src,
                   counts,
                   src->dims[channel_dim],
                   block,
                   channel_dim,
                   out);
}

static rlo_status plan_to_space(const rlo_shape *src,
                                int64_t block,
                                int32_t channel_dim,
                                plan *out) {
  RLO_TRY(check("depth_to_space", src, block, channel_dim));
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
  return make_plan(
      "depth_to_space", src, src->dims, channels, block, channel_dim, out);
}

rlo_status rlo_space_to_depth_infer(const rlo_shape *src,
                                    int64_t block,
                                    int32_t channel_dim,
                                    rlo_shape *out_shape) {
  plan p = {0};
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(plan_to_depth(src, block, channel_dim, &p));
  return rlo__ops_shape_like(src, p.deep, src->rank, out_shape);
}

rlo_status rlo_depth_to_space_infer(const rlo_shape *src,
                                    int64_t block,
                                    int32_t channel_dim,
                                    rlo_shape *out_shape) {
  plan p = {0};
  RLO_TRY(rlo_shape_validate(src));
  RLO_TRY(plan_to_space(src, block, channel_dim, &p));
  return rlo__ops_shape_like(src, p.wide, src->rank, out_shape);
}

rlo_status rlo_chain_space_to_depth(rlo_chain *chain,
                                    int64_t block,
                                    int32_t channel_dim) {
  plan p = {0};
  RLO_TRY(plan_to_depth(&chain->shape, block, channel_dim, &p));
  return rlo__chain_regroup(
      chain, p.outside, p.rank, p.to_inside, p.deep, chain->shape.rank);
}

rlo_status rlo_chain_depth_to_space(rlo_chain *chain,
                                    int64_t block,
                                    int32_t channel_dim) {
  plan p = {0};
  int32_t to_outside[RLO_MAX_RANK];
  RLO_TRY(plan_to_space(&chain->shape, block, channel_dim, &p));
  rlo_permutation_inverse(p.to_inside, p.rank, to_outside);
  return rlo__chain_regroup(
      chain, p.inside, p.rank, to_outside, p.wide, chain->shape.rank);
}
