/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_INDEX_H
#define RELAYOUT_INDEX_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/* The limits of a map: physical dimensions; steps; and variables, which are the
 * logical index, at most two results of each step, and a constant zero for each
 * dimension of size 1 that a tile prepends. */
#define RLO_ADDRESS_MAP_MAX_LEAVES 64
#define RLO_ADDRESS_MAP_MAX_STEPS  128
#define RLO_ADDRESS_MAP_MAX_VARS   (RLO_MAX_RANK + 2 * RLO_ADDRESS_MAP_MAX_STEPS + RLO_MAX_TILE_RANK)

typedef enum rlo_step_kind { RLO_STEP_SPLIT, RLO_STEP_COMBINE } rlo_step_kind;

typedef struct rlo_step {
  rlo_step_kind kind;
  /** SPLIT reads `whole` and makes high and low; COMBINE is the inverse. */
  int32_t whole, high, low;
  int64_t radix;
  /** Index in the layout's tiles of the tile that the step belongs to; -1 for a
   *  step of no tile. */
  int32_t tile;
} rlo_step;

/**
 * The address map of a shape: the complete meaning of its layout. A plain value
 * of about 8 KiB without pointers, to be made once and used often. The fields
 * may be read; only rlo_address_map_make writes them.
 *
 * A map is a short program over variables. The first `rank` variables are the
 * logical index. Each step makes new variables from earlier ones:
 *
 *   SPLIT    low  = v mod radix, high = v / radix      (a tile's dimension)
 *   COMBINE  v    = high * radix + low                 (a tile's `*`)
 *
 * Every variable is used by at most one step. Those that no step uses are the
 * leaves: the physical dimensions, each with a stride.
 *
 *   slot(index) = offset + sum over leaves of stride * value.
 *
 * Run forwards, the steps map a logical index to a slot. Run backwards, they
 * map the leaf values of a slot to the logical index; the slot holds no element
 * if a variable is at or beyond its limit. The lowering of a relayout runs the
 * same steps on linear forms.
 */
typedef struct rlo_address_map {
  int32_t rank;
  int32_t num_vars;
  int32_t num_steps;
  int32_t num_leaves;
  int64_t offset;
  /** Without steps: the stride of each logical dimension, so that
   *  slot(index) = offset + sum of strides[k] * index[k]. */
  int64_t strides[RLO_MAX_RANK];
  /** Dense: product of the leaf extents. */
  int64_t tiled_slots;
  /** Dense: tiled_slots rounded up to the tail alignment. Strided: furthest
   *  position + 1, 0 without elements. */
  int64_t slots;
  bool is_dense;

  /** Leaves, physically major to minor: variable, extent in slots, stride.
   *  For a dense layout extent >= limit and leaves cover the slots exactly;
   *  for a strided one they are the logical dimensions. */
  struct {
    int32_t var;
    int64_t extent;
    int64_t stride;
  } leaves[RLO_ADDRESS_MAP_MAX_LEAVES];

  rlo_step steps[RLO_ADDRESS_MAP_MAX_STEPS];
  /** Elements have variable < limit: the size of a logical dimension, the
   *  extent of a result of a step, or 1 for a constant zero (a variable that is
   *  neither). */
  int64_t limits[RLO_ADDRESS_MAP_MAX_VARS];
} rlo_address_map;

/** Makes the map of a shape; the map keeps no reference to it.
 *  @return RLO_OK; the statuses of rlo_shape_validate, and then *out_map must
 *          not be used. Threads: safe (pure), here and below. */
RLO_API RLO_NODISCARD rlo_status rlo_address_map_make(const rlo_shape *shape,
                                                      rlo_address_map *out_map);

/** Part of rlo_address_map_slot; use that. */
RLO_API int64_t rlo_address_map_slot_by_steps(const rlo_address_map *map, const int64_t *index);

/**
 * Returns the slot of an element, as rlo_index_to_linear, without checks, which
 * would take longer than the result.
 *
 * @param index  map->rank coordinates, each in [0, dims[k]); NULL only for
 *               rank 0.
 */
