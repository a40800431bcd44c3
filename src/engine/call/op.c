/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "relayout/engine_ops.h"

/* Runs a kernel with one or more results on the engine of its first tensor. */
static rlo_status run(const char *kernel_name, rlo_tensor *const *inputs, int32_t num_inputs,
                      const rlo_attribute *items, int32_t num_items, rlo_tensor **outputs,
                      int32_t num_outputs) {
  RLO_FAIL_IF(num_inputs < 1 || inputs[0] == NULL, RLO_INVALID_ARGUMENT, "%s: %s", kernel_name,
              num_inputs < 1 ? "there is no tensor" : "input 0 is NULL");
  return rlo_run_kernel(rlo_tensor_engine(inputs[0]), kernel_name, inputs, num_inputs,
                        &(rlo_attributes){items, num_items}, outputs, num_outputs, NULL);
}

/* The same of a kernel with one input and one result. */
static rlo_status run_one(const char *kernel_name, rlo_tensor *x, const rlo_attribute *items,
                          int32_t num_items, rlo_tensor **out_y) {
  RLO_REQUIRE(x, out_y);
  return run(kernel_name, &x, 1, items, num_items, out_y, 1);
}

/* 0 for NULL, which is refused later. */
static int32_t rank_of(const rlo_tensor *x) {
  return x != NULL ? rlo_tensor_shape(x)->rank : 0;
}

/* An attribute with an entry for each dimension of x. */
static rlo_attribute list(const char *name, const int64_t *values, const rlo_tensor *x) {
  return rlo_attribute_i64s(name, values, rank_of(x));
}

/* low0, high0, low1, ...; NULL stands for zeros. */
static rlo_attribute pairs(const char *name, const int64_t *low, const int64_t *high, int32_t count,
                           int64_t room[2 * RLO_MAX_RANK]) {
  /* A longer list is refused by its count. */
  for (int32_t k = 0; k < count && count <= RLO_MAX_RANK; ++k) {
    room[2 * (size_t)k] = low != NULL ? low[k] : 0;
    room[2 * (size_t)k + 1] = high != NULL ? high[k] : 0;
  }
  return rlo_attribute_i64s(name, room, 2 * count);
}

rlo_status rlo_op_identity(rlo_tensor *x, rlo_tensor **out_y) {
  return run_one("Identity", x, NULL, 0, out_y);
}

rlo_status rlo_op_relayout(rlo_tensor *x, const rlo_shape *shape, rlo_tensor **out_y) {
  RLO_REQUIRE(x, shape, out_y);
  return run_one("Relayout", x, (rlo_attribute[]){rlo_attribute_shape("shape", shape)}, 1, out_y);
}

rlo_status rlo_op_transpose(rlo_tensor *x, const int64_t *permutation, rlo_tensor **out_y) {
  return run_one("Transpose", x, (rlo_attribute[]){list("perm", permutation, x)},
                 permutation != NULL, out_y);
}

rlo_status rlo_op_reshape(rlo_tensor *x, const int64_t *dims, int32_t rank, rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(dims, rank);
  return run_one("Reshape", x, (rlo_attribute[]){rlo_attribute_i64s("shape", dims, rank)}, 1,
                 out_y);
}

rlo_status rlo_op_expand_dims(rlo_tensor *x, int64_t axis, rlo_tensor **out_y) {
  return run_one("ExpandDims", x, (rlo_attribute[]){rlo_attribute_i64("axis", axis)}, 1, out_y);
}

rlo_status rlo_op_slice(rlo_tensor *x, const int64_t *begin, const int64_t *size,
                        rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(begin, rank_of(x));
  RLO_REQUIRE_LIST(size, rank_of(x));
  return run_one("Slice", x, (rlo_attribute[]){list("begin", begin, x), list("size", size, x)}, 2,
                 out_y);
}

