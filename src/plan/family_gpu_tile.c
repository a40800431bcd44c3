/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/gpu_launch.h"
#include "plan/plane.h"

/* Family tile, GPU class (cl/gpu_tile.cl): the innermost axes of the two sides
 * differ; tiles are transposed in local memory. */

/* Bytes that a lane moves at once where it does not move squares; more cause
 * bank conflicts between the lanes of a tile's column. */
enum { LANE_BYTES = 4 };

/* Pieces that a lane has in flight where it does not move squares. */
enum { LANE_PIECES = 4 };

/* Squares that a lane transposes in registers, by the unit's size, and tiles
 * of them: powers of two, enough for 256 lanes in 16 KiB. */
static const struct {
  int64_t unit_bytes, square, tile_a, tile_b;
} square_tiles[] = {
    {1, 4, 128, 128}, {2, 4, 64, 64}, {4, 4, 64, 64}, {8, 2, 64, 32}};

typedef struct tile_plan {
  rlo__grid_plan group;
  rlo__plane plane;
  int64_t tile_a;
  int64_t tile_b;
  /** Units of the side of a square; 1: none. */
  int64_t square;
  int64_t read_units;
  int64_t write_units;
  int64_t local_bytes;
  size_t num_groups;
} tile_plan;

/* Units along the side of a tile. */
static int64_t full_side(int64_t unit_bytes) {
  return unit_bytes <= 2 ? 64 : unit_bytes <= 8 ? 32 : 16;
}

/* The tile of a narrow plane is as narrow, and longer. There are few widths,
 * because each is a program of its own. */
static int64_t narrow_side(int64_t extent, int64_t full) {
  static const int64_t widths[] = {4, 8, 16};
  for (size_t n = 0; n < sizeof widths / sizeof widths[0]; ++n) {
    if (extent <= widths[n] && widths[n] < full) {
      return widths[n];
    }
  }
  return full;
}

/* Units that a lane moves at once on a side: four bytes' worth or one; other
 * sizes would only add programs. Rows along `axis` begin at multiples of them.
 */
static int64_t wide_units(const rlo_problem *problem,
                          const rlo_form *form,
                          int32_t axis,
                          int64_t alignment_bytes) {
  int64_t bytes =
      rlo__gpu_alignment(problem, form, axis, alignment_bytes, LANE_BYTES);
  return bytes < LANE_BYTES ? 1 : rlo__ceil_div(bytes * 8, problem->unit_bits);
}

static int64_t local_bytes(const tile_plan *plan) {
  return plan->tile_b * (plan->tile_a + 1) * plan->group.geometry.unit_bytes;
}

/* Chooses squares if the plane holds a whole tile of them, local memory holds
 * the tile, and every row is aligned to the sides of squares. */
static bool choose_squares(const rlo__family_query *query, tile_plan *plan) {
  const rlo_problem *problem = query->problem;
  const rlo__plane *plane = &plan->plane;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  for (size_t n = 0; n < sizeof square_tiles / sizeof square_tiles[0]; ++n) {
    if (square_tiles[n].unit_bytes != unit_bytes ||
        plane->na < square_tiles[n].tile_a ||
        plane->nb < square_tiles[n].tile_b) {
      continue;
    }
    int64_t side_bytes = square_tiles[n].square * unit_bytes;
    int64_t src = rlo__gpu_alignment(problem,
                                     &problem->src,
                                     plane->a_axis,
                                     query->src_alignment_bytes,
                                     side_bytes);
    int64_t both = rlo__gpu_alignment(
        problem, &problem->dst, plane->b_axis, query->dst_alignment_bytes, src);
    plan->square = square_tiles[n].square;
    plan->tile_a = square_tiles[n].tile_a;
    plan->tile_b = square_tiles[n].tile_b;
    if (both == side_bytes &&
        local_bytes(plan) <= query->device->local_memory_bytes) {
      return true;
    }
  }
  return false;
}

