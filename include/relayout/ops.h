/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_OPS_H
#define RELAYOUT_OPS_H

#include "relayout/chain.h"
#include "relayout/problem.h"
#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * Lower a relayout: the same logical array, its dimensions permuted if asked,
 * in another layout. Equivalent loop over every index i of dst:
 *
 *   j[permutation[k]] = i[k] for each k;   dst(i) = src(j)
 *
 * and every slot of dst that holds no element takes dst's fill; with an unknown
 * (or no) fill those bytes are left alone. Source padding is never read.
 *
 * @param src, dst     borrowed, of one dtype and one element size, with
 *                     dst->dims[k] == src->dims[permutation[k]].
 * @param permutation  rank entries, borrowed; NULL is the identity.
 * @param out_problem  the problem as written, not canonical; untouched on
 *                     failure.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for different types or logical shapes, a
 *         permutation that is none, a strided destination with two indices on
 *         one slot; RLO_UNSUPPORTED for different element sizes or too many
 *         physical dimensions; RLO_OVERFLOW; or what rlo_shape_validate says.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_relayout_lower(const rlo_shape *src,
                                                    const rlo_shape *dst,
                                                    const int32_t *permutation,
                                                    rlo_problem *out_problem);

/**
 * The shape of a transpose: dims[k] = src->dims[permutation[k]], row-major and
 * without padding, with the element size of src.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a permutation that is none; or what
 *         rlo_shape_validate says of src.
 */
RLO_API RLO_NODISCARD rlo_status rlo_transpose_infer(const rlo_shape *src,
                                                     const int32_t *permutation,
                                                     rlo_shape *out_shape);

/** Lower a transpose: rlo_relayout_lower into rlo_transpose_infer's shape,
 *  which is returned too if out_shape is not NULL. */
RLO_API RLO_NODISCARD rlo_status rlo_transpose_lower(const rlo_shape *src,
                                                     const int32_t *permutation,
                                                     rlo_shape *out_shape,
                                                     rlo_problem *out_problem);

/**
 * The operations of a chain (chain.h). Each has two functions:
 *
 *   rlo_<operation>_infer   the shape of the result: the element type and size
 *                           of src, row-major, without padding; nothing else;
 *   rlo_chain_<operation>   the chain goes one operation further.
 *
 * Both validate the same: they return RLO_OK; RLO_INVALID_ARGUMENT for an
 * attribute that breaks its rule; RLO_OUT_OF_RANGE for a dimension that src
 * does not have; RLO_UNSUPPORTED for a result of rank above RLO_MAX_RANK;
 * RLO_OVERFLOW for one whose size leaves int64; RLO_OUT_OF_MEMORY; and _infer
 * also what rlo_shape_validate says of src. On failure *out_shape and the chain
 * are unchanged. Arrays are borrowed for the call; one for a rank of 0 may be
 * NULL. Below, n is src's size in the dimension at hand, i an index of the
 * result and y(i) its element there.
 *
 * Threads: _infer is safe (pure); a chain is changed by one thread at a time.
 */

/** y(i) = x(j) with j[permutation[k]] = i[k]. */
RLO_API RLO_NODISCARD rlo_status
rlo_chain_transpose(rlo_chain *chain, const int32_t *permutation);

/**
 * The same elements in the same row-major order: y and x, each counted with the
 * last dimension fastest, are one list.
 * @param dims  `rank` sizes; one of them may be -1: whatever is left.
 */
