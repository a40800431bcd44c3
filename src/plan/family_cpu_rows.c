/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "ir/update.h"
#include "plan/arith.h"
#include "plan/grid.h"

/*
 * Rows that are contiguous on both sides, for the CPU class. A group moves a
 * batch of rows along one axis, or a chunk of a very long row. Family rows
 * moves bits (cl/cpu_rows.cl), family compute_rows computes on the way
 * (cl/cpu_compute_rows.cl).
 */

enum {
  ROWS_NUM_SCALARS = 8,
  COMPUTE_NUM_SCALARS = 10,
  /** Bytes of a group's batch: written by rows, read by compute_rows. */
  ROWS_GROUP_BYTES = 16 * 1024,
  COMPUTE_GROUP_BYTES = 32 * 1024,
  /** Longer rows than this meet their neighbours in the caches and need no
   *  packing; padding between the rows raises the limit. */
  PACKED_MAX_BYTES = 128,
  PACKED_MAX_PADDED_BYTES = 512,
  /** Largest gap between rows across which hardware prefetches. */
  NEAR_BYTES = 4 * 1024,
  /** A group that moves less is mostly overhead. */
  MIN_GROUP_BYTES = 1024
};

/** How groups share the rows. */
typedef struct rows_plan {
  rlo__grid_plan cpu;
  /** Length of a row in the source. */
  int64_t row_bytes;
  int64_t row_units;
  /** Equal to row_units unless rows are cut into chunks. */
  int64_t chunk_units;
  /** Axis along which one group takes several rows, or -1. */
  int32_t batch_axis;
  int64_t batch_rows;
  /** Rows are consecutive in the destination: the kernel may join them. */
  bool is_packed;
  /** Every row begins and ends with a whole line. */
  bool is_aligned;
} rows_plan;

/* The kernels take guards that change by -1, 0 or 1 along the row. */
static bool takes_guards(const rlo_problem *problem,
                         int32_t run,
                         rlo__str *why) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    int64_t along = problem->guards[g].form.axis[run];
    if (along < -1 || along > 1) {
      rlo__str_printf(why,
                      "guard %d has the coefficient %lld along the row; the "
                      "kernel takes -1, 0 and 1",
                      g,
                      (long long)along);
      return false;
    }
  }
  return true;
}

/* The rows of a problem, without a batch. A problem without a run has rows of
 * one unit. */
static void rows_init(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  int32_t run = g.run_axis;
  *plan = (rows_plan){.cpu = {.geometry = g, .x_axis = run},
                      .row_units = run >= 0 ? problem->extents[run] : 1,
                      .chunk_units = rlo__cpu_chunk_units(problem, &g, run),
                      .batch_axis = -1,
                      .batch_rows = 1};
  if (!rlo__mul(plan->row_units, g.unit_bytes, &plan->row_bytes)) {
    plan->row_bytes = INT64_MAX;
  }
}

/* Groups step by chunks along the row and by batches along the batch axis. */
static rlo_status add_grid(const rlo_problem *problem, rows_plan *plan) {
  rlo__grid_plan *cpu = &plan->cpu;
  cpu->y_axis = plan->batch_axis;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t step = a == cpu->x_axis   ? plan->chunk_units
                   : a == cpu->y_axis ? plan->batch_rows
                                      : 1;
    RLO_TRY(rlo__grid_add_axis(&cpu->grid, problem, a, step));
  }
  return RLO_OK;
}

