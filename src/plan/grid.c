/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/grid.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"

/* Bytes of arguments that every OpenCL device must take, for devices that do
 * not report their limit. */
#define MIN_PARAMETER_BYTES 1024

/* Arguments before the family's own, without the three grid vectors: four for
 * the memories, two for the fill, the number of grid axes. */
#define HEAD_BYTES INT64_C(52)

/* Scalars of a guard: base, limit, x, y. */
#define GUARD_SCALAR_BYTES INT64_C(32)

/* Groups that keep each compute unit busy, whatever they move. */
#define GROUPS_PER_UNIT 4

/* --------------------------------------------------------------------- grid */

rlo_status rlo__grid_add_axis(rlo__grid *grid,
                              const rlo_problem *problem,
                              int32_t axis,
                              int64_t step) {
  return problem->extents[axis] <= step
             ? RLO_OK
             : rlo__grid_place_axis(grid, problem, axis, step);
}

rlo_status rlo__grid_place_axis(rlo__grid *grid,
                                const rlo_problem *problem,
                                int32_t axis,
                                int64_t step) {
  if (grid->num_axes == RLO__GRID_MAX_AXES) {
    return RLO_FAIL(RLO_INTERNAL,
                    "work-groups need more than %d coordinates",
                    RLO__GRID_MAX_AXES);
  }
  rlo__grid_axis *added = &grid->axes[grid->num_axes++];
  added->problem_axis = axis;
  added->step = step;
  added->extent = rlo__ceil_div(problem->extents[axis], step);
  /* Strides times extents fit int64 in every problem. */
  bool is_one = added->extent == 1;
  added->src_stride = is_one ? 0 : problem->src.axis[axis] * step;
  added->dst_stride = is_one ? 0 : problem->dst.axis[axis] * step;
  return RLO_OK;
}

rlo_status rlo__grid_add_blocks(rlo__grid *grid,
                                const rlo_problem *problem,
                                int32_t axis,
                                int64_t size) {
  if (grid->num_axes == RLO__GRID_MAX_AXES) {
    return RLO_FAIL(RLO_INTERNAL,
                    "work-groups need more than %d coordinates",
                    RLO__GRID_MAX_AXES);
  }
  grid->axes[grid->num_axes++] =
      (rlo__grid_axis){.problem_axis = axis,
                       .step = 1,
                       .extent = rlo__ceil_div(problem->extents[axis], size),
                       .src_stride = problem->src.axis[axis],
                       .dst_stride = problem->dst.axis[axis]};
  return RLO_OK;
}

static int compare_distance(int64_t a, int64_t b) {
  a = rlo__abs(a);
  b = rlo__abs(b);
  return (a < b) - (a > b);
}

static int compare(rlo__grid_order order,
                   const int32_t plane_axes[2],
                   const rlo__grid_axis *a,
                   const rlo__grid_axis *b) {
  int by_src = compare_distance(a->src_stride, b->src_stride);
  int by_dst = compare_distance(a->dst_stride, b->dst_stride);
  if (order == RLO__GRID_ORDER_DST) {
    return by_dst != 0 ? by_dst : by_src;
  }
  if (order == RLO__GRID_ORDER_PLANE) {
    bool a_is_in =
        a->problem_axis == plane_axes[0] || a->problem_axis == plane_axes[1];
    bool b_is_in =
        b->problem_axis == plane_axes[0] || b->problem_axis == plane_axes[1];
    if (a_is_in != b_is_in) {
      return a_is_in ? 1 : -1;
    }
  }
  return by_src != 0 ? by_src : by_dst;
}

void rlo__grid_sort(rlo__grid *grid,
                    rlo__grid_order order,
                    const int32_t plane_axes[2]) {
  for (int32_t n = 1; n < grid->num_axes; ++n) {
    rlo__grid_axis moved = grid->axes[n];
    int32_t place = n;
    while (place > 0 &&
           compare(order, plane_axes, &grid->axes[place - 1], &moved) > 0) {
      grid->axes[place] = grid->axes[place - 1];
      --place;
    }
    grid->axes[place] = moved;
  }
}

