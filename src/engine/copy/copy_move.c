/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/attributes.h"
#include "ops/chain.h"
#include "relayout/kernel.h"
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
  RLO_FAIL_IF(!rlo_shape_compatible(shape, wanted), RLO_INVALID_ARGUMENT,
              "'shape' has another type or other dimensions than input 'x'; a relayout changes the "
              "layout only");
  *shape = *wanted;
  return RLO_OK;
}

static rlo_status append_transpose(const rlo__copy_step *step) {
  const int32_t rank = rlo_chain_shape(step->chain)->rank;
  int32_t permutation[RLO_MAX_RANK];
  int32_t count = rank;
  for (int32_t k = 0; k < rank; ++k) {
    permutation[k] = rank - 1 - k;
  }
  if (rlo_attributes_find(step->attributes, "perm") != NULL) {
    rlo__dims perm;
    RLO_TRY(rlo__dims_get_exactly(step->attributes, "perm", rank, &perm));
    RLO_TRY(rlo__axes_get(step->attributes, "perm", rank, true, permutation, &count));
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
  RLO_FAIL_IF(shape->rank == RLO_MAX_RANK, RLO_UNSUPPORTED,
              "the result would have rank %d; the limit is %d", RLO_MAX_RANK + 1, RLO_MAX_RANK);
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k <= shape->rank; ++k) {
    dims[k] = k == axis ? 1 : shape->dims[k - (k > axis)];
  }
  return rlo_chain_reshape(step->chain, dims, shape->rank + 1);
}

static rlo_status append_reverse(const rlo__copy_step *step) {
  int32_t axes[RLO_MAX_RANK];
  int32_t count = 0;
  RLO_TRY(rlo__axes_get(step->attributes, "dims", rlo_chain_shape(step->chain)->rank, true, axes,
                        &count));
  return rlo_chain_reverse(step->chain, axes, count);
}

static rlo_status append_broadcast_to(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  rlo__dims dims;
  int32_t from_dims[RLO_MAX_RANK];
  RLO_TRY(rlo__dims_get(step->attributes, "shape", &dims));
  RLO_FAIL_IF(dims.count < shape->rank, RLO_INVALID_ARGUMENT,
              "'shape' has rank %d, input 'x' rank %d", dims.count, shape->rank);
  /* NumPy aligns the last dimensions. */
  for (int32_t k = 0; k < shape->rank; ++k) {
    from_dims[k] = dims.count - shape->rank + k;
  }
  return rlo_chain_broadcast_in_dim(step->chain, dims.values, dims.count, from_dims);
}

static rlo_status append_tile(const rlo__copy_step *step) {
  rlo__dims times;
  RLO_TRY(
      rlo__dims_get_exactly(step->attributes, "reps", rlo_chain_shape(step->chain)->rank, &times));
  return rlo_chain_tile(step->chain, times.values);
}

static rlo_status append_repeat(const rlo__copy_step *step) {
  rlo__dims times;
  RLO_TRY(rlo__dims_get_exactly(step->attributes, "repeats", rlo_chain_shape(step->chain)->rank,
                                &times));
  return rlo_chain_repeat(step->chain, times.values);
}

static rlo_status append_roll(const rlo__copy_step *step) {
  rlo_i64_list shifts;
  int32_t dims[RLO_MAX_RANK];
  int32_t count = 0;
  RLO_TRY(rlo_attributes_get_i64s(step->attributes, "shifts", &shifts));
  RLO_TRY(rlo__axes_get(step->attributes, "dims", rlo_chain_shape(step->chain)->rank, false, dims,
                        &count));
  RLO_FAIL_IF(shifts.count != count, RLO_INVALID_ARGUMENT, "%d shifts for %d dimensions",
              shifts.count, count);
  return rlo_chain_roll(step->chain, shifts.values, dims, count);
}

/* Appends by rlo_chain_space_to_batch or rlo_chain_batch_to_space. */
static rlo_status append_batch(const rlo__copy_step *step, const char *edges,
                               rlo_status (*append)(rlo_chain *chain, const int64_t *blocks,
                                                    const int64_t *low, const int64_t *high,
                                                    int32_t count)) {
  rlo__dims blocks;
  rlo__dims low;
  rlo__dims high;
  RLO_TRY(rlo__dims_get(step->attributes, "block_shape", &blocks));
  RLO_TRY(rlo__dims_get_pairs(step->attributes, edges, blocks.count, &low, &high));
  return append(step->chain, blocks.values, low.values, high.values, blocks.count);
}

