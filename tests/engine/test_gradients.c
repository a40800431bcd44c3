/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "relayout/engine_ops.h"
#include "relayout/kernel.h"
#include "relayout/tape.h"

/*
 * Tapes, custom gradients and the gradient registry: on the host, and, built
 * with RELAYOUT_TEST_ON_DEVICE, what does not look at the host's own words and
 * allocations on the "opencl" backend.
 */
#ifdef RELAYOUT_TEST_ON_DEVICE
#include "relayout/opencl.h"

#define ON_DEVICE true

static rlo_context *context;

static void open_context(void) {
  ck_assert_int_eq(rlo_context_create_default(-1, NULL, &context), RLO_OK);
}

static void close_context(void) {
  rlo_context_release(context);
}
#else
#define ON_DEVICE false

static struct rlo_context *const context = NULL;

static void open_context(void) {
}

static void close_context(void) {
}
#endif

#define DIMS(...)    ((const int64_t[]){__VA_ARGS__})
#define FLOATS(...)  ((const float[]){__VA_ARGS__})
#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

static rlo_engine *engine;
static int64_t allocations_before;

static void expect_ok(rlo_status status) {
  ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
}

static void expect_refusal(rlo_status got, rlo_status wanted, const char *why) {
  ck_assert_int_eq(got, wanted);
  ck_assert_str_eq(rlo_error_last()->message, why);
}

static void setup(void) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.checks_leaks = true;
  options.context = context;
  /* For the kernels that the tests bring. */
  options.allow_host_fallback = ON_DEVICE;
  allocations_before = rlo__alloc_live_count();
  expect_ok(rlo_engine_create(&options, &engine));
}

static void teardown(void) {
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
  rlo_engine_release(engine);
  /* A context keeps programs. */
  ck_assert(ON_DEVICE || rlo__alloc_live_count() == allocations_before);
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

static rlo_tensor *scalar(float value) {
  return tensor(NULL, 0, &value);
}

/* Compare and release. */
static void expect(rlo_tensor *y, const float *data, int64_t count) {
  float got[64];
  ck_assert_ptr_nonnull(y);
  ck_assert_int_eq(rlo_tensor_bytes(y), count * 4);
  expect_ok(rlo_tensor_read(y, got, count * 4));
  for (int64_t i = 0; i < count; ++i) {
    ck_assert_msg(got[i] >= data[i] && got[i] <= data[i],
                  "element %lld is %g, not %g",
                  (long long)i,
                  (double)got[i],
                  (double)data[i]);
  }
  rlo_tensor_release(y);
}

/* -------------------------------------------------------- a kernel to derive
 */

/* y = a * b, for f32, on the host. */
static rlo_status run_multiply(rlo_kernel_call *call, void *payload) {
  (void)payload;
  const void *a = NULL;
  const void *b = NULL;
  void *y = NULL;
  rlo_status status = rlo_tensor_host_data(call->inputs[0], &a);
  if (status == RLO_OK) {
    status = rlo_tensor_host_data(call->inputs[1], &b);
  }
  if (status == RLO_OK) {
    status = rlo_kernel_output_host_data(call, 0, &y);
  }
  if (status == RLO_OK) {
    const float *left = a;
    const float *right = b;
    float *product = y;
    for (int64_t i = 0; i < rlo_tensor_bytes(call->inputs[0]) / 4; ++i) {
      product[i] = left[i] * right[i];
    }
  }
  return status;
}

static rlo_status multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y) {
  rlo_tensor *const inputs[] = {a, b};
  return rlo_run_kernel(engine, "Multiply", inputs, 2, NULL, out_y, 1, NULL);
}

static rlo_status gradient_of_multiply(rlo_gradient_call *call, void *payload) {
  (void)payload;
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < 2 && status == RLO_OK; ++n) {
    if (call->wants[n]) {
      status = multiply(call->dys[0], call->saved[1 - n], &call->dxs[n]);
    }
  }
  return status;
}

static void register_multiply_kernel(void) {
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Multiply";
  config.backend_name = "host";
  config.min_inputs = 2;
  config.max_inputs = 2;
  config.infer = rlo_infer_like_input;
  config.run = run_multiply;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
}

