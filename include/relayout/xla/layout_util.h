/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_LAYOUT_UTIL_H
#define RELAYOUT_XLA_LAYOUT_UTIL_H

#include <stdbool.h>

#include "relayout/layout.h"
#include "relayout/shape.h"
#include "relayout/status.h"

RLO_BEGIN_DECLS

/**
 * Permutations of 0 .. size-1 as plain int32 arrays. A size of 0 is legal and
 * its array may be NULL. All functions are pure and safe from any thread.
 *
 * Functions elsewhere that take the permutation of an array's dimensions also
 * take entries that count from the end, -1 the last. Those in this section take
 * 0 .. size-1 only, but for rlo_permutation_normalize, which converts.
 */

/** True if p holds each of 0 .. size-1 once. */
RLO_API bool rlo_permutation_is_valid(const int32_t *p, int32_t size);

/**
 * Checks that p is a permutation.
 * @return RLO_OK; RLO_INVALID_ARGUMENT with a message that names the bad entry
 *         ("permutation[2]=5 is out of range for rank 3").
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_validate(const int32_t *p, int32_t size);

/**
 * Converts entries that count from the end: -1 becomes size-1, and so on.
 * @param out  `size` entries, a permutation of 0 .. size-1; may not alias p.
 *             Unspecified on failure.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for an entry outside [-size, size), or
 *         two that are the same dimension, with a message that names them
 *         ("permutation[0]=2 and permutation[2]=-1 ...").
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_normalize(const int32_t *p, int32_t size,
                                                           int32_t *out);

/** True if p[i] == i for every i. */
RLO_API bool rlo_permutation_is_identity(const int32_t *p, int32_t size);

/** out[p[i]] = i. `out` may not alias p. Requires a valid p. */
RLO_API void rlo_permutation_inverse(const int32_t *p, int32_t size, int32_t *out);

/** out[i] = first[second[i]]. `out` may not alias its inputs. */
RLO_API void rlo_permutation_compose(const int32_t *first, const int32_t *second, int32_t size,
                                     int32_t *out);

/** out[i] = in[p[i]]: NumPy's transpose applied to a list of dimensions. */
RLO_API void rlo_permutation_apply(const int32_t *p, int32_t size, const int64_t *in, int64_t *out);

/** out[p[i]] = in[i]: the inverse of rlo_permutation_apply. */
RLO_API void rlo_permutation_apply_inverse(const int32_t *p, int32_t size, const int64_t *in,
                                           int64_t *out);

/**
 * Moves the entry at index `from` to index `to`, in place; the entries between
 * shift by one. 0 1 2 3 4 with 1 -> 3 becomes 0 2 3 1 4. The entries need not
 * be a permutation.
 * @return RLO_OK; RLO_OUT_OF_RANGE, with nothing moved, for an index outside
 *         [0, size).
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_move_element(int32_t *entries, int32_t size,
                                                              int32_t from, int32_t to);

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

/** For rlo_layout_from_strides: the memory has no end. */
#define RLO_AVAILABLE_ALL INT64_MAX
/** For rlo_layout_from_strides: the memory beyond the furthest element is
 *  unknown. */
#define RLO_AVAILABLE_UNKNOWN (-1)

/**
 * Finds the layout of strides, as NumPy, DLPack and PJRT have them. The
 * positions are those of the strides, counted from slot 0:
 *
 *   slot(index) + *out_lowest_elems == sum over k of index[k] * strides[k]
 *
 * - Dimensions without gaps between them, in any order, give a dense layout
 * with that minor_to_major.
 * - Gaps of whole multiples, such as rows with a pitch, give a dense layout
 * with padded_dimensions and RLO_FILL_UNKNOWN, if the memory reaches to the end
 * of the padding.
 * - Others (reversal, broadcast, overlap, uneven gaps) give a strided layout.
 *
 * The stride of a dimension of size 1 is ignored; the dimension is placed so
 * that minor_to_major is row-major or, if it cannot be, column-major. An array
 * without elements is dense and row-major. A dense result has the same elements
 * as a strided one; its physical size includes the padding after the last row.
 *
 * @param dims             `rank` sizes >= 0, borrowed; NULL only for rank 0.
 * @param strides_elems    `rank` distances between neighbours in elements;
 *                         NULL: row-major without gaps.
 * @param available_elems  slots of the memory, from element 0,...,0 on;
 *                         RLO_AVAILABLE_UNKNOWN: those up to the furthest
 *                         element (a view may end inside its last row).
 * @param out_layout       the layout; a strided one has the offset that makes
 *                         its lowest slot 0.
 * @param out_lowest_elems position of slot 0 relative to element 0,...,0: 0, or
 *                         negative if a stride is.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a negative rank or dimension, NULL
 *         dimensions, or a negative available_elems that is not
 *         RLO_AVAILABLE_UNKNOWN; RLO_UNSUPPORTED beyond RLO_MAX_RANK;
 *         RLO_OVERFLOW if positions do not fit in 64 bits; RLO_OUT_OF_RANGE if
 *         an element is beyond available_elems. On failure nothing is written.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_layout_from_strides(const int64_t *dims,
                                                         const int64_t *strides_elems, int32_t rank,
                                                         int64_t available_elems,
                                                         rlo_layout *out_layout,
                                                         int64_t *out_lowest_elems);

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
