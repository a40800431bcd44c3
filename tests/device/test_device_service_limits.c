/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs whose arrays are larger than a device's buffers, or than the memory that
 * it may use. */
#include <string.h>

#include "runtime/context.h"
#include "service/service.h"
#include "support/checked_job.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"

static const int64_t KIB = 1024;

RLO_FILE_FIXTURE(open_device, close_device);

/** A problem of each kind, of some hundred KiB. */
typedef enum problem_kind {
  TRANSPOSITION,
  TILES,
  CONVERSION,
  PADDING,
  /** Bytes in the destination that nobody writes. */
  GAPS,
  NUM_PROBLEM_KINDS
} problem_kind;

static const char *make_problem(problem_kind kind, rlo_problem *out) {
  switch (kind) {
    case TRANSPOSITION:
      test_plan_lower("f32[300,500]", "f32[500,300]", "1,0", out);
      return "transposition";
    case TILES:
      test_plan_lower(
          "f32[300,500]", "f32[300,500]{1,0:T(8,128)fill(zero)}", NULL, out);
      return "tiles";
    case CONVERSION:
      test_plan_lower("f32[300,500]", "bf16[300,500]{0,1}", NULL, out);
      return "conversion";
    case PADDING:
      checked_job_pad("f32[300,500]", 3, out);
      return "padding";
    default:
      test_plan_lower("f32[300,500]", "f32[300,500]{0,1:T(8,128)}", NULL, out);
      return "gaps";
  }
}

/* A context on the same device. */
static rlo_context *open_context(int64_t memory_budget_bytes,
                                 int64_t max_buffer_bytes) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  options.memory_budget_bytes = memory_budget_bytes;
  rlo_context *context = NULL;
  expect_ok(rlo_context_create(rlo_context_cl_context(device.context),
                               rlo_context_cl_device(device.context),
                               &options,
                               &context));
  if (max_buffer_bytes > 0) {
    context->device_info.max_allocation_bytes = max_buffer_bytes;
  }
  return context;
}

static rlo_service *open_service(rlo_context *const *contexts,
                                 int32_t num_contexts,
                                 int64_t device_memory_bytes,
                                 bool copies) {
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = 4 * RLO_SERVICE_MIN_HOST_BYTES;
  options.device_memory_bytes = device_memory_bytes;
  options.io_threads = 3;
  expect_ok(
      rlo__service_create(contexts, num_contexts, &options, copies, &service));
  return service;
}

/* ------------------------------------------------------------------ buffers */

static const test_storage_kind kinds[][2] = {
    {TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY},
    {TEST_STORAGE_FILE, TEST_STORAGE_MEMORY},
    {TEST_STORAGE_MEMORY, TEST_STORAGE_FILE},
    {TEST_STORAGE_FILE, TEST_STORAGE_FILE}};

enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

/* No buffer is larger than the device allows, whatever the array: neither a
 * piece's, nor one over the user's memory or over a box. Larger ones are
 * refused where they are made. */
RLO_LOOP_TEST(test_device_service_limits__arrays_beyond_a_buffer,
              0,
              NUM_KINDS * 2) {
  const test_storage_kind *pair = kinds[_i % NUM_KINDS];
  bool copies = _i >= NUM_KINDS;
  rlo_context *context = open_context(0, 96 * KIB);
  rlo_service *service = open_service(&context, 1, 0, copies);
  for (int k = 0; k < NUM_PROBLEM_KINDS; ++k) {
    rlo_problem problem;
    const char *name = make_problem((problem_kind)k, &problem);
    checked_job job;
    checked_job_init(&job, &problem, pair[0], pair[1]);
    checked_job_submit(&job, service);
    checked_job_expect(&job, name);
    rlo_job_info info = checked_job_info(&job);
    ck_assert_int_gt(info.num_pieces, 1);
    ck_assert_int_gt(info.host_bytes_peak, 0);
    checked_job_deinit(&job);
  }
  rlo_service_release(service);
  rlo_context_release(context);
}

/* A side that fits is used where it lies: the other one alone is staged. */
RLO_LOOP_TEST(test_device_service_limits__one_side_beyond_a_buffer, 0, 2) {
  rlo_problem problem;
  /* 600,000 bytes from or to 300,000. */
  test_plan_lower(_i == 0 ? "f32[300,500]" : "bf16[300,500]",
                  _i == 0 ? "bf16[300,500]{0,1}" : "f32[300,500]{0,1}",
                  NULL,
                  &problem);
  rlo_context *context = open_context(0, 300000);
  rlo_service *service = open_service(&context, 1, 0, false);
  checked_job job;
  checked_job_init(&job, &problem, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  job.options.host_memory_bytes = 400 * KIB;
  checked_job_submit(&job, service);
  checked_job_expect(&job, _i == 0 ? "source" : "destination");
  rlo_job_info info = checked_job_info(&job);
  ck_assert_int_gt(info.num_pieces, 1);
  ck_assert_int_gt(info.host_bytes_peak, 0);
  checked_job_deinit(&job);
  /* One that fits on both sides is run as a whole. */
  context->device_info.max_allocation_bytes = 600000;
  rlo_service_release(service);
  service = open_service(&context, 1, 0, false);
  checked_job_init(&job, &problem, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  checked_job_submit(&job, service);
  checked_job_expect(&job, "both fit");
  ck_assert_int_eq(checked_job_info(&job).num_pieces, 1);
  ck_assert_int_eq(checked_job_info(&job).host_bytes_peak, 0);
  checked_job_deinit(&job);
  rlo_service_release(service);
  rlo_context_release(context);
}

RLO_TEST(test_device_service_limits__the_smallest_buffer_counts) {
  rlo_context *contexts[] = {open_context(0, 0), open_context(0, 64 * KIB)};
  rlo_service *service = open_service(contexts, 2, 0, false);
  rlo_problem problem;
  const char *name = make_problem(TRANSPOSITION, &problem);
  checked_job job;
  checked_job_init(&job, &problem, TEST_STORAGE_MEMORY, TEST_STORAGE_MEMORY);
  checked_job_submit(&job, service);
  checked_job_expect(&job, name);
  checked_job_deinit(&job);
  rlo_service_release(service);
  rlo_context_release(contexts[0]);
  rlo_context_release(contexts[1]);
}
