/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_SHARDING_H
#define RELAYOUT_SHARDING_H

#include <stddef.h>

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * A layout over devices: which box of an array each device holds. Devices are
 * numbered from 0. The text and the meaning are those of XLA's HloSharding.
 *
 * A sharding is immutable. Each function that outputs one gives the caller a
 * reference, for rlo_sharding_release.
 *
 * Threads: all functions are safe; a sharding may be shared.
 */
typedef struct rlo_sharding rlo_sharding;

/** Maximum number of devices of a sharding. */
#define RLO_SHARDING_MAX_DEVICES 1048576
/** Maximum number of subgroups of tiles. */
#define RLO_SHARDING_MAX_SUBGROUPS 4
/** Maximum number of dimensions into which iota's device numbers are reshaped.
 */
#define RLO_SHARDING_MAX_IOTA_RANK (RLO_MAX_RANK + RLO_SHARDING_MAX_SUBGROUPS)

/** The kind of a sharding; those of XLA have the values of OpSharding.Type. */
typedef enum rlo_sharding_kind {
  /** Each device holds the whole array. */
  RLO_SHARDING_REPLICATED = 0,
  /** One device holds the whole array, the others nothing. */
  RLO_SHARDING_MAXIMAL = 1,
  /** The array is cut into a grid of tiles, which devices hold. */
  RLO_SHARDING_TILED = 3,
  /** The program cuts the array itself: no boxes are known. */
  RLO_SHARDING_MANUAL = 4,
  /** Nothing is known. */
  RLO_SHARDING_UNKNOWN = 5,
  /** Each device holds a summand of the whole array. */
  RLO_SHARDING_UNREDUCED = 6,
  /** A box is stated for each device. Not of XLA. */
  RLO_SHARDING_BOXES = 64
} rlo_sharding_kind;

/** start <= index < limit in each dimension; empty where they are equal. */
typedef struct rlo_box {
  int32_t rank;
  int64_t start[RLO_MAX_RANK];
  int64_t limit[RLO_MAX_RANK];
} rlo_box;

/** A dimension of the grid behind those of the array: several devices share a
 *  tile. */
typedef struct rlo_sharding_subgroup {
  /** REPLICATED: they hold copies; UNREDUCED: summands; MANUAL. */
  rlo_sharding_kind kind;
  /** Devices along this dimension, at least 1. */
  int64_t count;
} rlo_sharding_subgroup;

/**
 * A grid of tiles and its devices. Tile i of n slots cut into k tiles is
 * min(i*c, n) <= index < min((i+1)*c, n) with c = ceil(n/k), as in XLA, so that
 * the last tiles may be smaller or empty.
 */
typedef struct rlo_sharding_tiles {
  /** That of the array. */
  int32_t rank;
  /** Tiles along each dimension, at least 1. */
  int64_t counts[RLO_MAX_RANK];
  int32_t num_subgroups;
  rlo_sharding_subgroup subgroups[RLO_SHARDING_MAX_SUBGROUPS];
  /** The rank of iota; 0 if `devices` lists the devices. */
  int32_t iota_rank;
  /** The devices of the grid, in row-major order, are
   *  arange(n).reshape(iota_dims).transpose(iota_permutation). */
  int64_t iota_dims[RLO_SHARDING_MAX_IOTA_RANK];
  int32_t iota_permutation[RLO_SHARDING_MAX_IOTA_RANK];
  /** The device of each cell of the grid, subgroups included, row-major. In
   *  rlo_sharding_make_tiled borrowed, and read if iota_rank is 0. From
   *  rlo_sharding_get_tiles always set, and owned by the sharding. */
  const int64_t *devices;
} rlo_sharding_tiles;

/* ------------------------------------------------------------ construction */

/* On failure *out_sharding is NULL, here and below. */

/** A sharding without parameters: REPLICATED, MANUAL, UNKNOWN or UNREDUCED.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for another kind; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_make(rlo_sharding_kind kind,
                                                   rlo_sharding **out_sharding);

/** The whole array on one device.
 *  @return RLO_OK; RLO_OUT_OF_RANGE for a device below 0 or of
 *          RLO_SHARDING_MAX_DEVICES and more; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_make_maximal(int64_t device,
                                                           rlo_sharding **out_sharding);

/** Tiles over devices; `tiles` is copied. As in XLA, subgroups of one kind are
 *  joined, those of one device dropped, the others sorted: MANUAL, UNREDUCED,
 *  REPLICATED, whose devices are in ascending order. One tile of one subgroup
 *  makes the sharding of its kind, which names no devices.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT if a count is below 1, the product of
 *          iota_dims is not that of the counts, iota_permutation is none, a
 *          device is missing or stated twice, or a subgroup is of another kind
 *          than REPLICATED, UNREDUCED or MANUAL;
 *          RLO_UNSUPPORTED beyond the limits above; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_make_tiled(const rlo_sharding_tiles *tiles,
                                                         rlo_sharding **out_sharding);

/** Box k is what device k holds; boxes may be empty, and may overlap where
 *  devices hold copies. `boxes` is copied.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT for ranks that differ, a start below 0
 *          or above its limit, or no box; RLO_UNSUPPORTED beyond
 *          RLO_SHARDING_MAX_DEVICES; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_make_boxes(const rlo_box *boxes, int64_t num_boxes,
                                                         rlo_sharding **out_sharding);

/** Makes the sharding in which device devices[k] holds what device k holds in
 *  `sharding`, as tiles over a list of devices or as boxes; a reference to
 *  `sharding` where nothing changes. Of UNREDUCED it is left open which summand
 * is whose.
 *  @param devices  `num_devices` of 0 to num_devices - 1, each once.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT if a device is missing or stated twice;
 *          RLO_OUT_OF_RANGE if the sharding names another number of devices
 *          (MAXIMAL: more); RLO_UNSUPPORTED for MANUAL and UNKNOWN;
 *          RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_relabel(rlo_sharding *sharding,
                                                      const int64_t *devices, int64_t num_devices,
                                                      rlo_sharding **out_sharding);

/** Adds a reference and returns the sharding; NULL for NULL. */
RLO_API rlo_sharding *rlo_sharding_retain(rlo_sharding *sharding);

