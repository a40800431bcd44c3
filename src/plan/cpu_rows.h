/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_CPU_ROWS_H
#define RLO_PLAN_CPU_ROWS_H

#include "plan/cpu_launch.h"

/** Rows that are contiguous on both sides, as cl/cpu_rows.cl and
 *  cl/cpu_compute_rows.cl take them: in batches along one axis, or cut into
 * chunks where they are very long. */

enum {
  /** A chunk of a row that is longer than the second. */
  RLO__CPU_CHUNK_BYTES = 64 * 1024,
  RLO__CPU_MAX_ROW_BYTES = 2 * RLO__CPU_CHUNK_BYTES,
  /** An unaligned row has too few whole lines for non-temporal stores below
   *  this. */
  RLO__CPU_MIN_LINED_BYTES = 4 * RLO__CPU_LINE_BYTES
};

typedef struct rlo__cpu_rows {
  /** Of the source. */
  int64_t row_bytes;
  int64_t row_units;
  /** Equal to row_units if rows are whole. */
  int64_t chunk_units;
  /** Axis along which one group takes several rows, or -1. */
  int32_t batch_axis;
  int64_t batch_rows;
} rlo__cpu_rows;

/** Whether every guard goes up or down with axis `run` by 1, or not at all, as
 *  the kernels want it; if not, says why. */
bool rlo__cpu_rows_take_guards(const rlo_problem *problem,
                               int32_t run,
                               rlo__str *why);

/** The rows along an axis (-1: single units), cut where they are long, without
 *  a batch. */
rlo__cpu_rows rlo__cpu_rows_along(const rlo_problem *problem,
                                  const rlo__geometry *geometry,
                                  int32_t run);

/** Add every axis to a plan's grid, which lets groups step by chunks along
 *  plan->x_axis and by batches along the batch's axis, its y_axis. Not sorted.
 */
RLO_NODISCARD rlo_status rlo__cpu_rows_lay_grid(const rlo_problem *problem,
                                                const rlo__cpu_rows *rows,
                                                rlo__grid_plan *plan);

/** Add arguments 10 to 17 of cl/cpu_rows.cl. */
RLO_NODISCARD rlo_status rlo__cpu_rows_add(const rlo_problem *problem,
                                           const rlo__cpu_rows *rows,
                                           const rlo__grid_plan *plan,
                                           rlo__launch *launch);

/** Whether pieces of a row, `piece_units` long each, along an axis of stride 1
 *  in the destination (-1: none) all begin and end with a line there, for every
 *  point of the other axes. */
bool rlo__cpu_rows_are_lines(const rlo__family_query *query,
                             int32_t axis,
                             int64_t piece_units);

#endif
