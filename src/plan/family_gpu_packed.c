/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "plan/gpu_packed.h"

/* Family packed, GPU class (cl/gpu_packed.cl): blocks of the leading axes of
 * both sides pass through local memory. */

enum {
  /** Most pieces that a lane has in flight, over all copies, and its bytes if
   *  pieces are smaller than 16. */
  LANE_PIECES = 5,
  LANE_SMALL_PIECES = 16,
  LANE_BYTES = 32,
  LANES = RLO__GPU_BLOCK_MAX_AXES,
  /** Arguments of the kernel after the shared ones, in bytes: two positions,
   *  two bounds, ten numbers, three vectors; for each end, two numbers. */
  SCALAR_BYTES = 4 * 8 + 10 * 4,
  END_BYTES = 2 * 4
};

/* A factor of the prediction: the costs of a block are fitted to shapes that
 * lie far apart, and a family of fewer instructions is taken where it is as
 * good. */
#define PREFERENCE 0.98

/* Factors, measured: where there are fewer than two groups for a compute unit,
 * and where the runs of both sides are of different axes and begin within sectors. */
#define IDLE_RATE   0.82
#define RAGGED_RATE 0.84

/* Kind of the vectors of a block's strides and coefficients. */
static rlo__argument_kind block_kind(const rlo__geometry *geometry) {
  return geometry->fits_32_bits ? RLO__ARGUMENT_INT16 : RLO__ARGUMENT_LONG16;
}

/* Tells if the kernel's arguments fit. Vectors count as the scalars that fill
 * them. */
static bool takes_arguments(const rlo__family_query *query, const rlo__geometry *g, rlo__str *why) {
  const rlo_problem *problem = query->problem;
  int64_t index_bytes = g->fits_32_bits ? 4 : 8;
  int64_t block_bytes = rlo__argument_bytes(block_kind(g));
  int64_t bytes =
      SCALAR_BYTES + 3 * index_bytes + RLO__GPU_PACKED_MAX_ENDS * (END_BYTES + 2 * index_bytes) +
      3 * rlo__argument_bytes(RLO__ARGUMENT_INT16) + (1 + problem->num_guards) * block_bytes;
  int64_t scalars = RLO__GPU_GRID_SCALARS + rlo__ceil_div(bytes, 8);
  return rlo__grid_is_within_limits(query, g, problem->num_axes, (int32_t)scalars, why);
}

static bool choose(const rlo__family_query *query, rlo__gpu_packed_plan *plan, rlo__str *why) {
  rlo__geometry g = rlo__geometry_of(query);
  if (g.is_fill) {
    return RLO__REFUSE(why, "nothing is read");
  }
  return takes_arguments(query, &g, why) && rlo__gpu_packed_choose(query, plan, why) &&
         (plan->group.geometry.fits_32_bits == g.fits_32_bits ||
          takes_arguments(query, &plan->group.geometry, why));
}

static double judge(const rlo__family_query *query, rlo__str *why) {
  rlo__gpu_packed_plan plan;
  if (!choose(query, &plan, why)) {
    return RLO__REFUSED;
  }
  const rlo__gpu_block *block = &plan.block;
  const bool is_idle =
      plan.group.num_groups < (size_t)2 * (size_t)rlo__max(query->device->compute_units, 1);
  const bool is_ragged = plan.group.geometry.run_axis < 0 && block->src_share < 1.0 &&
                         block->dst_share < 1.0 && block->dst_begin_bytes < RLO__GPU_SECTOR_BYTES;
  return PREFERENCE * (is_idle ? IDLE_RATE : 1.0) * (is_ragged ? RAGGED_RATE : 1.0) *
         rlo__gpu_block_rate(query, block, rlo__gpu_local_items(query->device),
                             plan.write.word_units * plan.group.geometry.unit_bytes,
                             plan.stage.bank_rounds * (double)plan.block.repeat);
}

/* ceil(2^31 / extent), to be read as uint; an extent is at least 1. */
static int64_t block_magic(int64_t extent) {
  int64_t magic = rlo__ceil_div(INT64_C(1) << 31, rlo__max(extent, 1));
  return magic > INT32_MAX ? magic - (INT64_C(1) << 32) : magic;
}

/* Two lists of up to LANES numbers as one vector. */
static void join_lanes(const int64_t *low, int32_t num_low, const int64_t *high, int32_t num_high,
                       int64_t out[2 * LANES]) {
  memset(out, 0, sizeof(int64_t[2 * LANES]));
  memcpy(out, low, (size_t)num_low * sizeof out[0]);
  memcpy(out + LANES, high, (size_t)num_high * sizeof out[0]);
}

