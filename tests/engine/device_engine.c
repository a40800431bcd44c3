/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "engine_case.h"
#include "relayout/backend.h"
#include "relayout/engine_opencl.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/shape_of.h"

/* An engine on a device: buffers, memory, kernels in OpenCL C. */

/* ------------------------------------------------------------------ buffers */

static void count_release(void *payload) {
  ++*(int *)payload;
}

RLO_FILE_FIXTURE(open_context, close_context);

RLO_TEST(test_engine__wrapped_buffers) {
  begin(false);

  enum { BYTES = 4096, OFFSET = 64 };

  int32_t data[24];
  for (int32_t i = 0; i < 24; ++i) {
    data[i] = 100 + i;
  }
  cl_int code = CL_SUCCESS;
  cl_context cl = rlo_context_cl_context(context);
  cl_command_queue queue = clCreateCommandQueue(cl, rlo_context_cl_device(context), 0, &code);
  expect_cl(code);
  cl_mem buffer = clCreateBuffer(cl, CL_MEM_READ_WRITE, BYTES, NULL, &code);
  expect_cl(code);
  cl_event gate = clCreateUserEvent(cl, &code);
  cl_event ready = NULL;
  expect_cl(code);
  code = clEnqueueWriteBuffer(queue, buffer, CL_FALSE, OFFSET, sizeof data, data, 1, &gate, &ready);
  expect_cl(code);
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  int released = 0;
  rlo_shape shape = test_shape_make(RLO_DTYPE_S32, DIMS(4, 6), 2);
  ck_assert_int_eq(rlo_tensor_wrap_buffer(engine, &shape, NULL, 0, NULL, NULL, NULL, &x),
                   RLO_INVALID_ARGUMENT);
  expect_refusal(rlo_tensor_wrap_buffer(engine, &shape, buffer, BYTES - 64, NULL, count_release,
                                        &released, &x),
                 RLO_OUT_OF_RANGE,
                 "the source needs 96 bytes from offset 4032 on; its memory "
                 "has 4096");
  ck_assert_int_eq(
      rlo_tensor_wrap_buffer(engine, &shape, buffer, 2, NULL, count_release, &released, &x),
      RLO_INVALID_ARGUMENT);
  expect_ok(
      rlo_tensor_wrap_buffer(engine, &shape, buffer, OFFSET, ready, count_release, &released, &x));
  clReleaseMemObject(buffer);
  clReleaseEvent(ready);
  rlo_memory_info memory = RLO_MEMORY_INFO_INIT;
  expect_ok(rlo_engine_get_memory(engine, "opencl", &memory));
  ck_assert_int_eq(memory.external_bytes, sizeof data);
  /* Nothing of this waits yet. */
  expect_ok(rlo_op_transpose(x, NULL, &y));
  cl_mem seen = NULL;
  int64_t offset = -1;
  cl_event made = NULL;
  expect_ok(rlo_tensor_buffer(y, &seen, &offset, &made));
  ck_assert_ptr_nonnull(seen);
  ck_assert_ptr_nonnull(made);
  ck_assert_int_eq(offset, 0);
  cl_int execution = CL_COMPLETE;
  clGetEventInfo(made, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
  ck_assert_int_gt(execution, CL_COMPLETE);
  clSetUserEventStatus(gate, CL_COMPLETE);
  clReleaseEvent(gate);
  clFlush(queue);
  expect_cl(clWaitForEvents(1, &made));
  clReleaseEvent(made);
  clReleaseCommandQueue(queue);
  int32_t got[24];
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_int_eq(got[1], 106);
  expect_ok(rlo_tensor_read(x, got, sizeof got));
  ck_assert_mem_eq(got, data, sizeof data);
  rlo_tensor_release(x);
  ck_assert_int_eq(released, 1);
  rlo_tensor_release(y);
  end();
}

RLO_TEST(test_engine__between_backends) {
  begin(true);
  rlo_tensor *x = count_up(DIMS(3, 4), 2);
  rlo_tensor *t = NULL;
  rlo_tensor *r = NULL;
  ck_assert_str_eq(rlo_tensor_backend_name(x), "opencl");
  expect_ok(rlo_op_transpose(x, NULL, &t));
  /* It keeps the backend that was active when it was asked for. */
  expect_ok(rlo_backend_set(engine, "host"));
  expect_ok(rlo_op_reverse(t, DIMS(0), 1, &r));
  ck_assert_str_eq(rlo_tensor_backend_name(t), "opencl");
  ck_assert_str_eq(rlo_tensor_backend_name(r), "host");
  ck_assert_int_eq(engine_stats().copies, 0);
  int32_t got[12];
  const int32_t wanted[] = {3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8};
  expect_ok(rlo_tensor_read(r, got, sizeof got));
  ck_assert_mem_eq(got, wanted, sizeof wanted);
  ck_assert_int_eq(engine_stats().copies, 1);
  ck_assert_int_eq(engine_stats().copied_bytes, 48);
  rlo_tensor_release(r);
  rlo_tensor_release(t);
  rlo_tensor_release(x);
  end();
}

/* Packed elements are moved by the device. What computes on them it refuses,
 * and the host steps in. */
RLO_LOOP_TEST(test_engine__packed_elements, 0, 2) {
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.is_fusing = _i == 1;
  options.allow_host_fallback = true;
  begin_with(options);
  const rlo_shape shape = test_shape_of("s4[3,3]{1,0:E(4)}");
  const rlo_shape turned = test_shape_of("s4[3,3]{0,1:E(4)}");
  const uint8_t data[] = {0x21, 0x43, 0x65, 0x87, 0x09};
  const uint8_t wanted[] = {0x41, 0x27, 0x85, 0x63, 0x09};
  const int8_t numbers[] = {1, 2, 3, 4, 5, 6, 7, -8, -7};
  uint8_t got[5];
  int8_t got_numbers[9];
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  expect_ok(rlo_tensor_create(engine, &shape, data, &x));
  expect_ok(rlo_op_relayout(x, &turned, &y));
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_mem_eq(got, wanted, sizeof got);
  ck_assert_str_eq(rlo_tensor_backend_name(y), "opencl");
  ck_assert_int_eq(engine_stats().fallbacks, 0);
  rlo_tensor_release(y);
  expect_ok(rlo_op_cast(x, RLO_DTYPE_S8, &y));
  expect_ok(rlo_tensor_read(y, got_numbers, sizeof got_numbers));
  ck_assert_mem_eq(got_numbers, numbers, sizeof numbers);
  ck_assert_str_eq(rlo_tensor_backend_name(y), "host");
  ck_assert_int_eq(engine_stats().fallbacks, 1);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  end();
}

/* ------------------------------------------------------------------- memory */

/* slice, transpose and pad of a sum, read. */
static rlo_status do_some(void) {
  int32_t got[20];
  rlo_shape shape;
  rlo_tensor *x = NULL;
  rlo_tensor *s = NULL;
  rlo_tensor *t = NULL;
  rlo_tensor *p = NULL;
  rlo_status status = rlo_shape_make(RLO_DTYPE_S32, DIMS(4, 5), 2, &shape);
  status = status == RLO_OK ? rlo_tensor_create(engine, &shape, NULL, &x) : status;
  rlo_tensor *const twice[] = {x, x};
  status = status == RLO_OK ? rlo_op_add_n(twice, 2, &s) : status;
  status = status == RLO_OK ? rlo_op_transpose(s, NULL, &t) : status;
  status = status == RLO_OK ? rlo_op_pad(t, DIMS(0, -1), DIMS(0, 1), NULL, NULL, &p) : status;
  status = status == RLO_OK ? rlo_tensor_read(p, got, sizeof got) : status;
  rlo_tensor_release(p);
  rlo_tensor_release(t);
  rlo_tensor_release(s);
  rlo_tensor_release(x);
  return status;
}

/* Each allocation, as on the host, fails once; programs that were built in
 * between stay with the context. */
RLO_TEST(test_engine__memory_runs_out) {
  int64_t nth = 1;
  /* Some failures are tolerated: a table that cannot grow. */
  for (bool is_reached = true; is_reached; ++nth) {
    ck_assert_int_lt(nth, 3000);
    rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
    options.context = context;
    options.is_fusing = true;
    options.checks_leaks = true;
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_engine_create(&options, &engine);
    if (status == RLO_OK) {
      status = do_some();
      is_reached = rlo__alloc_tried_count() >= nth;
      rlo__alloc_set_fault(0, false);
      if (status != RLO_OK) {
        expect_ok(do_some());
      }
      end();
    }
    rlo__alloc_set_fault(0, false);
    ck_assert_msg(status == RLO_OK || status == RLO_OUT_OF_MEMORY, "allocation %lld: %s: %s",
                  (long long)nth, rlo_status_name(status), rlo_error_last()->message);
    ck_assert(is_reached || status == RLO_OK);
  }
  ck_assert_int_gt(nth, 100);
}

/* A device without room says so, and has it again when tensors go. */
RLO_TEST(test_engine__the_budget_of_the_device) {
  rlo_context *small = NULL;
  rlo_context_options limits = RLO_CONTEXT_OPTIONS_INIT;
  limits.memory_budget_bytes = 10000;
  expect_ok(rlo_context_create_default(-1, &limits, &small));
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = small;
  expect_ok(rlo_engine_create(&options, &engine));
  rlo_tensor *x = count_up(DIMS(1000), 1);
  rlo_tensor *y = NULL;
  rlo_tensor *z = NULL;
  expect_ok(rlo_op_reverse(x, DIMS(0), 1, &y));
  expect_refusal(rlo_op_reverse(y, DIMS(0), 1, &z), RLO_OUT_OF_MEMORY,
                 "a buffer of 4000 bytes exceeds the budget: 8000 of 10000 "
                 "bytes are in use");
  rlo_tensor_release(x);
  expect_ok(rlo_op_reverse(y, DIMS(0), 1, &z));
  rlo_tensor_release(z);
  rlo_tensor_release(y);
  /* A small one is kept for the next, and makes way for another size. */
  z = count_up(DIMS(250), 1);
  rlo_tensor_release(z);
  rlo_context_stats stats = test_context_stats(small);
  ck_assert_int_eq(stats.buffer_bytes, 1000);
  z = count_up(DIMS(2400), 1);
  rlo_tensor_release(z);
  ck_assert_int_eq(rlo_engine_live_tensors(engine), 0);
  rlo_engine_release(engine);
  rlo_context_release(small);
}

/* ----------------------------------------------------------------- OpenCL C */

static const char scale_source[] =
    "__kernel void scale(__global const int *x, __global int *y, long n,\n"
    "                    int factor, float shift) {\n"
    "  long i = (long)get_global_id(0);\n"
    "  if (i < n) {\n"
    "    y[i] = x[i] * factor + (int)shift;\n"
    "  }\n"
    "}\n";

static const rlo_source_argument scale_arguments[] = {{RLO_SOURCE_INPUT, 0, NULL},
                                                      {RLO_SOURCE_OUTPUT, 0, NULL},
                                                      {RLO_SOURCE_OUTPUT_ELEMENTS, 0, NULL},
                                                      {RLO_SOURCE_INT, 0, "factor"},
                                                      {RLO_SOURCE_FLOAT, 0, "shift"}};

static const rlo_attribute_spec scale_specs[] = {{"factor", RLO_ATTRIBUTE_I64, true},
                                                 {"shift", RLO_ATTRIBUTE_F64, true}};

static rlo_kernel_config scale_config(const rlo_source_kernel *kernel) {
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  config.kernel_name = "Scale";
  config.backend_name = "opencl";
  config.attributes = scale_specs;
  config.num_attributes = 2;
  config.infer = rlo_infer_elementwise;
  config.run = rlo_source_kernel_run;
  config.payload = (void *)(uintptr_t)kernel;
  return config;
}

static const rlo_source_kernel scale_kernel = {.struct_size = sizeof(rlo_source_kernel),
                                               .source = scale_source,
                                               .function = "scale",
                                               .arguments = scale_arguments,
                                               .num_arguments = 5};

/* The engine must not call this. */
static rlo_status no_range(const rlo_kernel_call *call, rlo_source_range *out_range) {
  (void)call;
  (void)out_range;
  return RLO_INTERNAL;
}

RLO_TEST(test_engine__kernels_in_opencl_c) {
  static const char broken_source[] = "__kernel void broken(int x) { y; }\n";
  static const rlo_source_kernel broken = {
      .struct_size = sizeof broken, .source = broken_source, .function = "broken"};
  begin(true);
  rlo_kernel_config config = scale_config(&scale_kernel);
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  rlo_tensor *x = count_up(DIMS(3, 4), 2);
  rlo_tensor *none = count_up(DIMS(0, 4), 2);
  rlo_tensor *t = NULL;
  rlo_tensor *y = NULL;
  /* It is no move: what it reads has to be made, itself it never waits. */
  expect_ok(rlo_op_transpose(x, NULL, &t));
  const rlo_attribute items[] = {rlo_attribute_i64("factor", 10), rlo_attribute_f64("shift", 7)};
  const rlo_attributes attributes = {items, 2};
  int64_t before = launches();
  expect_ok(rlo_run_kernel(engine, "Scale", &t, 1, &attributes, &y, 1, NULL));
  ck_assert_int_eq(launches() - before, 2);
  ck_assert(!rlo_tensor_is_pending(y));
  int32_t got[12];
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_int_eq(got[1], 47);
  ck_assert_int_eq(got[11], 117);
  rlo_tensor_release(y);
  rlo_context_stats stats = test_context_stats(context);
  int64_t built = stats.programs_built;
  expect_ok(rlo_run_kernel(engine, "Scale", &x, 1, &attributes, &y, 1, NULL));
  rlo_tensor_release(y);
  /* One of an older header, which has no range. */
  rlo_source_kernel older = scale_kernel;
  older.struct_size = offsetof(rlo_source_kernel, range);
  older.range = no_range;
  config.kernel_name = "Older";
  config.payload = &older;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  expect_ok(rlo_run_kernel(engine, "Older", &x, 1, &attributes, &y, 1, NULL));
  rlo_tensor_release(y);
  older.struct_size = sizeof older + 8;
  expect_refusal(rlo_run_kernel(engine, "Older", &x, 1, &attributes, &y, 1, NULL),
                 RLO_INVALID_ARGUMENT, "the payload of kernel 'Older' is no rlo_source_kernel");
  stats = test_context_stats(context);
  ck_assert_int_eq(stats.programs_built, built);
  before = launches();
  expect_ok(rlo_run_kernel(engine, "Scale", &none, 1, &attributes, &y, 1, NULL));
  ck_assert_int_eq(launches(), before);
  rlo_tensor_release(y);
  /* The value does not fit. */
  const rlo_attribute far[] = {rlo_attribute_i64("factor", INT64_C(1) << 40),
                               rlo_attribute_f64("shift", 7)};
  const rlo_attributes too_far = {far, 2};
  expect_refusal(rlo_run_kernel(engine, "Scale", &x, 1, &too_far, &y, 1, NULL), RLO_OUT_OF_RANGE,
                 "kernel 'Scale': attribute 'factor' is 1099511627776, beyond "
                 "an int");
  config = scale_config(&broken);
  config.kernel_name = "Broken";
  config.attributes = NULL;
  config.num_attributes = 0;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  ck_assert_int_eq(rlo_run_kernel(engine, "Broken", &x, 1, NULL, &y, 1, NULL), RLO_BUILD_FAILED);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->build_log, "y"));
  config.backend_name = "host";
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  expect_ok(rlo_backend_set(engine, "host"));
  expect_refusal(rlo_run_kernel(engine, "Broken", &x, 1, NULL, &y, 1, NULL), RLO_INVALID_ARGUMENT,
                 "kernel 'Broken' is OpenCL C and backend 'host' does not run "
                 "it");
  rlo_tensor_release(t);
  rlo_tensor_release(x);
  rlo_tensor_release(none);
  end();
}

