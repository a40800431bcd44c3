/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of one's own on two backends, and an operation that runs it. Built
 * into a shared object that sees nothing but the installed library.
 */
#include "multiply.h"

#include <relayout/engine_opencl.h>

// [snippet multiply/infer]
/** Two arrays of f32, of the same dimensions, row-major: what the kernels below
 *  can read. */
static rlo_status infer(const rlo_shape *const *inputs, int32_t num_inputs,
                        const rlo_attributes *attributes, rlo_shape *out_shapes, int32_t capacity,
                        int32_t *out_count, void *payload) {
  rlo_shape plain;
  rlo_status status = rlo_shape_make(RLO_DTYPE_F32, inputs[0]->dims, inputs[0]->rank, &plain);
  if (status != RLO_OK) {
    return status;
  }
  if (!rlo_shape_equal(inputs[0], &plain) || !rlo_shape_equal(inputs[1], &plain)) {
    return rlo_error_set(RLO_INVALID_ARGUMENT,
                         "Product takes two row-major arrays of f32, of the "
                         "same dimensions");
  }
  return rlo_infer_elementwise(inputs, num_inputs, attributes, out_shapes, capacity, out_count,
                              payload);
}

// [/snippet]

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
    "__kernel void multiply(__global const float *a, ulong a_offset,\n"
    "                       __global const float *b, ulong b_offset,\n"
    "                       __global float *y) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] = a[a_offset / 4 + i] * b[b_offset / 4 + i];\n"
    "}\n";

static const rlo_source_argument arguments[] = {
    {RLO_SOURCE_INPUT, 0, NULL},  {RLO_SOURCE_INPUT_OFFSET, 0, NULL},
    {RLO_SOURCE_INPUT, 1, NULL},  {RLO_SOURCE_INPUT_OFFSET, 1, NULL},
    {RLO_SOURCE_OUTPUT, 0, NULL},
};

/* One work-item for each element of the result, as no range is given. */
static rlo_source_kernel on_opencl = {
    .struct_size = sizeof(rlo_source_kernel),
    .source = source,
    .function = "multiply",
    .arguments = arguments,
    .num_arguments = 5,
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
  config.infer = infer;

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
/** The same array, row-major: the very same memory if it is that already. */
static rlo_status row_major(rlo_tensor *x, rlo_tensor **out_y) {
  const rlo_shape *shape = rlo_tensor_shape(x);
  rlo_shape plain;
  rlo_status status = rlo_shape_make(shape->dtype, shape->dims, shape->rank, &plain);
  return status == RLO_OK ? rlo_op_relayout(x, &plain, out_y) : status;
}

rlo_status example_multiply(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y) {
  rlo_tensor *inputs[2] = {NULL, NULL};
  rlo_status status = row_major(a, &inputs[0]);
  if (status == RLO_OK) {
    status = row_major(b, &inputs[1]);
  }
  if (status == RLO_OK) {
    status = rlo_run_kernel(rlo_tensor_engine(a), "Product", inputs, 2, NULL, out_y, 1, NULL);
  }
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  return status;
}

// [/snippet]
