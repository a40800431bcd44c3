/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of one's own on two backends, and an operation that runs it. Built
 * into a shared object that sees nothing but the installed library.
 */
#include "multiply.h"

#include <relayout/engine_opencl.h>

// [snippet multiply/host]
static rlo_status run_on_host(rlo_kernel_call *call, void *payload) {
  const void *a_data = NULL;
  const void *b_data = NULL;
  void *y_data = NULL;
  (void)payload;
  rlo_status status = rlo_tensor_host_data(call->inputs[0], &a_data);
  if (status == RLO_OK) {
    status = rlo_tensor_host_data(call->inputs[1], &b_data);
  }
  if (status == RLO_OK) {
    status = rlo_kernel_output_host_data(call, 0, &y_data);
  }
  if (status == RLO_OK) {
    const float *a = a_data;
    const float *b = b_data;
    float *y = y_data;
    const int64_t count = rlo_tensor_bytes(call->inputs[0]) / 4;
    for (int64_t i = 0; i < count; ++i) {
      y[i] = a[i] * b[i];
    }
  }
  return status;
}

// [/snippet]

// [snippet multiply/opencl]
static const char source[] =
    "__kernel void multiply(__global const float *a, __global const float *b,\n"
    "                       __global float *y) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] = a[i] * b[i];\n"
    "}\n";

/* One work-item for each element of the result, as no range is given. */
static rlo_source_kernel on_opencl = {
    .struct_size = sizeof(rlo_source_kernel),
    .source = source,
    .function = "multiply",
};

// [/snippet]

// [snippet multiply/register]
rlo_status example_multiply_register(rlo_engine *engine) {
  static const char *const names[] = {"a", "b"};
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Product";
  config.min_inputs = 2;
  config.max_inputs = 2;
  config.input_names = names;
  config.num_input_names = 2;
  config.input_type = RLO_DTYPE_F32;
  config.infer = rlo_infer_elementwise;

  config.backend_name = "host";
  config.run = run_on_host;
  rlo_status status = rlo_kernel_register(engine, &config, 0, NULL);
  if (status != RLO_OK) {
    return status;
  }
  config.backend_name = "opencl";
  config.run = rlo_source_kernel_run;
  config.payload = &on_opencl;
  return rlo_kernel_register(engine, &config, 0, NULL);
}

// [/snippet]

// [snippet multiply/operation]
rlo_status example_multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y) {
  rlo_tensor *const inputs[] = {a, b};
  return rlo_run_kernel(rlo_tensor_engine(a), "Product", inputs, 2, NULL, out_y, 1, NULL);
}

// [/snippet]
