/* SPDX-License-Identifier: Apache-2.0 */

/* Random jobs on the host, one after the other and at once: the bytes of the
 * oracle, within their budgets. */
#include <stdio.h>

#include "base/alloc.h"
#include "support/expect.h"
#include "support/random_job.h"
#include "support/suite.h"

enum { CASES = 600, AT_ONCE = 12 };

RLO_TEST(test_service_random__one_after_the_other) {
  uint64_t seed = test_random_begin("test_service_random").state;
  int64_t live = rlo__alloc_live_count();
  static test_job job;
  int num_jobs = 0;
  int64_t num_pieces = 0;
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.io_threads = 3;
  expect_ok(rlo_service_create(NULL, 0, &options, &service));
  for (int number = 0; number < CASES; ++number) {
    if (test_job_init(&job, seed, number)) {
      test_job_submit(&job, service);
      num_pieces += test_job_expect(&job);
      ++num_jobs;
      test_job_deinit(&job);
    }
  }
  rlo_service_release(service);
  printf("%d jobs of %lld pieces\n", num_jobs, (long long)num_pieces);
  ck_assert_int_gt(num_jobs, CASES / 3);
  ck_assert_int_gt(num_pieces, 3 * num_jobs / 2);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

RLO_TEST(test_service_random__at_once) {
  uint64_t seed = test_random_begin("test_service_random").state;
  static test_job jobs[AT_ONCE];
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.max_running_jobs = 5;
  expect_ok(rlo_service_create(NULL, 0, &options, &service));
  for (int number = CASES; number < CASES + 200;) {
    int count = 0;
    for (; count < AT_ONCE; ++number) {
      if (test_job_init(&jobs[count], seed, number)) {
        test_job_submit(&jobs[count++], service);
      }
    }
    while (count > 0) {
      test_job_expect(&jobs[--count]);
      test_job_deinit(&jobs[count]);
    }
  }
  rlo_service_release(service);
}
