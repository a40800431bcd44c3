/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_SPECIALIZED_H
#define RLO_PLAN_SPECIALIZED_H

#include "plan/family.h"

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
RLO_NODISCARD rlo_status rlo__partition_cells(const rlo__family_query *query, int32_t num_axes,
                                              int64_t cell_points, rlo__partition *out_cut);

/** Adds the constants RLO_SEGMENT, RLO_ROW_SEGMENTS and RLO_SEGMENTS, and sets
 *  the NDRange of a launch whose work-items take `pieces` segments at a time,
 *  with the constant RLO_LOOP: whether they loop. */
RLO_NODISCARD rlo_status rlo__partition_emit(const rlo__partition *cut, int64_t pieces,
                                             rlo__launch *launch);

/** Begins a launch: kernel file, both memories with their offsets, the fill,
 *  and the memory of the indices if the problem loads some. */
RLO_NODISCARD rlo_status rlo__specialized_begin(const rlo_problem *problem, const char *kernel_file,
                                                rlo__launch *launch);

/** Adds the constants of the problem: axes, terms, forms, guards, indices. */
RLO_NODISCARD rlo_status rlo__specialized_define(const rlo_problem *problem, rlo__launch *launch);

/**
 * Writes a launch but for its NDRange and its description: begins it, adds the
 * problem's constants and those of the family's own. What the problem computes
 * goes with it: the constants of cl/arith.cl, the factors, and the first words
 * of the description.
 */
RLO_NODISCARD rlo_status rlo__specialized_emit(const rlo__family_query *query,
                                               const char *kernel_file,
                                               const rlo__constant *constants, rlo__launch *launch);

#endif
