/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/factors.h"
#include "support/plan_case.h"
#include "support/shape_of.h"
#include "support/suite.h"

RLO_TIMEOUT(120);

RLO_TEST(test_context__lists_devices_with_one_default) {
  int32_t count = 0;
  expect_ok(rlo_device_list(NULL, 0, 0, &count));
  ck_assert_int_ge(count, 1);
  rlo_device_entry *entries = calloc((size_t)count, sizeof *entries);
  ck_assert_ptr_nonnull(entries);
  int32_t again = 0;
  expect_ok(rlo_device_list(entries, sizeof entries[0], count, &again));
  ck_assert_int_eq(again, count);
  int32_t defaults = 0;
  for (int32_t i = 0; i < count; ++i) {
    const rlo_device_entry *e = &entries[i];
    printf("%d: %s: %s\n", (int)i, e->device_name, e->reason);
    ck_assert_int_eq(e->device_number, i);
    ck_assert_str_ne(e->device_name, "");
    ck_assert_str_ne(e->platform_name, "");
    ck_assert_str_ne(e->device_version, "");
    ck_assert_str_ne(e->driver_version, "");
    ck_assert_str_ne(e->reason, "");
    rlo_device_info info = RLO_DEVICE_INFO_INIT;
    expect_ok(rlo_device_query(e->device, &info));
    ck_assert_int_ge(info.compute_units, 1);
    ck_assert_int_ge(info.max_work_group_items, 1);
    ck_assert_int_ge(info.base_alignment_bytes, 1);
    ck_assert_int_ge(info.max_parameter_bytes, 256);
    ck_assert(info.address_bits == 32 || info.address_bits == 64);
    defaults += e->is_default;
  }
  ck_assert_int_eq(defaults, 1);
  ck_assert_int_eq(rlo_device_list(NULL, sizeof entries[0], 1, &count), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_device_list(entries, sizeof entries[0], 1, NULL), RLO_INVALID_ARGUMENT);
  free(entries);
}

RLO_TEST(test_context__finds_devices_by_name) {
  int32_t count = 0;
  rlo_device_entry entries[16];
  expect_ok(rlo_device_list(entries, sizeof entries[0], 16, &count));
  for (int32_t i = 0; i < count && i < 16; ++i) {
    const rlo_device_entry *found = NULL;
    int32_t number = -1;
    expect_ok(rlo_device_find(entries[i].device_name, &number));
    ck_assert(number >= 0 && number < count);
    found = &entries[number];
    ck_assert_ptr_nonnull(strstr(found->device_name, entries[i].device_name));
  }
  int32_t number = -7;
  expect_refusal_with(rlo_device_find("no such driver", &number), RLO_NOT_FOUND,
                      "'no such driver'");
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, entries[0].device_name));
  ck_assert_int_eq(rlo_device_find("", &number), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_device_find(NULL, &number), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_device_find("x", NULL), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(number, -7);
}

/* The case of letters does not count, and versions are searched too: PoCL has
 * its name there only. */
RLO_TEST(test_context__finds_pocl) {
  int32_t numbers[3] = {-1, -2, -3};
  int32_t count = 0;
  rlo_device_entry entries[16];
  expect_ok(rlo_device_list(entries, sizeof entries[0], 16, &count));
  bool is_here = false;
  for (int32_t i = 0; i < count && i < 16; ++i) {
    is_here = is_here || strcmp(entries[i].platform_name, "Portable Computing Language") == 0;
  }
  if (!is_here) {
    return;
  }
  expect_ok(rlo_device_find("PoCL", &numbers[0]));
  expect_ok(rlo_device_find("pocl", &numbers[1]));
  expect_ok(rlo_device_find("portable COMPUTING", &numbers[2]));
  ck_assert_int_eq(numbers[0], numbers[1]);
  ck_assert_int_eq(numbers[0], numbers[2]);
}

