/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/threshold.h"
#include "plan/plane.h"

/* Family tile, GPU class (cl/gpu_tile.cl): the innermost axes of the two sides
 * differ; tiles are transposed in local memory. */

/* Bytes that a lane moves at once where it does not move squares; more cause
 * bank conflicts between the lanes of a tile's column. */
enum { LANE_BYTES = 4 };

/* Pieces that a lane has in flight where it does not move squares. */
enum { LANE_PIECES = 8 };

/* Tiles, by the unit's size: powers of two, about 16 KiB. Then squares that a
 * lane transposes in registers; 1: none. */
static const struct {
  int64_t unit_bytes, tile_a, tile_b, square;
} tiles[] = {{1, 128, 128, 4}, {2, 128, 64, 4}, {4, 64, 64, 4}, {8, 64, 32, 2}, {16, 32, 32, 1}};

enum {
  NUM_TILES = sizeof tiles / sizeof tiles[0],
  /** Bytes of a word, and of the widest unit of which words are put together.
   */
  WORD_BYTES = 4,
  MAX_WORD_UNIT_BYTES = 2,
  /** Bytes that local memory serves at a time. */
  BANK_BYTES = 128,
  /** Units of narrow tiles of such units. */
  NARROW_UNITS = 4096,
  MAX_HALVINGS = 1,
  /** The unit of tiles that are halved where sectors are shared. */
  SHARED_UNIT_BYTES = 4,
  /** Units of the shortest side of a tile that moves as words. */
  MIN_WORD_SIDE = 32
};

/* Share of the units of tiles that are in the plane, or tiles are halved. */
#define MIN_FULLNESS 0.7

typedef struct tile_plan {
  rlo__grid_plan group;
  rlo__plane plane;
  int64_t tile_a;
  int64_t tile_b;
  /** Units of the side of a square; 1: none. */
  int64_t square;
  /** Units of one and two bytes move as words. */
  bool has_words;
  int64_t read_units;
  int64_t write_units;
  int64_t local_bytes;
} tile_plan;

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

/* Units that a lane moves at once on a side whose rows begin at multiples of so
 * many bytes: four bytes' worth or one; other sizes would only add programs. */
static int64_t wide_units(const rlo_problem *problem, int64_t bytes) {
  return bytes < LANE_BYTES ? 1 : rlo__ceil_div(bytes * 8, problem->unit_bits);
}

/* The bytes of local memory that cl/gpu_tile.cl and cl/gpu_words.cl lay out. */
static int64_t local_bytes(const rlo__family_query *query, const tile_plan *plan) {
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t a = plan->tile_a;
  int64_t b = plan->tile_b;
  if (plan->has_words) {
    return b * (a * unit_bytes + WORD_BYTES + unit_bytes);
  }
  if (unit_bytes < WORD_BYTES) {
    return b * (a * unit_bytes + (plan->write_units == 1 ? WORD_BYTES : unit_bytes));
  }
  int64_t banks = BANK_BYTES / unit_bytes;
  bool has_lanes = rlo__gpu_local_items(query->device) >= banks;
  int64_t between = has_lanes && a < banks ? b * a / banks : has_lanes && b < banks ? banks : b;
  return (b * a + between) * unit_bytes;
}

/* Tells if units may move as words: rows of both sides have whole words in a
 * tile, and the rows that a lane takes begin alike in their words. */
static bool can_have_words(const rlo__family_query *query, const tile_plan *plan) {
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t side = rlo__max(plan->tile_a, plan->tile_b);
  int64_t lanes = side * unit_bytes / WORD_BYTES;
  int64_t rows = rlo__gpu_local_items(query->device) / lanes;
  return query->joined.bits == 0 && unit_bytes <= MAX_WORD_UNIT_BYTES &&
         rlo__min(plan->tile_a, plan->tile_b) >= MIN_WORD_SIDE && rows > 0 &&
         rows * unit_bytes % WORD_BYTES == 0;
}

/* Tells if every row on both sides is aligned to the sides of squares. */
static bool can_have_squares(const rlo__family_query *query, const tile_plan *plan,
                             int64_t square) {
  int64_t bytes = square * plan->group.geometry.unit_bytes;
  return rlo__src_alignment(query, plan->plane.a_axis, bytes) == bytes &&
         rlo__dst_alignment(query, plan->plane.b_axis, bytes) == bytes;
}

