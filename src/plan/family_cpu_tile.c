/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "plan/plane.h"

/* Family tile, CPU class (cl/cpu_tile.cl): the innermost axes of the two sides
 * differ. */

/* The rows of a block are streams that hardware follows by itself if there are
 * at most 16 and they are long. It reads ahead into the second-level cache,
 * without the buffers of the first that prefetches share with stores. So tiles
 * are wide then, if each unit of the device still has several. */
enum { MIN_STREAM_UNIT_BYTES = 4 };

/* Sides join axes up to these lengths. Reads gain from long runs, and writes
 * gain where a row has few lines or rows share lines. Where lines are whole,
 * joining rows of the destination only scatters reads. */
enum { ENOUGH_A_LINES = 64, ENOUGH_B_LINES = 3, ENOUGH_SHARED_LINES = 16, MIN_SHARED_A_LINES = 4 };

/* Arguments after the shared ones, for a problem with guards: six extents and
 * strides, and four ints, which count as half. */
enum { NUM_SCALARS = 8 };

/* Rows shorter than this have too few whole lines for staging to pay. */
enum { MIN_STAGED_ROW_BYTES = 4 * RLO__CPU_LINE_BYTES };

/* Strides of whole pages map to one set of the caches. */
enum { PAGE_BYTES = 4096 };

/* A core remembers where some thousand pages are; a split is worth it only
 * where groups touch more rows of the destination in between
 * (plan_cpu_many_pages), and if it lets this many points share pages. It takes
 * one axis more, of at most this many. */
enum { SPLIT_PAGES = 512, MIN_PAGE_POINTS = 3, MAX_SPLIT_AXES = 8 };

typedef struct tile_plan {
  rlo__grid_plan cpu;
  rlo__plane plane;
  rlo__side a;
  rlo__side b;
  int64_t line_units;
  int64_t tile_a;
  int64_t tile_b;
  /** Largest power of two, at most a line, that divides every destination
   *  address. */
  int64_t dst_alignment;
  bool has_page_stride;
  /** Rows of the source are long enough to be left to the hardware's prefetch.
   */
  bool has_streams;
  /** Groups that follow each other within pages of the destination; 0: the grid
   *  is in its plain order. */
  int64_t page_points;
} tile_plan;

/* Adds the tiles of a side to the grid. Their stride across the side varies,
 * so that the kernel computes it; a value is needed only while the grid is
 * sorted. */
static void add_tiles(const rlo__side *side, int64_t tile, rlo__grid *grid) {
  if (side->extent > tile) {
    assert(grid->num_axes < RLO__GRID_MAX_AXES);
    grid->axes[grid->num_axes++] = (rlo__grid_axis){
        .problem_axis = side->axes[0], .step = tile, .extent = rlo__ceil_div(side->extent, tile)};
  }
}

/* Makes the groups consecutive that differ along one axis only. */
static void move_to_end(rlo__grid *grid, int32_t problem_axis) {
  int32_t place = rlo__grid_find(grid, problem_axis);
  rlo__grid_axis moved = grid->axes[place];
  for (; place + 1 < grid->num_axes; ++place) {
    grid->axes[place] = grid->axes[place + 1];
  }
  grid->axes[place] = moved;
}

/* Points of an axis beside the plane that one group after the other visits:
 * they share pages of the destination, and the pages of the source that they
 * read are no more than a core remembers. A divisor of the extent. */
static int64_t count_page_points(const rlo__grid_axis *axis, const tile_plan *plan) {
  int64_t step_bytes = rlo__abs(axis->dst_stride) * plan->cpu.geometry.unit_bytes;
  if (axis->step != 1 || step_bytes == 0 || step_bytes > PAGE_BYTES) {
    return 1;
  }
  int64_t count = rlo__min(PAGE_BYTES / step_bytes, SPLIT_PAGES / plan->tile_b);
  count = rlo__max(rlo__min(count, axis->extent), 1);
  while (axis->extent % count != 0) {
    --count;
  }
  return count;
}

/* In the source's order, groups whose rows of the destination are short return
 * to a page after thousands of others, and its address is translated each time.
 * Here an axis that stays within pages is split, and its points follow each
 * other. */
