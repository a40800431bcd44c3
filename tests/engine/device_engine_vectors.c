/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "relayout/backend.h"
#include "relayout/engine_ops.h"
#include "relayout/kernel.h"
#include "relayout/opencl.h"
#include "relayout/text.h"

/*
 * What the built-in kernels do to the arrays that TensorFlow's own tests use,
 * on both backends, one at a time and fused.
 */

#define DIMS(...)    ((const int64_t[]){__VA_ARGS__})
#define FLOATS(...)  ((const float[]){__VA_ARGS__})
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

typedef struct set_up {
  const char *backend;
  bool is_fusing;
} set_up;

static const set_up set_ups[] = {
    {"host", false}, {"host", true}, {"opencl", false}, {"opencl", true}};

static rlo_context *context;
static rlo_engine *engine;

static void expect_ok(rlo_status status) {
  ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
}

static void open_context(void) {
  expect_ok(rlo_context_create_default(-1, NULL, &context));
}

static void close_context(void) {
  rlo_context_release(context);
}

static void begin(int number) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = context;
  options.is_fusing = set_ups[number].is_fusing;
  options.checks_leaks = true;
  expect_ok(rlo_engine_create(&options, &engine));
  expect_ok(rlo_backend_set(engine, set_ups[number].backend));
}

static void end(void) {
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
  rlo_engine_release(engine);
}

static rlo_tensor *tensor(const int64_t *dims,
                          int32_t rank,
                          const float *data) {
  rlo_shape shape;
  rlo_tensor *made = NULL;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, dims, rank, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, data, &made));
  return made;
}

/* Compare and release. */
static void expect(rlo_tensor *y,
                   const int64_t *dims,
                   int32_t rank,
                   const float *data) {
  const rlo_shape *shape = rlo_tensor_shape(y);
  int64_t count = 1;
  ck_assert_int_eq(shape->rank, rank);
  for (int32_t k = 0; k < rank; ++k) {
    ck_assert_int_eq(shape->dims[k], dims[k]);
    count *= dims[k];
  }
  float got[64];
  ck_assert_int_le(count, 64);
  expect_ok(rlo_tensor_read(y, got, rlo_tensor_bytes(y)));
  for (int64_t i = 0; i < count; ++i) {
    ck_assert_msg(got[i] >= data[i] && got[i] <= data[i],
                  "element %lld is %g, not %g",
                  (long long)i,
                  (double)got[i],
                  (double)data[i]);
  }
  rlo_tensor_release(y);
}

static const float counted[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

START_TEST(test_engine_vectors__transpose)
{
  begin(_i);
  const float data[] = {1, 11, 2, 22, 3, 33, 4, 44};
  rlo_tensor *x = tensor(DIMS(2, 4), 2, data);
  rlo_tensor *cube = tensor(DIMS(2, 2, 2), 3, data);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_transpose(x, DIMS(1, 0), &y));
  expect(y, DIMS(4, 2), 2, FLOATS(1, 3, 11, 33, 2, 4, 22, 44));
  expect_ok(rlo_op_transpose(x, NULL, &y));
  expect(y, DIMS(4, 2), 2, FLOATS(1, 3, 11, 33, 2, 4, 22, 44));
  expect_ok(rlo_op_transpose(cube, DIMS(2, 0, 1), &y));
  expect(y, DIMS(2, 2, 2), 3, FLOATS(1, 2, 3, 4, 11, 22, 33, 44));
  expect_ok(rlo_op_transpose(cube, DIMS(2, 1, 0), &y));
  expect(y, DIMS(2, 2, 2), 3, FLOATS(1, 3, 2, 4, 11, 33, 22, 44));
  rlo_tensor_release(x);
  rlo_tensor_release(cube);
  end();
}

END_TEST

