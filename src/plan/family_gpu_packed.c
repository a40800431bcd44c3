/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/gpu_launch.h"
#include "plan/gpu_stage.h"

/* Family packed, GPU class (cl/gpu_packed.cl): blocks of the leading axes of
 * both sides pass through local memory. */

enum {
  /** Most bytes of a block, so that a multiprocessor holds several groups, and
   *  most local memory of a group. */
  MAX_BUDGET_BYTES = 16384,
  MAX_LOCAL_BYTES = 24576,
  /** Most pieces that a lane has in flight, over all copies, and its bytes if
   *  pieces are smaller than 16. */
  LANE_PIECES = 5,
  LANE_SMALL_PIECES = 16,
  LANE_BYTES = 32,
  /** Bytes of a word into which smaller units are gathered, and of the shortest
   *  run of the destination that is looked for. */
  WORD_BYTES = 4,
  MIN_RUN_BYTES = 64,
  MAX_RUN_AXES = 3,
  LANES = RLO__GPU_BLOCK_MAX_AXES,
  /** Axes that may be cut: the outermost of either side. */
  MAX_ENDS = 2,
  /** Arguments of the kernel after the shared ones, in bytes: two positions,
   *  two bounds, ten numbers, three vectors; for each end, two numbers. */
  SCALAR_BYTES = 4 * 8 + 10 * 4,
  END_BYTES = 2 * 4
};

/* The axes of a block in the order of the destination. Neighbours are joined to
 * one axis where every stride and coefficient continues. Strides are bytes. */
typedef struct walk {
  int32_t rank;
  int64_t extents[LANES];
  int64_t strides[LANES];
  int64_t local_strides[LANES];
  int64_t coefs[RLO__GRID_MAX_GUARDS][LANES];
  /** Indices of the axes that the last block overhangs, or -1. */
  int32_t ends[MAX_ENDS];
  /** The first axes, which make a run, and the runs of a block. */
  int32_t run_axes;
  int64_t runs;
  /** Units of a word, words of a run, and units of it that are in none. */
  int64_t word_units;
  int64_t words;
  int64_t rest;
  /** Runs begin anywhere, words at multiples of their size. */
  bool is_shifted;
} walk;

typedef struct packed_plan {
  rlo__grid_plan group;
  rlo__gpu_block block;
  double fraction;
  /** Guards of the problem, PAD first. */
  int32_t num_guards;
  const rlo_guard *guards[RLO__GRID_MAX_GUARDS];
  /** Problem axes whose last block overhangs. */
  int32_t num_ends;
  int32_t ends[MAX_ENDS];
  rlo__gpu_stage stage;
  walk write;
  int64_t local_bytes;
  size_t num_groups;
} packed_plan;

/* Kind of the vectors of a block's strides and coefficients. */
static rlo__argument_kind block_kind(const rlo__geometry *geometry) {
  return geometry->fits_32_bits ? RLO__ARGUMENT_INT16 : RLO__ARGUMENT_LONG16;
}

/* Points of a problem axis that a group moves. */
static int64_t axis_step(const rlo__gpu_block *block, int32_t axis) {
  if (axis == block->repeat_axis) {
    return block->repeat;
  }
  for (int32_t k = 0; k < block->num_axes; ++k) {
    if (block->axes[k].problem_axis == axis) {
      return block->axes[k].size;
    }
  }
  return 1;
}

static void list_guards(const rlo_problem *problem, packed_plan *plan) {
  static const rlo_guard_kind kinds[] = {RLO_GUARD_PAD, RLO_GUARD_SKIP};
  for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; ++n) {
    for (int32_t g = 0; g < problem->num_guards; ++g) {
      if (problem->guards[g].kind == kinds[n]) {
        plan->guards[plan->num_guards++] = &problem->guards[g];
      }
    }
  }
}

