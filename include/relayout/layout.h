/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_LAYOUT_H
#define RELAYOUT_LAYOUT_H

#include <stdbool.h>

#include "relayout/dtype.h"

RLO_BEGIN_DECLS

/** Maximum rank of a shape. */
#define RLO_MAX_RANK 32
/** Maximum number of tiles of a layout. */
#define RLO_MAX_TILES 8
/** Maximum rank of a tile. */
#define RLO_MAX_TILE_RANK 32
/** Tile dimension that merges a dimension into the next more minor one: the
 *  `*` of the text form; -1 in XLA's documentation, INT64_MIN in its code.
 */
#define RLO_TILE_COMBINE INT64_MIN
/** Maximum number of cut points of one physical dimension. */
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
 * Cut points of one physical dimension: the `SC` of the text form. Stored,
 * printed and compared, without a meaning here.
 */
typedef struct rlo_split_config {
  /** Physical dimension: 0 is the most major one. */
  int32_t dimension;
  int32_t num_indices;
  /** Strictly increasing, above 0 and below the size of the dimension. */
  int64_t indices[RLO_MAX_SPLIT_INDICES];
} rlo_split_config;

/**
 * The contents of slots without element: padding, the rest of a tile, the tail.
 * The first six are XLA's historical PaddingValue.
 */
typedef enum rlo_fill {
  /** Unspecified: a relayout does not write those bytes. The default. */
  RLO_FILL_INVALID = 0,
  RLO_FILL_ZERO = 1,
  RLO_FILL_ONE = 2,
  /** -infinity, or the lowest value of types without it. */
  RLO_FILL_LOWEST = 3,
  /** +infinity, or the highest value of types without it. */
  RLO_FILL_HIGHEST = 4,
  /** Unknown: a relayout does not write those bytes. */
  RLO_FILL_UNKNOWN = 5,
  /** The element whose raw bits are rlo_layout.fill_bits. */
  RLO_FILL_BITS = 6
} rlo_fill;

/** How a layout defines the positions of elements. */
typedef enum rlo_layout_kind {
  /** minor_to_major, padding, tiles and tail alignment. */
  RLO_LAYOUT_DENSE = 0,
  /** One stride for each logical dimension, and an offset: a view. */
  RLO_LAYOUT_STRIDED = 1
} rlo_layout_kind;

/**
 * The positions of an array's elements in linear memory. A plain value: copy it
 * by assignment. All zero is the dense layout of a scalar.
 *
 * The rank is that of the layout's shape. The physical dimensions of a dense
 * layout, major to minor, result from these steps:
 * 1. dimension k of the shape is padded to padded_dimensions[k] (high side);
 * 2. the dimensions are ordered by minor_to_major;
 * 3. each tile in turn replaces the most minor dimensions d by ceil(d/t) and,
 *    after all of these, t; if the tile has more dimensions, dimensions of size
 *    1 are prepended; RLO_TILE_COMBINE first merges a dimension into the next
 *    more minor one;
 * 4. the number of slots is rounded up to tail_alignment_elems.
 */
typedef struct rlo_layout {
  rlo_layout_kind kind;
  /** Dense: logical dimensions, the fastest varying first. A permutation. */
  int32_t minor_to_major[RLO_MAX_RANK];
  /** Dense: true if padded_dimensions is used. */
  bool has_padded_dimensions;
  /** Dense: padded width of each logical dimension, at least its size. */
  int64_t padded_dimensions[RLO_MAX_RANK];
  /** Dense: contents of the slots that hold no element. */
  rlo_fill fill;
  /** With RLO_FILL_BITS: the element, low bits first, zero-extended; no bit
   *  may lie beyond the element's size in memory. */
  uint8_t fill_bits[16];
  /** Dense: tiles, in the order in which they apply. */
  int32_t num_tiles;
  rlo_tile tiles[RLO_MAX_TILES];
  /** Dense: the number of slots is rounded up to a multiple of this; 0 is 1. */
  int64_t tail_alignment_elems;
  /** Bits of one element in memory; 0 for rlo_dtype_storage_bits. At least
   *  rlo_dtype_value_bits, at most 128. Slot n begins at bit n times this,
   *  counted from the low bit of each byte upwards. */
  int64_t element_size_bits;
  /** Stored, printed and compared, without a meaning here. 0: default. */
  int64_t memory_space;
  /** Strided: distance, in elements, between neighbours in each logical
   *  dimension. May be negative or 0. */
  int64_t strides_elems[RLO_MAX_RANK];
  /** Strided: position, in elements, of the element with index 0,...,0. */
  int64_t offset_elems;

  /** Dense: cut points, stored only; at most one entry for each physical
   *  dimension. */
  int32_t num_split_configs;
  rlo_split_config split_configs[RLO_MAX_RANK];
  /** Stored only: bytes of sizes before the elements of an array with dynamic
   *  dimensions. No size here includes them. */
  int64_t metadata_prefix_bytes;
  /** XLA's sparse layouts only: RLO_DTYPE_INVALID in every valid layout. */
  rlo_dtype index_dtype, pointer_dtype;
} rlo_layout;

