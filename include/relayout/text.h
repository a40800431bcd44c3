/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_TEXT_H
#define RELAYOUT_TEXT_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** Longest text that is looked at, in bytes. */
#define RLO_TEXT_MAX_BYTES 65536

/**
 * Parse a shape in HLO syntax, with our words last inside the braces:
 *
 *   f32[2,3]                                row-major
 *   f32[64,100]{1,0:T(8,128)(2,1)L(1024)E(16)S(1)fill(lowest)}
 *   f32[2,3]{0,1:pad(3,5)fill(0x7fc00000)}
 *   f32[2,3]{:strides(8,1)offset(3)}
 *
 * White space and comments between tokens are ignored. An element size that
 * is the type's own, E(32) for f32, is read as none.
 * @param text       `text_bytes` bytes, need not be terminated; borrowed.
 * @param out_shape  a valid shape; untouched on failure.
 * @return RLO_OK; RLO_PARSE with the position (byte, from 0) and what was
 *         expected; RLO_OVERFLOW for a number beyond 64 bits; RLO_UNSUPPORTED
 *         for the parts of the syntax that are not arrays with static
 *         dimensions (tuples, `<=8`, `SC(...)`, ...), for a text beyond
 *         RLO_TEXT_MAX_BYTES and for too many dimensions or tiles; or what
 *         rlo_shape_validate says of the shape.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_parse(const char *text,
                                                 size_t text_bytes,
                                                 rlo_shape *out_shape);

/** Parse only the part in braces, `{...}`, for arrays of this type and these
 *  dimensions; everything else as rlo_shape_parse. "{}" is a scalar's. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_parse(const char *text,
                                                  size_t text_bytes,
                                                  rlo_dtype dtype,
                                                  const int64_t *dims,
                                                  int32_t rank,
                                                  rlo_layout *out_layout);

/**
 * Print a shape so that rlo_shape_parse reads it back: snprintf rules.
 *
 * @param buffer  room for `capacity` bytes, terminated if capacity > 0; may be
 *                NULL if capacity is 0.
 * @return the length of the whole text without terminator, whatever fits.
 */
RLO_API size_t rlo_shape_format(const rlo_shape *shape,
                                char *buffer,
                                size_t capacity);

/** Print the part in braces; "{}" for a scalar's. Rules as above. */
RLO_API size_t rlo_layout_format(const rlo_layout *layout,
                                 int32_t rank,
                                 char *buffer,
                                 size_t capacity);

RLO_END_DECLS

#endif
