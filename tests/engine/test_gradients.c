/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "derivable.h"
#include "engine_case.h"
#include "relayout/engine_ops.h"
#include "relayout/kernel.h"

/* The registry of gradients, wrong calls, threads and memory, on the host. */

/* ----------------------------------------------------------------- registry */

RLO_FIXTURE(begin_plain, end);
RLO_TIMEOUT(60);

/* Every built-in kernel has a gradient. */
RLO_TEST(test_gradients__every_kernel_has_one) {
  rlo_kernel_config kernels[64];
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  int32_t count = 0;
  expect_ok(rlo_kernel_list(engine, "host", kernels, sizeof kernels[0], 64, &count));
  ck_assert_int_gt(count, 25);
  ck_assert_int_le(count, 64);
  for (int32_t k = 0; k < count; ++k) {
    expect_ok(rlo_gradient_find(engine, kernels[k].kernel_name, &config));
    ck_assert_str_eq(config.kernel_name, kernels[k].kernel_name);
  }
}

RLO_TEST(test_gradients__list) {
  rlo_gradient_config all[64];
  rlo_gradient_config some[2];
  rlo_gradient_config config = multiply_config();
  int32_t num_kernels = 0;
  int32_t count = 0;
  expect_ok(rlo_kernel_list(engine, "host", NULL, 0, 0, &num_kernels));
  expect_ok(rlo_gradient_list(engine, NULL, 0, 0, &count));
  ck_assert_int_eq(count, num_kernels);
  config.kernel_name = "Aardvark";
  expect_ok(rlo_gradient_register(engine, &config, 0, NULL));
  expect_ok(rlo_gradient_list(engine, all, sizeof all[0], 64, &count));
  ck_assert_int_eq(count, num_kernels + 1);
  ck_assert_str_eq(all[0].kernel_name, "Aardvark");
  ck_assert_uint_eq(all[0].saved_inputs, 3);
  for (int32_t k = 1; k < count; ++k) {
    ck_assert_int_lt(strcmp(all[k - 1].kernel_name, all[k].kernel_name), 0);
  }
  expect_ok(rlo_gradient_list(engine, some, sizeof some[0], 2, &count));
  ck_assert_int_eq(count, num_kernels + 1);
  ck_assert_str_eq(some[1].kernel_name, all[1].kernel_name);
  expect_ok(rlo_gradient_unregister(engine, "Aardvark"));
  expect_ok(rlo_gradient_list(engine, NULL, 0, 0, &count));
  ck_assert_int_eq(count, num_kernels);
  expect_refusal(rlo_gradient_list(NULL, all, sizeof all[0], 64, &count), RLO_INVALID_ARGUMENT,
                 "'engine' is NULL");
  expect_refusal(rlo_gradient_list(engine, NULL, sizeof all[0], 64, &count), RLO_INVALID_ARGUMENT,
                 "'out_configs' is NULL, but its length is 64");
}

