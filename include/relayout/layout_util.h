/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_LAYOUT_UTIL_H
#define RELAYOUT_LAYOUT_UTIL_H

#include <stdbool.h>

#include "relayout/layout.h"
#include "relayout/shape.h"
#include "relayout/status.h"

RLO_BEGIN_DECLS

/**
 * Permutations of 0 .. size-1 as plain int32 arrays. A size of 0 is legal and
 * its array may be NULL. All functions are pure and safe from any thread.
 */

/** True if p holds each of 0 .. size-1 once. */
RLO_API bool rlo_permutation_is_valid(const int32_t *p, int32_t size);

/**
 * RLO_OK if p is a permutation; else RLO_INVALID_ARGUMENT with a sentence that
 * names the entry at fault ("permutation[2]=5 is out of range for rank 3").
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_validate(const int32_t *p,
                                                          int32_t size);

/** True if p[i] == i for every i. */
RLO_API bool rlo_permutation_is_identity(const int32_t *p, int32_t size);

/** out[p[i]] = i. `out` may not alias p. Requires a valid p. */
RLO_API void rlo_permutation_inverse(const int32_t *p,
                                     int32_t size,
                                     int32_t *out);

/** out[i] = first[second[i]]. `out` may not alias its inputs. */
RLO_API void rlo_permutation_compose(const int32_t *first,
                                     const int32_t *second,
                                     int32_t size,
                                     int32_t *out);

/** out[i] = in[p[i]]: NumPy's transpose applied to a list of dimensions. */
RLO_API void rlo_permutation_apply(const int32_t *p,
                                   int32_t size,
                                   const int64_t *in,
                                   int64_t *out);

/** out[p[i]] = in[i]: what undoes rlo_permutation_apply. */
RLO_API void rlo_permutation_apply_inverse(const int32_t *p,
                                           int32_t size,
                                           const int64_t *in,
                                           int64_t *out);

/**
 * Take the entry at place `from` out and put it in again at place `to`, in
 * place; the entries between move up by one. 0 1 2 3 4 with 1 -> 3 becomes
 * 0 2 3 1 4. The entries need not be a permutation.
 * @return RLO_OK; RLO_OUT_OF_RANGE, with nothing moved, if a place is not in
 *         [0, size).
 */
RLO_API RLO_NODISCARD rlo_status rlo_permutation_move_element(int32_t *entries,
                                                              int32_t size,
                                                              int32_t from,
                                                              int32_t to);

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

/** For rlo_layout_from_strides: memory goes on for as long as a layout may
 *  want it to. */
#define RLO_AVAILABLE_ALL INT64_MAX
/** It is not known how much memory there is beyond the furthest element. */
#define RLO_AVAILABLE_UNKNOWN (-1)