/* Gives the plan the tile of its unit's size, turned if the plane is narrower,
 * `halvings` times halved on both sides. Squares need lanes that have one. */
static void set_tile(const rlo__family_query *query, int32_t halvings, tile_plan *plan) {
  const rlo__plane *plane = &plan->plane;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int32_t n = 0;
  while (n < NUM_TILES - 1 && tiles[n].unit_bytes != unit_bytes) {
    ++n;
  }
  bool is_turned = plane->na < tiles[n].tile_a && plane->nb >= tiles[n].tile_a;
  int64_t full_a = is_turned ? tiles[n].tile_b : tiles[n].tile_a;
  int64_t full_b = is_turned ? tiles[n].tile_a : tiles[n].tile_b;
  full_a >>= halvings;
  full_b >>= halvings;
  plan->tile_a = narrow_side(plane->na, full_a);
  plan->tile_b = narrow_side(plane->nb, full_b);
  bool is_narrow = plan->tile_a < full_a || plan->tile_b < full_b;
  if (is_narrow) {
    int64_t units = unit_bytes <= MAX_WORD_UNIT_BYTES ? NARROW_UNITS : full_a * full_b;
    if (plan->tile_a <= plan->tile_b) {
      plan->tile_b = units / plan->tile_a;
    } else {
      plan->tile_a = units / plan->tile_b;
    }
  }
  plan->has_words = can_have_words(query, plan);
  int64_t squares = full_a * full_b / (tiles[n].square * tiles[n].square);
  bool has_squares = plane->na >= full_a && plane->nb >= full_b &&
                     2 * squares >= rlo__gpu_local_items(query->device) &&
                     can_have_squares(query, plan, tiles[n].square);
  plan->square = has_squares ? tiles[n].square : 1;
  plan->local_bytes = local_bytes(query, plan);
}

/* By its own order, plane after plane, so that groups that share lines at the
 * ends of rows, on either side, run close together in time; planes in the order
 * of the destination. Groups that read the same joined rows follow each other.
 */
static void lay_grid(const rlo__family_query *query, tile_plan *plan) {
  const rlo_problem *problem = query->problem;
  const rlo__plane *plane = &plan->plane;
  rlo__grid *grid = &plan->group.grid;
  int32_t joined = query->joined.bits > 0 ? query->joined.axis : -1;
  grid->num_axes = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (a != plane->a_axis && a != plane->b_axis && a != joined) {
      rlo__grid_add_axis(grid, problem, a, 1);
    }
  }
  rlo__grid_place_axis(grid, problem, plane->a_axis, plan->tile_a);
  rlo__grid_place_axis(grid, problem, plane->b_axis, plan->tile_b);
  if (joined >= 0) {
    rlo__grid_place_axis(grid, problem, joined, 1);
  }
  rlo__grid_order order = plan->group.order;
  if (joined < 0 && order != RLO__GRID_ORDER_OWN && order != RLO__GRID_ORDER_DIAGONAL) {
    const int32_t plane_axes[2] = {plane->a_axis, plane->b_axis};
    rlo__grid_sort(grid, order, plane_axes);
  }
  rlo__grid_round_axes(grid);
}

/* Tells if rows of both sides begin anywhere, so that neighbouring tiles share
 * sectors: those of small tiles are moved closer together in time. Measured. */
static bool has_shared_sectors(const rlo__family_query *query, const tile_plan *plan) {
  const int64_t bytes = RLO__GPU_SECTOR_BYTES / 2;
  return plan->group.geometry.unit_bytes == SHARED_UNIT_BYTES &&
         plan->group.geometry.fits_32_bits &&
         rlo__src_alignment(query, plan->plane.a_axis, bytes) < bytes &&
         rlo__dst_alignment(query, plan->plane.b_axis, bytes) < bytes;
}

/* Chooses the largest tile of which local memory holds one, the plane fills
 * many, and there are enough to keep the device busy. */
