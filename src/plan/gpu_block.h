/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_GPU_BLOCK_H
#define RLO_PLAN_GPU_BLOCK_H

#include "plan/family.h"

/** Most axes of a block. */
#define RLO__GPU_BLOCK_MAX_AXES 8

/** An axis of a block, whole or cut. */
typedef struct rlo__gpu_block_axis {
  int32_t problem_axis;
  /** Points of it that one block holds. */
  int64_t size;
} rlo__gpu_block_axis;

/** The block that a group of cl/gpu_packed.cl moves: the leading axes of the
 *  source and those of the destination, the outermost of either side cut so
 *  that the block fits into local memory, and several copies of it along one
 *  more axis. */
typedef struct rlo__gpu_block {
  int32_t num_axes;
  /** In the order of the source, the fastest first. */
  rlo__gpu_block_axis axes[RLO__GPU_BLOCK_MAX_AXES];
  /** Indices into `axes` in the order of the destination, the fastest first. */
  int32_t by_dst[RLO__GPU_BLOCK_MAX_AXES];
  /** Problem axis of the copies, or -1, and copies of a group. */
  int32_t repeat_axis;
  int64_t repeat;
  /** Bytes in one run, and share of the bytes in the 32-byte sectors that are
   *  touched, on either side. */
  int64_t src_run_bytes;
  int64_t dst_run_bytes;
  /** The largest power of two, at most a sector, that divides the addresses at
   *  which runs of the destination begin. */
  int64_t dst_begin_bytes;
  double src_share;
  double dst_share;
  /** Share of the blocks that is inside the box. */
  double fullness;
} rlo__gpu_block;

/**
 * Chooses the block of a problem: of all that fit, the one that wastes the
 * fewest sectors, work-items and instructions, by estimate.
 *
 * @param problem       canonical, no terms, not empty.
 * @param budget_bytes  of local memory for all copies, without their padding.
 * @param lanes         work-items of a group.
 * @return false if the problem has fewer than two axes or nothing fits.
 */
bool rlo__gpu_block_choose(const rlo__family_query *query, int64_t budget_bytes, int64_t lanes,
                           rlo__gpu_block *out_block);

/** Points of a problem axis that a group moves. */
int64_t rlo__gpu_block_step(const rlo__gpu_block *block, int32_t axis);

/**
 * The expected fraction of the copy limit.
 *
 * @param lanes       work-items of a group.
 * @param word_bytes  that a lane writes at once.
 * @param bank_rounds  of local memory for a group.
 */
double rlo__gpu_block_rate(const rlo__family_query *query, const rlo__gpu_block *block,
                           int64_t lanes, int64_t word_bytes, double bank_rounds);

#endif
