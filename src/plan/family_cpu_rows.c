/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "ir/form.h"
#include "plan/grid.h"

/* Family rows, CPU class (cl/cpu_rows.cl): rows that are contiguous on both
 * sides. A group moves several blocks of rows, which are boxes that make long
 * runs in the source and in the destination, or chunks of a very long row. */

enum {
  /** Arguments after the shared ones. */
  NUM_VECTORS = 2,
  NUM_SCALARS = 8,
  /** Rows of a block, more if they are short and fewer if they are long:
   *  hardware follows few streams, so blocks are small. Rows that share lines
   *  make blocks twice as large. */
  BLOCK_ROWS = 32,
  MAX_PLACES = 512,
  /** Longest rows that are prefetched, without and with fill, and bytes within
   *  which hardware follows one stream only. */
  MAX_DENSE_ROW_BYTES = 320,
  MAX_DENSE_PADDED_BYTES = 2048,
  /** Rows of this length and more are written wherever they belong: only runs
   *  of the source are lengthened. */
  MIN_STREAM_BYTES = 2048,
  /** Rows of this length and more are read page after page; the kernel
   *  prefetches the first lines of each. */
  MIN_OPENED_BYTES = 1024,
  PAGE_BYTES = 4096
};

/** How groups share the rows. */
typedef struct rows_plan {
  rlo__grid_plan cpu;
  int64_t row_bytes;
  int64_t row_units;
  /** Points of each axis in a block; along the row its units, or a chunk. */
  int64_t size[RLO_MAX_AXES];
  int64_t num_rows;
  int64_t max_rows;
  /** Axes that continue a row in the source and in the destination, and how
   *  many of them and how many bytes of a run are in a block. */
  rlo__axis_run src_run;
  rlo__axis_run dst_run;
  int32_t num_src_axes;
  int64_t src_run_bytes;
  int64_t dst_run_bytes;
  /** Every row begins and ends with a whole line. */
  bool is_aligned;
  /** Pages of the source have several of a block's rows. */
  bool is_dense;
} rows_plan;

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (problem->num_axes > 0 && g.run_axis < 0) {
    return RLO__REFUSE(why, "no axis has stride 1 on both sides");
  }
  if (g.run_axis >= 0 && !rlo__cpu_takes_row_guards(problem, g.run_axis, why)) {
    return false;
  }
  int32_t num_grid_axes = problem->num_axes > 0 ? problem->num_axes - 1 : 0;
  if (g.run_axis >= 0 &&
      rlo__cpu_chunk_units(problem, &g, g.run_axis) < problem->extents[g.run_axis]) {
    ++num_grid_axes;
  }
  bool is_short = g.fits_32_bits || num_grid_axes <= 8;
  int32_t num_scalars = NUM_SCALARS + NUM_VECTORS * (is_short ? 8 : RLO__GRID_MAX_AXES);
  return rlo__grid_is_within_limits(query, &g, num_grid_axes, num_scalars, why);
}

/* The runs of a block on both sides. */
static void measure(const rlo_problem *problem, rows_plan *plan) {
  int64_t unit_bytes = plan->cpu.geometry.unit_bytes;
  int32_t unused;
  plan->src_run_bytes =
      unit_bytes * rlo__axis_run_units(&plan->src_run, problem, plan->size, &plan->num_src_axes);
  plan->dst_run_bytes =
      unit_bytes * rlo__axis_run_units(&plan->dst_run, problem, plan->size, &unused);
}

/* Takes more points of an axis into the block: `factor` times as many, or as
 * many as there are and fit. */
static bool grow_axis(const rlo_problem *problem, int32_t axis, int64_t factor, rows_plan *plan) {
  int64_t before = rlo__max(plan->size[axis], 1);
  int64_t others = plan->num_rows / before;
  int64_t after =
      rlo__min(rlo__min(before * factor, problem->extents[axis]), plan->max_rows / others);
  if (after <= before) {
    return false;
  }
  plan->size[axis] = after;
  plan->num_rows = others * after;
  return true;
}

