/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threshold.h"
#include "plan/packed.h"

#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"

enum {
  /** The number of shuffles grows with the square of the number of lines; a
   *  shuffle of bytes takes many instructions. */
  MAX_LINES = 8,
  MAX_SHORT_LINES = 4,
  MAX_BYTE_LINES = 2,
  /** Groups that keep a device busy, whatever they move. */
  MIN_GROUPS = 64
};

/* Finds the fewest axes, two or more, that lead both runs. */
static bool find_axes(const rlo_problem *problem, const rlo__axis_run *src, int64_t max_units,
                      rlo__packed_cells *out) {
  const rlo__axis_run *dst = &out->dst_run;
  out->cell_units = problem->extents[dst->axes[0]];
  for (int32_t n = 2; n <= dst->num_axes && n <= RLO__PACKED_CELL_MAX_AXES; ++n) {
    int64_t extent = problem->extents[dst->axes[n - 1]];
    if (out->cell_units > max_units / extent) {
      return false;
    }
    out->cell_units *= extent;
    bool is_cell = true;
    for (int32_t k = 0; k < n; ++k) {
      is_cell = is_cell && rlo__axis_run_leads(src, n, dst->axes[k]);
    }
    if (is_cell) {
      out->num_axes = n;
      return true;
    }
  }
  return false;
}

static int64_t line_units(const rlo__packed_cells *cells) {
  return RLO__CPU_LINE_BYTES / cells->cpu.geometry.unit_bytes;
}

bool rlo__packed_cells_find(const rlo__family_query *query, const rlo__geometry *geometry,
                            rlo__packed_cells *out_cells) {
  const rlo_problem *problem = query->problem;
  rlo__packed_cells *c = out_cells;
  *c = (rlo__packed_cells){.cpu = RLO__GRID_PLAN_INIT(query)};
  rlo__axis_run src = rlo__axis_run_find(problem, &problem->src, geometry->src_axis);
  c->dst_run = rlo__axis_run_find(problem, &problem->dst, geometry->dst_axis);
  int64_t max_lines = geometry->unit_bytes == 1   ? MAX_BYTE_LINES
                      : geometry->unit_bytes == 2 ? MAX_SHORT_LINES
                                                  : MAX_LINES;
  if (!find_axes(problem, &src, max_lines * line_units(c), c)) {
    return false;
  }
  int32_t n = c->num_axes;
  /* They follow each other on both sides. */
  if (n == c->dst_run.num_axes || n == src.num_axes || c->dst_run.axes[n] != src.axes[n]) {
    return false;
  }
  c->cell_axis = src.axes[n];
  return true;
}

/* Chooses the groups and the stores. */
static void lay_groups(const rlo__family_query *query, rlo__packed_cells *c) {
  const rlo_problem *problem = query->problem;
  rlo__grid_plan *cpu = &c->cpu;
  int64_t cell_bytes = c->cell_units * cpu->geometry.unit_bytes;
  int64_t group_bytes = cpu->geometry.box_bytes / MIN_GROUPS;
  group_bytes = rlo__max(rlo__min(group_bytes, rlo__thresholds.plan_cpu_parts_bytes),
                         rlo__thresholds.plan_cpu_least_cells_bytes);
  group_bytes = rlo__schedule_group_bytes(&query->schedule, group_bytes);
  /* Groups of whole lines share none with their neighbours. */
  int64_t whole = RLO__CPU_LINE_BYTES / rlo__gcd(RLO__CPU_LINE_BYTES, cell_bytes);
  c->group_cells = rlo__ceil_div(group_bytes, cell_bytes * whole) * whole;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (!rlo__axis_run_leads(&c->dst_run, c->num_axes, a)) {
      rlo__grid_add_axis(&cpu->grid, problem, a, a == c->cell_axis ? c->group_cells : 1);
    }
  }
  const int32_t plane_axes[2] = {c->cell_axis, -1};
  rlo__grid_sort(&cpu->grid, cpu->order, plane_axes);
  cpu->is_nontemporal = rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  c->is_direct =
      cell_bytes % RLO__CPU_LINE_BYTES == 0 &&
      rlo__grid_dst_alignment(query, &cpu->grid, -1, RLO__CPU_LINE_BYTES) == RLO__CPU_LINE_BYTES;
}

/* From measurements: between 0.86 and 1, whatever the units. */
double rlo__packed_cells_predict(const rlo__packed_cells *cells) {
  return cells->cpu.geometry.unit_bytes == 16 ? 0.85 : 0.9;
}

rlo_status rlo__packed_cells_emit(const rlo__family_query *query, rlo__packed_cells *c,
                                  rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  const rlo__grid_plan *cpu = &c->cpu;
  int64_t extents[RLO__PACKED_CELL_MAX_AXES];
  int64_t strides[RLO__PACKED_CELL_MAX_AXES];
  int64_t first;
  int64_t last;
  lay_groups(query, c);
  if (!rlo__form_range(problem, &problem->src, &first, &last)) {
    return rlo__fail_overflow("a position of the source");
  }
  for (int32_t k = 0; k < RLO__PACKED_CELL_MAX_AXES; ++k) {
    bool is_axis = k < c->num_axes;
    extents[k] = is_axis ? problem->extents[c->dst_run.axes[k]] : 1;
    strides[k] = is_axis ? problem->src.axis[c->dst_run.axes[k]] : 0;
  }
  int64_t joined = rlo__max(line_units(c) / c->cell_units, 1);
  const rlo__constant constants[] = {
      {"RLO_VECTOR_SHUFFLE", query->device->has_vector_shuffle},
      {"RLO_CELL_X0", extents[0]},
      {"RLO_CELL_X1", extents[1]},
      {"RLO_CELL_X2", extents[2]},
      {"RLO_CELL_X3", extents[3]},
      {"RLO_CELL_S0", strides[0]},
      {"RLO_CELL_S1", strides[1]},
      {"RLO_CELL_S2", strides[2]},
      {"RLO_CELL_S3", strides[3]},
      {"RLO_CELL_UNITS", c->cell_units},
      {"RLO_CELL_JOINED", joined},
      {"RLO_CELL_LINES", rlo__ceil_div(c->cell_units * joined, line_units(c))},
      {"RLO_CELL_DIRECT", c->is_direct},
      {0}};
  const rlo__arg args[] = {rlo__arg_int(rlo__grid_find(&cpu->grid, c->cell_axis)),
                           rlo__arg_index(problem->extents[c->cell_axis]),
                           rlo__arg_index(c->group_cells),
                           rlo__arg_index(last - problem->src.base + 1),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, cpu, "cpu_packed_cells", constants, args, launch));
  rlo__launch_describe(launch, "cells of %lld, %lld to a group, units of %lld bytes, %s%s%s",
                       (long long)c->cell_units, (long long)c->group_cells,
                       (long long)cpu->geometry.unit_bytes, rlo__grid_order_name(cpu->order),
                       c->is_direct ? ", line by line" : ", joined",
                       cpu->is_nontemporal ? ", non-temporal stores" : "");
  return RLO_OK;
}
