/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/status.h"
#include "plan/cpu_rows.h"

/* Family rows of CPU devices: cl/cpu_rows.cl, the innermost axis is kept. */

enum {
  NUM_SCALARS = 8,
  /** What one group moves, in whole rows as far as they are short. */
  GROUP_BYTES = 16 * 1024,
  /** Longer rows than this meet their neighbours in the caches and need no
   *  packing; fill in between puts the limit higher. */
  PACKED_MAX_BYTES = 128,
  PACKED_MAX_PADDED_BYTES = 512,
  /** How far apart rows may be for hardware to read ahead from one to the next.
   */
  NEAR_BYTES = 4 * 1024,
  /** A group that moves less is mostly overhead. */
  MIN_GROUP_BYTES = 1024
};

/* How the rows are handed out. */
typedef struct row_plan {
  rlo__grid_plan cpu;
  rlo__cpu_rows rows;
  /** Rows follow each other in the destination: the kernel may join them. */
  bool is_packed;
  /** Every row begins and ends with a whole line. */
  bool is_aligned;
} row_plan;

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (problem->num_axes > 0 && g.run_axis < 0) {
    rlo__str_append(why, "no axis has stride 1 on both sides");
    return false;
  }
  if (g.run_axis >= 0 && !rlo__cpu_rows_take_guards(problem, g.run_axis, why)) {
    return false;
  }
  int32_t num_grid_axes = problem->num_axes > 0 ? problem->num_axes - 1 : 0;
  if (g.run_axis >= 0 &&
      problem->extents[g.run_axis] > RLO__CPU_MAX_ROW_BYTES / g.unit_bytes) {
    ++num_grid_axes;
  }
  return rlo__grid_is_within_limits(query, &g, num_grid_axes, NUM_SCALARS, why);
}

/* The axis whose steps stay nearest to each other where it costs: in the
 * source, or, if nothing is read or so asked, in the destination. Long enough,
 * if one is, to give a group something to do. */
static int32_t nearest_axis(const rlo_problem *problem, const row_plan *plan) {
  bool is_by_dst =
      plan->cpu.geometry.is_fill || plan->cpu.order == RLO__GRID_ORDER_DST;
  const rlo_form *form = is_by_dst ? &problem->dst : &problem->src;
  int32_t best = -1;
  bool best_is_long = false;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a == plan->cpu.x_axis) {
      continue;
    }
    bool is_long =
        problem->extents[a] >= MIN_GROUP_BYTES / plan->rows.row_bytes;
    bool is_nearer = best < 0 || llabs(form->axis[a]) < llabs(form->axis[best]);
    bool is_better = is_long == best_is_long ? is_nearer : is_long;
    if (best < 0 || is_better) {
      best = a;
      best_is_long = is_long;
    }
  }
  return best;
}

/* The axis that continues the rows in the destination, or -1. */
static int32_t continuing_axis(const rlo_problem *problem, int32_t run) {
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run && problem->dst.axis[a] == problem->extents[run]) {
      return a;
    }
  }
  return -1;
}

/* Rows that some PAD guard may cut: not made of data alone. */
static bool rows_are_padded(const rlo_problem *problem, int32_t run) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (problem->guards[g].kind == RLO_GUARD_PAD &&
        problem->guards[g].form.axis[run] != 0) {
      return true;
    }
  }
  return false;
}

static int64_t packed_max_bytes(const rlo__geometry *geometry) {
  return geometry->num_pad_guards > 0 ? PACKED_MAX_PADDED_BYTES
                                      : PACKED_MAX_BYTES;
}

static void choose_batch(const rlo__family_query *query, row_plan *plan) {
  const rlo_problem *problem = query->problem;
  int64_t group_bytes =
      rlo__schedule_group_bytes(&query->schedule, GROUP_BYTES);
  int32_t run = plan->cpu.x_axis;
  if (run < 0 || plan->rows.row_bytes > group_bytes / 2) {
    return;
  }
  int32_t continuing = continuing_axis(problem, run);
  plan->is_packed =
      continuing >= 0 && (!plan->is_aligned || rows_are_padded(problem, run)) &&
      plan->rows.row_bytes <= packed_max_bytes(&plan->cpu.geometry);
  plan->rows.batch_axis =
      plan->is_packed ? continuing : nearest_axis(problem, plan);
  if (plan->rows.batch_axis < 0) {
    return;
  }
  plan->rows.batch_rows = group_bytes / plan->rows.row_bytes;
  if (plan->is_packed) {
    /* Groups that are whole lines long do not share any. */
    int64_t whole = RLO__CPU_LINE_BYTES /
                    rlo__gcd(RLO__CPU_LINE_BYTES, plan->rows.row_bytes);
    plan->rows.batch_rows = rlo__ceil_div(plan->rows.batch_rows, whole) * whole;
  }
  if (plan->rows.batch_rows > problem->extents[plan->rows.batch_axis]) {
    plan->rows.batch_rows = problem->extents[plan->rows.batch_axis];
  }
}

