/* SPDX-License-Identifier: Apache-2.0 */

#include "engine_case.h"
#include "relayout/kernel.h"
#include "support/shape_of.h"

/*
 * Built-in kernels that move the elements of one array give the results of
 * TensorFlow's own tests, on both backends, one at a time and fused.
 */

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(120);

RLO_LOOP_TEST(test_engine_vectors__transpose, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const float data[] = {1, 11, 2, 22, 3, 33, 4, 44};
  rlo_tensor *x = tensor(DIMS(2, 4), 2, data);
  rlo_tensor *cube = tensor(DIMS(2, 2, 2), 3, data);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_transpose(x, DIMS(1, 0), &y));
  expect_array(y, DIMS(4, 2), 2, FLOATS(1, 3, 11, 33, 2, 4, 22, 44));
  expect_ok(rlo_op_transpose(x, NULL, &y));
  expect_array(y, DIMS(4, 2), 2, FLOATS(1, 3, 11, 33, 2, 4, 22, 44));
  expect_ok(rlo_op_transpose(cube, DIMS(2, 0, 1), &y));
  expect_array(y, DIMS(2, 2, 2), 3, FLOATS(1, 2, 3, 4, 11, 22, 33, 44));
  expect_ok(rlo_op_transpose(cube, DIMS(2, 1, 0), &y));
  expect_array(y, DIMS(2, 2, 2), 3, FLOATS(1, 3, 2, 4, 11, 33, 22, 44));
  rlo_tensor_release(x);
  rlo_tensor_release(cube);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__pad, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(6), 1, counted + 1);
  rlo_tensor *none = tensor(DIMS(0), 1, NULL);
  rlo_tensor *nine = tensor(NULL, 0, FLOATS(9));
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_pad(x, DIMS(2), DIMS(3), NULL, NULL, &y));
  expect_array(y, DIMS(11), 1, FLOATS(0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0));
  expect_ok(rlo_op_pad(x, DIMS(2), DIMS(1), NULL, nine, &y));
  expect_array(y, DIMS(9), 1, FLOATS(9, 9, 1, 2, 3, 4, 5, 6, 9));
  const rlo_attribute items[] = {rlo_attribute_i64s("paddings", DIMS(0, 4), 2),
                                 rlo_attribute_f64("value", 2.0)};
  const rlo_attributes attributes = {items, 2};
  expect_ok(rlo_run_kernel(engine, "PadV2", &none, 1, &attributes, &y, 1, NULL));
  expect_array(y, DIMS(4), 1, FLOATS(2, 2, 2, 2));
  /* XLA's: between the elements too, and taking away. */
  expect_ok(rlo_op_pad(x, DIMS(-1), DIMS(-3), DIMS(1), nine, &y));
  expect_array(y, DIMS(7), 1, FLOATS(9, 2, 9, 3, 9, 4, 9));
  rlo_tensor_release(x);
  rlo_tensor_release(none);
  rlo_tensor_release(nine);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__mirror_pad, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(3), 1, counted + 1);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_mirror_pad(x, DIMS(2), DIMS(2), RLO_MIRROR_REFLECT, &y));
  expect_array(y, DIMS(7), 1, FLOATS(3, 2, 1, 2, 3, 2, 1));
  expect_ok(rlo_op_mirror_pad(x, DIMS(2), DIMS(2), RLO_MIRROR_SYMMETRIC, &y));
  expect_array(y, DIMS(7), 1, FLOATS(2, 1, 1, 2, 3, 3, 2));
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__slice, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_slice(x, DIMS(0, 1), DIMS(2, 1), &y));
  expect_array(y, DIMS(2, 1), 2, FLOATS(1, 4));
  expect_ok(rlo_op_slice(x, DIMS(1, 1), DIMS(-1, -1), &y));
  expect_array(y, DIMS(1, 2), 2, FLOATS(4, 5));
  expect_ok(rlo_op_slice(x, DIMS(1, 3), DIMS(-1, -1), &y));
  expect_array(y, DIMS(1, 0), 2, NULL);
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__strided_slice, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(4), 1, counted);
  rlo_tensor *table = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_strided_slice(x, DIMS(0), DIMS(3), DIMS(2), &y));
  expect_array(y, DIMS(2), 1, FLOATS(0, 2));
  expect_ok(rlo_op_strided_slice(x, DIMS(-1), DIMS(-4), DIMS(-1), &y));
  expect_array(y, DIMS(3), 1, FLOATS(3, 2, 1));
  expect_ok(rlo_op_strided_slice(x, DIMS(5), DIMS(-2), DIMS(-1), &y));
  expect_array(y, DIMS(1), 1, FLOATS(3));
  expect_ok(rlo_op_strided_slice(x, DIMS(10), DIMS(3), DIMS(2), &y));
  expect_array(y, DIMS(0), 1, NULL);
  expect_ok(rlo_op_strided_slice(table, DIMS(0, 0), DIMS(2, 3), DIMS(2, 2), &y));
  expect_array(y, DIMS(1, 2), 2, FLOATS(0, 2));
  rlo_tensor_release(x);
  rlo_tensor_release(table);
  end();
}

