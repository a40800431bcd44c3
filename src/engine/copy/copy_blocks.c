/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/copy/copy_ops.h"
#include "engine/tensor/attributes.h"
#include "relayout/ops.h"

static const rlo_attribute_spec to_batch_specs[] = {
    {"block_shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
    {"paddings", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

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

const rlo__copy_op rlo__op_space_to_batch = {
    .name = "SpaceToBatchND",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(to_batch_specs),
    .append = append_space_to_batch,
};

static const rlo_attribute_spec from_batch_specs[] = {
    {"block_shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
    {"crops", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

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

const rlo__copy_op rlo__op_batch_to_space = {
    .name = "BatchToSpaceND",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(from_batch_specs),
    .append = append_batch_to_space,
};

static const rlo_attribute_spec block_specs[] = {
    {"block_size", RLO_ATTRIBUTE_I64, true},
    {"data_format", RLO_ATTRIBUTE_STRING, false},
};

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

const rlo__copy_op rlo__op_space_to_depth = {
    .name = "SpaceToDepth",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(block_specs),
    .append = append_space_to_depth,
};

static rlo_status append_depth_to_space(const rlo__copy_step *step) {
  int64_t block = 0;
  int32_t channel_dim = 0;
  RLO_TRY(get_block(step->chain, step->attributes, &block, &channel_dim));
  return rlo_chain_depth_to_space(step->chain, block, channel_dim);
}

const rlo__copy_op rlo__op_depth_to_space = {
    .name = "DepthToSpace",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(block_specs),
    .append = append_depth_to_space,
};
