/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHAPE_UTIL_SHAPE_PACK_H
#define RLO_SHAPE_UTIL_SHAPE_PACK_H

#include "relayout/shape.h"

/**
 * Shapes in few bytes: an rlo_shape has room for everything a layout can say
 * and takes 5 KiB; what most shapes do say takes 20 bytes. A tree of ten
 * thousand leaves keeps them packed and unpacks the one that is asked for.
 *
 * The bytes never leave the process: their form may change at any time.
 */

/** More bytes than any packed shape takes: a field of n bytes takes at most
 *  n + ceil(n / 4). */
#define RLO__SHAPE_PACK_MAX_BYTES (2 * sizeof(rlo_shape))

/**
 * Pack a shape for which rlo_shape_validate_unbounded is RLO_OK. Fields without
 * a meaning for its kind of layout, and entries beyond its rank, are left out
 * and come back as zero.
 * @return the number of bytes written.
 */
size_t rlo__shape_pack(const rlo_shape *shape,
                       uint8_t out_bytes[RLO__SHAPE_PACK_MAX_BYTES]);

/** Unpack what rlo__shape_pack wrote. @return the number of bytes read. */
size_t rlo__shape_unpack(const uint8_t *bytes, rlo_shape *out_shape);

#endif
