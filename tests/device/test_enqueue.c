/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"

/* A transpose large enough for non-temporal stores, which are fatal where the
 * alignment is not what the plan relied on. Its rows are whole cache lines on
 * both sides, so that the plan does rely on it. */
enum { ROWS = 1088, COLUMNS = 704, ELEMENTS = ROWS * COLUMNS, BYTES = 4 * ELEMENTS };

static rlo_problem transpose;
static uint32_t *values, *expected, *got;

static void begin_file(void) {
  open_device();
  transpose = test_problem_of("f32[1088,704]", "f32[704,1088]", "1,0");
  values = malloc(BYTES);
  expected = malloc(BYTES);
  got = malloc(BYTES);
  ck_assert(values != NULL && expected != NULL && got != NULL);
  test_fill_unique(values, BYTES, 4, 7);
  expect_ok(rlo_problem_run_host(&transpose, values, expected));
}

static void end_file(void) {
  free(values);
  free(expected);
  free(got);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(300);

static cl_mem filled_buffer(void) {
  return test_context_buffer(device.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES,
                             values);
}

static cl_mem sub_buffer(cl_mem parent, size_t origin, size_t bytes) {
  cl_buffer_region region = {origin, bytes};
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  expect_cl(code);
  return buffer;
}

static void expect_result(cl_command_queue queue, cl_mem buffer, size_t offset_bytes,
                          cl_event after) {
  memset(got, 0, BYTES);
  expect_cl(clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset_bytes, BYTES, got, after != NULL,
                                after != NULL ? &after : NULL, NULL));
  ck_assert(memcmp(got, expected, BYTES) == 0);
}

static void sleep_ms(int32_t ms) {
  nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
}

static cl_int status_of(cl_event event) {
  cl_int status = 12345;
  expect_cl(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  return status;
}

static cl_event user_event(void) {
  cl_int code = CL_SUCCESS;
  cl_event event = clCreateUserEvent(rlo_context_cl_context(device.context), &code);
  expect_cl(code);
  return event;
}

RLO_TEST(test_enqueue__in_order_without_events) {
  rlo_plan *plan = test_context_plan(device.context, &transpose, NULL);
  cl_mem src = filled_buffer();
  cl_mem dst = test_context_buffer(device.context, CL_MEM_WRITE_ONLY, BYTES, NULL);
  int64_t before = test_context_stats(device.context).launches;
  expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, NULL));
  ck_assert_int_eq(test_context_stats(device.context).launches, before + 1);
  expect_result(device.queue, dst, 0, NULL);
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  rlo_plan_release(plan);
}

RLO_TEST(test_enqueue__waits_for_the_wait_list) {
  rlo_plan *plan = test_context_plan(device.context, &transpose, NULL);
  cl_mem src = filled_buffer();
  cl_mem dst = test_context_buffer(device.context, CL_MEM_READ_WRITE, BYTES, NULL);
  cl_event gates[2] = {user_event(), user_event()};
  cl_event done = NULL;
  expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 2, gates, &done));
  ck_assert_ptr_nonnull(done);
  expect_cl(clSetUserEventStatus(gates[0], CL_COMPLETE));
  sleep_ms(50);
  ck_assert_int_gt(status_of(done), CL_COMPLETE);
  expect_cl(clSetUserEventStatus(gates[1], CL_COMPLETE));
  expect_result(device.queue, dst, 0, done);
  ck_assert_int_eq(status_of(done), CL_COMPLETE);
  clReleaseEvent(done);
  clReleaseEvent(gates[0]);
  clReleaseEvent(gates[1]);
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  rlo_plan_release(plan);
}

/* There and back, many times over, on a queue that keeps no order: only the
 * events hold the chain together. */
