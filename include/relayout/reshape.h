/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_RESHAPE_H
#define RELAYOUT_RESHAPE_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

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

RLO_END_DECLS

#endif
