/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
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

const rlo__copy_op rlo__op_identity = {
    .name = "Identity",
    RLO__COPY_INPUTS(1, 1, "x"),
    .flags = RLO__COPY_KEEPS_ORDER,
    .append = append_nothing,
    .place = place_identity,
};

static const rlo_attribute_spec shape_of_specs[] = {
    {"shape", RLO_ATTRIBUTE_SHAPE, true},
};

static rlo_status place_relayout(const rlo__copy_call *call, rlo_shape *shape) {
  const rlo_shape *wanted = NULL;
  RLO_TRY(rlo_attributes_get_shape(call->attributes, "shape", &wanted));
  RLO_TRY(rlo_shape_validate(wanted));
  if (!rlo_shape_compatible(shape, wanted)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'shape' has another type or other dimensions than input "
                    "'x'; a relayout changes the layout only");
  }
  *shape = *wanted;
  return RLO_OK;
}

const rlo__copy_op rlo__op_relayout = {
    .name = "Relayout",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(shape_of_specs),
    .flags = RLO__COPY_KEEPS_ORDER,
    .append = append_nothing,
    .place = place_relayout,
};

static const rlo_attribute_spec perm_specs[] = {
    {"perm", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, false},
};

static rlo_status append_transpose(const rlo__copy_step *step) {
  int32_t rank = rlo_chain_shape(step->chain)->rank;
  int32_t permutation[RLO_MAX_RANK];
  if (rlo_attributes_find(step->attributes, "perm") != NULL) {
    rlo__dims perm;
    int32_t count = 0;
    RLO_TRY(rlo__dims_get_exactly(step->attributes, "perm", rank, &perm));
    RLO_TRY(rlo__axes_get_once(
        step->attributes, "perm", rank, permutation, &count));
    return rlo_chain_transpose(step->chain, permutation);
  }
  for (int32_t k = 0; k < rank; ++k) {
    permutation[k] = rank - 1 - k;
  }
  return rlo_chain_transpose(step->chain, permutation);
}

const rlo__copy_op rlo__op_transpose = {
    .name = "Transpose",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(perm_specs),
    .append = append_transpose,
};

static const rlo_attribute_spec shape_specs[] = {
    {"shape", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

static rlo_status append_reshape(const rlo__copy_step *step) {
  rlo__dims dims;
  RLO_TRY(rlo__dims_get(step->attributes, "shape", &dims));
  return rlo_chain_reshape(step->chain, dims.values, dims.count);
}

const rlo__copy_op rlo__op_reshape = {
    .name = "Reshape",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(shape_specs),
    .flags = RLO__COPY_KEEPS_ORDER,
    .append = append_reshape,
};

static const rlo_attribute_spec axis_specs[] = {
    {"axis", RLO_ATTRIBUTE_I64, false},
};

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

const rlo__copy_op rlo__op_expand_dims = {
    .name = "ExpandDims",
    RLO__COPY_INPUTS(1, 1, "input"),
    RLO__COPY_SPECS(axis_specs),
    .flags = RLO__COPY_KEEPS_ORDER,
    .append = append_expand_dims,
};

static const rlo_attribute_spec dims_specs[] = {
    {"dims", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

static rlo_status append_reverse(const rlo__copy_step *step) {
  int32_t axes[RLO_MAX_RANK];
  int32_t count = 0;
  RLO_TRY(rlo__axes_get_once(step->attributes,
                             "dims",
                             rlo_chain_shape(step->chain)->rank,
                             axes,
                             &count));
  return rlo_chain_reverse(step->chain, axes, count);
}

const rlo__copy_op rlo__op_reverse = {
    .name = "Reverse",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(dims_specs),
    .append = append_reverse,
};

static rlo_status append_broadcast_to(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  rlo__dims dims;
  int32_t from_dims[RLO_MAX_RANK];
  RLO_TRY(rlo__dims_get(step->attributes, "shape", &dims));
  if (dims.count < shape->rank) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'shape' has rank %d, input 'x' rank %d",
                    dims.count,
                    shape->rank);
  }
  /* NumPy aligns the last dimensions. */
  for (int32_t k = 0; k < shape->rank; ++k) {
    from_dims[k] = dims.count - shape->rank + k;
  }
  return rlo_chain_broadcast_in_dim(
      step->chain, dims.values, dims.count, from_dims);
}

const rlo__copy_op rlo__op_broadcast_to = {
    .name = "BroadcastTo",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(shape_specs),
    .append = append_broadcast_to,
};

static const rlo_attribute_spec reps_specs[] = {
    {"reps", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

static rlo_status append_tile(const rlo__copy_step *step) {
  rlo__dims times;
  RLO_TRY(rlo__dims_get_exactly(
      step->attributes, "reps", rlo_chain_shape(step->chain)->rank, &times));
  return rlo_chain_tile(step->chain, times.values);
}

const rlo__copy_op rlo__op_tile = {
    .name = "Tile",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(reps_specs),
    .append = append_tile,
};

static const rlo_attribute_spec repeats_specs[] = {
    {"repeats", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
};

static rlo_status append_repeat(const rlo__copy_step *step) {
  rlo__dims times;
  RLO_TRY(rlo__dims_get_exactly(
      step->attributes, "repeats", rlo_chain_shape(step->chain)->rank, &times));
  return rlo_chain_repeat(step->chain, times.values);
}

const rlo__copy_op rlo__op_repeat = {
    .name = "Repeat",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(repeats_specs),
    .append = append_repeat,
};
