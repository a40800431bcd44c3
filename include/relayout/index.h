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

RLO_END_DECLS

#endif