/* Prefetching helps reads that jump from row to row, as far as rows are short:
 * along a long one hardware looks ahead by itself, and better. */
static bool reads_jump(const rlo_problem *problem, const row_plan *plan) {
  int32_t axis = plan->rows.batch_axis >= 0 ? plan->rows.batch_axis
                                            : nearest_axis(problem, plan);
  if (plan->cpu.geometry.is_fill || axis < 0 ||
      plan->rows.row_bytes >= RLO__CPU_FOLLOWED_BYTES) {
    return false;
  }
  int64_t gap_units = problem->src.axis[axis] - plan->rows.row_units;
  return gap_units < 0 ||
         gap_units > NEAR_BYTES / plan->cpu.geometry.unit_bytes;
}

static rlo_status choose(const rlo__family_query *query, row_plan *plan) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  int32_t run = g.run_axis;
  *plan = (row_plan){.cpu = {.geometry = g, .x_axis = run},
                     .rows = rlo__cpu_rows_along(problem, &g, run)};
  rlo__grid_plan *cpu = &plan->cpu;
  plan->is_aligned = rlo__cpu_rows_are_lines(query, run, plan->rows.row_units);
  cpu->order = query->schedule.order;
  choose_batch(query, plan);
  RLO_TRY(rlo__cpu_rows_lay_grid(problem, &plan->rows, cpu));
  const int32_t plane_axes[2] = {plan->rows.batch_axis, run};
  rlo__grid_sort(&cpu->grid, cpu->order, plane_axes);
  /* A short row has no line to itself unless the kernel joins it to others. */
  bool has_lines = plan->is_packed || plan->is_aligned ||
                   plan->rows.row_bytes >= RLO__CPU_MIN_LINED_BYTES;
  cpu->is_nontemporal =
      has_lines && rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  cpu->is_prefetching =
      query->device->has_builtin_prefetch && reads_jump(problem, plan);
  return RLO_OK;
}

/* From measurements, those of aligned rows on ttc57: long rows come near a
 * copy, and each row costs as much as 24 bytes more; ends of rows that share
 * lines about as much as 180. */
static double predict(const rlo__family_query *query) {
  row_plan plan;
  if (choose(query, &plan) != RLO_OK) {
    return 0.0;
  }
  double bytes = (double)plan.rows.row_bytes;
  if (plan.is_aligned) {
    return 0.94 * bytes / (bytes + 24.0);
  }
  if (plan.is_packed) {
    return 0.7 * bytes / (bytes + 24.0);
  }
  return 0.95 * bytes / (bytes + 180.0);
}

static void describe(const row_plan *plan, rlo__launch *launch) {
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(&words,
                  "rows of %lld bytes, units of %lld bytes",
                  (long long)plan->rows.row_bytes,
                  (long long)plan->cpu.geometry.unit_bytes);
  if (plan->rows.chunk_units < plan->rows.row_units) {
    rlo__str_printf(&words, ", chunks of %d KiB", RLO__CPU_CHUNK_BYTES / 1024);
  } else {
    rlo__str_printf(
        &words, ", %lld to a group", (long long)plan->rows.batch_rows);
  }
  rlo__str_append(&words, plan->is_packed ? ", joined" : "");
  rlo__str_printf(&words, ", %s", rlo__grid_order_name(plan->cpu.order));
  rlo__str_append(&words,
                  plan->cpu.is_nontemporal ? ", non-temporal stores" : "");
  rlo__str_append(&words, plan->cpu.is_prefetching ? ", prefetch" : "");
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  row_plan plan;
  RLO_TRY(choose(query, &plan));
  const rlo__grid_plan *cpu = &plan.cpu;
  RLO_TRY(rlo__grid_begin(query, cpu, "cpu_rows", launch));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_ROWS_PACKED_MAX", packed_max_bytes(&cpu->geometry)));
  RLO_TRY(rlo__cpu_rows_add(problem, &plan.rows, cpu, launch));
  RLO_TRY(rlo__grid_add_guards(query, cpu, launch));
  describe(&plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_cpu_rows = {
    "rows", RLO_DEVICE_CLASS_CPU, is_applicable, predict, emit, 0};
