/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "engine/copy/copy_ops.h"
#include "engine/tensor/attributes.h"
#include "ops/chain.h"
#include "relayout/kernel.h"
#include "relayout/ops.h"

static const rlo_attribute_spec axis_specs[] = {
    {"axis", RLO_ATTRIBUTE_I64, false},
};

static rlo_status append_concat(const rlo__copy_step *step) {
  int32_t axis = 0;
  RLO_TRY(rlo__axis_get(
      step->attributes, "axis", rlo_chain_shape(step->chain)->rank, &axis));
  return rlo__chain_concatenate(
      step->chain, step->others, step->num_others, axis, "inputs");
}

const rlo__copy_op rlo__op_concat = {
    .name = "Concat",
    RLO__COPY_INPUTS(1, -1, "inputs"),
    RLO__COPY_SPECS(axis_specs),
    .append = append_concat,
};

const rlo__copy_op rlo__op_concat_v2 = {
    .name = "ConcatV2",
    RLO__COPY_INPUTS(1, -1, "inputs"),
    RLO__COPY_SPECS(axis_specs),
    .append = append_concat,
};

static rlo_status append_pack(const rlo__copy_step *step) {
  int32_t axis = 0;
  /* A dimension of the result. */
  RLO_TRY(rlo__axis_get(
      step->attributes, "axis", rlo_chain_shape(step->chain)->rank + 1, &axis));
  return rlo__chain_stack(
      step->chain, step->others, step->num_others, axis, "inputs");
}

const rlo__copy_op rlo__op_pack = {
    .name = "Pack",
    RLO__COPY_INPUTS(1, -1, "inputs"),
    RLO__COPY_SPECS(axis_specs),
    .append = append_pack,
};

/* ------------------------------------------------------------------- splits */

static const rlo_attribute_spec split_specs[] = {
    {"num_or_size_splits", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
    {"axis", RLO_ATTRIBUTE_I64, false},
};

/* Equal parts, or a list in which one -1 stands for the remainder. */
typedef struct split_sizes {
  int32_t count;
  int64_t *values;
} split_sizes;

static rlo_status split_evenly(int64_t count,
                               int64_t size,
                               split_sizes *out_sizes) {
  if (count < 1 || count > RLO_MAX_KERNEL_OUTPUTS || size % count != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%lld equal parts of a dimension of size %lld; 1 to %d "
                    "that divide it are possible",
                    (long long)count,
                    (long long)size,
                    RLO_MAX_KERNEL_OUTPUTS);
  }
  for (int64_t k = 0; k < count; ++k) {
    out_sizes->values[k] = size / count;
  }
  out_sizes->count = (int32_t)count;
  return RLO_OK;
}

static rlo_status split_as_listed(const rlo_i64_list *list,
                                  int64_t size,
                                  split_sizes *out_sizes) {
  if (list->count < 1 || list->count > RLO_MAX_KERNEL_OUTPUTS) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%d parts; 1 to %d are possible",
                    list->count,
                    RLO_MAX_KERNEL_OUTPUTS);
  }
  int32_t open = -1;
  int64_t sum = 0;
  for (int32_t k = 0; k < list->count; ++k) {
    int64_t part = list->values[k];
    out_sizes->values[k] = part;
    if (part == -1 && open < 0) {
      open = k;
    } else if (part < 0 || !rlo__add(sum, part, &sum)) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "num_or_size_splits[%d]=%lld is negative or too large "
                      "(one may be -1)",
                      k,
                      (long long)part);
    }
  }
  if (open >= 0) {
    if (sum > size) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "the parts add up to %lld, more than the dimension's "
                      "%lld: nothing is left for -1",
                      (long long)sum,
                      (long long)size);
    }
    out_sizes->values[open] = size - sum;
  }
  out_sizes->count = list->count;
  return RLO_OK;
}

/* `out_sizes` has room for RLO_MAX_KERNEL_OUTPUTS. */
static rlo_status get_sizes(const rlo_shape *shape,
                            const rlo_attributes *attributes,
                            int32_t *out_axis,
                            split_sizes *out_sizes) {
  RLO_TRY(rlo__axis_get(attributes, "axis", shape->rank, out_axis));
  int64_t size = shape->dims[*out_axis];
  const rlo_attribute *parts =
      rlo_attributes_find(attributes, "num_or_size_splits");
  return parts->type == RLO_ATTRIBUTE_I64
             ? split_evenly(parts->value.i64, size, out_sizes)
             : split_as_listed(&(rlo_i64_list){parts->value.i64s, parts->count},
                               size,
                               out_sizes);
}

static rlo_status append_split(const rlo__copy_step *step) {
  int64_t values[RLO_MAX_KERNEL_OUTPUTS];
  split_sizes sizes = {0, values};
  int32_t axis = 0;
  RLO_TRY(
      get_sizes(rlo_chain_shape(step->chain), step->attributes, &axis, &sizes));
  return rlo_chain_split(step->chain, values, sizes.count, axis, step->output);
}

static rlo_status count_split(const rlo__copy_call *call, int32_t *out_count) {
  int64_t values[RLO_MAX_KERNEL_OUTPUTS];
  split_sizes sizes = {0, values};
  int32_t axis = 0;
  RLO_TRY(rlo_shape_validate(call->inputs[0]));
  RLO_TRY(get_sizes(call->inputs[0], call->attributes, &axis, &sizes));
  *out_count = sizes.count;
  return RLO_OK;
}

const rlo__copy_op rlo__op_split = {
    .name = "SplitV",
    RLO__COPY_INPUTS(1, 1, "x"),
    RLO__COPY_SPECS(split_specs),
    .count = count_split,
    .append = append_split,
};

static rlo_status append_unpack(const rlo__copy_step *step) {
  int32_t axis = 0;
  RLO_TRY(rlo__axis_get(
      step->attributes, "axis", rlo_chain_shape(step->chain)->rank, &axis));
  return rlo_chain_unstack(step->chain, axis, step->output);
}

static rlo_status count_unpack(const rlo__copy_call *call, int32_t *out_count) {
  int32_t axis = 0;
  RLO_TRY(rlo_shape_validate(call->inputs[0]));
  RLO_TRY(
      rlo__axis_get(call->attributes, "axis", call->inputs[0]->rank, &axis));
  int64_t size = call->inputs[0]->dims[axis];
  if (size < 1 || size > RLO_MAX_KERNEL_OUTPUTS) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "dimension %d of size %lld would be as many results; 1 to "
                    "%d are possible",
                    axis,
                    (long long)size,
                    RLO_MAX_KERNEL_OUTPUTS);
  }
  *out_count = (int32_t)size;
  return RLO_OK;
}

const rlo__copy_op rlo__op_unpack = {
    .name = "Unpack",
    RLO__COPY_INPUTS(1, 1, "value"),
    RLO__COPY_SPECS(axis_specs),
    .count = count_unpack,
    .append = append_unpack,
};