static rlo_gradient_config multiply_config(void) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  config.kernel_name = "Multiply";
  config.saved_inputs = 3;
  config.run = gradient_of_multiply;
  return config;
}

static void register_multiply(void) {
  rlo_gradient_config config = multiply_config();
  register_multiply_kernel();
  expect_ok(rlo_gradient_register(engine, &config, 0, NULL));
}

/* y = x * x * x */
static rlo_status cube(rlo_engine *e,
                       rlo_tensor *const *xs,
                       int32_t count,
                       rlo_tensor **out_y,
                       void *payload) {
  (void)e;
  (void)count;
  (void)payload;
  rlo_tensor *square = NULL;
  rlo_status status = multiply(xs[0], xs[0], &square);
  if (status == RLO_OK) {
    status = multiply(square, xs[0], out_y);
  }
  rlo_tensor_release(square);
  return status;
}

/* ------------------------------------------------------------------ registry
 */

/* Every built-in kernel has a gradient. */
START_TEST(test_gradients__every_kernel_has_one)
{
  rlo_kernel_config kernels[64];
  rlo_gradient_config config;
  int32_t count = 0;
  expect_ok(rlo_kernel_list(engine, "host", kernels, 64, &count));
  ck_assert_int_gt(count, 25);
  ck_assert_int_le(count, 64);
  for (int32_t k = 0; k < count; ++k) {
    expect_ok(rlo_gradient_find(engine, kernels[k].kernel_name, &config));
    ck_assert_str_eq(config.kernel_name, kernels[k].kernel_name);
  }
}

END_TEST

