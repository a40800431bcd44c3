/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_LAYOUT_EDIT_H
#define RELAYOUT_LAYOUT_EDIT_H

#include "relayout/layout.h"

RLO_BEGIN_DECLS

/**
 * Questions about layouts, and changes of them. `rank` is that of the arrays
 * they belong to, at most RLO_MAX_RANK; layouts are taken to be valid. All
 * functions are pure and safe from any thread.
 */

/** A dense layout from the order of its dimensions, major to minor (copied;
 *  NULL only for rank 0). @return as rlo_layout_from_minor_to_major. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_from_major_to_minor(
    const int32_t *major_to_minor, int32_t rank, rlo_layout *out_layout);

/** XLA's HasDescendingLayout and IsMonotonicWithDim0Major: minor_to_major is
 *  {rank-1,...,0}, whatever the padding and the tiles. False if strided. */
RLO_API bool rlo_layout_is_monotonic_dim0_major(const rlo_layout *layout,
                                                int32_t rank);

/** XLA's HasAscendingLayout and IsMonotonicWithDim0Minor: {0,...,rank-1}. */
RLO_API bool rlo_layout_is_monotonic_dim0_minor(const rlo_layout *layout,
                                                int32_t rank);

/** The logical dimension of physical place k, counted from the most minor one;
 *  -1 outside [0, rank) and for a strided layout. */
RLO_API int32_t rlo_layout_minor(const rlo_layout *layout,
                                 int32_t rank,
                                 int32_t k);

/** The same, counted from the most major place. */
RLO_API int32_t rlo_layout_major(const rlo_layout *layout,
                                 int32_t rank,
                                 int32_t k);

/** XLA's MakeLogicalToPhysical: out_physical[k] is the physical place of
 *  logical dimension k, 0 the most major.
 *  @return RLO_OK; RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_logical_to_physical(
    const rlo_layout *layout, int32_t rank, int32_t *out_physical);

/** The `count` different dimensions are neighbours in minor_to_major, in any
 *  order. True for none; false if strided. */
RLO_API bool rlo_layout_are_dims_consecutive(const rlo_layout *layout,
                                             int32_t rank,
                                             const int32_t *dims,
                                             int32_t count);

/** Make a dimension the physically most major one; the others keep their order,
 *  splits go with their dimension.
 *  @return RLO_OK; RLO_OUT_OF_RANGE if dim is not in [0, rank);
 *          RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status
rlo_layout_move_dim_to_major(rlo_layout *layout, int32_t rank, int32_t dim);

/** Make a dimension the physically most minor one; as above. */
RLO_API RLO_NODISCARD rlo_status
rlo_layout_move_dim_to_minor(rlo_layout *layout, int32_t rank, int32_t dim);

/**
 * XLA's Layout::DeleteDimension: the layout of arrays without dimension `dim`.
 * Its padding, its splits and the entries of tiles that cover it go with it;
 * the other dimensions keep their order. rlo_shape_delete_dims also keeps the
 * positions of elements where the dimension has size 1.
 * @return RLO_OK; RLO_OUT_OF_RANGE if dim is not in [0, rank).
 */
RLO_API RLO_NODISCARD rlo_status rlo_layout_delete_dim(const rlo_layout *layout,
                                                       int32_t rank,
                                                       int32_t dim,
                                                       rlo_layout *out_layout);

/** Take out all tiles. */
RLO_API void rlo_layout_clear_tiles(rlo_layout *layout);

/** The layout says how many bits an element takes. */
RLO_API bool rlo_layout_has_custom_element_size(const rlo_layout *layout);

/** XLA's IsPadded: some dimension is padded to more than its size.
 *  @param dims  `rank` sizes, borrowed. */
RLO_API bool rlo_layout_is_padded(const rlo_layout *layout,
                                  const int64_t *dims,
                                  int32_t rank);

/** XLA's PaddedDimension: the width of dimension k, padded or not; k in
 *  [0, rank). */
RLO_API int64_t rlo_layout_padded_dimension(const rlo_layout *layout,
                                            const int64_t *dims,
                                            int32_t k);

/** The splits of physical dimension `dimension`, borrowed from the layout; NULL
 *  if it has none. */
RLO_API const rlo_split_config *rlo_layout_split_config(
    const rlo_layout *layout, int32_t dimension);

/** XLA's MaxSplitSize: the size of the largest piece into which logical
 *  dimension k, in [0, rank), is split; its own size if it is not. */
RLO_API int64_t rlo_layout_max_split_size(const rlo_layout *layout,
                                          const int64_t *dims,
                                          int32_t rank,
                                          int32_t k);

/** XLA's MaxElementsInPerSplit: the product of the largest pieces.
 *  @return RLO_OK; RLO_OVERFLOW. */
RLO_API RLO_NODISCARD rlo_status
rlo_layout_max_elements_per_split(const rlo_layout *layout,
                                  const int64_t *dims,
                                  int32_t rank,
                                  int64_t *out_elems);

/** XLA's ByteStridesIsMajorToMinor: the strides are those of a row-major array
 *  of this type without padding. Strides of dimensions of size 1 count.
 *  @param strides_bytes, dims  `rank` entries, borrowed. */
RLO_API bool rlo_byte_strides_is_major_to_minor(const int64_t *strides_bytes,
                                                const int64_t *dims,
                                                int32_t rank,
                                                rlo_dtype dtype);

RLO_END_DECLS

#endif
