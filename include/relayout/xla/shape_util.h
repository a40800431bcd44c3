/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_SHAPE_UTIL_H
#define RELAYOUT_XLA_SHAPE_UTIL_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * Properties of shapes. Functions that return a status return RLO_OK, the
 * statuses of rlo_shape_validate for the shape, and those that they list. The
 * others require a shape that is valid except for unbounded dimensions. All are
 * pure and safe from any thread.
 */

/** XLA's ElementsIn: the product of the dimensions, 1 for a scalar. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_elements_in(const rlo_shape *shape,
                                                       int64_t *out_elements);

/** True if some dimension has size 0. */
RLO_API bool rlo_shape_is_zero_element_array(const rlo_shape *shape);

/** XLA's ByteSizeOf and ByteSizeOfElements: the bytes of all elements, packed,
 *  without padding. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_byte_size(const rlo_shape *shape, int64_t *out_bytes);

/** XLA's ArraySize: the size of a buffer, with padding, tiles and tail. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_array_size(const rlo_shape *shape, int64_t *out_bytes);

/**
 * XLA's ArrayDataSize: the bytes up to the end of the last element in memory;
 * 0 without elements. Does not visit all elements.
 * @return also RLO_UNSUPPORTED if tiles that do not divide one another leave
 * too many candidates for the last element.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_array_data_size(const rlo_shape *shape,
                                                           int64_t *out_bytes);

/** XLA's ElementSizeInBits: the layout's element size, by default the type's.
 */
RLO_API int64_t rlo_shape_element_size_bits(const rlo_shape *shape);

/** XLA's TrueNumDimensions: the number of dimensions of a size other than 1. */
RLO_API int32_t rlo_shape_true_rank(const rlo_shape *shape);

/** True for rank 0. */
RLO_API bool rlo_shape_is_scalar(const rlo_shape *shape);

/** True if all dimensions have size 1. */
RLO_API bool rlo_shape_is_effective_scalar(const rlo_shape *shape);

/** XLA's GetDimensionNumber: converts `number`, in which -1 is the last
 *  dimension, to an index in [0, rank).
 *  @return RLO_OK; RLO_OUT_OF_RANGE outside [-rank, rank). */
RLO_API RLO_NODISCARD rlo_status rlo_shape_dimension_number(const rlo_shape *shape, int32_t number,
                                                            int32_t *out_dimension);

/** XLA's GetDimension: the size of that dimension. Errors as above. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_dimension(const rlo_shape *shape, int32_t number,
                                                     int64_t *out_size);

/**
 * XLA's IsEffectivelyMostMajorDimension: whether slices along `dimension` are
 * consecutive in memory, because
 *
 *   i[dimension] < j[dimension]   implies   slot(i) < slot(j)
 *
 * for all indices i and j. Tiles count by their effect. True for size 1.
 * @return also RLO_OUT_OF_RANGE for a dimension outside [-rank, rank);
 *         RLO_UNSUPPORTED if the shape has no strides and tiles combine the
 *         dimension with another one, or if the product of the sizes by which
 *         they cut it, after which they repeat, is above 2^20.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_is_effectively_most_major(const rlo_shape *shape,
                                                                     int32_t dimension,
                                                                     bool *out_answer);

/** XLA's LastDimIsMinorMost: whether minor_to_major begins with the last
 *  dimension or, if strided, its stride is 1. True for rank 0. */
RLO_API bool rlo_shape_last_dim_is_minor_most(const rlo_shape *shape);

/** XLA's DynamicArrayShapeIsCompatible: whether types and ranks are the same
 * and the sizes of `actual` are within the bounds. */
RLO_API bool rlo_shape_fits_bounds(const rlo_shape *actual, const rlo_shape *bounds);

/**
 * Edits of a shape's dimensions. The layout follows: orders are renumbered,
 * padded widths and dynamic flags stay with their dimension, tiles and splits
 * with their physical dimension. out_shape may alias the input. Dimensions may
 * be unbounded. A dimension may be given from the end, -1 the last.
 *
 * Each returns RLO_OK; RLO_OUT_OF_RANGE for a dimension that the shape does not
 * have; the statuses of rlo_shape_validate_unbounded for the input or the
 * result. On failure *out_shape is unchanged. Threads: safe (pure).
 */

