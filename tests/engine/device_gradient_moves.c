/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine_case.h"
#include "expect_vjp.h"
#include "support/shape_of.h"

/*
 * The gradients that TensorFlow's own tests ask for, of single kernels that
 * read no element twice, on both backends, fused and not.
 */

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(120);

RLO_LOOP_TEST(test_gradient_vectors__transpose, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute perm = list("perm", DIMS(2, 1, 0), 3);
  expect_vjp("Transpose", DIMS(2, 2, 2), 3, &perm, 1, DIMS(2, 2, 2), 3,
             FLOATS(111, 211, 121, 221, 112, 212, 122, 222),
             FLOATS(111, 112, 121, 122, 211, 212, 221, 222));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__pad, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute one[] = {list("paddings", DIMS(2, 1), 2), rlo_attribute_f64("value", 9.0)};
  const rlo_attribute two = list("paddings", DIMS(1, 0, 0, 1), 4);
  expect_vjp("PadV2", DIMS(3), 1, one, 2, DIMS(6), 1, tens + 1, FLOATS(30, 40, 50));
  expect_vjp("PadV2", DIMS(2, 2), 2, &two, 1, DIMS(3, 3), 2, FLOATS(0, 0, 0, 10, 20, 0, 30, 40, 0),
             FLOATS(10, 20, 30, 40));
  end();
}

/* XLA's, with values between the elements, and the value's own gradient. */
RLO_LOOP_TEST(test_gradient_vectors__pad_with_an_input, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute items[] = {list("paddings", DIMS(1, 2), 2), list("interior", DIMS(1), 1)};
  const rlo_attributes attributes = {items, 2};
  rlo_tensor *const inputs[] = {tensor(DIMS(3), 1, NULL), tensor(NULL, 0, FLOATS(7))};
  rlo_tensor *dy = tensor(DIMS(8), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  expect_ok(rlo_vjp(engine, "PadV2", inputs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], FLOATS(20, 40, 60), 3);
  expect(dxs[1], FLOATS(240), 1);
  /* One that is not asked for is not there. */
  const bool wants[] = {false, true};
  expect_ok(rlo_vjp(engine, "PadV2", inputs, 2, &attributes, &dy, 1, wants, dxs));
  ck_assert_ptr_null(dxs[0]);
  expect(dxs[1], FLOATS(240), 1);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  rlo_tensor_release(dy);
  end();
}

/* Edges that are taken away from an array with values in between, and a single
 * element, which has nothing in between. */
RLO_LOOP_TEST(test_gradient_vectors__pad_that_takes_away, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute items[] = {list("paddings", DIMS(-1, 1), 2), list("interior", DIMS(1), 1)};
  const rlo_attributes attributes = {items, 2};
  rlo_tensor *const inputs[] = {tensor(DIMS(3), 1, NULL), tensor(NULL, 0, FLOATS(7))};
  rlo_tensor *dy = tensor(DIMS(5), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  expect_ok(rlo_vjp(engine, "PadV2", inputs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], FLOATS(0, 20, 40), 3);
  expect(dxs[1], FLOATS(90), 1);
  const rlo_attribute single[] = {list("paddings", DIMS(1, 0), 2), list("interior", DIMS(2), 1)};
  expect_vjp("PadV2", DIMS(1), 1, single, 2, DIMS(2), 1, tens + 1, FLOATS(20));
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  rlo_tensor_release(dy);
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__slice, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute one[] = {list("begin", DIMS(1), 1), list("size", DIMS(2), 1)};
  const rlo_attribute two[] = {list("begin", DIMS(0, 1), 2), list("size", DIMS(2, 1), 2)};
  expect_vjp("Slice", DIMS(5), 1, one, 2, DIMS(2), 1, FLOATS(10, 100), FLOATS(0, 10, 100, 0, 0));
  expect_vjp("Slice", DIMS(2, 3), 2, two, 2, DIMS(2, 1), 2, FLOATS(20, 50),
             FLOATS(0, 20, 0, 0, 50, 0));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__strided_slice, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute up[] = {list("begin", DIMS(0), 1), list("end", DIMS(3), 1),
                              list("strides", DIMS(2), 1)};
  const rlo_attribute down[] = {list("begin", DIMS(-1), 1), list("end", DIMS(-4), 1),
                                list("strides", DIMS(-1), 1)};
  const rlo_attribute none[] = {list("begin", DIMS(10), 1), list("end", DIMS(3), 1),
                                list("strides", DIMS(2), 1)};
  expect_vjp("StridedSlice", DIMS(4), 1, up, 3, DIMS(2), 1, tens + 1, FLOATS(10, 0, 20, 0));
  expect_vjp("StridedSlice", DIMS(4), 1, down, 3, DIMS(3), 1, tens + 1, FLOATS(0, 30, 20, 10));
  expect_vjp("StridedSlice", DIMS(4), 1, none, 3, DIMS(0), 1, NULL, FLOATS(0, 0, 0, 0));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__reverse, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute all = list("dims", DIMS(0, 1), 2);
  const rlo_attribute first = list("dims", DIMS(0), 1);
  const rlo_attribute last = list("dims", DIMS(-1), 1);
  expect_vjp("Reverse", DIMS(2, 3), 2, &all, 1, DIMS(2, 3), 2, tens + 1,
             FLOATS(60, 50, 40, 30, 20, 10));
  expect_vjp("Reverse", DIMS(2, 3), 2, &first, 1, DIMS(2, 3), 2, tens + 1,
             FLOATS(40, 50, 60, 10, 20, 30));
  expect_vjp("Reverse", DIMS(2, 3), 2, &last, 1, DIMS(2, 3), 2, tens + 1,
             FLOATS(30, 20, 10, 60, 50, 40));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__concat_and_pack, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const float data[] = {66, 6, 55, 5, 44, 4, 33, 3, 22, 2, 11, 1};
  rlo_tensor *const xs[] = {tensor(DIMS(1, 2, 2), 3, NULL), tensor(DIMS(2, 2, 2), 3, NULL)};
  rlo_tensor *dy = tensor(DIMS(3, 2, 2), 3, data);
  rlo_tensor *dxs[2] = {NULL};
  const rlo_attribute item = rlo_attribute_i64("axis", 0);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "ConcatV2", xs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], data, 4);
  expect(dxs[1], data + 4, 8);
  /* Pack, of one tensor three times. */
  rlo_tensor *const same[] = {xs[0], xs[0], xs[0]};
  rlo_tensor *packed = tensor(DIMS(1, 2, 2, 3), 4, data);
  rlo_tensor *three[3] = {NULL};
  const rlo_attribute last = rlo_attribute_i64("axis", -1);
  const rlo_attributes at_last = {&last, 1};
  expect_ok(rlo_vjp(engine, "Pack", same, 3, &at_last, &packed, 1, NULL, three));
  expect(three[0], FLOATS(66, 5, 33, 2), 4);
  expect(three[1], FLOATS(6, 44, 3, 11), 4);
  expect(three[2], FLOATS(55, 4, 22, 1), 4);
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  rlo_tensor_release(dy);
  rlo_tensor_release(packed);
  end();
}

