/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "counting_kernel.h"
#include "engine_case.h"
#include "fake_backend.h"
#include "relayout/engine_ops.h"
#include "relayout/gradient.h"
#include "relayout/scope.h"

/* Functions of users that fail or break the rules. */

static rlo_status leave_out(rlo_kernel_call *call, void *payload) {
  (void)call;
  (void)payload;
  return RLO_OK;
}

static rlo_status leak(rlo_kernel_call *call, void *payload) {
  rlo_tensor *y = NULL;
  rlo_status status = rlo_kernel_output(call, 0, &y);
  return status == RLO_OK ? rlo_op_identity(call->inputs[0], (rlo_tensor **)payload) : status;
}

static rlo_status hand_on(rlo_kernel_call *call, void *payload) {
  (void)payload;
  call->outputs[0] = rlo_tensor_retain(call->inputs[0]);
  return RLO_OK;
}

static rlo_status turn(rlo_kernel_call *call, void *payload) {
  (void)payload;
  return rlo_op_expand_dims(call->inputs[0], 0, &call->outputs[0]);
}

static rlo_status register_within(rlo_engine *of, void *self, void *payload) {
  (void)self;
  counted_kernel *c = payload;
  rlo_kernel_config config = config_of("Inner", "host", c);
  rlo_status status = rlo_kernel_register(of, &config, 0, NULL);
  ++c->setups;
  return status;
}

RLO_FIXTURE(begin_plain, end);

RLO_TEST(test_engine_registry__kernels_that_do_it_wrong) {
  rlo_tensor *leaked = NULL;
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  static counted_kernel c = {0};
  rlo_kernel_config config = config_of("Wrong", "host", &c);
  config.run = leave_out;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  expect_refusal(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Wrong': output 0 is NULL");
  config.run = turn;
  expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
  expect_refusal(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Wrong' wrote output 0 in another shape than it "
                 "inferred");
  config.run = leak;
  config.setup = NULL;
  config.dispose = NULL;
  config.payload = &leaked;
  expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
  expect_refusal(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL), RLO_INTERNAL,
                 "kernel 'Wrong' for backend 'host' has leaked 1 tensors");
  rlo_tensor_release(leaked);
  config.run = hand_on;
  expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
  expect_ok(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL));
  ck_assert_ptr_ne(x, y);
  ck_assert(rlo_tensor_shares_memory(x, y));
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  config = config_of("Outer", "host", &c);
  config.setup = register_within;
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                 "setting up kernel 'Outer' for backend 'host': registering a "
                 "kernel from within a setup, a dispose or a factory");
  ck_assert_int_ge(c.setups, 1);
}

RLO_TEST(test_engine_registry__configs_that_are_none) {
  static counted_kernel c = {0};
  rlo_kernel_config config = config_of("", "host", &c);
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                 "a kernel without a name, or without a backend's");
  config = config_of("K", "host", &c);
  config.run = NULL;
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'K' has no run");
  config = config_of("K", "host", &c);
  config.struct_size = 3;
  ck_assert_int_eq(rlo_kernel_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT);
  config = config_of("K", "host", &c);
  config.max_inputs = 0;
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'K' takes 1 to 0 inputs and 0 attributes");
  config = config_of("K", "host", &c);
  expect_refusal(rlo_kernel_register(engine, &config, 2, NULL), RLO_INVALID_ARGUMENT,
                 "registering a kernel: no known flags (0x2)");
  expect_refusal(rlo_kernel_copy_all(engine, "host", "mine", 2, NULL), RLO_INVALID_ARGUMENT,
                 "copying a backend's kernels: no known flags (0x2)");
}

/* -------------------------------------------- tensors that are not theirs */

/* y = x upside down, made in a scope that keeps nothing. */
static rlo_status reverse_in_scope(rlo_tensor *x, rlo_tensor **out_y) {
  rlo_scope *scope = NULL;
  expect_ok(rlo_scope_begin(rlo_tensor_engine(x), &scope));
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, out_y));
  return rlo_scope_end(scope);
}

static rlo_status keep_nothing(rlo_kernel_call *call, void *payload) {
  (void)payload;
  return reverse_in_scope(call->inputs[0], &call->outputs[0]);
}

static rlo_status release_output(rlo_kernel_call *call, void *payload) {
  rlo_tensor *y = NULL;
  (void)payload;
  expect_ok(rlo_kernel_output(call, 0, &y));
  rlo_tensor_release(y);
  rlo_tensor_release(y);
  return rlo_op_identity(y, &y) == RLO_INVALID_ARGUMENT ? RLO_OK : RLO_INTERNAL;
}

static rlo_status release_input(rlo_kernel_call *call, void *payload) {
  (void)payload;
  rlo_tensor_release(call->inputs[0]);
  return rlo_op_identity(call->inputs[0], &call->outputs[0]);
}

static rlo_status hand_on_borrowed(rlo_kernel_call *call, void *payload) {
  (void)payload;
  call->outputs[0] = call->inputs[0];
  return RLO_OK;
}

