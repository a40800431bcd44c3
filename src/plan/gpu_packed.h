/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GPU_PACKED_H
#define RLO_PLAN_GPU_PACKED_H

#include "plan/gpu_stage.h"
#include "plan/grid.h"

enum {
  /** Axes that may be cut: the outermost of either side. */
  RLO__GPU_PACKED_MAX_ENDS = 2
};

/** The axes of a block in the order of the destination. Neighbours are joined
 * to one axis where every stride and coefficient continues. Strides are bytes.
 */
typedef struct rlo__gpu_packed_walk {
  int32_t rank;
  int64_t extents[RLO__GPU_BLOCK_MAX_AXES];
  int64_t strides[RLO__GPU_BLOCK_MAX_AXES];
  int64_t local_strides[RLO__GPU_BLOCK_MAX_AXES];
  int64_t coefs[RLO__GRID_MAX_GUARDS][RLO__GPU_BLOCK_MAX_AXES];
  /** Indices of the axes that the last block overhangs, or -1. */
  int32_t ends[RLO__GPU_PACKED_MAX_ENDS];
  /** The first axes, which make a run, and the runs of a block. */
  int32_t run_axes;
  int64_t runs;
  /** Units of a word, words of a run, and units of it that are in none. */
  int64_t word_units;
  int64_t words;
  int64_t rest;
  /** Runs begin anywhere, words at multiples of their size. */
  bool is_shifted;
  /** Units that are joined to words follow each other in local memory, too. */
  bool is_contiguous;
} rlo__gpu_packed_walk;

/** A launch of the family. */
typedef struct rlo__gpu_packed_plan {
  rlo__grid_plan group;
  rlo__gpu_block block;
  /** Guards of the problem, PAD first. */
  int32_t num_guards;
  const rlo_guard *guards[RLO_MAX_GUARDS];
  /** Problem axes whose last block overhangs. */
  int32_t num_ends;
  int32_t ends[RLO__GPU_PACKED_MAX_ENDS];
  rlo__gpu_stage stage;
  rlo__gpu_packed_walk write;
  int64_t local_bytes;
} rlo__gpu_packed_plan;

/** Chooses the block of a problem, its layout in local memory and the words of
 *  the destination. False, with the reason in `why`, if there are none. */
bool rlo__gpu_packed_choose(const rlo__family_query *query, rlo__gpu_packed_plan *out_plan,
                            rlo__str *why);

#endif
