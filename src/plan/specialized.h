/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SPECIALIZED_H
#define RLO_PLAN_SPECIALIZED_H

#include "plan/launch.h"

/** Launches of the kernels that include cl/specialized.cl: the problem is
 *  compiled into the program. */

/** Tells if int holds every form of the problem, positions in bytes, and every
 *  term. */
bool rlo__specialized_fits_32_bits(const rlo_problem *problem);

/** A partition of the cells of a problem into segments along the last of the
 *  axes that count them. */
typedef struct rlo__partition {
  /** Cells of a segment; segments of a row of cells; segments in all. */
  int64_t segment, row_segments, segments;
  /** Work-items of a group. */
  int64_t local;
  /** True if int counts the segments and the cells of a row. */
  bool fits_32_bits;
} rlo__partition;

/**
 * Partitions the cells that the first `num_axes` axes of a problem count. A
 * work-item of a GPU takes one cell; one of a CPU takes a segment.
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

/** Adds the constants RLO_SEGMENT, RLO_ROW_SEGMENTS and RLO_SEGMENTS. */
RLO_NODISCARD rlo_status rlo__partition_define(const rlo__partition *cut,
                                               rlo__launch *launch);

/** Sets the NDRange of a launch whose work-items take `pieces` segments at a
 *  time, and the constant RLO_LOOP: whether they loop. */
RLO_NODISCARD rlo_status rlo__partition_size_launch(const rlo__partition *cut,
                                                    int64_t pieces,
                                                    rlo__launch *launch);

/** Adds the constants of the problem: axes, terms, forms, guards, indices. */
RLO_NODISCARD rlo_status rlo__specialized_define(const rlo_problem *problem,
                                                 rlo__launch *launch);

/** Adds both memories with their offsets, the fill, and the memory of the
 *  indices if the problem loads some. */
RLO_NODISCARD rlo_status
rlo__specialized_add_arguments(const rlo_problem *problem, rlo__launch *launch);

#endif