/* Whether the points of all copies change each guard by less than 2^30. */
static bool guards_fit_32_bits(const packed_plan *plan) {
  const rlo__gpu_block *block = &plan->block;
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    const int64_t *coefs = plan->guards[g]->form.axis;
    int64_t reach = 0;
    for (int32_t k = -1; k < block->num_axes; ++k) {
      int32_t a = k < 0 ? block->repeat_axis : block->axes[k].problem_axis;
      int64_t size = k < 0 ? block->repeat : block->axes[k].size;
      int64_t along = 0;
      if (a >= 0 && (!rlo__mul(rlo__abs(coefs[a]), size - 1, &along) ||
                     !rlo__add(reach, along, &reach))) {
        return false;
      }
    }
    if (reach >= INT64_C(1) << 30) {
      return false;
    }
  }
  return true;
}

static void list_ends(const rlo_problem *problem, packed_plan *plan) {
  for (int32_t k = 0; k < plan->block.num_axes; ++k) {
    const rlo__gpu_block_axis *axis = &plan->block.axes[k];
    if (problem->extents[axis->problem_axis] % axis->size != 0) {
      plan->ends[plan->num_ends++] = axis->problem_axis;
    }
  }
}

/* Index of an axis in the list of ends, or -1. */
static int32_t find_end(const packed_plan *plan, int32_t axis) {
  for (int32_t e = 0; e < plan->num_ends; ++e) {
    if (plan->ends[e] == axis) {
      return e;
    }
  }
  return -1;
}

/* Whether an axis continues the last axis of the walk everywhere. */
static bool continues(const rlo__family_query *query,
                      const packed_plan *plan,
                      int32_t k) {
  const walk *w = &plan->write;
  int32_t last = w->rank - 1;
  int32_t a = plan->block.axes[k].problem_axis;
  if (last < 0) {
    return false;
  }
  int64_t extent = w->extents[last];
  int64_t stride =
      query->problem->dst.axis[a] * plan->group.geometry.unit_bytes;
  if (stride != w->strides[last] * extent ||
      plan->stage.local_strides[k] != w->local_strides[last] * extent) {
    return false;
  }
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    if (plan->guards[g]->form.axis[a] != w->coefs[g][last] * extent) {
      return false;
    }
  }
  for (int32_t e = 0; e < plan->num_ends; ++e) {
    if (w->ends[e] == last) {
      return false;
    }
  }
  return find_end(plan, a) < 0;
}

/* Appends axis k of the block to the walk, or joins it to the last one. */
static void append_axis(const rlo__family_query *query,
                        packed_plan *plan,
                        int32_t k) {
  walk *w = &plan->write;
  int32_t a = plan->block.axes[k].problem_axis;
  if (continues(query, plan, k)) {
    w->extents[w->rank - 1] *= plan->block.axes[k].size;
    return;
  }
  w->extents[w->rank] = plan->block.axes[k].size;
  w->strides[w->rank] =
      query->problem->dst.axis[a] * plan->group.geometry.unit_bytes;
  w->local_strides[w->rank] = plan->stage.local_strides[k];
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    w->coefs[g][w->rank] = plan->guards[g]->form.axis[a];
  }
  int32_t end = find_end(plan, a);
  if (end >= 0) {
    w->ends[end] = w->rank;
  }
  ++w->rank;
}

/* Whether every run of the destination begins with a word. */
static bool begins_with_word(const rlo__family_query *query,
                             const packed_plan *plan) {
  const rlo_problem *problem = query->problem;
  const walk *w = &plan->write;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t align = rlo__alignment_after(
      query->dst_alignment_bytes, problem->dst.base * unit_bytes, WORD_BYTES);
  for (int32_t k = w->run_axes; k < w->rank; ++k) {
    align = rlo__alignment_after(align, w->strides[k], WORD_BYTES);
  }
  for (int32_t n = 0; n < plan->group.grid.num_axes; ++n) {
    align = rlo__alignment_after(
        align, plan->group.grid.axes[n].dst_stride * unit_bytes, WORD_BYTES);
  }
  if (plan->block.repeat_axis >= 0) {
    align = rlo__alignment_after(
        align,
        problem->dst.axis[plan->block.repeat_axis] * unit_bytes,
        WORD_BYTES);
  }
  return align == WORD_BYTES;
}

/* Units of a word: four bytes' worth where the destination has runs of two
 * words or more, else one. */
