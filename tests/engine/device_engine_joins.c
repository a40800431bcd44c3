/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_case.h"
#include "relayout/kernel.h"

/*
 * Built-in kernels that repeat, join, pick and add elements give the results of
 * TensorFlow's own tests, on both backends, one at a time and fused.
 */

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(120);

RLO_LOOP_TEST(test_engine_vectors__repetition, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(2), 1, counted + 1);
  rlo_tensor *column = tensor(DIMS(3, 1), 2, counted + 1);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_tile(x, DIMS(3), &y));
  expect_array(y, DIMS(6), 1, FLOATS(1, 2, 1, 2, 1, 2));
  expect_ok(rlo_op_repeat(x, DIMS(3), &y));
  expect_array(y, DIMS(6), 1, FLOATS(1, 1, 1, 2, 2, 2));
  expect_ok(rlo_op_broadcast_to(x, DIMS(3, 2), 2, &y));
  expect_array(y, DIMS(3, 2), 2, FLOATS(1, 2, 1, 2, 1, 2));
  expect_ok(rlo_op_broadcast_to(column, DIMS(3, 2), 2, &y));
  expect_array(y, DIMS(3, 2), 2, FLOATS(1, 1, 2, 2, 3, 3));
  rlo_tensor_release(x);
  rlo_tensor_release(column);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__concat_and_split, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *xs[] = {tensor(DIMS(1, 2, 2), 3, counted), tensor(DIMS(2, 2, 2), 3, counted + 4)};
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_concat(xs, 2, 0, &y));
  rlo_tensor *parts[3] = {NULL};
  expect_ok(rlo_op_split(y, DIMS(1, -1), 2, 0, parts));
  expect_array(parts[0], DIMS(1, 2, 2), 3, counted);
  expect_array(parts[1], DIMS(2, 2, 2), 3, counted + 4);
  const rlo_attribute items[] = {rlo_attribute_i64("num_or_size_splits", 3),
                                 rlo_attribute_i64("axis", 0)};
  const rlo_attributes attributes = {items, 2};
  int32_t count = 0;
  expect_ok(rlo_run_kernel(engine, "SplitV", &y, 1, &attributes, parts, 3, &count));
  ck_assert_int_eq(count, 3);
  for (int32_t k = 0; k < 3; ++k) {
    expect_array(parts[k], DIMS(1, 2, 2), 3, counted + 4 * (size_t)k);
  }
  expect_array(y, DIMS(3, 2, 2), 3, counted);
  const int64_t last = -1;
  rlo_tensor *twice[] = {xs[0], xs[0]};
  expect_ok(rlo_op_concat(twice, 2, last, &y));
  expect_array(y, DIMS(1, 2, 4), 3, FLOATS(0, 1, 0, 1, 2, 3, 2, 3));
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  end();
}

RLO_LOOP_TEST(test_engine_vectors__stack_and_unstack, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *xs[] = {tensor(DIMS(2), 1, counted), tensor(DIMS(2), 1, counted + 2),
                      tensor(DIMS(2), 1, counted + 4)};
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_stack(xs, 3, -1, &y));
  rlo_tensor *parts[3] = {NULL};
  expect_ok(rlo_op_unstack(y, 1, 3, parts));
  for (int32_t k = 0; k < 3; ++k) {
    expect_array(parts[k], DIMS(2), 1, counted + 2 * (size_t)k);
    rlo_tensor_release(xs[k]);
  }
  expect_array(y, DIMS(2, 3), 2, FLOATS(0, 2, 4, 1, 3, 5));
  end();
}

#define INDICES(...) ((const int32_t[]){__VA_ARGS__})

