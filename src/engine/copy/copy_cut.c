/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/attributes.h"
#include "relayout/ops.h"

/* TensorFlow's Slice: unlike StridedSlice it does not clamp to the edges. */
static rlo_status append_slice(const rlo__copy_step *step) {
  const rlo_shape *shape = rlo_chain_shape(step->chain);
  rlo__dims begin;
  rlo__dims size;
  RLO_TRY(rlo__dims_get_exactly(step->attributes, "begin", shape->rank, &begin));
  RLO_TRY(rlo__dims_get_exactly(step->attributes, "size", shape->rank, &size));
  for (int32_t k = 0; k < shape->rank; ++k) {
    int64_t n = shape->dims[k];
    RLO_FAIL_IF(begin.values[k] < 0 || begin.values[k] > n, RLO_OUT_OF_RANGE,
                "begin[%d]=%lld in a dimension of size %lld", k, (long long)begin.values[k],
                (long long)n);
    int64_t left = n - begin.values[k];
    RLO_FAIL_IF(size.values[k] < -1 || size.values[k] > left, RLO_OUT_OF_RANGE,
                "size[%d]=%lld; from %lld on, %lld are left (-1 takes all)", k,
                (long long)size.values[k], (long long)begin.values[k], (long long)left);
    /* The end from here on. */
    size.values[k] = begin.values[k] + (size.values[k] == -1 ? left : size.values[k]);
  }
  return rlo_chain_slice(step->chain, begin.values, size.values, NULL);
}

/* A strided slice with its masks applied: a slice of every dimension, then a
 * reshape that removes the shrunk dimensions and inserts the new ones. */
typedef struct cut_plan {
  int32_t rank;
  int64_t begin[RLO_MAX_RANK];
  int64_t end[RLO_MAX_RANK];
  int64_t strides[RLO_MAX_RANK];
  /** The input dimension of each result dimension; -1 for a new one. */
  int32_t result_rank;
  int32_t from[RLO_MAX_RANK];
} cut_plan;

typedef struct cut_masks {
  int64_t begin, end, ellipsis, new_axis, shrink_axis;
} cut_masks;

static bool has_bit(int64_t mask, int32_t k) {
  return (mask >> k & 1) != 0;
}

static rlo_status keep_dim(cut_plan *plan, int32_t from) {
  RLO_FAIL_IF(plan->result_rank == RLO_MAX_RANK, RLO_UNSUPPORTED,
              "the result would have more than %d dimensions", RLO_MAX_RANK);
  plan->from[plan->result_rank++] = from;
  return RLO_OK;
}

/* Applies an entry of begin, end and strides to the next dimension. */
static rlo_status take_entry(cut_plan *plan, const rlo_shape *shape, const cut_masks *masks,
                             int32_t entry, int64_t begin, int64_t end, int64_t stride) {
  int32_t k = plan->rank++;
  RLO_FAIL_IF(k >= shape->rank, RLO_INVALID_ARGUMENT,
              "begin[%d] is for a dimension beyond the %d there are", entry, shape->rank);
  int64_t n = shape->dims[k];
  bool is_one = has_bit(masks->shrink_axis, entry);
  RLO_FAIL_IF(is_one && stride < 1, RLO_INVALID_ARGUMENT,
              "strides[%d]=%lld of a dimension that shrink_axis_mask takes one index of; it is at "
              "least 1 there",
              entry, (long long)stride);
  RLO_FAIL_IF(is_one && (begin < -n || begin >= n), RLO_OUT_OF_RANGE,
              "begin[%d]=%lld is one index of a dimension of size %lld", entry, (long long)begin,
              (long long)n);
  plan->strides[k] = is_one ? 1 : stride;
  if (is_one) {
    plan->begin[k] = begin < 0 ? begin + n : begin;
    plan->end[k] = plan->begin[k] + 1;
    return RLO_OK;
  }
  /* The default edges depend on the direction. */
  plan->begin[k] = !has_bit(masks->begin, entry) ? begin : stride < 0 ? INT64_MAX : INT64_MIN;
  plan->end[k] = !has_bit(masks->end, entry) ? end : stride < 0 ? INT64_MIN : INT64_MAX;
  return keep_dim(plan, k);
}