static int64_t word_units(const rlo__family_query *query,
                          const packed_plan *plan) {
  const rlo__gpu_block *block = &plan->block;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t run = 1;
  for (int32_t k = 0; k < block->num_axes; ++k) {
    const rlo__gpu_block_axis *axis = &block->axes[block->by_dst[k]];
    if (query->problem->dst.axis[axis->problem_axis] != run) {
      break;
    }
    run *= axis->size;
  }
  return unit_bytes < WORD_BYTES && run * unit_bytes >= INT64_C(2) * WORD_BYTES
             ? WORD_BYTES / unit_bytes
             : 1;
}

/* Chooses the axes of a run, and cuts it into words. */
static void cut_runs(const rlo__family_query *query,
                     const packed_plan *plan,
                     walk *w) {
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t units = w->extents[0];
  w->run_axes = 1;
  w->word_units = WORD_BYTES / unit_bytes;
  bool is_whole = units % w->word_units == 0 && begins_with_word(query, plan);
  while (!is_whole && units * unit_bytes < MIN_RUN_BYTES &&
         w->run_axes < w->rank && w->run_axes < MAX_RUN_AXES &&
         w->strides[w->run_axes] == units * unit_bytes) {
    units *= w->extents[w->run_axes++];
    is_whole = units % w->word_units == 0 && begins_with_word(query, plan);
  }
  w->is_shifted = !is_whole;
  w->words = w->is_shifted
                 ? (units * unit_bytes - (WORD_BYTES - unit_bytes)) / WORD_BYTES
                 : units / w->word_units;
  w->rest = units - w->words * w->word_units;
}

static void make_walk(const rlo__family_query *query, packed_plan *plan) {
  walk *w = &plan->write;
  int64_t units = word_units(query, plan);
  *w = (walk){.ends = {-1, -1}, .run_axes = 1, .word_units = 1};
  for (int32_t k = 0; k < plan->block.num_axes; ++k) {
    append_axis(query, plan, plan->block.by_dst[k]);
  }
  if (units > 1) {
    cut_runs(query, plan, w);
  }
  if (w->words == 0) {
    w->run_axes = 1;
    w->word_units = 1;
    w->is_shifted = false;
    w->words = w->extents[0];
    w->rest = 0;
  }
  w->runs = 1;
  for (int32_t k = w->run_axes; k < w->rank; ++k) {
    w->runs *= w->extents[k];
  }
}

/* Local memory comes in few sizes, for fewer programs. */
static int64_t local_bytes(int64_t bytes) {
  int64_t size = 1024;
  while (size < bytes) {
    size += size < 4096 ? size : 4096;
  }
  return size;
}

/* Chooses all parameters. False, with the reason in `why`, if there are none.
 */
static bool choose(const rlo__family_query *query,
                   packed_plan *plan,
                   rlo__str *why) {
  const rlo_problem *problem = query->problem;
  const rlo_device_info *device = query->device;
  *plan = (packed_plan){.group = {.geometry = rlo__geometry_of(query),
                                  .x_axis = -1,
                                  .y_axis = -1}};
  rlo__grid_plan *group = &plan->group;
  int64_t budget_bytes = device->local_memory_bytes / 2;
  budget_bytes = rlo__min(budget_bytes, MAX_BUDGET_BYTES);
  if (!rlo__gpu_block_choose(query,
                             budget_bytes,
                             rlo__gpu_local_items(device),
                             &plan->block,
                             &plan->fraction)) {
    rlo__str_printf(why,
                    "%d axes; no two of them fit into %lld bytes of local "
                    "memory",
                    problem->num_axes,
                    (long long)budget_bytes);
    return false;
  }
  list_guards(problem, plan);
  list_ends(problem, plan);
  group->geometry.fits_32_bits =
      group->geometry.fits_32_bits && guards_fit_32_bits(plan);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (rlo__grid_add_axis(
            &group->grid, problem, a, axis_step(&plan->block, a)) != RLO_OK) {
      rlo__str_append(why, "its groups would need too many coordinates");
      return false;
    }
  }
  rlo__gpu_round_axes(&group->grid);
  if (rlo__grid_num_groups(&group->grid, &plan->num_groups) != RLO_OK) {
    rlo__str_append(why, "it has more blocks than 64 bits can count");
    return false;
  }
  int64_t limit_bytes = rlo__min(device->local_memory_bytes, MAX_LOCAL_BYTES);
  if (!rlo__gpu_stage_lay_out(query,
                              &plan->block,
                              limit_bytes,
                              word_units(query, plan),
                              &plan->stage)) {
    rlo__str_printf(why,
                    "its blocks do not fit into %lld bytes of local memory",
                    (long long)limit_bytes);
    return false;
  }
  make_walk(query, plan);
  plan->local_bytes = local_bytes(plan->stage.local_bytes);
  if (plan->local_bytes > device->local_memory_bytes) {
    rlo__str_printf(why,
                    "its blocks take %lld bytes of local memory; the device "
                    "has %lld",
                    (long long)plan->local_bytes,
                    (long long)device->local_memory_bytes);
    return false;
  }
  return rlo__gpu_can_launch(plan->num_groups, why);
}

