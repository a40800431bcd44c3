/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/grid.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "plan/arith.h"

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

enum {
  MAX_LOCAL_ITEMS = 256,
  /** First lane of the shifts that go with the multipliers, if there are no
   *  more axes than this. */
  SHIFT_LANE = 8
};

/* Some drivers count the work-items of a launch in an unsigned int. */
#define MAX_GROUPS ((size_t)(UINT32_MAX / MAX_LOCAL_ITEMS))

/* --------------------------------------------------------------------- grid */

void rlo__grid_add_axis(rlo__grid *grid, const rlo_problem *problem, int32_t axis, int64_t step) {
  if (problem->extents[axis] > step) {
    rlo__grid_place_axis(grid, problem, axis, step);
  }
}

void rlo__grid_place_axis(rlo__grid *grid, const rlo_problem *problem, int32_t axis, int64_t step) {
  assert(grid->num_axes < RLO__GRID_MAX_AXES);
  int64_t extent = rlo__ceil_div(problem->extents[axis], step);
  /* Strides times extents fit int64 in every problem. */
  int64_t stride_step = extent == 1 ? 0 : step;
  grid->axes[grid->num_axes++] =
      (rlo__grid_axis){.problem_axis = axis,
                       .step = step,
                       .extent = extent,
                       .src_stride = problem->src.axis[axis] * stride_step,
                       .dst_stride = problem->dst.axis[axis] * stride_step};
}

void rlo__grid_add_blocks(rlo__grid *grid, const rlo_problem *problem, int32_t axis, int64_t size) {
  assert(grid->num_axes < RLO__GRID_MAX_AXES);
  grid->axes[grid->num_axes++] =
      (rlo__grid_axis){.problem_axis = axis,
                       .step = 1,
                       .extent = rlo__ceil_div(problem->extents[axis], size),
                       .src_stride = problem->src.axis[axis],
                       .dst_stride = problem->dst.axis[axis]};
}

static int compare_distance(int64_t a, int64_t b) {
  a = rlo__abs(a);
  b = rlo__abs(b);
  return (a < b) - (a > b);
}

static int compare(rlo__grid_order order, const int32_t plane_axes[2], const rlo__grid_axis *a,
                   const rlo__grid_axis *b) {
  int by_src = compare_distance(a->src_stride, b->src_stride);
  int by_dst = compare_distance(a->dst_stride, b->dst_stride);
  if (order == RLO__GRID_ORDER_DST) {
    return by_dst != 0 ? by_dst : by_src;
  }
  if (order == RLO__GRID_ORDER_PLANE) {
    bool a_is_in = a->problem_axis == plane_axes[0] || a->problem_axis == plane_axes[1];
    bool b_is_in = b->problem_axis == plane_axes[0] || b->problem_axis == plane_axes[1];
    if (a_is_in != b_is_in) {
      return a_is_in ? 1 : -1;
    }
  }
  return by_src != 0 ? by_src : by_dst;
}

