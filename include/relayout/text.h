/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_TEXT_H
#define RELAYOUT_TEXT_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** Longest text of an array or of its layout that is looked at, in bytes. */
#define RLO_TEXT_MAX_BYTES 65536
/** The same for the text of shardings, and of trees, programs and bare layouts. */
#define RLO_TEXT_MAX_TREE_BYTES 67108864
/** For `text_bytes` of what parses a text: it ends at its NUL. */
#define RLO_TEXT_TERMINATED SIZE_MAX

/**
 * Parse an array in HLO syntax, with our words last inside the braces:
 *
 *   f32[2,3]                                row-major
 *   f32[?,<=784]                            no bound; at most 784
 *   f32[64,100]{1,0:T(8,128)(2,1)L(1024)E(16)S(1)fill(lowest)}
 *   f32[2,3]{0,1:pad(3,5)fill(0x7fc00000)}
 *   f32[2,3]{:strides(8,1)offset(3)}
 *
 *   f32[8,9]{1,0:SC(0:4)M(16)}              carried along
 *
 * The type has its name in HLO or in NumPy, "float32"; f32 is printed.
 * The properties stand in the order D T L # * E S SC P M pad fill strides
 * offset. White space and comments between tokens are ignored. An element size
 * that is the type's own, E(32) for f32, is read as none; the levels of sparse
 * dimensions, D(...), are read and forgotten, as XLA does.
 * @param text       `text_bytes` bytes, need not be terminated; or, with
 *                   RLO_TEXT_TERMINATED, a C string; borrowed.
 * @param out_shape  a shape for which rlo_shape_validate_unbounded is RLO_OK;
 *                   untouched on failure.
 * @return RLO_OK; RLO_PARSE with the position (byte, from 0) and what was
 *         expected; RLO_OVERFLOW for a number beyond 64 bits; RLO_UNSUPPORTED
 *         for what is no array (rlo_shape_tree_parse reads it), for a physical
 *         shape, for a text beyond RLO_TEXT_MAX_BYTES and for too many
 *         dimensions, tiles or cut points; or what
 *         rlo_shape_validate_unbounded returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_parse(const char *text, size_t text_bytes,
                                                 rlo_shape *out_shape);

/** Parse only the part in braces, `{...}`, for arrays of this type and these
 *  dimensions, which may be RLO_DIM_UNBOUNDED; everything else as
 *  rlo_shape_parse. "{}" is a scalar's. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_parse(const char *text, size_t text_bytes,
                                                  rlo_dtype dtype, const int64_t *dims,
                                                  int32_t rank, rlo_layout *out_layout);

/**
 * Print a shape so that rlo_shape_parse reads it back: snprintf rules.
 *
 * @param buffer  room for `capacity` bytes, terminated if capacity > 0; may be
 *                NULL if capacity is 0.
 * @return the length of the whole text without terminator, whatever fits.
 */
RLO_API size_t rlo_shape_format(const rlo_shape *shape, char *buffer, size_t capacity);

/** Print the part in braces; "{}" for a scalar's. Rules as above. */
RLO_API size_t rlo_layout_format(const rlo_layout *layout, int32_t rank, char *buffer,
                                 size_t capacity);

/** Like rlo_shape_format without the layout, XLA's HumanString: "f32[2,<=3]".
 */
RLO_API size_t rlo_shape_human_string(const rlo_shape *shape, char *buffer, size_t capacity);

RLO_END_DECLS

#endif