/* Runs Scale by a kernel with other arguments; the refusal is without the
 * beginning, which names the kernel. */
static void expect_misfit(const rlo_source_argument *arguments, int32_t count, rlo_tensor *x,
                          const char *why) {
  const rlo_source_kernel kernel = {.struct_size = sizeof kernel,
                                    .source = scale_source,
                                    .function = "scale",
                                    .arguments = arguments,
                                    .num_arguments = count};
  const rlo_attribute items[] = {rlo_attribute_i64("factor", 10), rlo_attribute_f64("shift", 7)};
  const rlo_attributes attributes = {items, 2};
  rlo_kernel_config config = scale_config(&kernel);
  rlo_tensor *y = NULL;
  int64_t before = launches();
  config.kernel_name = "Misfit";
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  expect_refusal(rlo_run_kernel(engine, "Misfit", &x, 1, &attributes, &y, 1, NULL),
                 RLO_INVALID_ARGUMENT, why);
  ck_assert_int_eq(launches(), before);
  expect_ok(rlo_kernel_unregister(engine, "Misfit", "opencl"));
}

/* A kernel object keeps what it was launched with last. */
RLO_TEST(test_engine__arguments_that_are_left_out) {
  static const rlo_source_argument swapped[] = {{RLO_SOURCE_OUTPUT, 0, NULL},
                                                {RLO_SOURCE_INPUT, 0, NULL},
                                                {RLO_SOURCE_OUTPUT_ELEMENTS, 0, NULL},
                                                {RLO_SOURCE_INT, 0, "factor"},
                                                {RLO_SOURCE_FLOAT, 0, "shift"}};
  static const rlo_source_argument numbers[] = {{RLO_SOURCE_INPUT, 0, NULL},
                                                {RLO_SOURCE_LONG, 0, "factor"},
                                                {RLO_SOURCE_OUTPUT_ELEMENTS, 0, NULL},
                                                {RLO_SOURCE_INT, 0, "factor"},
                                                {RLO_SOURCE_FLOAT, 0, "shift"}};
  rlo_source_argument changed[6];
  begin(true);
  rlo_kernel_config config = scale_config(&scale_kernel);
  const rlo_attribute items[] = {rlo_attribute_i64("factor", 10), rlo_attribute_f64("shift", 7)};
  const rlo_attributes attributes = {items, 2};
  rlo_tensor *x = count_up(DIMS(3, 4), 2);
  rlo_tensor *y = NULL;
  int32_t got[12];
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  expect_ok(rlo_run_kernel(engine, "Scale", &x, 1, &attributes, &y, 1, NULL));
  /* It would write to y, which is alive. */
  expect_misfit(scale_arguments, 1, x,
                "kernel 'Misfit': function 'scale' takes 5 arguments, and 1 "
                "are given: none for argument 1, 'y' (__global int*)");
  expect_misfit(scale_arguments, 4, x,
                "kernel 'Misfit': function 'scale' takes 5 arguments, and 4 "
                "are given: none for argument 4, 'shift' (float)");
  memcpy(changed, scale_arguments, sizeof scale_arguments);
  changed[5] = scale_arguments[4];
  expect_misfit(changed, 6, x,
                "kernel 'Misfit': function 'scale' takes 5 arguments, and 6 "
                "are given");
  expect_misfit(swapped, 5, x,
                "kernel 'Misfit': argument 0 is an output, and function "
                "'scale' takes 'x' (__global const int*) there");
  expect_misfit(numbers, 5, x,
                "kernel 'Misfit': argument 1 is a long, and function 'scale' "
                "takes 'y' (__global int*) there");
  memcpy(changed, scale_arguments, sizeof scale_arguments);
  changed[2] = scale_arguments[3];
  expect_misfit(changed, 5, x,
                "kernel 'Misfit': argument 2 is an int, and function 'scale' "
                "takes 'n' (long) there");
  changed[2] = scale_arguments[2];
  changed[3] = scale_arguments[4];
  expect_misfit(changed, 5, x,
                "kernel 'Misfit': argument 3 is a float, and function 'scale' "
                "takes 'factor' (int) there");
  changed[3] = scale_arguments[0];
  expect_misfit(changed, 5, x,
                "kernel 'Misfit': argument 3 is an input, and function "
                "'scale' takes 'factor' (int) there");
  expect_ok(rlo_tensor_read(y, got, sizeof got));
  ck_assert_int_eq(got[11], 117);
  rlo_tensor_release(y);
  /* A finite number that no float is. */
  const rlo_attribute far[] = {rlo_attribute_i64("factor", 1), rlo_attribute_f64("shift", -1e300)};
  const rlo_attributes too_far = {far, 2};
  expect_refusal(rlo_run_kernel(engine, "Scale", &x, 1, &too_far, &y, 1, NULL), RLO_OUT_OF_RANGE,
                 "kernel 'Scale': attribute 'shift' is -1e+300, beyond a "
                 "float");
  rlo_tensor_release(x);
  end();
}