void rlo__grid_sort(rlo__grid *grid, rlo__grid_order order, const int32_t plane_axes[2]) {
  for (int32_t n = 1; n < grid->num_axes; ++n) {
    rlo__grid_axis moved = grid->axes[n];
    int32_t place = n;
    while (place > 0 && compare(order, plane_axes, &grid->axes[place - 1], &moved) > 0) {
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

void rlo__grid_lead_axes(rlo__grid *grid, int32_t count) {
  int32_t added = count - grid->num_axes;
  memmove(grid->axes + added, grid->axes, (size_t)grid->num_axes * sizeof grid->axes[0]);
  for (int32_t k = 0; k < added; ++k) {
    grid->axes[k] = (rlo__grid_axis){.problem_axis = -1, .step = 1, .extent = 1};
  }
  grid->num_axes = count;
}

void rlo__grid_round_axes(rlo__grid *grid) {
  static const int32_t counts[] = {2, 3, 4, 6, 8, RLO__GRID_MAX_AXES};
  int32_t n = 0;
  while (counts[n] < grid->num_axes) {
    ++n;
  }
  rlo__grid_lead_axes(grid, counts[n]);
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
    RLO_FAIL_IF(__builtin_mul_overflow(groups, grid->axes[n].extent, &groups), RLO_OVERFLOW,
                "the number of work-groups leaves size_t");
  }
  *out_groups = groups;
  return RLO_OK;
}

int64_t rlo__grid_dst_alignment(const rlo__family_query *query, const rlo__grid *grid,
                                int32_t ld_axis, int64_t limit) {
  const rlo_form *dst = &query->problem->dst;
  int64_t unit_bytes = query->problem->unit_bits / 8;
  int64_t align = rlo__alignment_after(query->dst_alignment_bytes, dst->base * unit_bytes, limit);
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    align = rlo__alignment_after(align, grid->axes[n].dst_stride * unit_bytes, limit);
  }
  return ld_axis < 0 ? align : rlo__alignment_after(align, dst->axis[ld_axis] * unit_bytes, limit);
}

double rlo__grid_fullness(int64_t extent, int64_t piece) {
  return (double)extent / (double)(rlo__ceil_div(extent, piece) * piece);
}

/* ------------------------------------------------------------------- launch */

/*
 * 16 lanes of 32 bits serve every problem below 2 GiB, so that one program
 * serves all ranks; eight lanes of 64 bits take as many bytes.
 */
rlo__argument_kind rlo__grid_vector_kind(const rlo__geometry *geometry, int32_t num_grid_axes) {
  if (geometry->fits_32_bits) {
    return RLO__ARGUMENT_INT16;
  }
  return num_grid_axes <= 8 ? RLO__ARGUMENT_LONG8 : RLO__ARGUMENT_LONG16;
}

static bool guards_are_within_limits(const rlo__family_query *query, const rlo__geometry *geometry,
                                     int32_t num_grid_axes, int32_t num_scalars, rlo__str *why) {
  int32_t num_guards = query->problem->num_guards;
  if (num_guards > RLO__GRID_MAX_GUARDS) {
    return RLO__REFUSE(why, "it has %d guards; the kernel takes %d", num_guards,
                       RLO__GRID_MAX_GUARDS);
  }
  int64_t vector_bytes = rlo__argument_bytes(rlo__grid_vector_kind(geometry, num_grid_axes));
  int64_t needed_bytes = HEAD_BYTES + 3 * vector_bytes + num_scalars * INT64_C(8) +
                         num_guards * (vector_bytes + GUARD_SCALAR_BYTES);
  int64_t limit_bytes = query->device->max_parameter_bytes;
  if (limit_bytes <= 0) {
    limit_bytes = MIN_PARAMETER_BYTES;
  }
  if (needed_bytes > limit_bytes) {
    return RLO__REFUSE(why, "its %d guards need %lld bytes of arguments; the device takes %lld",
                       num_guards, (long long)needed_bytes, (long long)limit_bytes);
  }
  return true;
}

bool rlo__grid_is_within_limits(const rlo__family_query *query, const rlo__geometry *geometry,
                                int32_t num_grid_axes, int32_t num_scalars, rlo__str *why) {
  if (query->problem->num_terms > 0) {
    return RLO__REFUSE(why, "%d quotients are left, which only gather computes",
                       query->problem->num_terms);
  }
  if (num_grid_axes > RLO__GRID_MAX_AXES) {
    return RLO__REFUSE(why, "its groups would need %d coordinates; the kernel takes %d",
                       num_grid_axes, RLO__GRID_MAX_AXES);
  }
  return guards_are_within_limits(query, geometry, num_grid_axes, num_scalars, why);
}

void rlo__grid_cover(rlo__grid_plan *plan, const rlo_problem *problem, int64_t x_step,
                     int64_t y_step) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = a == plan->x_axis ? x_step : a == plan->y_axis ? y_step : 1;
    rlo__grid_add_axis(&plan->grid, problem, a, step);
  }
}

rlo_status rlo__grid_join_groups(const rlo__family_query *query, int64_t point_bytes,
                                 int64_t group_bytes, rlo__grid_plan *plan, int64_t *out_points) {
  size_t num_points;
  RLO_TRY(rlo__grid_num_groups(&plan->grid, &num_points));
  int64_t units = rlo__max(query->device->compute_units, 1);
  int64_t max = (int64_t)num_points / (GROUPS_PER_UNIT * units);
  int64_t points = rlo__ceil_div(group_bytes, point_bytes);
  points = rlo__max(rlo__min(points, max), 1);
  plan->num_groups = (size_t)rlo__ceil_div((int64_t)num_points, points);
  *out_points = points;
  return RLO_OK;
}

