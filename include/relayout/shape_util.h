/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_SHAPE_UTIL_H
#define RELAYOUT_SHAPE_UTIL_H

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

/**
 * The same dimensions with another element type or layout. out_shape may be the
 * shape converted. Each returns RLO_OK or what rlo_shape_validate_unbounded
 * says of the shape before or after; on failure *out_shape is unchanged.
 * Threads: safe (pure).
 */

/**
 * XLA's ChangeElementType: another element type in the same layout. The element
 * size becomes the type's own, but elements of less than a byte that are packed
 * stay packed if the new ones are of less than a byte too.
 * @return also RLO_INVALID_ARGUMENT or RLO_UNSUPPORTED for a fill that the new
 *         type cannot hold.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_change_dtype(const rlo_shape *shape,
                                                        rlo_dtype dtype,
                                                        rlo_shape *out_shape);

/** XLA's UpdateElementSizeInBits: with `pack`, elements of less than a byte
 *  take the bits of their value; all others, and without it all, the type's
 *  own size. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_update_element_size(
    const rlo_shape *shape, bool pack, rlo_shape *out_shape);

/** XLA's DeviceShapeToHostShape: dense in the same order (a view: by falling
 *  size of its strides), without padding, tiles, tail, element size, memory
 *  space, splits and metadata prefix. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_device_to_host(const rlo_shape *shape, rlo_shape *out_shape);

/** XLA's DeviceShapeIsHostShape: rlo_shape_device_to_host changes nothing. */
RLO_API bool rlo_shape_device_is_host(const rlo_shape *shape);

/** XLA's ShapeWithoutPadding (2017): without padded dimensions; tiles and tail
 *  stay. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_without_padding(const rlo_shape *shape, rlo_shape *out_shape);

/** XLA's GetWithDefaultLayout: row-major, all else of the layout dropped. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_with_default_layout(const rlo_shape *shape, rlo_shape *out_shape);

/** XLA's CopyLayoutBetweenShapes: in the layout of another shape.
 *  @return also RLO_INVALID_ARGUMENT for different ranks. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_with_layout_of(
    const rlo_shape *shape, const rlo_shape *layout_of, rlo_shape *out_shape);

/** XLA's MakeStaticShape: each dimension of the size of its bound, none
 *  dynamic. @return also RLO_UNSUPPORTED if one has no bound. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_make_static(const rlo_shape *shape,
                                                       rlo_shape *out_shape);

/**
 * How the dimensions of a reshape, and of a transpose, belong together. These
 * are questions about sizes; bitcast.h knows layouts. All functions are pure
 * and safe from any thread. Sizes are >= 0, ranks at most RLO_MAX_RANK, lists
 * borrowed; NULL only for rank 0. Those that return a status return RLO_OK;
 * RLO_INVALID_ARGUMENT for a negative size or lists of different products;
 * RLO_UNSUPPORTED for a rank above RLO_MAX_RANK; RLO_OVERFLOW for a product
 * beyond 64 bits.
 */

/** Places in two lists of sizes: `from` sizes of the one and `to` of the other
 *  have the same product. */
typedef struct rlo_common_factor {
  int32_t from;
  int32_t to;
} rlo_common_factor;

/** Most entries of rlo_common_factors: ranks of both lists, and one. */
#define RLO_MAX_COMMON_FACTORS (2 * RLO_MAX_RANK + 1)

/**
 * XLA's CommonFactors: the finest way to cut two lists of sizes into groups of
 * equal products. Begins with {0, 0} and ends with both ranks; each step takes
 * the least sizes that make the products equal again, a size of 1 alone. Lists
 * of product 0 are one group, unless they are equal.
 * @param out_bounds  room for RLO_MAX_COMMON_FACTORS.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_common_factors(const int64_t *from,
                   int32_t from_rank,
                   const int64_t *to,
                   int32_t to_rank,
                   rlo_common_factor *out_bounds,
                   int32_t *out_count);

/** A dimension of the one list and its place in the other. */
typedef struct rlo_dimension_pair {
  int32_t from;
  int32_t to;
} rlo_dimension_pair;

/** XLA's DimensionsUnmodifiedByReshape: the dimensions that a reshape keeps, in
 *  rising order: groups of one and one above.
 *  @param out_pairs  room for RLO_MAX_RANK. */
RLO_API RLO_NODISCARD rlo_status
rlo_reshape_unmodified_dims(const int64_t *from,
                            int32_t from_rank,
                            const int64_t *to,
                            int32_t to_rank,
                            rlo_dimension_pair *out_pairs,
                            int32_t *out_count);

/** XLA's ReshapeLeavesDimensionsUnmodified: whether a reshape keeps these
 *  dimensions of `from`, and where they are in `to`.
 *  @param dims  `count` dimensions in rising order.
 *  @param out_to_dims  room for `count`, written only if *out_are_kept.
 *  @return also RLO_OUT_OF_RANGE for a dimension outside [0, from_rank). */