START_TEST(test_engine_vectors__pad)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(6), 1, counted + 1);
  rlo_tensor *none = tensor(DIMS(0), 1, NULL);
  rlo_tensor *nine = tensor(NULL, 0, FLOATS(9));
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_pad(x, DIMS(2), DIMS(3), NULL, NULL, &y));
  expect(y, DIMS(11), 1, FLOATS(0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0));
  expect_ok(rlo_op_pad(x, DIMS(2), DIMS(1), NULL, nine, &y));
  expect(y, DIMS(9), 1, FLOATS(9, 9, 1, 2, 3, 4, 5, 6, 9));
  const rlo_attribute items[] = {rlo_attribute_i64s("paddings", DIMS(0, 4), 2),
                                 rlo_attribute_f64("value", 2.0)};
  const rlo_attributes attributes = {items, 2};
  expect_ok(
      rlo_run_kernel(engine, "PadV2", &none, 1, &attributes, &y, 1, NULL));
  expect(y, DIMS(4), 1, FLOATS(2, 2, 2, 2));
  /* XLA's: between the elements too, and taking away. */
  expect_ok(rlo_op_pad(x, DIMS(-1), DIMS(-3), DIMS(1), nine, &y));
  expect(y, DIMS(7), 1, FLOATS(9, 2, 9, 3, 9, 4, 9));
  rlo_tensor_release(x);
  rlo_tensor_release(none);
  rlo_tensor_release(nine);
  end();
}

END_TEST

START_TEST(test_engine_vectors__mirror_pad)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(3), 1, counted + 1);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_mirror_pad(x, DIMS(2), DIMS(2), RLO_MIRROR_REFLECT, &y));
  expect(y, DIMS(7), 1, FLOATS(3, 2, 1, 2, 3, 2, 1));
  expect_ok(rlo_op_mirror_pad(x, DIMS(2), DIMS(2), RLO_MIRROR_SYMMETRIC, &y));
  expect(y, DIMS(7), 1, FLOATS(2, 1, 1, 2, 3, 3, 2));
  rlo_tensor_release(x);
  end();
}

END_TEST

START_TEST(test_engine_vectors__slice)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_slice(x, DIMS(0, 1), DIMS(2, 1), &y));
  expect(y, DIMS(2, 1), 2, FLOATS(1, 4));
  expect_ok(rlo_op_slice(x, DIMS(1, 1), DIMS(-1, -1), &y));
  expect(y, DIMS(1, 2), 2, FLOATS(4, 5));
  expect_ok(rlo_op_slice(x, DIMS(1, 3), DIMS(-1, -1), &y));
  expect(y, DIMS(1, 0), 2, NULL);
  rlo_tensor_release(x);
  end();
}

END_TEST

START_TEST(test_engine_vectors__strided_slice)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(4), 1, counted);
  rlo_tensor *table = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_strided_slice(x, DIMS(0), DIMS(3), DIMS(2), &y));
  expect(y, DIMS(2), 1, FLOATS(0, 2));
  expect_ok(rlo_op_strided_slice(x, DIMS(-1), DIMS(-4), DIMS(-1), &y));
  expect(y, DIMS(3), 1, FLOATS(3, 2, 1));
  expect_ok(rlo_op_strided_slice(x, DIMS(5), DIMS(-2), DIMS(-1), &y));
  expect(y, DIMS(1), 1, FLOATS(3));
  expect_ok(rlo_op_strided_slice(x, DIMS(10), DIMS(3), DIMS(2), &y));
  expect(y, DIMS(0), 1, NULL);
  expect_ok(
      rlo_op_strided_slice(table, DIMS(0, 0), DIMS(2, 3), DIMS(2, 2), &y));
  expect(y, DIMS(1, 2), 2, FLOATS(0, 2));
  rlo_tensor_release(x);
  rlo_tensor_release(table);
  end();
}

END_TEST

