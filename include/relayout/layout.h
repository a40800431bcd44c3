/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_LAYOUT_H
#define RELAYOUT_LAYOUT_H

#include <stdbool.h>

#include "relayout/dtype.h"

RLO_BEGIN_DECLS

/** Most dimensions a shape may have. */
#define RLO_MAX_RANK 32
/** Most tiles a layout may nest. */
#define RLO_MAX_TILES 8
/** Most dimensions one tile may have. */
#define RLO_MAX_TILE_RANK 32
/** Tile dimension that merges a dimension into the next more minor one: the
 *  `*` of the text form. XLA's documentation calls it -1, its code INT64_MIN.
 */
#define RLO_TILE_COMBINE INT64_MIN
/** Most cut points of one physical dimension. */
#define RLO_MAX_SPLIT_INDICES 8

/**
 * One tile: extents, most major first, that apply to as many of the most minor
 * physical dimensions. The last one may not be RLO_TILE_COMBINE.
 */
typedef struct rlo_tile {
  int32_t rank;
  int64_t dims[RLO_MAX_TILE_RANK];
} rlo_tile;

/** XLA's memory spaces with a name; others are legal. */
enum {
  RLO_MEMORY_SPACE_DEFAULT = 0,
  /** Vector memory of an accelerator. */
  RLO_MEMORY_SPACE_FAST = 1,
  RLO_MEMORY_SPACE_HOST = 5,
  RLO_MEMORY_SPACE_HOST_UNPINNED = 6
};

/**
 * Where one physical dimension is cut into pieces that lie apart: the `SC` of
 * the text form. Carried, printed and compared, without a meaning here.
 */
typedef struct rlo_split_config {
  /** Physical dimension: 0 is the most major one. */
  int32_t dimension;
  int32_t num_indices;
  /** Strictly increasing, above 0 and below the size of the dimension. */
  int64_t indices[RLO_MAX_SPLIT_INDICES];
} rlo_split_config;

/**
 * What the slots of a layout that hold no element (padding, the rest of a
 * tile, the tail) contain. The first six are XLA's historical PaddingValue.
 */
typedef enum rlo_fill {
  /** Nothing is said: a relayout leaves those bytes alone. The default. */
  RLO_FILL_INVALID = 0,
  RLO_FILL_ZERO = 1,
  RLO_FILL_ONE = 2,
  /** -infinity, or the least value of types without it. */
  RLO_FILL_LOWEST = 3,
  /** +infinity, or the greatest value of types without it. */
  RLO_FILL_HIGHEST = 4,
  /** Anything may stand there: a relayout leaves those bytes alone. */
  RLO_FILL_UNKNOWN = 5,
  /** The element whose raw bits are rlo_layout.fill_bits. */
  RLO_FILL_BITS = 6
} rlo_fill;

/** How the positions of elements are given. */
typedef enum rlo_layout_kind {
  /** minor_to_major, padding, tiles and tail alignment. */
  RLO_LAYOUT_DENSE = 0,
  /** One stride for each logical dimension, and an offset: a view. */
  RLO_LAYOUT_STRIDED = 1
} rlo_layout_kind;

/**
 * Where the elements of an array lie in linear memory. A plain value: copy it
 * by assignment. All zero is the dense layout of a scalar.
 *
 * The rank is that of the shape the layout belongs to. For a dense layout the
 * physical dimensions, major to minor, are made in this order:
 * 1. dimension k of the shape is widened to padded_dimensions[k] (high side);
 * 2. the dimensions are ordered by minor_to_major;
 * 3. each tile in turn replaces the most minor dimensions d by ceil(d/t) and,
 *    after all of these, t; a tile longer than the dimensions at hand puts
 *    ones before them; RLO_TILE_COMBINE first merges a dimension into the next
 *    more minor one;
 * 4. the number of slots is rounded up to tail_alignment_elems.
 */