RLO_LOOP_TEST(test_engine_vectors__gather, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(3), 1, counted + 1);
  rlo_tensor *table = tensor(DIMS(2, 2), 2, counted + 1);
  rlo_tensor *some = indices_of(DIMS(4), 1, INDICES(0, 2, 0, 1));
  rlo_tensor *wild = indices_of(DIMS(2, 2), 2, INDICES(-1, 2, 3, 0));
  rlo_tensor *rows = indices_of(DIMS(4), 1, INDICES(1, 0, 0, 1));
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_gather(x, some, 0, 0, &y));
  expect_array(y, DIMS(4), 1, FLOATS(1, 3, 1, 2));
  expect_ok(rlo_op_gather(x, wild, 0, 0, &y));
  expect_array(y, DIMS(2, 2), 2, FLOATS(0, 3, 0, 1));
  expect_ok(rlo_op_gather(table, rows, 0, 0, &y));
  expect_array(y, DIMS(4, 2), 2, FLOATS(3, 4, 1, 2, 1, 2, 3, 4));
  /* After a move, and in front of one. */
  rlo_tensor *turned = NULL;
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_transpose(table, NULL, &turned));
  expect_ok(rlo_op_gather(turned, rows, -1, 0, &y));
  expect_ok(rlo_op_reverse(y, DIMS(1), 1, &z));
  expect_array(z, DIMS(2, 4), 2, FLOATS(3, 1, 1, 3, 4, 2, 2, 4));
  expect_array(y, DIMS(2, 4), 2, FLOATS(3, 1, 1, 3, 4, 2, 2, 4));
  rlo_tensor *const all[] = {x, table, some, wild, rows, turned};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

/* The gradients of gathers in TensorFlow.js' tests. */
RLO_LOOP_TEST(test_engine_vectors__segment_sum, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *dy = tensor(DIMS(4), 1, FLOATS(3, 4, 5, 6));
  rlo_tensor *some = indices_of(DIMS(4), 1, INDICES(0, 2, 0, 1));
  rlo_tensor *rows = indices_of(DIMS(4), 1, INDICES(1, 0, 0, 1));
  rlo_tensor *tall = tensor(DIMS(4, 2), 2, counted + 3);
  rlo_tensor *wide = tensor(DIMS(2, 4), 2, counted + 3);
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_segment_sum(dy, some, 3, 0, 0, &y));
  expect_array(y, DIMS(3), 1, FLOATS(8, 6, 4));
  expect_ok(rlo_op_segment_sum(tall, rows, 2, 0, 0, &y));
  expect_array(y, DIMS(2, 2), 2, FLOATS(12, 14, 12, 14));
  expect_ok(rlo_op_segment_sum(wide, rows, 2, 1, 0, &y));
  expect_array(y, DIMS(2, 2), 2, FLOATS(9, 9, 17, 17));
  rlo_tensor *const all[] = {dy, some, rows, tall, wide};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}

RLO_LOOP_TEST(test_engine_vectors__numbers, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(3, 2), 2, counted + 1);
  rlo_tensor *turned = NULL;
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_transpose(x, NULL, &turned));
  expect_ok(rlo_op_sum(turned, DIMS(1), 1, false, &y));
  expect_array(y, DIMS(2), 1, FLOATS(9, 12));
  expect_ok(rlo_op_sum(turned, DIMS(0), 1, true, &y));
  expect_array(y, DIMS(1, 3), 2, FLOATS(3, 7, 11));
  rlo_tensor *const xs[] = {turned, turned, turned};
  expect_ok(rlo_op_add_n(xs, 3, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(3, 9, 15, 6, 12, 18));
  /* To bf16 and back: these numbers are exact. */
  rlo_tensor *narrow = NULL;
  expect_ok(rlo_op_cast(turned, RLO_DTYPE_BF16, &narrow));
  ck_assert_int_eq(rlo_tensor_bytes(narrow), 12);
  expect_ok(rlo_op_cast(narrow, RLO_DTYPE_F32, &y));
  expect_array(y, DIMS(2, 3), 2, FLOATS(1, 3, 5, 2, 4, 6));
  rlo_tensor_release(narrow);
  rlo_tensor_release(turned);
  rlo_tensor_release(x);
  end();
}
