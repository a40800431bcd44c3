/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the driver does not tell of a queue or a memory is not guessed: the
 * enqueue fails with the call that failed, and enqueues nothing.
 */
#include <string.h>

#include "cl_faults.h"
#include "support/device_suite.h"
#include "support/shape_of.h"

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(300);

static rlo_plan *plan_transpose(void) {
  static rlo_problem problem;
  rlo_shape src = test_shape_of("f32[6,10]");
  rlo_shape dst = test_shape_of("f32[10,6]");
  rlo_plan *plan = NULL;
  ck_assert_int_eq(
      rlo_relayout_lower(&src, &dst, (const int32_t[]){1, 0}, &problem),
      RLO_OK);
  ck_assert_int_eq(rlo_plan_create(device.context, &problem, NULL, &plan),
                   RLO_OK);
  ck_assert_int_eq(rlo_plan_prepare(plan), RLO_OK);
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
    rlo_status status =
        rlo_enqueue(plan, queue, src, 0, dst, 0, 0, NULL, &event);
    is_more = cl_faults_end() > call;
    if (is_more && strncmp(cl_faults_function(), "clGet", 5) == 0) {
      ck_assert_int_ne(status, RLO_OK);
      ck_assert_str_eq(rlo_error_last()->cl_call, cl_faults_function());
      ck_assert_int_eq(rlo_error_last()->cl_code, CL_OUT_OF_RESOURCES);
      ck_assert_ptr_null(event);
      ++num_queries;
    }
    if (event != NULL) {
      ck_assert_int_eq(clWaitForEvents(1, &event), CL_SUCCESS);
      clReleaseEvent(event);
    }
  }
  /* Of the queue, and five of each memory at least. */
  ck_assert_int_ge(num_queries, NUM_QUERIES);
  rlo_plan_release(plan);
  clReleaseMemObject(dst);
  clReleaseMemObject(src);
  clReleaseCommandQueue(queue);
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