RLO_API RLO_NODISCARD rlo_status
rlo_reshape_leaves_dims_unmodified(const int64_t *from,
                                   int32_t from_rank,
                                   const int64_t *to,
                                   int32_t to_rank,
                                   const int32_t *dims,
                                   int32_t count,
                                   bool *out_are_kept,
                                   int32_t *out_to_dims);

/** What a reshape does that only deletes and inserts dimensions of size 1. */
typedef struct rlo_reshape_ones {
  /** It does nothing else; without that the lists are empty. */
  bool is_only_ones;
  int32_t num_deleted;
  int32_t num_inserted;
  /** Dimensions of `from`, and of `to`, in rising order. */
  int32_t deleted[RLO_MAX_RANK];
  int32_t inserted[RLO_MAX_RANK];
} rlo_reshape_ones;

/** XLA's InsertedOrDeleted1SizedDimensions. */
RLO_API RLO_NODISCARD rlo_status
rlo_reshape_inserted_or_deleted_ones(const int64_t *from,
                                     int32_t from_rank,
                                     const int64_t *to,
                                     int32_t to_rank,
                                     rlo_reshape_ones *out_ones);

/** A transpose with as few dimensions as say the same. */
typedef struct rlo_normalized_transpose {
  int32_t rank;
  /** Of the result of the transpose. */
  int64_t dims[RLO_MAX_RANK];
  /** dims[k] is dimension permutation[k] of its operand. */
  int32_t permutation[RLO_MAX_RANK];
} rlo_normalized_transpose;

/**
 * XLA's GetNormalizedLogicalTransposeShape: drop dimensions of size 1 and merge
 * those that stay side by side. One dimension at least is left, of size 1 for a
 * single element. Arrays without elements become the one dimension 0.
 *
 * @param shape  the operand, in a layout {rank-1,...,0} (padding and tiles
 *               refused with RLO_UNSUPPORTED, as any other order).
 * @param permutation  result dimension k is operand dimension permutation[k].
 * @return also RLO_INVALID_ARGUMENT for a permutation that is none; what
 *         rlo_shape_validate says of the shape.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_transpose_normalize(const rlo_shape *shape,
                        const int32_t *permutation,
                        rlo_normalized_transpose *out_normalized);

/** What of a layout takes slots for itself. */
typedef enum rlo_cost_kind {
  /** One dimension, or several that a tile's `*` merges. */
  RLO_COST_DIMENSIONS = 0,
  /** A dimension of 1 that a tile longer than the array puts before it. */
  RLO_COST_ADDED = 1,
  /** The tail alignment. */
  RLO_COST_TAIL = 2
} rlo_cost_kind;

/** One factor of the slots: `elements` of `slots` positions are used. */
typedef struct rlo_cost_part {
  rlo_cost_kind kind;
  /** RLO_COST_DIMENSIONS: bit k stands for dimension k; else 0. */
  uint32_t dimensions;
  /** The sizes of the dimensions, multiplied; 1 of one that is added; the
   *  slots before the tail. */
  int64_t elements;
  /** What these become by padding and tiles; the slots with the tail. */
  int64_t slots;
} rlo_cost_part;

/** Most parts of a cost. */
#define RLO_COST_MAX_PARTS \
  (RLO_MAX_RANK + RLO_MAX_TILES * RLO_MAX_TILE_RANK + 1)

/**
 * Where the slots of a layout come from. For a dense layout exactly
 *
 *   elements / slots = product over the parts of elements / slots
 *
 * (unless there are no slots), and the parts stand with the most wasteful
 * first: the first one is to blame, if its slots are more than its elements.
 */
typedef struct rlo_shape_cost {
  int64_t elements;
  int64_t slots;
  /** 0 for a strided layout: what lies between its elements may belong to
   *  others. */
  int32_t num_parts;
  rlo_cost_part parts[RLO_COST_MAX_PARTS];
} rlo_shape_cost;

/**
 * Predict what memory a layout costs and which dimension is to blame.
 *
 * bf16[4,2]{1,0:T(8,128)(2,1)} takes 1024 slots for 8 elements, because
 * dimension 1 is 2 of 128 and dimension 0 is 4 of 8: two parts. A tail is a
 * part only where there is a tail alignment. Of equally wasteful parts the one
 * with the lowest dimension stands first, added ones after all of these, then
 * the tail.
 *
 * @return RLO_OK; what rlo_shape_validate says; or RLO_OVERFLOW where an empty
 *         array has a dimension so large that its own positions leave int64.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_predict_cost(const rlo_shape *shape, rlo_shape_cost *out_cost);

RLO_END_DECLS

#endif