void rlo__grid_sort_by_src(rlo__grid *grid) {
  static const int32_t none[2] = {-1, -1};
  rlo__grid_sort(grid, RLO__GRID_ORDER_OWN, none);
}

int32_t rlo__grid_find(const rlo__grid *grid, int32_t problem_axis) {
  for (int32_t n = 0; problem_axis >= 0 && n < grid->num_axes; ++n) {
    if (grid->axes[n].problem_axis == problem_axis) {
      return n;
    }
  }
  return -1;
}

rlo_status rlo__grid_num_groups(const rlo__grid *grid, size_t *out_groups) {
  size_t groups = 1;
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    if (__builtin_mul_overflow(groups, grid->axes[n].extent, &groups)) {
      return RLO_FAIL(RLO_OVERFLOW, "the number of work-groups leaves size_t");
    }
  }
  *out_groups = groups;
  return RLO_OK;
}

double rlo__grid_fullness(int64_t extent, int64_t piece) {
  return (double)extent / (double)(rlo__ceil_div(extent, piece) * piece);
}

/* ------------------------------------------------------------------- launch */

/*
 * 16 lanes of 32 bits serve every problem below 2 GiB, so that one program
 * serves all ranks; eight lanes of 64 bits take as many bytes.
 */
rlo__argument_kind rlo__grid_vector_kind(const rlo__geometry *geometry,
                                         int32_t num_grid_axes) {
  if (geometry->fits_32_bits) {
    return RLO__ARGUMENT_INT16;
  }
  return num_grid_axes <= 8 ? RLO__ARGUMENT_LONG8 : RLO__ARGUMENT_LONG16;
}

static bool guards_are_within_limits(const rlo__family_query *query,
                                     const rlo__geometry *geometry,
                                     int32_t num_grid_axes,
                                     int32_t num_scalars,
                                     rlo__str *why) {
  int32_t num_guards = query->problem->num_guards;
  if (num_guards > RLO__GRID_MAX_GUARDS) {
    rlo__str_printf(why,
                    "it has %d guards; the kernel takes %d",
                    num_guards,
                    RLO__GRID_MAX_GUARDS);
    return false;
  }
  int64_t vector_bytes =
      rlo__argument_bytes(rlo__grid_vector_kind(geometry, num_grid_axes));
  int64_t needed_bytes = HEAD_BYTES + 3 * vector_bytes +
                         num_scalars * INT64_C(8) +
                         num_guards * (vector_bytes + GUARD_SCALAR_BYTES);
  int64_t limit_bytes = query->device->max_parameter_bytes;
  if (limit_bytes <= 0) {
    limit_bytes = MIN_PARAMETER_BYTES;
  }
  if (needed_bytes > limit_bytes) {
    rlo__str_printf(why,
                    "its %d guards need %lld bytes of arguments; the device "
                    "takes %lld",
                    num_guards,
                    (long long)needed_bytes,
                    (long long)limit_bytes);
    return false;
  }
  return true;
}

bool rlo__grid_is_within_limits(const rlo__family_query *query,
                                const rlo__geometry *geometry,
                                int32_t num_grid_axes,
                                int32_t num_scalars,
                                rlo__str *why) {
  if (query->problem->num_terms > 0) {
    rlo__str_printf(why,
                    "%d quotients are left, which only gather computes",
                    query->problem->num_terms);
    return false;
  }
  if (num_grid_axes > RLO__GRID_MAX_AXES) {
    rlo__str_printf(why,
                    "its groups would need %d coordinates; the kernel takes %d",
                    num_grid_axes,
                    RLO__GRID_MAX_AXES);
    return false;
  }
  return guards_are_within_limits(
      query, geometry, num_grid_axes, num_scalars, why);
}