typedef struct rlo_layout {
  rlo_layout_kind kind;
  /** Dense: logical dimensions, the fastest varying first. A permutation. */
  int32_t minor_to_major[RLO_MAX_RANK];
  /** Dense: true if padded_dimensions is given. */
  bool has_padded_dimensions;
  /** Dense: total width of each logical dimension, at least its size. */
  int64_t padded_dimensions[RLO_MAX_RANK];
  /** Dense: contents of the slots that hold no element. */
  rlo_fill fill;
  /** With RLO_FILL_BITS: the element, low bits first, zero-extended; no bit
   *  may lie beyond the element's size in memory. */
  uint8_t fill_bits[16];
  /** Dense: tiles, in the order of their application. */
  int32_t num_tiles;
  rlo_tile tiles[RLO_MAX_TILES];
  /** Dense: the slots are rounded up to a multiple of this; 0 and 1: not. */
  int64_t tail_alignment_elems;
  /** Bits one element takes in memory; 0: rlo_dtype_storage_bits. At least
   *  rlo_dtype_value_bits, at most 128. Element k begins at bit k times this,
   *  counted from the low bit of each byte upwards. */
  int64_t element_size_bits;
  /** Carried, printed and compared, without a meaning here. 0: default. */
  int64_t memory_space;
  /** Strided: distance, in elements, of neighbours in each logical dimension.
   *  May be negative or 0. */
  int64_t strides_elems[RLO_MAX_RANK];
  /** Strided: position, in elements, of the element with index 0,...,0. */
  int64_t offset_elems;

  /** Dense, carried: where dimensions are cut; at most one entry for each
   *  physical dimension. */
  int32_t num_split_configs;
  rlo_split_config split_configs[RLO_MAX_RANK];
  /** Carried: bytes of sizes that stand before the elements of an array with
   *  dynamic dimensions. They are no part of any size here. */
  int64_t metadata_prefix_bytes;
  /** XLA's sparse layouts only: RLO_DTYPE_INVALID in every valid layout. */
  rlo_dtype index_dtype, pointer_dtype;
} rlo_layout;

/** The dense row-major layout {rank-1,...,1,0}; rank in 0..RLO_MAX_RANK (a
 *  rank outside is clamped). */
RLO_API rlo_layout rlo_layout_row_major(int32_t rank);

/** The dense column-major layout {0,1,...,rank-1}; rank as above. */
RLO_API rlo_layout rlo_layout_column_major(int32_t rank);

/** A dense layout with this minor_to_major (copied; NULL only for rank 0).
 *  @return RLO_OK; RLO_UNSUPPORTED for a rank above RLO_MAX_RANK;
 *          RLO_INVALID_ARGUMENT if it is not a permutation. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_from_minor_to_major(
    const int32_t *minor_to_major, int32_t rank, rlo_layout *out_layout);

/** Append a tile. @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_TILES or
 *  RLO_MAX_TILE_RANK; RLO_INVALID_ARGUMENT for an empty tile, a dimension
 *  below 1 that is not RLO_TILE_COMBINE, or RLO_TILE_COMBINE at the end.
 *  On failure *layout is unchanged. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_add_tile(rlo_layout *layout,
                                                     const int64_t *dims,
                                                     int32_t rank);

/** Check a layout for arrays with these dimensions: every rule above.
 *  @param dims `rank` extents, borrowed; NULL only for rank 0.
 *  @return RLO_OK, or the status and sentence of the first rule broken. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_validate(const rlo_layout *layout,
                                                     const int64_t *dims,
                                                     int32_t rank,
                                                     rlo_dtype dtype);

/** Append cut points for a physical dimension (0: the most major one).
 *  @param indices  `count` cut points, copied.
 *  @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_RANK entries or
 *          RLO_MAX_SPLIT_INDICES cut points; RLO_INVALID_ARGUMENT for a
 *          negative or repeated dimension, no cut point, or cut points that
 *          are not above 0 and strictly increasing. On failure *layout is
 *          unchanged. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_add_split(rlo_layout *layout,
                                                      int32_t dimension,
                                                      const int64_t *indices,
                                                      int32_t count);

/** Field by field, the first `rank` entries of each array; spellings of one
 *  meaning (tail alignment 0 and 1) are equal, different spellings of one
 *  address map (padding and its tile) are not: compare the maps for that. */
RLO_API bool rlo_layout_equal(const rlo_layout *a,
                              const rlo_layout *b,
                              int32_t rank);

/** True for dense {rank-1,...,0} without padding, tiles or tail alignment. */
RLO_API bool rlo_layout_is_row_major(const rlo_layout *layout, int32_t rank);

/** True for dense {0,...,rank-1} without padding, tiles or tail alignment. */
RLO_API bool rlo_layout_is_column_major(const rlo_layout *layout, int32_t rank);

RLO_END_DECLS

#endif
