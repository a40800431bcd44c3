/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_SHAPE_PACK_H
#define RLO_XLA_SHAPE_PACK_H

#include "relayout/shape.h"

/**
 * A compact form of shapes. An rlo_shape takes 5 KiB, of which most layouts use
 * few fields; packed it takes about 20 bytes. Shape trees keep their leaves
 * packed.
 *
 * The bytes stay in the process: the format may change at any time.
 */

/** An upper bound for a packed shape: a field takes at most twice its bytes. */
#define RLO__SHAPE_PACK_MAX_BYTES (2 * sizeof(rlo_shape))

/**
 * Packs a shape for which rlo_shape_validate_unbounded holds. Fields without a
 * meaning for its kind of layout, and entries beyond its rank, are left out;
 * they are unpacked as zero.
 * @return the number of bytes written.
 */
size_t rlo__shape_pack(const rlo_shape *shape,
                       uint8_t out_bytes[RLO__SHAPE_PACK_MAX_BYTES]);

/** Unpacks the output of rlo__shape_pack. @return the number of bytes read. */
size_t rlo__shape_unpack(const uint8_t *bytes, rlo_shape *out_shape);

#endif
