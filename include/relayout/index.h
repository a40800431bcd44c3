/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_INDEX_H
#define RELAYOUT_INDEX_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/* The limits of a map: physical dimensions; steps; and variables, which are
 * the index, what each step makes (at most two), and the constant zeros that a
 * tile longer than the dimensions at hand puts before them. */
#define RLO_ADDRESS_MAP_MAX_LEAVES 64
#define RLO_ADDRESS_MAP_MAX_STEPS  128
#define RLO_ADDRESS_MAP_MAX_VARS \
  (RLO_MAX_RANK + 2 * RLO_ADDRESS_MAP_MAX_STEPS + RLO_MAX_TILE_RANK)

typedef enum rlo_step_kind { RLO_STEP_SPLIT, RLO_STEP_COMBINE } rlo_step_kind;

typedef struct rlo_step {
  rlo_step_kind kind;
  /** SPLIT reads `whole` and makes high and low; COMBINE the other way. */
  int32_t whole, high, low;
  int64_t radix;
  /** The tile that the step is part of: its index in the layout's tiles; -1 for
   *  a step of no tile. */
  int32_t tile;
} rlo_step;

/**
 * The address map of a shape, prepared: what a layout means, and all of it. A
 * plain value of about 8 KiB that refers to nothing; make it once and ask it
 * often. Its fields may be read; only rlo_address_map_make fills them.
 *
 * A map is a short program over variables. The first `rank` variables are the
 * logical index. Each step makes new variables from old ones:
 *
 *   SPLIT    low  = v mod radix, high = v / radix      (a tile's dimension)
 *   COMBINE  v    = high * radix + low                 (a tile's `*`)
 *
 * Every variable is consumed by at most one step; those that none consumes
 * are the leaves: the physical dimensions, each with its stride. So
 *
 *   slot(index) = offset + sum over leaves of stride * value.
 *
 * Run forwards, the steps take a logical index to a slot; run backwards, they
 * take a slot's leaf values to the logical index, and a variable found at or
 * beyond its `limit` says that the slot holds no element. The lowering of a
 * relayout runs the same steps on linear forms in place of numbers.
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
  /** Elements have var < limit: the dimension itself for a logical variable,
   *  the padded or tile extent for one that a step made, 1 for a constant
   *  zero (a variable that is neither logical nor made by a step). */
  int64_t limits[RLO_ADDRESS_MAP_MAX_VARS];
} rlo_address_map;

/** Prepare the map of a shape, which may be forgotten afterwards.
 *  @return RLO_OK, or what rlo_shape_validate says; then *out_map is not to be
 *          used. Threads: safe (pure), here and below. */
RLO_API RLO_NODISCARD rlo_status rlo_address_map_make(const rlo_shape *shape,
                                                      rlo_address_map *out_map);

/** rlo_address_map_slot for any map; call that one. */
RLO_API int64_t rlo_address_map_slot_by_steps(const rlo_address_map *map,
                                              const int64_t *index);

/**
 * Where an element lies, as rlo_index_to_linear tells, but nothing is checked:
 * that takes longer than the answer.
 *
 * @param index  map->rank coordinates, each in [0, dims[k]); NULL only for
 *               rank 0.
 */
static inline int64_t rlo_address_map_slot(const rlo_address_map *map,
                                           const int64_t *index) {
  if (map->num_steps != 0) {
    return rlo_address_map_slot_by_steps(map, index);
  }
  /* By fours: a loop over single products takes twice as long. */
  int64_t slot = map->offset;
  int32_t k = 0;
  for (; k + 4 <= map->rank; k += 4) {
    slot += map->strides[k] * index[k] + map->strides[k + 1] * index[k + 1] +
            map->strides[k + 2] * index[k + 2] +
            map->strides[k + 3] * index[k + 3];
  }
  for (; k < map->rank; ++k) {
    slot += map->strides[k] * index[k];
  }
  return slot;
}

/**
 * Which element lies at a slot: rlo_index_from_linear on a prepared map.
 *
 * @param slot  in [0, map->slots).
 * @param out_index  map->rank coordinates; left alone for a padding slot.
 * @param out_is_element  false if the slot holds no element.
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_UNSUPPORTED for a strided layout in
 *         which several elements may share a slot.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_address_map_element(const rlo_address_map *map,
                        int64_t slot,
                        int64_t *out_index,
                        bool *out_is_element);

/* The functions below check the shape on each call; for many indices of one
 * shape, an rlo_address_map is faster. */

/**
 * Where an element lies: the address map of the shape applied to one index.
 *
 * @param index   shape->rank coordinates, each in [0, dims[k]); NULL only for
 *                rank 0.
 * @param out_slot  position in elements of the layout's element size; honours
 *                padding, nested tiles, combined dimensions, strides and
 *                offset.
 * @return RLO_OK; RLO_OUT_OF_RANGE naming the coordinate; or what
 *         rlo_shape_validate says. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_index_to_linear(const rlo_shape *shape,
                                                     const int64_t *index,
                                                     int64_t *out_slot);

/**
 * Which element lies at a slot: the inverse of rlo_index_to_linear.
 *
 * @param slot  in [0, slots).
 * @param out_index  shape->rank coordinates; left alone for a padding slot.
 * @param out_is_element  false if the slot holds no element.
 * @return RLO_OK; RLO_OUT_OF_RANGE; RLO_UNSUPPORTED for a strided layout in
 *         which several elements may share a slot.
 */
RLO_API RLO_NODISCARD rlo_status rlo_index_from_linear(const rlo_shape *shape,
                                                       int64_t slot,
                                                       int64_t *out_index,
                                                       bool *out_is_element);

/** Step to the next index in logical row-major order (the last dimension
 *  fastest), whatever the layout. False, and all zero, after the last one.
 *  Requires rank >= 0 and every dimension >= 1. */
RLO_API bool rlo_index_bump(const rlo_shape *shape, int64_t *index);

/** True if every coordinate is in [0, dims[k]). */
RLO_API bool rlo_index_in_bounds(const rlo_shape *shape, const int64_t *index);

/** XLA's CompareIndices: -1, 0 or 1 as the first index comes before, is, or
 *  comes after the second in logical row-major order. */
RLO_API int rlo_index_compare(const int64_t *a, const int64_t *b, int32_t rank);

/**
 * Called for one index. Anything but RLO_OK ends the walk and is what it
 * returns; *go_on, true before the call, ends it with RLO_OK when false.
 */
typedef rlo_status (*rlo_index_fn)(const int64_t *index,
                                   bool *go_on,
                                   void *payload);

/**
 * XLA's ForEachIndex: visit indices in physical order, the most minor dimension
 * fastest. Equivalent loops, for every dimension k:
 *
 *   for (index[k] = base[k]; index[k] < base[k] + count[k];
 *        index[k] += step[k]) ...
 *
 * with step and count 0 the dimension stays at base[k].
 *
 * @param base, count, step  rank entries each, borrowed; NULL: zeros, the
 *                 dimensions, and ones: every element.
 * @param visit    not called at all if some count is 0 with another step.
 * @return RLO_OK; what visit returned; RLO_INVALID_ARGUMENT for a negative
 *         entry or a step of 0 with another count; RLO_OUT_OF_RANGE, before the
 *         first call, if an index would be outside its dimension; what
 *         rlo_shape_validate says. Threads: calls visit on the caller's.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_for_each_index(const rlo_shape *shape,
                         const int64_t *base,
                         const int64_t *count,
                         const int64_t *step,
                         rlo_index_fn visit,
                         void *payload);

RLO_END_DECLS

#endif
