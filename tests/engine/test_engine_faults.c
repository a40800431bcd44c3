/* SPDX-License-Identifier: Apache-2.0 */

#include "counting_kernel.h"
#include "engine_case.h"
#include "relayout/engine_ops.h"

/* What users register that does it wrong, or fails. */

static void setup(void) {
  begin(false);
}

static rlo_status leave_out(rlo_kernel_call *call, void *payload) {
  (void)call;
  (void)payload;
  return RLO_OK;
}

static rlo_status leak(rlo_kernel_call *call, void *payload) {
  rlo_tensor *y = NULL;
  rlo_status status = rlo_kernel_output(call, 0, &y);
  return status == RLO_OK
             ? rlo_op_identity(call->inputs[0], (rlo_tensor **)payload)
             : status;
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

START_TEST(test_engine_registry__kernels_that_do_it_wrong)
{
  rlo_tensor *leaked = NULL;
  rlo_tensor *x = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tensor *y = NULL;
  static counted_kernel c = {0};
  rlo_kernel_config config = config_of("Wrong", "host", &c);
  config.run = leave_out;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  expect_refusal(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL),
                 RLO_INVALID_ARGUMENT,
                 "kernel 'Wrong' left output 0 unwritten");
  config.run = turn;
  expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
  expect_refusal(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL),
                 RLO_INVALID_ARGUMENT,
                 "kernel 'Wrong' wrote output 0 in another shape than it "
                 "inferred");
  config.run = leak;
  config.setup = NULL;
  config.dispose = NULL;
  config.payload = &leaked;
  expect_ok(rlo_kernel_register(engine, &config, RLO_KERNEL_REPLACE, NULL));
  expect_refusal(rlo_run_kernel(engine, "Wrong", &x, 1, NULL, &y, 1, NULL),
                 RLO_INTERNAL,
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
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL),
                 RLO_INVALID_ARGUMENT,
                 "setting up kernel 'Outer' for backend 'host': registering a "
                 "kernel from within a setup, a dispose or a factory");
  ck_assert_int_ge(c.setups, 1);
}

END_TEST

START_TEST(test_engine_registry__configs_that_are_none)
{
  static counted_kernel c = {0};
  rlo_kernel_config config = config_of("", "host", &c);
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL),
                 RLO_INVALID_ARGUMENT,
                 "a kernel without a name, or without a backend's");
  config = config_of("K", "host", &c);
  config.run = NULL;
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL),
                 RLO_INVALID_ARGUMENT,
                 "kernel 'K' has no run");
  config = config_of("K", "host", &c);
  config.struct_size = 3;
  ck_assert_int_eq(rlo_kernel_register(engine, &config, 0, NULL),
                   RLO_INVALID_ARGUMENT);
  config = config_of("K", "host", &c);
  config.max_inputs = 0;
  expect_refusal(rlo_kernel_register(engine, &config, 0, NULL),
                 RLO_INVALID_ARGUMENT,
                 "kernel 'K' takes 1 to 0 inputs and 0 attributes");
}

END_TEST

int main(void) {
  TCase *tcase = tcase_create("engine_faults");
  tcase_add_checked_fixture(tcase, setup, end);
  tcase_add_test(tcase, test_engine_registry__kernels_that_do_it_wrong);
  tcase_add_test(tcase, test_engine_registry__configs_that_are_none);
  return run_suite("engine_faults", tcase);
}
