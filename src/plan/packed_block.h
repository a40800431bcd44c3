/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PACKED_BLOCK_H
#define RLO_PLAN_PACKED_BLOCK_H

#include "plan/cpu_launch.h"
#include "plan/packed_chain.h"

/** Most places in a list of cl/cpu_packed.cl. */
#define RLO__PACKED_MAX_PLACES 1024

/** Bytes of a block that goes through the stage, and of one that does not. */
#define RLO__PACKED_STAGE_BYTES  (INT64_C(16) * 1024)
#define RLO__PACKED_DIRECT_BYTES (INT64_C(32) * 1024)

/** Longest row that is kept, in bytes. */
#define RLO__PACKED_MAX_ROW_BYTES 1024

/** What one block of a problem is: a piece that is long along the leading axes
 *  of both sides. Arrays have an entry for each axis of the problem. */
typedef struct rlo__packed_block {
  rlo__grid_plan cpu;
  rlo__axis_run src_chain;
  rlo__axis_run dst_chain;
  /** The innermost axis is the same on both sides. */
  bool is_kept;
  /** Side of the square that is transposed in registers. */
  int64_t tile;
  /** Points of each axis in one block. */
  int64_t size[RLO__GRID_MAX_AXES];
  /** Units from point to point in the stage. */
  int64_t stage_stride[RLO__GRID_MAX_AXES];
  /** Bit a: axis a is part of the columns, of the rows. */
  uint32_t columns;
  uint32_t rows;
  int64_t num_columns;
  int64_t num_rows;
  /** Units of a block, and of its runs on both sides, which the first so many
   *  axes of the chains make. */
  int64_t units;
  int64_t src_run_units;
  int64_t dst_run_units;
  int32_t num_src_run_axes;
  int32_t num_dst_run_axes;
  /** Whole lines go straight to the destination. */
  bool is_direct;
} rlo__packed_block;

/** Whether a problem without guards or quotients has blocks; if not, says why.
 */
bool rlo__packed_block_is_possible(const rlo__family_query *query,
                                   const rlo__geometry *geometry,
                                   rlo__str *why);

/** Choose the block of a problem that has some, and lay the grid. */
RLO_NODISCARD rlo_status
rlo__packed_block_choose(const rlo__family_query *query,
                         const rlo__geometry *geometry,
                         rlo__packed_block *out_block);

#endif