/* Whether the kernel's arguments fit. Vectors count as the scalars that fill
 * them. */
static bool takes_arguments(const rlo__family_query *query,
                            const rlo__geometry *g,
                            rlo__str *why) {
  const rlo_problem *problem = query->problem;
  int64_t index_bytes = g->fits_32_bits ? 4 : 8;
  int64_t block_bytes = rlo__argument_bytes(block_kind(g));
  int64_t bytes = SCALAR_BYTES + 3 * index_bytes +
                  MAX_ENDS * (END_BYTES + 2 * index_bytes) +
                  3 * rlo__argument_bytes(RLO__ARGUMENT_INT16) +
                  (1 + problem->num_guards) * block_bytes;
  int64_t scalars = RLO__GPU_GRID_SCALARS + rlo__ceil_div(bytes, 8);
  return rlo__grid_is_within_limits(
      query, g, problem->num_axes, (int32_t)scalars, why);
}

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  rlo__geometry g = rlo__geometry_of(query);
  if (g.is_fill) {
    rlo__str_append(why, "nothing is read");
    return false;
  }
  packed_plan plan;
  return takes_arguments(query, &g, why) && choose(query, &plan, why) &&
         (plan.group.geometry.fits_32_bits == g.fits_32_bits ||
          takes_arguments(query, &plan.group.geometry, why));
}

static double predict(const rlo__family_query *query) {
  packed_plan plan;
  rlo__str unused = rlo__str_over(NULL, 0);
  return choose(query, &plan, &unused) ? plan.fraction : 0.0;
}

/* As uint, ceil(2^31 / extent); an extent is at least 1. */
static int64_t block_magic(int64_t extent) {
  int64_t magic = rlo__ceil_div(INT64_C(1) << 31, rlo__max(extent, 1));
  return magic > INT32_MAX ? magic - (INT64_C(1) << 32) : magic;
}

/* Two lists of up to LANES numbers as one vector. */
static rlo_status add_lanes(rlo__launch *launch,
                            rlo__argument_kind kind,
                            const int64_t *low,
                            int32_t num_low,
                            const int64_t *high,
                            int32_t num_high) {
  int64_t lanes[2 * LANES] = {0};
  for (int32_t k = 0; k < num_low; ++k) {
    lanes[k] = low[k];
  }
  for (int32_t k = 0; k < num_high; ++k) {
    lanes[LANES + k] = high[k];
  }
  return rlo__launch_argument(launch, kind, lanes, 2 * LANES);
}

/* Extents of axes, and what divides by them. */
static rlo_status add_extents(const int64_t *extents,
                              int32_t rank,
                              rlo__launch *launch) {
  int64_t magic[LANES];
  for (int32_t k = 0; k < rank; ++k) {
    magic[k] = block_magic(extents[k]);
  }
  return add_lanes(launch, RLO__ARGUMENT_INT16, extents, rank, magic, rank);
}

/* Bytes from the first point of all copies to the lowest that they read, and to
 * behind the highest. */