/* The arguments that the kernels share, after the memories and the fill. */
static rlo_status add_grid(const rlo__grid_plan *plan, bool is_gpu, rlo__launch *launch) {
  const rlo__grid *grid = &plan->grid;
  int64_t extents[RLO__GRID_MAX_AXES];
  int64_t src_strides[RLO__GRID_MAX_AXES];
  int64_t dst_strides[RLO__GRID_MAX_AXES];
  int64_t magic[RLO__GRID_MAX_AXES] = {0};
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    extents[n] = grid->axes[n].extent;
    src_strides[n] = grid->axes[n].src_stride;
    dst_strides[n] = grid->axes[n].dst_stride;
  }
  if (is_gpu) {
    rlo__gpu_grid_magic(grid, magic);
  }
  const rlo__arg args[] = {
      rlo__arg_int(grid->num_axes),
      rlo__arg_vector(extents, grid->num_axes),
      rlo__arg_vector(src_strides, grid->num_axes),
      rlo__arg_vector(dst_strides, grid->num_axes),
      is_gpu ? rlo__arg_lanes(RLO__ARG_INT16, magic, RLO__GRID_MAX_AXES) : (rlo__arg){0},
      {0}};
  return rlo__grid_add(plan, args, launch);
}

rlo_status rlo__grid_begin(const rlo__family_query *query, const rlo__grid_plan *plan,
                           const char *kernel_file, rlo__launch *launch) {
  const rlo__geometry *g = &plan->geometry;
  bool is_gpu = query->device_class == RLO_DEVICE_CLASS_GPU;
  int64_t local_items = is_gpu ? rlo__gpu_local_items(query->device) : 1;
  size_t num_groups = plan->num_groups;
  rlo__argument_kind vector = rlo__grid_vector_kind(g, plan->grid.num_axes);
  const rlo__constant constants[] = {{"RLO_UNIT_BYTES", g->unit_bytes},
                                     {"RLO_GRID_RANK", rlo__argument_lanes(vector)},
                                     {"RLO_INDEX32", g->fits_32_bits},
                                     {"RLO_PAD_GUARDS", g->num_pad_guards},
                                     {"RLO_SKIP_GUARDS", g->num_skip_guards},
                                     {"RLO_NT", plan->is_nontemporal},
                                     {"RLO_PREFETCH", plan->is_prefetching},
                                     {is_gpu ? "RLO_GRID_AXES" : NULL, plan->grid.num_axes},
                                     {"RLO_LOCAL", local_items},
                                     {0}};
  RLO_TRY(rlo__launch_begin(query->problem, kernel_file, RLO__LAUNCH_ORIGIN | RLO__LAUNCH_FILL,
                            launch));
  if (num_groups == 0) {
    RLO_TRY(rlo__grid_num_groups(&plan->grid, &num_groups));
  }
  rlo__launch_set_groups(launch, num_groups, local_items);
  RLO_TRY(rlo__launch_define_all(launch, constants));
  return add_grid(plan, is_gpu, launch);
}

rlo_status rlo__grid_add(const rlo__grid_plan *plan, const rlo__arg *args, rlo__launch *launch) {
  const rlo__argument_kind kinds[] = {
      [RLO__ARG_INT] = RLO__ARGUMENT_INT,
      [RLO__ARG_INDEX] = plan->geometry.fits_32_bits ? RLO__ARGUMENT_INT : RLO__ARGUMENT_LONG,
      [RLO__ARG_LONG] = RLO__ARGUMENT_LONG,
      [RLO__ARG_VECTOR] = rlo__grid_vector_kind(&plan->geometry, plan->grid.num_axes),
      [RLO__ARG_INT16] = RLO__ARGUMENT_INT16,
      [RLO__ARG_INDEX16] =
          plan->geometry.fits_32_bits ? RLO__ARGUMENT_INT16 : RLO__ARGUMENT_LONG16};
  for (const rlo__arg *arg = args; arg->kind != RLO__ARG_END; ++arg) {
    bool is_vector = arg->kind >= RLO__ARG_VECTOR;
    RLO_TRY(rlo__launch_argument(launch, kinds[arg->kind], is_vector ? arg->numbers : &arg->number,
                                 is_vector ? arg->count : 1));
  }
  return RLO_OK;
}

static int64_t coefficient(const rlo_form *form, int32_t axis, int64_t sign) {
  return axis < 0 ? 0 : sign * form->axis[axis];
}

static rlo_status add_guard(const rlo__grid_plan *plan, const rlo_guard *guard,
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
    coefs[n] =
        is_whole ? 0 : coefficient(form, grid->axes[n].problem_axis, sign) * grid->axes[n].step;
  }
  const rlo__arg args[] = {rlo__arg_vector(coefs, grid->num_axes),
                           rlo__arg_long(base),
                           rlo__arg_long(guard->limit),
                           rlo__arg_long(coefficient(form, plan->x_axis, sign)),
                           rlo__arg_long(coefficient(form, plan->y_axis, sign)),
                           {0}};
  return rlo__grid_add(plan, args, launch);
}