static void split_for_pages(tile_plan *plan) {
  rlo__grid *grid = &plan->cpu.grid;
  int64_t unit_bytes = plan->cpu.geometry.unit_bytes;
  if (grid->num_axes >= MAX_SPLIT_AXES || rlo__abs(plan->a.steps[0]) * unit_bytes < PAGE_BYTES) {
    return;
  }
  int64_t rows = plan->tile_a;
  for (int32_t n = grid->num_axes - 1; n >= 0; --n) {
    rlo__grid_axis *axis = &grid->axes[n];
    bool is_beside =
        axis->problem_axis != plan->plane.a_axis && axis->problem_axis != plan->plane.b_axis;
    int64_t count = is_beside ? count_page_points(axis, plan) : 1;
    if (rows > rlo__thresholds.plan_cpu_many_pages && count >= MIN_PAGE_POINTS) {
      rlo__grid_axis inner = *axis;
      inner.extent = count;
      axis->extent /= count;
      axis->step = count;
      axis->src_stride *= count;
      axis->dst_stride *= count;
      grid->axes[grid->num_axes++] = inner;
      plan->page_points = count;
      return;
    }
    rows *= axis->extent;
  }
}

/* Lays the grid of rows that begin anywhere in a byte, in the order of the
 * destination but for the plane, with strides of elements. */
static void lay_odd_grid(const rlo__joined_rows *joined, tile_plan *plan) {
  const rlo_problem *elements = joined->elements;
  rlo__grid *grid = &plan->cpu.grid;
  grid->num_axes = 0;
  for (int32_t a = 0; a < elements->num_axes; ++a) {
    if (a != plan->plane.a_axis && a != plan->plane.b_axis) {
      rlo__grid_add_axis(grid, elements, a, 1);
    }
  }
  add_tiles(&plan->b, plan->tile_b, grid);
  add_tiles(&plan->a, plan->tile_a, grid);
  const int64_t count = 8 / joined->bits;
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    rlo__grid_axis *axis = &grid->axes[n];
    if (axis->problem_axis == plan->plane.a_axis) {
      axis->src_stride = axis->step * count;
    } else if (axis->problem_axis == plan->plane.b_axis) {
      axis->dst_stride = axis->step * count;
    }
  }
  grid->axes[grid->num_axes++] =
      (rlo__grid_axis){.problem_axis = joined->axis,
                       .step = 1,
                       .extent = count,
                       .src_stride = 1,
                       .dst_stride = elements->dst.axis[plan->plane.a_axis]};
}

/* Lays the grid, in the order of the schedule. Groups that read the same joined
 * rows follow each other. */
static void lay_grid(const rlo_problem *problem, const rlo__joined_rows *joined, tile_plan *plan) {
  rlo__grid *grid = &plan->cpu.grid;
  grid->num_axes = 0;
  plan->page_points = 0;
  plan->cpu.x_axis = plan->plane.a_axis;
  plan->cpu.y_axis = plan->plane.b_axis;
  add_tiles(&plan->a, plan->tile_a, grid);
  add_tiles(&plan->b, plan->tile_b, grid);
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    rlo__grid_axis *axis = &grid->axes[n];
    bool is_a = axis->problem_axis == plan->plane.a_axis;
    axis->src_stride = is_a ? axis->step : plan->b.steps[0] * axis->step;
    axis->dst_stride = is_a ? plan->a.steps[0] * axis->step : axis->step;
  }
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (!rlo__side_has(&plan->a, a) && !rlo__side_has(&plan->b, a)) {
      rlo__grid_add_axis(grid, problem, a, 1);
    }
  }
  const int32_t plane_axes[2] = {plan->plane.a_axis, plan->plane.b_axis};
  rlo__grid_sort(grid, plan->cpu.order, plane_axes);
  if (joined->bits > 0) {
    move_to_end(grid, joined->axis);
  } else if (plan->cpu.order == RLO__GRID_ORDER_OWN) {
    split_for_pages(plan);
  }
  for (int32_t n = 0; n < grid->num_axes; ++n) {
    rlo__grid_axis *axis = &grid->axes[n];
    if (axis->problem_axis == plan->plane.a_axis) {
      axis->dst_stride = 0;
    } else if (axis->problem_axis == plan->plane.b_axis) {
      axis->src_stride = 0;
    }
  }
}

/* Cuts a side into tiles of about the same length. */
static int64_t cut(int64_t extent, int64_t max, int64_t line) {
  int64_t pieces = 1 + (extent - 1) / max;
  return rlo__ceil_div(1 + (extent - 1) / pieces, line) * line;
}

