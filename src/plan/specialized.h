/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SPECIALIZED_H
#define RLO_PLAN_SPECIALIZED_H

#include "plan/launch.h"

/** What the kernels that include cl/specialized.cl have in common: the problem
 *  compiled into them, and their first arguments. */

/** Whether int suffices for every form of the problem, in bytes where it is a
 *  position, and for its terms. */
bool rlo__specialized_fits_32_bits(const rlo_problem *problem);

/** How the cells of a kernel are handed out: in segments along the last of the
 *  axes that count them. */
typedef struct rlo__partition {
  /** Cells of a segment; segments of a row of cells, and of all. */
  int64_t segment, row_segments, segments;
  /** Work-items of a group. */
  int64_t local;
  /** Whether int suffices to count segments, and cells of a row. */
  bool fits_32_bits;
} rlo__partition;

/**
 * Cut the cells that the first `num_axes` axes of a problem count. A GPU takes
 * them one by one; a CPU in segments and groups that are worth handing out.
 *
 * @param cell_points  points that are read for a cell, >= 1.
 * @return RLO_OK; RLO_OVERFLOW.
 */
RLO_NODISCARD rlo_status rlo__partition_cells(const rlo_problem *problem,
                                              int32_t num_axes,
                                              int64_t cell_points,
                                              const rlo_device_info *device,
                                              bool is_gpu,
                                              rlo__partition *out_cut);

/** Add the constants of a cut: RLO_SEGMENT, RLO_ROW_SEGMENTS, RLO_SEGMENTS. */
RLO_NODISCARD rlo_status rlo__partition_define(const rlo__partition *cut,
                                               rlo__launch *launch);

/** Size a launch whose work-items take `pieces` segments together, and say in
 *  RLO_LOOP whether they have to go on for more. */
RLO_NODISCARD rlo_status rlo__partition_size_launch(const rlo__partition *cut,
                                                    int64_t pieces,
                                                    rlo__launch *launch);

/** Add the constants: axes, terms, forms, guards, indices. */
RLO_NODISCARD rlo_status rlo__specialized_define(const rlo_problem *problem,
                                                 rlo__launch *launch);

/** Add both memories with their offsets, the fill, and the indices with theirs
 *  if the problem loads some. */
RLO_NODISCARD rlo_status
rlo__specialized_add_arguments(const rlo_problem *problem, rlo__launch *launch);

#endif