static rlo_status of_another_engine(rlo_kernel_call *call, void *payload) {
  call->outputs[0] = rlo_tensor_retain(payload);
  return RLO_OK;
}

/* Each is refused, and the input is as it was. */
RLO_TEST(test_engine_faults__kernels_that_release_what_they_should_not) {
#define RELEASED "released already; a scope releases what is not kept"

  static const struct {
    rlo_kernel_fn run;
    const char *sentence;
  } rows[] = {{keep_nothing, "kernel 'Wrong': output 0 is " RELEASED},
              {release_output, "kernel 'Wrong': output 0 is " RELEASED},
              {release_input, "kernel 'Wrong' released input 0, which it borrows"},
              {hand_on_borrowed, "kernel 'Wrong' released input 0, which it borrows"},
              {of_another_engine, "kernel 'Wrong': output 0 is of another engine"}};

  static counted_kernel c = {0};
  rlo_engine *second = NULL;
  rlo_tensor *foreign = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  expect_ok(rlo_engine_create(NULL, &second));
  expect_ok(rlo_tensor_create(second, rlo_tensor_shape(x), NULL, &foreign));
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    rlo_kernel_config config = config_of("Wrong", "host", &c);
    config.setup = NULL;
    config.dispose = NULL;
    config.run = rows[r].run;
    config.payload = foreign;
    expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
    expect_refusal(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL), RLO_INVALID_ARGUMENT,
                   rows[r].sentence);
    ck_assert_int_eq(rlo_engine_live_tensors(engine), 1);
  }
  expect(x, FLOATS(1, 2, 3), 3);
  rlo_tensor_release(foreign);
  rlo_engine_release(second);
}

static rlo_status release_forward(rlo_engine *of, rlo_tensor *const *inputs, int32_t num_inputs,
                                  rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs,
                                  void *payload) {
  (void)of;
  (void)num_inputs;
  (void)saver;
  (void)num_outputs;
  if (payload == NULL) {
    return rlo_op_identity(inputs[0], &outputs[0]);
  }
  rlo_tensor_release(inputs[0]);
  return rlo_op_identity(inputs[0], &outputs[0]);
}

static rlo_status release_backward(rlo_gradient_call *call, void *payload) {
  (void)payload;
  return reverse_in_scope(call->dys[0], &call->dxs[0]);
}

static rlo_status derive_released(rlo_engine *of, rlo_tensor *const *xs, int32_t count,
                                  rlo_tensor **out_y, void *payload) {
  if (payload == NULL) {
    return reverse_in_scope(xs[0], out_y);
  }
  return rlo_custom_gradient(of, "Released", release_forward, release_backward, NULL, xs, count,
                             out_y, 1);
}

RLO_TEST(test_engine_faults__functions_that_release_what_they_should_not) {
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  expect_refusal(
      rlo_custom_gradient(engine, "Released", release_forward, release_backward, x, &x, 1, &y, 1),
      RLO_INVALID_ARGUMENT, "function 'Released' released input 0, which it borrows");
  expect_refusal(rlo_value_and_gradients(engine, derive_released, NULL, &x, 1, NULL, 0, &y, &dx),
                 RLO_INVALID_ARGUMENT,
                 "a function that this call has called released a tensor that it returned, or "
                 "ended its scope without keeping it");
  expect_refusal(rlo_value_and_gradients(engine, derive_released, x, &x, 1, NULL, 0, &y, &dx),
                 RLO_INVALID_ARGUMENT,
                 "the gradient of kernel 'Released': the dx of input 0 is " RELEASED);
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 1);
  expect(x, FLOATS(1, 2, 3), 3);
}

/* ------------------------------------------------------------ what they say */

/* An earlier failure, whose sentence must not be heard again. */
static void fail_before(void) {
  ck_assert_int_eq(rlo_error_set(RLO_CANCELLED, "an earlier failure"), RLO_CANCELLED);
}

/* payload: a sentence, or NULL. */
static rlo_status say(const char *payload) {
  return payload != NULL ? rlo_error_set(RLO_CANCELLED, "%s", payload) : RLO_CANCELLED;
}

static rlo_status say_run(rlo_kernel_call *call, void *payload) {
  (void)call;
  return say(payload);
}

static rlo_status say_infer(const rlo_shape *const *inputs, int32_t num_inputs,
                            const rlo_attributes *attributes, rlo_shape *out_shapes,
                            int32_t capacity, int32_t *out_count, void *payload) {
  (void)inputs;
  (void)num_inputs;
  (void)attributes;
  (void)out_shapes;
  (void)capacity;
  (void)out_count;
  return say(payload);
}

static rlo_status say_setup(rlo_engine *of, void *self, void *payload) {
  (void)of;
  (void)self;
  return say(payload);
}

static rlo_status say_gradient(rlo_gradient_call *call, void *payload) {
  (void)call;
  return say(payload);
}

static rlo_status say_factory(rlo_engine *of, void *payload,
                              const rlo_backend_methods **out_methods, void **out_self) {
  (void)of;
  (void)out_methods;
  (void)out_self;
  return say(payload);
}