RLO_TEST(test_context__knows_the_cpu_of_pocl) {
  int32_t count = 0;
  rlo_device_entry entries[16];
  expect_ok(rlo_device_list(entries, sizeof entries[0], 16, &count));
  for (int32_t i = 0; i < count && i < 16; ++i) {
    if (strcmp(entries[i].platform_name, "Portable Computing Language") == 0 &&
        entries[i].type == CL_DEVICE_TYPE_CPU) {
      rlo_device_info info = RLO_DEVICE_INFO_INIT;
      expect_ok(rlo_device_query(entries[i].device, &info));
      ck_assert_int_eq(info.device_class, RLO_DEVICE_CLASS_CPU);
      ck_assert(info.has_nontemporal_store);
      ck_assert(info.has_builtin_prefetch);
      ck_assert(info.has_vector_shuffle);
      ck_assert_int_eq(info.base_alignment_bytes, 128);
    }
  }
}

/* A device's compiler accepts the extensions that src/runtime/device.c states,
 * and their code does what it should. */
static const char extension_source[] =
    "typedef uint v4 __attribute__((ext_vector_type(4)));\n"
    "__kernel void probe(__global const uint *x, __global uint *y) {\n"
    "  v4 v = (v4)(x[0], x[1], x[2], x[3]);\n"
    "#ifdef PREFETCH\n"
    "  __builtin_prefetch((__global const void *)(x + 4), 0, 3);\n"
    "#endif\n"
    "#ifdef SHUFFLE\n"
    "  v = __builtin_shufflevector(v, v, 3, 2, 1, 0);\n"
    "#else\n"
    "  v = v.wzyx;\n"
    "#endif\n"
    "#ifdef STORE\n"
    "  __builtin_nontemporal_store(v, (__global v4 *)y);\n"
    "#else\n"
    "  *(__global v4 *)y = v;\n"
    "#endif\n"
    "}\n";

static void probe_extensions(const rlo_device_entry *entry) {
  rlo_device_info info = RLO_DEVICE_INFO_INIT;
  expect_ok(rlo_device_query(entry->device, &info));
  char options[64];
  (void)snprintf(options, sizeof options, "%s %s %s", info.has_builtin_prefetch ? "-DPREFETCH" : "",
                 info.has_vector_shuffle ? "-DSHUFFLE" : "",
                 info.has_nontemporal_store ? "-DSTORE" : "");
  const char *text = extension_source;
  cl_uint numbers[8] = {10, 11, 12, 13};
  const size_t one = 1;
  cl_int codes[10] = {CL_SUCCESS};
  cl_context cl = clCreateContext(NULL, 1, &entry->device, NULL, NULL, &codes[0]);
  cl_command_queue queue = clCreateCommandQueue(cl, entry->device, 0, &codes[1]);
  cl_program program = clCreateProgramWithSource(cl, 1, &text, NULL, &codes[2]);
  codes[3] = clBuildProgram(program, 1, &entry->device, options, NULL, NULL);
  ck_assert_msg(codes[3] == CL_SUCCESS, "%s does not compile with %s", entry->device_name, options);
  cl_kernel kernel = clCreateKernel(program, "probe", &codes[4]);
  cl_mem x = clCreateBuffer(cl, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers,
                            &codes[5]);
  cl_mem y = clCreateBuffer(cl, CL_MEM_READ_WRITE, sizeof numbers, NULL, &codes[6]);
  codes[7] = clSetKernelArg(kernel, 0, sizeof x, &x) | clSetKernelArg(kernel, 1, sizeof y, &y);
  codes[8] = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
  codes[9] =
      clEnqueueReadBuffer(queue, y, CL_TRUE, 0, 4 * sizeof numbers[0], numbers, 0, NULL, NULL);
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    expect_cl(codes[i]);
  }
  for (cl_uint i = 0; i < 4; ++i) {
    ck_assert_uint_eq(numbers[i], 13 - i);
  }
  clReleaseMemObject(x);
  clReleaseMemObject(y);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(cl);
}

