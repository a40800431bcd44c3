/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "derivable.h"
#include "engine_case.h"
#include "relayout/engine_ops.h"

/*
 * Functions with a gradient of their own.
 *
 * On the host, and, built with RELAYOUT_TEST_ON_DEVICE, on the "opencl"
 * backend.
 */

/* dx = dy * |x| */
static rlo_status times_magnitude(rlo_gradient_call *call, void *payload) {
  (void)payload;
  float x[3] = {0};
  float dy[3] = {0};
  rlo_status status = rlo_tensor_read(call->saved[0], x, sizeof x);
  if (status == RLO_OK) {
    status = rlo_tensor_read(call->dys[0], dy, sizeof dy);
  }
  for (int k = 0; k < 3; ++k) {
    dy[k] *= fabsf(x[k]);
  }
  return status == RLO_OK
             ? rlo_tensor_create(call->engine, call->input_shapes[0], dy, &call->dxs[0])
             : status;
}

#ifdef RELAYOUT_TEST_ON_DEVICE
RLO_FILE_FIXTURE(open_context, close_context);
#endif
RLO_FIXTURE(begin_with_fallback, end);
RLO_TIMEOUT(60);

RLO_TEST(test_gradients__custom) {
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(-1, -2, 3));
  for (int round = 0; round < 2; ++round) {
    rlo_tape *tape = NULL;
    rlo_tensor *y = NULL;
    rlo_tensor *dx = NULL;
    expect_ok(rlo_tape_begin(engine, &tape));
    expect_ok(rlo_custom_gradient(engine, "magnitude", copy_forward, times_magnitude, NULL, &x, 1,
                                  &y, 1));
    /* The tape does not record the operations that it ran. */
    ck_assert_int_eq(rlo_tape_length(tape), 1);
    for (int again = 0; again < 2; ++again) {
      expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
      expect(dx, FLOATS(1, 2, 3), 3);
    }
    expect_ok(rlo_tape_end(tape));
    rlo_tensor_release(y);
  }
  rlo_tensor_release(x);
}

static rlo_tensor *node(rlo_tensor *const *inputs, int32_t num_inputs) {
  rlo_tensor *y = NULL;
  expect_ok(
      rlo_custom_gradient(engine, "node", copy_forward, one_more, NULL, inputs, num_inputs, &y, 1));
  return y;
}

/* x -> a, x -> b, (a, b) -> y, where each gradient adds 1. */
RLO_TEST(test_gradients__split_node) {
  rlo_tensor *x = scalar(0);
  rlo_tensor *dy = scalar(1);
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  rlo_tensor *const ab[] = {node(&x, 1), node(&x, 1)};
  rlo_tensor *y = node(ab, 2);
  expect_ok(rlo_tape_gradients(tape, y, dy, &x, 1, 0, &dx));
  expect(dx, FLOATS(6), 1);
  expect_ok(rlo_tape_end(tape));
  rlo_tensor *const all[] = {x, dy, y, ab[0], ab[1]};
  for (int32_t k = 0; k < COUNT(all); ++k) {
    rlo_tensor_release(all[k]);
  }
}

/* Three outputs, of which the second is derived: the others' dys are 0. */
static rlo_status keep_dys(rlo_gradient_call *call, void *payload) {
  float *dys = payload;
  for (int32_t k = 0; k < call->num_outputs; ++k) {
    expect_ok(rlo_tensor_read(call->dys[k], &dys[k], sizeof dys[k]));
  }
  call->dxs[0] = rlo_tensor_retain(call->dys[1]);
  return RLO_OK;
}

RLO_TEST(test_gradients__outputs_that_are_not_used) {
  float dys[3] = {-1, -1, -1};
  rlo_tensor *x = scalar(7);
  rlo_tensor *dy = scalar(5);
  rlo_tensor *ys[3] = {NULL};
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_custom_gradient(engine, "three", copy_forward, keep_dys, dys, &x, 1, ys, 3));
  expect_ok(rlo_tape_gradients(tape, ys[1], dy, &x, 1, 0, &dx));
  expect(dx, FLOATS(5), 1);
  ck_assert(dys[0] == 0.0f && dys[1] == 5.0f && dys[2] == 0.0f);
  expect_ok(rlo_tape_end(tape));
  for (int32_t k = 0; k < 3; ++k) {
    rlo_tensor_release(ys[k]);
  }
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
}

static rlo_status fail_forward(rlo_engine *e, rlo_tensor *const *inputs, int32_t num_inputs,
                               rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs,
                               void *payload) {
  (void)copy_forward(e, inputs, num_inputs, saver, outputs, num_outputs, payload);
  return RLO_CANCELLED;
}