static rlo_status say_forward(rlo_engine *of, rlo_tensor *const *inputs, int32_t num_inputs,
                              rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs,
                              void *payload) {
  (void)of;
  (void)inputs;
  (void)num_inputs;
  (void)saver;
  (void)outputs;
  (void)num_outputs;
  return say(payload);
}

static rlo_status say_function(rlo_engine *of, rlo_tensor *const *xs, int32_t count,
                               rlo_tensor **out_y, void *payload) {
  (void)of;
  (void)xs;
  (void)count;
  (void)out_y;
  return say(payload);
}

/* Nothing, in the first round, and a sentence in the second. */
RLO_LOOP_TEST(test_engine_faults__whose_sentence_it_is, 0, 2) {
  static char own[] = "the cat sat on it";
  void *payload = _i == 0 ? NULL : own;
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  rlo_shape shape;
  int32_t count = 0;
  const rlo_shape *shapes[] = {rlo_tensor_shape(x)};
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Says";
  config.backend_name = "host";
  config.infer = rlo_infer_elementwise;
  config.run = say_run;
  config.payload = payload;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  fail_before();
  expect_refusal(rlo_run_kernel(engine, "Says", &x, 1, NULL, &y, 1, NULL), RLO_CANCELLED,
                 _i == 0 ? "kernel 'Says' for backend 'host' failed with "
                           "RLO_CANCELLED and no message"
                         : own);
  config.infer = say_infer;
  expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
  const char *inference = _i == 0 ? "the inference of kernel 'Says' for backend 'host' failed with "
                                    "RLO_CANCELLED and no message"
                                  : own;
  fail_before();
  expect_refusal(rlo_run_kernel(engine, "Says", &x, 1, NULL, &y, 1, NULL), RLO_CANCELLED,
                 inference);
  fail_before();
  expect_refusal(rlo_infer_kernel(engine, "Says", shapes, 1, NULL, &shape, 1, &count),
                 RLO_CANCELLED, inference);
  config.kernel_name = "Sets up";
  config.setup = say_setup;
  fail_before();
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL), RLO_CANCELLED,
                 _i == 0 ? "setting up kernel 'Sets up' for backend 'host': the setup "
                           "failed with RLO_CANCELLED and no message"
                         : "setting up kernel 'Sets up' for backend 'host': the cat sat "
                           "on it");
  expect_ok(rlo_backend_register(engine, "none", say_factory, payload, 0));
  fail_before();
  expect_refusal(rlo_backend_set(engine, "none"), RLO_CANCELLED,
                 _i == 0 ? "backend 'none' fails: the factory of backend "
                           "'none' failed with RLO_CANCELLED and no message"
                         : "backend 'none' fails: the cat sat on it");
  rlo_gradient_config gradient = RLO_GRADIENT_CONFIG_INIT;
  gradient.kernel_name = "Identity";
  gradient.run = say_gradient;
  gradient.payload = payload;
  expect_ok(rlo_gradient_register(engine, &gradient, RLO_GRADIENT_REPLACE, NULL));
  fail_before();
  expect_refusal(rlo_vjp(engine, "Identity", &x, 1, NULL, &x, 1, NULL, &y), RLO_CANCELLED,
                 _i == 0 ? "the gradient of kernel 'Identity' failed with "
                           "RLO_CANCELLED and no message"
                         : own);
  fail_before();
  expect_refusal(
      rlo_custom_gradient(engine, "cat", say_forward, say_gradient, payload, &x, 1, &y, 1),
      RLO_CANCELLED, _i == 0 ? "function 'cat' failed with RLO_CANCELLED and no message" : own);
  fail_before();
  expect_refusal(rlo_value_and_gradients(engine, say_function, payload, &x, 1, NULL, 0, NULL, &y),
                 RLO_CANCELLED,
                 _i == 0 ? "the function to derive failed with RLO_CANCELLED and no message" : own);
  rlo_tensor_release(x);
}

/* The methods of a backend say nothing. */
RLO_TEST(test_engine_faults__silent_methods) {
  static fake f = {0};
  rlo_tensor *x = NULL;
  rlo_shape shape;
  expect_ok(rlo_shape_make(RLO_DTYPE_F32, DIMS(3), 1, &shape));
  expect_ok(rlo_backend_register(engine, "silent", fake_create, &f, 9));
  const char *const names[] = {"allocate", "write", "read"};
  for (int32_t k = 0; k < COUNT(names); ++k) {
    char why[128];
    const float data[3] = {1, 2, 3};
    float got[3];
    f.fails = names[k];
    fail_before();
    rlo_status status = rlo_tensor_create(engine, &shape, data, &x);
    if (status == RLO_OK) {
      status = rlo_tensor_read(x, got, sizeof got);
    }
    snprintf(why, sizeof why, "'%s' of backend 'silent' failed with RLO_DEVICE and no message",
             names[k]);
    expect_refusal(status, RLO_DEVICE, why);
    rlo_tensor_release(x);
    x = NULL;
  }
}