RLO_TEST(test_context__compilers_take_what_is_said) {
  int32_t count = 0;
  rlo_device_entry entries[16];
  expect_ok(rlo_device_list(entries, sizeof entries[0], 16, &count));
  for (int32_t i = 0; i < count && i < 16; ++i) {
    probe_extensions(&entries[i]);
  }
}

RLO_TEST(test_context__wraps_and_releases_what_it_retained) {
  test_device device = test_device_open();
  cl_context wrapped = rlo_context_cl_context(device.context);
  cl_device_id id = rlo_context_cl_device(device.context);
  cl_uint before = 0;
  cl_uint after = 0;
  expect_cl(clGetContextInfo(wrapped, CL_CONTEXT_REFERENCE_COUNT, sizeof before, &before, NULL));
  rlo_context *context = NULL;
  expect_ok(rlo_context_create(wrapped, id, NULL, &context));
  ck_assert_ptr_eq(rlo_context_retain(context), context);
  rlo_context_release(context);
  ck_assert_ptr_eq(rlo_context_cl_context(context), wrapped);
  rlo_context_release(context);
  rlo_context_release(NULL);
  expect_cl(clGetContextInfo(wrapped, CL_CONTEXT_REFERENCE_COUNT, sizeof after, &after, NULL));
  ck_assert_uint_eq(after, before);
  test_device_close(&device);
}