rlo_status rlo_op_strided_slice(rlo_tensor *x, const int64_t *begin, const int64_t *end,
                                const int64_t *strides, rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(begin, rank_of(x));
  RLO_REQUIRE_LIST(end, rank_of(x));
  return run_one(
      "StridedSlice", x,
      (rlo_attribute[]){list("begin", begin, x), list("end", end, x), list("strides", strides, x)},
      strides != NULL ? 3 : 2, out_y);
}

rlo_status rlo_op_pad(rlo_tensor *x, const int64_t *low, const int64_t *high,
                      const int64_t *interior, rlo_tensor *value, rlo_tensor **out_y) {
  RLO_REQUIRE(x, out_y);
  int64_t room[2 * RLO_MAX_RANK];
  return run("PadV2", (rlo_tensor *[]){x, value}, value != NULL ? 2 : 1,
             (rlo_attribute[]){pairs("paddings", low, high, rank_of(x), room),
                               list("interior", interior, x)},
             interior != NULL ? 2 : 1, out_y, 1);
}

rlo_status rlo_op_mirror_pad(rlo_tensor *x, const int64_t *low, const int64_t *high,
                             rlo_mirror mirror, rlo_tensor **out_y) {
  int64_t room[2 * RLO_MAX_RANK];
  return run_one(
      "MirrorPad", x,
      (rlo_attribute[]){pairs("paddings", low, high, rank_of(x), room),
                        rlo_attribute_string("mode", mirror == RLO_MIRROR_REFLECT ? "reflect"
                                                     : mirror == RLO_MIRROR_EDGE  ? "edge"
                                                                                  : "symmetric")},
      2, out_y);
}

rlo_status rlo_op_reverse(rlo_tensor *x, const int64_t *dims, int32_t count, rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(dims, count);
  return run_one("Reverse", x, (rlo_attribute[]){rlo_attribute_i64s("dims", dims, count)}, 1,
                 out_y);
}

rlo_status rlo_op_roll(rlo_tensor *x, const int64_t *shifts, const int64_t *dims, int32_t count,
                       rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(shifts, count);
  RLO_REQUIRE_LIST(dims, count);
  return run_one("Roll", x,
                 (rlo_attribute[]){rlo_attribute_i64s("shifts", shifts, count),
                                   rlo_attribute_i64s("dims", dims, count)},
                 2, out_y);
}

rlo_status rlo_op_broadcast_to(rlo_tensor *x, const int64_t *dims, int32_t rank,
                               rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(dims, rank);
  return run_one("BroadcastTo", x, (rlo_attribute[]){rlo_attribute_i64s("shape", dims, rank)}, 1,
                 out_y);
}

/* Tile and Repeat. */
static rlo_status run_times(const char *kernel_name, const char *name, rlo_tensor *x,
                            const int64_t *times, rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(times, rank_of(x));
  return run_one(kernel_name, x, (rlo_attribute[]){list(name, times, x)}, 1, out_y);
}

rlo_status rlo_op_tile(rlo_tensor *x, const int64_t *times, rlo_tensor **out_y) {
  return run_times("Tile", "reps", x, times, out_y);
}

rlo_status rlo_op_repeat(rlo_tensor *x, const int64_t *times, rlo_tensor **out_y) {
  return run_times("Repeat", "repeats", x, times, out_y);
}

rlo_status rlo_op_concat(rlo_tensor *const *xs, int32_t count, int64_t axis, rlo_tensor **out_y) {
  RLO_REQUIRE(xs, out_y);
  return run("ConcatV2", xs, count, (rlo_attribute[]){rlo_attribute_i64("axis", axis)}, 1, out_y,
             1);
}

rlo_status rlo_op_stack(rlo_tensor *const *xs, int32_t count, int64_t axis, rlo_tensor **out_y) {
  RLO_REQUIRE(xs, out_y);
  return run("Pack", xs, count, (rlo_attribute[]){rlo_attribute_i64("axis", axis)}, 1, out_y, 1);
}