/* Most lines of a tile along rows of the source. */
static int64_t max_a_lines(const rlo__family_query *query, const tile_plan *plan) {
  if (query->joined.bits > 0) {
    return rlo__thresholds.plan_cpu_joined_tile_a_lines;
  }
  return plan->has_streams ? rlo__thresholds.plan_cpu_stream_tile_a_lines
                           : rlo__thresholds.plan_cpu_tile_a_lines;
}

/* Chooses tiles and grid for the present sides, and derives the destination's
 * alignment. */
static void lay_tiles(const rlo__family_query *query, tile_plan *plan) {
  int64_t line = plan->line_units;
  int64_t unit_bytes = plan->cpu.geometry.unit_bytes;
  const rlo__side *a = &plan->a;
  int64_t max_a = max_a_lines(query, plan);
  int64_t max_b = unit_bytes <= 2 ? rlo__thresholds.plan_cpu_narrow_tile_b_lines
                                  : rlo__thresholds.plan_cpu_tile_b_lines;
  if (query->joined.bits > 0) {
    max_b = rlo__max(rlo__thresholds.plan_cpu_tile_b_lines * query->joined.bits / 8,
                     rlo__thresholds.plan_cpu_joined_tile_b_lines);
  }
  /* A side that is up to a half longer is not cut. */
  max_a += a->extent <= (max_a + max_a / 2) * line ? max_a / 2 : 0;
  plan->tile_a = cut(a->extent, max_a * line, line);
  plan->tile_b = cut(plan->b.extent, max_b * line, line);
  const rlo__schedule *schedule = &query->schedule;
  if (schedule->tile_a_lines > 0) {
    plan->tile_a = schedule->tile_a_lines * line;
    plan->tile_b = schedule->tile_b_lines * line;
  }
  if (query->joined.elements != NULL) {
    lay_odd_grid(&query->joined, plan);
    plan->dst_alignment = 1;
    return;
  }
  lay_grid(query->problem, &query->joined, plan);
  plan->dst_alignment = rlo__grid_dst_alignment(query, &plan->cpu.grid, -1, RLO__CPU_LINE_BYTES);
  for (int32_t n = 0; n < a->num_levels; ++n) {
    plan->dst_alignment =
        rlo__alignment_after(plan->dst_alignment, a->steps[n] * unit_bytes, RLO__CPU_LINE_BYTES);
  }
}

/* Joins axes to side b, which has the elements of a byte with joined rows. */
static void grow_b(const rlo__family_query *query, int64_t enough, tile_plan *plan) {
  if (query->joined.bits == 0) {
    rlo__side_grow(query->problem, &query->problem->dst, enough, &plan->a, &plan->b);
  }
}

/* Tells if the hardware's own prefetch reads the rows of the source. */
static bool reads_streams(const rlo__family_query *query, const tile_plan *plan) {
  const rlo__geometry *g = &plan->cpu.geometry;
  int64_t tile_units = rlo__thresholds.plan_cpu_stream_tile_a_lines * plan->line_units *
                       rlo__thresholds.plan_cpu_tile_b_lines * plan->line_units;
  int64_t tiles =
      rlo__thresholds.plan_cpu_stream_unit_tiles * rlo__max(query->device->compute_units, 1);
  return g->unit_bytes >= MIN_STREAM_UNIT_BYTES && query->schedule.tile_a_lines == 0 &&
         plan->a.extent >= rlo__thresholds.plan_cpu_stream_lines * plan->line_units &&
         g->box_bytes / (tile_units * g->unit_bytes) >= tiles &&
         rlo__cpu_wants_nontemporal(query, g);
}

/* Chooses the sides, their tiles and the grid. */
static void choose_sides(const rlo__family_query *query, tile_plan *plan) {
  const rlo_problem *problem = query->problem;
  int64_t line = plan->line_units;
  rlo__side *a = &plan->a;
  rlo__side *b = &plan->b;
  rlo__sides_init(problem, &plan->plane, a, b);
  if (query->joined.elements != NULL) {
    lay_tiles(query, plan);
    return;
  }
  rlo__side_grow(problem, &problem->src, ENOUGH_A_LINES * line, b, a);
  grow_b(query, ENOUGH_B_LINES * line, plan);
  plan->has_streams = reads_streams(query, plan);
  lay_tiles(query, plan);
  if (plan->dst_alignment == RLO__CPU_LINE_BYTES) {
    return;
  }
  plan->has_streams = false;
  rlo__sides_init(problem, &plan->plane, a, b);
  rlo__side_grow(problem, &problem->src, MIN_SHARED_A_LINES * line, b, a);
  grow_b(query, ENOUGH_SHARED_LINES * line, plan);
  rlo__side_grow(problem, &problem->src, ENOUGH_SHARED_LINES * line, b, a);
  lay_tiles(query, plan);
}

