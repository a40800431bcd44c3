/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "base/threshold.h"
#include "plan/grid.h"

/* Family copy, CPU class (cl/cpu_copy.cl): one contiguous run. */

enum { NUM_SCALARS = 3 };

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (problem->num_guards > 0) {
    return RLO__REFUSE(why, "it has %d guards; a copy has none", problem->num_guards);
  }
  if (problem->num_axes > 1) {
    return RLO__REFUSE(why, "%d axes are left; a copy has one", problem->num_axes);
  }
  if (problem->num_axes == 1 && g.run_axis < 0) {
    return RLO__REFUSE(why, "the axis does not have stride 1 on both sides");
  }
  return rlo__grid_is_within_limits(query, &g, 1, NUM_SCALARS, why);
}

static double judge(const rlo__family_query *query, rlo__str *why) {
  return is_applicable(query, why) ? 0.97 : RLO__REFUSED;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  rlo__grid_plan plan = RLO__GRID_PLAN_INIT(query);
  int64_t units = problem->num_axes == 1 ? problem->extents[0] : 1;
  int64_t chunk_bytes =
      rlo__schedule_group_bytes(&query->schedule, rlo__thresholds.plan_cpu_parts_bytes);
  int64_t chunk_units = chunk_bytes / plan.geometry.unit_bytes;
  plan.x_axis = problem->num_axes - 1;
  plan.is_nontemporal = rlo__cpu_wants_nontemporal(query, &plan.geometry);
  rlo__grid_cover(&plan, problem, chunk_units, 1);
  const rlo__constant constants[] = {{0}};
  const rlo__arg args[] = {rlo__arg_int(rlo__grid_find(&plan.grid, 0)),
                           rlo__arg_index(units),
                           rlo__arg_index(chunk_units),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, &plan, "cpu_copy", constants, args, launch));
  rlo__launch_describe(launch, "chunks of %lld KiB, units of %lld bytes%s%s",
                       (long long)chunk_bytes / 1024, (long long)plan.geometry.unit_bytes,
                       plan.is_nontemporal ? ", non-temporal stores" : "",
                       plan.is_prefetching ? ", prefetch" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_copy = {"copy", RLO_DEVICE_CLASS_CPU, judge, emit, 0};