/** XLA's PermuteDimensions and ReorderLogicalDimensions: dims[k] becomes
 *  dims[permutation[k]], and no byte moves. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_permute_dims(const rlo_shape *shape,
                                                        const int32_t *permutation,
                                                        rlo_shape *out_shape);

/** XLA's PermuteDimensionsIgnoringLayout: the same, but minor_to_major, tiles
 *  and splits stay as they are. RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_permute_dims_ignoring_layout(const rlo_shape *shape,
                                                                        const int32_t *permutation,
                                                                        rlo_shape *out_shape);

/**
 * XLA's MakeShapeWithDescendingLayoutAndSamePhysicalLayout: the dimensions in
 * physical order, major to minor, so that the layout is {n-1,...,0} with the
 * same tiles, padding and bytes. A strided layout stays one, with strides of
 * falling size.
 * @param out_permutation  rank entries: dims[k] was dims[out_permutation[k]];
 *                         may be NULL.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_make_descending_with_same_physical_layout(
    const rlo_shape *shape, rlo_shape *out_shape, int32_t *out_permutation);

/**
 * XLA's InsertDimensionsAtIndex: inserts dimensions before dimension `at` (==
 * rank: after all), physically the most major ones, the first of them the most
 * major. Tiles still cover the most minor physical dimensions.
 * @param at     0 .. rank, or from the end: -1 after all, -rank - 1 before all.
 * @param sizes  `count` sizes, borrowed.
 * @return also RLO_UNSUPPORTED beyond RLO_MAX_RANK, or for a strided layout and
 *         a size other than 1.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_insert_dims(const rlo_shape *shape, int32_t at,
                                                       const int64_t *sizes, int32_t count,
                                                       rlo_shape *out_shape);

/** XLA's PrependMajorDimension: rlo_shape_insert_dims of one at 0. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_prepend_major_dim(const rlo_shape *shape, int64_t size,
                                                             rlo_shape *out_shape);

/** XLA's AppendMajorDimension: rlo_shape_insert_dims of one at the end. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_append_major_dim(const rlo_shape *shape, int64_t size,
                                                            rlo_shape *out_shape);

/** XLA's AppendMinorDimension: appends a dimension that is physically the most
 *  minor one, and covered by the tiles. Statuses as above. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_append_minor_dim(const rlo_shape *shape, int64_t size,
                                                            rlo_shape *out_shape);

/**
 * XLA's DeleteDimensions: deletes dimensions.
 *
 * The entries of tiles that cover them are deleted too, so that the tiles cover
 * the other dimensions as before. If all of them have size 1, no byte moves: if
 * a deleted dimension was padded or tiled, tiles may be added that keep the
 * positions of the elements; RLO_UNSUPPORTED if no tiles can.
 * @param dims  `count` different dimensions, in any order, borrowed.
 * @return also RLO_INVALID_ARGUMENT for a dimension named twice, with both
 *         numbers in the message.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_delete_dims(const rlo_shape *shape, const int32_t *dims,
                                                       int32_t count, rlo_shape *out_shape);

/** XLA's FilterDimensions: deletes the dimensions k with !keep[k], as
 *  rlo_shape_delete_dims. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_filter_dims(const rlo_shape *shape, const bool *keep,
                                                       rlo_shape *out_shape);

/** True if some dimension has size 1. */
RLO_API bool rlo_shape_has_degenerate_dims(const rlo_shape *shape);

/** XLA's DropDegenerateDimensions: deletes the dimensions of size 1 and moves
 * no byte, as rlo_shape_delete_dims. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_drop_degenerate_dims(const rlo_shape *shape,
                                                                rlo_shape *out_shape);

/** XLA's MoveDimToMajor: makes dimension `dim` physically the most major one;
 * the rest of the layout stays. RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_move_dim_to_major(const rlo_shape *shape, int32_t dim,
                                                             rlo_shape *out_shape);

/** Makes dimension `dim` physically the most minor one; the rest of the layout
 *  stays. RLO_UNSUPPORTED for a strided layout. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_move_dim_to_minor(const rlo_shape *shape, int32_t dim,
                                                             rlo_shape *out_shape);

/**
 * Conversions to another element type or layout; the dimensions stay. out_shape
 * may alias the input. Each returns RLO_OK, the statuses of
 * rlo_shape_validate_unbounded for the input or the result, and those that it
 * lists; on failure *out_shape is unchanged.
 * Threads: safe (pure).
 */