START_TEST(test_gradients__registry)
{
  rlo_gradient_config config = multiply_config();
  rlo_gradient_config old = RLO_GRADIENT_CONFIG_INIT;
  expect_refusal(rlo_gradient_find(engine, "Multiply", &old),
                 RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'Multiply'");
  expect_ok(rlo_gradient_register(engine, &config, 0, &old));
  ck_assert_ptr_null(old.kernel_name);
  expect_refusal(rlo_gradient_register(engine, &config, 0, &old),
                 RLO_ALREADY_EXISTS,
                 "kernel 'Multiply' has a gradient already");
  config.saved_inputs = 1;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, &old));
  ck_assert_str_eq(old.kernel_name, "Multiply");
  ck_assert_uint_eq(old.saved_inputs, 3);
  expect_ok(rlo_gradient_find(engine, "Multiply", &old));
  ck_assert_uint_eq(old.saved_inputs, 1);
  expect_ok(rlo_gradient_unregister(engine, "Multiply"));
  expect_refusal(rlo_gradient_unregister(engine, "Multiply"),
                 RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'Multiply'");
  config.run = NULL;
  expect_refusal(rlo_gradient_register(engine, &config, 0, NULL),
                 RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Multiply' has no function to run");
  config.kernel_name = "";
  expect_refusal(rlo_gradient_register(engine, &config, 0, NULL),
                 RLO_INVALID_ARGUMENT,
                 "the gradient names no kernel");
  config.struct_size = 8;
  ck_assert_int_eq(rlo_gradient_register(engine, &config, 0, NULL),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_gradient_register(NULL, &config, 0, NULL),
                   RLO_INVALID_ARGUMENT);
}

END_TEST

/* ------------------------------------------------------------------ one tape
 */

/* y = x^3: dy/dx = 3 x^2, d2y/dx2 = 6 x, d3y/dx3 = 6, with a tape in a tape in
 * a tape. */
START_TEST(test_gradients__third_order)
{
  register_multiply();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(2, -3));
  rlo_tape *tapes[3] = {NULL};
  rlo_tensor *ys[4] = {NULL};
  for (int32_t k = 0; k < 3; ++k) {
    expect_ok(rlo_tape_begin(engine, &tapes[k]));
  }
  expect_ok(cube(engine, &x, 1, &ys[0], NULL));
  for (int32_t k = 0; k < 3; ++k) {
    expect_ok(
        rlo_tape_gradients(tapes[2 - k], ys[k], NULL, &x, 1, 0, &ys[k + 1]));
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

END_TEST

/* A tape does not record its own gradients, and gives them as often as asked.
 */
START_TEST(test_gradients__a_tape_serves_twice)
{
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

END_TEST

/* concat(transpose(x), c, transpose(x)): only what leads from x is computed. */
START_TEST(test_gradients__only_what_is_wanted)
{
  rlo_tensor *x = tensor(DIMS(1, 2), 2, FLOATS(1, 2));
  rlo_tensor *c = tensor(DIMS(2, 1), 2, FLOATS(5, 6));
  rlo_tensor *t = NULL;
  rlo_tensor *cc = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  rlo_engine_stats before;
  rlo_engine_stats after;
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_op_transpose(x, NULL, &t));
  expect_ok(rlo_op_reverse(c, DIMS(0), 1, &cc));
  rlo_tensor *const parts[] = {t, cc, t};
  expect_ok(rlo_op_concat(parts, 3, 1, &y));
  rlo_tensor *dy = tensor(DIMS(2, 3), 2, FLOATS(1, 20, 300, 4, 50, 600));
  rlo_engine_get_stats(engine, &before);
  expect_ok(rlo_tape_gradients(tape, y, dy, &x, 1, 0, &dx));
  rlo_engine_get_stats(engine, &after);
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

END_TEST

/* The gradient of a gradient of a move is the move: d/d(dy) of
 * <pad^T(dy), v> is pad(v), and so for each. */
START_TEST(test_gradients__of_adjoints)
{
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(0, 0, 0));
  rlo_tensor *dy = tensor(DIMS(6), 1, FLOATS(10, 20, 30, 40, 50, 60));
  rlo_tensor *v = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  for (int mirror = 0; mirror < 2; ++mirror) {
    rlo_tape *outer = NULL;
    rlo_tape *inner = NULL;
    rlo_tensor *y = NULL;
    rlo_tensor *dx = NULL;
    rlo_tensor *back = NULL;
    expect_ok(rlo_tape_begin(engine, &outer));
    expect_ok(rlo_tape_begin(engine, &inner));
    expect_ok(
        mirror ? rlo_op_mirror_pad(x, DIMS(2), DIMS(1), RLO_MIRROR_REFLECT, &y)
               : rlo_op_pad(x, DIMS(2), DIMS(1), NULL, NULL, &y));
    expect_ok(rlo_tape_gradients(inner, y, dy, &x, 1, 0, &dx));
    expect_ok(rlo_tape_end(inner));
    expect_ok(rlo_tape_gradients(outer, dx, v, &dy, 1, 0, &back));
    expect_ok(rlo_tape_end(outer));
    expect(dx, mirror ? FLOATS(30, 120, 60) : FLOATS(30, 40, 50), 3);
    expect(
        back, mirror ? FLOATS(3, 2, 1, 2, 3, 2) : FLOATS(0, 0, 1, 2, 3, 0), 6);
    rlo_tensor_release(y);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
  rlo_tensor_release(v);
}

END_TEST

/* Three contributions of halves are added in f32. */
START_TEST(test_gradients__halves_that_meet)
{
  rlo_tensor *wide[3] = {tensor(DIMS(1), 1, FLOATS(2048)),
                         tensor(DIMS(1), 1, FLOATS(1)),
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

END_TEST

/* -------------------------------------------------------------------- errors
 */

static rlo_status refuse_gradient(rlo_gradient_call *call, void *payload) {
  /* A gradient that asks its own tape. */
  rlo_tensor *dx = NULL;
  rlo_tape *tape = *(rlo_tape **)payload;
  expect_refusal(
      rlo_tape_gradients(tape, call->dys[0], NULL, call->dys, 1, 0, &dx),
      RLO_INVALID_ARGUMENT,
      "gradients: a gradient is being computed from the tape");
  expect_refusal(rlo_tape_end(tape),
                 RLO_INVALID_ARGUMENT,
                 "ending a tape: a gradient is being computed from the tape");
  call->dxs[0] = rlo_tensor_retain(call->saved[0]);
  return RLO_OK;
}

START_TEST(test_gradients__wrong_arguments)
{
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *other = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  rlo_tensor *dx = x;
  rlo_tape *tape = NULL;
  register_multiply_kernel();
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  rlo_engine_stats before;
  rlo_engine_stats after;
  rlo_engine_get_stats(engine, &before);
  expect_refusal(rlo_tape_gradients(tape, y, other, &x, 1, 0, &dx),
                 RLO_INVALID_ARGUMENT,
                 "dy 0 is f32[3], and its result is f32[2]; type and "
                 "dimensions must be the same");
  expect_refusal(rlo_tape_gradients(tape, y, NULL, &other, 1, 0, &dx),
                 RLO_INVALID_ARGUMENT,
                 "no kernel that the tape recorded leads from x 0, f32[3], to "
                 "y, f32[2]");
  ck_assert_int_eq(rlo_tape_gradients(tape, y, NULL, &x, 0, 0, &dx),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_tape_gradients(tape, NULL, NULL, &x, 1, 0, &dx),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_tape_gradients(NULL, y, NULL, &x, 1, 0, &dx),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_tape_gradients(tape, y, NULL, &x, 1, 8, &dx),
                   RLO_INVALID_ARGUMENT);
  rlo_engine_get_stats(engine, &after);
  ck_assert_int_eq(before.kernels_run, after.kernels_run);
  ck_assert_ptr_eq(dx, x);
  /* Unless that is no error. */
  rlo_tensor *const xs[] = {other, x};
  rlo_tensor *dxs[2] = {x, x};
  expect_ok(rlo_tape_gradients(
      tape, y, NULL, xs, 2, RLO_TAPE_ALLOW_UNCONNECTED, dxs));
  ck_assert_ptr_null(dxs[0]);
  expect(dxs[1], FLOATS(1, 1), 2);
  /* A kernel without gradient matters only on the way. */
  rlo_tensor *z = NULL;
  expect_ok(multiply(y, y, &z));
  expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
  rlo_tensor_release(dx);
  expect_refusal(rlo_tape_gradients(tape, z, NULL, &x, 1, 0, &dx),
                 RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'Multiply'");
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(z);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  rlo_tensor_release(other);
}

END_TEST

static rlo_status give_nothing(rlo_gradient_call *call, void *payload) {
  (void)call;
  (void)payload;
  return RLO_OK;
}

static rlo_status give_too_much(rlo_gradient_call *call, void *payload) {
  (void)payload;
  call->dxs[1] = rlo_tensor_retain(call->dys[0]);
  rlo_tensor *const twice[] = {call->dys[0], call->dys[0]};
  return rlo_op_concat(twice, 2, 0, &call->dxs[0]);
}

START_TEST(test_gradients__wrong_gradients)
{
  register_multiply();
  rlo_gradient_config config = multiply_config();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *const xs[] = {x, x};
  rlo_tensor *dxs[2] = {NULL};
  const bool wants[] = {true, false};
  config.run = give_nothing;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL));
  expect_refusal(rlo_vjp(engine, "Multiply", xs, 2, NULL, &x, 1, wants, dxs),
                 RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Multiply' gave nothing for input 0");
  config.run = give_too_much;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL));
  expect_refusal(
      rlo_vjp(engine, "Multiply", xs, 2, NULL, &x, 1, wants, dxs),
      RLO_INVALID_ARGUMENT,
      "the gradient of kernel 'Multiply' gave f32[4] for input 0, which is "
      "f32[2]");
  rlo_tensor *small = scalar(1);
  expect_refusal(
      rlo_vjp(engine, "Multiply", xs, 2, NULL, &small, 1, NULL, dxs),
      RLO_INVALID_ARGUMENT,
      "dy 0 is f32[], and its result is f32[2]; type and dimensions must be "
      "the same");
  rlo_tensor *const two[] = {x, x};
  expect_refusal(rlo_vjp(engine, "Multiply", xs, 2, NULL, two, 2, NULL, dxs),
                 RLO_INVALID_ARGUMENT,
                 "kernel 'Multiply' has 1 results, and there are 2 dys");
  expect_refusal(rlo_vjp(engine, "None", xs, 2, NULL, &x, 1, NULL, dxs),
                 RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'None'");
  ck_assert_int_eq(rlo_vjp(engine, "Multiply", xs, 2, NULL, NULL, 1, NULL, dxs),
                   RLO_INVALID_ARGUMENT);
  rlo_tensor_release(small);
  rlo_tensor_release(x);
}

END_TEST

/* The kernel behind the gradients of moves, called by hand. */
START_TEST(test_gradients__wrong_adjoints)
{
  rlo_tensor *dy = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *dx = NULL;
  rlo_attribute items[] = {rlo_attribute_string("adjoint_of", "Reverse"),
                           rlo_attribute_i64("adjoint_input", 0),
                           rlo_attribute_i64s("adjoint_dims", DIMS(1, 2), 2),
                           rlo_attribute_i64s("dims", DIMS(0), 1)};
  const rlo_attributes attributes = {items, 4};
  expect_ok(
      rlo_run_kernel(engine, "MoveAdjoint", &dy, 1, &attributes, &dx, 1, NULL));
  expect(dx, FLOATS(2, 1), 2);

  const struct {
    rlo_attribute item;
    int32_t number;
    rlo_status status;
  } cases[] = {
      {rlo_attribute_string("adjoint_of", "None"), 0, RLO_NOT_FOUND},
      {rlo_attribute_string("adjoint_of", "AddN"), 0, RLO_NOT_FOUND},
      {rlo_attribute_i64("adjoint_of", 1), 0, RLO_INVALID_ARGUMENT},
      {rlo_attribute_i64("adjoint_input", 1), 1, RLO_OUT_OF_RANGE},
      {rlo_attribute_i64("adjoint_input", -1), 1, RLO_OUT_OF_RANGE},
      {rlo_attribute_i64s("adjoint_dims", DIMS(2, 2), 2),
       2,
       RLO_INVALID_ARGUMENT},
      {rlo_attribute_i64s("adjoint_dims", DIMS(1, 2, 1, 2), 4),
       2,
       RLO_INVALID_ARGUMENT},
      {rlo_attribute_i64s("adjoint_dims", DIMS(1, 3), 2),
       2,
       RLO_INVALID_ARGUMENT},
      {rlo_attribute_i64s("adjoint_dims", NULL, 0), 2, RLO_INVALID_ARGUMENT},
      {rlo_attribute_i64s("axes", DIMS(0), 1), 3, RLO_INVALID_ARGUMENT},
      {rlo_attribute_i64s(NULL, DIMS(0), 1), 3, RLO_INVALID_ARGUMENT},
      {rlo_attribute_i64s("dims", DIMS(1), 1), 3, RLO_OUT_OF_RANGE}};

  for (int32_t k = 0; k < COUNT(cases); ++k) {
    rlo_attribute kept = items[cases[k].number];
    items[cases[k].number] = cases[k].item;
    rlo_status status = rlo_run_kernel(
        engine, "MoveAdjoint", &dy, 1, &attributes, &dx, 1, NULL);
    ck_assert_msg(
        status == cases[k].status, "case %d: %s", k, rlo_status_name(status));
    items[cases[k].number] = kept;
  }
  rlo_tensor_release(dy);
}

END_TEST

/* ------------------------------------------------------------ custom gradients
 */

/* Each output is a copy of input 0; saves that too. */
static rlo_status copy_forward(rlo_engine *e,
                               rlo_tensor *const *inputs,
                               int32_t num_inputs,
                               rlo_saver *saver,
                               rlo_tensor **outputs,
                               int32_t num_outputs,
                               void *payload) {
  (void)e;
  (void)num_inputs;
  (void)payload;
  rlo_status status = rlo_saver_save(saver, inputs[0]);
  for (int32_t k = 0; k < num_outputs && status == RLO_OK; ++k) {
    status = rlo_op_identity(inputs[0], &outputs[k]);
  }
  return status;
}

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
             ? rlo_tensor_create(
                   call->engine, call->input_shapes[0], dy, &call->dxs[0])
             : status;
}

START_TEST(test_gradients__custom)
{
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(-1, -2, 3));
  for (int round = 0; round < 2; ++round) {
    rlo_tape *tape = NULL;
    rlo_tensor *y = NULL;
    rlo_tensor *dx = NULL;
    expect_ok(rlo_tape_begin(engine, &tape));
    expect_ok(rlo_custom_gradient(engine,
                                  "magnitude",
                                  copy_forward,
                                  times_magnitude,
                                  NULL,
                                  &x,
                                  1,
                                  &y,
                                  1));
    /* What it ran is not seen. */
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

END_TEST

/* x -> a, x -> b, (a, b) -> y, where each gradient adds 1. */
static rlo_status one_more(rlo_gradient_call *call, void *payload) {
  (void)payload;
  float ones[4] = {1, 1, 1, 1};
  rlo_tensor *one = NULL;
  rlo_status status = rlo_tensor_create(
      call->engine, rlo_tensor_shape(call->dys[0]), ones, &one);
  rlo_tensor *const parts[] = {call->dys[0], one};
  for (int32_t n = 0; n < call->num_inputs && status == RLO_OK; ++n) {
    status = rlo_op_add_n(parts, 2, &call->dxs[n]);
  }
  rlo_tensor_release(one);
  return status;
}

static rlo_tensor *node(rlo_tensor *const *inputs, int32_t num_inputs) {
  rlo_tensor *y = NULL;
  expect_ok(rlo_custom_gradient(
      engine, "node", copy_forward, one_more, NULL, inputs, num_inputs, &y, 1));
  return y;
}

START_TEST(test_gradients__split_node)
{
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

END_TEST

/* Three outputs, of which the second is derived: the others' dys are 0. */
static rlo_status keep_dys(rlo_gradient_call *call, void *payload) {
  float *dys = payload;
  for (int32_t k = 0; k < call->num_outputs; ++k) {
    expect_ok(rlo_tensor_read(call->dys[k], &dys[k], sizeof dys[k]));
  }
  call->dxs[0] = rlo_tensor_retain(call->dys[1]);
  return RLO_OK;
}

START_TEST(test_gradients__outputs_that_are_not_used)
{
  float dys[3] = {-1, -1, -1};
  rlo_tensor *x = scalar(7);
  rlo_tensor *dy = scalar(5);
  rlo_tensor *ys[3] = {NULL};
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_custom_gradient(
      engine, "three", copy_forward, keep_dys, dys, &x, 1, ys, 3));
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

END_TEST

static rlo_status fail_forward(rlo_engine *e,
                               rlo_tensor *const *inputs,
                               int32_t num_inputs,
                               rlo_saver *saver,
                               rlo_tensor **outputs,
                               int32_t num_outputs,
                               void *payload) {
  (void)copy_forward(
      e, inputs, num_inputs, saver, outputs, num_outputs, payload);
  return RLO_CANCELLED;
}

/* Gives what it got, twice: each must be a tensor of its own. */
static rlo_status same_forward(rlo_engine *e,
                               rlo_tensor *const *inputs,
                               int32_t num_inputs,
                               rlo_saver *saver,
                               rlo_tensor **outputs,
                               int32_t num_outputs,
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

static rlo_status leave_out(rlo_engine *e,
                            rlo_tensor *const *inputs,
                            int32_t num_inputs,
                            rlo_saver *saver,
                            rlo_tensor **outputs,
                            int32_t num_outputs,
                            void *payload) {
  (void)e;
  (void)inputs;
  (void)num_inputs;
  (void)outputs;
  (void)num_outputs;
  (void)payload;
  return rlo_saver_save(saver, NULL) == RLO_OK ? RLO_INTERNAL : RLO_OK;
}

static rlo_status fail_function(rlo_engine *e,
                                rlo_tensor *const *xs,
                                int32_t count,
                                rlo_tensor **out_y,
                                void *payload) {
  (void)cube(e, xs, count, out_y, payload);
  return RLO_CANCELLED;
}

/* A function that fails leaves no tape on, and the tapes there are as they
 * were. */
START_TEST(test_gradients__forward_errors)
{
  register_multiply();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(2, 3));
  rlo_tensor *ys[2] = {NULL};
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  ck_assert_int_eq(
      rlo_custom_gradient(
          engine, "fails", fail_forward, one_more, NULL, &x, 1, ys, 2),
      RLO_CANCELLED);
  ck_assert_int_eq(rlo_tape_length(tape), 0);
  expect_refusal(
      rlo_custom_gradient(
          engine, "nothing", leave_out, one_more, NULL, &x, 1, ys, 1),
      RLO_INVALID_ARGUMENT,
      "output 0 is NULL");
  ck_assert_int_eq(
      rlo_custom_gradient(engine, "none", NULL, one_more, NULL, &x, 1, ys, 1),
      RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(
      rlo_custom_gradient(
          engine, "none", copy_forward, one_more, NULL, &x, 1, ys, 0),
      RLO_INVALID_ARGUMENT);
  expect_ok(rlo_custom_gradient(
      engine, "no gradient", same_forward, NULL, NULL, &x, 1, ys, 2));
  ck_assert_ptr_ne(ys[0], x);
  ck_assert_ptr_ne(ys[1], x);
  ck_assert_ptr_ne(ys[0], ys[1]);
  expect_refusal(rlo_tape_gradients(tape, ys[0], NULL, &x, 1, 0, &dx),
                 RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'no gradient'");
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(ys[0]);
  rlo_tensor_release(ys[1]);
  ck_assert_int_eq(rlo_value_and_gradients(
                       engine, fail_function, NULL, &x, 1, NULL, 0, ys, &dx),
                   RLO_CANCELLED);
  /* Nothing listens any more. */
  expect_ok(
      rlo_value_and_gradients(engine, cube, NULL, &x, 1, NULL, 0, &ys[0], &dx));
  expect(ys[0], FLOATS(8, 27), 2);
  expect(dx, FLOATS(12, 27), 2);
  /* A dy that does not fit. */
  rlo_tensor *dy = scalar(1);
  ck_assert_int_eq(
      rlo_value_and_gradients(engine, cube, NULL, &x, 1, dy, 0, NULL, &dx),
      RLO_INVALID_ARGUMENT);
  rlo_tensor_release(dy);
  rlo_tensor_release(x);
}

END_TEST

START_TEST(test_gradients__a_tape_asked_from_within)
{
  rlo_tensor *x = scalar(2);
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_custom_gradient(
      engine, "asks", copy_forward, refuse_gradient, &tape, &x, 1, &y, 1));
  expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
  expect(dx, FLOATS(2), 1);
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(y);
  rlo_tensor_release(x);
}

END_TEST

/* -------------------------------------------------------- threads and memory
 */

static void *derive_much(void *payload) {
  rlo_tensor *x = payload;
  for (int round = 0; round < 50; ++round) {
    rlo_tensor *y = NULL;
    rlo_tensor *dx = NULL;
    expect_ok(
        rlo_value_and_gradients(engine, cube, NULL, &x, 1, NULL, 0, &y, &dx));
    expect(y, FLOATS(8, -27), 2);
    expect(dx, FLOATS(12, 27), 2);
  }
  return NULL;
}

/* A tape sees its own thread. */
START_TEST(test_gradients__threads)
{
  enum { NUM_THREADS = 4 };

  register_multiply();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(2, -3));
  rlo_tape *tape = NULL;
  pthread_t threads[NUM_THREADS];
  expect_ok(rlo_tape_begin(engine, &tape));
  for (int t = 0; t < NUM_THREADS; ++t) {
    ck_assert_int_eq(pthread_create(&threads[t], NULL, derive_much, x), 0);
  }
  for (int t = 0; t < NUM_THREADS; ++t) {
    ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
  }
  ck_assert_int_eq(rlo_tape_length(tape), 0);
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(x);
}

END_TEST

typedef struct stranger {
  rlo_tape *tape;
  rlo_tensor *x;
} stranger;

static void *use_anothers_tape(void *payload) {
  const stranger *s = payload;
  rlo_tensor *dx = NULL;
  expect_refusal(rlo_tape_gradients(s->tape, s->x, NULL, &s->x, 1, 0, &dx),
                 RLO_INVALID_ARGUMENT,
                 "gradients: the tape was begun by another thread");
  expect_refusal(rlo_tape_end(s->tape),
                 RLO_INVALID_ARGUMENT,
                 "ending a tape: the tape was begun by another thread");
  return NULL;
}

START_TEST(test_gradients__another_threads_tape)
{
  stranger s = {NULL, scalar(1)};
  pthread_t thread;
  expect_ok(rlo_tape_begin(engine, &s.tape));
  ck_assert_int_eq(pthread_create(&thread, NULL, use_anothers_tape, &s), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  expect_ok(rlo_tape_end(s.tape));
  rlo_tensor_release(s.x);
}

END_TEST

/* split, mirror, gather and join: a way through every rule. */
static rlo_status winding(rlo_engine *e,
                          rlo_tensor *const *xs,
                          int32_t count,
                          rlo_tensor **out_y,
                          void *payload) {
  (void)e;
  (void)count;
  rlo_tensor *indices = payload;
  rlo_tensor *t[6] = {NULL};
  rlo_status status = rlo_op_split(xs[0], DIMS(1, 2), 2, 0, t);
  if (status == RLO_OK) {
    status =
        rlo_op_mirror_pad(t[1], DIMS(1), DIMS(1), RLO_MIRROR_SYMMETRIC, &t[2]);
  }
  if (status == RLO_OK) {
    status = rlo_op_gather(xs[0], indices, 0, 0, &t[3]);
  }
  if (status == RLO_OK) {
    status = rlo_op_pad(t[3], DIMS(1), DIMS(0), NULL, xs[1], &t[4]);
  }
  if (status == RLO_OK) {
    rlo_tensor *const parts[] = {t[2], t[4], t[2]};
    status = rlo_op_add_n(parts, 3, &t[5]);
  }
  if (status == RLO_OK) {
    status = rlo_custom_gradient(
        e, "last", copy_forward, one_more, NULL, &t[5], 1, out_y, 1);
  }
  for (int k = 0; k < 6; ++k) {
    rlo_tensor_release(t[k]);
  }
  return status;
}

/* Whichever allocation fails, nothing is lost, and it works again. */
START_TEST(test_gradients__no_memory)
{
  const int32_t rows[] = {2, 0, 2};
  rlo_shape shape;
  rlo_tensor *indices = NULL;
  rlo_tensor *const xs[] = {tensor(DIMS(3), 1, FLOATS(1, 2, 3)), scalar(9)};
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, DIMS(3), 1, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, rows, &indices));
  int64_t live = rlo_engine_live_tensors(engine);
  bool is_done = false;
  int64_t nth = 1;
  for (; !is_done; ++nth) {
    rlo_tensor *y = NULL;
    rlo_tensor *dxs[2] = {NULL};
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_value_and_gradients(
        engine, winding, indices, xs, 2, NULL, 0, &y, dxs);
    rlo__alloc_set_fault(0, false);
    is_done = status == RLO_OK;
    if (is_done) {
      /* dy + 1 is 2 everywhere. */
      expect(y, FLOATS(13, 7, 7, 9), 4);
      expect(dxs[0], FLOATS(2, 8, 12), 3);
      expect(dxs[1], FLOATS(2), 1);
    } else {
      ck_assert_int_eq(status, RLO_OUT_OF_MEMORY);
      ck_assert_ptr_null(y);
      ck_assert_ptr_null(dxs[0]);
      ck_assert_ptr_null(dxs[1]);
    }
    ck_assert_int_eq(rlo_engine_live_tensors(engine), live);
  }
  ck_assert_int_gt(nth, 50);
  rlo_tensor_release(xs[0]);
  rlo_tensor_release(xs[1]);
  rlo_tensor_release(indices);
}

END_TEST

int main(void) {
  Suite *suite = suite_create("gradients");
  TCase *tcase = tcase_create("gradients");
  tcase_add_unchecked_fixture(tcase, open_context, close_context);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_gradients__third_order);
  tcase_add_test(tcase, test_gradients__a_tape_serves_twice);
  tcase_add_test(tcase, test_gradients__only_what_is_wanted);
  tcase_add_test(tcase, test_gradients__of_adjoints);
  tcase_add_test(tcase, test_gradients__halves_that_meet);
  tcase_add_test(tcase, test_gradients__custom);
  tcase_add_test(tcase, test_gradients__split_node);
  tcase_add_test(tcase, test_gradients__outputs_that_are_not_used);
  tcase_add_test(tcase, test_gradients__forward_errors);
  tcase_add_test(tcase, test_gradients__a_tape_asked_from_within);
  if (!ON_DEVICE) {
    tcase_add_test(tcase, test_gradients__every_kernel_has_one);
    tcase_add_test(tcase, test_gradients__registry);
    tcase_add_test(tcase, test_gradients__wrong_arguments);
    tcase_add_test(tcase, test_gradients__wrong_gradients);
    tcase_add_test(tcase, test_gradients__wrong_adjoints);
    tcase_add_test(tcase, test_gradients__threads);
    tcase_add_test(tcase, test_gradients__another_threads_tape);
    tcase_add_test(tcase, test_gradients__no_memory);
  }
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