/* Takes all of the dimensions that no entry is for. */
static rlo_status take_whole(cut_plan *plan, const rlo_shape *shape, int32_t count) {
  static const cut_masks none = {0, 0, 0, 0, 0};
  for (int32_t k = 0; k < count; ++k) {
    RLO_TRY(take_entry(plan, shape, &none, 0, INT64_MIN, INT64_MAX, 1));
  }
  return RLO_OK;
}

static rlo_status make_plan(const rlo_shape *shape, const cut_masks *masks, const rlo__dims *begin,
                            const rlo__dims *end, const rlo__dims *strides, cut_plan *plan) {
  int32_t count = begin->count;
  RLO_FAIL_IF((masks->ellipsis & (masks->ellipsis - 1)) != 0, RLO_INVALID_ARGUMENT,
              "ellipsis_mask=%lld has more than one bit", (long long)masks->ellipsis);
  *plan = (cut_plan){0};
  /* The dimensions that have an entry; the ellipsis takes the others. */
  int32_t named = 0;
  for (int32_t e = 0; e < count; ++e) {
    named += !has_bit(masks->ellipsis, e) && !has_bit(masks->new_axis, e);
  }
  for (int32_t e = 0; e < count; ++e) {
    if (has_bit(masks->ellipsis, e)) {
      RLO_TRY(take_whole(plan, shape, shape->rank - named));
    } else if (has_bit(masks->new_axis, e)) {
      RLO_TRY(keep_dim(plan, -1));
    } else {
      RLO_TRY(
          take_entry(plan, shape, masks, e, begin->values[e], end->values[e], strides->values[e]));
    }
  }
  return take_whole(plan, shape, shape->rank - plan->rank);
}

static rlo_status append_strided_slice(const rlo__copy_step *step) {
  rlo__dims begin = {{0}, 0};
  rlo__dims end = {{0}, 0};
  rlo__dims strides = {{0}, 0};
  cut_plan plan = {0};
  RLO_TRY(rlo__dims_get(step->attributes, "begin", &begin));
  RLO_TRY(rlo__dims_get_exactly(step->attributes, "end", begin.count, &end));
  RLO_TRY(rlo__dims_get_or(step->attributes, "strides", begin.count, 1, &strides));
  const cut_masks masks = {.begin = rlo__i64_or(step->attributes, "begin_mask", 0),
                           .end = rlo__i64_or(step->attributes, "end_mask", 0),
                           .ellipsis = rlo__i64_or(step->attributes, "ellipsis_mask", 0),
                           .new_axis = rlo__i64_or(step->attributes, "new_axis_mask", 0),
                           .shrink_axis = rlo__i64_or(step->attributes, "shrink_axis_mask", 0)};
  RLO_TRY(make_plan(rlo_chain_shape(step->chain), &masks, &begin, &end, &strides, &plan));
  RLO_TRY(rlo_chain_slice(step->chain, plan.begin, plan.end, plan.strides));
  const rlo_shape *cut = rlo_chain_shape(step->chain);
  bool is_same = plan.result_rank == cut->rank;
  int64_t dims[RLO_MAX_RANK];
  for (int32_t k = 0; k < plan.result_rank; ++k) {
    is_same = is_same && plan.from[k] == k;
    dims[k] = plan.from[k] < 0 ? 1 : cut->dims[plan.from[k]];
  }
  return is_same ? RLO_OK : rlo_chain_reshape(step->chain, dims, plan.result_rank);
}

/* -------------------------------------------------------------------- table */

const rlo__copy_op rlo__cut_ops[] = {
    {
        .name = "Slice",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"begin", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"size", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true}),
        .append = append_slice,
    },
    {
        .name = "StridedSlice",
        RLO__COPY_INPUTS(1, 1, "x"),
        RLO__COPY_SPECS({"begin", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"end", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, true},
                        {"strides", RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, false},
                        {"begin_mask", RLO_ATTRIBUTE_I64, false},
                        {"end_mask", RLO_ATTRIBUTE_I64, false},
                        {"ellipsis_mask", RLO_ATTRIBUTE_I64, false},
                        {"new_axis_mask", RLO_ATTRIBUTE_I64, false},
                        {"shrink_axis_mask", RLO_ATTRIBUTE_I64, false}),
        .append = append_strided_slice,
    },
    {.name = NULL},
};
