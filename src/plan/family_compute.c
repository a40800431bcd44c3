/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/arith.h"
#include "plan/baked.h"
#include "plan/family.h"

/* Families compute of both classes: cl/compute.cl, which takes any problem that
 * computes. */

enum {
  /** Cells along a row that one work-item of a CPU computes; and how many
   *  points a work-group should come to. */
  CPU_SEGMENT_CELLS = 1024,
  CPU_GROUP_POINTS = 4096,
  CPU_MAX_LOCAL = 64,
  GPU_LOCAL = 256
};

/* Work-items of a launch: the kernel loops beyond. */
#define MAX_WORK_ITEMS (INT64_C(1) << 30)

static bool is_applicable(const rlo_request *request, rlo__str *why) {
  if (request->problem->update != RLO_UPDATE_COMBINE) {
    rlo__str_append(why, "it moves bits and computes nothing");
    return false;
  }
  return true;
}

/* The shape of the work: how the cells are cut and handed out. */
typedef struct cut {
  int64_t segment, row_segments, segments;
  /** Of the points of a cell: all axes but the last, and the last. */
  int64_t sum_rows, sum_row;
  int64_t sum_levels;
  int64_t local, items;
} cut;

static rlo_status count_points(const rlo_problem *problem,
                               int32_t first,
                               int32_t end,
                               int64_t *out) {
  *out = 1;
  for (int32_t a = first; a < end; ++a) {
    if (!rlo__mul(*out, problem->extents[a], out)) {
      return RLO_FAIL(RLO_OVERFLOW,
                      "the points of a box of %d axes do not fit into 64 bits",
                      problem->num_axes);
    }
  }
  return RLO_OK;
}

static rlo_status cut_sum(const rlo_problem *problem, int32_t kept, cut *out) {
  int32_t last = problem->num_axes - 1;
  out->sum_rows = out->sum_row = out->sum_levels = 1;
  if (kept > last) {
    return RLO_OK;
  }
  out->sum_row = problem->extents[last];
  RLO_TRY(count_points(problem, kept, last, &out->sum_rows));
  int64_t blocks;
  if (!rlo__mul(
          out->sum_rows, rlo__ceil_div(out->sum_row, RLO_SUM_BLOCK), &blocks)) {
    return RLO_FAIL(RLO_OVERFLOW, "the blocks of a sum leave 64 bits");
  }
  while (blocks >> out->sum_levels != 0) {
    ++out->sum_levels;
  }
  return RLO_OK;
}

static rlo_status cut_box(const rlo_problem *problem,
                          const rlo_device_info *device,
                          bool is_gpu,
                          cut *out) {
  int32_t kept = problem->num_axes - rlo__arith_num_sum_axes(problem);
  RLO_TRY(cut_sum(problem, kept, out));
  int64_t inner = kept > 0 ? problem->extents[kept - 1] : 1;
  int64_t points = out->sum_row < CPU_GROUP_POINTS / out->sum_rows
                       ? out->sum_row * out->sum_rows
                       : CPU_GROUP_POINTS;
  int64_t limit =
      is_gpu ? 1 : CPU_SEGMENT_CELLS / (points < 1024 ? points : 1024);
  out->segment = inner < limit ? inner : limit;
  out->row_segments = rlo__ceil_div(inner, out->segment);
  RLO_TRY(count_points(problem, 0, kept > 0 ? kept - 1 : 0, &out->segments));
  if (!rlo__mul(out->segments, out->row_segments, &out->segments)) {
    return RLO_FAIL(RLO_OVERFLOW, "the cells do not fit into 64 bits");
  }
  int64_t most = is_gpu ? GPU_LOCAL : CPU_MAX_LOCAL;
  if (device->max_work_group_items < most) {
    most = device->max_work_group_items;
  }
  out->local = 1;
  while (out->local * 2 <= most &&
         (is_gpu || out->local * out->segment * points < CPU_GROUP_POINTS)) {
    out->local *= 2;
  }
  int64_t groups = rlo__ceil_div(out->segments, out->local);
  int64_t max_groups = MAX_WORK_ITEMS / out->local;
  out->items = (groups < max_groups ? groups : max_groups) * out->local;
  return RLO_OK;
}

static rlo_status emit(const rlo_request *request,
                       bool is_gpu,
                       rlo_launch *launch) {
  const rlo_problem *problem = request->problem;
  cut c = {0};
  RLO_TRY(cut_box(problem, request->device, is_gpu, &c));
  bool is_index32 = rlo__baked_fits_32_bits(problem) &&
                    c.segments <= INT32_MAX - CPU_SEGMENT_CELLS &&
                    c.row_segments * c.segment <= INT32_MAX &&
                    c.sum_rows <= INT32_MAX &&
                    c.sum_row <= INT32_MAX - RLO_SUM_BLOCK;
  launch->kernel_file = "compute";
  RLO_TRY(rlo__launch_define(launch, "RLO_INDEX32", is_index32));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOCAL", c.local));
  RLO_TRY(rlo__baked_define(problem, launch));
  RLO_TRY(rlo__arith_define(problem, launch));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_SUM_AXES", rlo__arith_num_sum_axes(problem)));
  RLO_TRY(rlo__launch_define(launch, "RLO_SUM_ROWS", c.sum_rows));
  RLO_TRY(rlo__launch_define(launch, "RLO_SUM_LEVELS", c.sum_levels));
  RLO_TRY(rlo__arith_define_ends(problem, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_SEGMENT", c.segment));
  RLO_TRY(rlo__launch_define(launch, "RLO_ROW_SEGMENTS", c.row_segments));
  RLO_TRY(rlo__launch_define(launch, "RLO_SEGMENTS", c.segments));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOOP", c.items < c.segments));
  RLO_TRY(rlo__baked_add_arguments(problem, launch));
  RLO_TRY(rlo__arith_add_factors(problem, launch));
  launch->work_dim = 1;
  launch->global_size[0] = (size_t)c.items;
  launch->local_size[0] = (size_t)c.local;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__arith_describe(problem, &words);
  rlo__str_printf(&words,
                  ", segments of %lld cells, %lld to a group",
                  (long long)c.segment,
                  (long long)c.local);
  return RLO_OK;
}

static rlo_status emit_cpu(const rlo_request *request, rlo_launch *launch) {
  return emit(request, false, launch);
}

static rlo_status emit_gpu(const rlo_request *request, rlo_launch *launch) {
  return emit(request, true, launch);
}

/* Below whatever else takes the problem. */
static double predict(const rlo_request *request) {
  (void)request;
  return 0.05;
}

const rlo_family rlo__family_cpu_compute = {
    "compute",
    RLO_DEVICE_CLASS_CPU,
    is_applicable,
    predict,
    emit_cpu,
    RLO_FAMILY_BAKES | RLO_FAMILY_LOADS | RLO_FAMILY_COMPUTES};

const rlo_family rlo__family_gpu_compute = {
    "compute",
    RLO_DEVICE_CLASS_GPU,
    is_applicable,
    predict,
    emit_gpu,
    RLO_FAMILY_BAKES | RLO_FAMILY_LOADS | RLO_FAMILY_COMPUTES};
