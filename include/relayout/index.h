/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_INDEX_H
#define RELAYOUT_INDEX_H

#include "relayout/shape.h"

/* For many questions of one shape, index_map.h: these check the shape each
 * time. */

RLO_BEGIN_DECLS

/**
 * Where an element lies: the address map of the shape applied to one index.
 *
 * @param index   shape->rank coordinates, each in [0, dims[k]); NULL only for
 *                rank 0.
 * @param out_slot  position in elements of the layout's element size; honours
 *                padding, nested tiles, combined dimensions, strides and
 *                offset.
 * @return RLO_OK; RLO_OUT_OF_RANGE naming the coordinate; or what
 *         rlo_shape_validate says. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_index_to_linear(const rlo_shape *shape,
                                                     const int64_t *index,
                                                     int64_t *out_slot);

/**
 * Which element lies at a slot: the inverse of rlo_index_to_linear.
 *
 * @param slot  in [0, slots).
 * @param out_index  shape->rank coordinates; left alone for a padding slot.
 * @param out_is_element  false if the slot holds no element.
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_UNSUPPORTED for a strided layout in
 *         which several elements may share a slot.
 */
RLO_API RLO_NODISCARD rlo_status rlo_index_from_linear(const rlo_shape *shape,
                                                       int64_t slot,
                                                       int64_t *out_index,
                                                       bool *out_is_element);

/** Step to the next index in logical row-major order (the last dimension
 *  fastest), whatever the layout. False, and all zero, after the last one.
 *  Requires rank >= 0 and every dimension >= 1. */
RLO_API bool rlo_index_bump(const rlo_shape *shape, int64_t *index);

/** True if every coordinate is in [0, dims[k]). */
RLO_API bool rlo_index_in_bounds(const rlo_shape *shape, const int64_t *index);

/** XLA's CompareIndices: -1, 0 or 1 as the first index comes before, is, or
 *  comes after the second in logical row-major order. */
RLO_API int rlo_index_compare(const int64_t *a, const int64_t *b, int32_t rank);

/**
 * Called for one index. Anything but RLO_OK ends the walk and is what it
 * returns; *go_on, true before the call, ends it with RLO_OK when false.
 */
typedef rlo_status (*rlo_index_fn)(const int64_t *index,
                                   bool *go_on,
                                   void *payload);

/**
 * XLA's ForEachIndex: visit indices in physical order, the most minor dimension
 * fastest. Equivalent loops, for every dimension k:
 *
 *   for (index[k] = base[k]; index[k] < base[k] + count[k];
 *        index[k] += step[k]) ...
 *
 * with step and count 0 the dimension stays at base[k].
 *
 * @param base, count, step  rank entries each, borrowed; NULL: zeros, the
 *                 dimensions, and ones: every element.
 * @param visit    not called at all if some count is 0 with another step.
 * @return RLO_OK; what visit returned; RLO_INVALID_ARGUMENT for a negative
 *         entry or a step of 0 with another count; RLO_OUT_OF_RANGE, before the
 *         first call, if an index would be outside its dimension; what
 *         rlo_shape_validate says. Threads: calls visit on the caller's.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_for_each_index(const rlo_shape *shape,
                         const int64_t *base,
                         const int64_t *count,
                         const int64_t *step,
                         rlo_index_fn visit,
                         void *payload);

RLO_END_DECLS

#endif