/* Lengthens a run of the block. */
static bool grow_run(const rlo_problem *problem, const rlo__axis_run *run, rows_plan *plan) {
  for (int32_t k = 1; k < run->num_axes; ++k) {
    int32_t a = run->axes[k];
    if (plan->size[a] < problem->extents[a]) {
      return grow_axis(problem, a, 2, plan);
    }
  }
  return false;
}

/* The axis with the shortest steps in the source, or in the destination where
 * nothing is read, of which the block does not have all; -1: none. */
static int32_t nearest_axis(const rlo_problem *problem, const rows_plan *plan) {
  uint64_t whole = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    bool is_whole = a == plan->cpu.x_axis || plan->size[a] == problem->extents[a];
    whole |= (uint64_t)is_whole << a;
  }
  const rlo_form *form = plan->cpu.geometry.is_fill ? &problem->dst : &problem->src;
  return rlo__geometry_nearest_axis(problem, form, whole);
}

static int64_t max_rows(const rows_plan *plan) {
  int64_t rows = plan->is_aligned ? BLOCK_ROWS : 2 * BLOCK_ROWS;
  int64_t bytes = rlo__thresholds.plan_cpu_most_block_bytes;
  if (plan->row_bytes < bytes / rows) {
    bytes = rlo__max(plan->row_bytes * rows, rlo__thresholds.plan_cpu_least_block_bytes);
  }
  return rlo__max(rlo__min(bytes / plan->row_bytes, MAX_PLACES), 1);
}

/* Chooses a block: the shorter run grows first. Where rows of less than a line
 * share lines, runs of the destination have as many as make whole lines. */
static void choose_block(const rlo_problem *problem, rows_plan *plan) {
  plan->max_rows = max_rows(plan);
  if (plan->dst_run.num_axes > 1 && plan->row_bytes < RLO__CPU_LINE_BYTES) {
    int64_t rows = RLO__CPU_LINE_BYTES / rlo__gcd(RLO__CPU_LINE_BYTES, plan->row_bytes);
    (void)grow_axis(problem, plan->dst_run.axes[1], rows, plan);
  }
  bool src_grows = !plan->cpu.geometry.is_fill;
  bool dst_grows = plan->row_bytes < MIN_STREAM_BYTES;
  while (src_grows || dst_grows) {
    measure(problem, plan);
    if (src_grows && (plan->src_run_bytes < plan->dst_run_bytes || !dst_grows)) {
      src_grows = grow_run(problem, &plan->src_run, plan);
    } else {
      dst_grows = grow_run(problem, &plan->dst_run, plan);
    }
  }
  int32_t nearest = nearest_axis(problem, plan);
  while (nearest >= 0 && grow_axis(problem, nearest, MAX_PLACES, plan)) {
    nearest = nearest_axis(problem, plan);
  }
  measure(problem, plan);
}

/* The axis along which the rows of a block follow each other first: the kernel
 * moves them in the order of the destination. -1: the block has one row. */
static int32_t first_axis(const rlo_problem *problem, const rows_plan *plan) {
  uint64_t single = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    bool is_single = a == plan->cpu.x_axis || plan->size[a] == 1;
    single |= (uint64_t)is_single << a;
  }
  return rlo__geometry_nearest_axis(problem, &problem->dst, single);
}

/* Tells if a block reads several short rows of each page: runs of a page and
 * more, or runs that lie close together. Hardware sees no streams in that. */
static bool reads_are_dense(const rlo_problem *problem, const rows_plan *plan) {
  int64_t page_units = PAGE_BYTES / plan->cpu.geometry.unit_bytes;
  bool is_close = true;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    bool is_apart =
        plan->size[a] > 1 && !rlo__axis_run_leads(&plan->src_run, plan->num_src_axes, a);
    is_close = is_close && (!is_apart || rlo__abs(problem->src.axis[a]) < page_units);
  }
  int64_t max_bytes =
      plan->cpu.geometry.num_pad_guards > 0 ? MAX_DENSE_PADDED_BYTES : MAX_DENSE_ROW_BYTES;
  return plan->num_rows > 1 && plan->row_bytes <= max_bytes &&
         (is_close || plan->src_run_bytes >= PAGE_BYTES);
}

