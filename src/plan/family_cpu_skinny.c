/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "plan/plane.h"

/* Family skinny, CPU class (cl/cpu_skinny.cl): a plane with one side of 2 to
 * 16 units. */

enum { MIN_SHORT = 2, MAX_SHORT = 16 };

typedef struct skinny_plan {
  rlo__grid_plan cpu;
  rlo__plane plane;
  /** True if axis a is the short one, so that structures are split into arrays.
   *  Else axis b is. */
  bool is_split;
  int64_t short_units;
  int64_t long_units;
  /** Units of the long axis that one step of a group moves. */
  int64_t chunk_units;
  int64_t group_bytes;
  int64_t dst_alignment;
} skinny_plan;

static bool is_short(int64_t extent) {
  return extent >= MIN_SHORT && extent <= MAX_SHORT;
}

static bool find_sides(const rlo_problem *problem, const rlo__geometry *geometry, skinny_plan *out,
                       rlo__str *why) {
  const rlo__plane *p = &out->plane;
  if (!rlo__plane_find(problem, geometry, &out->plane, why)) {
    return false;
  }
  int64_t line_units = RLO__CPU_LINE_BYTES / geometry->unit_bytes;
  bool can_split =
      is_short(p->na) && p->src_ld >= p->na && p->src_ld <= MAX_SHORT && p->nb >= line_units;
  bool can_join = is_short(p->nb) && p->dst_ld == p->nb && p->na >= line_units;
  if (!can_split && !can_join) {
    return RLO__REFUSE(why,
                       "its plane is %lld x %lld with steps of %lld and %lld; one side must be %d "
                       "to %d, closely packed",
                       (long long)p->na, (long long)p->nb, (long long)p->src_ld,
                       (long long)p->dst_ld, MIN_SHORT, MAX_SHORT);
  }
  out->is_split = can_split;
  out->short_units = can_split ? p->na : p->nb;
  out->long_units = can_split ? p->nb : p->na;
  return true;
}

static bool choose(const rlo__family_query *query, skinny_plan *plan, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  *plan = (skinny_plan){.cpu = RLO__GRID_PLAN_INIT(query)};
  rlo__grid_plan *cpu = &plan->cpu;
  if (!find_sides(problem, &cpu->geometry, plan, why) ||
      !rlo__grid_is_within_limits(query, &cpu->geometry, problem->num_axes - 1,
                                  RLO__PLANE_NUM_SCALARS + 1, why)) {
    return false;
  }
  int64_t line_units = RLO__CPU_LINE_BYTES / cpu->geometry.unit_bytes;
  plan->group_bytes =
      rlo__schedule_group_bytes(&query->schedule, rlo__thresholds.plan_cpu_skinny_bytes);
  int64_t lines = plan->group_bytes / RLO__CPU_LINE_BYTES / plan->short_units;
  plan->chunk_units = lines * line_units;
  const rlo__plane *p = &plan->plane;
  cpu->x_axis = p->a_axis;
  cpu->y_axis = p->b_axis;
  rlo__grid_cover(cpu, problem, plan->is_split ? p->na : plan->chunk_units,
                  plan->is_split ? plan->chunk_units : p->nb);
  const int32_t plane_axes[2] = {p->a_axis, p->b_axis};
  rlo__grid_sort(&cpu->grid, cpu->order, plane_axes);
  /* Joined structures are stored as one run, whose pieces are whole lines. */
  plan->dst_alignment = rlo__grid_dst_alignment(query, &cpu->grid, plan->is_split ? p->a_axis : -1,
                                                RLO__CPU_LINE_BYTES);
  cpu->is_nontemporal = rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  return true;
}

/* From measurements: as a copy, except for small units, which take more
 * shuffles, and where lines are staged. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  skinny_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  double fraction = 0.97;
  if (plan.cpu.geometry.unit_bytes <= 2) {
    fraction *= 0.93;
  }
  if (plan.dst_alignment < RLO__CPU_LINE_BYTES && plan.is_split) {
    fraction *= 0.62;
  }
  /* The units at the end of the long axis that are moved one by one. */
  int64_t line_units = RLO__CPU_LINE_BYTES / plan.cpu.geometry.unit_bytes;
  double units = (double)plan.long_units;
  return fraction * units / (units + 0.5 * (double)line_units);
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  skinny_plan plan;
  (void)choose(query, &plan, NULL);
  rlo__grid_plan *cpu = &plan.cpu;
  int64_t unit_bytes = cpu->geometry.unit_bytes;
  bool is_aligned = cpu->is_nontemporal && plan.dst_alignment == RLO__CPU_LINE_BYTES;
  int64_t chunk_bytes = rlo__min(plan.chunk_units, plan.long_units) * plan.short_units * unit_bytes;
  int64_t chunks;
  RLO_TRY(rlo__grid_join_groups(query, chunk_bytes, plan.group_bytes, cpu, &chunks));
  const rlo__constant constants[] = {
      {"RLO_VECTOR_SHUFFLE", query->device->has_vector_shuffle},
      {"RLO_DST_ALIGN", is_aligned ? RLO__CPU_LINE_BYTES : unit_bytes},
      {"RLO_SKINNY_SPLIT", plan.is_split},
      {"RLO_SKINNY_N", plan.short_units},
      {"RLO_SKINNY_LONG", plan.chunk_units},
      {plan.is_split ? "RLO_SKINNY_LD" : NULL, plan.plane.src_ld},
      {0}};
  rlo__arg args[RLO__PLANE_NUM_SCALARS + 2] = {0};
  *rlo__plane_args(&plan.plane, &cpu->grid, args) = rlo__arg_index(chunks);
  RLO_TRY(rlo__grid_emit(query, cpu, "cpu_skinny", constants, args, launch));
  rlo__launch_describe(launch, "%s %lld streams, chunks of %lld, units of %lld bytes, %s%s",
                       plan.is_split ? "split into" : "join", (long long)plan.short_units,
                       (long long)plan.chunk_units, (long long)unit_bytes,
                       rlo__grid_order_name(cpu->order),
                       cpu->is_nontemporal ? ", non-temporal stores" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_skinny = {"skinny", RLO_DEVICE_CLASS_CPU, judge, emit, 0};