static rlo_status add_bounds(const rlo_problem *problem,
                             const packed_plan *plan,
                             rlo__launch *launch) {
  const rlo__gpu_block *block = &plan->block;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t low = 0;
  int64_t high = unit_bytes;
  for (int32_t k = -1; k < block->num_axes; ++k) {
    int32_t a = k < 0 ? block->repeat_axis : block->axes[k].problem_axis;
    int64_t size = k < 0 ? block->repeat : block->axes[k].size;
    int64_t along = a >= 0 ? (size - 1) * problem->src.axis[a] * unit_bytes : 0;
    low += rlo__min(along, 0);
    high += rlo__max(along, 0);
  }
  RLO_TRY(rlo__launch_argument(
      launch, RLO__ARGUMENT_LONG, &launch->src_base_bytes, 1));
  RLO_TRY(
      rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &problem->src_bytes, 1));
  RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &low, 1));
  return rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &high, 1);
}

static rlo_status add_block(const rlo_problem *problem,
                            const packed_plan *plan,
                            rlo__launch *launch) {
  const rlo__grid_plan *group = &plan->group;
  const rlo__gpu_stage *stage = &plan->stage;
  const walk *write = &plan->write;
  int32_t repeat = plan->block.repeat_axis;
  int64_t unit_bytes = group->geometry.unit_bytes;
  RLO_TRY(add_bounds(problem, plan, launch));
  RLO_TRY(rlo__grid_add_int(launch, stage->run_low));
  RLO_TRY(rlo__grid_add_int(launch, stage->run_bytes));
  RLO_TRY(rlo__grid_add_int(launch, stage->pieces));
  RLO_TRY(add_extents(stage->extents, stage->rank, launch));
  RLO_TRY(add_extents(write->extents, write->rank, launch));
  RLO_TRY(add_lanes(launch,
                    RLO__ARGUMENT_INT16,
                    stage->run_strides,
                    stage->rank,
                    write->local_strides,
                    write->rank));
  RLO_TRY(add_lanes(launch,
                    block_kind(&group->geometry),
                    stage->src_strides,
                    stage->rank,
                    write->strides,
                    write->rank));
  RLO_TRY(rlo__grid_add_int(launch, write->runs));
  RLO_TRY(rlo__grid_add_int(launch, write->words));
  RLO_TRY(rlo__grid_add_int(launch, block_magic(write->words)));
  RLO_TRY(rlo__grid_add_int(launch, write->rest));
  RLO_TRY(rlo__grid_add_int(launch,
                            write->rest > 0 ? block_magic(write->rest) : 0));
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&group->grid, repeat)));
  RLO_TRY(rlo__grid_add_index(
      group, launch, repeat >= 0 ? problem->extents[repeat] : 1));
  RLO_TRY(rlo__grid_add_index(
      group, launch, repeat >= 0 ? problem->src.axis[repeat] * unit_bytes : 0));
  RLO_TRY(rlo__grid_add_index(
      group, launch, repeat >= 0 ? problem->dst.axis[repeat] * unit_bytes : 0));
  return rlo__grid_add_int(launch, stage->copy_bytes);
}

static rlo_status add_guards(const packed_plan *plan, rlo__launch *launch) {
  const rlo__grid *grid = &plan->group.grid;
  int32_t repeat = plan->block.repeat_axis;
  rlo__argument_kind grid_kind = launch->arguments[RLO__GPU_GRID_ARGUMENT].kind;
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    const rlo_form *form = &plan->guards[g]->form;
    int64_t x = repeat >= 0 ? form->axis[repeat] : 0;
    int64_t coefs[RLO__GRID_MAX_AXES];
    for (int32_t n = 0; n < grid->num_axes; ++n) {
      int32_t axis = grid->axes[n].problem_axis;
      coefs[n] = axis < 0 ? 0 : form->axis[axis] * grid->axes[n].step;
    }
    RLO_TRY(rlo__launch_argument(launch, grid_kind, coefs, grid->num_axes));
    RLO_TRY(add_lanes(launch,
                      block_kind(&plan->group.geometry),
                      plan->write.coefs[g],
                      plan->write.rank,
                      NULL,
                      0));
    RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &form->base, 1));
    RLO_TRY(rlo__launch_argument(
        launch, RLO__ARGUMENT_LONG, &plan->guards[g]->limit, 1));
    RLO_TRY(rlo__grid_add_index(&plan->group, launch, x));
  }
  return RLO_OK;
}