rlo_status rlo_op_split(rlo_tensor *x, const int64_t *sizes, int32_t count, int64_t axis,
                        rlo_tensor **out_ys) {
  RLO_REQUIRE(x, out_ys);
  RLO_REQUIRE_LIST(sizes, count);
  return run("SplitV", &x, 1,
             (rlo_attribute[]){rlo_attribute_i64s("num_or_size_splits", sizes, count),
                               rlo_attribute_i64("axis", axis)},
             2, out_ys, count);
}

rlo_status rlo_op_unstack(rlo_tensor *x, int64_t axis, int32_t count, rlo_tensor **out_ys) {
  RLO_REQUIRE(x, out_ys);
  return run("Unpack", &x, 1, (rlo_attribute[]){rlo_attribute_i64("axis", axis)}, 1, out_ys, count);
}

/* SpaceToBatchND and BatchToSpaceND. */
static rlo_status run_batch(const char *kernel_name, rlo_tensor *x, const int64_t *blocks,
                            const char *pairs_name, const int64_t *low, const int64_t *high,
                            int32_t count, rlo_tensor **out_y) {
  int64_t room[2 * RLO_MAX_RANK];
  return run_one(kernel_name, x,
                 (rlo_attribute[]){rlo_attribute_i64s("block_shape", blocks, count),
                                   pairs(pairs_name, low, high, count, room)},
                 2, out_y);
}

rlo_status rlo_op_space_to_batch(rlo_tensor *x, const int64_t *blocks, const int64_t *low,
                                 const int64_t *high, int32_t count, rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(blocks, count);
  return run_batch("SpaceToBatchND", x, blocks, "paddings", low, high, count, out_y);
}

rlo_status rlo_op_batch_to_space(rlo_tensor *x, const int64_t *blocks, const int64_t *low,
                                 const int64_t *high, int32_t count, rlo_tensor **out_y) {
  RLO_REQUIRE_LIST(blocks, count);
  return run_batch("BatchToSpaceND", x, blocks, "crops", low, high, count, out_y);
}

static rlo_status run_block(const char *kernel_name, rlo_tensor *x, int64_t block, bool is_nchw,
                            rlo_tensor **out_y) {
  return run_one(kernel_name, x,
                 (rlo_attribute[]){rlo_attribute_i64("block_size", block),
                                   rlo_attribute_string("data_format", is_nchw ? "NCHW" : "NHWC")},
                 2, out_y);
}

rlo_status rlo_op_space_to_depth(rlo_tensor *x, int64_t block, bool is_nchw, rlo_tensor **out_y) {
  return run_block("SpaceToDepth", x, block, is_nchw, out_y);
}

rlo_status rlo_op_depth_to_space(rlo_tensor *x, int64_t block, bool is_nchw, rlo_tensor **out_y) {
  return run_block("DepthToSpace", x, block, is_nchw, out_y);
}

rlo_status rlo_op_cast(rlo_tensor *x, rlo_dtype dtype, rlo_tensor **out_y) {
  return run_one("Cast", x, (rlo_attribute[]){rlo_attribute_string("dtype", rlo_dtype_name(dtype))},
                 1, out_y);
}

rlo_status rlo_op_sum(rlo_tensor *x, const int64_t *dims, int32_t count, bool keep_dims,
                      rlo_tensor **out_y) {
  return run_one("Sum", x,
                 (rlo_attribute[]){rlo_attribute_i64("keep_dims", keep_dims),
                                   rlo_attribute_i64s("dims", dims, count)},
                 dims != NULL ? 2 : 1, out_y);
}

rlo_status rlo_op_add_n(rlo_tensor *const *xs, int32_t count, rlo_tensor **out_y) {
  RLO_REQUIRE(xs, out_y);
  return run("AddN", xs, count, NULL, 0, out_y, 1);
}

rlo_status rlo_op_multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y) {
  RLO_REQUIRE(a, b, out_y);
  return run("Multiply", (rlo_tensor *[]){a, b}, 2, NULL, 0, out_y, 1);
}

rlo_status rlo_op_abs(rlo_tensor *x, rlo_tensor **out_y) {
  return run_one("Abs", x, NULL, 0, out_y);
}

