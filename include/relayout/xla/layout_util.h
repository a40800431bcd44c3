/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_LAYOUT_UTIL_H
#define RELAYOUT_XLA_LAYOUT_UTIL_H

#include "relayout/compare.h"
#include "relayout/permutation.h"
#include "relayout/shape.h"
#include "relayout/strides.h"

RLO_BEGIN_DECLS

/**
 * Properties of layouts, and edits. `rank` is that of the arrays, at most
 * RLO_MAX_RANK; layouts must be valid. All functions are pure and safe from any
 * thread. A logical dimension may be given from the end, -1 the last, where the
 * rank is known; minor_to_major and what else counts physical dimensions holds
 * 0 .. rank-1 only, as in XLA.
 */

/** Makes a dense layout from the order of its dimensions, major to minor
 * (copied; NULL only for rank 0). @return as rlo_layout_from_minor_to_major. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_from_major_to_minor(const int32_t *major_to_minor,
                                                                int32_t rank,
                                                                rlo_layout *out_layout);

/** XLA's HasDescendingLayout and IsMonotonicWithDim0Major: minor_to_major is
 *  {rank-1,...,0}, whatever the padding and the tiles. False if strided. */
RLO_API bool rlo_layout_is_monotonic_dim0_major(const rlo_layout *layout, int32_t rank);

/** XLA's HasAscendingLayout and IsMonotonicWithDim0Minor: {0,...,rank-1}. */
RLO_API bool rlo_layout_is_monotonic_dim0_minor(const rlo_layout *layout, int32_t rank);

/** Returns the logical dimension at physical index k, counted from the most
 * minor one; -1 outside [0, rank) and for a strided layout. */
RLO_API int32_t rlo_layout_minor(const rlo_layout *layout, int32_t rank, int32_t k);

/** The same, counted from the most major dimension. */
RLO_API int32_t rlo_layout_major(const rlo_layout *layout, int32_t rank, int32_t k);

/** XLA's MakeLogicalToPhysical: out_physical[k] is the physical index of
 * logical dimension k; 0 is the most major one.
 *  @return RLO_OK; RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_logical_to_physical(const rlo_layout *layout,
                                                                int32_t rank,
                                                                int32_t *out_physical);

/** Returns whether the `count` different dimensions are consecutive in
 *  minor_to_major, in any order. True for none; false if strided. */
RLO_API bool rlo_layout_are_dims_consecutive(const rlo_layout *layout, int32_t rank,
                                             const int32_t *dims, int32_t count);

/** Makes a dimension the physically most major one. The others keep their
 * order, and splits stay with their dimension.
 *  @return RLO_OK; RLO_OUT_OF_RANGE if there is no such dimension;
 *          RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_move_dim_to_major(rlo_layout *layout, int32_t rank,
                                                              int32_t dim);

/** Makes a dimension the physically most minor one; as above. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_move_dim_to_minor(rlo_layout *layout, int32_t rank,
                                                              int32_t dim);

/**
 * XLA's Layout::DeleteDimension: deletes dimension `dim` with its padding, its
 * splits and the entries of tiles that cover it; the other dimensions keep
 * their order. rlo_shape_delete_dims also keeps the positions of elements if
 * the dimension has size 1.
 * @return RLO_OK; RLO_OUT_OF_RANGE if there is no such dimension.
 */
RLO_API RLO_NODISCARD rlo_status rlo_layout_delete_dim(const rlo_layout *layout, int32_t rank,
                                                       int32_t dim, rlo_layout *out_layout);

/** Deletes all tiles. */
RLO_API void rlo_layout_clear_tiles(rlo_layout *layout);

/** Returns whether the layout has an element size of its own. */
RLO_API bool rlo_layout_has_custom_element_size(const rlo_layout *layout);

/** XLA's IsPadded: whether a dimension is padded to more than its size.
 *  @param dims  `rank` sizes, borrowed. */
RLO_API bool rlo_layout_is_padded(const rlo_layout *layout, const int64_t *dims, int32_t rank);

/** XLA's PaddedDimension: returns the width of dimension k in [0, rank), its
 * size if it is not padded. */
RLO_API int64_t rlo_layout_padded_dimension(const rlo_layout *layout, const int64_t *dims,
                                            int32_t k);

/** Returns the splits of physical dimension `dimension`, borrowed from the
 *  layout; NULL if it has none. */
RLO_API const rlo_split_config *rlo_layout_split_config(const rlo_layout *layout,
                                                        int32_t dimension);

/** XLA's MaxSplitSize: returns the size of the largest piece into which logical
 *  dimension k, in [-rank, rank), is split; its own size if it is not; 0 for
 *  another k. */
RLO_API int64_t rlo_layout_max_split_size(const rlo_layout *layout, const int64_t *dims,
                                          int32_t rank, int32_t k);

/** XLA's MaxElementsInPerSplit: gives the product of the largest pieces.
 *  @return RLO_OK; RLO_OVERFLOW. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_max_elements_per_split(const rlo_layout *layout,
                                                                   const int64_t *dims,
                                                                   int32_t rank,
                                                                   int64_t *out_elems);

/** XLA's ByteStridesIsMajorToMinor: whether the strides are those of a
 * row-major array of this type without padding. Dimensions of size 1 are
 * compared too.
 *  @param strides_bytes, dims  `rank` entries, borrowed. */
RLO_API bool rlo_byte_strides_is_major_to_minor(const int64_t *strides_bytes, const int64_t *dims,
                                                int32_t rank, rlo_dtype dtype);

/**
 * Finds the strides of a shape, if it has strides:
 *
 *   slot(index) == *out_offset_elems + sum over k of index[k] * strides[k]
 *
 * These are all strided layouts, all dense ones without tiles, and those whose
 * tiles do not change the positions. Strides and offset of an array without
 * elements are 0. The stride of a dimension of size 1 is arbitrary.
 *
 * @param out_is_strided     whether the shape has strides.
 * @param out_strides_elems  room for `rank` strides; unchanged, like
 *                           *out_offset_elems, if the shape has none.
 * @return RLO_OK; RLO_UNSUPPORTED, as in bitcast.h; RLO_OUT_OF_MEMORY; the
 *         statuses of rlo_shape_measure.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_strides(const rlo_shape *shape, bool *out_is_strided,
                                                   int64_t *out_strides_elems,
                                                   int64_t *out_offset_elems);

/**
 * rlo_shape_strides for callers that require strides.
 *
 * @return also RLO_UNSUPPORTED if the shape has no strides. On failure nothing
 *         is written.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_to_strides(const rlo_shape *shape,
                                                      int64_t *out_strides_elems,
                                                      int64_t *out_offset_elems);

/** XLA's ByteStrides: rlo_shape_strides in bytes. *out_is_strided is also
 *  false if the element size is not a whole number of bytes. Without offset. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_byte_strides(const rlo_shape *shape,
                                                        bool *out_is_strided, int64_t *out_bytes);

/** XLA's UnpackedByteStrides: as rlo_shape_byte_strides, with elements of
 *  the size of their type, whatever the layout's element size is. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_unpacked_byte_strides(const rlo_shape *shape,
                                                                 bool *out_is_strided,
                                                                 int64_t *out_bytes);

RLO_END_DECLS

#endif
