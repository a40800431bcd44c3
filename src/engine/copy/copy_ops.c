/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/status.h"
#include "engine/copy/copy_op.h"
#include "engine/copy/copy_ops.h"
#include "engine/tensor/attributes.h"
#include "relayout/ops.h"

static rlo_status append_nothing(const rlo__copy_step *step) {
  (void)step;
  return RLO_OK;
}

static rlo_status place_identity(const rlo__copy_call *call, rlo_shape *shape) {
  *shape = *call->inputs[0];
  return RLO_OK;
}

static rlo_status place_relayout(const rlo__copy_call *call, rlo_shape *shape) {
  const rlo_shape *wanted = NULL;
  RLO_TRY(rlo_attributes_get_shape(call->attributes, "shape", &wanted));
  RLO_TRY(rlo_shape_validate(wanted));
  if (!rlo_shape_compatible(shape, wanted)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'shape' has another type or other dimensions than the "
                    "input; a relayout changes the layout only");
  }
  *shape = *wanted;
  return RLO_OK;
}

static rlo_status append_transpose(const rlo__copy_step *step) {
  int32_t rank = rlo_chain_shape(step->chain)->rank;
  rlo__dims perm = {{0}, rank};
  int32_t permutation[RLO_MAX_RANK];
  bool is_given = rlo_attributes_find(step->attributes, "perm") != NULL;
  if (is_given) {
    RLO_TRY(rlo__dims_get_exactly(step->attributes, "perm", rank, &perm));
  }
  for (int32_t k = 0; k < rank; ++k) {
    int64_t from = is_given ? perm.values[k] : rank - 1 - k;
    if (from < 0 || from >= rank) {
      return RLO_FAIL(RLO_OUT_OF_RANGE,
                      "perm[%d]=%lld of an array of rank %d",
                      k,
                      (long long)from,
                      rank);
    }
    permutation[k] = (int32_t)from;
  }
  return rlo_chain_transpose(step->chain, permutation);
}

static rlo_status append_reshape(const rlo__copy_step *step) {
  rlo__dims dims;
  RLO_TRY(rlo__dims_get(step->attributes, "shape", &dims));
  return rlo_chain_reshape(step->chain, dims.values, dims.count);
}

static rlo_status append_expand_dims(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  int32_t axis = 0;
  /* A dimension of the result. */
  RLO_TRY(rlo__axis_get(step->attributes, "axis", shape->rank + 1, &axis));
  if (shape->rank == RLO_MAX_RANK) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the result would have rank %d; the limit is %d",
                    RLO_MAX_RANK + 1,
                    RLO_MAX_RANK);
  }
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k <= shape->rank; ++k) {
    dims[k] = k == axis ? 1 : shape->dims[k - (k > axis)];
  }
  return rlo_chain_reshape(step->chain, dims, shape->rank + 1);
}

static rlo_status append_reverse(const rlo__copy_step *step) {
  int32_t axes[RLO_MAX_RANK];
  int32_t count = 0;
  RLO_TRY(rlo__axes_get(step->attributes,
                        "dims",
                        rlo_chain_shape(step->chain)->rank,
                        axes,
                        &count));
  return rlo_chain_reverse(step->chain, axes, count);
}

static rlo_status append_broadcast_to(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  rlo__dims dims;
  int32_t from_dims[RLO_MAX_RANK];
  RLO_TRY(rlo__dims_get(step->attributes, "shape", &dims));
  if (dims.count < shape->rank) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'shape' has rank %d, the input rank %d",
                    dims.count,
                    shape->rank);
  }
  /* As NumPy does: the last dimensions belong together. */
  for (int32_t k = 0; k < shape->rank; ++k) {
    from_dims[k] = dims.count - shape->rank + k;
  }
  return rlo_chain_broadcast_in_dim(
      step->chain, dims.values, dims.count, from_dims);
}

static rlo_status append_tile(const rlo__copy_step *step) {
  rlo__dims times;
  RLO_TRY(rlo__dims_get_exactly(
      step->attributes, "reps", rlo_chain_shape(step->chain)->rank, &times));
  return rlo_chain_tile(step->chain, times.values);
}

static rlo_status append_repeat(const rlo__copy_step *step) {
  rlo__dims times;
  RLO_TRY(rlo__dims_get_exactly(
      step->attributes, "repeats", rlo_chain_shape(step->chain)->rank, &times));
  return rlo_chain_repeat(step->chain, times.values);
}

/* -------------------------------------------------------------------- blocks
 */

static rlo_status get_block(const rlo_chain *chain,
                            const rlo_attributes *attributes,
                            int64_t *out_block,
                            int32_t *out_channel_dim) {
  static const char *const formats[] = {"NHWC", "NCHW"};
  int32_t format = 0;
  RLO_TRY(rlo_attributes_get_i64(attributes, "block_size", out_block));
  RLO_TRY(rlo__word_get(attributes, "data_format", formats, 2, &format));
  *out_channel_dim = format == 0 ? rlo_chain_shape(chain)->rank - 1 : 1;
  return RLO_OK;
}

