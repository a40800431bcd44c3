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

RLO_END_DECLS

#endif