static void choose(const rlo__family_query *query, rows_plan *plan) {
  const rlo_problem *problem = query->problem;
  *plan = (rows_plan){.cpu = RLO__GRID_PLAN_INIT(query), .num_rows = 1};
  rlo__grid_plan *cpu = &plan->cpu;
  const rlo__geometry *g = &cpu->geometry;
  int32_t run = cpu->x_axis = g->run_axis;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    plan->size[a] = 1;
  }
  plan->row_units = run >= 0 ? problem->extents[run] : 1;
  if (!rlo__mul(plan->row_units, g->unit_bytes, &plan->row_bytes)) {
    plan->row_bytes = INT64_MAX;
  }
  if (run >= 0) {
    plan->is_aligned = rlo__cpu_rows_are_lines(query, run, plan->row_units);
    plan->size[run] = rlo__cpu_chunk_units(problem, g, run);
    plan->src_run = rlo__axis_run_find(problem, &problem->src, run);
    plan->dst_run = rlo__axis_run_find(problem, &problem->dst, run);
    choose_block(problem, plan);
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != run || plan->size[a] < problem->extents[a]) {
      rlo__grid_add_blocks(&cpu->grid, problem, a, plan->size[a]);
    }
  }
  const int32_t plane_axes[2] = {run, -1};
  rlo__grid_sort(&cpu->grid, cpu->order, plane_axes);
  bool has_lines = plan->is_aligned || plan->dst_run_bytes >= RLO__CPU_MIN_LINED_BYTES;
  cpu->is_nontemporal = has_lines && rlo__cpu_wants_nontemporal(query, g);
  plan->is_dense = reads_are_dense(problem, plan);
  cpu->is_prefetching =
      cpu->is_prefetching && !g->is_fill && (plan->is_dense || plan->row_bytes >= MIN_OPENED_BYTES);
}

/* From measurements. Shorter rows than a line cost more than with family
 * packed, where that takes them. */
static double judge(const rlo__family_query *query, rlo__str *why) {
  if (!is_applicable(query, why)) {
    return RLO__REFUSED;
  }
  rows_plan plan;
  choose(query, &plan);
  double bytes = (double)plan.row_bytes;
  if (plan.is_aligned) {
    return 0.95 * bytes / (bytes + 4.0);
  }
  double max = plan.row_bytes < RLO__CPU_LINE_BYTES ? 0.55 : 0.95;
  return max * bytes / (bytes + 16.0);
}

/* Lines to prefetch with each row, so that a block is in the caches when the
 * one before it has been moved. */
static int64_t fetch_lines(const rows_plan *plan) {
  if (!plan->cpu.is_prefetching || !plan->is_dense) {
    return 0;
  }
  int64_t runs = plan->num_rows * plan->row_bytes / plan->src_run_bytes;
  int64_t lines = runs * (rlo__ceil_div(plan->src_run_bytes, RLO__CPU_LINE_BYTES) + 1);
  return rlo__ceil_div(lines, plan->num_rows);
}

/* The units that the problem's source may be read at, from its base on. */
static rlo_status readable_units(const rlo_problem *problem, const rows_plan *plan,
                                 int64_t *out_first, int64_t *out_end) {
  *out_first = 0;
  *out_end = 0;
  if (plan->cpu.geometry.is_fill) {
    return RLO_OK;
  }
  int64_t first;
  int64_t last;
  if (!rlo__form_range(problem, &problem->src, &first, &last)) {
    return rlo__fail_overflow("a position of the source");
  }
  int64_t units = problem->src_bytes / plan->cpu.geometry.unit_bytes;
  *out_first = rlo__max(first, 0) - problem->src.base;
  *out_end = rlo__min(last + 1, units) - problem->src.base;
  return RLO_OK;
}

/* The grid axis along which blocks share lines of the destination, which they
 * divide among themselves; or one of the kernel's other cases. */
