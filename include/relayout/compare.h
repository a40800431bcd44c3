/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_COMPARE_H
#define RELAYOUT_COMPARE_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * The parts that a comparison ignores, as bits of a uint32_t: XLA's builders
 * Layout::Equal and Shape::Equal.
 */
enum {
  RLO_EQUAL_IGNORE_TILES = 1 << 0,
  RLO_EQUAL_IGNORE_TAIL_PADDING = 1 << 1,
  RLO_EQUAL_IGNORE_ELEMENT_SIZE = 1 << 2,
  RLO_EQUAL_IGNORE_MEMORY_SPACE = 1 << 3,
  RLO_EQUAL_IGNORE_SPLIT_CONFIGS = 1 << 4,
  RLO_EQUAL_IGNORE_METADATA_PREFIX = 1 << 5,
  RLO_EQUAL_IGNORE_INDEX_DTYPE = 1 << 6,
  RLO_EQUAL_IGNORE_POINTER_DTYPE = 1 << 7,
  /** The padded dimensions. */
  RLO_EQUAL_IGNORE_PADDING = 1 << 8,
  RLO_EQUAL_IGNORE_FILL = 1 << 9,
  /** Layouts are equal if their minor_to_major are (for strided ones: their
   *  strides): all of the bits above. */
  RLO_EQUAL_MINOR_TO_MAJOR_ONLY = (1 << 10) - 1,
  /** Shapes only, as all below. */
  RLO_EQUAL_IGNORE_LAYOUT = 1 << 10,
  RLO_EQUAL_IGNORE_ELEMENT_TYPE = 1 << 11,
  /** All float types are equal. */
  RLO_EQUAL_IGNORE_FP_PRECISION = 1 << 12,
  RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS = 1 << 13,
  /** The sizes; ranks are compared. */
  RLO_EQUAL_IGNORE_DIMENSIONS = 1 << 14
};

/**
 * Compares layouts of arrays of one rank, except for what `ignore` names.
 *
 * Equivalent values of a field (tail alignment 0 and 1) are equal; different
 * fields for one address map (padding and its tile) are not: bitcast.h compares
 * maps.
 * @param ignore  RLO_EQUAL_* bits; 0 compares everything.
 * Threads: safe (pure).
 */
RLO_API bool rlo_layout_equal_with(const rlo_layout *a, const rlo_layout *b, int32_t rank,
                                   uint32_t ignore);

/**
 * Compares shapes, except for what `ignore` names. XLA's other comparisons are
 *
 *   CompatibleIgnoringElementType   IGNORE_LAYOUT, DYNAMIC_DIMENSIONS and
 *                                   ELEMENT_TYPE
 *   CompatibleIgnoringFpPrecision   IGNORE_LAYOUT, DYNAMIC_DIMENSIONS and
 *                                   FP_PRECISION
 *   EqualIgnoringElementType        IGNORE_ELEMENT_TYPE
 *   EqualIgnoringFpPrecision        IGNORE_FP_PRECISION
 */
RLO_API bool rlo_shape_equal_with(const rlo_shape *a, const rlo_shape *b, uint32_t ignore);

/** True for the same rank and sizes. */
RLO_API bool rlo_shape_same_dims(const rlo_shape *a, const rlo_shape *b);

/** True for the same type, or two float types. */
RLO_API bool rlo_shape_same_dtype_ignoring_fp_precision(const rlo_shape *a, const rlo_shape *b);

/** Returns a 64-bit hash; equal for layouts that are rlo_layout_equal. */
RLO_API uint64_t rlo_layout_hash(const rlo_layout *layout, int32_t rank);

/** Returns a 64-bit hash; equal for shapes that are rlo_shape_equal. */
RLO_API uint64_t rlo_shape_hash(const rlo_shape *shape);

RLO_END_DECLS

#endif