static bool choose(const rlo__family_query *query, tile_plan *plan, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  *plan = (tile_plan){.cpu = RLO__GRID_PLAN_INIT(query)};
  rlo__grid_plan *cpu = &plan->cpu;
  rlo__plane *plane = &plan->plane;
  int64_t unit_bytes = cpu->geometry.unit_bytes;
  if (!rlo__plane_find(problem, &cpu->geometry, plane, why) ||
      !rlo__grid_is_within_limits(query, &cpu->geometry, problem->num_axes, NUM_SCALARS, why)) {
    return false;
  }
  plan->line_units = RLO__CPU_LINE_BYTES / unit_bytes;
  plan->has_page_stride = plane->src_ld * unit_bytes % PAGE_BYTES == 0;
  choose_sides(query, plan);
  bool has_lines = plan->dst_alignment == RLO__CPU_LINE_BYTES ||
                   plan->b.extent * unit_bytes >= MIN_STAGED_ROW_BYTES;
  cpu->is_nontemporal = has_lines && rlo__cpu_wants_nontemporal(query, &cpu->geometry);
  return true;
}

/* The efficiency of runs: each costs as much as 16 bytes more. */
static double run_share(int64_t units, int64_t unit_bytes) {
  double bytes = (double)(units * unit_bytes);
  return bytes / (bytes + 16.0);
}

/*
 * From measurements with the copy kernel at 45 to 60 GB/s on two cores: ttc57
 * for units of 4 bytes and for rows of the source that are far apart; the suite
 * `types` for other units, strides of whole pages, shared lines, and sides of
 * several axes that share lines. Partial blocks cost as much as whole ones, and
 * planes smaller than a block are moved unit by unit.
 */
static double judge(const rlo__family_query *query, rlo__str *why) {
  tile_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  static const double by_log2_bytes[] = {0.74, 0.80, 0.91, 0.93, 0.93};
  static const double with_page_stride[] = {0.52, 0.60, 0.75, 0.92, 0.92};
  static const double with_joined_rows[] = {0.55, 0.75, 0.85};
  const double far_rows = 0.85;
  const double shared_lines = 0.80;
  const double shared_and_joined = 0.65;
  const double whole_and_joined = 0.80;
  const double odd_rows = 0.45;
  int64_t unit_bytes = plan.cpu.geometry.unit_bytes;
  if (plan.b.extent < plan.line_units) {
    return 0.01 * (double)unit_bytes; /* family gather is faster */
  }
  if (plan.a.extent < plan.line_units) {
    return unit_bytes <= 2 ? 0.06 : 0.03 * (double)unit_bytes;
  }
  int32_t log2_bytes = (int32_t)__builtin_ctzll((uint64_t)unit_bytes);
  double fraction = plan.has_page_stride ? with_page_stride[log2_bytes] : by_log2_bytes[log2_bytes];
  if (rlo__abs(plan.plane.src_ld) >= rlo__thresholds.plan_cpu_far_bytes / unit_bytes) {
    fraction *= far_rows;
  }
  if (plan.dst_alignment < RLO__CPU_LINE_BYTES) {
    fraction *= plan.b.num_levels > 1 ? shared_and_joined : shared_lines;
  } else if (plan.b.num_levels > 1) {
    fraction *= whole_and_joined;
  }
  if (query->joined.bits > 0) {
    fraction *= with_joined_rows[query->joined.bits / 2];
    fraction *= query->joined.elements != NULL ? odd_rows : 1.0;
  }
  return fraction * run_share(plan.tile_a, unit_bytes) * run_share(plan.tile_b, unit_bytes) *
         rlo__grid_fullness(plan.a.extent, plan.line_units) *
         rlo__grid_fullness(plan.b.extent, plan.line_units);
}

