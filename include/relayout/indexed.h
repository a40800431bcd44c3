/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_INDEXED_H
#define RELAYOUT_INDEXED_H

#include "relayout/chain.h"
#include "relayout/problem.h"
#include "relayout/shape.h"

RLO_BEGIN_DECLS

/*
 * Movements that an array of indices drives.
 *
 * Both operations speak of one arrangement. An array x has dimensions
 *
 *   batch_0 .. batch_b-1, before ..., dim, after ...
 *
 * and an array of indices, s32 or s64 in any layout, has dimensions
 *
 *   batch_0 .. batch_b-1, rows ...
 *
 * of which the first `batch_dims` (b, at most `dim`) are the same. A gather
 * takes for each row the slice of x that the index names; its result y has
 *
 *   batch_0 .. batch_b-1, before ..., rows ..., after ...
 *
 * A segment sum goes the other way, from y's dimensions to x's: it adds each
 * row to the slice that its index names.
 *
 * One rule for indices that name nothing, those below 0 and those not below the
 * size of `dim`: a gather gives zeros for them, a segment sum leaves the row
 * out. So each is exactly the other's adjoint, <dy, gather x> =
 * <segment_sum dy, x>, whatever the indices are, and no memory but the arrays'
 * own is ever touched.
 */

/**
 * The shape of a gather.
 *
 * @param src      what is gathered from; borrowed, any layout.
 * @param indices  s32 or s64; borrowed, any layout.
 * @param dim      the dimension that the indices count in: 0 .. rank - 1.
 * @param batch_dims  0 .. dim, and at most the rank of the indices.
 * @param out_shape  the type and element size of src, row-major, not padded.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for indices of another type or width, or
 *         batch dimensions of different sizes; RLO_OUT_OF_RANGE for a dim or
 *         batch_dims that is none; RLO_UNSUPPORTED beyond RLO_MAX_RANK; or what
 *         rlo_shape_validate says. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_gather_infer(const rlo_shape *src,
                                                  const rlo_shape *indices,
                                                  int32_t dim,
                                                  int32_t batch_dims,
                                                  rlo_shape *out_shape);

/**
 * The chain goes one gather further. Equivalent loop, with the coordinates
 * named as above (b for the batch, p before, r for the row, q after):
 *
 *   v = indices(b, r);
 *   y(b, p, r, q) = 0 <= v < x->dims[dim] ? x(b, p, v, q) : 0
 *
 * The indices become an operand of the chain, the last one; rlo_moves_indices
 * tells which problems of the lowered chain load them. Problems that do are run
 * by rlo_moves_run_host, rlo_problem_run_host_indexed and rlo_enqueue_operands.
 *
 * A chain may gather again in another of its parts; two gathers from different
 * arrays of indices in one part are RLO_UNSUPPORTED by rlo_chain_lower.
 * @return as rlo_gather_infer; RLO_OUT_OF_MEMORY. On failure the chain is as it
 *         was.
 */
RLO_API RLO_NODISCARD rlo_status rlo_chain_gather(rlo_chain *chain,
                                                  const rlo_shape *indices,
                                                  int32_t dim,
                                                  int32_t batch_dims);

/**
 * The shape of a segment sum.
 *
 * @param src  the rows, with the dimensions of y above; borrowed, any layout.
 * @param ids  the indices of the segments, s32 or s64; borrowed, any layout.
 * @param dim  where the rows' dimensions begin in src, and what they become in
 *             the result: one dimension of num_segments.
 * @param batch_dims  0 .. dim, and at most the rank of the ids.
 * @param out_shape  the type and element size of src, row-major, not padded.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for ids of another type or width, for
 *         dimensions of src that are not those of the ids, or num_segments
 *         below 0; RLO_OUT_OF_RANGE for a dim or batch_dims that is none;
 *         RLO_UNSUPPORTED for pred and for integers below a byte, which are not
 *         added, and beyond RLO_MAX_RANK; or what rlo_shape_validate says.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_segment_sum_infer(const rlo_shape *src,
                                                       const rlo_shape *ids,
                                                       int32_t dim,
                                                       int32_t batch_dims,
                                                       int64_t num_segments,
                                                       rlo_shape *out_shape);

/**
 * A segment sum, lowered. Equivalent loop, with x the destination and y the
 * source, in coordinates as above:
 *
 *   x = 0;
 *   for each row r, in row-major order, v = ids(b, r):
 *     if (0 <= v < x->dims[dim]) x(b, p, v, q) += y(b, p, r, q)
 *
 * but that the rows of a cell are added by the rules of rlo_arithmetic, as
 * points along one reduction axis, in their order: f16 and bf16 in f32,
 * integers modulo 2^bits, and bit for bit the same on every device. No atomics
 * are used: what the ids say is first turned round into an *order*, the rows of
 * each segment one after the other, which then serves any number of sums with
 * these ids. Threads: immutable, safe.
 */
typedef struct rlo_segment_sum rlo_segment_sum;

/**
 * Lower a segment sum into a destination of any layout, whose slots that hold
 * no element take its fill; with an unknown (or no) fill they are left alone.
 *
 * @param dst      borrowed; the dimensions of rlo_segment_sum_infer, of which
 *                 dst->dims[dim] is the number of segments; its type may be
 *                 another than that of src, to which the sums are rounded.
 * @param out_sum  the caller's, to be given to rlo_segment_sum_release.
 * @return as rlo_segment_sum_infer; RLO_INVALID_ARGUMENT for other dimensions,
 *         or a strided dst with two indices on one slot; RLO_UNSUPPORTED beyond
 *         RLO_MAX_AXES, RLO_MAX_TERMS or RLO_MAX_GUARDS, or for a type of dst
 *         without a zero; RLO_OVERFLOW; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_segment_sum_create(const rlo_shape *src,
                       const rlo_shape *ids,
                       int32_t dim,
                       int32_t batch_dims,
                       const rlo_shape *dst,
                       rlo_segment_sum **out_sum);

/** Give a segment sum back; NULL is legal. */
RLO_API void rlo_segment_sum_release(rlo_segment_sum *sum);

/** What its memories must have, in bytes. */
typedef struct rlo_segment_sum_sizes {
  int64_t src_bytes, ids_bytes, dst_bytes;
  /** The order: offsets of the segments, then the rows. */
  int64_t order_bytes;
  /** Width of a number of the order: 32, or 64 for very many rows. */
  int32_t order_bits;
} rlo_segment_sum_sizes;

RLO_API void rlo_segment_sum_get_sizes(const rlo_segment_sum *sum,
                                       rlo_segment_sum_sizes *out_sizes);

/** The problems that make the destination out of the rows (operand 0) and the
 *  order (operand 1, which they load): zeros, and the sum over them. Borrowed.
 */
RLO_API const rlo_moves *rlo_segment_sum_moves(const rlo_segment_sum *sum);

/**
 * Turn the ids round, on the host. `order` takes, as signed integers of
 * order_bits: for each segment of each batch where its rows begin, then where
 * the last ends; from there on the rows, counted within their batch.
 * @param ids    ids_bytes bytes, borrowed.
 * @param order  order_bytes bytes, aligned for its integers.
 * @return RLO_OK; RLO_OUT_OF_MEMORY. Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_segment_sum_order_host(
    const rlo_segment_sum *sum, const void *ids, void *order);

/**
 * Order and sum on the host.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_problem_run_host says.
 *         Threads: safe on distinct memory.
 */
RLO_API RLO_NODISCARD rlo_status rlo_segment_sum_run_host(
    const rlo_segment_sum *sum, const void *src, const void *ids, void *dst);

RLO_END_DECLS

#endif