static rlo_status append_space_to_depth(const rlo__copy_step *step) {
  int64_t block = 0;
  int32_t channel_dim = 0;
  RLO_TRY(get_block(step->chain, step->attributes, &block, &channel_dim));
  return rlo_chain_space_to_depth(step->chain, block, channel_dim);
}

static rlo_status append_depth_to_space(const rlo__copy_step *step) {
  int64_t block = 0;
  int32_t channel_dim = 0;
  RLO_TRY(get_block(step->chain, step->attributes, &block, &channel_dim));
  return rlo_chain_depth_to_space(step->chain, block, channel_dim);
}

static rlo_status append_space_to_batch(const rlo__copy_step *step) {
  rlo__dims blocks;
  rlo__dims low;
  rlo__dims high;
  RLO_TRY(rlo__dims_get(step->attributes, "block_shape", &blocks));
  RLO_TRY(rlo__dims_get_pairs(
      step->attributes, "paddings", blocks.count, &low, &high));
  return rlo_chain_space_to_batch(
      step->chain, blocks.values, low.values, high.values, blocks.count);
}

static rlo_status append_batch_to_space(const rlo__copy_step *step) {
  rlo__dims blocks;
  rlo__dims low;
  rlo__dims high;
  RLO_TRY(rlo__dims_get(step->attributes, "block_shape", &blocks));
  RLO_TRY(rlo__dims_get_pairs(
      step->attributes, "crops", blocks.count, &low, &high));
  return rlo_chain_batch_to_space(
      step->chain, blocks.values, low.values, high.values, blocks.count);
}

/* --------------------------------------------------------------------- table
 */

// clang-format off
static const rlo_attribute_spec shape_of_specs[] = {
    {"shape", RLO_ATTRIBUTE_SHAPE, true},
};
static const rlo_attribute_spec perm_specs[] = {
    {"perm", RLO_ATTRIBUTE_I64S, false},
};
static const rlo_attribute_spec shape_specs[] = {
    {"shape", RLO_ATTRIBUTE_I64S, true},
};
static const rlo_attribute_spec axis_specs[] = {
    {"axis", RLO_ATTRIBUTE_I64, false},
};
static const rlo_attribute_spec slice_specs[] = {
    {"begin", RLO_ATTRIBUTE_I64S, true},
    {"size", RLO_ATTRIBUTE_I64S, true},
};
static const rlo_attribute_spec strided_slice_specs[] = {
    {"begin", RLO_ATTRIBUTE_I64S, true},
    {"end", RLO_ATTRIBUTE_I64S, true},
    {"strides", RLO_ATTRIBUTE_I64S, false},
    {"begin_mask", RLO_ATTRIBUTE_I64, false},
    {"end_mask", RLO_ATTRIBUTE_I64, false},
    {"ellipsis_mask", RLO_ATTRIBUTE_I64, false},
    {"new_axis_mask", RLO_ATTRIBUTE_I64, false},
    {"shrink_axis_mask", RLO_ATTRIBUTE_I64, false},
};
static const rlo_attribute_spec pad_specs[] = {
    {"paddings", RLO_ATTRIBUTE_I64S, true},
    {"interior", RLO_ATTRIBUTE_I64S, false},
    {"value", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, false},
    {"value_bits", RLO_ATTRIBUTE_I64S, false},
};
static const rlo_attribute_spec mirror_specs[] = {
    {"paddings", RLO_ATTRIBUTE_I64S, true},
    {"mode", RLO_ATTRIBUTE_STRING, false},
};
static const rlo_attribute_spec dims_specs[] = {
    {"dims", RLO_ATTRIBUTE_I64S, true},
};
static const rlo_attribute_spec reps_specs[] = {
    {"reps", RLO_ATTRIBUTE_I64S, true},
};
static const rlo_attribute_spec repeats_specs[] = {
    {"repeats", RLO_ATTRIBUTE_I64S, true},
};
static const rlo_attribute_spec split_specs[] = {
    {"num_or_size_splits", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_I64S, true},
    {"axis", RLO_ATTRIBUTE_I64, false},
};
static const rlo_attribute_spec to_batch_specs[] = {
    {"block_shape", RLO_ATTRIBUTE_I64S, true},
    {"paddings", RLO_ATTRIBUTE_I64S, true},
};
static const rlo_attribute_spec from_batch_specs[] = {
    {"block_shape", RLO_ATTRIBUTE_I64S, true},
    {"crops", RLO_ATTRIBUTE_I64S, true},
};
static const rlo_attribute_spec gather_specs[] = {
    {"axis", RLO_ATTRIBUTE_I64, false},
    {"batch_dims", RLO_ATTRIBUTE_I64, false},
};
static const rlo_attribute_spec segment_specs[] = {
    {"num_segments", RLO_ATTRIBUTE_I64, true},
    {"axis", RLO_ATTRIBUTE_I64, false},
    {"batch_dims", RLO_ATTRIBUTE_I64, false},
};
static const rlo_attribute_spec scale_specs[] = {
    {"factor", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, true},
};
static const rlo_attribute_spec cast_specs[] = {
    {"dtype", RLO_ATTRIBUTE_STRING, true},
};
static const rlo_attribute_spec sum_specs[] = {
    {"dims", RLO_ATTRIBUTE_I64S, false},
    {"keep_dims", RLO_ATTRIBUTE_BOOL, false},
};
static const rlo_attribute_spec block_specs[] = {
    {"block_size", RLO_ATTRIBUTE_I64, true},
    {"data_format", RLO_ATTRIBUTE_STRING, false},
};

