/* SPDX-License-Identifier: Apache-2.0 */

/* Random jobs whose pieces run on a context: the bytes of the oracle, under
 * many cuts of each problem, which share programs. */
#include <stdlib.h>

#include "runtime/context.h"
#include "service/service.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/random_job.h"

enum { NUM_CUTS = 8 };

static int num_problems(void) {
  return getenv("RELAYOUT_TEST_ALL") == NULL ? 40 : 400;
}

RLO_FILE_FIXTURE(open_device, close_device);
RLO_TIMEOUT(900);

/* Another context on the device, for whose plans it is a GPU. */
static rlo_context *open_gpu(void) {
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = "";
  rlo_context *context = NULL;
  expect_ok(rlo_context_create(rlo_context_cl_context(device.context),
                               rlo_context_cl_device(device.context), &options, &context));
  context->device_info.device_class = RLO_DEVICE_CLASS_GPU;
  return context;
}

/* True if the device has a kernel for the problem; and few of them, since
 * pieces of quotients differ, and each kind would have a program. */
static bool is_for_device(rlo_context *context, const rlo_problem *problem) {
  static rlo_problem canonical;
  canonical = *problem;
  expect_ok(rlo_problem_canonicalize(&canonical, 0, NULL, NULL));
  bool has_quotients = false;
  for (int32_t t = 0; t < canonical.num_terms; ++t) {
    has_quotients |= canonical.terms[t].kind == RLO_TERM_QUOTIENT;
  }
  if (has_quotients && getenv("RELAYOUT_TEST_ALL") == NULL) {
    return false;
  }
  rlo_plan *plan = NULL;
  rlo_status status = rlo_plan_create(context, problem, NULL, &plan);
  if (status == RLO_OK) {
    rlo_plan_info info = test_plan_info_of(plan);
    ck_assert_int_eq(info.device_class, context->device_info.device_class);
  }
  rlo_plan_release(plan);
  return status == RLO_OK;
}

enum { IN_PLACE, COPIED, ON_GPU, NUM_WAYS };

RLO_LOOP_TEST(test_device_service_random__the_bytes_of_the_oracle, 0, NUM_WAYS) {
  uint64_t seed = test_random_begin("test_device_service_random").state;
  static test_job job;
  test_job_counts counts = {0};
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.device_memory_bytes = RLO_SERVICE_MIN_DEVICE_BYTES;
  options.io_threads = 3;
  rlo_context *context = _i == ON_GPU ? open_gpu() : rlo_context_retain(device.context);
  expect_ok(rlo__service_create(&context, 1, &options, _i == COPIED, &service));
  for (int n = 0; n < num_problems() * NUM_CUTS; ++n) {
    if (!test_job_init(&job, seed, n / NUM_CUTS, n % NUM_CUTS)) {
      continue;
    }
    if (is_for_device(context, &job.problem.problem)) {
      test_job_run(&job, service, &counts);
    } else {
      test_job_deinit(&job);
    }
  }
  rlo_service_release(service);
  rlo_context_stats stats = test_context_stats(context);
  ck_assert_int_le(stats.programs_built, getenv("RELAYOUT_TEST_ALL") == NULL ? 90 : INT64_MAX);
  rlo_context_release(context);
  test_job_expect_counts(&counts);
  ck_assert_int_gt(counts.jobs, num_problems() * NUM_CUTS / 8);
  ck_assert_int_gt(counts.cut_loads, 0);
  ck_assert_int_gt(counts.cut_sums, 0);
  ck_assert_int_gt(counts.cut_additions, 0);
}
