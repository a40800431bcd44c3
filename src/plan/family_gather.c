/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "plan/gpu_launch.h"
#include "plan/specialized.h"

/* Families gather of both classes: cl/gather.cl, which takes any problem. */

/* A work-item of a GPU has so many units on their way at a time, unless forms
 * have more coefficients than this: each unit is code of its own. */
enum { GPU_PIECES = 4, GPU_MAX_COEFFICIENTS = 256 };

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  (void)query;
  (void)why;
  return true;
}

/* Coefficients of all forms of a problem. */
static int32_t num_coefficients(const rlo_problem *problem) {
  return (1 + problem->num_axes + problem->num_terms) *
         (2 + problem->num_terms + problem->num_guards);
}

static rlo_status emit(const rlo__family_query *query,
                       bool is_gpu,
                       rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  rlo__partition cut;
  RLO_TRY(rlo__partition_cells(
      problem, problem->num_axes, 1, query->device, is_gpu, &cut));
  bool has_pieces = is_gpu && cut.segments >= GPU_PIECES * cut.local &&
                    num_coefficients(problem) <= GPU_MAX_COEFFICIENTS;
  int64_t pieces = has_pieces ? GPU_PIECES : 1;
  bool is_index32 = rlo__specialized_fits_32_bits(problem) && cut.fits_32_bits;
  launch->kernel_file = "gather";
  RLO_TRY(rlo__launch_define(launch, "RLO_UNIT_BYTES", problem->unit_bits / 8));
  RLO_TRY(rlo__launch_define(launch, "RLO_INDEX32", is_index32));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOCAL", cut.local));
  RLO_TRY(rlo__specialized_define(problem, launch));
  RLO_TRY(rlo__partition_define(&cut, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_PIECES", pieces));
  RLO_TRY(rlo__partition_size_launch(&cut, pieces, launch));
  RLO_TRY(rlo__specialized_add_arguments(problem, launch));
  int64_t group_segments = cut.local * pieces;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(&words,
                  "segments of %lld, %lld to a group, units of %d bytes, "
                  "%d %s, %d guards",
                  (long long)cut.segment,
                  (long long)group_segments,
                  problem->unit_bits / 8,
                  problem->num_terms,
                  rlo_problem_loads(problem) ? "terms" : "quotients",
                  problem->num_guards);
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

/* Units that lie one after the other in the source as in the destination. */
static bool is_streaming(const rlo_problem *problem) {
  int32_t last = problem->num_axes - 1;
  return last < 0 || (problem->src.axis[last] == 1 &&
                      problem->dst.axis[last] == 1 && problem->num_terms == 0);
}

static double predict_cpu(const rlo__family_query *query) {
  return is_streaming(query->problem) ? 0.4 : 0.05;
}

/* Not measured: reads that jump fetch a whole sector each. */
static double predict_gpu(const rlo__family_query *query) {
  if (is_streaming(query->problem)) {
    return 0.5;
  }
  return 0.4 * query->problem->unit_bits / (8.0 * RLO__GPU_SECTOR_BYTES);
}

const rlo__family rlo__family_cpu_gather = {
    "gather",
    RLO_DEVICE_CLASS_CPU,
    is_applicable,
    predict_cpu,
    emit_cpu,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS};

const rlo__family rlo__family_gpu_gather = {
    "gather",
    RLO_DEVICE_CLASS_GPU,
    is_applicable,
    predict_gpu,
    emit_gpu,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS};