RLO_TEST(test_gradients__registry) {
  rlo_gradient_config config = multiply_config();
  rlo_gradient_config old = RLO_GRADIENT_CONFIG_INIT;
  expect_refusal(rlo_gradient_find(engine, "Product", &old), RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'Product'");
  expect_ok(rlo_gradient_register(engine, &config, 0, &old));
  ck_assert_ptr_null(old.kernel_name);
  expect_refusal(rlo_gradient_register(engine, &config, 0, &old), RLO_ALREADY_EXISTS,
                 "kernel 'Product' has a gradient already");
  config.saved_inputs = 1;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, &old));
  ck_assert_str_eq(old.kernel_name, "Product");
  ck_assert_uint_eq(old.saved_inputs, 3);
  expect_ok(rlo_gradient_find(engine, "Product", &old));
  ck_assert_uint_eq(old.saved_inputs, 1);
  expect_ok(rlo_gradient_unregister(engine, "Product"));
  expect_refusal(rlo_gradient_unregister(engine, "Product"), RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'Product'");
  config.run = NULL;
  expect_refusal(rlo_gradient_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Product' has no function to run");
  config.kernel_name = "";
  expect_refusal(rlo_gradient_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                 "the gradient names no kernel");
  config.struct_size = 3;
  ck_assert_int_eq(rlo_gradient_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_gradient_register(NULL, &config, 0, NULL), RLO_INVALID_ARGUMENT);
}

/* ------------------------------------------------------------------- errors */

RLO_TEST(test_gradients__wrong_arguments) {
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *other = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  rlo_tensor *dx = x;
  rlo_tape *tape = NULL;
  register_multiply_kernel();
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  rlo_engine_stats before = RLO_ENGINE_STATS_INIT;
  rlo_engine_stats after = RLO_ENGINE_STATS_INIT;
  ck_assert_int_eq(rlo_engine_get_stats(engine, &before), RLO_OK);
  expect_refusal(rlo_tape_gradients(tape, y, other, &x, 1, 0, &dx), RLO_INVALID_ARGUMENT,
                 "dy 0 is f32[3], and its result is f32[2]; type and "
                 "dimensions must be the same");
  expect_refusal(rlo_tape_gradients(tape, y, NULL, &other, 1, 0, &dx), RLO_INVALID_ARGUMENT,
                 "no kernel that the tape recorded leads from x 0, f32[3], to "
                 "y, f32[2]");
  ck_assert_int_eq(rlo_tape_gradients(tape, y, NULL, &x, 0, 0, &dx), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_tape_gradients(tape, NULL, NULL, &x, 1, 0, &dx), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_tape_gradients(NULL, y, NULL, &x, 1, 0, &dx), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_tape_gradients(tape, y, NULL, &x, 1, 8, &dx), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_engine_get_stats(engine, &after), RLO_OK);
  ck_assert_int_eq(before.kernels_run, after.kernels_run);
  ck_assert_ptr_eq(dx, x);
  /* Unless that is no error. */
  rlo_tensor *const xs[] = {other, x};
  rlo_tensor *dxs[2] = {x, x};
  expect_ok(rlo_tape_gradients(tape, y, NULL, xs, 2, RLO_TAPE_ALLOW_UNCONNECTED, dxs));
  ck_assert_ptr_null(dxs[0]);
  expect(dxs[1], FLOATS(1, 1), 2);
  /* A kernel without gradient matters only on the way. */
  rlo_tensor *z = NULL;
  expect_ok(multiply(y, y, &z));
  expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
  rlo_tensor_release(dx);
  expect_refusal(rlo_tape_gradients(tape, z, NULL, &x, 1, 0, &dx), RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'Product'");
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(z);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  rlo_tensor_release(other);
}

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

RLO_TEST(test_gradients__wrong_gradients) {
  register_multiply();
  rlo_gradient_config config = multiply_config();
  rlo_tensor *x = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *const xs[] = {x, x};
  rlo_tensor *dxs[2] = {NULL};
  const bool wants[] = {true, false};
  config.run = give_nothing;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL));
  expect_refusal(rlo_vjp(engine, "Product", xs, 2, NULL, &x, 1, wants, dxs), RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Product': the dx of input 0 is NULL");
  config.run = give_too_much;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL));
  expect_refusal(rlo_vjp(engine, "Product", xs, 2, NULL, &x, 1, wants, dxs), RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Product' gave f32[4] for input 0, which is "
                 "f32[2]");
  rlo_tensor *small = scalar(1);
  expect_refusal(rlo_vjp(engine, "Product", xs, 2, NULL, &small, 1, NULL, dxs),
                 RLO_INVALID_ARGUMENT,
                 "dy 0 is f32[], and its result is f32[2]; type and dimensions must be "
                 "the same");
  rlo_tensor *const two[] = {x, x};
  expect_refusal(rlo_vjp(engine, "Product", xs, 2, NULL, two, 2, NULL, dxs), RLO_INVALID_ARGUMENT,
                 "kernel 'Product' has 1 results, and there are 2 dys");
  expect_refusal(rlo_vjp(engine, "None", xs, 2, NULL, &x, 1, NULL, dxs), RLO_NOT_FOUND,
                 "no gradient is registered for kernel 'None'");
  ck_assert_int_eq(rlo_vjp(engine, "Product", xs, 2, NULL, NULL, 1, NULL, dxs),
                   RLO_INVALID_ARGUMENT);
  rlo_tensor_release(small);
  rlo_tensor_release(x);
}

