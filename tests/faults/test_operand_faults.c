/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The library does not guess the facts of a queue or a memory that the driver
 * does not state: the enqueue fails with the call that failed, and enqueues
 * nothing.
 */
#include <string.h>

#include "base/alloc.h"
#include "cl_faults.h"
#include "runtime/plan_handle.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(300);

static rlo_plan *plan_transpose(void) {
  static rlo_problem problem;
  test_plan_lower("f32[6,10]", "f32[10,6]", "1,0", &problem);
  rlo_plan *plan = test_context_plan(device.context, &problem, NULL);
  expect_ok(rlo_plan_prepare(plan));
  return plan;
}

RLO_TEST(test_operand_faults__every_query_of_an_enqueue_counts) {
  enum { BYTES = 1024, NUM_QUERIES = 10 };

  cl_context context = rlo_context_cl_context(device.context);
  cl_device_id id = rlo_context_cl_device(device.context);
  cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
  cl_mem src = clCreateBuffer(context, 0, BYTES, NULL, NULL);
  cl_mem dst = clCreateBuffer(context, 0, BYTES, NULL, NULL);
  ck_assert(queue != NULL && src != NULL && dst != NULL);
  rlo_plan *plan = plan_transpose();
  int num_queries = 0;
  bool is_more = true;
  for (int32_t call = 0; is_more; ++call) {
    const cl_fault fault = {CL_FAULT_ONCE, call, CL_OUT_OF_RESOURCES};
    cl_event event = NULL;
    cl_faults_begin(&fault);
    rlo_status status = rlo_enqueue(plan, queue, src, 0, dst, 0, 0, NULL, &event);
    is_more = cl_faults_end() > call;
    if (is_more && strncmp(cl_faults_function(), "clGet", 5) == 0) {
      ck_assert_int_ne(status, RLO_OK);
      ck_assert_str_eq(rlo_error_last()->cl_call, cl_faults_function());
      ck_assert_int_eq(rlo_error_last()->cl_code, CL_OUT_OF_RESOURCES);
      ck_assert_ptr_null(event);
      ++num_queries;
    }
    if (event != NULL) {
      expect_cl(clWaitForEvents(1, &event));
      clReleaseEvent(event);
    }
  }
  /* One of the queue, and five of each memory at least. */
  ck_assert_int_ge(num_queries, NUM_QUERIES);
  rlo_plan_release(plan);
  clReleaseMemObject(dst);
  clReleaseMemObject(src);
  clReleaseCommandQueue(queue);
}

/* A kernel is taken from its program's pool, and made where others have all:
 * what fails then fails the enqueue. */
RLO_TEST(test_operand_faults__a_kernel_that_is_not_made_is_not_enqueued) {
  enum { BYTES = 1024 };

  cl_context context = rlo_context_cl_context(device.context);
  cl_mem src = clCreateBuffer(context, 0, BYTES, NULL, NULL);
  cl_mem dst = clCreateBuffer(context, 0, BYTES, NULL, NULL);
  ck_assert(src != NULL && dst != NULL);
  rlo_plan *plan = plan_transpose();
  rlo__program *program = atomic_load(&plan->steps[0].aligned.planned->program);
  ck_assert_ptr_nonnull(program);
  rlo__pooled_kernel *taken[2] = {NULL, NULL};
  for (int n = 0; n < 2; ++n) {
    expect_ok(rlo__program_take_kernel(program, &taken[n]));
  }
  int num_refused = 0;
  bool is_more = true;
  for (int32_t call = 0; is_more && num_refused == 0; ++call) {
    const cl_fault fault = {CL_FAULT_ONCE, call, CL_OUT_OF_RESOURCES};
    cl_event event = NULL;
    cl_faults_begin(&fault);
    rlo_status status = rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, &event);
    is_more = cl_faults_end() > call;
    if (strcmp(cl_faults_function(), "clCreateKernel") == 0) {
      ck_assert_int_ne(status, RLO_OK);
      ck_assert_str_eq(rlo_error_last()->cl_call, "clCreateKernel");
      ck_assert_int_eq(rlo_error_last()->cl_code, CL_OUT_OF_RESOURCES);
      ck_assert_ptr_null(event);
      ++num_refused;
    }
    if (event != NULL) {
      clReleaseEvent(event);
    }
  }
  ck_assert_int_eq(num_refused, 1);
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, NULL),
                   RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  for (int n = 0; n < 2; ++n) {
    rlo__program_give_kernel(program, taken[n]);
  }
  rlo_plan_release(plan);
  clReleaseMemObject(dst);
  clReleaseMemObject(src);
}

/* A number of a device without a sound default is asked for or not known. */
RLO_TEST(test_operand_faults__no_number_of_a_device_is_guessed) {
  enum { NUM_FACTS = 3, NUM_NUMBERS = 9 };

  cl_device_id id = rlo_context_cl_device(device.context);
  int num_refused = 0;
  bool is_more = true;
  for (int32_t call = 0; is_more; ++call) {
    const cl_fault fault = {CL_FAULT_ONCE, call, CL_OUT_OF_RESOURCES};
    rlo_device_info info = RLO_DEVICE_INFO_INIT;
    cl_faults_begin(&fault);
    rlo_status status = rlo_device_query(id, &info);
    is_more = cl_faults_end() > call;
    if (status != RLO_OK) {
      ck_assert_str_eq(rlo_error_last()->cl_call, "clGetDeviceInfo");
      ck_assert_int_eq(rlo_error_last()->cl_code, CL_OUT_OF_RESOURCES);
      ++num_refused;
    }
  }
  ck_assert_int_eq(num_refused, NUM_FACTS + NUM_NUMBERS);
}

/* The call that is named is the one that failed, and not a later one that could
 * not do without it. */
RLO_TEST(test_operand_faults__a_context_names_the_call) {
  cl_context cl = rlo_context_cl_context(device.context);
  cl_device_id id = rlo_context_cl_device(device.context);
  int num_named = 0;
  bool is_more = true;
  for (int32_t call = 0; is_more; ++call) {
    const cl_fault fault = {CL_FAULT_ONCE, call, CL_OUT_OF_RESOURCES};
    rlo_context *context = NULL;
    cl_faults_begin(&fault);
    rlo_status status = rlo_context_create(cl, id, NULL, &context);
    is_more = cl_faults_end() > call;
    if (status != RLO_OK) {
      ck_assert_str_eq(rlo_error_last()->cl_call, cl_faults_function());
      ck_assert_int_eq(rlo_error_last()->cl_code, CL_OUT_OF_RESOURCES);
      ++num_named;
    }
    rlo_context_release(context);
  }
  ck_assert_int_gt(num_named, 10);
}
