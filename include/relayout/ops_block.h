/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_OPS_BLOCK_H
#define RELAYOUT_OPS_BLOCK_H

#include "relayout/chain.h"

RLO_BEGIN_DECLS

/** Operations of a chain that work on blocks of images and on their borders.
 *  What ops.h says of statuses, arrays and threads holds here too. */

/**
 * TensorFlow's SpaceToDepth for any number of spatial dimensions: all but
 * dimension 0 and channel_dim. Each block of `block` per spatial dimension
 * becomes channels: y's channel ((b_1 * block + b_2) ...) * channels + c at the
 * spatial index i is x's channel c at i * block + b.
 * @param block        at least 1; divides every spatial size.
 * @param channel_dim  1 for NCHW, rank - 1 for NHWC; any but 0. The rank is at
 *                     least 2.
 */
RLO_API RLO_NODISCARD rlo_status rlo_space_to_depth_infer(const rlo_shape *src,
                                                          int64_t block,
                                                          int32_t channel_dim,
                                                          rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_space_to_depth(rlo_chain *chain,
                                                          int64_t block,
                                                          int32_t channel_dim);

/** What undoes it. The channels are a multiple of block to the number of
 *  spatial dimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_depth_to_space_infer(const rlo_shape *src,
                                                          int64_t block,
                                                          int32_t channel_dim,
                                                          rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_depth_to_space(rlo_chain *chain,
                                                          int64_t block,
                                                          int32_t channel_dim);

/**
 * TensorFlow's SpaceToBatchND: dimensions 1 .. count are padded with zeros, low
 * in front and high behind, and cut into blocks, whose place becomes part of
 * the batch: y's batch ((b_1 * blocks[1] + b_2) ...) * batch + n at the spatial
 * index i is x's n at i * blocks + b - low.
 * @param blocks  `count` sizes, at least 1, each a divisor of what the padded
 *                dimension has; count is below the rank.
 * @param low, high  `count` numbers, none negative; NULL for all 0.
 */
RLO_API RLO_NODISCARD rlo_status rlo_space_to_batch_infer(const rlo_shape *src,
                                                          const int64_t *blocks,
                                                          const int64_t *low,
                                                          const int64_t *high,
                                                          int32_t count,
                                                          rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_space_to_batch(rlo_chain *chain,
                                                          const int64_t *blocks,
                                                          const int64_t *low,
                                                          const int64_t *high,
                                                          int32_t count);

/** What undoes it: blocks come back from the batch, a multiple of their
 *  product; then `low` and `high` are cropped. */
RLO_API RLO_NODISCARD rlo_status rlo_batch_to_space_infer(const rlo_shape *src,
                                                          const int64_t *blocks,
                                                          const int64_t *low,
                                                          const int64_t *high,
                                                          int32_t count,
                                                          rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_batch_to_space(rlo_chain *chain,
                                                          const int64_t *blocks,
                                                          const int64_t *low,
                                                          const int64_t *high,
                                                          int32_t count);

/** How a mirror pad repeats the edge. */
typedef enum rlo_mirror {
  /** 3 2 | 1 2 3 | 2 1: the edge element stands once. */
  RLO_MIRROR_REFLECT = 0,
  /** 2 1 | 1 2 3 | 3 2: the edge element stands twice. */
  RLO_MIRROR_SYMMETRIC = 1
} rlo_mirror;

/**
 * The array continued beyond its edges by its mirror image.
 *
 * A chain gets up to three parts for each padded dimension, so up to 3^d
 * problems, each a box without a test inside.
 * @param low, high  rank numbers, none negative and none above n - 1 (reflect)
 *                   or n (symmetric); NULL for all 0.
 * @return also RLO_UNSUPPORTED beyond RLO_CHAIN_MAX_PARTS.
 */
RLO_API RLO_NODISCARD rlo_status rlo_mirror_pad_infer(const rlo_shape *src,
                                                      const int64_t *low,
                                                      const int64_t *high,
                                                      rlo_mirror mirror,
                                                      rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_mirror_pad(rlo_chain *chain,
                                                      const int64_t *low,
                                                      const int64_t *high,
                                                      rlo_mirror mirror);

RLO_END_DECLS

#endif