static void choose_tile(const rlo__family_query *query, tile_plan *plan) {
  if (choose_squares(query, plan)) {
    return;
  }
  plan->square = 1;
  const rlo__plane *plane = &plan->plane;
  int64_t full = full_side(plan->group.geometry.unit_bytes);
  plan->tile_a = narrow_side(plane->na, full);
  plan->tile_b = narrow_side(plane->nb, full);
  if (plan->tile_a <= plan->tile_b) {
    plan->tile_b = full * full / plan->tile_a;
  } else {
    plan->tile_a = full * full / plan->tile_b;
  }
}

/* Plane after plane, so that groups that share lines at the ends of rows, on
 * either side, run close together in time; planes in the order of the
 * destination. Groups that read the same joined rows follow each other. */
static rlo_status lay_grid(const rlo__family_query *query, tile_plan *plan) {
  const rlo_problem *problem = query->problem;
  const rlo__plane *plane = &plan->plane;
  rlo__grid *grid = &plan->group.grid;
  int32_t joined = query->joined.bits > 0 ? query->joined.axis : -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != plane->a_axis && a != plane->b_axis && a != joined) {
      RLO_TRY(rlo__grid_add_axis(grid, problem, a, 1));
    }
  }
  RLO_TRY(rlo__grid_place_axis(grid, problem, plane->a_axis, plan->tile_a));
  RLO_TRY(rlo__grid_place_axis(grid, problem, plane->b_axis, plan->tile_b));
  if (joined >= 0) {
    RLO_TRY(rlo__grid_place_axis(grid, problem, joined, 1));
  }
  rlo__gpu_round_axes(grid);
  return RLO_OK;
}

static rlo_status choose(const rlo__family_query *query, tile_plan *plan) {
  const rlo_problem *problem = query->problem;
  *plan = (tile_plan){.group = {.geometry = rlo__geometry_of(query)}};
  rlo__grid_plan *group = &plan->group;
  rlo__plane *plane = &plan->plane;
  rlo__str unused = rlo__str_over(NULL, 0);
  if (!rlo__plane_find(problem, &group->geometry, plane, &unused)) {
    return RLO_FAIL(RLO_INTERNAL, "a problem without a plane came to tile");
  }
  choose_tile(query, plan);
  plan->local_bytes = local_bytes(plan);
  /* Also for tiles at the ends. */
  plan->read_units = wide_units(
      problem, &problem->src, plane->a_axis, query->src_alignment_bytes);
  plan->write_units = wide_units(
      problem, &problem->dst, plane->b_axis, query->dst_alignment_bytes);
  group->x_axis = plane->a_axis;
  group->y_axis = plane->b_axis;
  RLO_TRY(lay_grid(query, plan));
  return rlo__grid_num_groups(&group->grid, &plan->num_groups);
}

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  rlo__plane plane;
  if (!rlo__plane_find(problem, &g, &plane, why) ||
      !rlo__grid_is_within_limits(
          query,
          &g,
          problem->num_axes,
          RLO__PLANE_NUM_SCALARS + RLO__GPU_GRID_SCALARS + 1,
          why)) {
    return false;
  }
  tile_plan plan;
  if (choose(query, &plan) != RLO_OK) {
    rlo__str_append(why, "it has more tiles than 64 bits can count");
    return false;
  }
  if (plan.local_bytes > query->device->local_memory_bytes) {
    rlo__str_printf(why,
                    "its tile takes %lld bytes of local memory; the device has "
                    "%lld",
                    (long long)plan.local_bytes,
                    (long long)query->device->local_memory_bytes);
    return false;
  }
  return rlo__gpu_can_launch(plan.num_groups, why);
}

/* The useful share of the sectors of one side, whose runs are along `axis` and
 * `run` units long. */
static double sector_share(const rlo__family_query *query,
                           const rlo_form *form,
                           int32_t axis,
                           int64_t alignment_bytes,
                           int64_t run) {
  int64_t begin = rlo__gpu_alignment(
      query->problem, form, axis, alignment_bytes, RLO__GPU_SECTOR_BYTES);
  return rlo__gpu_sector_share(run * (query->problem->unit_bits / 8), begin);
}