static int32_t lean_axis(const rlo_problem *problem, const rows_plan *plan) {
  enum { NO_AXIS = -1, ROWS_ARE_LINES = -2 };

  const rlo__grid_plan *cpu = &plan->cpu;
  if (plan->is_aligned) {
    return ROWS_ARE_LINES;
  }
  bool is_shared = cpu->is_nontemporal && plan->dst_run.num_axes > 1 &&
                   plan->row_bytes >= RLO__CPU_LINE_BYTES &&
                   plan->size[cpu->x_axis] == plan->row_units;
  if (!is_shared) {
    return NO_AXIS;
  }
  int32_t axis = plan->dst_run.axes[1];
  int32_t first = first_axis(problem, plan);
  return first < 0 || first == axis ? rlo__grid_find(&cpu->grid, axis) : NO_AXIS;
}

static void describe(const rows_plan *plan, rlo__launch *launch) {
  const rlo__grid_plan *cpu = &plan->cpu;
  int64_t unit_bytes = cpu->geometry.unit_bytes;
  rlo__launch_describe(launch, "rows of %lld bytes, units of %lld bytes",
                       (long long)plan->row_bytes, (long long)unit_bytes);
  if (cpu->x_axis >= 0 && plan->size[cpu->x_axis] < plan->row_units) {
    rlo__launch_describe(launch, ", chunks of %lld KiB",
                         (long long)(plan->size[cpu->x_axis] * unit_bytes / 1024));
  } else {
    rlo__launch_describe(launch, ", %lld to a block, runs of %lld and %lld bytes",
                         (long long)plan->num_rows, (long long)plan->src_run_bytes,
                         (long long)plan->dst_run_bytes);
  }
  rlo__launch_describe(launch, ", %s%s%s", rlo__grid_order_name(cpu->order),
                       cpu->is_nontemporal ? ", non-temporal stores" : "",
                       cpu->is_prefetching ? ", prefetch" : "");
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  rows_plan plan;
  choose(query, &plan);
  rlo__grid_plan *cpu = &plan.cpu;
  const rlo__grid *grid = &cpu->grid;
  int64_t block_bytes =
      plan.num_rows * cpu->geometry.unit_bytes * (cpu->x_axis >= 0 ? plan.size[cpu->x_axis] : 1);
  int64_t blocks;
  RLO_TRY(rlo__grid_join_groups(
      query, block_bytes,
      rlo__schedule_group_bytes(&query->schedule, rlo__thresholds.plan_cpu_group_bytes), cpu,
      &blocks));
  int64_t points[RLO__GRID_MAX_AXES];
  int64_t steps[RLO__GRID_MAX_AXES];
  int64_t fetch_axes = 0;
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    int32_t a = grid->axes[n].problem_axis;
    points[n] = problem->extents[a];
    steps[n] = plan.size[a];
    bool is_run = rlo__axis_run_leads(&plan.src_run, plan.num_src_axes, a);
    fetch_axes |= is_run ? INT64_C(1) << n : 0;
  }
  int64_t first;
  int64_t end;
  RLO_TRY(readable_units(problem, &plan, &first, &end));
  const rlo__constant constants[] = {{"RLO_ROWS_PLACES", MAX_PLACES}, {0}};
  const rlo__arg args[] = {rlo__arg_vector(points, grid->num_axes),
                           rlo__arg_vector(steps, grid->num_axes),
                           rlo__arg_int(rlo__grid_find(grid, cpu->x_axis)),
                           rlo__arg_index(plan.row_units),
                           rlo__arg_int(lean_axis(problem, &plan)),
                           rlo__arg_index(blocks),
                           rlo__arg_int(fetch_axes),
                           rlo__arg_int(fetch_lines(&plan)),
                           rlo__arg_index(first),
                           rlo__arg_index(end),
                           {0}};
  RLO_TRY(rlo__grid_emit(query, cpu, "cpu_rows", constants, args, launch));
  describe(&plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_cpu_rows = {"rows", RLO_DEVICE_CLASS_CPU, judge, emit, 0};
