/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "derivable.h"
#include "engine_case.h"
#include "relayout/kernel.h"

/* Gradients that find what they saved, and their inputs, by name. On the host.
 */

#define NAMES(...) ((const char *const[]){__VA_ARGS__})

RLO_FIXTURE(begin_plain, end);
RLO_TIMEOUT(60);

static const char *const factor_names[] = {"a", "b"};

/* The gradient of y = a * b finds a, b and, so that it is seen, y by name. */
static rlo_status gradient_by_name(rlo_gradient_call *call, void *payload) {
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < 2 && status == RLO_OK; ++n) {
    rlo_tensor *other = NULL;
    int32_t place = -1;
    status = rlo_gradient_saved(call, factor_names[1 - n], 0, &other);
    THEN(rlo_gradient_input(call, factor_names[n], 0, &place));
    if (status == RLO_OK && call->wants[place]) {
      status = multiply(call->dys[0], other, &call->dxs[place]);
    }
  }
  rlo_tensor *y = NULL;
  if (status == RLO_OK && payload != NULL) {
    status = rlo_gradient_saved(call, "y", 0, &y);
  }
  if (y != NULL) {
    status = rlo_tensor_read(y, payload, sizeof(float));
  }
  return status;
}

/* Product with names, and a gradient that saves some. */
static void register_named(const char *const *saved, int32_t count, float *seen) {
  rlo_kernel_config kernel = RLO_KERNEL_CONFIG_INIT;
  rlo_gradient_config gradient = RLO_GRADIENT_CONFIG_INIT;
  if (rlo_kernel_find(engine, "Product", "host", &kernel) != RLO_OK) {
    register_multiply_kernel();
    expect_ok(rlo_kernel_find(engine, "Product", "host", &kernel));
  }
  kernel.input_names = factor_names;
  kernel.num_input_names = 2;
  kernel.output_names = NAMES("y");
  kernel.num_output_names = 1;
  expect_ok(rlo_kernel_register(engine, &kernel, RLO_KERNEL_REPLACE, NULL));
  gradient.kernel_name = "Product";
  gradient.saved_names = saved;
  gradient.num_saved_names = count;
  gradient.run = gradient_by_name;
  gradient.payload = seen;
  expect_ok(rlo_gradient_register(engine, &gradient, RLO_GRADIENT_REPLACE, NULL));
}

RLO_TEST(test_gradient_names__in_gradients) {
  static float seen;
  rlo_tensor *a = scalar(3);
  rlo_tensor *b = scalar(5);
  rlo_tensor *dy = scalar(10);
  rlo_tensor *y = NULL;
  rlo_tensor *const ab[] = {a, b};
  rlo_tensor *dxs[2] = {NULL};
  rlo_tape *tape = NULL;
  register_named(NAMES("y", "b", "a"), 3, &seen);
  /* With a tape, which outlives the kernel's registration. */
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(multiply(a, b, &y));
  expect_ok(rlo_tape_gradients(tape, y, dy, ab, 2, 0, dxs));
  expect(dxs[0], FLOATS(50), 1);
  expect(dxs[1], FLOATS(30), 1);
  ck_assert_double_eq((double)seen, 15.0);
  expect_ok(rlo_tape_end(tape));
  /* Without: the kernel runs, for its result is saved. */
  seen = 0;
  expect_ok(rlo_vjp(engine, "Product", ab, 2, NULL, &dy, 1, NULL, dxs));
  expect(dxs[0], FLOATS(50), 1);
  expect(dxs[1], FLOATS(30), 1);
  ck_assert_double_eq((double)seen, 15.0);
  /* By name and by place at once, each is saved once. */
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  expect_ok(rlo_gradient_find(engine, "Product", &config));
  config.saved_inputs = 3;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL));
  expect_ok(rlo_vjp(engine, "Product", ab, 2, NULL, &dy, 1, NULL, dxs));
  expect(dxs[0], FLOATS(50), 1);
  expect(dxs[1], FLOATS(30), 1);
  rlo_tensor_release(y);
  rlo_tensor_release(a);
  rlo_tensor_release(b);
  rlo_tensor_release(dy);
}

RLO_TEST(test_gradient_names__a_gradient_after_its_kernel) {
  rlo_tensor *a = scalar(3);
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tape *tape = NULL;
  register_named(factor_names, 2, NULL);
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_ok(multiply(a, a, &y));
  /* The names of what the tape holds stay. */
  expect_ok(rlo_kernel_unregister(engine, "Product", "host"));
  register_multiply_kernel();
  expect_ok(rlo_tape_gradients(tape, y, NULL, &a, 1, 0, &dx));
  expect(dx, FLOATS(6), 1);
  expect_ok(rlo_tape_end(tape));
  rlo_tensor_release(y);
  rlo_tensor_release(a);
}

