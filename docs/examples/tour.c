/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a program over an engine: a kernel for the host and for OpenCL,
 * an operation that runs it, its gradient, a scope that releases tensors, and a
 * profile.
 */
#include <relayout/backend.h>
#include <relayout/engine_opencl.h>
#include <relayout/engine_ops.h>
#include <relayout/gradient.h>
#include <relayout/profile.h>
#include <relayout/relayout.h>
#include <relayout/scope.h>
#include <stdio.h>

/* The kernel "Product", y = a * b, of row-major arrays of f32. */
static const char *const input_names[] = {"a", "b"};

static rlo_status run_on_host(rlo_kernel_call *call, void *payload) {
  const void *a = NULL;
  const void *b = NULL;
  void *y = NULL;
  (void)payload;
  rlo_status status = rlo_tensor_host_data(call->inputs[0], &a);
  if (status == RLO_OK) {
    status = rlo_tensor_host_data(call->inputs[1], &b);
  }
  if (status == RLO_OK) {
    status = rlo_kernel_output_host_data(call, 0, &y);
  }
  if (status == RLO_OK) {
    const int64_t count = rlo_tensor_bytes(call->inputs[0]) / 4;
    for (int64_t i = 0; i < count; ++i) {
      ((float *)y)[i] = ((const float *)a)[i] * ((const float *)b)[i];
    }
  }
  return status;
}

static const char source[] =
    "__kernel void multiply(__global const float *a, __global const float *b,\n"
    "                       __global float *y) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] = a[i] * b[i];\n"
    "}\n";

static rlo_source_kernel on_opencl = {
    .struct_size = sizeof(rlo_source_kernel),
    .source = source,
    .function = "multiply",
};

/* da = dy * b and db = dy * a, of those that are wanted. */
static rlo_status multiply_gradient(rlo_gradient_call *call, void *payload) {
  rlo_status status = RLO_OK;
  (void)payload;
  for (int32_t n = 0; n < 2 && status == RLO_OK; ++n) {
    rlo_tensor *other = NULL;
    if (!call->wants[n]) {
      continue;
    }
    status = rlo_gradient_saved(call, input_names[1 - n], 0, &other);
    if (status == RLO_OK) {
      const rlo_named_tensor inputs[] = {{"a", call->dys[0]}, {"b", other}};
      status =
          rlo_run_kernel_named(call->engine, "Product", inputs, 2, NULL, &call->dxs[n], 1, NULL);
    }
  }
  return status;
}

static rlo_status register_multiply(rlo_engine *engine) {
  rlo_kernel_config kernel = RLO_KERNEL_CONFIG_INIT;
  rlo_gradient_config gradient = RLO_GRADIENT_CONFIG_INIT;
  kernel.kernel_name = "Product";
  kernel.min_inputs = 2;
  kernel.max_inputs = 2;
  kernel.input_names = input_names;
  kernel.num_input_names = 2;
  kernel.input_type = RLO_DTYPE_F32;
  kernel.infer = rlo_infer_elementwise;
  kernel.backend_name = "host";
  kernel.run = run_on_host;
  rlo_status status = rlo_kernel_register(engine, &kernel, 0, NULL);
  if (status == RLO_OK) {
    kernel.backend_name = "opencl";
    kernel.run = rlo_source_kernel_run;
    kernel.payload = &on_opencl;
    status = rlo_kernel_register(engine, &kernel, 0, NULL);
  }
  if (status == RLO_OK) {
    gradient.kernel_name = "Product";
    gradient.saved_names = input_names;
    gradient.num_saved_names = 2;
    gradient.run = multiply_gradient;
    status = rlo_gradient_register(engine, &gradient, 0, NULL);
  }
  return status;
}

/* The sum of the squares of x. */
static rlo_status energy(rlo_engine *engine, rlo_tensor *const *xs, int32_t count,
                         rlo_tensor **out_y, void *payload) {
  const rlo_named_tensor inputs[] = {{"a", xs[0]}, {"b", xs[0]}};
  rlo_tensor *squares = NULL;
  (void)count;
  (void)payload;
  rlo_status status = rlo_run_kernel_named(engine, "Product", inputs, 2, NULL, &squares, 1, NULL);
  if (status == RLO_OK) {
    status = rlo_op_sum(squares, NULL, 0, false, out_y);
  }
  rlo_tensor_release(squares);
  return status;
}

/* Energy and gradient at 1, 2, 3. What is made here, the scope releases. */
static rlo_status derive(rlo_engine *engine, float *out_y, float out_dx[3]) {
  const float data[3] = {1, 2, 3};
  const int64_t size = 3;
  rlo_shape shape;
  rlo_scope *scope = NULL;
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *dx = NULL;
  rlo_status status = rlo_scope_begin(engine, &scope);
  if (status == RLO_OK) {
    status = rlo_shape_make(RLO_DTYPE_F32, &size, 1, &shape);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_create(engine, &shape, data, &x);
  }
  if (status == RLO_OK) {
    status = rlo_value_and_gradients(engine, energy, NULL, &x, 1, NULL, 0, &y, &dx);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_read(y, out_y, sizeof *out_y);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_read(dx, out_dx, 3 * sizeof *out_dx);
  }
  rlo_status ended = rlo_scope_end(scope);
  return status == RLO_OK ? ended : status;
}

/* A kernel that ran; one within another one comes before it. */
static void print_run(const rlo_profile_entry *entry, void *payload) {
  int64_t begin_ns = 0;
  int64_t ns = 0;
  bool is_timed = rlo_profile_device_time(entry, &begin_ns, &ns) == RLO_OK;
  (void)payload;
  printf("  %*s%s: %lld bytes in, %lld out%s\n", 2 * entry->depth, "", entry->name,
         (long long)entry->input_bytes, (long long)entry->output_bytes,
         is_timed ? ", timed by the device" : "");
}

static rlo_status run(rlo_engine *engine, const char *backend) {
  float y = 0;
  float dx[3] = {0};
  rlo_status status = rlo_backend_set(engine, backend);
  printf("%s:\n", backend);
  if (status == RLO_OK) {
    status = rlo_profile_begin(engine, print_run, NULL);
  }
  if (status == RLO_OK) {
    status = derive(engine, &y, dx);
  }
  if (status == RLO_OK) {
    status = rlo_profile_end(engine);
  }
  if (status == RLO_OK) {
    printf("  energy %g, gradient %g %g %g, %lld tensors left\n", (double)y, (double)dx[0],
           (double)dx[1], (double)dx[2], (long long)rlo_engine_live_tensors(engine));
  }
  return status;
}

int main(void) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_engine *engine = NULL;
  options.is_profiling = true;
  rlo_status status = rlo_context_create_default(-1, NULL, &options.context);
  if (status == RLO_OK) {
    status = rlo_engine_create(&options, &engine);
  }
  if (status == RLO_OK) {
    status = register_multiply(engine);
  }
  if (status == RLO_OK) {
    status = run(engine, "host");
  }
  if (status == RLO_OK) {
    status = run(engine, "opencl");
  }
  if (status != RLO_OK) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
  }
  rlo_engine_release(engine);
  rlo_context_release(options.context);
  return status == RLO_OK ? 0 : 1;
}