RLO_TEST(test_enqueue__out_of_order_by_events) {
  enum { TURNS = 25 };

  rlo_problem back_problem = test_problem_of("f32[704,1088]", "f32[1088,704]", "1,0");
  rlo_plan *there = test_context_plan(device.context, &transpose, NULL);
  rlo_plan *back = test_context_plan(device.context, &back_problem, NULL);
  cl_command_queue queue = test_device_make_queue(&device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_mem a = test_context_buffer(device.context, CL_MEM_COPY_HOST_PTR, BYTES, values);
  cl_mem b = test_context_buffer(device.context, 0, BYTES, NULL);
  cl_event gate = user_event();
  cl_event last = gate;
  for (int32_t i = 0; i < TURNS; ++i) {
    cl_event done = NULL;
    bool is_there = i % 2 == 0;
    expect_ok(rlo_enqueue(is_there ? there : back, queue, is_there ? a : b, 0, is_there ? b : a, 0,
                          1, &last, &done));
    if (i == 0) {
      expect_cl(clSetUserEventStatus(gate, CL_COMPLETE));
    }
    clReleaseEvent(last);
    last = done;
  }
  expect_result(queue, b, 0, last);
  clReleaseEvent(last);
  clReleaseMemObject(a);
  clReleaseMemObject(b);
  clReleaseCommandQueue(queue);
  rlo_plan_release(there);
  rlo_plan_release(back);
}

RLO_TEST(test_enqueue__sub_buffers_and_halves_of_one_buffer) {
  enum { HALF = (BYTES + 1023) / 1024 * 1024 };

  rlo_plan *plan = test_context_plan(device.context, &transpose, NULL);
  cl_mem whole = test_context_buffer(device.context, CL_MEM_READ_WRITE, 2 * HALF, NULL);
  test_device_write(device.queue, whole, HALF, BYTES, values);
  expect_ok(rlo_enqueue(plan, device.queue, whole, HALF, whole, 0, 0, NULL, NULL));
  expect_result(device.queue, whole, 0, NULL);

  cl_mem low = sub_buffer(whole, 0, HALF);
  cl_mem high = sub_buffer(whole, HALF, HALF);
  expect_ok(rlo_enqueue(plan, device.queue, high, 0, low, 0, 0, NULL, NULL));
  expect_result(device.queue, low, 0, NULL);
  clReleaseMemObject(low);
  clReleaseMemObject(high);
  clReleaseMemObject(whole);
  rlo_plan_release(plan);
}

/* The pointer of the caller is what the kernel sees on a CPU. */
RLO_TEST(test_enqueue__host_memory_that_begins_anywhere) {
  static const size_t begins[][2] = {{0, 0}, {4, 0}, {0, 4}, {4, 60}, {64, 128}, {32, 16}};
  rlo_plan *plan = test_context_plan(device.context, &transpose, NULL);
  uint8_t *src_memory = aligned_alloc(4096, BYTES / 4096 * 4096 + 8192);
  uint8_t *dst_memory = aligned_alloc(4096, BYTES / 4096 * 4096 + 8192);
  ck_assert(src_memory != NULL && dst_memory != NULL);
  for (size_t i = 0; i < sizeof begins / sizeof begins[0]; ++i) {
    memcpy(src_memory + begins[i][0], values, BYTES);
    memset(dst_memory, 0, BYTES);
    cl_mem src = test_context_buffer(device.context, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, BYTES,
                                     src_memory + begins[i][0]);
    cl_mem dst =
        test_context_buffer(device.context, CL_MEM_USE_HOST_PTR, BYTES, dst_memory + begins[i][1]);
    expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, NULL));
    expect_result(device.queue, dst, 0, NULL);
    clReleaseMemObject(src);
    clReleaseMemObject(dst);
  }
  free(src_memory);
  free(dst_memory);
  rlo_plan_release(plan);
}

RLO_TEST(test_enqueue__nothing_to_do_still_yields_an_event) {
  rlo_problem empty = test_problem_of("f32[0,3]", "f32[3,0]", "1,0");
  rlo_plan *plan = test_context_plan(device.context, &empty, NULL);
  rlo_plan_info info = test_plan_info_of(plan);
  ck_assert_str_eq(info.family, "none");
  expect_ok(rlo_plan_prepare(plan));
  int64_t before = test_context_stats(device.context).launches;
  cl_event gate = user_event();
  cl_event done = NULL;
  expect_ok(rlo_enqueue(plan, device.queue, NULL, 0, NULL, 0, 1, &gate, &done));
  ck_assert_ptr_nonnull(done);
  sleep_ms(20);
  ck_assert_int_gt(status_of(done), CL_COMPLETE);
  expect_cl(clSetUserEventStatus(gate, CL_COMPLETE));
  expect_cl(clWaitForEvents(1, &done));
  expect_ok(rlo_enqueue(plan, device.queue, NULL, 0, NULL, 0, 0, NULL, NULL));
  ck_assert_int_eq(test_context_stats(device.context).launches, before);
  clReleaseEvent(done);
  clReleaseEvent(gate);
  rlo_plan_release(plan);
}

/* No source element at all, and a destination that is all padding. */
RLO_TEST(test_enqueue__only_padding_needs_no_source) {
  rlo_problem fill = test_problem_of("f32[0]", "f32[0]{0:pad(9)fill(one)}", NULL);
  rlo_plan *plan = test_context_plan(device.context, &fill, NULL);
  float out[9] = {0};
  cl_mem dst = test_context_buffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   sizeof out, out);
  expect_ok(rlo_enqueue(plan, device.queue, NULL, 0, dst, 0, 0, NULL, NULL));
  test_device_read(device.queue, dst, 0, sizeof out, out);
  for (size_t i = 0; i < 9; ++i) {
    ck_assert(out[i] == 1.0F);
  }
  clReleaseMemObject(dst);
  rlo_plan_release(plan);
}

