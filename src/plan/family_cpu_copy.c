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
    rlo__str_printf(
        why, "it has %d guards; a copy has none", problem->num_guards);
    return false;
  }
  if (problem->num_axes > 1) {
    rlo__str_printf(why, "%d axes are left; a copy has one", problem->num_axes);
    return false;
  }
  if (problem->num_axes == 1 && g.run_axis < 0) {
    rlo__str_append(why, "the axis does not have stride 1 on both sides");
    return false;
  }
  return rlo__grid_is_within_limits(query, &g, 1, NUM_SCALARS, why);
}

static double predict(const rlo__family_query *query) {
  (void)query;
  return 0.97;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  rlo__grid_plan plan = {
      .geometry = rlo__geometry_of(query), .x_axis = -1, .y_axis = -1};
  int64_t units = 1;
  int64_t chunk_bytes = rlo__schedule_group_bytes(
      &query->schedule, rlo__thresholds.plan_cpu_parts_bytes);
  int64_t chunk_units = chunk_bytes / plan.geometry.unit_bytes;
  if (problem->num_axes == 1) {
    units = problem->extents[0];
    RLO_TRY(rlo__grid_add_axis(&plan.grid, problem, 0, chunk_units));
  }
  plan.is_nontemporal = rlo__cpu_wants_nontemporal(query, &plan.geometry);
  plan.is_prefetching = query->device->has_builtin_prefetch;
  RLO_TRY(rlo__grid_begin(query, &plan, "cpu_copy", launch));
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&plan.grid, 0)));
  RLO_TRY(rlo__grid_add_index(&plan, launch, units));
  RLO_TRY(rlo__grid_add_index(&plan, launch, chunk_units));
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(&words,
                  "chunks of %lld KiB, units of %lld bytes%s%s",
                  (long long)chunk_bytes / 1024,
                  (long long)plan.geometry.unit_bytes,
                  plan.is_nontemporal ? ", non-temporal stores" : "",
                  plan.is_prefetching ? ", prefetch" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_copy = {
    "copy", RLO_DEVICE_CLASS_CPU, is_applicable, predict, emit, 0};
