/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PACKED_CELLS_H
#define RLO_PLAN_PACKED_CELLS_H

#include "plan/cpu_launch.h"
#include "plan/packed_chain.h"

/** Most axes of a cell. */
#define RLO__PACKED_CELL_MAX_AXES 4

/** A problem as cells, which cl/cpu_packed_cells.cl moves: the innermost axes
 *  of both sides are the same ones, in different order. */
typedef struct rlo__packed_cells {
  rlo__grid_plan cpu;
  /** Axes of a cell, in the order of the destination; the one that counts
   *  cells. */
  int32_t num_axes;
  int32_t axes[RLO__PACKED_CELL_MAX_AXES];
  int32_t cell_axis;
  int64_t cell_units;
  /** Cells of one group. */
  int64_t group_cells;
  /** Cells are whole lines, each of them aligned. */
  bool is_direct;
} rlo__packed_cells;

/** Whether, and how, a problem without guards or quotients falls into cells;
 *  if not, says why. */
bool rlo__packed_cells_find(const rlo__family_query *query,
                            const rlo__geometry *geometry,
                            rlo__packed_cells *out_cells,
                            rlo__str *why);

/** Expected fraction of the copy limit. */
double rlo__packed_cells_predict(const rlo__packed_cells *cells);

/** Write the launch. */
RLO_NODISCARD rlo_status rlo__packed_cells_emit(const rlo__family_query *query,
                                                const rlo__packed_cells *cells,
                                                rlo__launch *launch);

#endif
