/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_SHAPE_EDIT_H
#define RELAYOUT_SHAPE_EDIT_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * Edits of a shape's dimensions. Layouts are edited along: orders are
 * renumbered, padded widths and dynamic flags go with their dimension, tiles
 * and splits with the physical dimension they are for. out_shape may be the
 * shape edited. Unbounded dimensions are taken.
 *
 * Each returns RLO_OK; RLO_OUT_OF_RANGE for a dimension that the shape does not
 * have; what rlo_shape_validate_unbounded says of the shape before or after.
 * On failure *out_shape is unchanged. Threads: safe (pure).
 */

/** XLA's PermuteDimensions and ReorderLogicalDimensions: dims[k] becomes
 *  dims[permutation[k]], in the layout that moves no byte. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_permute_dims(
    const rlo_shape *shape, const int32_t *permutation, rlo_shape *out_shape);

/** XLA's PermuteDimensionsIgnoringLayout: the same, but minor_to_major, tiles
 *  and splits stay as they are. RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_permute_dims_ignoring_layout(
    const rlo_shape *shape, const int32_t *permutation, rlo_shape *out_shape);

/**
 * XLA's MakeShapeWithDescendingLayoutAndSamePhysicalLayout: the dimensions in
 * physical order, major to minor, so that the layout is {n-1,...,0} with the
 * same tiles, padding and bytes. A strided layout stays one, with strides of
 * falling size.
 * @param out_permutation  rank entries: dims[k] was dims[out_permutation[k]];
 *                         may be NULL.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_make_descending_with_same_physical_layout(const rlo_shape *shape,
                                                    rlo_shape *out_shape,
                                                    int32_t *out_permutation);

/**
 * XLA's InsertDimensionsAtIndex: new dimensions in front of dimension `at`
 * (== rank: behind all), physically the most major ones, the first of them the
 * most major. Tiles go on to cover the most minor physical dimensions. A
 * strided layout takes dimensions of size 1 only (stride 0), else
 * RLO_UNSUPPORTED. RLO_UNSUPPORTED beyond RLO_MAX_RANK.
 * @param sizes  `count` sizes, borrowed.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_insert_dims(const rlo_shape *shape,
                                                       int32_t at,
                                                       const int64_t *sizes,
                                                       int32_t count,
                                                       rlo_shape *out_shape);

/** XLA's PrependMajorDimension: rlo_shape_insert_dims of one at 0. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_prepend_major_dim(
    const rlo_shape *shape, int64_t size, rlo_shape *out_shape);

/** XLA's AppendMajorDimension: rlo_shape_insert_dims of one at the end. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_append_major_dim(
    const rlo_shape *shape, int64_t size, rlo_shape *out_shape);

/** XLA's AppendMinorDimension: a last dimension that is physically the most
 *  minor one, which the tiles cover from then on. Limits as above. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_append_minor_dim(
    const rlo_shape *shape, int64_t size, rlo_shape *out_shape);

/**
 * XLA's DeleteDimensions: take dimensions out.
 *
 * Of each tile the entries that covered them go too, so that the tiles still
 * cover the dimensions they covered. If all of them have size 1, no byte moves:
 * where a deleted dimension was padded or tiled, tiles may be added that keep
 * the others where they were; RLO_UNSUPPORTED where no tiles can.
 * @param dims  `count` different dimensions, in any order, borrowed.
 * @return also RLO_INVALID_ARGUMENT for a dimension named twice.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_delete_dims(const rlo_shape *shape,
                                                       const int32_t *dims,
                                                       int32_t count,
                                                       rlo_shape *out_shape);

/** XLA's FilterDimensions: take out the dimensions k with !keep[k], as
 *  rlo_shape_delete_dims does. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_filter_dims(const rlo_shape *shape,
                                                       const bool *keep,
                                                       rlo_shape *out_shape);

/** True if some dimension has size 1. */
RLO_API bool rlo_shape_has_degenerate_dims(const rlo_shape *shape);

/** XLA's DropDegenerateDimensions: take out the dimensions of size 1, moving no
 *  byte, as rlo_shape_delete_dims does. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_drop_degenerate_dims(const rlo_shape *shape, rlo_shape *out_shape);

/** XLA's MoveDimToMajor: the same array with dimension `dim` physically the
 *  most major one; everything else of the layout stays. RLO_UNSUPPORTED for a
 *  strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_move_dim_to_major(
    const rlo_shape *shape, int32_t dim, rlo_shape *out_shape);

/** As above, for the most minor one. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_move_dim_to_minor(
    const rlo_shape *shape, int32_t dim, rlo_shape *out_shape);

RLO_END_DECLS

#endif
