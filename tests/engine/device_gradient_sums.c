/* SPDX-License-Identifier: Apache-2.0 */
#include "derivable.h"
#include "engine_case.h"
#include "expect_vjp.h"

/*
 * The gradients that TensorFlow's own tests ask for (and, of mirrored edges,
 * the true ones), of single kernels that read elements twice or compute, on
 * both backends, fused and not.
 */

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(120);

RLO_LOOP_TEST(test_gradient_vectors__second_order, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  expect_move_back(false);
  expect_move_back(true);
  end();
}

/* The true ones: what stands in an edge comes from inside too. */
RLO_LOOP_TEST(test_gradient_vectors__mirror_pad, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute reflect[] = {list("paddings", DIMS(2, 1), 2),
                                   rlo_attribute_string("mode", "reflect")};
  const rlo_attribute symmetric[] = {list("paddings", DIMS(2, 1), 2),
                                     rlo_attribute_string("mode", "symmetric")};
  expect_vjp("MirrorPad", DIMS(3), 1, reflect, 2, DIMS(6), 1, tens + 1, FLOATS(30, 120, 60));
  expect_vjp("MirrorPad", DIMS(3), 1, symmetric, 2, DIMS(6), 1, tens + 1, FLOATS(50, 50, 110));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__tile, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute thrice = list("reps", DIMS(3), 1);
  const rlo_attribute twice = list("reps", DIMS(1, 2), 2);
  const rlo_attribute each = list("repeats", DIMS(2), 1);
  expect_vjp("Tile", DIMS(3), 1, &thrice, 1, DIMS(9), 1,
             FLOATS(.125f, .25f, .5f, 1, 2, 3, 10, 20, 30), FLOATS(11.125f, 22.25f, 33.5f));
  expect_vjp("Tile", DIMS(2, 2), 2, &twice, 1, DIMS(2, 4), 2, FLOATS(1, 2, 10, 20, 3, 4, 30, 40),
             FLOATS(11, 22, 33, 44));
  expect_vjp("Repeat", DIMS(3), 1, &each, 1, DIMS(6), 1, tens + 1, FLOATS(30, 70, 110));
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__broadcast, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute shape = list("shape", DIMS(3, 2), 2);
  expect_vjp("BroadcastTo", DIMS(2), 1, &shape, 1, DIMS(3, 2), 2, counted + 1, FLOATS(9, 12));
  expect_vjp("BroadcastTo", DIMS(3, 1), 2, &shape, 1, DIMS(3, 2), 2, counted + 1, FLOATS(3, 7, 11));
  end();
}

static void expect_gather(const int64_t *x_dims, int32_t rank, int64_t axis, const int32_t *indices,
                          const int64_t *y_dims, const float *wanted) {
  rlo_tensor *const inputs[] = {tensor(x_dims, rank, NULL), indices_of(DIMS(4), 1, indices)};
  rlo_tensor *dy = tensor(y_dims, rank, counted + 3);
  rlo_tensor *dxs[2] = {NULL};
  const rlo_attribute item = rlo_attribute_i64("axis", axis);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "GatherV2", inputs, 2, &attributes, &dy, 1, NULL, dxs));
  expect(dxs[0], wanted, rlo_tensor_bytes(inputs[0]) / 4);
  /* Indices cannot be moved a little. */
  int32_t zeros[4] = {1, 1, 1, 1};
  expect_ok(rlo_tensor_read(dxs[1], zeros, sizeof zeros));
  ck_assert(zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0 && zeros[3] == 0);
  rlo_tensor_release(dxs[1]);
  rlo_tensor_release(dy);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
}