RLO_TEST(test_enqueue__plan_and_context_may_go_while_in_flight) {
  test_device own = test_device_open();
  cl_context context = rlo_context_cl_context(own.context);
  cl_int code = CL_SUCCESS;
  rlo_plan *plan = test_context_plan(own.context, &transpose, NULL);
  cl_mem src = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, values, &code);
  expect_cl(code);
  cl_mem dst = clCreateBuffer(context, 0, BYTES, NULL, &code);
  expect_cl(code);
  cl_event gate = clCreateUserEvent(context, &code);
  expect_cl(code);
  cl_event done = NULL;
  expect_ok(rlo_enqueue(plan, own.queue, src, 0, dst, 0, 1, &gate, &done));
  rlo_plan_release(plan);
  rlo_context_release(own.context);
  expect_cl(clSetUserEventStatus(gate, CL_COMPLETE));
  expect_result(own.queue, dst, 0, done);
  clReleaseEvent(done);
  clReleaseEvent(gate);
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  clReleaseCommandQueue(own.queue);
}

RLO_TEST(test_enqueue__prepare_builds_all_that_enqueue_needs) {
  rlo_problem problem = test_problem_of("f64[33,70]", "f64[70,33]", "1,0");
  rlo_plan *plan = test_context_plan(device.context, &problem, NULL);
  rlo_context_stats before = test_context_stats(device.context);
  expect_ok(rlo_plan_prepare(plan));
  int64_t prepared = test_context_stats(device.context).programs_built;
  ck_assert_int_gt(prepared, before.programs_built);
  cl_mem src = test_context_buffer(device.context, CL_MEM_READ_WRITE, 8 * 33 * 70 + 8, NULL);
  cl_mem dst = test_context_buffer(device.context, CL_MEM_READ_WRITE, 8 * 33 * 70 + 8, NULL);
  for (int32_t turn = 0; turn < 8; ++turn) {
    int64_t at = turn % 2 * 8;
    expect_ok(rlo_enqueue(plan, device.queue, src, at, dst, at, 0, NULL, NULL));
  }
  expect_cl(clFinish(device.queue));
  rlo_context_stats after = test_context_stats(device.context);
  ck_assert_int_eq(after.programs_built, prepared);
  /* One thread needs one kernel of each program. */
  ck_assert_int_le(after.kernels_created - before.kernels_created,
                   prepared - before.programs_built);

  /* The same problem planned again finds the programs there. */
  rlo_plan *again = test_context_plan(device.context, &problem, NULL);
  expect_ok(rlo_plan_prepare(again));
  ck_assert_int_eq(test_context_stats(device.context).programs_built, prepared);
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  rlo_plan_release(plan);
  rlo_plan_release(again);
}

static bool have_one_kernel(const rlo_problem problems[2]) {
  rlo_plan_report *reports[2];
  for (int32_t n = 0; n < 2; ++n) {
    expect_ok(rlo_plan_explain(&problems[n], rlo_context_device_info(device.context), NULL, 0, 0,
                               &reports[n]));
  }
  bool is_one = strcmp(reports[0]->kernel_name, reports[1]->kernel_name) == 0;
  rlo_plan_report_release(reports[0]);
  rlo_plan_report_release(reports[1]);
  return is_one;
}

/* The same kernel with other numbers: constants of the plan before must not be
 * taken for those of this one. Kernels for devices without local memory may
 * differ, but on PoCL there is one. */
RLO_TEST(test_enqueue__plans_that_share_a_program_take_turns) {
  rlo_problem problems[2] = {test_problem_of("f32[64,128]", "f32[128,64]", "1,0"),
                             test_problem_of("f32[128,64]", "f32[64,128]", "1,0")};
  rlo_plan *plans[2] = {test_context_plan(device.context, &problems[0], NULL),
                        test_context_plan(device.context, &problems[1], NULL)};

  enum { SMALL_BYTES = 4 * 64 * 128 };

  cl_mem src = filled_buffer();
  cl_mem dst = test_context_buffer(device.context, CL_MEM_READ_WRITE, SMALL_BYTES, NULL);
  int64_t before = test_context_stats(device.context).programs_built;
  for (int32_t turn = 0; turn < 12; ++turn) {
    int32_t which = turn / 2 % 2;
    expect_ok(rlo_enqueue(plans[which], device.queue, src, 0, dst, 0, 0, NULL, NULL));
    test_device_read(device.queue, dst, 0, SMALL_BYTES, got);
    static uint32_t wanted[64 * 128];
    expect_ok(rlo_problem_run_host(&problems[which], values, wanted));
    ck_assert(memcmp(got, wanted, SMALL_BYTES) == 0);
  }
  const bool is_shared = have_one_kernel(problems);
  ck_assert(is_shared || !test_is_pocl(device.context));
  ck_assert_int_le(test_context_stats(device.context).programs_built, before + (is_shared ? 1 : 2));
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  rlo_plan_release(plans[0]);
  rlo_plan_release(plans[1]);
}