/* Arguments 10 to 17 of cl/cpu_rows.cl. */
static rlo_status add_arguments(const rlo_problem *problem,
                                const rows_plan *plan,
                                rlo__launch *launch) {
  const rlo__grid_plan *cpu = &plan->cpu;
  int32_t batch = plan->batch_axis;
  int64_t extent = batch >= 0 ? problem->extents[batch] : 1;
  int64_t src_stride = batch >= 0 ? problem->src.axis[batch] : 0;
  int64_t dst_stride = batch >= 0 ? problem->dst.axis[batch] : 0;
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&cpu->grid, batch)));
  RLO_TRY(rlo__grid_add_index(cpu, launch, extent));
  RLO_TRY(rlo__grid_add_index(cpu, launch, plan->batch_rows));
  RLO_TRY(rlo__grid_add_index(cpu, launch, src_stride));
  RLO_TRY(rlo__grid_add_index(cpu, launch, dst_stride));
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&cpu->grid, cpu->x_axis)));
  RLO_TRY(rlo__grid_add_index(cpu, launch, plan->row_units));
  return rlo__grid_add_index(cpu, launch, plan->chunk_units);
}

/* ---------------------------------------------------------------------- rows
 */

static bool rows_is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (problem->num_axes > 0 && g.run_axis < 0) {
    rlo__str_append(why, "no axis has stride 1 on both sides");
    return false;
  }
  if (g.run_axis >= 0 && !takes_guards(problem, g.run_axis, why)) {
    return false;
  }
  int32_t num_grid_axes = problem->num_axes > 0 ? problem->num_axes - 1 : 0;
  if (g.run_axis >= 0 && rlo__cpu_chunk_units(problem, &g, g.run_axis) <
                             problem->extents[g.run_axis]) {
    ++num_grid_axes;
  }
  return rlo__grid_is_within_limits(
      query, &g, num_grid_axes, ROWS_NUM_SCALARS, why);
}

/* The axis whose steps are shortest on the side where distance costs: the
 * source, or, if nothing is read or the schedule orders groups by it, the
 * destination. Axes long enough to fill a group go first. */
static int32_t nearest_axis(const rlo_problem *problem, const rows_plan *plan) {
  bool is_by_dst =
      plan->cpu.geometry.is_fill || plan->cpu.order == RLO__GRID_ORDER_DST;
  const rlo_form *form = is_by_dst ? &problem->dst : &problem->src;
  int32_t best = -1;
  bool best_is_long = false;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a == plan->cpu.x_axis) {
      continue;
    }
    bool is_long = problem->extents[a] >= MIN_GROUP_BYTES / plan->row_bytes;
    bool is_nearer =
        best < 0 || rlo__abs(form->axis[a]) < rlo__abs(form->axis[best]);
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

/* Whether a PAD guard may cut rows, so that part of a row is fill. */
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

static void choose_batch(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  int64_t group_bytes =
      rlo__schedule_group_bytes(&query->schedule, ROWS_GROUP_BYTES);
  int32_t run = plan->cpu.x_axis;
  if (run < 0 || plan->row_bytes > group_bytes / 2) {
    return;
  }
  int32_t continuing = continuing_axis(problem, run);
  plan->is_packed = continuing >= 0 &&
                    (!plan->is_aligned || rows_are_padded(problem, run)) &&
                    plan->row_bytes <= packed_max_bytes(&plan->cpu.geometry);
  plan->batch_axis = plan->is_packed ? continuing : nearest_axis(problem, plan);
  if (plan->batch_axis < 0) {
    return;
  }
  plan->batch_rows = group_bytes / plan->row_bytes;
  if (plan->is_packed) {
    /* Groups of whole lines share none with their neighbours. */
    int64_t whole =
        RLO__CPU_LINE_BYTES / rlo__gcd(RLO__CPU_LINE_BYTES, plan->row_bytes);
    plan->batch_rows = rlo__ceil_div(plan->batch_rows, whole) * whole;
  }
  plan->batch_rows =
      rlo__min(plan->batch_rows, problem->extents[plan->batch_axis]);
}

/* Prefetching helps short rows that lie apart. Along a long row hardware
 * prefetches better by itself. */