/* Extents of axes, and what divides by them. */
static void divide_lanes(const int64_t *extents, int32_t rank, int64_t out[2 * LANES]) {
  int64_t magic[LANES];
  for (int32_t k = 0; k < rank; ++k) {
    magic[k] = block_magic(extents[k]);
  }
  join_lanes(extents, rank, magic, rank, out);
}

/* Bytes from the first point of all copies to the lowest that they read, and to
 * behind the highest. */
static void find_bounds(const rlo_problem *problem, const rlo__gpu_packed_plan *plan,
                        int64_t *out_low, int64_t *out_high) {
  const rlo__gpu_block *block = &plan->block;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  *out_low = 0;
  *out_high = unit_bytes;
  for (int32_t k = -1; k < block->num_axes; ++k) {
    int32_t a = k < 0 ? block->repeat_axis : block->axes[k].problem_axis;
    int64_t size = k < 0 ? block->repeat : block->axes[k].size;
    int64_t along = a >= 0 ? (size - 1) * problem->src.axis[a] * unit_bytes : 0;
    *out_low += rlo__min(along, 0);
    *out_high += rlo__max(along, 0);
  }
}

static rlo_status add_block(const rlo_problem *problem, const rlo__gpu_packed_plan *plan,
                            rlo__launch *launch) {
  const rlo__grid_plan *group = &plan->group;
  const rlo__gpu_stage *stage = &plan->stage;
  const rlo__gpu_packed_walk *write = &plan->write;
  int32_t repeat = plan->block.repeat_axis;
  int64_t unit_bytes = repeat >= 0 ? group->geometry.unit_bytes : 0;
  int32_t axis = repeat >= 0 ? repeat : 0;
  int64_t low;
  int64_t high;
  int64_t lanes[4][2 * LANES];
  find_bounds(problem, plan, &low, &high);
  divide_lanes(stage->extents, stage->rank, lanes[0]);
  divide_lanes(write->extents, write->rank, lanes[1]);
  join_lanes(stage->run_strides, stage->rank, write->local_strides, write->rank, lanes[2]);
  join_lanes(stage->src_strides, stage->rank, write->strides, write->rank, lanes[3]);
  const rlo__arg args[] = {rlo__arg_long(launch->src_base_bytes),
                           rlo__arg_long(problem->src_bytes),
                           rlo__arg_long(low),
                           rlo__arg_long(high),
                           rlo__arg_int(stage->run_low),
                           rlo__arg_int(stage->run_bytes),
                           rlo__arg_int(stage->pieces),
                           rlo__arg_lanes(RLO__ARG_INT16, lanes[0], 2 * LANES),
                           rlo__arg_lanes(RLO__ARG_INT16, lanes[1], 2 * LANES),
                           rlo__arg_lanes(RLO__ARG_INT16, lanes[2], 2 * LANES),
                           rlo__arg_lanes(RLO__ARG_INDEX16, lanes[3], 2 * LANES),
                           rlo__arg_int(write->runs),
                           rlo__arg_int(write->words),
                           rlo__arg_int(block_magic(write->words)),
                           rlo__arg_int(write->rest),
                           rlo__arg_int(write->rest > 0 ? block_magic(write->rest) : 0),
                           rlo__arg_int(rlo__grid_find(&group->grid, repeat)),
                           rlo__arg_index(repeat >= 0 ? problem->extents[repeat] : 1),
                           rlo__arg_index(problem->src.axis[axis] * unit_bytes),
                           rlo__arg_index(problem->dst.axis[axis] * unit_bytes),
                           rlo__arg_int(stage->copy_bytes),
                           {0}};
  return rlo__grid_add(group, args, launch);
}

static rlo_status add_guards(const rlo__gpu_packed_plan *plan, rlo__launch *launch) {
  const rlo__grid *grid = &plan->group.grid;
  for (int32_t g = 0; g < plan->num_guards; ++g) {
    const rlo_form *form = &plan->guards[g]->form;
    int64_t coefs[RLO__GRID_MAX_AXES];
    for (int32_t n = 0; n < grid->num_axes; ++n) {
      int32_t axis = grid->axes[n].problem_axis;
      coefs[n] = axis < 0 ? 0 : form->axis[axis] * grid->axes[n].step;
    }
    const rlo__arg args[] = {
        rlo__arg_vector(coefs, grid->num_axes),
        rlo__arg_lanes(RLO__ARG_INDEX16, plan->write.coefs[g], plan->write.rank),
        rlo__arg_long(form->base),
        rlo__arg_long(plan->guards[g]->limit),
        rlo__arg_stride(form, plan->block.repeat_axis),
        {0}};
    RLO_TRY(rlo__grid_add(&plan->group, args, launch));
  }
  return RLO_OK;
}

