/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GPU_STAGE_H
#define RLO_PLAN_GPU_STAGE_H

#include "plan/gpu_block.h"

/**
 * How a block of cl/gpu_packed.cl lies in local memory: the source's runs of
 * consecutive bytes as they are, at other distances. All numbers are bytes
 * unless it says otherwise.
 */
typedef struct rlo__gpu_stage {
  /** The size of the pieces in which runs are read, at multiples of it: 16 or a
   *  unit. */
  int64_t read_bytes;
  /** The size of the parts in which a piece is stored. Distances in local
   * memory equal those in the source modulo it. */
  int64_t store_bytes;
  /** From the block's first point to the lowest byte of its run, <= 0. */
  int64_t run_low;
  int64_t run_bytes;
  /** Pieces of all runs of a copy, as many as there can be. */
  int64_t pieces;
  /** Axis 0 counts pieces of a run; the others lead from run to run. */
  int32_t rank;
  int64_t extents[RLO__GPU_BLOCK_MAX_AXES];
  int64_t src_strides[RLO__GPU_BLOCK_MAX_AXES];
  int64_t run_strides[RLO__GPU_BLOCK_MAX_AXES];
  /** In local memory along the axes of the block. */
  int64_t local_strides[RLO__GPU_BLOCK_MAX_AXES];
  /** From copy to copy. */
  int64_t copy_bytes;
  /** Bytes of all copies. */
  int64_t local_bytes;
  /** Rounds of the banks in which 32 lanes load a unit each, and all for a
   *  copy. */
  double load_rounds;
  double bank_rounds;
  /** Instructions of all lanes for a copy, or what the rounds take in
   *  instructions if that is more, by estimate. */
  double cost;
} rlo__gpu_stage;

/** A word that a lane puts together from local memory. */
typedef struct rlo__gpu_word {
  int64_t units;
  /** From local memory, and instructions that these take. */
  int64_t loads, instructions;
} rlo__gpu_word;

/**
 * Lays out a block: of the layouts that fit, the one that takes the fewest
 * instructions and rounds of local memory, by estimate.
 *
 * @param limit_bytes  of local memory.
 * @param word         what a lane gathers at a time.
 * @return false if none fits.
 */
bool rlo__gpu_stage_lay_out(const rlo__family_query *query, const rlo__gpu_block *block,
                            int64_t limit_bytes, rlo__gpu_word word, rlo__gpu_stage *out_stage);

#endif