/* A result that nothing depends on counts as zeros. */
RLO_LOOP_TEST(test_gradient_vectors__split_and_unpack, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(3), 1, NULL);
  const rlo_attribute sizes = list("num_or_size_splits", DIMS(1, 2), 2);
  const rlo_attributes attributes = {&sizes, 1};
  rlo_tensor *dys[3] = {NULL, tensor(DIMS(2), 1, FLOATS(1, 1)), NULL};
  rlo_tensor *dx = NULL;
  expect_ok(rlo_vjp(engine, "SplitV", &x, 1, &attributes, dys, 2, NULL, &dx));
  expect(dx, FLOATS(0, 1, 1), 3);
  rlo_tensor *table = tensor(DIMS(2, 3), 2, NULL);
  const rlo_attribute axis = rlo_attribute_i64("axis", 1);
  const rlo_attributes at_axis = {&axis, 1};
  dys[0] = tensor(DIMS(2), 1, FLOATS(3, 4));
  expect_ok(rlo_vjp(engine, "Unpack", &table, 1, &at_axis, dys, 3, NULL, &dx));
  expect(dx, FLOATS(3, 1, 0, 4, 1, 0), 6);
  rlo_tensor_release(dys[0]);
  rlo_tensor_release(dys[1]);
  rlo_tensor_release(table);
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__blocks, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute block = rlo_attribute_i64("block_size", 2);
  const rlo_attribute batch[] = {list("block_shape", DIMS(2), 1), list("paddings", DIMS(0, 2), 2)};
  const rlo_attribute crop[] = {list("block_shape", DIMS(2), 1), list("crops", DIMS(1, 2), 2)};
  expect_vjp("DepthToSpace", DIMS(1, 2, 2, 4), 4, &block, 1, DIMS(1, 4, 4, 1), 4, counted + 1,
             FLOATS(1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16));
  expect_vjp("SpaceToDepth", DIMS(1, 4, 4, 1), 4, &block, 1, DIMS(1, 2, 2, 4), 4,
             FLOATS(1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16), counted + 1);
  expect_vjp("SpaceToBatchND", DIMS(4, 2, 2), 3, batch, 2, DIMS(8, 2, 2), 3, counted + 1,
             FLOATS(1, 2, 17, 18, 5, 6, 21, 22, 9, 10, 25, 26, 13, 14, 29, 30));
  /* y[i] is element i + 1 of x0, x3, x1, x4, x2, x5. */
  expect_vjp("BatchToSpaceND", DIMS(2, 3), 2, crop, 2, DIMS(1, 3), 2, tens + 1,
             FLOATS(0, 20, 0, 10, 30, 0));
  end();
}

/* Cells of a layout that hold no element are ignored in dy, and filled in dx.
 */