static rlo_status choose_tile(const rlo__family_query *query, tile_plan *plan) {
  const rlo_device_info *device = query->device;
  const rlo__plane *plane = &plan->plane;
  int64_t enough = rlo__thresholds.plan_gpu_tile_unit_groups * rlo__max(device->compute_units, 1);
  int32_t first = has_shared_sectors(query, plan) ? MAX_HALVINGS : query->schedule.tile_halvings;
  for (int32_t halvings = first; halvings <= MAX_HALVINGS; ++halvings) {
    set_tile(query, halvings, plan);
    lay_grid(query, plan);
    RLO_TRY(rlo__grid_num_groups(&plan->group.grid, &plan->group.num_groups));
    double fullness =
        rlo__grid_fullness(plane->na, plan->tile_a) * rlo__grid_fullness(plane->nb, plan->tile_b);
    if (plan->local_bytes <= device->local_memory_bytes &&
        plan->group.num_groups >= (size_t)enough && fullness >= MIN_FULLNESS) {
      break;
    }
  }
  return RLO_OK;
}

static bool choose(const rlo__family_query *query, tile_plan *plan, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  *plan = (tile_plan){.group = RLO__GRID_PLAN_INIT(query)};
  rlo__grid_plan *group = &plan->group;
  rlo__plane *plane = &plan->plane;
  if (!rlo__plane_find(problem, &group->geometry, plane, why) ||
      !rlo__grid_is_within_limits(query, &group->geometry, problem->num_axes,
                                  RLO__PLANE_NUM_SCALARS + RLO__GPU_GRID_SCALARS + 1, why)) {
    return false;
  }
  group->x_axis = plane->a_axis;
  group->y_axis = plane->b_axis;
  /* Also for tiles at the ends. */
  plan->read_units = wide_units(problem, rlo__src_alignment(query, plane->a_axis, LANE_BYTES));
  plan->write_units = wide_units(problem, rlo__dst_alignment(query, plane->b_axis, LANE_BYTES));
  if (choose_tile(query, plan) != RLO_OK) {
    return RLO__REFUSE(why, "it has more tiles than 64 bits can count");
  }
  if (plan->has_words) {
    plan->read_units = 1;
    plan->write_units = 1;
  }
  return rlo__gpu_has_local_bytes(query->device, "tile takes", plan->local_bytes, why) &&
         rlo__gpu_can_launch(group->num_groups, why);
}

/* Units of a side of a tile that follow each other in memory: a row of it, or all
 * rows where they are whole and have no gaps. */
static int64_t run_units(int64_t extent, int64_t tile, int64_t ld, int64_t rows) {
  return extent <= tile && ld == extent ? extent * rows : rlo__min(extent, tile);
}

static double judge(const rlo__family_query *query, rlo__str *why) {
  tile_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  const rlo_problem *problem = query->problem;
  const rlo__plane *plane = &plan.plane;
  int64_t unit_bytes = plan.group.geometry.unit_bytes;
  double src = rlo__gpu_sector_share(
      run_units(plane->na, plan.tile_a, plane->src_ld, plan.tile_b) * unit_bytes,
      rlo__src_alignment(query, plane->a_axis, RLO__GPU_SECTOR_BYTES));
  double dst = rlo__gpu_sector_share(
      run_units(plane->nb, plan.tile_b, plane->dst_ld, plan.tile_a) * unit_bytes,
      rlo__dst_alignment(query, plane->b_axis, RLO__GPU_SECTOR_BYTES));
  int64_t items = rlo__gpu_local_items(query->device);
  int64_t tile_units = plan.tile_a * plan.tile_b;
  double lane_units = (double)tile_units / (double)items;
  int64_t word_units = plan.has_words ? WORD_BYTES / unit_bytes : 1;
  int64_t wide_units = rlo__max(plan.square, word_units);
  int64_t read_units = rlo__max(wide_units, plan.read_units);
  int64_t write_units = rlo__max(wide_units, plan.write_units);
  int64_t pieces = plan.square > 1 ? plan.square : LANE_PIECES;
  pieces = rlo__min(pieces, rlo__ceil_div(tile_units, items * read_units));
  /* Packed elements: each byte is put together from so many rows. */
  double rows = query->joined.bits > 0 ? 8.0 / query->joined.bits : 1.0;
  /* A word that is written is put together from units. */
  bool is_gathered = plan.has_words && plan.square == 1;
  double gather = is_gathered ? 5.0 + 0.8 * (double)word_units : 1.0;
  return rlo__gpu_rate(&(rlo__gpu_group){
      .loop = plan.square > 1 ? RLO__GPU_TILE_SQUARES : RLO__GPU_TILE,
      .items = items,
      .local_bytes = plan.local_bytes,
      .bytes = 2.0 * (double)(tile_units * unit_bytes),
      .fullness =
          rlo__grid_fullness(plane->na, plan.tile_a) * rlo__grid_fullness(plane->nb, plan.tile_b),
      .src_share = src,
      .dst_share = dst,
      .num_grid_axes = plan.group.grid.num_axes,
      .num_guards = problem->num_guards,
      .moves = rows * lane_units / (double)read_units + gather * lane_units / (double)write_units,
      .flight_bytes = (double)(pieces * read_units * unit_bytes)});
}

