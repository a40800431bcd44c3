/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/arith.h"
#include "plan/geometry.h"
#include "plan/specialized.h"

/* Families compute of both classes: cl/compute.cl, which takes any problem that
 * computes. */

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  if (query->problem->update != RLO_UPDATE_COMBINE) {
    rlo__str_append(why, "it moves bits and computes nothing");
    return false;
  }
  return true;
}

static rlo_status emit(const rlo__family_query *query,
                       bool is_gpu,
                       rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  int32_t last = problem->num_axes - 1;
  int32_t sum_axes = rlo__arith_num_sum_axes(problem);
  int32_t kept_axes = problem->num_axes - sum_axes;
  /* Points of a cell: along all summed axes but the last, and along that. */
  int64_t sum_rows = 1;
  int64_t sum_row = sum_axes > 0 ? problem->extents[last] : 1;
  RLO_TRY(rlo__geometry_count_points(problem, kept_axes, last, &sum_rows));
  int64_t cell_points;
  if (!rlo__mul(sum_rows, sum_row, &cell_points)) {
    cell_points = INT64_MAX;
  }
  int64_t sum_levels;
  RLO_TRY(rlo__arith_sum_levels(problem, &sum_levels));
  rlo__partition cut;
  RLO_TRY(rlo__partition_cells(
      problem, kept_axes, cell_points, query->device, is_gpu, &cut));
  bool is_index32 = rlo__specialized_fits_32_bits(problem) &&
                    cut.fits_32_bits && sum_rows <= INT32_MAX &&
                    sum_row <= INT32_MAX - RLO_SUM_BLOCK;
  launch->kernel_file = "compute";
  RLO_TRY(rlo__launch_define(launch, "RLO_INDEX32", is_index32));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOCAL", cut.local));
  RLO_TRY(rlo__specialized_define(problem, launch));
  RLO_TRY(rlo__arith_define(problem, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_SUM_AXES", sum_axes));
  RLO_TRY(rlo__launch_define(launch, "RLO_SUM_ROWS", sum_rows));
  RLO_TRY(rlo__launch_define(launch, "RLO_SUM_LEVELS", sum_levels));
  RLO_TRY(rlo__arith_define_ends(problem, launch));
  RLO_TRY(rlo__partition_define(&cut, launch));
  RLO_TRY(rlo__partition_size_launch(&cut, 1, launch));
  RLO_TRY(rlo__specialized_add_arguments(problem, launch));
  RLO_TRY(rlo__arith_add_factors(problem, launch));
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__arith_describe(problem, &words);
  rlo__str_printf(&words,
                  ", segments of %lld cells, %lld to a group",
                  (long long)cut.segment,
                  (long long)cut.local);
  return RLO_OK;
}

static rlo_status emit_cpu(const rlo__family_query *query,
                           rlo__launch *launch) {
  return emit(query, false, launch);
}

static rlo_status emit_gpu(const rlo__family_query *query,
                           rlo__launch *launch) {
  return emit(query, true, launch);
}

/* Below whatever else takes the problem. */
static double predict(const rlo__family_query *query) {
  (void)query;
  return 0.05;
}

const rlo__family rlo__family_cpu_compute = {
    "compute",
    RLO_DEVICE_CLASS_CPU,
    is_applicable,
    predict,
    emit_cpu,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS | RLO__FAMILY_COMPUTES};

const rlo__family rlo__family_gpu_compute = {
    "compute",
    RLO_DEVICE_CLASS_GPU,
    is_applicable,
    predict,
    emit_gpu,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS | RLO__FAMILY_COMPUTES};
