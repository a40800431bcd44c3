/* SPDX-License-Identifier: Apache-2.0 */
#include "derivable.h"
#include "engine_case.h"
#include "relayout/engine_ops.h"

/*
 * Gradients off a tape.
 *
 * On the host, and, built with RELAYOUT_TEST_ON_DEVICE, on the "opencl"
 * backend.
 */

#ifdef RELAYOUT_TEST_ON_DEVICE
RLO_FILE_FIXTURE(open_context, close_context);
#endif
RLO_FIXTURE(begin_with_fallback, end);
RLO_TIMEOUT(60);

/* y = x^3: dy/dx = 3 x^2, d2y/dx2 = 6 x, d3y/dx3 = 6, with a tape in a tape in
 * a tape. */
RLO_TEST(test_gradients__third_order) {
  register_multiply();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(2, -3));
  rlo_tape *tapes[3] = {NULL};
  rlo_tensor *ys[4] = {NULL};
  for (int32_t k = 0; k < 3; ++k) {
    expect_ok(rlo_tape_begin(engine, &tapes[k]));
  }
  expect_ok(cube(engine, &x, 1, &ys[0], NULL));
  for (int32_t k = 0; k < 3; ++k) {
    expect_ok(rlo_tape_gradients(tapes[2 - k], ys[k], NULL, &x, 1, 0, &ys[k + 1]));
  }
  /* In any order. */
  for (int32_t k = 0; k < 3; ++k) {
    expect_ok(rlo_tape_end(tapes[k]));
  }
  expect(ys[0], FLOATS(8, -27), 2);
  expect(ys[1], FLOATS(12, 27), 2);
  expect(ys[2], FLOATS(12, -18), 2);
  expect(ys[3], FLOATS(6, 6), 2);
  rlo_tensor_release(x);
}

/* A tape does not record its own gradients, and gives them as often as asked.
 */
RLO_TEST(test_gradients__a_tape_serves_twice) {
  register_multiply();
  rlo_tensor *x = tensor(DIMS(1), 1, FLOATS(2));
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  ck_assert_int_eq(rlo_tape_length(tape), 0);
  expect_ok(cube(engine, &x, 1, &y, NULL));
  for (int round = 0; round < 2; ++round) {
    ck_assert_int_eq(rlo_tape_length(tape), 2);
    expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
    expect(dx, FLOATS(12), 1);
  }
  /* A tensor is its own gradient. */
  expect_ok(rlo_tape_gradients(tape, y, x, &y, 1, 0, &dx));
  ck_assert_ptr_eq(dx, x);
  rlo_tensor_release(dx);
  expect_ok(rlo_tape_end(tape));
  expect_ok(rlo_tape_end(NULL));
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}

/* concat(transpose(x), c, transpose(x)): only what leads from x is computed. */
RLO_TEST(test_gradients__only_what_is_wanted) {
  rlo_tensor *x = tensor(DIMS(1, 2), 2, FLOATS(1, 2));
  rlo_tensor *c = tensor(DIMS(2, 1), 2, FLOATS(5, 6));
  rlo_tensor *t = NULL;
  rlo_tensor *cc = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  rlo_engine_stats before = RLO_ENGINE_STATS_INIT;
  rlo_engine_stats after = RLO_ENGINE_STATS_INIT;
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_op_transpose(x, NULL, &t));
  expect_ok(rlo_op_reverse(c, DIMS(0), 1, &cc));
  rlo_tensor *const parts[] = {t, cc, t};
  expect_ok(rlo_op_concat(parts, 3, 1, &y));
  rlo_tensor *dy = tensor(DIMS(2, 3), 2, FLOATS(1, 20, 300, 4, 50, 600));
  ck_assert_int_eq(rlo_engine_get_stats(engine, &before), RLO_OK);
  expect_ok(rlo_tape_gradients(tape, y, dy, &x, 1, 0, &dx));
  ck_assert_int_eq(rlo_engine_get_stats(engine, &after), RLO_OK);
  /* Two parts, their sum, the transpose. */
  ck_assert_int_eq(after.kernels_run - before.kernels_run, 4);
  expect(dx, FLOATS(301, 604), 2);
  rlo_tensor *both[2] = {NULL};
  rlo_tensor *const xs[] = {c, t};
  expect_ok(rlo_tape_gradients(tape, y, dy, xs, 2, 0, both));
  expect(both[0], FLOATS(50, 20), 2);
  expect(both[1], FLOATS(301, 604), 2);
  expect_ok(rlo_tape_end(tape));
  rlo_tensor *const all[] = {x, c, t, cc, y, dy};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
}

RLO_TEST(test_gradients__of_adjoints) {
  expect_move_back(false);
  expect_move_back(true);
}

/* Three contributions of halves are added in f32. */
RLO_TEST(test_gradients__halves_that_meet) {
  rlo_tensor *wide[3] = {tensor(DIMS(1), 1, FLOATS(2048)), tensor(DIMS(1), 1, FLOATS(1)),
                         tensor(DIMS(1), 1, FLOATS(1))};
  rlo_tensor *dys[3] = {NULL};
  rlo_tensor *dy = NULL;
  rlo_tensor *x = NULL;
  rlo_tensor *copies[3] = {NULL};
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tensor *got = NULL;
  rlo_tape *tape = NULL;
  for (int32_t k = 0; k < 3; ++k) {
    expect_ok(rlo_op_cast(wide[k], RLO_DTYPE_F16, &dys[k]));
  }
  expect_ok(rlo_op_concat(dys, 3, 0, &dy));
  expect_ok(rlo_op_cast(wide[1], RLO_DTYPE_F16, &x));
  expect_ok(rlo_tape_begin(engine, &tape));
  for (int32_t k = 0; k < 3; ++k) {
    expect_ok(rlo_op_identity(x, &copies[k]));
  }
  expect_ok(rlo_op_concat(copies, 3, 0, &y));
  expect_ok(rlo_tape_gradients(tape, y, dy, &x, 1, 0, &dx));
  expect_ok(rlo_tape_end(tape));
  ck_assert_int_eq(rlo_tensor_shape(dx)->dtype, RLO_DTYPE_F16);
  expect_ok(rlo_op_cast(dx, RLO_DTYPE_F32, &got));
  expect(got, FLOATS(2050), 1);
  for (int32_t k = 0; k < 3; ++k) {
    rlo_tensor_release(wide[k]);
    rlo_tensor_release(dys[k]);
    rlo_tensor_release(copies[k]);
  }
  rlo_tensor_release(dy);
  rlo_tensor_release(dx);
  rlo_tensor_release(x);
  rlo_tensor_release(y);
}
