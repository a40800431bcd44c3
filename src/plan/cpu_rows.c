/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/cpu_rows.h"

#include "base/status.h"

bool rlo__cpu_rows_take_guards(const rlo_problem *problem,
                               int32_t run,
                               rlo__str *why) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    int64_t along = problem->guards[g].form.axis[run];
    if (along < -1 || along > 1) {
      rlo__str_printf(why,
                      "guard %d has the coefficient %lld along the row; the "
                      "kernel takes -1, 0 and 1",
                      g,
                      (long long)along);
      return false;
    }
  }
  return true;
}

rlo__cpu_rows rlo__cpu_rows_along(const rlo_problem *problem,
                                  const rlo__geometry *geometry,
                                  int32_t run) {
  int64_t unit_bytes = geometry->unit_bytes;
  rlo__cpu_rows rows = {.batch_axis = -1, .batch_rows = 1};
  rows.row_units = run >= 0 ? problem->extents[run] : 1;
  rows.row_bytes = rows.row_units <= INT64_MAX / unit_bytes
                       ? rows.row_units * unit_bytes
                       : INT64_MAX;
  rows.chunk_units = rows.row_bytes > RLO__CPU_MAX_ROW_BYTES
                         ? RLO__CPU_CHUNK_BYTES / unit_bytes
                         : rows.row_units;
  return rows;
}

rlo_status rlo__cpu_rows_lay_grid(const rlo_problem *problem,
                                  const rlo__cpu_rows *rows,
                                  rlo__grid_plan *plan) {
  plan->y_axis = rows->batch_axis;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = a == plan->x_axis   ? rows->chunk_units
                   : a == plan->y_axis ? rows->batch_rows
                                       : 1;
    RLO_TRY(rlo__grid_add_axis(&plan->grid, problem, a, step));
  }
  return RLO_OK;
}

rlo_status rlo__cpu_rows_add(const rlo_problem *problem,
                             const rlo__cpu_rows *rows,
                             const rlo__grid_plan *plan,
                             rlo__launch *launch) {
  int32_t batch = rows->batch_axis;
  int64_t extent = batch >= 0 ? problem->extents[batch] : 1;
  int64_t src_stride = batch >= 0 ? problem->src.axis[batch] : 0;
  int64_t dst_stride = batch >= 0 ? problem->dst.axis[batch] : 0;
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&plan->grid, batch)));
  RLO_TRY(rlo__grid_add_index(plan, launch, extent));
  RLO_TRY(rlo__grid_add_index(plan, launch, rows->batch_rows));
  RLO_TRY(rlo__grid_add_index(plan, launch, src_stride));
  RLO_TRY(rlo__grid_add_index(plan, launch, dst_stride));
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&plan->grid, plan->x_axis)));
  RLO_TRY(rlo__grid_add_index(plan, launch, rows->row_units));
  return rlo__grid_add_index(plan, launch, rows->chunk_units);
}

bool rlo__cpu_rows_are_lines(const rlo__family_query *query,
                             int32_t axis,
                             int64_t piece_units) {
  const rlo_problem *problem = query->problem;
  int64_t cell_bytes = rlo_problem_dst_unit_bits(problem) / 8;
  int64_t align = rlo__alignment_after(query->dst_alignment_bytes,
                                       problem->dst.base * cell_bytes,
                                       RLO__CPU_LINE_BYTES);
  align = rlo__alignment_after(
      align, piece_units * cell_bytes, RLO__CPU_LINE_BYTES);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != axis) {
      align = rlo__alignment_after(
          align, problem->dst.axis[a] * cell_bytes, RLO__CPU_LINE_BYTES);
    }
  }
  return align == RLO__CPU_LINE_BYTES;
}