static rlo_tensor *masked(rlo_tensor *x,
                          const int64_t *begins,
                          const int64_t *ends,
                          const int64_t *strides,
                          int32_t count,
                          const int64_t *masks) {
  const rlo_attribute items[] = {
      rlo_attribute_i64s("begin", begins, count),
      rlo_attribute_i64s("end", ends, count),
      rlo_attribute_i64s("strides", strides, count),
      rlo_attribute_i64("begin_mask", masks[0]),
      rlo_attribute_i64("end_mask", masks[1]),
      rlo_attribute_i64("ellipsis_mask", masks[2]),
      rlo_attribute_i64("new_axis_mask", masks[3]),
      rlo_attribute_i64("shrink_axis_mask", masks[4])};
  const rlo_attributes attributes = {items, COUNT(items)};
  rlo_tensor *y = NULL;
  expect_ok(
      rlo_run_kernel(engine, "StridedSlice", &x, 1, &attributes, &y, 1, NULL));
  return y;
}

START_TEST(test_engine_vectors__strided_slice_masks)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(2, 2, 3), 3, counted);
  const int64_t ones[] = {1, 1, 1, 1};
  /* x[:, 1:, ::-1] */
  expect(masked(x,
                DIMS(9, 1, 9),
                DIMS(9, 9, 9),
                DIMS(1, 1, -1),
                3,
                DIMS(5, 7, 0, 0, 0)),
         DIMS(2, 1, 3),
         3,
         FLOATS(5, 4, 3, 11, 10, 9));
  /* x[1, ..., 2] */
  expect(masked(x, DIMS(1, 0, 2), DIMS(0, 0, 0), ones, 3, DIMS(0, 0, 2, 0, 5)),
         DIMS(2),
         1,
         FLOATS(8, 11));
  /* x[..., -1, newaxis, :2] */
  expect(
      masked(
          x, DIMS(0, -1, 0, 0), DIMS(0, 0, 0, 2), ones, 4, DIMS(8, 0, 1, 4, 2)),
      DIMS(2, 1, 2),
      3,
      FLOATS(3, 4, 9, 10));
  /* x[1] and x[1, 1, 1] */
  expect(masked(x, DIMS(1), DIMS(0), ones, 1, DIMS(0, 0, 0, 0, 1)),
         DIMS(2, 3),
         2,
         FLOATS(6, 7, 8, 9, 10, 11));
  expect(masked(x, DIMS(1, 1, 1), DIMS(0, 0, 0), ones, 3, DIMS(0, 0, 0, 0, 7)),
         NULL,
         0,
         FLOATS(10));
  rlo_tensor_release(x);
  end();
}

END_TEST

START_TEST(test_engine_vectors__reverse)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted + 1);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_reverse(x, DIMS(0, 1), 2, &y));
  expect(y, DIMS(2, 3), 2, FLOATS(6, 5, 4, 3, 2, 1));
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  expect(y, DIMS(2, 3), 2, FLOATS(4, 5, 6, 1, 2, 3));
  expect_ok(rlo_op_reverse(x, DIMS(-1), 1, &y));
  expect(y, DIMS(2, 3), 2, FLOATS(3, 2, 1, 6, 5, 4));
  rlo_tensor_release(x);
  end();
}

END_TEST

START_TEST(test_engine_vectors__repetition)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(2), 1, counted + 1);
  rlo_tensor *column = tensor(DIMS(3, 1), 2, counted + 1);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_tile(x, DIMS(3), &y));
  expect(y, DIMS(6), 1, FLOATS(1, 2, 1, 2, 1, 2));
  expect_ok(rlo_op_repeat(x, DIMS(3), &y));
  expect(y, DIMS(6), 1, FLOATS(1, 1, 1, 2, 2, 2));
  expect_ok(rlo_op_broadcast_to(x, DIMS(3, 2), 2, &y));
  expect(y, DIMS(3, 2), 2, FLOATS(1, 2, 1, 2, 1, 2));
  expect_ok(rlo_op_broadcast_to(column, DIMS(3, 2), 2, &y));
  expect(y, DIMS(3, 2), 2, FLOATS(1, 1, 2, 2, 3, 3));
  rlo_tensor_release(x);
  rlo_tensor_release(column);
  end();
}

END_TEST