static rlo_status add_guards(const rlo_problem *problem, const rlo__grid_plan *plan,
                             rlo__launch *launch) {
  const rlo_guard *guards[RLO_MAX_GUARDS];
  rlo__geometry_list_guards(problem, guards);
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    RLO_TRY(add_guard(plan, guards[g], launch));
  }
  return RLO_OK;
}

rlo_status rlo__grid_emit(const rlo__family_query *query, const rlo__grid_plan *plan,
                          const char *kernel_file, const rlo__constant *constants,
                          const rlo__arg *args, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  bool computes = problem->update == RLO_UPDATE_COMBINE;
  RLO_TRY(rlo__grid_begin(query, plan, kernel_file, launch));
  if (computes) {
    RLO_TRY(rlo__arith_begin(query, launch));
  }
  RLO_TRY(rlo__launch_define_all(launch, constants));
  RLO_TRY(rlo__grid_add(plan, args, launch));
  if (computes) {
    RLO_TRY(rlo__arith_add_numbers(problem, launch));
  }
  return add_guards(problem, plan, launch);
}

/* ------------------------------------------------------- kernels of the GPU */

int64_t rlo__gpu_local_items(const rlo_device_info *device) {
  int64_t items = 1;
  while (items < MAX_LOCAL_ITEMS && 2 * items <= device->max_work_group_items) {
    items *= 2;
  }
  return items;
}

int64_t rlo__gpu_magic(int64_t divisor, int32_t *out_log2) {
  int32_t log2 = 0;
  while ((INT64_C(1) << log2) < divisor) {
    ++log2;
  }
  *out_log2 = log2;
  int64_t magic = rlo__ceil_div(INT64_C(1) << (31 + log2), divisor);
  return magic > INT32_MAX ? magic - (INT64_C(1) << 32) : magic;
}

bool rlo__gpu_can_launch(size_t num_groups, rlo__str *why) {
  if (num_groups > MAX_GROUPS) {
    return RLO__REFUSE(why, "it would need %zu work-groups; a launch has at most %zu", num_groups,
                       MAX_GROUPS);
  }
  return true;
}

void rlo__gpu_grid_magic(const rlo__grid *grid, int64_t out_magic[RLO__GRID_MAX_AXES]) {
  memset(out_magic, 0, RLO__GRID_MAX_AXES * sizeof out_magic[0]);
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    int32_t log2;
    out_magic[n] = rlo__gpu_magic(grid->axes[n].extent, &log2);
    if (grid->num_axes <= SHIFT_LANE) {
      out_magic[SHIFT_LANE + n] = log2;
    }
  }
}

bool rlo__gpu_has_local_bytes(const rlo_device_info *device, const char *use, int64_t bytes,
                              rlo__str *why) {
  return bytes <= device->local_memory_bytes ||
         RLO__REFUSE(why, "its %s %lld bytes of local memory; the device has %lld", use,
                     (long long)bytes, (long long)device->local_memory_bytes);
}

/* ---------------------------------------------------- stores of CPU kernels */

bool rlo__cpu_wants_nontemporal(const rlo__family_query *query, const rlo__geometry *geometry) {
  return query->device->has_nontemporal_store &&
         (query->schedule.stores == RLO__STORES_NONTEMPORAL ||
          geometry->box_bytes >= rlo__thresholds.plan_cpu_past_caches_bytes);
}

bool rlo__cpu_rows_are_lines(const rlo__family_query *query, int32_t axis, int64_t piece_units) {
  int64_t piece_bytes = piece_units * (rlo_problem_dst_unit_bits(query->problem) / 8);
  return piece_bytes % RLO__CPU_LINE_BYTES == 0 &&
         rlo__dst_alignment(query, axis, RLO__CPU_LINE_BYTES) == RLO__CPU_LINE_BYTES;
}

int64_t rlo__cpu_chunk_units(const rlo_problem *problem, const rlo__geometry *geometry,
                             int32_t run) {
  int64_t units = run >= 0 ? problem->extents[run] : 1;
  int64_t chunk_units = rlo__thresholds.plan_cpu_chunk_bytes / geometry->unit_bytes;
  return units > 2 * chunk_units ? chunk_units : units;
}

bool rlo__cpu_takes_row_guards(const rlo_problem *problem, int32_t run, rlo__str *why) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    int64_t along = problem->guards[g].form.axis[run];
    if (along < -1 || along > 1) {
      return RLO__REFUSE(
          why, "guard %d has the coefficient %lld along the row; the kernel takes -1, 0 and 1", g,
          (long long)along);
    }
  }
  return true;
}