static rlo_tensor *masked(rlo_tensor *x, const int64_t *begins, const int64_t *ends,
                          const int64_t *strides, int32_t count, const int64_t *masks) {
  const rlo_attribute items[] = {rlo_attribute_i64s("begin", begins, count),
                                 rlo_attribute_i64s("end", ends, count),
                                 rlo_attribute_i64s("strides", strides, count),
                                 rlo_attribute_i64("begin_mask", masks[0]),
                                 rlo_attribute_i64("end_mask", masks[1]),
                                 rlo_attribute_i64("ellipsis_mask", masks[2]),
                                 rlo_attribute_i64("new_axis_mask", masks[3]),
                                 rlo_attribute_i64("shrink_axis_mask", masks[4])};
  const rlo_attributes attributes = {items, COUNT(items)};
  rlo_tensor *y = NULL;
  expect_ok(rlo_run_kernel(engine, "StridedSlice", &x, 1, &attributes, &y, 1, NULL));
  return y;
}

RLO_LOOP_TEST(test_engine_vectors__strided_slice_masks, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(2, 2, 3), 3, counted);
  const int64_t ones[] = {1, 1, 1, 1};
  /* x[:, 1:, ::-1] */
  expect_array(masked(x, DIMS(9, 1, 9), DIMS(9, 9, 9), DIMS(1, 1, -1), 3, DIMS(5, 7, 0, 0, 0)),
               DIMS(2, 1, 3), 3, FLOATS(5, 4, 3, 11, 10, 9));
  /* x[1, ..., 2] */
  expect_array(masked(x, DIMS(1, 0, 2), DIMS(0, 0, 0), ones, 3, DIMS(0, 0, 2, 0, 5)), DIMS(2), 1,
               FLOATS(8, 11));
  /* x[..., -1, newaxis, :2] */
  expect_array(masked(x, DIMS(0, -1, 0, 0), DIMS(0, 0, 0, 2), ones, 4, DIMS(8, 0, 1, 4, 2)),
               DIMS(2, 1, 2), 3, FLOATS(3, 4, 9, 10));
  /* x[1] and x[1, 1, 1] */
  expect_array(masked(x, DIMS(1), DIMS(0), ones, 1, DIMS(0, 0, 0, 0, 1)), DIMS(2, 3), 2,
               FLOATS(6, 7, 8, 9, 10, 11));
  expect_array(masked(x, DIMS(1, 1, 1), DIMS(0, 0, 0), ones, 3, DIMS(0, 0, 0, 0, 7)), NULL, 0,
               FLOATS(10));
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__reverse, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted + 1);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_reverse(x, DIMS(0, 1), 2, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(6, 5, 4, 3, 2, 1));
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(4, 5, 6, 1, 2, 3));
  expect_ok(rlo_op_reverse(x, DIMS(-1), 1, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(3, 2, 1, 6, 5, 4));
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__roll, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted + 1);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_roll(x, DIMS(1), DIMS(1), 1, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(3, 1, 2, 6, 4, 5));
  /* Negative, larger than the dimension, twice along one, from the end. */
  expect_ok(rlo_op_roll(x, DIMS(-1, 5), DIMS(-1, 0), 2, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(5, 6, 4, 2, 3, 1));
  expect_ok(rlo_op_roll(x, DIMS(2, 2), DIMS(1, 1), 2, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(3, 1, 2, 6, 4, 5));
  expect_ok(rlo_op_roll(x, NULL, NULL, 0, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(1, 2, 3, 4, 5, 6));
  rlo_tensor_release(x);
  end();
}

/* [2,3] = a b c / d e f in {0,1:pad(3,5)fill(zero)}: the design's example. */
RLO_LOOP_TEST(test_engine_vectors__relayout, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_shape padded = test_shape_of("f32[2,3]{0,1:pad(3,5)fill(zero)}");
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
  expect_array(back, DIMS(2, 3), 2, counted + 1);
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__reshape, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(2, 3), 2, counted);
  rlo_tensor *y = NULL;
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_reshape(x, DIMS(3, -1), 2, &y));
  expect_ok(rlo_op_expand_dims(y, -1, &z));
  /* Row-major to row-major moves no byte. */
  ck_assert(rlo_tensor_shares_memory(x, y));
  ck_assert(rlo_tensor_shares_memory(x, z));
  expect_array(y, DIMS(3, 2), 2, counted);
  expect_array(z, DIMS(3, 2, 1), 3, counted);
  expect_ok(rlo_op_identity(x, &y));
  ck_assert_ptr_ne(x, y);
  ck_assert(rlo_tensor_shares_memory(x, y));
  expect_array(y, DIMS(2, 3), 2, counted);
  /* It does for a transpose in another layout. */
  rlo_shape column = *rlo_tensor_shape(x);
  column.layout = rlo_layout_column_major(2);
  expect_ok(rlo_op_relayout(x, &column, &y));
  expect_ok(rlo_op_reshape(y, DIMS(6), 1, &z));
  ck_assert(!rlo_tensor_shares_memory(y, z));
  expect_array(z, DIMS(6), 1, counted);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__blocks, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(1, 2, 2, 4), 4, counted + 1);
  rlo_tensor *y = NULL;
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_depth_to_space(x, 2, false, &y));
  expect_ok(rlo_op_space_to_depth(y, 2, false, &z));
  expect_array(y, DIMS(1, 4, 4, 1), 4,
               FLOATS(1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16));
  expect_array(z, DIMS(1, 2, 2, 4), 4, counted + 1);
  rlo_tensor *batches = tensor(DIMS(4, 2, 2), 3, counted + 1);
  expect_ok(rlo_op_batch_to_space(batches, DIMS(2), DIMS(0), DIMS(2), 1, &y));
  expect_array(y, DIMS(2, 2, 2), 3, FLOATS(1, 2, 9, 10, 5, 6, 13, 14));
  expect_ok(rlo_op_space_to_batch(batches, DIMS(2), DIMS(1), DIMS(1), 1, &y));
  expect_array(y, DIMS(8, 2, 2), 3,
               FLOATS(0, 0, 3, 4, 0, 0, 7, 8, 0, 0, 11, 12, 0, 0, 15, 16, 1, 2, 0, 0, 5, 6, 0, 0, 9,
                      10, 0, 0, 13, 14, 0, 0));
  rlo_tensor_release(x);
  rlo_tensor_release(batches);
  end();
}

/* Nothing to move, and nothing to move it from. */
RLO_LOOP_TEST(test_engine_vectors__no_elements, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(0, 3), 2, NULL);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &y));
  expect_array(y, DIMS(3, 0), 2, NULL);
  rlo_tensor *xs[] = {x, x};
  expect_ok(rlo_op_concat(xs, 2, 0, &y));
  expect_array(y, DIMS(0, 3), 2, NULL);
  expect_ok(rlo_op_pad(x, DIMS(1, 0), DIMS(0, 0), NULL, NULL, &y));
  expect_array(y, DIMS(1, 3), 2, FLOATS(0, 0, 0));
  rlo_tensor_release(x);
  end();
}