static rlo_status add_ends(const rlo_problem *problem, const rlo__gpu_packed_plan *plan,
                           rlo__launch *launch) {
  const rlo__grid_plan *group = &plan->group;
  for (int32_t e = 0; e < plan->num_ends; ++e) {
    int32_t axis = plan->ends[e];
    const rlo__arg args[] = {rlo__arg_int(rlo__grid_find(&group->grid, axis)),
                             rlo__arg_index(rlo__gpu_block_step(&plan->block, axis)),
                             rlo__arg_index(problem->extents[axis]),
                             rlo__arg_int(plan->write.ends[e]),
                             {0}};
    RLO_TRY(rlo__grid_add(group, args, launch));
  }
  return RLO_OK;
}

static void describe(const rlo__gpu_packed_plan *plan, rlo__launch *launch) {
  const rlo__gpu_block *block = &plan->block;
  int64_t unit_bytes = plan->group.geometry.unit_bytes;
  rlo__launch_describe(launch, "blocks of ");
  for (int32_t k = block->num_axes - 1; k >= 0; --k) {
    rlo__launch_describe(launch, "%lld%s", (long long)block->axes[k].size, k > 0 ? "x" : "");
  }
  rlo__launch_describe(launch,
                       " units of %lld bytes, %lld to a group; a lane reads %lld bytes and writes "
                       "%lld; runs of %lld and %lld bytes",
                       (long long)unit_bytes, (long long)block->repeat,
                       (long long)plan->stage.read_bytes,
                       (long long)plan->write.word_units * unit_bytes,
                       (long long)block->src_run_bytes, (long long)block->dst_run_bytes);
}

/* Pieces of a copy that a lane has in flight: all that it has, in equal turns,
 * if not too many. */
static int64_t lane_pieces(const rlo__gpu_packed_plan *plan, const rlo__family_query *query) {
  const rlo__gpu_stage *stage = &plan->stage;
  int64_t most = rlo__min(LANE_BYTES / stage->read_bytes, LANE_SMALL_PIECES);
  most = rlo__max(rlo__max(most, LANE_PIECES) / plan->block.repeat, 1);
  int64_t all = rlo__ceil_div(stage->pieces, rlo__gpu_local_items(query->device));
  return rlo__ceil_div(all, rlo__ceil_div(all, most));
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  rlo__gpu_packed_plan plan;
  const bool is_chosen = choose(query, &plan, NULL);
  assert(is_chosen);
  const rlo__gpu_packed_walk *write = &plan.write;
  bool is_one_turn = write->run_axes > 1 && write->extents[0] >= write->word_units;
  const rlo__constant constants[] = {{"RLO_READ_BYTES", plan.stage.read_bytes},
                                     {"RLO_STORE_BYTES", plan.stage.store_bytes},
                                     {"RLO_WORD_UNITS", write->word_units},
                                     {"RLO_SHIFT", write->is_shifted},
                                     {"RLO_CONTIGUOUS", write->is_contiguous},
                                     {"RLO_ONE_TURN", is_one_turn},
                                     {"RLO_READ_RANK", plan.stage.rank},
                                     {"RLO_WRITE_RANK", write->rank},
                                     {"RLO_RUN_RANK", write->run_axes},
                                     {"RLO_REPEAT", plan.block.repeat},
                                     {"RLO_PIECES", lane_pieces(&plan, query)},
                                     {"RLO_LOCAL_BYTES", plan.local_bytes},
                                     {"RLO_ENDS", plan.num_ends},
                                     {0}};
  RLO_TRY(rlo__grid_begin(query, &plan.group, "gpu_packed", launch));
  RLO_TRY(rlo__launch_define_all(launch, constants));
  RLO_TRY(add_block(query->problem, &plan, launch));
  RLO_TRY(add_guards(&plan, launch));
  RLO_TRY(add_ends(query->problem, &plan, launch));
  describe(&plan, launch);
  return RLO_OK;
}

const rlo__family rlo__family_gpu_packed = {"packed", RLO_DEVICE_CLASS_GPU, judge, emit, 0};
