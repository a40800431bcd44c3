/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/attributes.h"
#include "ops/segment_sum.h"
#include "relayout/ops.h"

/* A negative number counts from the rank of the indices, as in TensorFlow. */
static rlo_status get_batch_dims(const rlo_attributes *attributes, const rlo_shape *indices,
                                 int32_t *out_batch_dims) {
  int64_t batch_dims = rlo__i64_or(attributes, "batch_dims", 0);
  RLO_FAIL_IF(batch_dims < -indices->rank || batch_dims > indices->rank, RLO_OUT_OF_RANGE,
              "'batch_dims' is %lld; indices of rank %d take %d to %d", (long long)batch_dims,
              indices->rank, -indices->rank, indices->rank);
  *out_batch_dims = (int32_t)(batch_dims < 0 ? batch_dims + indices->rank : batch_dims);
  return RLO_OK;
}

static rlo_status append_gather(const rlo__copy_step *step) {
  static const rlo__indexed_words words = {"gather", "input 'x'", "input 'indices'"};
  int32_t axis = 0;
  int32_t batch_dims = 0;
  RLO_TRY(rlo__axis_get(step->attributes, "axis", rlo_chain_shape(step->chain)->rank, &axis));
  /* Indices are read in place, in their own layout. */
  const rlo_shape *indices = rlo_chain_operand(step->others[0], 0);
  RLO_TRY(get_batch_dims(step->attributes, indices, &batch_dims));
  RLO_TRY(rlo__ops_check_gather(&words, rlo_chain_shape(step->chain), indices, axis, batch_dims));
  return rlo_chain_gather(step->chain, indices, axis, batch_dims);
}

/* The inputs are the two slices of an array that the condition picks from. */
static rlo_status append_select(const rlo__copy_step *step) {
  static const rlo__indexed_words words = {"select", "input 'e'", "input 'condition'"};
  const int32_t rank = rlo_chain_shape(step->chain)->rank;
  const rlo_shape *condition = rlo_chain_operand(step->others[1], 0);
  RLO_TRY(rlo_chain_stack(step->chain, step->others, 1, rank));
  RLO_FAIL_IF(condition->rank != rank, RLO_INVALID_ARGUMENT,
              "input 'condition' has rank %d, input 'e' %d", condition->rank, rank);
  RLO_TRY(rlo__ops_check_gather(&words, rlo_chain_shape(step->chain), condition, rank, rank));
  return rlo_chain_gather(step->chain, condition, rank, rank);
}

/* The axis is where the dimensions of the rows begin in input 0; its rank, for
 * ids without dimensions. From the end it counts in the result. */
static rlo_status get_segments(const rlo_shape *const inputs[2], const rlo_attributes *attributes,
                               int32_t *out_axis, int32_t *out_batch_dims,
                               int64_t *out_num_segments) {
  const rlo_shape *rows = inputs[0];
  RLO_TRY(rlo_shape_validate(rows));
  RLO_TRY(rlo_shape_validate(inputs[1]));
  int64_t axis = rlo__i64_or(attributes, "axis", 0);
  RLO_FAIL_IF(axis < -RLO_MAX_RANK || axis > rows->rank, RLO_OUT_OF_RANGE,
              "axis: rows from dimension %lld on, in an array of rank %d", (long long)axis,
              rows->rank);
  *out_axis = (int32_t)axis;
  RLO_TRY(get_batch_dims(attributes, inputs[1], out_batch_dims));
  return rlo_attributes_get_i64(attributes, "num_segments", out_num_segments);
}

static rlo_status infer_segment_sum(const rlo__copy_call *call, rlo_shape *out_shape) {
  static const rlo__indexed_words words = {"segment_sum", "input 'x'", "input 'segment_ids'"};
  int32_t axis = 0;
  int32_t batch_dims = 0;
  int64_t num_segments = 0;
  RLO_TRY(get_segments(call->inputs, call->attributes, &axis, &batch_dims, &num_segments));
  return rlo__segment_sum_infer(&words, call->inputs[0], call->inputs[1], axis, batch_dims,
                                num_segments, out_shape);
}

static rlo_status make_segment_sum(const rlo__copy_call *call, const rlo_shape *dst,
                                   rlo_segment_sum **out_sum) {
  int32_t axis = 0;
  int32_t batch_dims = 0;
  int64_t num_segments = 0;
  RLO_TRY(get_segments(call->inputs, call->attributes, &axis, &batch_dims, &num_segments));
  return rlo_segment_sum_create(call->inputs[0], call->inputs[1], axis, batch_dims, dst, out_sum);
}

/* -------------------------------------------------------------------- table */

const rlo__copy_op rlo__indexed_ops[] = {
    {
        .name = "GatherV2",
        RLO__COPY_INPUTS(2, 2, "x", "indices"),
        RLO__COPY_SPECS({"axis", RLO_ATTRIBUTE_I64, false},
                        {"batch_dims", RLO_ATTRIBUTE_I64, false}),
        .flags = RLO__COPY_TAKES_INDICES,
        .append = append_gather,
    },
    {
        .name = "Select",
        RLO__COPY_INPUTS(3, 3, "e", "t", "condition"),
        .flags = RLO__COPY_STANDS_ALONE,
        .append = append_select,
    },
    {
        .name = "UnsortedSegmentSum",
        RLO__COPY_INPUTS(2, 2, "x", "segment_ids"),
        RLO__COPY_SPECS({"num_segments", RLO_ATTRIBUTE_I64, true},
                        {"axis", RLO_ATTRIBUTE_I64, false},
                        {"batch_dims", RLO_ATTRIBUTE_I64, false}),
        .flags = RLO__COPY_STANDS_ALONE,
        .infer = infer_segment_sum,
        .sum = make_segment_sum,
    },
    {.name = NULL},
};
