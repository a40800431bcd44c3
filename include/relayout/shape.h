/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_SHAPE_H
#define RELAYOUT_SHAPE_H

#include "relayout/layout.h"

RLO_BEGIN_DECLS

/** Size of an unbounded dimension: the `?` of the text form. */
#define RLO_DIM_UNBOUNDED INT64_MIN

/**
 * An array's element type, logical dimensions and layout. A plain value of
 * about 5 KiB without heap parts: copy it by assignment, pass it by pointer.
 *
 * The size of a dynamic dimension is its bound; all sizes and indices are those
 * of the array that fills its bounds. A shape with RLO_DIM_UNBOUNDED has none:
 * rlo_shape_validate returns RLO_UNSUPPORTED.
 */
typedef struct rlo_shape {
  rlo_dtype dtype;
  int32_t rank;
  int64_t dims[RLO_MAX_RANK];
  rlo_layout layout;
  /** Stored and compared: dimension k may be shorter at run time. */
  bool is_dynamic[RLO_MAX_RANK];
} rlo_shape;

/** The sizes of a shape's physical memory. */
typedef struct rlo_shape_extent {
  /** Logical elements: the product of the dimensions (1 for a scalar). */
  int64_t elements;
  /** Physical positions, padding included; for a strided layout the furthest
   *  element's position + 1 (0 without elements). */
  int64_t slots;
  /** Bits of one element in memory. */
  int64_t element_bits;
  /** ceil(elements * element_bits / 8). */
  int64_t bytes;
  /** ceil(slots * element_bits / 8): the size of a buffer. */
  int64_t physical_bytes;
} rlo_shape_extent;

/**
 * Creates a shape on the heap, of rank 0 and without a type, for callers that
 * do not know the size of the struct: bindings of other languages.
 * rlo_shape_parse, rlo_shape_make and the like fill it.
 * @param out_shape  the caller's: rlo_shape_release. On failure NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL; RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_create(rlo_shape **out_shape);

/** Frees a shape of rlo_shape_create; NULL is legal. */
RLO_API void rlo_shape_release(rlo_shape *shape);

/** Makes a row-major shape.
 *  @param dims  `rank` sizes >= 0, copied; NULL only for rank 0.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for an invalid dtype or a negative
 *          dimension; RLO_UNSUPPORTED for a rank above RLO_MAX_RANK;
 *          RLO_OVERFLOW if its bits do not fit in 64 bits. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_make(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                                                rlo_shape *out_shape);

/** Like rlo_shape_make, with a layout (copied), which is validated. An element
 *  size that is the type's own becomes 0, so that equal shapes are equal. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_make_with_layout(rlo_dtype dtype, const int64_t *dims,
                                                            int32_t rank, const rlo_layout *layout,
                                                            rlo_shape *out_shape);

/** Checks every rule of shapes and layouts, sizes included. RLO_OK means that
 *  every other function here accepts the shape. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_validate(const rlo_shape *shape);

/**
 * Makes a row-major shape with dynamic dimensions.
 *
 * @param dims  `rank` bounds >= 0, or RLO_DIM_UNBOUNDED; copied.
 * @param is_dynamic  `rank` flags, copied; NULL: only unbounded dimensions are
 *                    dynamic.
 * @return as rlo_shape_make; RLO_INVALID_ARGUMENT for an unbounded dimension
 *         whose flag is false.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_make_dynamic(rlo_dtype dtype, const int64_t *dims,
                                                        const bool *is_dynamic, int32_t rank,
                                                        rlo_shape *out_shape);

/** Like rlo_shape_validate, but dynamic dimensions may be unbounded (unless a
 *  dense layout pads them). Sizes are not checked then. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_validate_unbounded(const rlo_shape *shape);

/** True if some dimension is RLO_DIM_UNBOUNDED. */
RLO_API bool rlo_shape_is_unbounded(const rlo_shape *shape);

/** Gives the exact sizes of a shape.
 *  @return RLO_OK; the statuses of rlo_shape_validate. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_measure(const rlo_shape *shape,
                                                   rlo_shape_extent *out_extent);

/** Lists the physical dimensions, major to minor: after padding, ordering and
 *  tiles, before tail alignment.
 *  @param out_dims   room for `capacity` sizes.
 *  @param out_count  the number of physical dimensions.
 *  @return RLO_OK; RLO_OUT_OF_RANGE if *out_count is above `capacity`, and
 *          nothing else is written; RLO_UNSUPPORTED for a strided layout; the
 *          statuses of rlo_shape_validate. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_physical_dims(const rlo_shape *shape, int64_t *out_dims,
                                                         int32_t capacity, int32_t *out_count);

/** True for the same type, rank, dimensions, dynamic dimensions and layout
 *  (rlo_layout_equal). compare.h has other comparisons. */
RLO_API bool rlo_shape_equal(const rlo_shape *a, const rlo_shape *b);

/** True for the same type, rank and dimensions, regardless of layouts and of
 *  which dimensions are dynamic. */
RLO_API bool rlo_shape_compatible(const rlo_shape *a, const rlo_shape *b);

/** Gives the raw bits of the fill of a shape's layout in out_bits[0..16), zero-
 *  extended. *out_known is false if a relayout does not write slots without
 *  element.
 *  @return RLO_OK; RLO_UNSUPPORTED if the type lacks the value. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_fill_bits(const rlo_shape *shape, uint8_t out_bits[16],
                                                     bool *out_known);

RLO_END_DECLS

#endif