static rlo_status append_space_to_batch(const rlo__copy_step *step) {
  return append_batch(step, "paddings", rlo_chain_space_to_batch);
}

static rlo_status append_batch_to_space(const rlo__copy_step *step) {
  return append_batch(step, "crops", rlo_chain_batch_to_space);
}

/* Appends by rlo_chain_space_to_depth or rlo_chain_depth_to_space. */
static rlo_status append_depth(const rlo__copy_step *step,
                               rlo_status (*append)(rlo_chain *chain, int64_t block,
                                                    int32_t channel_dim)) {
  static const char *const formats[] = {"NHWC", "NCHW"};
  int32_t format = 0;
  int64_t block = 0;
  RLO_TRY(rlo_attributes_get_i64(step->attributes, "block_size", &block));
  RLO_TRY(rlo__word_get(step->attributes, "data_format", formats, 2, &format));
  return append(step->chain, block, format == 0 ? rlo_chain_shape(step->chain)->rank - 1 : 1);
}

static rlo_status append_space_to_depth(const rlo__copy_step *step) {
  return append_depth(step, rlo_chain_space_to_depth);
}

static rlo_status append_depth_to_space(const rlo__copy_step *step) {
  static const char *const modes[] = {"DCR", "CRD"};
  int32_t mode = 0;
  RLO_TRY(rlo__word_get(step->attributes, "mode", modes, 2, &mode));
  return append_depth(step, mode == 0 ? rlo_chain_depth_to_space : rlo_chain_depth_to_space_crd);
}

static rlo_status append_concat(const rlo__copy_step *step) {
  int32_t axis = 0;
  RLO_TRY(rlo__axis_get(step->attributes, "axis", rlo_chain_shape(step->chain)->rank, &axis));
  return rlo__chain_concatenate(step->chain, step->others, step->num_others, axis, "inputs");
}

static rlo_status append_pack(const rlo__copy_step *step) {
  int32_t axis = 0;
  /* A dimension of the result. */
  RLO_TRY(rlo__axis_get(step->attributes, "axis", rlo_chain_shape(step->chain)->rank + 1, &axis));
  return rlo__chain_stack(step->chain, step->others, step->num_others, axis, "inputs");
}

/* ------------------------------------------------------------------- splits */

/* Equal parts, or a list in which one -1 stands for the remainder. */
static rlo_status append_split(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  const rlo_attribute *parts = rlo_attributes_find(step->attributes, "num_or_size_splits");
  const bool is_even = parts->type == RLO_ATTRIBUTE_I64;
  const int64_t count = is_even ? parts->value.i64 : parts->count;
  int64_t sizes[RLO_MAX_KERNEL_OUTPUTS];
  int64_t sum = 0;
  int32_t open = -1;
  int32_t axis = 0;
  RLO_TRY(rlo__axis_get(step->attributes, "axis", shape->rank, &axis));
  const int64_t size = shape->dims[axis];
  if (count < 1 || count > RLO_MAX_KERNEL_OUTPUTS || (is_even && size % count != 0)) {
    return is_even ? RLO_FAIL(RLO_INVALID_ARGUMENT,
                              "%lld equal parts of a dimension of size %lld; 1 to %d that divide "
                              "it are possible",
                              (long long)count, (long long)size, RLO_MAX_KERNEL_OUTPUTS)
                   : RLO_FAIL(RLO_INVALID_ARGUMENT, "%lld parts; 1 to %d are possible",
                              (long long)count, RLO_MAX_KERNEL_OUTPUTS);
  }
  for (int32_t k = 0; k < (int32_t)count; ++k) {
    sizes[k] = is_even ? size / count : parts->value.i64s[k];
    if (sizes[k] == -1 && open < 0) {
      open = k;
    } else if (sizes[k] < 0 || !rlo__add(sum, sizes[k], &sum)) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "num_or_size_splits[%d]=%lld is negative or too large (one may be -1)", k,
                      (long long)sizes[k]);
    }
  }
  RLO_FAIL_IF(open >= 0 && sum > size, RLO_INVALID_ARGUMENT,
              "the parts add up to %lld, more than the dimension's %lld: nothing is left for -1",
              (long long)sum, (long long)size);
  if (open >= 0) {
    sizes[open] = size - sum;
  }
  *step->out_count = (int32_t)count;
  return rlo_chain_split(step->chain, sizes, (int32_t)count, axis, step->output);
}

