/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PACKED_H
#define RLO_PLAN_PACKED_H

#include "plan/grid.h"

/** The two kernels of family packed of the CPU class: cells and blocks. */

/* -------------------------------------------------------------------- cells */

/** Most axes of a cell. */
#define RLO__PACKED_CELL_MAX_AXES 4

/** A problem as cells, which cl/cpu_packed_cells.cl moves: the innermost axes
 *  are the same on both sides, in different order. */
typedef struct rlo__packed_cells {
  rlo__grid_plan cpu;
  /** The axes of a cell lead the destination's run. */
  rlo__axis_run dst_run;
  int32_t num_axes;
  /** The axis that counts cells. */
  int32_t cell_axis;
  int64_t cell_units;
  /** Cells of one group. */
  int64_t group_cells;
  /** Cells consist of whole lines, each of them aligned. */
  bool is_direct;
} rlo__packed_cells;

/** The cells of a problem without guards or quotients. False if it has none. */
bool rlo__packed_cells_find(const rlo__family_query *query, const rlo__geometry *geometry,
                            rlo__packed_cells *out_cells);

/** Expected fraction of the copy limit. */
double rlo__packed_cells_predict(const rlo__packed_cells *cells);

/** Writes the launch. */
RLO_NODISCARD rlo_status rlo__packed_cells_emit(const rlo__family_query *query,
                                                rlo__packed_cells *cells, rlo__launch *launch);

/* ------------------------------------------------------------------- blocks */

/** Most entries of a list of positions in cl/cpu_packed.cl. */
#define RLO__PACKED_MAX_PLACES 1024

/** Bytes of the stage: of a block that uses it at most. */
#define RLO__PACKED_STAGE_BYTES (INT64_C(16) * 1024)

/** Longest row that is moved whole, in bytes. */
#define RLO__PACKED_MAX_ROW_BYTES 1024

/** A block of a problem: a piece that is long along the leading axes of both
 *  sides. Arrays have an entry for each axis of the problem. */
typedef struct rlo__packed_block {
  rlo__grid_plan cpu;
  rlo__axis_run src_run;
  rlo__axis_run dst_run;
  /** The innermost axis is the same on both sides: rows are moved whole. */
  bool moves_rows;
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
  /** Units of a block. */
  int64_t units;
  /** Units that are consecutive on each side, and how many leading axes of that
   *  side's run make them. */
  int64_t src_run_units;
  int64_t dst_run_units;
  int32_t num_src_run_axes;
  int32_t num_dst_run_axes;
  /** Whole lines are stored straight to the destination. */
  bool is_direct;
} rlo__packed_block;

/** Tells if a problem without guards or quotients has blocks. If not, the
 * reason is in `why`. */
bool rlo__packed_block_is_possible(const rlo__family_query *query, const rlo__geometry *geometry,
                                   rlo__str *why);

/** Chooses the block of a problem that has some, and lays the grid. */
void rlo__packed_block_choose(const rlo__family_query *query, const rlo__geometry *geometry,
                              rlo__packed_block *out_block);

#endif