/**
 * Recognise the layout behind strides, as NumPy, DLPack and PJRT give them.
 * The result puts the elements where the strides do, counted from slot 0:
 *
 *   slot(index) + *out_lowest_elems == sum over k of index[k] * strides[k]
 *
 * - Dimensions that follow each other without gaps, in any order, give a dense
 *   layout with that minor_to_major.
 * - Gaps that are whole multiples, such as rows with a pitch, give a dense
 *   layout with padded_dimensions and RLO_FILL_UNKNOWN, if the memory up to
 *   the end of the padding is there.
 * - All else (reversal, broadcast, overlap, uneven gaps) stays strided.
 *
 * The stride of a dimension of size 1 says nothing: it is passed over, and the
 * dimension goes where it makes minor_to_major row-major, or column-major if
 * only that can be. An array without elements is dense and row-major. A dense
 * result moves the same elements as the strided one; its physical size counts
 * the padding after the last row too.
 *
 * @param dims             `rank` sizes >= 0, borrowed; NULL only for rank 0.
 * @param strides_elems    `rank` distances of neighbours in elements; NULL:
 *                         row-major without gaps.
 * @param available_elems  slots that may be counted as part of the layout, from
 *                         the element 0,...,0 on; RLO_AVAILABLE_UNKNOWN: those
 *                         up to the furthest element only (a view that ends
 *                         inside its last row has no more).
 * @param out_layout       the layout; a strided one has the offset that makes
 *                         its lowest slot 0.
 * @param out_lowest_elems where slot 0 lies from the element 0,...,0: 0, or
 *                         below it where strides are negative.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a negative rank or dimension, NULL
 *         dimensions, or a negative available_elems that is not
 *         RLO_AVAILABLE_UNKNOWN; RLO_UNSUPPORTED beyond RLO_MAX_RANK;
 *         RLO_OVERFLOW where positions leave int64; RLO_OUT_OF_RANGE if an
 *         element lies beyond available_elems. On failure nothing is written.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_layout_from_strides(const int64_t *dims,
                        const int64_t *strides_elems,
                        int32_t rank,
                        int64_t available_elems,
                        rlo_layout *out_layout,
                        int64_t *out_lowest_elems);

/**
 * The strides of a shape, if it has some:
 *
 *   slot(index) == *out_offset_elems + sum over k of index[k] * strides[k]
 *
 * That is every strided layout, every dense one without tiles, and those whose
 * tiles, padding and combined dimensions come to no more. In an array without
 * elements there is nothing to step to: strides and offset are 0.
 *
 * @param out_is_strided     whether it has.
 * @param out_strides_elems  room for the rank of the shape; untouched if it has
 *                           none, as *out_offset_elems.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_shape_measure says.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_strides(const rlo_shape *shape,
                                                   bool *out_is_strided,
                                                   int64_t *out_strides_elems,
                                                   int64_t *out_offset_elems);

/**
 * rlo_shape_strides for callers to whom only strides will do.
 *
 * @return also RLO_UNSUPPORTED where tiles leave no such strides. On failure
 *         nothing is written.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_to_strides(const rlo_shape *shape,
                     int64_t *out_strides_elems,
                     int64_t *out_offset_elems);

/** XLA's ByteStrides: rlo_shape_strides in bytes. Not strided either where the
 *  element size is no whole number of bytes. The offset is left out. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_byte_strides(const rlo_shape *shape,
                                                        bool *out_is_strided,
                                                        int64_t *out_bytes);

/** XLA's UnpackedByteStrides: as rlo_shape_byte_strides, as if each element
 *  took the bytes of its type, whatever the layout's element size. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_unpacked_byte_strides(
    const rlo_shape *shape, bool *out_is_strided, int64_t *out_bytes);

/**
 * What a comparison passes over, as bits of a uint32_t: XLA's builders
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
  /** Shapes only, like all that follow. */
  RLO_EQUAL_IGNORE_LAYOUT = 1 << 10,
  RLO_EQUAL_IGNORE_ELEMENT_TYPE = 1 << 11,
  /** One float type is as good as another. */
  RLO_EQUAL_IGNORE_FP_PRECISION = 1 << 12,
  RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS = 1 << 13,
  /** Their sizes; the rank counts. */
  RLO_EQUAL_IGNORE_DIMENSIONS = 1 << 14
};

/**
 * Compare layouts of arrays of one rank but for what `ignore` names.
 *
 * Spellings of one meaning (tail alignment 0 and 1) are equal; different
 * spellings of one address map (padding and its tile) are not: bitcast.h
 * compares the maps.
 * @param ignore  RLO_EQUAL_* bits; 0 compares everything.
 * Threads: safe (pure).
 */
RLO_API bool rlo_layout_equal_with(const rlo_layout *a,
                                   const rlo_layout *b,
                                   int32_t rank,
                                   uint32_t ignore);

/**
 * Compare shapes but for what `ignore` names. XLA's other comparisons are
 *
 *   CompatibleIgnoringElementType   IGNORE_LAYOUT, DYNAMIC_DIMENSIONS and
 *                                   ELEMENT_TYPE
 *   CompatibleIgnoringFpPrecision   IGNORE_LAYOUT, DYNAMIC_DIMENSIONS and
 *                                   FP_PRECISION
 *   EqualIgnoringElementType        IGNORE_ELEMENT_TYPE
 *   EqualIgnoringFpPrecision        IGNORE_FP_PRECISION
 */
RLO_API bool rlo_shape_equal_with(const rlo_shape *a,
                                  const rlo_shape *b,
                                  uint32_t ignore);

/** Same rank and sizes of dimensions. */
RLO_API bool rlo_shape_same_dims(const rlo_shape *a, const rlo_shape *b);

/** Same type, or both floats. */
RLO_API bool rlo_shape_same_dtype_ignoring_fp_precision(const rlo_shape *a,
                                                        const rlo_shape *b);

/** A 64-bit hash of what rlo_layout_equal compares. */
RLO_API uint64_t rlo_layout_hash(const rlo_layout *layout, int32_t rank);

/** A 64-bit hash of what rlo_shape_equal compares. */
RLO_API uint64_t rlo_shape_hash(const rlo_shape *shape);

RLO_END_DECLS

#endif