static rlo_status append_unpack(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  int32_t axis = 0;
  RLO_TRY(rlo__axis_get(step->attributes, "axis", shape->rank, &axis));
  const int64_t size = shape->dims[axis];
  RLO_FAIL_IF(size < 1 || size > RLO_MAX_KERNEL_OUTPUTS, RLO_UNSUPPORTED,
              "dimension %d of size %lld would be as many results; 1 to %d are possible", axis,
              (long long)size, RLO_MAX_KERNEL_OUTPUTS);
  *step->out_count = (int32_t)size;
  return rlo_chain_unstack(step->chain, axis, step->output);
}

/* -------------------------------------------------------------------- table */

const rlo__copy_op rlo__move_ops[] = {
    {
        .name = "Identity",
        RLO__COPY_INPUTS(1, 1, "x"),
        .flags = RLO__COPY_KEEPS_ORDER,
        .append = append_nothing,
        .place = place_identity,
    },
    {
        .name = "Relayout",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"shape", RLO_ATTRIBUTE_SHAPE, true}),
        .flags = RLO__COPY_KEEPS_ORDER,
        .append = append_nothing,
        .place = place_relayout,
    },
    {
        .name = "Transpose",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"perm", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, false}),
        .append = append_transpose,
    },
    {
        .name = "Reshape",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .flags = RLO__COPY_KEEPS_ORDER,
        .append = append_reshape,
    },
    {
        .name = "ExpandDims",
        RLO__COPY_INPUTS(1, 1, "input"),
        RLO__COPY_SPECS({"axis", RLO_ATTRIBUTE_I64, false}),
        .flags = RLO__COPY_KEEPS_ORDER,
        .append = append_expand_dims,
    },
    {
        .name = "Reverse",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"dims", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_reverse,
    },
    {
        .name = "BroadcastTo",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_broadcast_to,
    },
    {
        .name = "Tile",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"reps", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_tile,
    },
    {
        .name = "Repeat",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"repeats", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_repeat,
    },
    {
        .name = "Roll",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"shifts", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"dims", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_roll,
    },
    {
        .name = "SpaceToBatchND",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"block_shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"paddings", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_space_to_batch,
    },
    {
        .name = "BatchToSpaceND",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"block_shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"crops", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_batch_to_space,
    },
    {
        .name = "SpaceToDepth",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"block_size", RLO_ATTRIBUTE_I64, true},
                        {"data_format", RLO_ATTRIBUTE_STRING, false}),
        .append = append_space_to_depth,
    },
    {
        .name = "DepthToSpace",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"block_size", RLO_ATTRIBUTE_I64, true},
                        {"data_format", RLO_ATTRIBUTE_STRING, false},
                        {"mode", RLO_ATTRIBUTE_STRING, false}),
        .append = append_depth_to_space,
    },
    {
        .name = "Concat",
        RLO__COPY_INPUTS(1, -1, "inputs"),
        RLO__COPY_SPECS({"axis", RLO_ATTRIBUTE_I64, false}),
        .append = append_concat,
    },
    {
        .name = "ConcatV2",
        RLO__COPY_INPUTS(1, -1, "inputs"),
        RLO__COPY_SPECS({"axis", RLO_ATTRIBUTE_I64, false}),
        .append = append_concat,
    },
    {
        .name = "Pack",
        RLO__COPY_INPUTS(1, -1, "inputs"),
        RLO__COPY_SPECS({"axis", RLO_ATTRIBUTE_I64, false}),
        .append = append_pack,
    },
    {
        .name = "SplitV",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"num_or_size_splits", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"axis", RLO_ATTRIBUTE_I64, false}),
        .flags = RLO__COPY_HAS_RESULTS,
        .append = append_split,
    },
    {
        .name = "Unpack",
        RLO__COPY_INPUTS(1, 1, "value"),
        RLO__COPY_SPECS({"axis", RLO_ATTRIBUTE_I64, false}),
        .flags = RLO__COPY_HAS_RESULTS,
        .append = append_unpack,
    },
    {.name = NULL},
};