/* Gives what it got, twice: each must be a tensor of its own. */
static rlo_status same_forward(rlo_engine *e, rlo_tensor *const *inputs, int32_t num_inputs,
                               rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs,
                               void *payload) {
  (void)e;
  (void)num_inputs;
  (void)saver;
  (void)payload;
  for (int32_t k = 0; k < num_outputs; ++k) {
    outputs[k] = rlo_tensor_retain(inputs[0]);
  }
  return RLO_OK;
}

static rlo_status leave_out(rlo_engine *e, rlo_tensor *const *inputs, int32_t num_inputs,
                            rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs,
                            void *payload) {
  (void)e;
  (void)inputs;
  (void)num_inputs;
  (void)outputs;
  (void)num_outputs;
  (void)payload;
  return rlo_saver_save(saver, NULL) == RLO_OK ? RLO_INTERNAL : RLO_OK;
}

static rlo_status fail_function(rlo_engine *e, rlo_tensor *const *xs, int32_t count,
                                rlo_tensor **out_y, void *payload) {
  (void)cube(e, xs, count, out_y, payload);
  return RLO_CANCELLED;
}

/* A function that fails leaves no tape on, and the tapes there are as they
 * were. */
RLO_TEST(test_gradients__forward_errors) {
  register_multiply();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(2, 3));
  rlo_tensor *ys[2] = {NULL};
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  ck_assert_int_eq(rlo_custom_gradient(engine, "fails", fail_forward, one_more, NULL, &x, 1, ys, 2),
                   RLO_CANCELLED);
  ck_assert_int_eq(rlo_tape_length(tape), 0);
  expect_refusal(rlo_custom_gradient(engine, "nothing", leave_out, one_more, NULL, &x, 1, ys, 1),
                 RLO_INVALID_ARGUMENT, "output 0 is NULL");
  ck_assert_int_eq(rlo_custom_gradient(engine, "none", NULL, one_more, NULL, &x, 1, ys, 1),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_custom_gradient(engine, "none", copy_forward, one_more, NULL, &x, 1, ys, 0),
                   RLO_INVALID_ARGUMENT);
  expect_ok(rlo_custom_gradient(engine, "no gradient", same_forward, NULL, NULL, &x, 1, ys, 2));
  ck_assert_ptr_ne(ys[0], x);
  ck_assert_ptr_ne(ys[1], x);
  ck_assert_ptr_ne(ys[0], ys[1]);
  expect_refusal(rlo_tape_gradients(tape, ys[0], NULL, &x, 1, 0, &dx), RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'no gradient'");
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(ys[0]);
  rlo_tensor_release(ys[1]);
  ck_assert_int_eq(rlo_value_and_gradients(engine, fail_function, NULL, &x, 1, NULL, 0, ys, &dx),
                   RLO_CANCELLED);
  /* Nothing listens any more. */
  expect_ok(rlo_value_and_gradients(engine, cube, NULL, &x, 1, NULL, 0, &ys[0], &dx));
  expect(ys[0], FLOATS(8, 27), 2);
  expect(dx, FLOATS(12, 27), 2);
  /* A dy that does not fit. */
  rlo_tensor *dy = scalar(1);
  ck_assert_int_eq(rlo_value_and_gradients(engine, cube, NULL, &x, 1, dy, 0, NULL, &dx),
                   RLO_INVALID_ARGUMENT);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
}

static rlo_status refuse_gradient(rlo_gradient_call *call, void *payload) {
  /* A gradient that asks its own tape. */
  rlo_tensor *dx = NULL;
  rlo_tape *tape = *(rlo_tape **)payload;
  expect_refusal(rlo_tape_gradients(tape, call->dys[0], NULL, call->dys, 1, 0, &dx),
                 RLO_INVALID_ARGUMENT, "gradients: a gradient is being computed from the tape");
  expect_refusal(rlo_tape_end(tape), RLO_INVALID_ARGUMENT,
                 "ending a tape: a gradient is being computed from the tape");
  call->dxs[0] = rlo_tensor_retain(call->saved[0]);
  return RLO_OK;
}

RLO_TEST(test_gradients__a_tape_asked_from_within) {
  rlo_tensor *x = scalar(2);
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(
      rlo_custom_gradient(engine, "asks", copy_forward, refuse_gradient, &tape, &x, 1, &y, 1));
  expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
  expect(dx, FLOATS(2), 1);
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}