RLO_LOOP_TEST(test_gradient_vectors__gather, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const int32_t some[] = {0, 2, 0, 1};
  const int32_t both[] = {1, 0, 0, 1};
  expect_gather(DIMS(3), 1, 0, some, DIMS(4), FLOATS(8, 6, 4));
  expect_gather(DIMS(2, 2), 2, 0, both, DIMS(4, 2), FLOATS(12, 14, 12, 14));
  expect_gather(DIMS(2, 2), 2, -1, both, DIMS(2, 4), FLOATS(9, 9, 17, 17));
  /* And back: each row gets what its segment got. */
  rlo_tensor *const inputs[] = {tensor(DIMS(4), 1, NULL), indices_of(DIMS(4), 1, some)};
  rlo_tensor *dy = tensor(DIMS(3), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  const bool wants[] = {true, false};
  const rlo_attribute item = rlo_attribute_i64("num_segments", 3);
  const rlo_attributes attributes = {&item, 1};
  expect_ok(rlo_vjp(engine, "UnsortedSegmentSum", inputs, 2, &attributes, &dy, 1, wants, dxs));
  expect(dxs[0], FLOATS(10, 30, 10, 20), 4);
  rlo_tensor_release(dy);
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  end();
}

RLO_LOOP_TEST(test_gradient_vectors__numbers, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const rlo_attribute dims[] = {list("dims", DIMS(0), 1), rlo_attribute_i64("keep_dims", true)};
  const rlo_attribute shape = list("shape", DIMS(3, 2), 2);
  const rlo_attribute factor = rlo_attribute_f64("factor", -2.0);
  expect_vjp("Sum", DIMS(2, 3), 2, dims, 2, DIMS(1, 3), 2, tens + 1,
             FLOATS(10, 20, 30, 10, 20, 30));
  expect_vjp("Sum", DIMS(2), 1, NULL, 0, NULL, 0, FLOATS(5), FLOATS(5, 5));
  expect_vjp("Reshape", DIMS(2, 3), 2, &shape, 1, DIMS(3, 2), 2, counted, counted);
  expect_vjp("Rescale", DIMS(2), 1, &factor, 1, DIMS(2), 1, tens + 1, FLOATS(-20, -40));
  rlo_tensor *const xs[] = {tensor(DIMS(2), 1, NULL), tensor(DIMS(2), 1, NULL)};
  rlo_tensor *dy = tensor(DIMS(2), 1, tens + 1);
  rlo_tensor *dxs[2] = {NULL};
  expect_ok(rlo_vjp(engine, "AddN", xs, 2, NULL, &dy, 1, NULL, dxs));
  expect(dxs[0], tens + 1, 2);
  expect(dxs[1], tens + 1, 2);
  /* From bf16 to f32 and back. */
  rlo_tensor *narrow = NULL;
  rlo_tensor *dx = NULL;
  expect_ok(rlo_op_cast(xs[0], RLO_DTYPE_BF16, &narrow));
  const rlo_attribute dtype = rlo_attribute_string("dtype", "f32");
  const rlo_attributes attributes = {&dtype, 1};
  expect_ok(rlo_vjp(engine, "Cast", &narrow, 1, &attributes, &dy, 1, NULL, &dx));
  ck_assert_int_eq(rlo_tensor_shape(dx)->dtype, RLO_DTYPE_BF16);
  rlo_tensor_release(dx);
  rlo_tensor_release(narrow);
  rlo_tensor_release(dy);
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  end();
}

/* Halves are added in f32: 2048 + 1 + 1 is 2050, and not 2048. */
RLO_LOOP_TEST(test_gradient_vectors__halves, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *wide = tensor(DIMS(3, 1), 2, FLOATS(2048, 1, 1));
  rlo_tensor *x = NULL;
  rlo_tensor *dy = NULL;
  rlo_tensor *dx = NULL;
  rlo_tensor *got = NULL;
  rlo_tensor *one = tensor(DIMS(1, 1), 2, NULL);
  expect_ok(rlo_op_cast(wide, RLO_DTYPE_F16, &dy));
  expect_ok(rlo_op_cast(one, RLO_DTYPE_F16, &x));
  const rlo_attribute shape = list("shape", DIMS(3, 1), 2);
  const rlo_attributes attributes = {&shape, 1};
  expect_ok(rlo_vjp(engine, "BroadcastTo", &x, 1, &attributes, &dy, 1, NULL, &dx));
  expect_ok(rlo_op_cast(dx, RLO_DTYPE_F32, &got));
  expect(got, FLOATS(2050), 1);
  rlo_tensor_release(dx);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
  /* Three mirrors of one element. */
  rlo_tensor *edge = tensor(DIMS(3), 1, FLOATS(1, 2048, 1));
  rlo_tensor *point = tensor(DIMS(1), 1, NULL);
  expect_ok(rlo_op_cast(edge, RLO_DTYPE_F16, &dy));
  expect_ok(rlo_op_cast(point, RLO_DTYPE_F16, &x));
  const rlo_attribute mirror[] = {list("paddings", DIMS(1, 1), 2),
                                  rlo_attribute_string("mode", "symmetric")};
  const rlo_attributes mirrored = {mirror, 2};
  expect_ok(rlo_vjp(engine, "MirrorPad", &x, 1, &mirrored, &dy, 1, NULL, &dx));
  expect_ok(rlo_op_cast(dx, RLO_DTYPE_F32, &got));
  expect(got, FLOATS(2050), 1);
  rlo_tensor *const all[] = {wide, one, edge, point, x, dy, dx};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
  end();
}