/**
 * XLA's ChangeElementType: changes the element type; the layout stays. The
 * element size becomes the type's own, except that packed elements of less than
 * a byte stay packed if the new type takes less than a byte too.
 * @return also RLO_INVALID_ARGUMENT or RLO_UNSUPPORTED for a fill that the new
 *         type cannot hold.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_change_dtype(const rlo_shape *shape, rlo_dtype dtype,
                                                        rlo_shape *out_shape);

/** XLA's UpdateElementSizeInBits: with `pack`, elements of less than a byte
 * take the bits of their value; otherwise the element size is the type's own.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_update_element_size(const rlo_shape *shape, bool pack,
                                                               rlo_shape *out_shape);

/** XLA's DeviceShapeToHostShape: a dense layout in the same order (if strided:
 * by falling width of the strides), without padding, tiles, tail, element size,
 *  memory space, splits and metadata prefix. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_device_to_host(const rlo_shape *shape,
                                                          rlo_shape *out_shape);

/** XLA's DeviceShapeIsHostShape: whether rlo_shape_device_to_host changes
 *  nothing. */
RLO_API bool rlo_shape_device_is_host(const rlo_shape *shape);

/** XLA's ShapeWithoutPadding (2017): deletes padded dimensions; tiles and tail
 *  stay. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_without_padding(const rlo_shape *shape,
                                                           rlo_shape *out_shape);

/** XLA's GetWithDefaultLayout: a row-major layout without other fields. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_with_default_layout(const rlo_shape *shape,
                                                               rlo_shape *out_shape);

/** XLA's CopyLayoutBetweenShapes: takes the layout of another shape.
 *  @return also RLO_INVALID_ARGUMENT for different ranks. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_with_layout_of(const rlo_shape *shape,
                                                          const rlo_shape *layout_of,
                                                          rlo_shape *out_shape);

/** XLA's MakeStaticShape: makes all dimensions static, with the size of their
 *  bound. @return also RLO_UNSUPPORTED if one is unbounded. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_make_static(const rlo_shape *shape,
                                                       rlo_shape *out_shape);

/**
 * How the dimensions of the operand and the result of a reshape or a transpose
 * correspond. These functions compare sizes; bitcast.h compares layouts. All
 * are pure and safe from any thread. Sizes are >= 0, ranks at most
 * RLO_MAX_RANK, lists borrowed; NULL only for rank 0. Those that return a
 * status return RLO_OK; RLO_INVALID_ARGUMENT for a negative size or lists of
 * different products; RLO_UNSUPPORTED for a rank above RLO_MAX_RANK;
 * RLO_OVERFLOW for a product beyond 64 bits.
 */

/** The first `from` sizes of one list and the first `to` of another have the
 * same product. */
typedef struct rlo_common_factor {
  int32_t from;
  int32_t to;
} rlo_common_factor;

/** Maximum number of entries of rlo_common_factors: both ranks, plus 1. */
#define RLO_MAX_COMMON_FACTORS (2 * RLO_MAX_RANK + 1)

/**
 * XLA's CommonFactors: cuts two lists of sizes into the smallest groups of
 * equal products. Begins with {0, 0} and ends with both ranks; each group has
 * as few sizes as make the products equal, and a size of 1 is a group of its
 * own. Lists of product 0 are one group, unless they are equal.
 * @param out_bounds  room for RLO_MAX_COMMON_FACTORS.
 */
RLO_API RLO_NODISCARD rlo_status rlo_common_factors(const int64_t *from, int32_t from_rank,
                                                    const int64_t *to, int32_t to_rank,
                                                    rlo_common_factor *out_bounds,
                                                    int32_t *out_count);

/** A dimension of one list, and its index in the other. */
typedef struct rlo_dimension_pair {
  int32_t from;
  int32_t to;
} rlo_dimension_pair;

/** XLA's DimensionsUnmodifiedByReshape: lists the dimensions that a reshape
 * keeps, in rising order: common factors of one dimension on either side.
 *  @param out_pairs  room for RLO_MAX_RANK. */
RLO_API RLO_NODISCARD rlo_status rlo_reshape_unmodified_dims(const int64_t *from, int32_t from_rank,
                                                             const int64_t *to, int32_t to_rank,
                                                             rlo_dimension_pair *out_pairs,
                                                             int32_t *out_count);

/** XLA's ReshapeLeavesDimensionsUnmodified: whether a reshape keeps these
 *  dimensions of `from`, and their indices in `to`.
 *  @param dims  `count` dimensions in rising order; -1 is the last of `from`.
 *  @param out_to_dims  room for `count`, written only if *out_are_kept.
 *  @return also RLO_OUT_OF_RANGE for a dimension outside [0, from_rank). */