rlo_status rlo_op_step(rlo_tensor *x, double alpha, rlo_tensor **out_y) {
  return run_one("Step", x, (rlo_attribute[]){rlo_attribute_f64("alpha", alpha)}, 1, out_y);
}

rlo_status rlo_op_exp(rlo_tensor *x, rlo_tensor **out_y) {
  return run_one("Exp", x, NULL, 0, out_y);
}

rlo_status rlo_op_tanh(rlo_tensor *x, rlo_tensor **out_y) {
  return run_one("Tanh", x, NULL, 0, out_y);
}

static rlo_status run_scaled(const char *kernel_name, rlo_tensor *x, rlo_tensor *scales,
                             rlo_dtype dtype, rlo_tensor **out_y) {
  RLO_REQUIRE(x, scales, out_y);
  return run(kernel_name, (rlo_tensor *[]){x, scales}, 2,
             (rlo_attribute[]){rlo_attribute_string("dtype", rlo_dtype_name(dtype))}, 1, out_y, 1);
}

rlo_status rlo_op_quantize(rlo_tensor *x, rlo_tensor *scales, rlo_dtype dtype, rlo_tensor **out_y) {
  return run_scaled("Quantize", x, scales, dtype, out_y);
}

rlo_status rlo_op_dequantize(rlo_tensor *x, rlo_tensor *scales, rlo_dtype dtype,
                             rlo_tensor **out_y) {
  return run_scaled("Dequantize", x, scales, dtype, out_y);
}

/* The numbers that a comparison gives become truth values. */
rlo_status rlo_op_compare(rlo_tensor *a, const char *kernel_name, rlo_tensor *b,
                          rlo_tensor **out_y) {
  rlo_tensor *numbers = NULL;
  RLO_REQUIRE(a, kernel_name, b, out_y);
  RLO_TRY(run(kernel_name, (rlo_tensor *[]){a, b}, 2, NULL, 0, &numbers, 1));
  rlo_status status = rlo_op_cast(numbers, RLO_DTYPE_PRED, out_y);
  rlo_tensor_release(numbers);
  return status;
}

rlo_status rlo_op_where(rlo_tensor *condition, rlo_tensor *t, rlo_tensor *e, rlo_tensor **out_y) {
  rlo_tensor *number = NULL;
  RLO_REQUIRE(condition, t, e, out_y);
  RLO_FAIL_IF(rlo_tensor_shape(condition)->dtype != RLO_DTYPE_PRED, RLO_INVALID_ARGUMENT,
              "where: the condition is of type %s; Cast makes it pred",
              rlo_dtype_name(rlo_tensor_shape(condition)->dtype));
  RLO_TRY(rlo_op_cast(condition, RLO_DTYPE_S32, &number));
  rlo_status status = run("Select", (rlo_tensor *[]){e, t, number}, 3, NULL, 0, out_y, 1);
  rlo_tensor_release(number);
  return status;
}

rlo_status rlo_op_gather(rlo_tensor *x, rlo_tensor *indices, int64_t axis, int64_t batch_dims,
                         rlo_tensor **out_y) {
  RLO_REQUIRE(x, indices, out_y);
  return run("GatherV2", (rlo_tensor *[]){x, indices}, 2,
             (rlo_attribute[]){rlo_attribute_i64("axis", axis),
                               rlo_attribute_i64("batch_dims", batch_dims)},
             2, out_y, 1);
}

rlo_status rlo_op_segment_sum(rlo_tensor *x, rlo_tensor *ids, int64_t num_segments, int64_t axis,
                              int64_t batch_dims, rlo_tensor **out_y) {
  RLO_REQUIRE(x, ids, out_y);
  return run("UnsortedSegmentSum", (rlo_tensor *[]){x, ids}, 2,
             (rlo_attribute[]){rlo_attribute_i64("num_segments", num_segments),
                               rlo_attribute_i64("axis", axis),
                               rlo_attribute_i64("batch_dims", batch_dims)},
             3, out_y, 1);
}