/* Where the grid has the axes of the plane, if not at its end. */
static rlo_status define_order(const rlo__family_query *query, const tile_plan *plan,
                               rlo__launch *launch) {
  const rlo__grid *grid = &plan->group.grid;
  int32_t a = rlo__grid_find(grid, plan->plane.a_axis);
  int32_t b = rlo__grid_find(grid, plan->plane.b_axis);
  int32_t end = grid->num_axes - (query->joined.bits > 0 ? 1 : 0);
  if (a != end - 2 || b != end - 1) {
    RLO_TRY(rlo__launch_define(launch, "RLO_A_AXIS", a));
    RLO_TRY(rlo__launch_define(launch, "RLO_B_AXIS", b));
  }
  bool is_diagonal = query->schedule.order == RLO__GRID_ORDER_DIAGONAL &&
                     grid->axes[a].extent > 1 && grid->axes[b].extent > 1;
  return is_diagonal ? rlo__launch_define(launch, "RLO_DIAGONAL", 1) : RLO_OK;
}

static void describe(const tile_plan *plan, rlo__launch *launch) {
  rlo__launch_describe(launch, "tile %lldx%lld in local memory, units of %lld bytes, a lane ",
                       (long long)plan->tile_a, (long long)plan->tile_b,
                       (long long)plan->group.geometry.unit_bytes);
  if (plan->square > 1) {
    rlo__launch_describe(launch, "transposes %lldx%lld", (long long)plan->square,
                         (long long)plan->square);
  } else if (plan->has_words) {
    rlo__launch_describe(launch, "reads and writes words of 4 bytes");
  } else {
    rlo__launch_describe(launch, "reads %lld and writes %lld", (long long)plan->read_units,
                         (long long)plan->write_units);
  }
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  const rlo_problem *problem = query->problem;
  tile_plan plan;
  const bool is_chosen = choose(query, &plan, NULL);
  assert(is_chosen);
  const rlo__grid_plan *group = &plan.group;
  const rlo__plane *plane = &plan.plane;
  bool is_joined = query->joined.bits > 0;
  const rlo__constant constants[] = {{"RLO_TILE_A", plan.tile_a},
                                     {"RLO_TILE_B", plan.tile_b},
                                     {"RLO_SQUARE", plan.square},
                                     {"RLO_WORDS", plan.has_words},
                                     {"RLO_READ_UNITS", plan.read_units},
                                     {"RLO_WRITE_UNITS", plan.write_units},
                                     {is_joined ? "RLO_JOINED_BITS" : NULL, query->joined.bits},
                                     {0}};
  /* Joined rows do not move as words. */
  int64_t begin = -problem->src.base * group->geometry.unit_bytes;
  const rlo__arg args[] = {
      rlo__arg_index(plane->na),
      rlo__arg_index(plane->nb),
      rlo__arg_index(plane->src_ld),
      rlo__arg_index(plane->dst_ld),
      is_joined        ? rlo__arg_index(query->joined.step_bytes)
      : plan.has_words ? rlo__arg_long(begin)
                       : (rlo__arg){0},
      plan.has_words ? rlo__arg_long(begin + problem->src_bytes) : (rlo__arg){0},
      {0}};
  RLO_TRY(rlo__grid_emit(query, group, "gpu_tile", constants, args, launch));
  RLO_TRY(define_order(query, &plan, launch));
  describe(&plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_tile = {"tile", RLO_DEVICE_CLASS_GPU, judge, emit,
                                          RLO__FAMILY_JOINS};