#define SPECS(list) \
  .specs = list, .num_specs = (int32_t)(sizeof list / sizeof list[0])
#define INPUTS(least, most) .min_inputs = least, .max_inputs = most

static const rlo__copy_op table[] = {
    {.name = "Identity", INPUTS(1, 1),
     .keeps_order = true, .append = append_nothing, .place = place_identity},
    {.name = "Relayout", INPUTS(1, 1),
     SPECS(shape_of_specs), .keeps_order = true, .append = append_nothing, .place = place_relayout},
    {.name = "Transpose", INPUTS(1, 1),
     SPECS(perm_specs), .append = append_transpose},
    {.name = "Reshape", INPUTS(1, 1),
     SPECS(shape_specs), .keeps_order = true, .append = append_reshape},
    {.name = "ExpandDims", INPUTS(1, 1),
     SPECS(axis_specs), .keeps_order = true, .append = append_expand_dims},
    {.name = "Slice", INPUTS(1, 1),
     SPECS(slice_specs), .append = rlo__append_slice},
    {.name = "StridedSlice", INPUTS(1, 1),
     SPECS(strided_slice_specs), .append = rlo__append_strided_slice},
    {.name = "PadV2", INPUTS(1, 2),
     SPECS(pad_specs), .takes_value = true, .append = rlo__append_pad},
    {.name = "MirrorPad", INPUTS(1, 1),
     SPECS(mirror_specs), .reads_in_parts = true, .append = rlo__append_mirror_pad},
    {.name = "Reverse", INPUTS(1, 1),
     SPECS(dims_specs), .append = append_reverse},
    {.name = "BroadcastTo", INPUTS(1, 1),
     SPECS(shape_specs), .append = append_broadcast_to},
    {.name = "Tile", INPUTS(1, 1),
     SPECS(reps_specs), .append = append_tile},
    {.name = "Repeat", INPUTS(1, 1),
     SPECS(repeats_specs), .append = append_repeat},
    {.name = "Concat", INPUTS(1, -1),
     SPECS(axis_specs), .append = rlo__append_concat},
    {.name = "ConcatV2", INPUTS(1, -1),
     SPECS(axis_specs), .append = rlo__append_concat},
    {.name = "SplitV", INPUTS(1, 1),
     SPECS(split_specs), .count = rlo__count_split, .append = rlo__append_split},
    {.name = "Pack", INPUTS(1, -1),
     SPECS(axis_specs), .append = rlo__append_pack},
    {.name = "Unpack", INPUTS(1, 1),
     SPECS(axis_specs), .count = rlo__count_unpack, .append = rlo__append_unpack},
    {.name = "SpaceToBatchND", INPUTS(1, 1),
     SPECS(to_batch_specs), .append = append_space_to_batch},
    {.name = "BatchToSpaceND", INPUTS(1, 1),
     SPECS(from_batch_specs), .append = append_batch_to_space},
    {.name = "SpaceToDepth", INPUTS(1, 1),
     SPECS(block_specs), .append = append_space_to_depth},
    {.name = "DepthToSpace", INPUTS(1, 1),
     SPECS(block_specs), .append = append_depth_to_space},
    {.name = "Cast", INPUTS(1, 1),
     SPECS(cast_specs), .append = rlo__append_cast},
    {.name = "Sum", INPUTS(1, 1),
     SPECS(sum_specs), .stands_alone = true, .append = rlo__append_sum},
    {.name = "AddN", INPUTS(1, -1),
     .stands_alone = true,
     .infer = rlo__infer_add_n, .prepare = rlo__prepare_add_n},
    {.name = "GatherV2", INPUTS(2, 2),
     SPECS(gather_specs), .takes_indices = true, .append = rlo__append_gather},
    {.name = "UnsortedSegmentSum", INPUTS(2, 2),
     SPECS(segment_specs), .stands_alone = true,
     .infer = rlo__infer_segment_sum, .prepare = rlo__prepare_segment_sum},
    {.name = "Rescale", INPUTS(1, 1),
     SPECS(scale_specs), .stands_alone = true,
     .infer = rlo__infer_scale, .prepare = rlo__prepare_scale},
    {.name = "MoveAdjoint", INPUTS(1, -1),
     .stands_alone = true, .checks_attributes = true,
     .infer = rlo__infer_adjoint, .prepare = rlo__prepare_adjoint},
};

// clang-format on

const rlo__copy_op *rlo__copy_ops(int32_t *out_count) {
  *out_count = (int32_t)(sizeof table / sizeof table[0]);
  return table;
}

const rlo__copy_op *rlo__copy_op_find(const char *name) {
  for (size_t m = 0; m < sizeof table / sizeof table[0]; ++m) {
    if (strcmp(table[m].name, name) == 0) {
      return &table[m];
    }
  }
  return NULL;
}
