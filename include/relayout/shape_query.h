/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_SHAPE_QUERY_H
#define RELAYOUT_SHAPE_QUERY_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * Questions about shapes. Functions that return a status return RLO_OK or what
 * rlo_shape_validate says of the shape, beside what is said of each; the others
 * take the shape to be valid, or valid but for unbounded dimensions. All are
 * pure and safe from any thread.
 */

/** XLA's ElementsIn: the product of the dimensions, 1 for a scalar. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_elements_in(const rlo_shape *shape,
                                                       int64_t *out_elements);

/** True if some dimension has size 0. */
RLO_API bool rlo_shape_is_zero_element_array(const rlo_shape *shape);

/** XLA's ByteSizeOf and ByteSizeOfElements: the elements alone, without
 *  padding, in whole bytes together. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_byte_size(const rlo_shape *shape,
                                                     int64_t *out_bytes);

/** XLA's ArraySize: what a buffer must hold, with padding, tiles and tail. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_array_size(const rlo_shape *shape,
                                                      int64_t *out_bytes);

/**
 * XLA's ArrayDataSize: the bytes up to the end of the last element in memory;
 * 0 without elements. Finds that element without looking at all of them.
 * @return also RLO_UNSUPPORTED where tiles that do not divide one another hide
 *         it among too many candidates.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_array_data_size(const rlo_shape *shape, int64_t *out_bytes);

/** XLA's ElementSizeInBits: of the layout, or else of the type. */
RLO_API int64_t rlo_shape_element_size_bits(const rlo_shape *shape);

/** XLA's TrueNumDimensions: dimensions of a size other than 1 (0 counts). */
RLO_API int32_t rlo_shape_true_rank(const rlo_shape *shape);

/** Rank 0. */
RLO_API bool rlo_shape_is_scalar(const rlo_shape *shape);

/** No dimension of a size other than 1. */
RLO_API bool rlo_shape_is_effective_scalar(const rlo_shape *shape);

/** XLA's GetDimensionNumber: the number in [0, rank) that `number` stands for,
 *  where -1 is the last dimension.
 *  @return RLO_OK; RLO_OUT_OF_RANGE outside [-rank, rank). */
RLO_API RLO_NODISCARD rlo_status rlo_shape_dimension_number(
    const rlo_shape *shape, int32_t number, int32_t *out_dimension);

/** XLA's GetDimension: the size of that dimension. Errors as above. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_dimension(const rlo_shape *shape,
                                                     int32_t number,
                                                     int64_t *out_size);

/**
 * XLA's IsEffectivelyMostMajorDimension: the array could be cut along dimension
 * `dimension` into pieces that lie one after another, because
 *
 *   i[dimension] < j[dimension]   implies   slot(i) < slot(j)
 *
 * for all indices i and j. Tiles count as what they do. True for size 1.
 * @return also RLO_OUT_OF_RANGE for a dimension outside [0, rank);
 *         RLO_UNSUPPORTED where tiles combine it with another one and that does
 *         not come to strides.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_is_effectively_most_major(
    const rlo_shape *shape, int32_t dimension, bool *out_answer);

/** XLA's LastDimIsMinorMost: the first of minor_to_major is the last dimension;
 *  for a strided layout, its stride is 1. True for rank 0. */
RLO_API bool rlo_shape_last_dim_is_minor_most(const rlo_shape *shape);

/** XLA's DynamicArrayShapeIsCompatible: same type and rank, and an array of the
 *  sizes of `actual` fits the bounds. */
RLO_API bool rlo_shape_fits_bounds(const rlo_shape *actual,
                                   const rlo_shape *bounds);

RLO_END_DECLS

#endif