static inline int64_t rlo_address_map_slot(const rlo_address_map *map, const int64_t *index) {
  if (map->num_steps != 0) {
    return rlo_address_map_slot_by_steps(map, index);
  }
  /* Four at a time: a loop over single products takes twice as long. */
  int64_t slot = map->offset;
  int32_t k = 0;
  for (; k + 4 <= map->rank; k += 4) {
    slot += map->strides[k] * index[k] + map->strides[k + 1] * index[k + 1] +
            map->strides[k + 2] * index[k + 2] + map->strides[k + 3] * index[k + 3];
  }
  for (; k < map->rank; ++k) {
    slot += map->strides[k] * index[k];
  }
  return slot;
}

/**
 * Finds the element at a slot: rlo_index_from_linear for a map.
 *
 * @param slot  in [0, map->slots).
 * @param out_index  map->rank coordinates; unchanged for a slot without
 * element.
 * @param out_is_element  false if the slot holds no element.
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_UNSUPPORTED for a strided layout in
 *         which several elements may share a slot.
 */
RLO_API RLO_NODISCARD rlo_status rlo_address_map_element(const rlo_address_map *map, int64_t slot,
                                                         int64_t *out_index, bool *out_is_element);

/* The functions below check the shape in each call; for many indices of one
 * shape, an rlo_address_map is faster. */

/**
 * Gives the slot of an element: applies the address map of the shape.
 *
 * @param index   shape->rank coordinates, each in [0, dims[k]); NULL only for
 *                rank 0.
 * @param out_slot  position in elements of the layout's element size.
 * @return RLO_OK; RLO_OUT_OF_RANGE, naming the coordinate; the statuses of
 *         rlo_shape_validate. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_index_to_linear(const rlo_shape *shape, const int64_t *index,
                                                     int64_t *out_slot);

/**
 * Finds the element at a slot: the inverse of rlo_index_to_linear.
 *
 * @param slot  in [0, slots).
 * @param out_index  shape->rank coordinates; unchanged for a slot without
 * element.
 * @param out_is_element  false if the slot holds no element.
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_UNSUPPORTED for a strided layout in
 *         which several elements may share a slot.
 */
RLO_API RLO_NODISCARD rlo_status rlo_index_from_linear(const rlo_shape *shape, int64_t slot,
                                                       int64_t *out_index, bool *out_is_element);

/** Advances to the next index in logical row-major order (the last dimension
 *  fastest), whatever the layout. After the last one, returns false with an
 *  index of zeros.
 *  Requires rank >= 0 and every dimension >= 1. */
RLO_API bool rlo_index_bump(const rlo_shape *shape, int64_t *index);

/** True if every coordinate is in [0, dims[k]). */
RLO_API bool rlo_index_in_bounds(const rlo_shape *shape, const int64_t *index);

/** XLA's CompareIndices: returns -1, 0 or 1 if `a` is before, at, or after `b`
 * in logical row-major order. */
RLO_API int rlo_index_compare(const int64_t *a, const int64_t *b, int32_t rank);

/**
 * Called for one index. A status other than RLO_OK ends the walk, which returns
 * it. *go_on is true before the call; if it is false afterwards, the walk ends
 * with RLO_OK.
 */
typedef rlo_status (*rlo_index_fn)(const int64_t *index, bool *go_on, void *payload);

/**
 * XLA's ForEachIndex: visits indices in physical order, the most minor
 * dimension fastest. Equivalent loops, for every dimension k:
 *
 *   for (index[k] = base[k]; index[k] < base[k] + count[k];
 *        index[k] += step[k]) ...
 *
 * With step and count 0 the dimension stays at base[k].
 *
 * @param base, count, step  rank entries each, borrowed; NULL: zeros, the
 *                 dimensions, and ones: every element.
 * @param visit    not called if a count is 0 and its step is not.
 * @return RLO_OK; the status of visit; RLO_INVALID_ARGUMENT for a negative
 *         entry, or a step of 0 with another count; RLO_OUT_OF_RANGE, before
 * the first call, if an index would be outside its dimension; the statuses of
 * rlo_shape_validate. Threads: calls visit in the caller's thread.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_for_each_index(const rlo_shape *shape,
                                                          const int64_t *base, const int64_t *count,
                                                          const int64_t *step, rlo_index_fn visit,
                                                          void *payload);

RLO_END_DECLS

#endif