static rlo_status add_defines(const rlo__grid_plan *plan,
                              rlo__argument_kind vector,
                              rlo__launch *launch) {
  const rlo__geometry *g = &plan->geometry;
  RLO_TRY(rlo__launch_define(launch, "RLO_UNIT_BYTES", g->unit_bytes));
  RLO_TRY(
      rlo__launch_define(launch, "RLO_GRID_RANK", rlo__argument_lanes(vector)));
  RLO_TRY(rlo__launch_define(launch, "RLO_INDEX32", g->fits_32_bits));
  RLO_TRY(rlo__launch_define(launch, "RLO_PAD_GUARDS", g->num_pad_guards));
  RLO_TRY(rlo__launch_define(launch, "RLO_SKIP_GUARDS", g->num_skip_guards));
  RLO_TRY(rlo__launch_define(launch, "RLO_NT", plan->is_nontemporal));
  return rlo__launch_define(launch, "RLO_PREFETCH", plan->is_prefetching);
}

static rlo_status add_grid(const rlo__grid *grid,
                           rlo__argument_kind vector,
                           rlo__launch *launch) {
  int64_t extents[RLO__GRID_MAX_AXES];
  int64_t src_strides[RLO__GRID_MAX_AXES];
  int64_t dst_strides[RLO__GRID_MAX_AXES];
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    extents[n] = grid->axes[n].extent;
    src_strides[n] = grid->axes[n].src_stride;
    dst_strides[n] = grid->axes[n].dst_stride;
  }
  RLO_TRY(rlo__grid_add_int(launch, grid->num_axes));
  RLO_TRY(rlo__launch_argument(launch, vector, extents, grid->num_axes));
  RLO_TRY(rlo__launch_argument(launch, vector, src_strides, grid->num_axes));
  return rlo__launch_argument(launch, vector, dst_strides, grid->num_axes);
}

rlo_status rlo__grid_begin(const rlo__family_query *query,
                           const rlo__grid_plan *plan,
                           const char *kernel_file,
                           rlo__launch *launch) {
  rlo__argument_kind vector =
      rlo__grid_vector_kind(&plan->geometry, plan->grid.num_axes);
  RLO_TRY(rlo__launch_begin(query->problem,
                            kernel_file,
                            RLO__LAUNCH_ORIGIN | RLO__LAUNCH_FILL,
                            launch));
  launch->work_dim = 1;
  launch->local_size[0] = 1;
  RLO_TRY(rlo__grid_num_groups(&plan->grid, &launch->global_size[0]));
  RLO_TRY(add_defines(plan, vector, launch));
  return add_grid(&plan->grid, vector, launch);
}

int64_t rlo__grid_join_groups(const rlo__family_query *query,
                              int64_t point_bytes,
                              int64_t group_bytes,
                              rlo__launch *launch) {
  int64_t num_points = (int64_t)launch->global_size[0];
  int64_t units = rlo__max(query->device->compute_units, 1);
  int64_t max = num_points / (GROUPS_PER_UNIT * units);
  int64_t points = rlo__ceil_div(group_bytes, point_bytes);
  points = rlo__max(rlo__min(points, max), 1);
  launch->global_size[0] = (size_t)rlo__ceil_div(num_points, points);
  return points;
}

rlo_status rlo__grid_add_int(rlo__launch *launch, int64_t value) {
  return rlo__launch_argument(launch, RLO__ARGUMENT_INT, &value, 1);
}

rlo_status rlo__grid_add_index(const rlo__grid_plan *plan,
                               rlo__launch *launch,
                               int64_t value) {
  rlo__argument_kind kind =
      plan->geometry.fits_32_bits ? RLO__ARGUMENT_INT : RLO__ARGUMENT_LONG;
  return rlo__launch_argument(launch, kind, &value, 1);
}

rlo_status rlo__grid_add_vector(const rlo__grid_plan *plan,
                                rlo__launch *launch,
                                const int64_t *values,
                                int32_t count) {
  return rlo__launch_argument(
      launch,
      rlo__grid_vector_kind(&plan->geometry, plan->grid.num_axes),
      values,
      count);
}

