/* SPDX-License-Identifier: Apache-2.0 */
#include "derivable.h"

#include "engine_case.h"
#include "relayout/kernel.h"

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

rlo_status multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y) {
  rlo_tensor *const inputs[] = {a, b};
  return rlo_run_kernel(engine, "Product", inputs, 2, NULL, out_y, 1, NULL);
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

void register_multiply_kernel(void) {
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Product";
  config.backend_name = "host";
  config.min_inputs = 2;
  config.max_inputs = 2;
  config.infer = rlo_infer_elementwise;
  config.run = run_multiply;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
}

rlo_gradient_config multiply_config(void) {
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  config.kernel_name = "Product";
  config.saved_inputs = 3;
  config.run = gradient_of_multiply;
  return config;
}

void register_multiply(void) {
  rlo_gradient_config config = multiply_config();
  register_multiply_kernel();
  expect_ok(rlo_gradient_register(engine, &config, 0, NULL));
}

rlo_status cube(rlo_engine *e, rlo_tensor *const *xs, int32_t count, rlo_tensor **out_y,
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

rlo_status copy_forward(rlo_engine *e, rlo_tensor *const *inputs, int32_t num_inputs,
                        rlo_saver *saver, rlo_tensor **outputs, int32_t num_outputs,
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

rlo_status one_more(rlo_gradient_call *call, void *payload) {
  (void)payload;
  float ones[4] = {1, 1, 1, 1};
  rlo_tensor *one = NULL;
  rlo_status status = rlo_tensor_create(call->engine, rlo_tensor_shape(call->dys[0]), ones, &one);
  rlo_tensor *const parts[] = {call->dys[0], one};
  for (int32_t n = 0; n < call->num_inputs && status == RLO_OK; ++n) {
    status = rlo_op_add_n(parts, 2, &call->dxs[n]);
  }
  rlo_tensor_release(one);
  return status;
}

void expect_move_back(bool is_mirror) {
  rlo_tensor *x = tensor(DIMS(3), 1, NULL);
  rlo_tensor *dy = tensor(DIMS(6), 1, tens + 1);
  rlo_tensor *v = tensor(DIMS(3), 1, FLOATS(1, 2, 3));
  rlo_tape *outer = NULL;
  rlo_tape *inner = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_tensor *back = NULL;
  expect_ok(rlo_tape_begin(engine, &outer));
  expect_ok(rlo_tape_begin(engine, &inner));
  expect_ok(is_mirror ? rlo_op_mirror_pad(x, DIMS(2), DIMS(1), RLO_MIRROR_REFLECT, &y)
                      : rlo_op_pad(x, DIMS(2), DIMS(1), NULL, NULL, &y));
  expect_ok(rlo_tape_gradients(inner, y, dy, &x, 1, 0, &dx));
  expect_ok(rlo_tape_end(inner));
  expect_ok(rlo_tape_gradients(outer, dx, v, &dy, 1, 0, &back));
  expect_ok(rlo_tape_end(outer));
  expect(dx, is_mirror ? FLOATS(30, 120, 60) : FLOATS(30, 40, 50), 3);
  expect(back, is_mirror ? FLOATS(3, 2, 1, 2, 3, 2) : FLOATS(0, 0, 1, 2, 3, 0), 6);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  rlo_tensor_release(dy);
  rlo_tensor_release(v);
}