/** Returns the dense row-major layout {rank-1,...,1,0}. The rank is clamped to
 *  0..RLO_MAX_RANK. */
RLO_API rlo_layout rlo_layout_row_major(int32_t rank);

/** Returns the dense column-major layout {0,1,...,rank-1}; rank as above. */
RLO_API rlo_layout rlo_layout_column_major(int32_t rank);

/** Makes a dense layout with this minor_to_major (copied; NULL only for rank
 * 0).
 *  @return RLO_OK; RLO_UNSUPPORTED for a rank above RLO_MAX_RANK;
 *          RLO_INVALID_ARGUMENT if it is not a permutation. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_from_minor_to_major(const int32_t *minor_to_major,
                                                                int32_t rank,
                                                                rlo_layout *out_layout);

/** Appends a tile. @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_TILES or
 *  RLO_MAX_TILE_RANK; RLO_INVALID_ARGUMENT for an empty tile, a dimension
 *  below 1 that is not RLO_TILE_COMBINE, or RLO_TILE_COMBINE at the end.
 *  On failure *layout is unchanged. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_add_tile(rlo_layout *layout, const int64_t *dims,
                                                     int32_t rank);

/**
 * Makes a row-major layout with one tile, the usual one of accelerators:
 * rlo_layout_make_tiled(2, (int64_t[]){8, 128}, 2, &layout) is {1,0:T(8,128)}.
 * rlo_layout_add_tile appends further ones.
 *  @param rank  of the arrays.
 *  @param tile  `tile_rank` extents, the most major first, copied.
 *  @return RLO_OK; as rlo_layout_from_minor_to_major and rlo_layout_add_tile.
 *          On failure *out_layout is untouched. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_layout_make_tiled(int32_t rank, const int64_t *tile,
                                                       int32_t tile_rank, rlo_layout *out_layout);

/**
 * Pads each dimension of a dense layout to a multiple: 100 columns to 128 for
 * {1, 128}. Replaces the padding that it had.
 *  @param dims       `rank` sizes of the array, borrowed; NULL only for rank 0.
 *  @param multiples  `rank` numbers of at least 1, which leaves the size,
 *                    borrowed; NULL only for rank 0.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for a strided layout, a negative size or
 *          a multiple below 1; RLO_UNSUPPORTED for a rank above RLO_MAX_RANK;
 *          RLO_OVERFLOW. On failure *layout is unchanged. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_layout_pad_to(rlo_layout *layout, const int64_t *dims,
                                                   int32_t rank, const int64_t *multiples);

/** Checks a layout for arrays with these dimensions by every rule above.
 *  @param dims `rank` sizes, borrowed; NULL only for rank 0.
 *  @return RLO_OK; the status and message of the first rule that fails. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_validate(const rlo_layout *layout, const int64_t *dims,
                                                     int32_t rank, rlo_dtype dtype);

/** Appends cut points of a physical dimension (0: the most major one).
 *  @param indices  `count` cut points, copied.
 *  @return RLO_OK; RLO_UNSUPPORTED beyond RLO_MAX_RANK entries or
 *          RLO_MAX_SPLIT_INDICES cut points; RLO_INVALID_ARGUMENT for a
 *          negative or repeated dimension, no cut point, or cut points that
 *          are not above 0 and strictly increasing. On failure *layout is
 *          unchanged. */
RLO_API RLO_NODISCARD rlo_status rlo_layout_add_split(rlo_layout *layout, int32_t dimension,
                                                      const int64_t *indices, int32_t count);

/** Compares field by field, `rank` entries of each array. Equivalent values of
 * a field (tail alignment 0 and 1) are equal; different fields for one address
 *  map (padding and its tile) are not: bitcast.h compares maps. */
RLO_API bool rlo_layout_equal(const rlo_layout *a, const rlo_layout *b, int32_t rank);

/** True for dense {rank-1,...,0} without padding, tiles or tail alignment. */
RLO_API bool rlo_layout_is_row_major(const rlo_layout *layout, int32_t rank);

/** True for dense {0,...,rank-1} without padding, tiles or tail alignment. */
RLO_API bool rlo_layout_is_column_major(const rlo_layout *layout, int32_t rank);

RLO_END_DECLS

#endif
