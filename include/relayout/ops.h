/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_OPS_H
#define RELAYOUT_OPS_H

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

RLO_END_DECLS

#endif