RLO_API RLO_NODISCARD rlo_status rlo_reshape_infer(const rlo_shape *src,
                                                   const int64_t *dims,
                                                   int32_t rank,
                                                   rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_reshape(rlo_chain *chain,
                                                   const int64_t *dims,
                                                   int32_t rank);

/**
 * y(i) = x(j) with j[k] = begin[k] + strides[k] * i[k], as long as j[k] is in
 * front of end[k]. As Python slices: a negative begin or end counts from the
 * end of the dimension, and what then lies outside is moved to its edge; so
 * INT64_MIN and INT64_MAX stand for the edges themselves.
 * @param strides  not 0; negative ones walk backwards; NULL for all 1.
 */
RLO_API RLO_NODISCARD rlo_status rlo_slice_infer(const rlo_shape *src,
                                                 const int64_t *begin,
                                                 const int64_t *end,
                                                 const int64_t *strides,
                                                 rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_slice(rlo_chain *chain,
                                                 const int64_t *begin,
                                                 const int64_t *end,
                                                 const int64_t *strides);

/**
 * XLA's Pad: interior[k] fills between the elements, low[k] in front of them,
 * high[k] behind; negative low and high take elements (and fills) away.
 * y(i) = x(j) where i[k] = low[k] + j[k] * (interior[k] + 1), else the fill.
 * @param low, high, interior  NULL for all 0; interior is not negative.
 * @param fill  the bits of one element, low bits first, in as many bytes as
 *              the type's value takes; NULL for all bits 0.
 * @return also RLO_INVALID_ARGUMENT if more is taken away than is there.
 */
RLO_API RLO_NODISCARD rlo_status rlo_pad_infer(const rlo_shape *src,
                                               const int64_t *low,
                                               const int64_t *high,
                                               const int64_t *interior,
                                               rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_pad(rlo_chain *chain,
                                               const int64_t *low,
                                               const int64_t *high,
                                               const int64_t *interior,
                                               const void *fill);

/** y(i) = x(j) with j[k] = n - 1 - i[k] for the dimensions named, else i[k].
 *  @param dims  `count` different dimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_reverse_infer(const rlo_shape *src,
                                                   const int32_t *dims,
                                                   int32_t count,
                                                   rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_reverse(rlo_chain *chain,
                                                   const int32_t *dims,
                                                   int32_t count);

/**
 * XLA's BroadcastInDim: y(i) = x(j) with j[k] = 0 if n is 1, else
 * i[from_dims[k]].
 * @param dims       `rank` sizes of the result.
 * @param from_dims  for each dimension of src its own dimension of the result,
 *                   of size n, or of any size if n is 1.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_broadcast_in_dim_infer(const rlo_shape *src,
                           const int64_t *dims,
                           int32_t rank,
                           const int32_t *from_dims,
                           rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status
rlo_chain_broadcast_in_dim(rlo_chain *chain,
                           const int64_t *dims,
                           int32_t rank,
                           const int32_t *from_dims);

/** The whole array `times[k]` times in each dimension: j[k] = i[k] mod n.
 *  @param times  rank entries, none negative. */
RLO_API RLO_NODISCARD rlo_status rlo_tile_infer(const rlo_shape *src,
                                                const int64_t *times,
                                                rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_tile(rlo_chain *chain,
                                                const int64_t *times);

/** Each element `times[k]` times in each dimension: j[k] = i[k] / times[k]. */
RLO_API RLO_NODISCARD rlo_status rlo_repeat_infer(const rlo_shape *src,
                                                  const int64_t *times,
                                                  rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_repeat(rlo_chain *chain,
                                                  const int64_t *times);

/**
 * Arrays one behind the other in one dimension, of one type and otherwise of
 * one shape. The chain is the first of them; the operands of the others get
 * the numbers behind its own. One problem for each part.
 * @param others  `count` chains, copied; the chain itself may be among them.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_concatenate_infer(const rlo_shape *const *srcs,
                      int32_t count,
                      int32_t dim,
                      rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status
rlo_chain_concatenate(rlo_chain *chain,
                      const rlo_chain *const *others,
                      int32_t count,
                      int32_t dim);

/** Arrays of one shape as the slices of a new dimension `dim` (0 .. rank). */
RLO_API RLO_NODISCARD rlo_status rlo_stack_infer(const rlo_shape *const *srcs,
                                                 int32_t count,
                                                 int32_t dim,
                                                 rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_stack(rlo_chain *chain,
                                                 const rlo_chain *const *others,
                                                 int32_t count,
                                                 int32_t dim);

/** Part `part` of an array cut in a dimension: sizes[part] slices behind the
 *  sizes[0] + ... + sizes[part - 1] before it.
 *  @param sizes  `count` sizes that add up to n, none negative. */
RLO_API RLO_NODISCARD rlo_status rlo_split_infer(const rlo_shape *src,
                                                 const int64_t *sizes,
                                                 int32_t count,
                                                 int32_t dim,
                                                 int32_t part,
                                                 rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_split(rlo_chain *chain,
                                                 const int64_t *sizes,
                                                 int32_t count,
                                                 int32_t dim,
                                                 int32_t part);

/** Slice `index` of a dimension, which goes. */
RLO_API RLO_NODISCARD rlo_status rlo_unstack_infer(const rlo_shape *src,
                                                   int32_t dim,
                                                   int64_t index,
                                                   rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_unstack(rlo_chain *chain,
                                                   int32_t dim,
                                                   int64_t index);

RLO_END_DECLS

#endif
