/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_OPS_COMBINE_H
#define RELAYOUT_OPS_COMBINE_H

#include <stddef.h>

#include "relayout/chain.h"
#include "relayout/problem.h"
#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * Operations that compute on the way. The numbers follow the rules of
 * rlo_arithmetic (arithmetic.h): every rounding, every limit, the order of
 * sums. What neither converts, scales, adds nor sums stays a movement of bits.
 */

/** What becomes of a result x and the destination y: y = alpha * x + beta * y.
 *  Begin with RLO_COMBINE_OPTIONS_INIT, which stands for y = x. */
typedef struct rlo_combine_options {
  /** sizeof(rlo_combine_options). */
  size_t struct_size;
  double alpha, beta;
  /** RLO_DTYPE_F64 to compute floats in f64; RLO_DTYPE_INVALID as usual. */
  rlo_dtype compute_type;
} rlo_combine_options;

#define RLO_COMBINE_OPTIONS_INIT \
  { sizeof(rlo_combine_options), 1.0, 0.0, RLO_DTYPE_INVALID }

/**
 * Lower a relayout that computes: rlo_relayout_lower, but that the destination
 * may have another type and element size. Equivalent loop over every index i:
 *
 *   j[permutation[k]] = i[k] for each k
 *   dst(i) = to_dst(alpha * src(j) + beta * dst(i))
 *
 * Slots of dst that hold no element take dst's fill, as there.
 * @param options  borrowed; NULL for alpha 1, beta 0.
 * @return as rlo_relayout_lower, but for the types and element sizes;
 *         RLO_INVALID_ARGUMENT for factors that the types do not take;
 *         RLO_UNSUPPORTED for a destination type without a zero.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_relayout_combine(const rlo_shape *src,
                     const rlo_shape *dst,
                     const int32_t *permutation,
                     const rlo_combine_options *options,
                     rlo_problem *out_problem);

/**
 * Lower a chain that computes: rlo_chain_lower, but that each index i of dst
 * becomes to_dst(alpha * the chain's result + beta * dst(i)), and that dst may
 * have another type and element size than the chain.
 *
 * The chain's elements are computed with as its operands hold them, and rounded
 * once, to dst's type, whatever types the chain went through.
 * @return as rlo_chain_lower and rlo_relayout_combine; RLO_UNSUPPORTED for a
 *         chain that pads and alpha other than 1, beta other than 0 or dst of
 *         another type than the chain: a fill is neither scaled nor added.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_chain_combine(const rlo_chain *chain,
                  const rlo_shape *dst,
                  const rlo_combine_options *options,
                  rlo_moves **out_moves);

/**
 * The sum of `count` arrays of one logical shape, each in its own type and
 * layout: dst = srcs[0], then dst = srcs[n] + dst for each further one, in this
 * order, rounded to dst's type each time. One problem for each, of operand n.
 * @param count  at least 1.
 * @return as rlo_relayout_combine; RLO_INVALID_ARGUMENT for no array;
 *         RLO_UNSUPPORTED for several of pred or of integers below a byte.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_add_n_lower(const rlo_shape *const *srcs,
                                                 int32_t count,
                                                 const rlo_shape *dst,
                                                 rlo_moves **out_moves);

/**
 * Two operations of chains, as in ops.h: _infer gives the shape of the result,
 * rlo_chain_ appends; both validate, and leave things as they were on failure.
 */

/**
 * y(i) = x(i) in another type, whose elements take its usual bits; fills that
 * the chain has written so far are converted alike.
 * @return as the operations of ops.h; RLO_INVALID_ARGUMENT for no element type;
 *         RLO_UNSUPPORTED for one without a zero; rlo_chain_convert also if the
 *         chain has converted to a type that does not hold every value of its
 *         operands (the way there would have to round).
 */
RLO_API RLO_NODISCARD rlo_status rlo_convert_infer(const rlo_shape *src,
                                                   rlo_dtype dtype,
                                                   rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_convert(rlo_chain *chain,
                                                   rlo_dtype dtype);

/**
 * y(i) = the sum of x over the dimensions named; over nothing, 0. These stay
 * with size 1, or go. The order is fixed (rlo_arithmetic), the accumulators are
 * of the compute type: f32 for f16, bf16 and smaller. Several sums of a chain
 * are one, over all their dimensions.
 * @param dims  `count` different dimensions.
 * @return as the operations of ops.h; RLO_INVALID_ARGUMENT for a dimension
 *         named twice; RLO_UNSUPPORTED for pred and for integers below a byte,
 *         and, rlo_chain_sum, for a chain that has padded or concatenated, or
 *         has converted to a type that does not hold every value of its
 * operand.
 */
RLO_API RLO_NODISCARD rlo_status rlo_sum_infer(const rlo_shape *src,
                                               const int32_t *dims,
                                               int32_t count,
                                               bool keep_dims,
                                               rlo_shape *out_shape);
RLO_API RLO_NODISCARD rlo_status rlo_chain_sum(rlo_chain *chain,
                                               const int32_t *dims,
                                               int32_t count,
                                               bool keep_dims);

RLO_END_DECLS

#endif