/* The kernel behind the gradients of moves, called by hand. */
RLO_TEST(test_gradients__wrong_adjoints) {
  rlo_tensor *dy = tensor(DIMS(2), 1, FLOATS(1, 2));
  rlo_tensor *dx = NULL;
  rlo_attribute items[] = {
      rlo_attribute_string("adjoint_of", "Reverse"), rlo_attribute_i64("adjoint_input", 0),
      rlo_attribute_i64s("adjoint_dims", DIMS(1, 2), 2), rlo_attribute_i64s("dims", DIMS(0), 1)};
  const rlo_attributes attributes = {items, 4};
  expect_ok(rlo_run_kernel(engine, "MoveAdjoint", &dy, 1, &attributes, &dx, 1, NULL));
  expect(dx, FLOATS(2, 1), 2);

  const struct {
    rlo_attribute item;
    int32_t number;
    rlo_status status;
  } cases[] = {{rlo_attribute_string("adjoint_of", "None"), 0, RLO_NOT_FOUND},
               {rlo_attribute_string("adjoint_of", "AddN"), 0, RLO_NOT_FOUND},
               {rlo_attribute_i64("adjoint_of", 1), 0, RLO_INVALID_ARGUMENT},
               {rlo_attribute_i64("adjoint_input", 1), 1, RLO_OUT_OF_RANGE},
               {rlo_attribute_i64("adjoint_input", -1), 1, RLO_OUT_OF_RANGE},
               {rlo_attribute_i64s("adjoint_dims", DIMS(2, 2), 2), 2, RLO_INVALID_ARGUMENT},
               {rlo_attribute_i64s("adjoint_dims", DIMS(1, 2, 1, 2), 4), 2, RLO_INVALID_ARGUMENT},
               {rlo_attribute_i64s("adjoint_dims", DIMS(1, 3), 2), 2, RLO_INVALID_ARGUMENT},
               {rlo_attribute_i64s("adjoint_dims", NULL, 0), 2, RLO_INVALID_ARGUMENT},
               {rlo_attribute_i64s("axes", DIMS(0), 1), 3, RLO_INVALID_ARGUMENT},
               {rlo_attribute_i64s(NULL, DIMS(0), 1), 3, RLO_INVALID_ARGUMENT},
               {rlo_attribute_i64s("dims", DIMS(1), 1), 3, RLO_OUT_OF_RANGE}};

  for (int32_t k = 0; k < COUNT(cases); ++k) {
    rlo_attribute kept = items[cases[k].number];
    items[cases[k].number] = cases[k].item;
    rlo_status status = rlo_run_kernel(engine, "MoveAdjoint", &dy, 1, &attributes, &dx, 1, NULL);
    ck_assert_msg(status == cases[k].status, "case %d: %s", k, rlo_status_name(status));
    items[cases[k].number] = kept;
  }
  rlo_tensor_release(dy);
}

/* ------------------------------------------------------- threads and memory */

static void *derive_much(void *payload) {
  rlo_tensor *x = payload;
  for (int round = 0; round < 50; ++round) {
    rlo_tensor *y = NULL;
    rlo_tensor *dx = NULL;
    expect_ok(rlo_value_and_gradients(engine, cube, NULL, &x, 1, NULL, 0, &y, &dx));
    expect(y, FLOATS(8, -27), 2);
    expect(dx, FLOATS(12, 27), 2);
  }
  return NULL;
}