static double predict(const rlo__family_query *query) {
  tile_plan plan;
  if (choose(query, &plan) != RLO_OK) {
    return 0.0;
  }
  const rlo_problem *problem = query->problem;
  const rlo__plane *plane = &plan.plane;
  double src = sector_share(query,
                            &problem->src,
                            plane->a_axis,
                            query->src_alignment_bytes,
                            rlo__min(plan.tile_a, plane->na));
  double dst = sector_share(query,
                            &problem->dst,
                            plane->b_axis,
                            query->dst_alignment_bytes,
                            rlo__min(plan.tile_b, plane->nb));
  int64_t unit_bytes = plan.group.geometry.unit_bytes;
  int64_t items = rlo__gpu_local_items(query->device);
  int64_t tile_units = plan.tile_a * plan.tile_b;
  double lane_units = (double)tile_units / (double)items;
  int64_t read_units = plan.square > 1 ? plan.square : plan.read_units;
  int64_t write_units = plan.square > 1 ? plan.square : plan.write_units;
  int64_t pieces = plan.square > 1 ? plan.square : LANE_PIECES;
  pieces = rlo__min(pieces, rlo__ceil_div(tile_units, items * read_units));
  /* Packed elements: each byte is put together from so many rows. */
  double rows = query->joined.bits > 0 ? 8.0 / query->joined.bits : 1.0;
  return rlo__gpu_rate(&(rlo__gpu_group){
             .loop = plan.square > 1 ? RLO__GPU_TILE_SQUARES : RLO__GPU_TILE,
             .items = items,
             .local_bytes = plan.local_bytes,
             .bytes = 2.0 * (double)(tile_units * unit_bytes),
             .src_share = src,
             .dst_share = dst,
             .num_grid_axes = plan.group.grid.num_axes,
             .num_guards = problem->num_guards,
             .moves = (rows * lane_units / (double)read_units +
                       lane_units / (double)write_units),
             .flight_bytes = (double)(pieces * read_units * unit_bytes)}) *
         rlo__grid_fullness(plane->na, plan.tile_a) *
         rlo__grid_fullness(plane->nb, plan.tile_b);
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  tile_plan plan;
  RLO_TRY(choose(query, &plan));
  const rlo__grid_plan *group = &plan.group;
  RLO_TRY(rlo__gpu_begin(query, group, "gpu_tile", plan.num_groups, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_TILE_A", plan.tile_a));
  RLO_TRY(rlo__launch_define(launch, "RLO_TILE_B", plan.tile_b));
  RLO_TRY(rlo__launch_define(launch, "RLO_SQUARE", plan.square));
  RLO_TRY(rlo__launch_define(launch, "RLO_READ_UNITS", plan.read_units));
  RLO_TRY(rlo__launch_define(launch, "RLO_WRITE_UNITS", plan.write_units));
  if (query->joined.bits > 0) {
    RLO_TRY(rlo__launch_define(launch, "RLO_JOINED_BITS", query->joined.bits));
  }
  RLO_TRY(rlo__plane_add_sizes(&plan.plane, group, launch));
  if (query->joined.bits > 0) {
    RLO_TRY(rlo__grid_add_index(group, launch, query->joined.step_bytes));
  }
  RLO_TRY(rlo__grid_add_guards(query, group, launch));
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(
      &words,
      "tile %lldx%lld in local memory, units of %lld bytes, a lane ",
      (long long)plan.tile_a,
      (long long)plan.tile_b,
      (long long)group->geometry.unit_bytes);
  if (plan.square > 1) {
    rlo__str_printf(&words,
                    "transposes %lldx%lld",
                    (long long)plan.square,
                    (long long)plan.square);
  } else {
    rlo__str_printf(&words,
                    "reads %lld and writes %lld",
                    (long long)plan.read_units,
                    (long long)plan.write_units);
  }
  return RLO_OK;
}

const rlo__family rlo__family_gpu_tile = {"tile",
                                          RLO_DEVICE_CLASS_GPU,
                                          is_applicable,
                                          predict,
                                          emit,
                                          RLO__FAMILY_JOINS};
