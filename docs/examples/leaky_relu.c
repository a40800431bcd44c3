/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel LeakyRelu with its gradient, and TensorFlow.js's customGrad of x * x: dy * abs(x). */
#include <relayout/backend.h>
#include <relayout/engine_opencl.h>
#include <relayout/engine_ops.h>
#include <relayout/gradient.h>
#include <relayout/relayout.h>
#include <relayout/scope.h>
#include <stdio.h>

/** y = x where x is above 0, else alpha * x: on the host, and in OpenCL C. */
static rlo_status on_host(rlo_kernel_call *call, void *payload) {
  const void *x = NULL;
  void *y = NULL;
  double alpha = 0;
  if (rlo_attributes_get_f64(call->attributes, "alpha", &alpha) != RLO_OK ||
      rlo_tensor_host_data(call->inputs[0], &x) != RLO_OK ||
      rlo_kernel_output_host_data(call, 0, &y) != RLO_OK) {
    return rlo_error_last()->status;
  }
  for (int64_t i = 0; i < rlo_tensor_bytes(call->inputs[0]) / 4; ++i) {
    const float value = ((const float *)x)[i];
    ((float *)y)[i] = value > 0 ? value : (float)alpha * value;
  }
  return RLO_OK;
}

static rlo_source_kernel on_opencl = {
    .struct_size = sizeof on_opencl,
    .function = "leaky",
    .source =
        "__kernel void leaky(__global const float *x, __global float *y, float alpha) {\n"
        "  const size_t i = get_global_id(0);\n"
        "  y[i] = x[i] > 0 ? x[i] : alpha * x[i];\n"
        "}\n"};

/** dx = dy where x is above 0, else alpha * dy. */
static rlo_status leaky_relu_dx(rlo_gradient_call *call, void *payload) {
  rlo_tensor *slope = NULL;
  double alpha = 0;
  rlo_status status = rlo_attributes_get_f64(call->attributes, "alpha", &alpha);
  status = status == RLO_OK ? rlo_op_step(call->saved[0], alpha, &slope) : status;
  status = status == RLO_OK ? rlo_op_multiply(call->dys[0], slope, &call->dxs[0]) : status;
  rlo_tensor_release(slope);
  return status;
}

static int register_leaky_relu(rlo_engine *engine) {
  static const rlo_attribute_spec alpha = {"alpha", RLO_ATTRIBUTE_F64, true};
  rlo_gradient_config gradient = RLO_GRADIENT_CONFIG_INIT;
  gradient.kernel_name = "LeakyRelu";
  gradient.saved_inputs = 1;
  gradient.run = leaky_relu_dx;
  rlo_kernel_config kernel = RLO_KERNEL_CONFIG_INIT;
  kernel.kernel_name = "LeakyRelu";
  kernel.backend_name = RLO_BACKEND_NAME_HOST;
  kernel.attributes = &alpha;
  kernel.num_attributes = 1;
  kernel.input_type = RLO_DTYPE_F32;
  kernel.infer = rlo_infer_elementwise;
  kernel.run = on_host;
  if (rlo_gradient_register(engine, &gradient, 0, NULL) != RLO_OK ||
      rlo_kernel_register(engine, &kernel, 0, NULL) != RLO_OK) {
    return 0;
  }
  kernel.backend_name = RLO_BACKEND_NAME_OPENCL;
  kernel.run = rlo_source_kernel_run;
  kernel.payload = &on_opencl;
  return rlo_kernel_register(engine, &kernel, 0, NULL) == RLO_OK;
}

static rlo_status square(rlo_engine *engine, rlo_tensor *const *xs, int32_t num_xs,
                         rlo_saver *saver, rlo_tensor **ys, int32_t num_ys, void *payload) {
  rlo_status status = rlo_saver_save(saver, xs[0]);
  return status == RLO_OK ? rlo_op_multiply(xs[0], xs[0], &ys[0]) : status;
}

static rlo_status abs_dx(rlo_gradient_call *call, void *payload) {
  rlo_tensor *size = NULL;
  rlo_status status = rlo_op_abs(call->saved[0], &size);
  status = status == RLO_OK ? rlo_op_multiply(call->dys[0], size, &call->dxs[0]) : status;
  rlo_tensor_release(size);
  return status;
}

/** Prints the gradient of the square of a LeakyRelu. The scope releases all tensors. */
static int run(rlo_engine *engine, const char *backend) {
  const float data[3] = {-2, -1, 3};
  const rlo_attribute alpha = rlo_attribute_f64("alpha", 0.5);
  const rlo_attributes attributes = {&alpha, 1};
  float dx[3] = {0};
  rlo_shape shape;
  rlo_scope *scope = NULL;
  rlo_tape *tape = NULL;
  rlo_tensor *t[4] = {NULL};
  int is_right =
      rlo_backend_set(engine, backend) == RLO_OK && rlo_scope_begin(engine, &scope) == RLO_OK &&
      rlo_shape_parse("f32[3]", 6, &shape) == RLO_OK &&
      rlo_tensor_create(engine, &shape, data, &t[0]) == RLO_OK &&
      rlo_tape_begin(engine, &tape) == RLO_OK &&
      rlo_run_kernel(engine, "LeakyRelu", &t[0], 1, &attributes, &t[1], 1, NULL) == RLO_OK &&
      rlo_custom_gradient(engine, "Square", square, abs_dx, NULL, &t[1], 1, &t[2], 1) == RLO_OK &&
      rlo_tape_gradients(tape, t[2], NULL, &t[0], 1, 0, &t[3]) == RLO_OK &&
      rlo_tensor_read(t[3], dx, sizeof dx) == RLO_OK;
  is_right = rlo_tape_end(tape) == RLO_OK && rlo_scope_end(scope) == RLO_OK && is_right;
  printf("%s: %g %g %g\n", backend, (double)dx[0], (double)dx[1], (double)dx[2]);
  return is_right;
}

int main(void) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_engine *engine = NULL;
  int is_right = rlo_context_create_default(-1, NULL, &options.context) == RLO_OK &&
                 rlo_engine_create(&options, &engine) == RLO_OK && register_leaky_relu(engine) &&
                 run(engine, RLO_BACKEND_NAME_HOST) && run(engine, RLO_BACKEND_NAME_OPENCL);
  fputs(is_right ? "" : rlo_error_last()->message, stderr);
  rlo_engine_release(engine);
  rlo_context_release(options.context);
  return is_right ? 0 : 1;
}