/** Releases a reference; the last one frees the sharding. NULL is legal. */
RLO_API void rlo_sharding_release(rlo_sharding *sharding);

/* -------------------------------------------------------------------- text */

/**
 * Parses a sharding in HLO syntax:
 *
 *   {replicated}  {manual}  {unknown}  {unreduced}
 *   {maximal device=3}
 *   {devices=[2,2]0,1,2,3}                     the devices of the grid
 *   {devices=[2,1,4]<=[4,2]T(1,0)}             the same by iota
 *   {devices=[4,2]<=[8] last_tile_dim_replicate}
 *   {devices=[4,2,2]<=[16] last_tile_dims={unreduced, replicated}}
 *   {mesh['a'=2,'b'=4], [{'b'}, {'a'}]}        dimensions by the axes of a mesh
 *   {mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)), [{'b':(1)2, ?}], manual={'a'}}
 *   {mesh['a'=2,'b'=4], replicated}  {maximal_mesh[device_id=3]}
 *   {boxes=[0:8,0:3][0:8,3:6]}                 ours: a box for each device
 *
 * A mesh makes the sharding, of one of the other kinds, that means the same: the
 * first axis of a dimension cuts it into the largest parts, `'b':(1)2` is the part
 * of size 2 of 'b' behind parts of size 1, axes that are not named hold copies,
 * and '?' says nothing about who holds what.
 *
 * White space and comments between tokens are ignored, and so are `metadata=`,
 * `shard_as` and `shard_like` at the end, which no box depends on.
 * @param text  `text_bytes` bytes, need not be terminated; borrowed. As for
 *              rlo_shape_parse, RLO_TEXT_TERMINATED: a C string.
 * @return RLO_OK; RLO_PARSE with the position (byte, from 0) and what was
 *         expected; RLO_OVERFLOW for a number beyond 64 bits; RLO_UNSUPPORTED
 *         for the sharding of a tuple, and a text beyond
 *         RLO_TEXT_MAX_TREE_BYTES; what the function that makes it returns.
 */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_parse(const char *text, size_t text_bytes,
                                                    rlo_sharding **out_sharding);

/**
 * Prints a sharding so that rlo_sharding_parse reads it back, iota without
 * dimensions of 1 and with those joined that stay neighbours: snprintf rules.
 * @param buffer  room for `capacity` bytes, terminated if capacity > 0; may be
 *                NULL if capacity is 0.
 * @return the length of the whole text without terminator, whatever fits.
 */
RLO_API size_t rlo_sharding_format(const rlo_sharding *sharding, char *buffer, size_t capacity);

/* ----------------------------------------------------------------- queries */

/** Returns the kind; RLO_SHARDING_UNKNOWN for NULL. */
RLO_API rlo_sharding_kind rlo_sharding_get_kind(const rlo_sharding *sharding);

/** Returns the number of devices that the sharding names: the cells of a grid,
 *  the boxes, the device of MAXIMAL and those below; 0 where any number will
 *  do, and for NULL. */
RLO_API int64_t rlo_sharding_num_devices(const rlo_sharding *sharding);

/** Gets the grid of a TILED sharding. @return RLO_OK; RLO_INVALID_ARGUMENT for
 *  another kind. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_get_tiles(const rlo_sharding *sharding,
                                                        rlo_sharding_tiles *out_tiles);

/** Checks that arrays of this shape can be held so by `num_devices` devices.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT if ranks differ, a box leaves the
 *          array, or boxes leave an element to nobody; RLO_OUT_OF_RANGE if the
 *          sharding names a device that is none, or a grid leaves a device
 *          without a cell; RLO_UNSUPPORTED for MANUAL and UNKNOWN, which name
 *          no boxes, and for dynamic dimensions; the statuses of
 *          rlo_shape_validate. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_validate(const rlo_sharding *sharding,
                                                       const rlo_shape *shape, int64_t num_devices);

/** Gets the box that a device holds of an array of this shape, for which
 *  rlo_sharding_validate is RLO_OK. Boxes that hold no element have start and
 *  limit equal in a dimension; where MAXIMAL gives a scalar to one device, the
 *  box of the others, of rank 0 too, does not say so.
 *  @return RLO_OK; RLO_OUT_OF_RANGE for a device below 0, or beyond those of
 *          the sharding where it names all; RLO_UNSUPPORTED,
 *          RLO_INVALID_ARGUMENT as rlo_sharding_validate. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_get_box(const rlo_sharding *sharding,
                                                      const rlo_shape *shape, int64_t device,
                                                      rlo_box *out_box);

/** Makes the shape of what a device holds: the box's dimensions in the layout
 *  of the whole. A padded dimension that is cut into k tiles is padded to
 *  ceil(padded/k) on each.
 *  @return as rlo_sharding_get_box; RLO_UNSUPPORTED for a strided layout, and
 *          for boxes that cut a padded dimension. */
RLO_API RLO_NODISCARD rlo_status rlo_sharding_get_shard_shape(const rlo_sharding *sharding,
                                                              const rlo_shape *shape,
                                                              int64_t device, rlo_shape *out_shape);

RLO_END_DECLS

#endif
