/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_PJRT_H
#define RELAYOUT_XLA_PJRT_H

#include "relayout/xla/layout_util.h"

RLO_BEGIN_DECLS

/*
 * Layouts as the C interface of PJRT writes them. These structs are laid out in
 * memory as PJRT_Buffer_MemoryLayout and what is in it: a pointer to one may be
 * cast to the other. No header of PJRT is needed.
 */

/** PJRT_Buffer_MemoryLayout_Type. */
typedef enum rlo_pjrt_layout_type {
  RLO_PJRT_LAYOUT_TILED = 0,
  RLO_PJRT_LAYOUT_STRIDES = 1
} rlo_pjrt_layout_type;

/** PJRT_Buffer_MemoryLayout_Tiled. */
typedef struct rlo_pjrt_tiled {
  /** The size of this struct, in bytes. */
  size_t struct_size;
  /** Passed over. */
  void *extension_start;
  const int64_t *minor_to_major;
  size_t minor_to_major_size;
  /** The dimensions of all tiles, one tile after the other. */
  const int64_t *tile_dims;
  /** How many of them each tile has. */
  const size_t *tile_dim_sizes;
  size_t num_tiles;
} rlo_pjrt_tiled;

/** PJRT_Buffer_MemoryLayout_Strides. */
typedef struct rlo_pjrt_strides {
  size_t struct_size;
  void *extension_start;
  /** May be negative; the data then are inside of the buffer. */
  const int64_t *byte_strides;
  size_t num_byte_strides;
} rlo_pjrt_strides;

/** PJRT_Buffer_MemoryLayout. */
typedef struct rlo_pjrt_layout {
  size_t struct_size;
  void *extension_start;

  /** PJRT does not name this union. */
  union {
    rlo_pjrt_tiled tiled;
    rlo_pjrt_strides strides;
  } form;

  rlo_pjrt_layout_type type;
} rlo_pjrt_layout;

/** The description of an array by a PJRT layout. Begin with
 *  RLO_PJRT_VIEW_INIT. */
typedef struct rlo_pjrt_view {
  /** sizeof(rlo_pjrt_view). */
  size_t struct_size;
  rlo_shape shape;
  /** Where slot 0 of the shape lies from the data: 0, or below it where
   *  strides are negative. */
  int64_t offset_bytes;
} rlo_pjrt_view;

#define RLO_PJRT_VIEW_INIT \
  { .struct_size = sizeof(rlo_pjrt_view) }

/**
 * Read a PJRT layout for an array of this type and these dimensions.
 *
 * Tiles keep their spelling; a combined dimension may be INT64_MIN or, as
 * XLA's documentation has it, -1. Strides are recognised as by
 * rlo_layout_from_strides.
 * @param dims             `rank` sizes, borrowed; NULL only for rank 0.
 * @param layout           borrowed for the call; NULL: row-major.
 * @param available_bytes  for strides, as rlo_shape_from_numpy.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a struct_size of the layout that is
 *         too small, one of the view that this library does not know, an
 *         unknown type, NULL where there must be something, or as many numbers
 *         as do not go with the rank; what rlo_layout_add_tile,
 *         rlo_layout_from_strides and rlo_shape_validate say; RLO_UNSUPPORTED
 *         also for strides that are no whole number of elements. On failure
 *         *out_view is untouched.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_from_pjrt(rlo_dtype dtype, const int64_t *dims,
                                                     int32_t rank, const rlo_pjrt_layout *layout,
                                                     int64_t available_bytes,
                                                     rlo_pjrt_view *out_view);

/** A PJRT layout and the numbers it points to: of use where it was written
 *  only, as a copy would point into the original. Begin with
 *  RLO_PJRT_EXPORT_INIT. */
typedef struct rlo_pjrt_export {
  /** sizeof(rlo_pjrt_export). At least up to tile_dim_sizes: the layout points
   *  to what is in the struct. */
  size_t struct_size;
  rlo_pjrt_layout layout;
  /** Where the data begin (the element 0,...,0 for strides, else slot 0), in
   *  bytes from slot 0. */
  int64_t offset_bytes;
  int64_t minor_to_major[RLO_MAX_RANK];
  int64_t byte_strides[RLO_MAX_RANK];
  /** Padding becomes one tile more. */
  int64_t tile_dims[(RLO_MAX_TILES + 1) * RLO_MAX_TILE_RANK];
  size_t tile_dim_sizes[RLO_MAX_TILES + 1];
} rlo_pjrt_export;

#define RLO_PJRT_EXPORT_INIT \
  { .struct_size = sizeof(rlo_pjrt_export) }

/**
 * Write the layout of a shape as PJRT has it.
 *
 * In the form of tiles, padding becomes a tile with the same address map; a
 * strided layout has no such form. In the form of strides, a layout needs
 * rlo_shape_to_strides.
 * @param type        RLO_PJRT_LAYOUT_TILED or RLO_PJRT_LAYOUT_STRIDES.
 * @param out_export  written in place, with pointers into itself.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for another type, or for a struct_size
 *         that is too small or not known to this library; RLO_UNSUPPORTED for
 *         what PJRT cannot say: a fill that is known, a tail alignment, splits,
 *         an element size, a memory space or a metadata prefix of its own, and
 *         the form not at hand; RLO_OVERFLOW for a byte stride beyond 64 bits;
 *         or what
 *         rlo_shape_validate returns. On failure *out_export is untouched.
 * Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_to_pjrt(const rlo_shape *shape,
                                                   rlo_pjrt_layout_type type,
                                                   rlo_pjrt_export *out_export);

RLO_END_DECLS

#endif