START_TEST(test_engine_vectors__concat_and_split)
{
  begin(_i);
  rlo_tensor *xs[] = {tensor(DIMS(1, 2, 2), 3, counted),
                      tensor(DIMS(2, 2, 2), 3, counted + 4)};
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_concat(xs, 2, 0, &y));
  rlo_tensor *parts[3] = {NULL};
  expect_ok(rlo_op_split(y, DIMS(1, -1), 2, 0, parts));
  expect(parts[0], DIMS(1, 2, 2), 3, counted);
  expect(parts[1], DIMS(2, 2, 2), 3, counted + 4);
  const rlo_attribute items[] = {rlo_attribute_i64("num_or_size_splits", 3),
                                 rlo_attribute_i64("axis", 0)};
  const rlo_attributes attributes = {items, 2};
  int32_t count = 0;
  expect_ok(
      rlo_run_kernel(engine, "SplitV", &y, 1, &attributes, parts, 3, &count));
  ck_assert_int_eq(count, 3);
  for (int32_t k = 0; k < 3; ++k) {
    expect(parts[k], DIMS(1, 2, 2), 3, counted + 4 * (size_t)k);
  }
  expect(y, DIMS(3, 2, 2), 3, counted);
  const int64_t last = -1;
  rlo_tensor *twice[] = {xs[0], xs[0]};
  expect_ok(rlo_op_concat(twice, 2, last, &y));
  expect(y, DIMS(1, 2, 4), 3, FLOATS(0, 1, 0, 1, 2, 3, 2, 3));
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  end();
}

END_TEST

START_TEST(test_engine_vectors__stack_and_unstack)
{
  begin(_i);
  rlo_tensor *xs[] = {tensor(DIMS(2), 1, counted),
                      tensor(DIMS(2), 1, counted + 2),
                      tensor(DIMS(2), 1, counted + 4)};
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_stack(xs, 3, -1, &y));
  rlo_tensor *parts[3] = {NULL};
  expect_ok(rlo_op_unstack(y, 1, 3, parts));
  for (int32_t k = 0; k < 3; ++k) {
    expect(parts[k], DIMS(2), 1, counted + 2 * (size_t)k);
    rlo_tensor_release(xs[k]);
  }
  expect(y, DIMS(2, 3), 2, FLOATS(0, 2, 4, 1, 3, 5));
  end();
}

END_TEST

START_TEST(test_engine_vectors__blocks)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(1, 2, 2, 4), 4, counted + 1);
  rlo_tensor *y = NULL;
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_depth_to_space(x, 2, false, &y));
  expect_ok(rlo_op_space_to_depth(y, 2, false, &z));
  expect(y,
         DIMS(1, 4, 4, 1),
         4,
         FLOATS(1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16));
  expect(z, DIMS(1, 2, 2, 4), 4, counted + 1);
  rlo_tensor *batches = tensor(DIMS(4, 2, 2), 3, counted + 1);
  expect_ok(rlo_op_batch_to_space(batches, DIMS(2), DIMS(0), DIMS(2), 1, &y));
  expect(y, DIMS(2, 2, 2), 3, FLOATS(1, 2, 9, 10, 5, 6, 13, 14));
  expect_ok(rlo_op_space_to_batch(batches, DIMS(2), DIMS(1), DIMS(1), 1, &y));
  expect(y,
         DIMS(8, 2, 2),
         3,
         FLOATS(0,
                0,
                3,
                4,
                0,
                0,
                7,
                8,
                0,
                0,
                11,
                12,
                0,
                0,
                15,
                16,
                1,
                2,
                0,
                0,
                5,
                6,
                0,
                0,
                9,
                10,
                0,
                0,
                13,
                14,
                0,
                0));
  rlo_tensor_release(x);
  rlo_tensor_release(batches);
  end();
}

END_TEST

