/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_BITCAST_H
#define RELAYOUT_XLA_BITCAST_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * Changes of shape that move no byte.
 *
 * A change from src to dst is a bitcast if the memory of an array of shape src
 * holds, as it stands, the wanted array of shape dst:
 *
 *   - every element lies at the same bits in both;
 *   - dst's memory is no larger than src's;
 *   - src's slots without element hold dst's fill, where that is known.
 *
 * The address maps of both shapes are compared for all indices at once, so that
 * order, padding, nested and combined tiles, tail, element size, strides,
 * offsets and dimensions of size 1 count by their effect. Where the tiles of
 * the two maps do not divide one another, the elements of one period of both
 * are compared; if that is more than 2^20 elements, the answer is
 * RLO_UNSUPPORTED and never a guess. Memory spaces, splits and dynamic
 * dimensions are ignored.
 *
 * All functions are pure and safe from any thread. Each returns RLO_OK; the
 * statuses of rlo_shape_validate for a shape; RLO_UNSUPPORTED as above;
 * RLO_OVERFLOW; RLO_OUT_OF_MEMORY; and those that it lists. Outputs are written
 * on RLO_OK only.
 */

/** Options of a comparison, as bits of a uint32_t. Without any, the element
 * types must be the same. */
enum {
  /** Ignore element types and sizes: compare positions in elements (XLA's
   *  ignore_element_type). */
  RLO_BITCAST_IGNORE_ELEMENT_TYPE = 1 << 0,
  /** Element types and sizes may differ: compare positions of bits. A reshape
   *  is one of bits, the lowest one first: s4[4,2] with 4-bit elements becomes
   *  s8[4]. */
  RLO_BITCAST_REINTERPRET = 1 << 1,
  /** Ignore slots without element and the size of the memory. */
  RLO_BITCAST_IGNORE_PADDING = 1 << 2
};

/** Finds out whether element i has one position in both, so that a relayout
 *  from src to dst copies every byte to its own place. False for different
 *  dimensions. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_is_same_bytes(const rlo_shape *src, const rlo_shape *dst,
                                                         uint32_t flags, bool *out_is_same);

/**
 * XLA's TransposeIsBitcast: dst[i] is src[j] with j[permutation[k]] = i[k].
 * False where dst->dims[k] != src->dims[permutation[k]].
 * @param permutation  src->rank entries, borrowed; -1 is the last dimension.
 * @return also RLO_INVALID_ARGUMENT for an invalid permutation.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_transpose_is_bitcast(const rlo_shape *src,
                                                                const rlo_shape *dst,
                                                                const int32_t *permutation,
                                                                uint32_t flags,
                                                                bool *out_is_bitcast);

/** XLA's ReshapeIsBitcast: whether element n in logical row-major order has one
 *  position in both. False for different numbers of elements (of bits, with
 *  RLO_BITCAST_REINTERPRET). */
RLO_API RLO_NODISCARD rlo_status rlo_shape_reshape_is_bitcast(const rlo_shape *src,
                                                              const rlo_shape *dst, uint32_t flags,
                                                              bool *out_is_bitcast);

/** XLA's DeduceTransposeDimensionsForBitcast: finds the permutation for which
 *  rlo_shape_transpose_is_bitcast holds. Dimensions of size 1 are matched in
 *  order.
 *  @param out_permutation  room for src->rank entries, written only if found.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_deduce_transpose_for_bitcast(const rlo_shape *src,
                                                                        const rlo_shape *dst,
                                                                        uint32_t flags,
                                                                        bool *out_is_found,
                                                                        int32_t *out_permutation);

/** XLA's IsReshapeOrTransposeBitcast. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_is_reshape_or_transpose_bitcast(const rlo_shape *src,
                                                                           const rlo_shape *dst,
                                                                           uint32_t flags,
                                                                           bool *out_is_bitcast);

/** The logical operations that a bitcast consists of. */
typedef enum rlo_bitcast_kind {
  /** None of those below: not a bitcast of all elements. */
  RLO_BITCAST_KIND_NONE = 0,
  RLO_BITCAST_KIND_RESHAPE = 1,
  RLO_BITCAST_KIND_TRANSPOSE = 2,
  /** A transpose, then a reshape, then a transpose. */
  RLO_BITCAST_KIND_TRT = 3
} rlo_bitcast_kind;

/** The parts of a bitcast; each is a bitcast itself. About 11 KiB. */
typedef struct rlo_bitcast_decomposition {
  rlo_bitcast_kind kind;
  /** TRANSPOSE, TRT: the (first) transpose, of src. */
  int32_t transpose1[RLO_MAX_RANK];
  /** TRT: src with its dimensions in physical order, major to minor. */
  rlo_shape transpose1_shape;
  /** TRT: dst with its dimensions in physical order. */
  rlo_shape reshape_shape;
  /** TRT: the transpose from reshape_shape to dst. */
  int32_t transpose2[RLO_MAX_RANK];
} rlo_bitcast_decomposition;

/**
 * XLA's DecomposeBitcast: expresses reading memory of shape src as dst by
 * logical operations. Tries a reshape, then a transpose, then both shapes in
 * physical order. Element types are ignored; where element sizes differ, the
 * reshape is one of bits.
 *
 * @param flags  RLO_BITCAST_IGNORE_PADDING or 0.
 * @return RLO_OK, with the kind NONE for arrays without elements, for different
 *         numbers of bits, and if no decomposition is exact (tiles or padding
 *         of one side only).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_bitcast_decompose(const rlo_shape *src, const rlo_shape *dst, uint32_t flags,
                      rlo_bitcast_decomposition *out_decomposition);

/**
 * XLA's AlignLayouts: finds the layout in which an array of these dimensions is
 * a reshape of src that moves no byte.
 *
 * Dense if neither tiles nor padding are needed (dimensions of size 1 are the
 * most major ones), else strided, without a fill. Keeps src's element size and
 * memory space.
 * @param dims  `rank` sizes, borrowed; as many elements as src has.
 * @param out_shape  of src's element type; written only if *out_is_found.
 * @return also RLO_INVALID_ARGUMENT for another number of elements or invalid
 *         dimensions.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_align_layout(const rlo_shape *src, const int64_t *dims,
                                                        int32_t rank, bool *out_is_found,
                                                        rlo_shape *out_shape);

/** XLA's IsUntiledLayout: whether the layout without its tiles has the same
 * slots and the same positions. True without tiles. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_is_untiled(const rlo_shape *shape, bool *out_is_untiled);

RLO_END_DECLS

#endif
