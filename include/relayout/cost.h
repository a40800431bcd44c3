/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_COST_H
#define RELAYOUT_COST_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

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
