/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/copy/copy_ops.h"
#include "engine/tensor/attributes.h"
#include "relayout/ops.h"

/* Appends by rlo_chain_space_to_batch or rlo_chain_batch_to_space. */
static rlo_status append_batch(const rlo__copy_step *step,
                               const char *edges,
                               rlo_status (*append)(rlo_chain *chain,
                                                    const int64_t *blocks,
                                                    const int64_t *low,
                                                    const int64_t *high,
                                                    int32_t count)) {
  rlo__dims blocks;
  rlo__dims low;
  rlo__dims high;
  RLO_TRY(rlo__dims_get(step->attributes, "block_shape", &blocks));
  RLO_TRY(
      rlo__dims_get_pairs(step->attributes, edges, blocks.count, &low, &high));
  return append(
      step->chain, blocks.values, low.values, high.values, blocks.count);
}

static const rlo_attribute_spec to_batch_specs[] = {
    {"block_shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
    {"paddings", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

static rlo_status append_space_to_batch(const rlo__copy_step *step) {
  return append_batch(step, "paddings", rlo_chain_space_to_batch);
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
  return append_batch(step, "crops", rlo_chain_batch_to_space);
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

/* Appends by rlo_chain_space_to_depth or rlo_chain_depth_to_space. */
static rlo_status append_depth(const rlo__copy_step *step,
                               rlo_status (*append)(rlo_chain *chain,
                                                    int64_t block,
                                                    int32_t channel_dim)) {
  static const char *const formats[] = {"NHWC", "NCHW"};
  int32_t format = 0;
  int64_t block = 0;
  RLO_TRY(rlo_attributes_get_i64(step->attributes, "block_size", &block));
  RLO_TRY(rlo__word_get(step->attributes, "data_format", formats, 2, &format));
  return append(step->chain,
                block,
                format == 0 ? rlo_chain_shape(step->chain)->rank - 1 : 1);
}

static rlo_status append_space_to_depth(const rlo__copy_step *step) {
  return append_depth(step, rlo_chain_space_to_depth);
}

const rlo__copy_op rlo__op_space_to_depth = {
    .name = "SpaceToDepth",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(block_specs),
    .append = append_space_to_depth,
};

static rlo_status append_depth_to_space(const rlo__copy_step *step) {
  return append_depth(step, rlo_chain_depth_to_space);
}

const rlo__copy_op rlo__op_depth_to_space = {
    .name = "DepthToSpace",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(block_specs),
    .append = append_depth_to_space,
};
