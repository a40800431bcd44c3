/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "plan/gpu_block.h"
#include "plan/gpu_launch.h"

/* Family packed, GPU class (cl/gpu_packed.cl): blocks of the leading axes of
 * both sides pass through local memory. */

enum {
  /** Most local memory of a group, so that a multiprocessor holds several
   *  groups. */
  MAX_BUDGET_BYTES = 16384,
  /** Pieces that a lane has in flight, over all copies. */
  LANE_PIECES = 4,
  /** Bytes that a lane moves at once; more cause bank conflicts in local
   *  memory. */
  LANE_BYTES = 4,
  LANES = RLO__GPU_BLOCK_MAX_AXES,
  /** Scalars of the kernel after the shared ones, and of each end. */
  NUM_SCALARS = 7,
  END_SCALARS = 5,
  /** Axes that may be cut: the outermost of either side. */
  MAX_ENDS = 2
};

/* The axes of a block in the order of one side. Neighbours are joined to one
 * axis where every stride and coefficient continues. */
typedef struct walk {
  int32_t rank;
  int64_t extents[LANES]; /* axis 0 counts pieces once these are chosen */
  int64_t strides[LANES];
  int64_t local_strides[LANES];
  int64_t coefs[RLO__GRID_MAX_GUARDS][LANES];
  /** Indices of the axes that the last block overhangs, or -1. */
  int32_t ends[MAX_ENDS];
  /** Units of a piece. */
  int64_t units;
  int64_t pieces;
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
  walk read;
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

/* Whether an axis continues the last axis of a walk on every side and for
 * every guard. */
static bool continues(const packed_plan *plan,
                      const rlo_form *form,
                      const rlo__gpu_block_axis *axis,
                      const walk *w) {
  int32_t last = w->rank - 1;
  int32_t a = axis->problem_axis;
  if (last < 0) {
    return false;
  }
  int64_t extent = w->extents[last];
  if (form->axis[a] != w->strides[last] * extent ||
      axis->local_stride != w->local_strides[last] * extent) {
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

/* Appends an axis to a walk, or joins it to the last one. */
static void append_axis(const packed_plan *plan,
                        const rlo_form *form,
                        const rlo__gpu_block_axis *axis,
                        walk *w) {
  int32_t a = axis->problem_axis;
  if (continues(plan, form, axis, w)) {
    w->extents[w->rank - 1] *= axis->size;
    return;
  }
  w->extents[w->rank] = axis->size;
  w->strides[w->rank] = form->axis[a];
  w->local_strides[w->rank] = axis->local_stride;
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    w->coefs[g][w->rank] = plan->guards[g]->form.axis[a];
  }
  int32_t end = find_end(plan, a);
  if (end >= 0) {
    w->ends[end] = w->rank;
  }
  ++w->rank;
}

/* Units of the pieces of a walk: four bytes' worth, or one; other sizes would
 * only add programs. Each piece begins at a multiple of its size. */
static int64_t piece_units(const rlo__family_query *query,
                           const packed_plan *plan,
                           const walk *w,
                           bool is_read) {
  const rlo_problem *problem = query->problem;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  int64_t units = LANE_BYTES / unit_bytes;
  if (units <= 1 || w->strides[0] != 1 || w->extents[0] % units != 0 ||
      (is_read && w->local_strides[0] != 1)) {
    return 1;
  }
  const rlo_form *form = is_read ? &problem->src : &problem->dst;
  int64_t align = rlo__alignment_after(
      is_read ? query->src_alignment_bytes : query->dst_alignment_bytes,
      form->base * unit_bytes,
      LANE_BYTES);
  for (int32_t k = 1; k < w->rank; ++k) {
    align = rlo__alignment_after(align, w->strides[k] * unit_bytes, LANE_BYTES);
  }
  for (int32_t n = 0; n < plan->group.grid.num_axes; ++n) {
    const rlo__grid_axis *axis = &plan->group.grid.axes[n];
    int64_t stride = is_read ? axis->src_stride : axis->dst_stride;
    align = rlo__alignment_after(align, stride * unit_bytes, LANE_BYTES);
  }
  if (plan->block.repeat_axis >= 0) {
    align = rlo__alignment_after(
        align, form->axis[plan->block.repeat_axis] * unit_bytes, LANE_BYTES);
  }
  return align == LANE_BYTES ? units : 1;
}

static void make_walks(const rlo__family_query *query, packed_plan *plan) {
  const rlo_problem *problem = query->problem;
  const rlo__gpu_block *block = &plan->block;
  plan->read = (walk){.ends = {-1, -1}};
  plan->write = plan->read;
  for (int32_t k = 0; k < block->num_axes; ++k) {
    append_axis(plan, &problem->src, &block->axes[k], &plan->read);
    append_axis(
        plan, &problem->dst, &block->axes[block->by_dst[k]], &plan->write);
  }
  walk *walks[] = {&plan->read, &plan->write};
  for (int n = 0; n < 2; ++n) {
    walk *w = walks[n];
    w->units = piece_units(query, plan, w, n == 0);
    w->extents[0] /= w->units;
    w->pieces = 1;
    for (int32_t k = 0; k < w->rank; ++k) {
      w->pieces *= w->extents[k];
    }
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
  /* The best padding depends on how much a lane writes at once, which is known
   * only once the local memory is laid out: hence two rounds. */
  rlo__gpu_block_lay_out(&plan->block, group->geometry.unit_bytes, 1);
  make_walks(query, plan);
  if (plan->write.units > 1) {
    rlo__gpu_block_lay_out(
        &plan->block, group->geometry.unit_bytes, plan->write.units);
    make_walks(query, plan);
  }
  plan->local_bytes = local_bytes(plan->block.copy_units * plan->block.repeat *
                                  group->geometry.unit_bytes);
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

static bool is_applicable(const rlo__family_query *query, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  rlo__geometry g = rlo__geometry_of(query);
  if (g.is_fill) {
    rlo__str_append(why, "nothing is read");
    return false;
  }
  /* Vectors count as the scalars that fill them. */
  int64_t block_bytes = rlo__argument_bytes(block_kind(&g));
  int64_t vector_bytes = 3 * rlo__argument_bytes(RLO__ARGUMENT_INT16) +
                         (1 + problem->num_guards) * block_bytes;
  int64_t scalars = NUM_SCALARS + RLO__GPU_GRID_SCALARS +
                    MAX_ENDS * END_SCALARS + vector_bytes / 8;
  packed_plan plan;
  return rlo__grid_is_within_limits(
             query, &g, problem->num_axes, (int32_t)scalars, why) &&
         choose(query, &plan, why);
}

static double predict(const rlo__family_query *query) {
  packed_plan plan;
  rlo__str unused = rlo__str_over(NULL, 0);
  return choose(query, &plan, &unused) ? plan.fraction : 0.0;
}

/* As uint, ceil(2^31 / extent). */
static int64_t block_magic(int64_t extent) {
  int64_t magic = rlo__ceil_div(INT64_C(1) << 31, extent);
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

static rlo_status add_walk(const walk *w, rlo__launch *launch) {
  int64_t magic[LANES];
  for (int32_t k = 0; k < w->rank; ++k) {
    magic[k] = block_magic(w->extents[k]);
  }
  return add_lanes(
      launch, RLO__ARGUMENT_INT16, w->extents, w->rank, magic, w->rank);
}

static rlo_status add_block(const rlo_problem *problem,
                            const packed_plan *plan,
                            rlo__launch *launch) {
  const rlo__grid_plan *group = &plan->group;
  const walk *read = &plan->read;
  const walk *write = &plan->write;
  int32_t repeat = plan->block.repeat_axis;
  RLO_TRY(rlo__grid_add_int(launch, read->pieces));
  RLO_TRY(rlo__grid_add_int(launch, write->pieces));
  RLO_TRY(add_walk(read, launch));
  RLO_TRY(add_walk(write, launch));
  RLO_TRY(add_lanes(launch,
                    RLO__ARGUMENT_INT16,
                    read->local_strides,
                    read->rank,
                    write->local_strides,
                    write->rank));
  RLO_TRY(add_lanes(launch,
                    block_kind(&plan->group.geometry),
                    read->strides,
                    read->rank,
                    write->strides,
                    write->rank));
  RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&group->grid, repeat)));
  RLO_TRY(rlo__grid_add_index(
      group, launch, repeat >= 0 ? problem->extents[repeat] : 1));
  RLO_TRY(rlo__grid_add_index(
      group, launch, repeat >= 0 ? problem->src.axis[repeat] : 0));
  RLO_TRY(rlo__grid_add_index(
      group, launch, repeat >= 0 ? problem->dst.axis[repeat] : 0));
  return rlo__grid_add_int(launch, plan->block.copy_units);
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
                      plan->read.coefs[g],
                      plan->read.rank,
                      plan->write.coefs[g],
                      plan->write.rank));
    RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &form->base, 1));
    RLO_TRY(rlo__launch_argument(
        launch, RLO__ARGUMENT_LONG, &plan->guards[g]->limit, 1));
    RLO_TRY(rlo__launch_argument(launch, RLO__ARGUMENT_LONG, &x, 1));
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
    RLO_TRY(rlo__grid_add_int(launch, plan->read.ends[e]));
    RLO_TRY(rlo__grid_add_int(launch, plan->write.ends[e]));
  }
  return RLO_OK;
}