/* [2,3] = a b c / d e f in {0,1:pad(3,5)fill(zero)}: the design's example. */
START_TEST(test_engine_vectors__relayout)
{
  begin(_i);
  static const char text[] = "f32[2,3]{0,1:pad(3,5)fill(zero)}";
  rlo_shape padded;
  expect_ok(rlo_shape_parse(text, strlen(text), &padded));
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted + 1);
  rlo_tensor *y = NULL;
  rlo_tensor *back = NULL;
  expect_ok(rlo_op_relayout(x, &padded, &y));
  expect_ok(rlo_op_relayout(y, rlo_tensor_shape(x), &back));
  float got[15];
  const float wanted[] = {1, 4, 0, 2, 5, 0, 3, 6, 0, 0, 0, 0, 0, 0, 0};
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_mem_eq(got, wanted, sizeof wanted);
  ck_assert(rlo_shape_equal(rlo_tensor_shape(y), &padded));
  rlo_tensor_release(y);
  expect(back, DIMS(2, 3), 2, counted + 1);
  rlo_tensor_release(x);
  end();
}

END_TEST

START_TEST(test_engine_vectors__reshape)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *y = NULL;
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_reshape(x, DIMS(3, -1), 2, &y));
  expect_ok(rlo_op_expand_dims(y, -1, &z));
  /* Row-major to row-major moves no byte. */
  ck_assert(rlo_tensor_shares_memory(x, y));
  ck_assert(rlo_tensor_shares_memory(x, z));
  expect(y, DIMS(3, 2), 2, counted);
  expect(z, DIMS(3, 2, 1), 3, counted);
  expect_ok(rlo_op_identity(x, &y));
  ck_assert_ptr_ne(x, y);
  ck_assert(rlo_tensor_shares_memory(x, y));
  expect(y, DIMS(2, 3), 2, counted);
  /* Of a transpose in another layout it does. */
  rlo_shape column = *rlo_tensor_shape(x);
  column.layout = rlo_layout_column_major(2);
  expect_ok(rlo_op_relayout(x, &column, &y));
  expect_ok(rlo_op_reshape(y, DIMS(6), 1, &z));
  ck_assert(!rlo_tensor_shares_memory(y, z));
  expect(z, DIMS(6), 1, counted);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  end();
}

END_TEST

/* Nothing to move, and nothing to move it from. */
START_TEST(test_engine_vectors__no_elements)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(0, 3), 2, NULL);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &y));
  expect(y, DIMS(3, 0), 2, NULL);
  rlo_tensor *xs[] = {x, x};
  expect_ok(rlo_op_concat(xs, 2, 0, &y));
  expect(y, DIMS(0, 3), 2, NULL);
  expect_ok(rlo_op_pad(x, DIMS(1, 0), DIMS(0, 0), NULL, NULL, &y));
  expect(y, DIMS(1, 3), 2, FLOATS(0, 0, 0));
  rlo_tensor_release(x);
  end();
}

END_TEST

static rlo_tensor *indices_of(const int64_t *dims,
                              int32_t rank,
                              const int32_t *data) {
  rlo_shape shape;
  rlo_tensor *made = NULL;
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, dims, rank, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, data, &made));
  return made;
}

#define INDICES(...) ((const int32_t[]){__VA_ARGS__})

START_TEST(test_engine_vectors__gather)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(3), 1, counted + 1);
  rlo_tensor *table = tensor(DIMS(2, 2), 2, counted + 1);
  rlo_tensor *some = indices_of(DIMS(4), 1, INDICES(0, 2, 0, 1));
  rlo_tensor *wild = indices_of(DIMS(2, 2), 2, INDICES(-1, 2, 3, 0));
  rlo_tensor *rows = indices_of(DIMS(4), 1, INDICES(1, 0, 0, 1));
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_gather(x, some, 0, 0, &y));
  expect(y, DIMS(4), 1, FLOATS(1, 3, 1, 2));
  expect_ok(rlo_op_gather(x, wild, 0, 0, &y));
  expect(y, DIMS(2, 2), 2, FLOATS(0, 3, 0, 1));
  expect_ok(rlo_op_gather(table, rows, 0, 0, &y));
  expect(y, DIMS(4, 2), 2, FLOATS(3, 4, 1, 2, 1, 2, 3, 4));
  /* After a move, and in front of one. */
  rlo_tensor *turned = NULL;
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_transpose(table, NULL, &turned));
  expect_ok(rlo_op_gather(turned, rows, -1, 0, &y));
  expect_ok(rlo_op_reverse(y, DIMS(1), 1, &z));
  expect(z, DIMS(2, 4), 2, FLOATS(3, 1, 1, 3, 4, 2, 2, 4));
  expect(y, DIMS(2, 4), 2, FLOATS(3, 1, 1, 3, 4, 2, 2, 4));
  rlo_tensor *const all[] = {x, table, some, wild, rows, turned};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