/* Without a list the function takes inputs, results and attributes, row-major and
 * from the beginning of a buffer wherever the input lies. */
RLO_TEST(test_engine__arguments_without_a_list) {
  static const rlo_source_kernel kernel = {
      .struct_size = sizeof kernel,
      .function = "scale",
      .source =
          "__kernel void scale(__global const int *a, __global const int *b,\n"
          "                    __global int *y, long factor, float shift) {\n"
          "  size_t i = get_global_id(0);\n"
          "  y[i] = a[i] * (int)factor + b[i] + (int)shift;\n"
          "}\n"};
  static const rlo_attribute_spec specs[] = {
      {"factor", RLO_ATTRIBUTE_I64, true}, {"shift", RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, true}};
  const rlo_attribute items[] = {rlo_attribute_i64("factor", 10), rlo_attribute_i64("shift", 7)};
  const rlo_attributes attributes = {items, 2};
  const int32_t by_columns[] = {0, 3, 1, 4, 2, 5};
  int32_t got[6];
  begin(false);
  rlo_kernel_config config = scale_config(&kernel);
  config.max_inputs = 2;
  config.attributes = specs;
  config.input_type = RLO_DTYPE_S32;
  expect_ok(rlo_kernel_register(engine, &config, 0, NULL));
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(rlo_context_cl_context(context), CL_MEM_COPY_HOST_PTR, 24,
                                 (int32_t[]){9, 9, 100, 200, 300, 400}, &code);
  expect_cl(code);
  rlo_tensor *inputs[2] = {NULL, NULL};
  rlo_tensor *y = NULL;
  rlo_shape shape = test_shape_make(RLO_DTYPE_S32, DIMS(2, 2), 2);
  expect_ok(rlo_tensor_wrap_buffer(engine, &shape, buffer, 8, NULL, NULL, NULL, &inputs[0]));
  clReleaseMemObject(buffer);
  shape.layout.minor_to_major[0] = 0;
  shape.layout.minor_to_major[1] = 1;
  expect_ok(rlo_tensor_create(engine, &shape, by_columns, &inputs[1]));
  expect_ok(rlo_run_kernel(engine, "Scale", inputs, 2, &attributes, &y, 1, NULL));
  expect_ok(rlo_tensor_read(y, got, 16));
  ck_assert_mem_eq(got, ((const int32_t[]){1007, 2008, 3010, 4011}), 16);
  rlo_tensor_release(y);
  rlo_tensor_release(inputs[1]);
  expect_ok(rlo_op_cast(inputs[0], RLO_DTYPE_F32, &inputs[1]));
  expect_refusal(rlo_run_kernel(engine, "Scale", inputs, 2, &attributes, &y, 1, NULL),
                 RLO_INVALID_ARGUMENT, "kernel 'Scale': input 1 is of type f32, not s32 (Cast)");
  rlo_tensor_release(inputs[0]);
  rlo_tensor_release(inputs[1]);
  end();
}