static void describe(const packed_plan *plan, rlo__launch *launch) {
  const rlo__gpu_block *block = &plan->block;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_append(&words, "blocks of ");
  for (int32_t k = block->num_axes - 1; k >= 0; --k) {
    rlo__str_printf(
        &words, "%lld%s", (long long)block->axes[k].size, k > 0 ? "x" : "");
  }
  rlo__str_printf(&words,
                  " units of %lld bytes, %lld to a group; a lane reads %lld "
                  "and writes %lld; runs of %lld and %lld bytes",
                  (long long)plan->group.geometry.unit_bytes,
                  (long long)block->repeat,
                  (long long)plan->read.units,
                  (long long)plan->write.units,
                  (long long)block->src_run_bytes,
                  (long long)block->dst_run_bytes);
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  packed_plan plan;
  rlo__str unused = rlo__str_over(NULL, 0);
  if (!choose(query, &plan, &unused)) {
    return RLO_FAIL(RLO_INTERNAL, "a problem without a block came to packed");
  }
  RLO_TRY(rlo__gpu_begin(
      query, &plan.group, "gpu_packed", plan.num_groups, launch));
  int64_t pieces = LANE_PIECES / plan.block.repeat;
  RLO_TRY(rlo__launch_define(launch, "RLO_READ_RANK", plan.read.rank));
  RLO_TRY(rlo__launch_define(launch, "RLO_WRITE_RANK", plan.write.rank));
  RLO_TRY(rlo__launch_define(launch, "RLO_READ_UNITS", plan.read.units));
  RLO_TRY(rlo__launch_define(launch, "RLO_WRITE_UNITS", plan.write.units));
  RLO_TRY(rlo__launch_define(launch, "RLO_REPEAT", plan.block.repeat));
  RLO_TRY(rlo__launch_define(launch, "RLO_PIECES", pieces));
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