END_TEST

/* The gradients of gathers in TensorFlow.js' tests. */
START_TEST(test_engine_vectors__segment_sum)
{
  begin(_i);
  rlo_tensor *dy = tensor(DIMS(4), 1, FLOATS(3, 4, 5, 6));
  rlo_tensor *some = indices_of(DIMS(4), 1, INDICES(0, 2, 0, 1));
  rlo_tensor *rows = indices_of(DIMS(4), 1, INDICES(1, 0, 0, 1));
  rlo_tensor *tall = tensor(DIMS(4, 2), 2, counted + 3);
  rlo_tensor *wide = tensor(DIMS(2, 4), 2, counted + 3);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_segment_sum(dy, some, 3, 0, 0, &y));
  expect(y, DIMS(3), 1, FLOATS(8, 6, 4));
  expect_ok(rlo_op_segment_sum(tall, rows, 2, 0, 0, &y));
  expect(y, DIMS(2, 2), 2, FLOATS(12, 14, 12, 14));
  expect_ok(rlo_op_segment_sum(wide, rows, 2, 1, 0, &y));
  expect(y, DIMS(2, 2), 2, FLOATS(9, 9, 17, 17));
  rlo_tensor *const all[] = {dy, some, rows, tall, wide};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

END_TEST

START_TEST(test_engine_vectors__numbers)
{
  begin(_i);
  rlo_tensor *x = tensor(DIMS(3, 2), 2, counted + 1);
  rlo_tensor *turned = NULL;
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &turned));
  expect_ok(rlo_op_sum(turned, DIMS(1), 1, false, &y));
  expect(y, DIMS(2), 1, FLOATS(9, 12));
  expect_ok(rlo_op_sum(turned, DIMS(0), 1, true, &y));
  expect(y, DIMS(1, 3), 2, FLOATS(3, 7, 11));
  rlo_tensor *const xs[] = {turned, turned, turned};
  expect_ok(rlo_op_add_n(xs, 3, &y));
  expect(y, DIMS(2, 3), 2, FLOATS(3, 9, 15, 6, 12, 18));
  /* To bf16 and back: these numbers are exact. */
  rlo_tensor *narrow = NULL;
  expect_ok(rlo_op_cast(turned, RLO_DTYPE_BF16, &narrow));
  ck_assert_int_eq(rlo_tensor_bytes(narrow), 12);
  expect_ok(rlo_op_cast(narrow, RLO_DTYPE_F32, &y));
  expect(y, DIMS(2, 3), 2, FLOATS(1, 3, 5, 2, 4, 6));
  rlo_tensor_release(narrow);
  rlo_tensor_release(turned);
  rlo_tensor_release(x);
  end();
}

END_TEST

int main(void) {
  Suite *suite = suite_create("engine_vectors");
  TCase *tcase = tcase_create("vectors");
  tcase_add_unchecked_fixture(tcase, open_context, close_context);
  tcase_add_loop_test(tcase, test_engine_vectors__transpose, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__pad, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__mirror_pad, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__slice, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__strided_slice, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__strided_slice_masks, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__reverse, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__repetition, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__concat_and_split, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__stack_and_unstack, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__blocks, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__relayout, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__reshape, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__no_elements, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__gather, 0, COUNT(set_ups));
  tcase_add_loop_test(
      tcase, test_engine_vectors__segment_sum, 0, COUNT(set_ups));
  tcase_add_loop_test(tcase, test_engine_vectors__numbers, 0, COUNT(set_ups));
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