RLO_API RLO_NODISCARD rlo_status rlo_reshape_leaves_dims_unmodified(
    const int64_t *from, int32_t from_rank, const int64_t *to, int32_t to_rank, const int32_t *dims,
    int32_t count, bool *out_are_kept, int32_t *out_to_dims);

/** A reshape that only deletes and inserts dimensions of size 1. */
typedef struct rlo_reshape_ones {
  /** True if the reshape is one; if not, the lists are empty. */
  bool is_only_ones;
  int32_t num_deleted;
  int32_t num_inserted;
  /** Dimensions of `from`, and of `to`, in rising order. */
  int32_t deleted[RLO_MAX_RANK];
  int32_t inserted[RLO_MAX_RANK];
} rlo_reshape_ones;

/** XLA's InsertedOrDeleted1SizedDimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_reshape_inserted_or_deleted_ones(const int64_t *from,
                                                                      int32_t from_rank,
                                                                      const int64_t *to,
                                                                      int32_t to_rank,
                                                                      rlo_reshape_ones *out_ones);

/** The equivalent transpose with the fewest dimensions. */
typedef struct rlo_normalized_transpose {
  int32_t rank;
  /** The dimensions of the result of the transpose. */
  int64_t dims[RLO_MAX_RANK];
  /** dims[k] is dimension permutation[k] of its operand. */
  int32_t permutation[RLO_MAX_RANK];
} rlo_normalized_transpose;

/**
 * XLA's GetNormalizedLogicalTransposeShape: drops dimensions of size 1 and
 * merges those that stay neighbours. At least one dimension is left, of size 1
 * for a single element. Arrays without elements become one dimension of size 0.
 *
 * @param shape  the operand; its layout is {rank-1,...,0}.
 * @param permutation  result dimension k is operand dimension permutation[k];
 *                     -1 is the last.
 * @return also RLO_INVALID_ARGUMENT for an invalid permutation; RLO_UNSUPPORTED
 *         for another order, padding or tiles; the statuses of
 *         rlo_shape_validate.
 */
RLO_API RLO_NODISCARD rlo_status rlo_transpose_normalize(const rlo_shape *shape,
                                                         const int32_t *permutation,
                                                         rlo_normalized_transpose *out_normalized);

/** The cause of slots in a layout. */
typedef enum rlo_cost_kind {
  /** A dimension, or several that a tile's `*` merges. */
  RLO_COST_DIMENSIONS = 0,
  /** A dimension of size 1 that a tile prepends. */
  RLO_COST_ADDED = 1,
  /** The tail alignment. */
  RLO_COST_TAIL = 2
} rlo_cost_kind;

/** One factor of the slots: `elements` of `slots` positions are used. */
typedef struct rlo_cost_part {
  rlo_cost_kind kind;
  /** RLO_COST_DIMENSIONS: bit k stands for dimension k; else 0. */
  uint32_t dimensions;
  /** The product of the sizes; 1 for an added dimension; for the tail, the
   *  slots before it. */
  int64_t elements;
  /** The same with padding and tiles; for the tail, the slots with it. */
  int64_t slots;
} rlo_cost_part;

/** Maximum number of parts of a cost. */
#define RLO_COST_MAX_PARTS (RLO_MAX_RANK + RLO_MAX_TILES * RLO_MAX_TILE_RANK + 1)

/**
 * The causes of a layout's slots. For a dense layout
 *
 *   elements / slots = product over the parts of elements / slots
 *
 * (unless there are no slots). The most wasteful part is the first: it is the
 * main cause if it has more slots than elements.
 */
typedef struct rlo_shape_cost {
  int64_t elements;
  int64_t slots;
  /** 0 for a strided layout: the slots between its elements may belong to
   *  other arrays. */
  int32_t num_parts;
  rlo_cost_part parts[RLO_COST_MAX_PARTS];
} rlo_shape_cost;

/**
 * Predicts the memory that a layout takes, and which dimensions cause it.
 *
 * bf16[4,2]{1,0:T(8,128)(2,1)} takes 1024 slots for 8 elements, because
 * dimension 1 is 2 of 128 and dimension 0 is 4 of 8: two parts. The tail is a
 * part only with a tail alignment. Equally wasteful parts are in the order of
 * their lowest dimension, then added ones, then the tail.
 *
 * @return RLO_OK; the statuses of rlo_shape_validate; RLO_OVERFLOW if the
 * padded size of a dimension of an empty array does not fit in 64 bits.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_predict_cost(const rlo_shape *shape,
                                                        rlo_shape_cost *out_cost);

RLO_END_DECLS

#endif