/* A tape sees its own thread. */
RLO_TEST(test_gradients__threads) {
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

typedef struct stranger {
  rlo_tape *tape;
  rlo_tensor *x;
} stranger;

static void *use_anothers_tape(void *payload) {
  const stranger *s = payload;
  rlo_tensor *dx = NULL;
  expect_refusal(rlo_tape_gradients(s->tape, s->x, NULL, &s->x, 1, 0, &dx), RLO_INVALID_ARGUMENT,
                 "gradients: the tape was begun by another thread");
  expect_refusal(rlo_tape_end(s->tape), RLO_INVALID_ARGUMENT,
                 "ending a tape: the tape was begun by another thread");
  return NULL;
}

RLO_TEST(test_gradients__another_threads_tape) {
  stranger s = {NULL, scalar(1)};
  pthread_t thread;
  expect_ok(rlo_tape_begin(engine, &s.tape));
  ck_assert_int_eq(pthread_create(&thread, NULL, use_anothers_tape, &s), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  expect_ok(rlo_tape_end(s.tape));
  rlo_tensor_release(s.x);
}

/* split, mirror, gather and join: a way through every rule. */
static rlo_status winding(rlo_engine *e, rlo_tensor *const *xs, int32_t count, rlo_tensor **out_y,
                          void *payload) {
  (void)e;
  (void)count;
  rlo_tensor *indices = payload;
  rlo_tensor *t[6] = {NULL};
  rlo_status status = rlo_op_split(xs[0], DIMS(1, 2), 2, 0, t);
  THEN(rlo_op_mirror_pad(t[1], DIMS(1), DIMS(1), RLO_MIRROR_SYMMETRIC, &t[2]));
  THEN(rlo_op_gather(xs[0], indices, 0, 0, &t[3]));
  THEN(rlo_op_pad(t[3], DIMS(1), DIMS(0), NULL, xs[1], &t[4]));
  if (status == RLO_OK) {
    rlo_tensor *const parts[] = {t[2], t[4], t[2]};
    status = rlo_op_add_n(parts, 3, &t[5]);
  }
  THEN(rlo_custom_gradient(e, "last", copy_forward, one_more, NULL, &t[5], 1, out_y, 1));
  for (int k = 0; k < 6; ++k) {
    rlo_tensor_release(t[k]);
  }
  return status;
}

/* Whichever allocation fails, nothing is lost, and it works again. */
RLO_TEST(test_gradients__no_memory) {
  const int32_t rows[] = {2, 0, 2};
  rlo_shape shape;
  rlo_tensor *indices = NULL;
  rlo_tensor *const xs[] = {tensor(DIMS(3), 1, FLOATS(1, 2, 3)), scalar(9)};
  expect_ok(rlo_shape_make(RLO_DTYPE_S32, DIMS(3), 1, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, rows, &indices));
  int64_t live = rlo_engine_live_tensors(engine);
  int64_t nth = 1;
  for (bool is_reached = true; is_reached; ++nth) {
    rlo_tensor *y = NULL;
    rlo_tensor *dxs[2] = {NULL};
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_value_and_gradients(engine, winding, indices, xs, 2, NULL, 0, &y, dxs);
    is_reached = rlo__alloc_tried_count() >= nth;
    rlo__alloc_set_fault(0, false);
    if (status == RLO_OK) {
      /* dy + 1 is 2 everywhere. */
      expect(y, FLOATS(13, 7, 7, 9), 4);
      expect(dxs[0], FLOATS(2, 8, 12), 3);
      expect(dxs[1], FLOATS(2), 1);
    } else {
      ck_assert(is_reached);
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

/* ------------------------------------------------------------- quantization */

/* The gradient is the scale of each block, with zero points beside the scales and
 * without; or that of the whole tensor. */
RLO_TEST(test_gradients__dequantize_scales_and_quantize_has_none) {
  rlo_tensor *x = tensor(DIMS(2, 4), 2, counted);
  rlo_tensor *numbers[3] = {tensor(DIMS(2, 1, 2), 3, FLOATS(10, 0.5F, 7, -7)),
                            tensor(DIMS(1, 2), 2, FLOATS(10, 0.5F)), NULL};
  const float values[8] = {-70, -60, 4.5F, 5, -30, -20, 6.5F, 7};
  for (int n = 0; n < 3; ++n) {
    const rlo_attribute scale = rlo_attribute_f64("scale", 10.0);
    const float last = numbers[n] == NULL ? 10 : 0.5F;
    rlo_tensor *y = NULL;
    rlo_tensor *dx = NULL;
    rlo_tape *tape = NULL;
    expect_ok(rlo_tape_begin(engine, &tape));
    expect_ok(numbers[n] != NULL ? rlo_op_dequantize(x, numbers[n], RLO_DTYPE_F32, &y)
                                 : rlo_run_kernel(engine, "Dequantize", &x, 1,
                                                  &(rlo_attributes){&scale, 1}, &y, 1, NULL));
    expect_ok(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx));
    expect_array(dx, DIMS(2, 4), 2, FLOATS(10, 10, last, last, 10, 10, last, last));
    if (n == 0) {
      expect_refusal(rlo_tape_gradients(tape, y, NULL, &numbers[0], 1, 0, &dx), RLO_UNSUPPORTED,
                     "Dequantize has no gradient for its scales");
      expect(y, values, 8);
      expect_ok(rlo_op_quantize(x, numbers[0], RLO_DTYPE_S8, &y));
      expect_refusal_with(rlo_tape_gradients(tape, y, NULL, &x, 1, 0, &dx), RLO_UNSUPPORTED,
                          "Quantize has no gradient, because it is a staircase");
    }
    rlo_tensor_release(y);
    expect_ok(rlo_tape_end(tape));
    rlo_tensor_release(numbers[n]);
  }
  rlo_tensor_release(x);
}

/* What the inputs and attributes of the kernels may be. */
RLO_TEST(test_gradients__quantization_refusals) {
  rlo_tensor *x = tensor(DIMS(2, 4), 2, counted);
  rlo_tensor *scales = tensor(DIMS(4), 1, counted);
  rlo_tensor *y = NULL;
  const rlo_attribute dtype = rlo_attribute_string("dtype", "s8");
  expect_refusal(rlo_op_quantize(x, scales, RLO_DTYPE_S8, &y), RLO_INVALID_ARGUMENT,
                 "Quantize: input 'scales' is f32 of rank 1; f32 of the rank of input 'x', 2, is "
                 "wanted, or of one more, whose first dimension is 2: scales and zero points");
  expect_refusal(
      rlo_run_kernel(engine, "Quantize", &x, 1, &(rlo_attributes){&dtype, 1}, &y, 1, NULL),
      RLO_INVALID_ARGUMENT,
      "Quantize: either the attribute 'scale', and perhaps 'zero_point', or input 'scales' is "
      "wanted");
  rlo_tensor_release(x);
  rlo_tensor_release(scales);
}
