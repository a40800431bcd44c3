/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_LAYOUT_EDIT_H
#define RLO_XLA_LAYOUT_EDIT_H

#include "relayout/shape.h"

/**
 * Makes a shape of `rank` dimensions: dimension k is dimension from[k] of
 * `shape`, or new where that is -1. The others keep their physical order, and
 * splits their dimensions. New ones have size 1 and are the most major, the
 * first of them the most of all. Tiles stay as they are.
 *
 * @param shape  valid, and not *out.
 */
void rlo__shape_take_dims(const rlo_shape *shape, const int32_t *from, int32_t rank,
                          rlo_shape *out);

#endif