static rlo_status add_ends(const rlo_problem *problem,
                           const packed_plan *plan,
                           rlo__launch *launch) {
  const rlo__grid_plan *group = &plan->group;
  for (int32_t e = 0; e < plan->num_ends; ++e) {
    int32_t axis = plan->ends[e];
    RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&group->grid, axis)));
    RLO_TRY(rlo__grid_add_index(group, launch, axis_step(&plan->block, axis)));
    RLO_TRY(rlo__grid_add_index(group, launch, problem->extents[axis]));
    RLO_TRY(rlo__grid_add_int(launch, plan->write.ends[e]));
  }
  return RLO_OK;
}

static void describe(const packed_plan *plan, rlo__launch *launch) {
  const rlo__gpu_block *block = &plan->block;
  int64_t write_bytes =
      plan->write.word_units * plan->group.geometry.unit_bytes;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_append(&words, "blocks of ");
  for (int32_t k = block->num_axes - 1; k >= 0; --k) {
    rlo__str_printf(
        &words, "%lld%s", (long long)block->axes[k].size, k > 0 ? "x" : "");
  }
  rlo__str_printf(&words,
                  " units of %lld bytes, %lld to a group; a lane reads %lld "
                  "bytes and writes %lld; runs of %lld and %lld bytes",
                  (long long)plan->group.geometry.unit_bytes,
                  (long long)block->repeat,
                  (long long)plan->stage.read_bytes,
                  (long long)write_bytes,
                  (long long)block->src_run_bytes,
                  (long long)block->dst_run_bytes);
}

/* Pieces of a copy that a lane has in flight: all that it has, in equal turns,
 * if not too many. */
static int64_t lane_pieces(const packed_plan *plan,
                           const rlo__family_query *query) {
  const rlo__gpu_stage *stage = &plan->stage;
  int64_t most = rlo__min(LANE_BYTES / stage->read_bytes, LANE_SMALL_PIECES);
  most = rlo__max(rlo__max(most, LANE_PIECES) / plan->block.repeat, 1);
  int64_t all =
      rlo__ceil_div(stage->pieces, rlo__gpu_local_items(query->device));
  return rlo__ceil_div(all, rlo__ceil_div(all, most));
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  packed_plan plan;
  rlo__str unused = rlo__str_over(NULL, 0);
  if (!choose(query, &plan, &unused)) {
    return RLO_FAIL(RLO_INTERNAL, "a problem without a block came to packed");
  }
  RLO_TRY(rlo__gpu_begin(
      query, &plan.group, "gpu_packed", plan.num_groups, launch));
  const rlo__gpu_stage *stage = &plan.stage;
  RLO_TRY(rlo__launch_define(launch, "RLO_READ_BYTES", stage->read_bytes));
  RLO_TRY(rlo__launch_define(launch, "RLO_STORE_BYTES", stage->store_bytes));
  RLO_TRY(rlo__launch_define(launch, "RLO_WORD_UNITS", plan.write.word_units));
  RLO_TRY(rlo__launch_define(launch, "RLO_SHIFT", plan.write.is_shifted));
  RLO_TRY(rlo__launch_define(launch, "RLO_READ_RANK", stage->rank));
  RLO_TRY(rlo__launch_define(launch, "RLO_WRITE_RANK", plan.write.rank));
  RLO_TRY(rlo__launch_define(launch, "RLO_RUN_RANK", plan.write.run_axes));
  RLO_TRY(rlo__launch_define(launch, "RLO_REPEAT", plan.block.repeat));
  RLO_TRY(rlo__launch_define(launch, "RLO_PIECES", lane_pieces(&plan, query)));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOCAL_BYTES", plan.local_bytes));
  RLO_TRY(rlo__launch_define(launch, "RLO_ENDS", plan.num_ends));
  RLO_TRY(add_block(query->problem, &plan, launch));
  RLO_TRY(add_guards(&plan, launch));
  RLO_TRY(add_ends(query->problem, &plan, launch));
  describe(&plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_packed = {
    "packed", RLO_DEVICE_CLASS_GPU, is_applicable, predict, emit, 0};
