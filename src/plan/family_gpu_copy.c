/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/grid.h"

/* Family copy, GPU class (cl/gpu_copy.cl): one contiguous run. */

/* Pieces that a lane moves, and bytes of the widest piece. */
enum { LANE_PIECES = 4, MAX_WIDE_BYTES = 16 };

typedef struct copy_plan {
  int64_t unit_bytes;
  int64_t units;
  int64_t wide_bytes;
  int64_t pieces;
  int64_t tail_units;
  size_t num_groups;
} copy_plan;

static copy_plan choose(const rlo__family_query *query) {
  const rlo_problem *problem = query->problem;
  int32_t run = problem->num_axes - 1;
  copy_plan plan = {.unit_bytes = problem->unit_bits / 8,
                    .units = run < 0 ? 1 : problem->extents[run]};
  plan.wide_bytes = rlo__dst_alignment(query, run, rlo__src_alignment(query, run, MAX_WIDE_BYTES));
  int64_t wide_units = plan.wide_bytes / plan.unit_bytes;
  plan.pieces = plan.units / wide_units;
  plan.tail_units = plan.units % wide_units;
  int64_t groups = rlo__ceil_div(plan.pieces, LANE_PIECES * rlo__gpu_local_items(query->device));
  plan.num_groups = groups > 0 ? rlo__gpu_groups(groups) : 1;
  return plan;
}

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (problem->num_guards > 0) {
    return RLO__REFUSE(why, "it has %d guards; a copy has none", problem->num_guards);
  }
  if (problem->num_terms > 0) {
    return RLO__REFUSE(why, "it has %d quotients; a copy has none", problem->num_terms);
  }
  if (problem->num_axes > 1) {
    return RLO__REFUSE(why, "%d axes are left; a copy has one", problem->num_axes);
  }
  if (problem->num_axes == 1 && rlo__geometry_of(query).run_axis < 0) {
    return RLO__REFUSE(why, "the axis does not have stride 1 on both sides");
  }
  return rlo__gpu_can_launch(choose(query).num_groups, why);
}

/* An estimate: not measured on a GPU. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  if (!is_applicable(query, why)) {
    return RLO__REFUSED;
  }
  return choose(query).wide_bytes >= 4 ? 0.95 : 0.5;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  copy_plan plan = choose(query);
  int64_t local_items = rlo__gpu_local_items(query->device);
  const rlo__constant constants[] = {{"RLO_UNIT_BYTES", plan.unit_bytes},
                                     {"RLO_LOCAL", local_items},
                                     {"RLO_WIDE_BYTES", plan.wide_bytes},
                                     {"RLO_PIECES", LANE_PIECES},
                                     {0}};
  const int64_t numbers[] = {plan.pieces, plan.tail_units};
  RLO_TRY(rlo__launch_begin(query->problem, "gpu_copy", RLO__LAUNCH_ORIGIN, launch));
  rlo__launch_set_groups(launch, plan.num_groups, local_items);
  RLO_TRY(rlo__launch_define_all(launch, constants));
  RLO_TRY(rlo__launch_longs(launch, numbers, 2));
  rlo__launch_describe(launch, "%lld bytes per lane, %d at a time, units of %lld bytes",
                       (long long)plan.wide_bytes, LANE_PIECES, (long long)plan.unit_bytes);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_copy = {"copy", RLO_DEVICE_CLASS_GPU, judge, emit, 0};