static int64_t coefficient(const rlo_form *form, int32_t axis, int64_t sign) {
  return axis < 0 ? 0 : sign * form->axis[axis];
}

static rlo_status add_guard(const rlo__grid_plan *plan,
                            const rlo_guard *guard,
                            rlo__launch *launch) {
  /* 0 <= f < limit is equivalent to 0 <= limit - 1 - f < limit. */
  const rlo_form *form = &guard->form;
  int64_t sign = coefficient(form, plan->x_axis, 1) == -1 ? -1 : 1;
  int64_t base = sign < 0 ? guard->limit - 1 - form->base : form->base;
  int64_t coefs[RLO__GRID_MAX_AXES];
  const rlo__grid *grid = &plan->grid;
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    /* One step covers the axis: its product may not fit, and is multiplied by
     * 0. Blocks have steps of one point, whatever their number. */
    bool is_whole = grid->axes[n].extent == 1 && grid->axes[n].step > 1;
    coefs[n] = is_whole ? 0
                        : coefficient(form, grid->axes[n].problem_axis, sign) *
                              grid->axes[n].step;
  }
  int64_t x = coefficient(form, plan->x_axis, sign);
  int64_t y = coefficient(form, plan->y_axis, sign);
  RLO_TRY(rlo__launch_argument(
      launch,
      rlo__grid_vector_kind(&plan->geometry, grid->num_axes),
      coefs,
      grid->num_axes));
  RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &base, 1));
  RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &guard->limit, 1));
  RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &x, 1));
  return rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &y, 1);
}

rlo_status rlo__grid_add_guards(const rlo__family_query *query,
                                const rlo__grid_plan *plan,
                                rlo__launch *launch) {
  static const rlo_guard_kind kinds[] = {RLO_GUARD_PAD, RLO_GUARD_SKIP};
  const rlo_problem *problem = query->problem;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    for (int32_t g = 0; g < problem->num_guards; ++g) {
      if (problem->guards[g].kind == kinds[k]) {
        RLO_TRY(add_guard(plan, &problem->guards[g], launch));
      }
    }
  }
  return RLO_OK;
}

/* ---------------------------------------------------- stores of CPU kernels */

bool rlo__cpu_wants_nontemporal(const rlo__family_query *query,
                                const rlo__geometry *geometry) {
  return query->device->has_nontemporal_store &&
         (query->schedule.stores == RLO__STORES_NONTEMPORAL ||
          geometry->box_bytes >= rlo__thresholds.plan_cpu_past_caches_bytes);
}

int64_t rlo__cpu_dst_alignment(const rlo__family_query *query,
                               const rlo__grid *grid,
                               int32_t ld_axis) {
  const rlo_problem *problem = query->problem;
  int64_t unit_bytes = problem->unit_bits / 8;
  int64_t align = rlo__alignment_after(query->dst_alignment_bytes,
                                       problem->dst.base * unit_bytes,
                                       RLO__CPU_LINE_BYTES);
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    align = rlo__alignment_after(
        align, grid->axes[n].dst_stride * unit_bytes, RLO__CPU_LINE_BYTES);
  }
  if (ld_axis >= 0) {
    align = rlo__alignment_after(
        align, problem->dst.axis[ld_axis] * unit_bytes, RLO__CPU_LINE_BYTES);
  }
  return align;
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

int64_t rlo__cpu_chunk_units(const rlo_problem *problem,
                             const rlo__geometry *geometry,
                             int32_t run) {
  int64_t units = run >= 0 ? problem->extents[run] : 1;
  int64_t chunk_units =
      rlo__thresholds.plan_cpu_chunk_bytes / geometry->unit_bytes;
  return units > 2 * chunk_units ? chunk_units : units;
}

bool rlo__cpu_takes_row_guards(const rlo_problem *problem,
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