static bool reads_jump(const rlo_problem *problem, const rows_plan *plan) {
  int32_t axis =
      plan->batch_axis >= 0 ? plan->batch_axis : nearest_axis(problem, plan);
  if (plan->cpu.geometry.is_fill || axis < 0 ||
      plan->row_bytes >= RLO__CPU_FOLLOWED_BYTES) {
    return false;
  }
  int64_t gap_units = problem->src.axis[axis] - plan->row_units;
  return gap_units < 0 ||
         gap_units > NEAR_BYTES / plan->cpu.geometry.unit_bytes;
}

static rlo_status rows_choose(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  rows_init(query, plan);
  rlo__grid_plan *cpu = &plan->cpu;
  plan->is_aligned =
      rlo__cpu_rows_are_lines(query, cpu->x_axis, plan->row_units);
  cpu->order = query->schedule.order;
  choose_batch(query, plan);
  RLO_TRY(add_grid(problem, plan));
  const int32_t plane_axes[2] = {plan->batch_axis, cpu->x_axis};
  rlo__grid_sort(&cpu->grid, cpu->order, plane_axes);
  /* A short row has no line to itself unless the kernel joins it to others. */
  bool has_lines = plan->is_packed || plan->is_aligned ||
                   plan->row_bytes >= RLO__CPU_MIN_LINED_BYTES;
  cpu->is_nontemporal =
      has_lines && rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  cpu->is_prefetching =
      query->device->has_builtin_prefetch && reads_jump(problem, plan);
  return RLO_OK;
}

/* From measurements, those of aligned rows on ttc57: long rows come near a
 * copy, and each row costs as much as 24 bytes more; ends of rows that share
 * lines about as much as 180. */
static double rows_predict(const rlo__family_query *query) {
  rows_plan plan;
  if (rows_choose(query, &plan) != RLO_OK) {
    return 0.0;
  }
  double bytes = (double)plan.row_bytes;
  if (plan.is_aligned) {
    return 0.94 * bytes / (bytes + 24.0);
  }
  if (plan.is_packed) {
    return 0.7 * bytes / (bytes + 24.0);
  }
  return 0.95 * bytes / (bytes + 180.0);
}

static void rows_describe(const rows_plan *plan, rlo__launch *launch) {
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  int64_t unit_bytes = plan->cpu.geometry.unit_bytes;
  rlo__str_printf(&words,
                  "rows of %lld bytes, units of %lld bytes",
                  (long long)plan->row_bytes,
                  (long long)unit_bytes);
  if (plan->chunk_units < plan->row_units) {
    rlo__str_printf(&words,
                    ", chunks of %lld KiB",
                    (long long)(plan->chunk_units * unit_bytes / 1024));
  } else {
    rlo__str_printf(&words, ", %lld to a group", (long long)plan->batch_rows);
  }
  rlo__str_append(&words, plan->is_packed ? ", joined" : "");
  rlo__str_printf(&words, ", %s", rlo__grid_order_name(plan->cpu.order));
  rlo__str_append(&words,
                  plan->cpu.is_nontemporal ? ", non-temporal stores" : "");
  rlo__str_append(&words, plan->cpu.is_prefetching ? ", prefetch" : "");
}

