/* SPDX-License-Identifier: Apache-2.0 */
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

/* Kind of the vectors of a block's strides and coefficients. */
static rlo__argument_kind block_kind(const rlo__geometry *geometry) {
  return geometry->fits_32_bits ? RLO__ARGUMENT_INT16 : RLO__ARGUMENT_LONG16;
}

/* Tells if the kernel's arguments fit. Vectors count as the scalars that fill
 * them. */
static bool takes_arguments(const rlo__family_query *query,
                            const rlo__geometry *g,
                            rlo__str *why) {
  const rlo_problem *problem = query->problem;
  int64_t index_bytes = g->fits_32_bits ? 4 : 8;
  int64_t block_bytes = rlo__argument_bytes(block_kind(g));
  int64_t bytes = SCALAR_BYTES + 3 * index_bytes +
                  RLO__GPU_PACKED_MAX_ENDS * (END_BYTES + 2 * index_bytes) +
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
  rlo__gpu_packed_plan plan;
  return takes_arguments(query, &g, why) &&
         rlo__gpu_packed_choose(query, &plan, why) &&
         (plan.group.geometry.fits_32_bits == g.fits_32_bits ||
          takes_arguments(query, &plan.group.geometry, why));
}

static double predict(const rlo__family_query *query) {
  rlo__gpu_packed_plan plan;
  rlo__str unused = rlo__str_over(NULL, 0);
  if (!rlo__gpu_packed_choose(query, &plan, &unused)) {
    return 0.0;
  }
  return PREFERENCE *
         rlo__gpu_block_rate(
             query,
             &plan.block,
             rlo__gpu_local_items(query->device),
             plan.write.word_units * plan.group.geometry.unit_bytes,
             plan.stage.bank_rounds * (double)plan.block.repeat);
}

/* ceil(2^31 / extent), to be read as uint; an extent is at least 1. */
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
                             const rlo__gpu_packed_plan *plan,
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
                            const rlo__gpu_packed_plan *plan,
                            rlo__launch *launch) {
  const rlo__grid_plan *group = &plan->group;
  const rlo__gpu_stage *stage = &plan->stage;
  const rlo__gpu_packed_walk *write = &plan->write;
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

static rlo_status add_guards(const rlo__gpu_packed_plan *plan,
                             rlo__launch *launch) {
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
                           const rlo__gpu_packed_plan *plan,
                           rlo__launch *launch) {
  const rlo__grid_plan *group = &plan->group;
  for (int32_t e = 0; e < plan->num_ends; ++e) {
    int32_t axis = plan->ends[e];
    RLO_TRY(rlo__grid_add_int(launch, rlo__grid_find(&group->grid, axis)));
    RLO_TRY(rlo__grid_add_index(
        group, launch, rlo__gpu_block_step(&plan->block, axis)));
    RLO_TRY(rlo__grid_add_index(group, launch, problem->extents[axis]));
    RLO_TRY(rlo__grid_add_int(launch, plan->write.ends[e]));
  }
  return RLO_OK;
}

static void describe(const rlo__gpu_packed_plan *plan, rlo__launch *launch) {
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
static int64_t lane_pieces(const rlo__gpu_packed_plan *plan,
                           const rlo__family_query *query) {
  const rlo__gpu_stage *stage = &plan->stage;
  int64_t most = rlo__min(LANE_BYTES / stage->read_bytes, LANE_SMALL_PIECES);
  most = rlo__max(rlo__max(most, LANE_PIECES) / plan->block.repeat, 1);
  int64_t all =
      rlo__ceil_div(stage->pieces, rlo__gpu_local_items(query->device));
  return rlo__ceil_div(all, rlo__ceil_div(all, most));
}

static rlo_status emit(const rlo__family_query *query, rlo__launch *launch) {
  rlo__gpu_packed_plan plan;
  rlo__str unused = rlo__str_over(NULL, 0);
  if (!rlo__gpu_packed_choose(query, &plan, &unused)) {
    return RLO_FAIL(RLO_INTERNAL, "packed was given a problem without a block");
  }
  RLO_TRY(rlo__gpu_begin(
      query, &plan.group, "gpu_packed", plan.num_groups, launch));
  const rlo__gpu_stage *stage = &plan.stage;
  RLO_TRY(rlo__launch_define(launch, "RLO_READ_BYTES", stage->read_bytes));
  RLO_TRY(rlo__launch_define(launch, "RLO_STORE_BYTES", stage->store_bytes));
  RLO_TRY(rlo__launch_define(launch, "RLO_WORD_UNITS", plan.write.word_units));
  RLO_TRY(rlo__launch_define(launch, "RLO_SHIFT", plan.write.is_shifted));
  RLO_TRY(
      rlo__launch_define(launch, "RLO_CONTIGUOUS", plan.write.is_contiguous));
  RLO_TRY(
      rlo__launch_define(launch,
                         "RLO_ONE_TURN",
                         plan.write.run_axes > 1 &&
                             plan.write.extents[0] >= plan.write.word_units));
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