RLO_TEST(test_gradient_names__what_a_gradient_does_not_have) {
  rlo_tensor *a = scalar(3);
  rlo_tensor *y = NULL;
  rlo_tensor *const aa[] = {a, a};
  rlo_tensor *dxs[2] = {NULL};
  rlo_tape *tape = NULL;
  register_named(NAMES("b"), 1, NULL);
  expect_refusal(rlo_vjp(engine, "Product", aa, 2, NULL, &a, 1, NULL, dxs), RLO_NOT_FOUND,
                 "the gradient of kernel 'Product' has not saved 'a'; it has "
                 "saved 'b'");
  register_named(NULL, 0, NULL);
  expect_refusal(rlo_vjp(engine, "Product", aa, 2, NULL, &a, 1, NULL, dxs), RLO_NOT_FOUND,
                 "the gradient of kernel 'Product' has not saved 'b'; it has "
                 "saved nothing with a name");
  /* A name that the kernel does not have. */
  register_named(NAMES("a", "c"), 2, NULL);
  static const char why[] =
      "the gradient of kernel 'Product' saves 'c', which is no input or "
      "result of it; its inputs are 'a', 'b'";
  expect_refusal(rlo_vjp(engine, "Product", aa, 2, NULL, &a, 1, NULL, dxs), RLO_INVALID_ARGUMENT,
                 why);
  expect_ok(rlo_tape_begin(engine, &tape));
  expect_refusal(multiply(a, a, &y), RLO_INVALID_ARGUMENT, why);
  expect_ok(rlo_tape_end(tape));
  /* A kernel whose inputs have none. */
  expect_ok(rlo_kernel_unregister(engine, "Product", "host"));
  register_multiply_kernel();
  expect_refusal(rlo_vjp(engine, "Product", aa, 2, NULL, &a, 1, NULL, dxs), RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Product' saves 'a', which is no input or "
                 "result of it; its inputs have no names");
  /* Configs. */
  rlo_gradient_config config = multiply_config();
  config.num_saved_names = 1;
  expect_refusal(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL),
                 RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Product' saves 1 names without a list of them");
  config.saved_names = NAMES(NULL);
  expect_refusal(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL),
                 RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Product': name 0 of those it saves is NULL");
  rlo_tensor_release(a);
}

/* dx of every input is the next one that is saved; the last, the first. */
static rlo_status gradient_of_many(rlo_gradient_call *call, void *payload) {
  (void)payload;
  rlo_tensor *none = NULL;
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    rlo_tensor *next = NULL;
    int32_t place = -1;
    rlo_status status = rlo_gradient_saved(call, "inputs", (n + 1) % call->num_inputs, &next);
    THEN(rlo_gradient_input(call, "inputs", n, &place));
    if (status != RLO_OK) {
      return status;
    }
    ck_assert_int_eq(place, n);
    call->dxs[place] = rlo_tensor_retain(next);
  }
  expect_refusal(rlo_gradient_saved(call, "inputs", call->num_inputs, &none), RLO_NOT_FOUND,
                 "the gradient of kernel 'AddN' has not saved 'inputs[3]'; it "
                 "has saved 'inputs', 'inputs', 'inputs'");
  int32_t place = 0;
  expect_refusal(rlo_gradient_input(call, "inputs", 3, &place), RLO_NOT_FOUND,
                 "the gradient of kernel 'AddN': the call had no input "
                 "'inputs[3]'");
  return RLO_OK;
}

RLO_TEST(test_gradient_names__of_any_number) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  rlo_tensor *xs[3];
  rlo_tensor *dxs[3] = {NULL};
  for (int32_t n = 0; n < 3; ++n) {
    xs[n] = scalar((float)n);
  }
  config.kernel_name = "AddN";
  config.saved_names = NAMES("inputs");
  config.num_saved_names = 1;
  config.run = gradient_of_many;
  expect_ok(rlo_gradient_register(engine, &config, RLO_GRADIENT_REPLACE, NULL));
  expect_ok(rlo_vjp(engine, "AddN", xs, 3, NULL, &xs[0], 1, NULL, dxs));
  for (int32_t n = 0; n < 3; ++n) {
    expect(dxs[n], FLOATS((float)((n + 1) % 3)), 1);
    rlo_tensor_release(xs[n]);
  }
}

/* ------------------------------------------------------------------- memory */

/* Every allocation fails once, in turn. */
RLO_TEST(test_gradient_names__memory_runs_out) {
  static float seen;
  rlo_tensor *xs[12];
  rlo_named_tensor named[12];
  rlo_tensor *dxs[2] = {NULL};
  register_named(NAMES("a", "b", "y"), 3, &seen);
  for (int32_t n = 0; n < 12; ++n) {
    xs[n] = scalar((float)n);
    named[n] = (rlo_named_tensor){"inputs", xs[n]};
  }
  int64_t nth = 1;
  for (bool is_reached = true; is_reached; ++nth) {
    rlo_tensor *y = NULL;
    ck_assert_int_lt(nth, 500);
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_run_kernel_named(engine, "Pack", named, 12, NULL, &y, 1, NULL);
    THEN(rlo_vjp(engine, "Product", xs, 2, NULL, &xs[1], 1, NULL, dxs));
    is_reached = rlo__alloc_tried_count() >= nth;
    rlo__alloc_set_fault(0, false);
    ck_assert_msg(status == RLO_OK || status == RLO_OUT_OF_MEMORY, "allocation %lld: %s",
                  (long long)nth, rlo_error_last()->message);
    rlo_tensor_release(y);
    for (int32_t n = 0; n < 2; ++n) {
      rlo_tensor_release(dxs[n]);
      dxs[n] = NULL;
    }
  }
  for (int32_t n = 0; n < 12; ++n) {
    rlo_tensor_release(xs[n]);
  }
}
