/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "plan/grid.h"
#include "plan/specialized.h"

/* Family gather_rows, CPU class (cl/cpu_gather_rows.cl): contiguous rows at
 * positions that take computing, such as loaded indices. */

enum {
  /** Shorter rows gain nothing over family gather. */
  MIN_ROW_BYTES = 16,
  /** Rows that are located ahead of the row that is moved. */
  MIN_AHEAD_ROWS = 4,
  MAX_AHEAD_ROWS = 64
};

typedef struct gather_plan {
  rlo__geometry geometry;
  int64_t row_bytes;
  int64_t rows;
  int64_t group_rows;
  int64_t chunk_units;
  int64_t row_chunks;
  int64_t groups;
  int64_t ahead_rows;
  bool is_nontemporal;
} gather_plan;

static bool takes_last_axis(const rlo_problem *problem, rlo__str *why) {
  int32_t last = problem->num_axes - 1;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    if (problem->terms[t].form.axis[last] != 0) {
      return RLO__REFUSE(why, "term %d changes along the row", t);
    }
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (problem->guards[g].form.axis[last] != 0) {
      return RLO__REFUSE(why, "guard %d cuts rows", g);
    }
  }
  return true;
}

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (problem->num_terms == 0) {
    return RLO__REFUSE(why, "every place is linear, which others do better");
  }
  if (g.run_axis < 0 || g.run_axis != problem->num_axes - 1) {
    return RLO__REFUSE(why, "the last axis has no stride 1 on both sides");
  }
  if (problem->num_guards > RLO__GRID_MAX_GUARDS) {
    return RLO__REFUSE(why, "it has %d guards; the kernel takes %d", problem->num_guards,
                       RLO__GRID_MAX_GUARDS);
  }
  return takes_last_axis(problem, why);
}

static rlo_status choose(const rlo__family_query *query, gather_plan *plan) {
  const rlo_problem *problem = query->problem;
  int32_t last = problem->num_axes - 1;
  *plan = (gather_plan){.geometry = rlo__geometry_of(query), .rows = 1};
  int64_t unit_bytes = plan->geometry.unit_bytes;
  RLO_TRY(rlo__geometry_count_points(problem, 0, last, &plan->rows));
  plan->chunk_units = rlo__cpu_chunk_units(problem, &plan->geometry, last);
  plan->row_chunks = rlo__ceil_div(problem->extents[last], plan->chunk_units);
  plan->row_bytes = plan->chunk_units * unit_bytes;
  const int64_t group_bytes = rlo__thresholds.plan_cpu_gather_bytes;
  bool is_short = plan->row_chunks == 1 && plan->row_bytes < group_bytes;
  plan->group_rows = is_short ? rlo__min(group_bytes / plan->row_bytes, plan->rows) : 1;
  if (!rlo__mul(rlo__ceil_div(plan->rows, plan->group_rows), plan->row_chunks, &plan->groups)) {
    return rlo__fail_overflow("the number of groups");
  }
  plan->ahead_rows = MIN_AHEAD_ROWS;
  while (plan->ahead_rows < MAX_AHEAD_ROWS &&
         plan->ahead_rows * plan->row_bytes < rlo__thresholds.plan_cpu_ahead_bytes) {
    plan->ahead_rows *= 2;
  }
  plan->is_nontemporal = (plan->row_bytes >= RLO__CPU_MIN_LINED_BYTES ||
                          rlo__cpu_rows_are_lines(query, last, plan->chunk_units)) &&
                         rlo__cpu_wants_nontemporal(query, &plan->geometry);
  return RLO_OK;
}

/* From measurements against a copy of the same size. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  gather_plan plan;
  if (!is_applicable(query, why)) {
    return RLO__REFUSED;
  }
  if (choose(query, &plan) != RLO_OK || plan.row_bytes < MIN_ROW_BYTES) {
    return 0.01;
  }
  double bytes = (double)plan.row_bytes;
  return 0.9 * bytes / (bytes + 180.0);
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  gather_plan plan;
  RLO_TRY(choose(query, &plan));
  bool is_index32 = rlo__specialized_fits_32_bits(problem) && plan.geometry.fits_32_bits &&
                    plan.rows <= INT32_MAX - plan.group_rows && plan.groups <= INT32_MAX;
  bool is_prefetching = query->device->has_builtin_prefetch;
  const rlo__constant constants[] = {{"RLO_UNIT_BYTES", plan.geometry.unit_bytes},
                                     {"RLO_INDEX32", is_index32},
                                     {"RLO_NT", plan.is_nontemporal},
                                     {"RLO_PREFETCH", is_prefetching},
                                     {"RLO_ROWS", plan.rows},
                                     {"RLO_GROUP_ROWS", plan.group_rows},
                                     {"RLO_CHUNK_UNITS", plan.chunk_units},
                                     {"RLO_ROW_CHUNKS", plan.row_chunks},
                                     {"RLO_GATHER_AHEAD", plan.ahead_rows},
                                     {0}};
  RLO_TRY(rlo__specialized_emit(query, "cpu_gather_rows", constants, launch));
  rlo__launch_set_groups(launch, (size_t)plan.groups, 1);
  rlo__launch_describe(launch, "%s of %lld bytes, %lld to a group, %d terms%s%s",
                       plan.row_chunks > 1 ? "chunks of rows" : "rows", (long long)plan.row_bytes,
                       (long long)plan.group_rows, problem->num_terms,
                       plan.is_nontemporal ? ", non-temporal stores" : "",
                       is_prefetching ? ", prefetch" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_gather_rows = {"gather_rows", RLO_DEVICE_CLASS_CPU, judge, emit,
                                                 RLO__FAMILY_SPECIALIZES | RLO__FAMILY_LOADS};