/* A factor of 64 bits takes two problems where no double holds it. */
RLO_TEST(test_engine__factors_of_64_bits) {
  const int64_t element = 3;
  const rlo_attribute factor = rlo_attribute_i64("factor", 9007199254740993);
  const rlo_attributes attributes = {&factor, 1};
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  int64_t got = 0;
  begin(true);
  rlo_shape shape = test_shape_make(RLO_DTYPE_S64, DIMS(1), 1);
  expect_ok(rlo_tensor_create(engine, &shape, &element, &x));
  expect_ok(rlo_run_kernel(engine, RLO_KERNEL_NAME_RESCALE, &x, 1, &attributes, &y, 1, NULL));
  expect_ok(rlo_tensor_read(y, &got, sizeof got));
  ck_assert_int_eq(got, 27021597764222979);
  rlo_tensor_release(y);
  rlo_tensor_release(x);
  end();
}

/* A sum of all runs in parts, through scratch memory of the engine's pool, with
 * the bits of the host; sums in flight have scratch memory of their own. */
RLO_TEST(test_engine__sums_of_all_in_parts) {
  enum { ROWS = 1024, COLUMNS = 1025, TIMES = 3 };

  begin(false);
  static float data[ROWS * COLUMNS];
  uint32_t state = 1;
  for (int32_t n = 0; n < ROWS * COLUMNS; ++n) {
    state = state * 1664525 + 1013904223;
    data[n] = (float)(int32_t)state / 3.0F;
  }
  const int64_t dims[] = {0, 1};
  float sums[TIMES + 1];
  rlo_tensor *x = tensor(DIMS(ROWS, COLUMNS), 2, data);
  rlo_tensor *y[TIMES + 1];
  rlo_context_stats before = test_context_stats(context);
  for (int32_t n = 0; n < TIMES; ++n) {
    expect_ok(rlo_op_sum(x, dims, 2, false, &y[n]));
  }
  rlo_context_stats after = test_context_stats(context);
  ck_assert_int_ge(after.launches, before.launches + INT64_C(2) * TIMES);
  expect_ok(rlo_backend_set(engine, "host"));
  rlo_tensor *h = tensor(DIMS(ROWS, COLUMNS), 2, data);
  expect_ok(rlo_op_sum(h, dims, 2, false, &y[TIMES]));
  for (int32_t n = 0; n <= TIMES; ++n) {
    expect_ok(rlo_tensor_read(y[n], &sums[n], sizeof sums[n]));
    ck_assert_mem_eq(&sums[n], &sums[0], sizeof sums[n]);
    rlo_tensor_release(y[n]);
  }
  rlo_tensor_release(x);
  rlo_tensor_release(h);
  end();
}