static rlo_status rows_emit(const rlo__family_query *query,
                            rlo__launch *launch) {
  rows_plan plan;
  RLO_TRY(rows_choose(query, &plan));
  const rlo__grid_plan *cpu = &plan.cpu;
  RLO_TRY(rlo__grid_begin(query, cpu, "cpu_rows", launch));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_ROWS_PACKED_MAX", packed_max_bytes(&cpu->geometry)));
  RLO_TRY(add_arguments(query->problem, &plan, launch));
  RLO_TRY(rlo__grid_add_guards(query, cpu, launch));
  rows_describe(&plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_cpu_rows = {"rows",
                                          RLO_DEVICE_CLASS_CPU,
                                          rows_is_applicable,
                                          rows_predict,
                                          rows_emit,
                                          0};

/* -------------------------------------------------------------- compute_rows
 */

static bool compute_is_applicable(const rlo__family_query *query,
                                  rlo__str *why) {
  const rlo_problem *problem = query->problem;
  if (problem->update != RLO_UPDATE_COMBINE) {
    rlo__str_append(why, "it moves bits and computes nothing");
    return false;
  }
  if (rlo_problem_is_sum(problem)) {
    rlo__str_append(why, "it sums");
    return false;
  }
  rlo__geometry g = rlo__geometry_of(query);
  if (g.run_axis < 0 || g.is_fill) {
    rlo__str_append(why, "no axis has stride 1 on both sides");
    return false;
  }
  if (!takes_guards(problem, g.run_axis, why)) {
    return false;
  }
  return rlo__grid_is_within_limits(
      query, &g, problem->num_axes, COMPUTE_NUM_SCALARS, why);
}

/* The axis with the shortest steps in the source. */
static int32_t nearest_src_axis(const rlo_problem *problem, int32_t run) {
  int32_t best = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run && (best < 0 || rlo__abs(problem->src.axis[a]) <
                                     rlo__abs(problem->src.axis[best]))) {
      best = a;
    }
  }
  return best;
}

static rlo_status compute_choose(const rlo__family_query *query,
                                 rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  rows_init(query, plan);
  rlo__grid_plan *cpu = &plan->cpu;
  if (plan->row_bytes <= COMPUTE_GROUP_BYTES / 2) {
    plan->batch_axis = nearest_src_axis(problem, cpu->x_axis);
  }
  if (plan->batch_axis >= 0) {
    int64_t rows = problem->extents[plan->batch_axis];
    plan->batch_rows = rlo__min(COMPUTE_GROUP_BYTES / plan->row_bytes, rows);
  }
  RLO_TRY(add_grid(problem, plan));
  rlo__grid_sort_by_src(&cpu->grid);
  /* Cells that are read before they are written are in the caches already, and
   * are cheapest to write there. */
  cpu->is_nontemporal = !rlo__problem_reads_cells(problem) &&
                        plan->row_bytes >= RLO__CPU_MIN_LINED_BYTES &&
                        rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  return RLO_OK;
}

/* As rows: the ends of a row cost about as much as 180 bytes. Where values are
 * computed one at a time, arithmetic costs more than memory. */
static double compute_predict(const rlo__family_query *query) {
  rows_plan plan;
  if (compute_choose(query, &plan) != RLO_OK) {
    return 0.0;
  }
  double bytes = (double)plan.row_bytes;
  double max = rlo__arith_has_vectors(query->problem) ? 0.9 : 0.3;
  return max * bytes / (bytes + 180.0);
}

static rlo_status compute_emit(const rlo__family_query *query,
                               rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  rows_plan plan;
  RLO_TRY(compute_choose(query, &plan));
  const rlo__grid_plan *cpu = &plan.cpu;
  RLO_TRY(rlo__grid_begin(query, cpu, "cpu_compute_rows", launch));
  RLO_TRY(rlo__arith_define(problem, launch));
  RLO_TRY(rlo__launch_define(
      launch, "RLO_LANES", rlo__arith_has_vectors(problem) ? 16 : 1));
  RLO_TRY(add_arguments(problem, &plan, launch));
  RLO_TRY(rlo__arith_add_factors(problem, launch));
  RLO_TRY(rlo__grid_add_guards(query, cpu, launch));
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__arith_describe(problem, &words);
  rlo__str_printf(&words,
                  ", rows of %lld bytes, %lld to a group%s",
                  (long long)plan.row_bytes,
                  (long long)plan.batch_rows,
                  cpu->is_nontemporal ? ", non-temporal stores" : "");
  return RLO_OK;
}

const rlo__family rlo__family_cpu_compute_rows = {"compute_rows",
                                                  RLO_DEVICE_CLASS_CPU,
                                                  compute_is_applicable,
                                                  compute_predict,
                                                  compute_emit,
                                                  RLO__FAMILY_COMPUTES};
