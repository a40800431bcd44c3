/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_DESC_ADDRESS_H
#define RLO_DESC_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "relayout/shape.h"

/**
 * The address map of a shape: the one place that knows what a layout means.
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
typedef enum rlo_step_kind { RLO_STEP_SPLIT, RLO_STEP_COMBINE } rlo_step_kind;

typedef struct rlo_step {
  rlo_step_kind kind;
  /** SPLIT reads `whole` and makes high and low; COMBINE the other way. */
  int32_t whole, high, low;
  int64_t radix;
} rlo_step;

enum {
  /** Physical dimensions a map may have. */
  RLO_ADDRESS_MAX_LEAVES = 64,
  RLO_ADDRESS_MAX_STEPS = 128,
  /** The index, what each step makes (at most two), and the constant zeros
   *  that a tile longer than the dimensions at hand puts before them. */
  RLO_ADDRESS_MAX_VARS =
      RLO_MAX_RANK + 2 * RLO_ADDRESS_MAX_STEPS + RLO_MAX_TILE_RANK
};

typedef struct rlo_address {
  int32_t rank;
  int32_t num_vars;
  int32_t num_steps;
  int32_t num_leaves;
  rlo_step steps[RLO_ADDRESS_MAX_STEPS];
  /** Elements have var < limit: the dimension itself for a logical variable,
   *  the padded or tile extent for one that a step made, 1 for a constant
   *  zero (a variable that is neither logical nor made by a step). */
  int64_t limits[RLO_ADDRESS_MAX_VARS];

  /** Leaves, physically major to minor: variable, extent in slots, stride.
   *  For a dense layout extent >= limit and leaves cover the slots exactly;
   *  for a strided one they are the logical dimensions. */
  struct {
    int32_t var;
    int64_t extent;
    int64_t stride;
  } leaves[RLO_ADDRESS_MAX_LEAVES];

  int64_t offset;
  bool is_dense;
  /** Dense: product of the leaf extents. */
  int64_t tiled_slots;
  /** Dense: tiled_slots rounded up to the tail alignment. Strided: furthest
   *  position + 1, 0 without elements. */
  int64_t slots;
} rlo_address;

/**
 * Make the address map of a shape whose dimensions and layout have been
 * checked by rlo_layout_validate.
 *
 * @return RLO_OK; RLO_OVERFLOW if the slots leave int64; RLO_UNSUPPORTED
 *         beyond RLO_ADDRESS_MAX_LEAVES physical dimensions;
 *         RLO_OUT_OF_RANGE if a strided layout reaches below slot 0.
 */
RLO_NODISCARD rlo_status rlo__address_make(const rlo_shape *shape,
                                           rlo_address *out_address);

/** The slot of an index that is in bounds. Never fails. */
int64_t rlo__address_slot(const rlo_address *address, const int64_t *index);

/**
 * The index at a slot in [0, slots); false, and index undefined, if it holds
 * no element. Dense maps only.
 */
bool rlo__address_index(const rlo_address *address,
                        int64_t slot,
                        int64_t *out_index);

#endif
