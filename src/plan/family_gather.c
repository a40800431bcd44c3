/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/baked.h"
#include "plan/gpu_launch.h"

/* Families gather of both classes: cl/gather.cl, which takes any problem. */

/* Units along a row that one work-item of a CPU moves, and how many a
 * work-group should come to: less, and handing out groups costs more than
 * their work. */
enum { CPU_SEGMENT_ELEMS = 1024, CPU_GROUP_ELEMS = 4096, CPU_MAX_LOCAL = 64 };

/* A work-item of a GPU has so many units on their way at a time, unless forms
 * have more coefficients than this: each unit is code of its own. */
enum { GPU_LOCAL = 256, GPU_PIECES = 4, GPU_MAX_COEFFICIENTS = 256 };

/* Work-items of a launch: the kernel loops beyond. Some drivers count them in
 * an int. */
#define MAX_WORK_ITEMS (INT64_C(1) << 30)

static bool is_applicable(const rlo_request *request, rlo__str *why) {
  (void)request;
  (void)why;
  return true;
}

/* The shape of the work: how the box is cut and handed out. */
typedef struct cut {
  int64_t segment, row_segments, segments;
  int64_t local, items;
  /** Segments that a work-item moves together. */
  int64_t pieces;
} cut;

/* Coefficients of all forms of a problem. */
static int32_t num_coefficients(const rlo_problem *problem) {
  return (1 + problem->num_axes + problem->num_terms) *
         (2 + problem->num_terms + problem->num_guards);
}

static rlo_status cut_box(const rlo_problem *problem,
                          const rlo_device_info *device,
                          bool is_gpu,
                          cut *out) {
  int32_t last = problem->num_axes - 1;
  int64_t inner = last >= 0 ? problem->extents[last] : 1;
  int64_t limit = is_gpu ? 1 : CPU_SEGMENT_ELEMS;
  out->segment = inner < limit ? inner : limit;
  out->row_segments = rlo__ceil_div(inner, out->segment);
  out->segments = out->row_segments;
  for (int32_t a = 0; a < last; ++a) {
    if (!rlo__mul(out->segments, problem->extents[a], &out->segments)) {
      return RLO_FAIL(RLO_OVERFLOW,
                      "the points of a box of %d axes do not fit into 64 bits",
                      problem->num_axes);
    }
  }
  int64_t most = is_gpu ? GPU_LOCAL : CPU_MAX_LOCAL;
  if (device->max_work_group_items < most) {
    most = device->max_work_group_items;
  }
  out->local = 1;
  while (out->local * 2 <= most &&
         (is_gpu || out->local * out->segment < CPU_GROUP_ELEMS)) {
    out->local *= 2;
  }
  out->pieces = is_gpu && out->segments >= GPU_PIECES * out->local &&
                        num_coefficients(problem) <= GPU_MAX_COEFFICIENTS
                    ? GPU_PIECES
                    : 1;
  int64_t groups = rlo__ceil_div(out->segments, out->local * out->pieces);
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
                    c.segments <= INT32_MAX - CPU_SEGMENT_ELEMS &&
                    c.row_segments * c.segment <= INT32_MAX;
  launch->kernel_file = "gather";
  RLO_TRY(rlo__launch_define(launch, "RLO_UNIT_BYTES", problem->unit_bits / 8));
  RLO_TRY(rlo__launch_define(launch, "RLO_INDEX32", is_index32));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOCAL", c.local));
  RLO_TRY(rlo__baked_define(problem, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_SEGMENT", c.segment));
  RLO_TRY(rlo__launch_define(launch, "RLO_ROW_SEGMENTS", c.row_segments));
  RLO_TRY(rlo__launch_define(launch, "RLO_SEGMENTS", c.segments));
  RLO_TRY(rlo__launch_define(launch, "RLO_PIECES", c.pieces));
  RLO_TRY(
      rlo__launch_define(launch, "RLO_LOOP", c.items * c.pieces < c.segments));
  RLO_TRY(rlo__baked_add_arguments(problem, launch));
  launch->work_dim = 1;
  launch->global_size[0] = (size_t)c.items;
  launch->local_size[0] = (size_t)c.local;
  int64_t group_segments = c.local * c.pieces;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(&words,
                  "segments of %lld, %lld to a group, units of %d bytes, "
                  "%d %s, %d guards",
                  (long long)c.segment,
                  (long long)group_segments,
                  problem->unit_bits / 8,
                  problem->num_terms,
                  rlo_problem_loads(problem) ? "terms" : "quotients",
                  problem->num_guards);
  return RLO_OK;
}

static rlo_status emit_cpu(const rlo_request *request, rlo_launch *launch) {
  return emit(request, false, launch);
}

static rlo_status emit_gpu(const rlo_request *request, rlo_launch *launch) {
  return emit(request, true, launch);
}

/* Units that lie one after the other in the source as in the destination. */
static bool is_streaming(const rlo_problem *problem) {
  int32_t last = problem->num_axes - 1;
  return last < 0 || (problem->src.axis[last] == 1 &&
                      problem->dst.axis[last] == 1 && problem->num_terms == 0);
}

static double predict_cpu(const rlo_request *request) {
  return is_streaming(request->problem) ? 0.4 : 0.05;
}

/* Not measured: reads that jump fetch a whole sector each. */
static double predict_gpu(const rlo_request *request) {
  if (is_streaming(request->problem)) {
    return 0.5;
  }
  return 0.4 * request->problem->unit_bits / (8.0 * RLO_GPU_SECTOR_BYTES);
}

const rlo_family rlo__family_cpu_gather = {"gather",
                                           RLO_DEVICE_CLASS_CPU,
                                           is_applicable,
                                           predict_cpu,
                                           emit_cpu,
                                           RLO_FAMILY_BAKES | RLO_FAMILY_LOADS};

const rlo_family rlo__family_gpu_gather = {"gather",
                                           RLO_DEVICE_CLASS_GPU,
                                           is_applicable,
                                           predict_gpu,
                                           emit_gpu,
                                           RLO_FAMILY_BAKES | RLO_FAMILY_LOADS};
