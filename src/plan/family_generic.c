/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/geometry.h"
#include "plan/gpu_cost.h"
#include "plan/specialized.h"

/*
 * The families that take whatever the others refuse, of both classes: gather
 * moves any problem (cl/gather.cl), compute computes any problem
 * (cl/compute.cl). The problem is compiled into the program.
 */

/* Units that a work-item of a GPU has in flight at a time, unless the forms
 * have more coefficients than this: each unit is code of its own. */
enum { GPU_PIECES = 4, GPU_MAX_COEFFICIENTS = 256 };

/* Levels of the sum over a block's lanes, which compute counts as parts. */
enum { LANE_LEVELS = 4 };

_Static_assert(RLO_SUM_LANES == 1 << LANE_LEVELS, "lanes are a power of two");

/* ------------------------------------------------------------------- gather */

/* Coefficients of all forms of a problem. */
static int32_t num_coefficients(const rlo_problem *problem) {
  return (1 + problem->num_axes + problem->num_terms) *
         (2 + problem->num_terms + problem->num_guards);
}

static rlo_status gather_emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  bool is_gpu = query->device_class == RLO_DEVICE_CLASS_GPU;
  rlo__partition cut;
  RLO_TRY(rlo__partition_cells(query, problem->num_axes, 1, &cut));
  bool has_pieces = is_gpu && cut.segments >= GPU_PIECES * cut.local &&
                    num_coefficients(problem) <= GPU_MAX_COEFFICIENTS;
  int64_t pieces = has_pieces ? GPU_PIECES : 1;
  bool is_index32 = rlo__specialized_fits_32_bits(problem) && cut.fits_32_bits;
  const rlo__constant constants[] = {{"RLO_UNIT_BYTES", problem->unit_bits / 8},
                                     {"RLO_INDEX32", is_index32},
                                     {"RLO_LOCAL", cut.local},
                                     {"RLO_PIECES", pieces},
                                     {0}};
  RLO_TRY(rlo__specialized_emit(query, "gather", constants, launch));
  RLO_TRY(rlo__partition_emit(&cut, pieces, launch));
  rlo__launch_describe(
      launch, "segments of %lld, %lld to a group, units of %d bytes, %d %s, %d guards",
      (long long)cut.segment, (long long)cut.local * pieces, problem->unit_bits / 8,
      problem->num_terms, rlo_problem_loads(problem) ? "terms" : "quotients", problem->num_guards);
  return RLO_OK;
}

/* Tells if the innermost axis is contiguous on both sides. */
static bool is_streaming(const rlo_problem *problem) {
  int32_t last = problem->num_axes - 1;
  return last < 0 ||
         (problem->src.axis[last] == 1 && problem->dst.axis[last] == 1 && problem->num_terms == 0);
}

/* On GPUs counted where units are streamed; each scattered read fetches a whole
 * sector. */
static double gather_judge(const rlo__family_query *query, rlo__str *why) {
  (void)why;
  bool streams = is_streaming(query->problem);
  if (query->device_class == RLO_DEVICE_CLASS_CPU) {
    return streams ? 0.4 : 0.05;
  }
  if (streams) {
    return query->problem->unit_bits < 32 ? 0.4 : 0.5;
  }
  return 0.4 * query->problem->unit_bits / (8.0 * RLO__GPU_SECTOR_BYTES);
}

const rlo__family rlo__family_cpu_gather = {"gather", RLO_DEVICE_CLASS_CPU, gather_judge,
                                            gather_emit,
                                            RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS};

const rlo__family rlo__family_gpu_gather = {"gather", RLO_DEVICE_CLASS_GPU, gather_judge,
                                            gather_emit,
                                            RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS};

/* ------------------------------------------------------------------ compute */

static rlo_status compute_emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  int32_t last = problem->num_axes - 1;
  int32_t sum_axes = rlo__arith_num_sum_axes(problem);
  int32_t cell_axes = problem->num_axes - sum_axes;
  /* Points of a cell: along all summed axes but the last, and along that. */
  int64_t sum_rows = 1;
  int64_t sum_row = sum_axes > 0 ? problem->extents[last] : 1;
  RLO_TRY(rlo__geometry_count_points(problem, cell_axes, last, &sum_rows));
  int64_t cell_points;
  if (!rlo__mul(sum_rows, sum_row, &cell_points)) {
    cell_points = INT64_MAX;
  }
  int64_t sum_levels;
  RLO_TRY(rlo__arith_sum_levels(query, &sum_levels));
  rlo__partition cut;
  RLO_TRY(rlo__partition_cells(query, cell_axes, cell_points, &cut));
  bool is_index32 = rlo__specialized_fits_32_bits(problem) && cut.fits_32_bits &&
                    sum_rows <= INT32_MAX && sum_row <= INT32_MAX - RLO_SUM_BLOCK;
  const rlo__constant constants[] = {
      {"RLO_INDEX32", is_index32},
      {"RLO_LOCAL", cut.local},
      {"RLO_OPERAND", rlo__problem_operand_term(problem)},
      {"RLO_SUM_AXES", sum_axes},
      {"RLO_SUM_ROWS", sum_rows},
      {"RLO_SUM_LEVELS", sum_axes > 0 ? sum_levels + LANE_LEVELS : 1},
      {0}};
  RLO_TRY(rlo__specialized_emit(query, "compute", constants, launch));
  RLO_TRY(rlo__partition_emit(&cut, 1, launch));
  rlo__launch_describe(launch, ", segments of %lld cells, %lld to a group", (long long)cut.segment,
                       (long long)cut.local);
  return RLO_OK;
}

/* Below every other family that takes the problem. */
static double compute_judge(const rlo__family_query *query, rlo__str *why) {
  bool computes = query->problem->update == RLO_UPDATE_COMBINE ||
                  RLO__REFUSE(why, "it moves bits and computes nothing");
  return computes ? 0.05 : RLO__REFUSED;
}

const rlo__family rlo__family_cpu_compute = {
    "compute", RLO_DEVICE_CLASS_CPU, compute_judge, compute_emit,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS | RLO__FAMILY_COMPUTES};

const rlo__family rlo__family_gpu_compute = {
    "compute", RLO_DEVICE_CLASS_GPU, compute_judge, compute_emit,
    RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS | RLO__FAMILY_COMPUTES};