static void describe(const rlo__family_query *query, const tile_plan *plan, rlo__launch *launch) {
  const rlo__grid_plan *cpu = &plan->cpu;
  rlo__launch_describe(launch, "tile %lldx%lld, units of %lld bytes, %s", (long long)plan->tile_a,
                       (long long)plan->tile_b, (long long)cpu->geometry.unit_bytes,
                       rlo__grid_order_name(cpu->order));
  if (query->joined.bits > 0) {
    rlo__launch_describe(launch, ", %d joined rows of %d bits%s", 8 / query->joined.bits,
                         query->joined.bits,
                         query->joined.elements != NULL ? " that begin anywhere" : "");
  }
  if (plan->a.num_levels > 1 || plan->b.num_levels > 1) {
    rlo__launch_describe(launch, ", sides of %d and %d axes", plan->a.num_levels,
                         plan->b.num_levels);
  }
  rlo__launch_describe(launch, "%s%s",
                       !cpu->is_nontemporal ? ""
                       : plan->dst_alignment == RLO__CPU_LINE_BYTES
                           ? ", non-temporal stores"
                           : ", staged non-temporal stores",
                       cpu->is_prefetching ? ", prefetch" : "");
  if (plan->page_points > 0) {
    rlo__launch_describe(launch, ", %lld groups to a page", (long long)plan->page_points);
  }
}

/* The extents of the two lower levels, and the steps of the two upper ones. */
static rlo__arg *add_levels(const rlo__side *side, rlo__arg *args) {
  *args++ = rlo__arg_index(side->extents[0]);
  *args++ = rlo__arg_index(side->num_levels > 1 ? side->extents[1] : 1);
  *args++ = rlo__arg_index(side->steps[1]);
  *args++ = rlo__arg_index(side->steps[2]);
  return args;
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  tile_plan plan;
  (void)choose(query, &plan, NULL);
  const rlo__grid_plan *cpu = &plan.cpu;
  bool has_levels = plan.a.num_levels > 1 || plan.b.num_levels > 1;
  bool is_joined = query->joined.bits > 0;
  /* Only a whole line makes a difference: fewer programs. */
  bool is_aligned = cpu->is_nontemporal && plan.dst_alignment == RLO__CPU_LINE_BYTES;
  const rlo__constant constants[] = {
      {"RLO_VECTOR_SHUFFLE", query->device->has_vector_shuffle},
      {"RLO_DST_ALIGN", is_aligned ? RLO__CPU_LINE_BYTES : cpu->geometry.unit_bytes},
      {"RLO_LEVELS", has_levels ? RLO__SIDE_MAX_LEVELS : 1},
      {0}};
  /* The sides may be longer than the axes that they begin with. */
  plan.plane.na = plan.a.extent;
  plan.plane.nb = plan.b.extent;
  rlo__arg args[RLO__PLANE_NUM_SCALARS + 8 + 9 + 1] = {0};
  rlo__arg *end = rlo__plane_args(&plan.plane, &cpu->grid, args);
  if (has_levels) {
    end = add_levels(&plan.b, add_levels(&plan.a, end));
  }
  *end++ = rlo__arg_int(plan.tile_a);
  *end++ = rlo__arg_int(plan.tile_b);
  if (is_joined) {
    *end++ = rlo__arg_index(query->joined.step_bytes);
    *end++ = rlo__arg_stride(&query->problem->dst, query->joined.axis);
    RLO_TRY(rlo__launch_define(launch, "RLO_JOINED_BITS", query->joined.bits));
  }
  const rlo_problem *elements = query->joined.elements;
  if (elements != NULL) {
    const int64_t count = 8 / query->joined.bits;
    *end++ = rlo__arg_int(rlo__floor_mod(elements->src.base, count));
    *end++ = rlo__arg_int(rlo__floor_mod(elements->dst.base, count));
    *end++ = rlo__arg_index(elements->extents[plan.plane.a_axis]);
    *end++ = rlo__arg_index(elements->extents[plan.plane.b_axis]);
    *end++ = rlo__arg_int(plan.plane.a_axis);
    RLO_TRY(rlo__launch_define(launch, "RLO_JOINED_ODD", 1));
  }
  if (query->schedule.tile_a_lines > 0) {
    RLO_TRY(rlo__launch_define(launch, "RLO_TILE_A", plan.tile_a));
    RLO_TRY(rlo__launch_define(launch, "RLO_TILE_B", plan.tile_b));
  }
  RLO_TRY(rlo__grid_emit(query, cpu, "cpu_tile", constants, args, launch));
  describe(query, &plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_cpu_tile = {"tile", RLO_DEVICE_CLASS_CPU, judge, emit,
                                          RLO__FAMILY_JOINS};