/* Each has its programs and its budget; the objects of OpenCL are everybody's. */
RLO_TEST(test_context__several_on_one_cl_context) {
  const rlo_problem problem = test_problem_of("f32[8,9]", "f32[8,9]{0,1}", NULL);
  test_device device = test_device_open();
  rlo_context *second = NULL;
  rlo_plan *plan = NULL;
  cl_mem buffers[2] = {NULL, NULL};
  expect_ok(rlo_context_create(rlo_context_cl_context(device.context),
                               rlo_context_cl_device(device.context), NULL, &second));
  expect_ok(rlo_buffer_create(device.context, problem.src_bytes, &buffers[0]));
  expect_ok(rlo_buffer_create(second, problem.dst_bytes, &buffers[1]));
  expect_ok(rlo_plan_create(second, &problem, NULL, &plan));
  expect_ok(rlo_enqueue(plan, device.queue, buffers[0], 0, buffers[1], 0, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  const rlo_context_stats first_stats = test_context_stats(device.context);
  const rlo_context_stats stats = test_context_stats(second);
  ck_assert_int_eq(first_stats.launches, 0);
  ck_assert_int_eq(first_stats.buffer_bytes, problem.src_bytes);
  ck_assert_int_eq(stats.launches, 1);
  ck_assert_int_eq(stats.programs_built + stats.disk_hits, 1);
  ck_assert_int_eq(stats.buffer_bytes, problem.dst_bytes);
  rlo_plan_release(plan);
  rlo_buffer_release(device.context, buffers[0]);
  rlo_buffer_release(second, buffers[1]);
  rlo_context_release(second);
  test_device_close(&device);
}

RLO_TEST(test_context__refuses_what_makes_no_sense) {
  test_device device = test_device_open();
  cl_context wrapped = rlo_context_cl_context(device.context);
  cl_device_id id = rlo_context_cl_device(device.context);
  rlo_context *none = device.context;
  ck_assert_int_eq(rlo_context_create(NULL, id, NULL, &none), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(none);
  ck_assert_int_eq(rlo_context_create(wrapped, NULL, NULL, &none), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_context_create(wrapped, id, NULL, NULL), RLO_INVALID_ARGUMENT);
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.struct_size = 0;
  ck_assert_int_eq(rlo_context_create(wrapped, id, &options, &none), RLO_INVALID_ARGUMENT);
  options.struct_size = sizeof options + 1;
  ck_assert_int_eq(rlo_context_create(wrapped, id, &options, &none), RLO_INVALID_ARGUMENT);
  options.struct_size = sizeof options;
  options.memory_budget_bytes = -1;
  ck_assert_int_eq(rlo_context_create(wrapped, id, &options, &none), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_context_create_default(1000, NULL, &none), RLO_NOT_FOUND);
  ck_assert_int_eq(rlo_context_create_default(-2, NULL, &none), RLO_NOT_FOUND);
  ck_assert_ptr_null(none);
  test_device_close(&device);
}

/* A caller built against a header that knew less. */
RLO_TEST(test_context__takes_a_shorter_options_struct) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.struct_size = offsetof(rlo_context_options, memory_budget_bytes);
  options.memory_budget_bytes = -1; /* beyond what the caller knows of */
  rlo_context *context = NULL;
  expect_ok(rlo_context_create_default(-1, &options, &context));
  rlo_context_release(context);
}

RLO_TEST(test_context__keeps_its_buffers_within_the_budget) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.memory_budget_bytes = 10000;
  rlo_context *context = NULL;
  expect_ok(rlo_context_create_default(-1, &options, &context));
  cl_mem a = NULL;
  cl_mem b = NULL;
  expect_ok(rlo_buffer_create(context, 6000, &a));
  ck_assert_int_eq(rlo_buffer_create(context, 4001, &b), RLO_OUT_OF_MEMORY);
  ck_assert_ptr_null(b);
  ck_assert_str_eq(rlo_error_last()->message,
                   "a buffer of 4001 bytes exceeds the budget: 6000 of 10000 "
                   "bytes are in use");
  expect_ok(rlo_buffer_create(context, 4000, &b));
  rlo_context_stats stats = test_context_stats(context);
  ck_assert_int_eq(stats.buffer_bytes, 10000);
  rlo_buffer_release(context, a);
  rlo_buffer_release(context, b);
  rlo_buffer_release(context, NULL);
  stats = test_context_stats(context);
  ck_assert_int_eq(stats.buffer_bytes, 0);
  ck_assert_int_eq(rlo_buffer_create(context, INT64_MAX, &a), RLO_OUT_OF_MEMORY);
  ck_assert_int_eq(rlo_buffer_create(context, 0, &a), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_buffer_create(context, -5, &a), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_buffer_create(NULL, 5, &a), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_buffer_create(context, 5, NULL), RLO_INVALID_ARGUMENT);
  rlo_context_release(context);
}

typedef struct diary {
  int32_t num_lines[4];
  bool has_build;
} diary;

static void write_down(void *payload, int32_t severity, const char *line) {
  diary *d = payload;
  ck_assert(severity >= 0 && severity <= 3);
  ++d->num_lines[severity];
  if (strncmp(line, "built rlo_", 10) == 0) {
    d->has_build = true;
  }
}

RLO_TEST(test_context__tells_the_log_what_it_does) {
  diary d = {{0}, false};
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.log = write_down;
  options.log_payload = &d;
  rlo_context *context = NULL;
  expect_ok(rlo_context_create_default(-1, &options, &context));
  ck_assert_int_eq(d.num_lines[2], 1);
  rlo_problem problem = test_problem_of("f32[5,6]", "f32[6,5]", "1,0");
  rlo_plan *plan = test_context_plan(context, &problem, NULL);
  expect_ok(rlo_plan_prepare(plan));
  ck_assert(d.has_build);
  ck_assert_int_eq(d.num_lines[0], 0);
  rlo_plan_release(plan);
  rlo_context_release(context);
}

RLO_TEST(test_context__plans_tell_what_they_do) {
  test_device device = test_device_open();
  rlo_problem problem = test_problem_of("f32[64,48]", "f32[48,64]", "1,0");
  rlo_plan *plan = test_context_plan(device.context, &problem, NULL);
  rlo_plan_info info = test_plan_info_of(plan);
  ck_assert_str_ne(info.family, "none");
  ck_assert_str_ne(info.parameters, "");
  ck_assert_int_eq(info.src_bytes, 4 * 64 * 48);
  ck_assert_int_eq(info.dst_bytes, 4 * 64 * 48);
  ck_assert_int_eq(info.read_bytes, 4 * 64 * 48);
  ck_assert_int_eq(info.written_bytes, 4 * 64 * 48);
  ck_assert_ptr_eq(rlo_plan_retain(plan), plan);
  rlo_plan_release(plan);
  info = test_plan_info_of(plan);
  rlo_plan_release(plan);
  rlo_plan_release(NULL);

  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "no_such_family";
  ck_assert_int_eq(rlo_plan_create(device.context, &problem, &options, &plan), RLO_NOT_FOUND);
  ck_assert_ptr_null(plan);
  options.family = "copy";
  ck_assert_int_eq(rlo_plan_create(device.context, &problem, &options, &plan), RLO_UNSUPPORTED);
  ck_assert_int_eq(rlo_plan_create(NULL, &problem, NULL, &plan), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_plan_create(device.context, NULL, NULL, &plan), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_plan_prepare(NULL), RLO_INVALID_ARGUMENT);
  rlo_shape shape = test_shape_of("f32[4]");
  rlo_combine_options doubled = RLO_COMBINE_OPTIONS_INIT;
  doubled.alpha = 2.0;
  expect_ok(rlo_relayout_combine(&shape, &shape, NULL, &doubled, &problem));
  test_set_factors(&problem.arithmetic, 2.0, (double)NAN);
  expect_refusal(rlo_plan_create(device.context, &problem, NULL, &plan), RLO_INVALID_ARGUMENT,
                 "beta is NaN; a factor must be finite");
  rlo_plan_report *report = NULL;
  expect_refusal(rlo_context_explain(device.context, &problem, NULL, 64, 64, &report),
                 RLO_INVALID_ARGUMENT, "beta is NaN; a factor must be finite");
  test_device_close(&device);
}

RLO_TEST(test_context__a_promise_of_alignment_saves_a_program) {
  test_device device = test_device_open();
  rlo_context *context = device.context;
  rlo_problem problem = test_problem_of("f32[64,48]", "f32[48,64]", "1,0");
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.is_aligned = true;
  cl_mem src = NULL;
  cl_mem dst = NULL;
  rlo_plan *plan = test_context_plan(context, &problem, &options);
  expect_ok(rlo_plan_prepare(plan));
  rlo_context_stats promised = test_context_stats(context);
  ck_assert_int_eq(promised.programs_built, 1);
  rlo_plan *plain = test_context_plan(context, &problem, NULL);
  expect_ok(rlo_plan_prepare(plain));
  rlo_context_stats both = test_context_stats(context);
  expect_ok(rlo_buffer_create(context, 4 * 64 * 48 + 64, &src));
  expect_ok(rlo_buffer_create(context, 4 * 64 * 48 + 64, &dst));
  expect_ok(rlo_enqueue(plan, device.queue, src, 64, dst, 64, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  if (both.programs_built > 1) {
    /* The plain plan has a kernel for this, the other one has not. */
    ck_assert_int_eq(rlo_enqueue(plan, device.queue, src, 4, dst, 64, 0, NULL, NULL),
                     RLO_UNSUPPORTED);
    expect_ok(rlo_enqueue(plain, device.queue, src, 4, dst, 64, 0, NULL, NULL));
    expect_cl(clFinish(device.queue));
  }
  rlo_buffer_release(context, src);
  rlo_buffer_release(context, dst);
  rlo_plan_release(plan);
  rlo_plan_release(plain);
  test_device_close(&device);
}

RLO_TEST(test_context__survives_running_out_of_memory) {
  test_device device = test_device_open();
  rlo_problem problem = test_problem_of("f32[31,29]", "f32[29,31]", "1,0");
  int64_t live = rlo__alloc_live_count();
  for (int32_t is_sticky = 0; is_sticky < 2; ++is_sticky) {
    rlo_status status = RLO_OUT_OF_MEMORY;
    int64_t nth = 1;
    for (; status == RLO_OUT_OF_MEMORY; ++nth) {
      ck_assert_int_le(nth, 100);
      rlo_plan *plan = NULL;
      rlo__alloc_set_fault(nth, is_sticky == 1);
      status = rlo_plan_create(device.context, &problem, NULL, &plan);
      rlo__alloc_set_fault(0, false);
      ck_assert(status == RLO_OK || status == RLO_OUT_OF_MEMORY);
      ck_assert((plan != NULL) == (status == RLO_OK));
      rlo_plan_release(plan);
      /* With its wisdom a context forgets what it has planned. */
      rlo_context_clear_wisdom(device.context);
      ck_assert_int_eq(rlo__alloc_live_count(), live);
    }
    ck_assert_int_ge(nth, 4);
  }
  for (int64_t nth = 1;; ++nth) {
    ck_assert_int_le(nth, 100);
    rlo_context *context = NULL;
    rlo__alloc_set_fault(nth, false);
    rlo_status status = rlo_context_create_default(-1, NULL, &context);
    rlo__alloc_set_fault(0, false);
    rlo_context_release(context);
    ck_assert_int_eq(rlo__alloc_live_count(), live);
    if (status == RLO_OK) {
      ck_assert_int_ge(nth, 4);
      break;
    }
    ck_assert_int_eq(status, RLO_OUT_OF_MEMORY);
  }
  test_device_close(&device);
}

/* A child of fork is refused before a driver could hang it. */
RLO_TEST(test_context__refuses_to_work_in_a_child_of_fork) {
  test_device device = test_device_open();
  rlo_problem problem = test_problem_of("f32[5,6]", "f32[6,5]", "1,0");
  rlo_plan *plan = test_context_plan(device.context, &problem, NULL);
  fflush(stdout);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    alarm(300); /* what hangs ends; a slow machine is none */
    rlo_plan *own = NULL;
    cl_mem buffer = NULL;
    double gb_per_s = 0;
    bool is_refused =
        rlo_plan_create(device.context, &problem, NULL, &own) == RLO_UNSUPPORTED &&
        strstr(rlo_error_last()->message, "fork") != NULL &&
        rlo_plan_prepare(plan) == RLO_UNSUPPORTED &&
        rlo_enqueue(plan, device.queue, NULL, 0, NULL, 0, 0, NULL, NULL) == RLO_UNSUPPORTED &&
        rlo_buffer_create(device.context, 64, &buffer) == RLO_UNSUPPORTED &&
        rlo_copy_limit(device.context, 4096, 1, &gb_per_s) == RLO_UNSUPPORTED;
    rlo_plan_release(plan);
    rlo_context_release(device.context);
    _exit(is_refused ? 0 : 1);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  rlo_plan_release(plan);
  test_device_close(&device);
}

RLO_TEST(test_context__measures_the_copy_limit) {
  test_device device = test_device_open();
  double gb_per_s = 0;
  expect_ok(rlo_copy_limit(device.context, 8 << 20, 3, &gb_per_s));
  printf("copy limit over 8 MiB: %.2f GB/s\n", gb_per_s);
  ck_assert(gb_per_s > 0.01 && gb_per_s < 1e5);
  expect_ok(rlo_copy_limit(device.context, 5001, 1, &gb_per_s));
  rlo_context_stats stats = test_context_stats(device.context);
  ck_assert_int_eq(stats.buffer_bytes, 0);
  ck_assert_int_eq(rlo_copy_limit(device.context, 4095, 1, &gb_per_s), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_copy_limit(device.context, 4096, 0, &gb_per_s), RLO_INVALID_ARGUMENT);
  test_device_close(&device);
}