RLO_LOOP_TEST(test_gradient_vectors__relayout, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_shape padded = test_shape_of("f32[2,3]{0,1:pad(3,5)fill(one)}");
  rlo_tensor *x = tensor(DIMS(2, 3), 2, NULL);
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  expect_ok(rlo_tensor_create(engine, &padded, counted + 1, &dy));
  const rlo_attribute item = rlo_attribute_shape("shape", &padded);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "Relayout", &x, 1, &attributes, &dy, 1, NULL, &dx));
  expect(dx, FLOATS(1, 4, 7, 2, 5, 8), 6);
  /* A slice of what lies so: its gradient does too. */
  const rlo_attribute cut[] = {list("begin", DIMS(1, 1), 2), list("size", DIMS(1, 2), 2)};
  const rlo_attributes cuts = {cut, 2};
  rlo_tensor *small = tensor(DIMS(1, 2), 2, tens + 1);
  expect_ok(rlo_vjp(engine, "Slice", &dy, 1, &cuts, &small, 1, NULL, &dx));
  ck_assert(rlo_shape_equal(rlo_tensor_shape(dx), &padded));
  expect(dx, FLOATS(0, 0, 1, 0, 10, 1, 0, 20, 1, 1, 1, 1, 1, 1, 1), 15);
  rlo_tensor_release(small);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
  end();
}

static rlo_status slice_packed(const char *x_text, const char *y_text, int64_t begin_at,
                               int64_t size, const uint8_t *dy_data, rlo_tensor **out_dx) {
  const rlo_shape shape = test_shape_of(x_text);
  const rlo_shape result = test_shape_of(y_text);
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  expect_ok(rlo_tensor_create(engine, &shape, NULL, &x));
  expect_ok(rlo_tensor_create(engine, &result, dy_data, &dy));
  const rlo_attribute cut[] = {list("begin", DIMS(0, begin_at), 2), list("size", DIMS(2, size), 2)};
  const rlo_attributes attributes = {cut, 2};
  rlo_status status = rlo_vjp(engine, "Slice", &x, 1, &attributes, &dy, 1, NULL, out_dx);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
  return status;
}

/* Two to a byte, forwards and backwards: whole bytes, and parts of them. */
RLO_LOOP_TEST(test_gradient_vectors__packed, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const uint8_t dy_data[] = {0x21, 0x43, 0x65};
  const uint8_t even[] = {0x00, 0x21, 0x00, 0x43};
  const uint8_t odd[] = {0x10, 0x32, 0x00, 0x54, 0x06};
  rlo_tensor *dx = NULL;
  uint8_t got[5];
  expect_ok(slice_packed("s4[2,4]{1,0:E(4)}", "s4[2,2]{1,0:E(4)}", 2, 2, dy_data, &dx));
  expect_ok(rlo_tensor_read(dx, got, sizeof even));
  ck_assert_mem_eq(got, even, sizeof even);
  rlo_tensor_release(dx);
  expect_ok(slice_packed("s4[2,5]{1,0:E(4)}", "s4[2,3]{1,0:E(4)}", 1, 3, dy_data, &dx));
  expect_ok(rlo_tensor_read(dx, got, sizeof odd));
  ck_assert_mem_eq(got, odd, sizeof odd);
  rlo_tensor_release(dx);
  end();
}

/* Where nothing is added, every type has a gradient, bit for bit. */
RLO_LOOP_TEST(test_gradient_vectors__types_that_are_not_added, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const uint8_t bits[] = {1, 0, 1, 1, 0, 0};
  const uint8_t turned[] = {1, 1, 0, 0, 1, 0};
  const int64_t dims[] = {2, 3};
  const int64_t back[] = {3, 2};
  rlo_shape shape;
  rlo_shape result;
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  uint8_t got[6];
  expect_ok(rlo_shape_make(RLO_DTYPE_PRED, dims, 2, &shape));
  expect_ok(rlo_shape_make(RLO_DTYPE_PRED, back, 2, &result));
  expect_ok(rlo_tensor_create(engine, &shape, NULL, &x));
  expect_ok(rlo_tensor_create(engine, &result, bits, &dy));
  expect_ok(rlo_vjp(engine, "Transpose", &x, 1, NULL, &dy, 1, NULL, &dx));
  expect_ok(rlo_tensor_read(dx, got, sizeof got));
  ck_assert_mem_eq(got, turned, sizeof got);
  rlo_tensor_release(dx);
  rlo_tensor_release(x);
  const int64_t row[] = {2};
  rlo_shape rows;
  expect_ok(rlo_shape_make(RLO_DTYPE_PRED, row, 1, &rows));
  expect_ok(rlo_tensor_create(engine, &rows, NULL, &x));
  const rlo_attribute item = list("shape", back, 2);
  const rlo_attributes attributes = {&item, 1};
  ck_assert_int_eq(rlo_vjp(engine, "BroadcastTo", &x, 1, &attributes, &dy, 1, NULL, &dx),
                   RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "MoveAdjoint: the adjoint of BroadcastTo: values of type "
                   "pred are not added up");
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
  end();
}
