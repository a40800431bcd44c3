/* SPDX-License-Identifier: Apache-2.0 */

/* Random jobs on the host, one after the other and at once: the bytes of the
 * oracle, within their budgets. */
#include <stdlib.h>

#include "base/alloc.h"
#include "service/storage.h"
#include "support/expect.h"
#include "support/random_job.h"
#include "support/suite.h"
#include "support/transpose_job.h"

enum { AT_ONCE = 12 };

static int num_problems(void) {
  return getenv("RELAYOUT_TEST_ALL") == NULL ? 600 : 30000;
}

RLO_TIMEOUT(300);

RLO_TEST(test_service_random__one_after_the_other) {
  uint64_t seed = test_random_begin("test_service_random").state;
  static test_job job;
  test_job_counts counts = {0};
  rlo_service *service = transpose_service_open(3);
  for (int number = 0; number < num_problems(); ++number) {
    if (test_job_init(&job, seed, number, 0)) {
      /* Half of them, whose problem does not go back. */
      job.src.storage->traits.is_forward =
          number % 2 == 0 && job.src.kind == TEST_STORAGE_FUNCTIONS;
      job.dst.storage->traits.is_forward = number % 4 < 2 &&
                                           job.dst.kind == TEST_STORAGE_FUNCTIONS &&
                                           job.options.is_new_destination;
      test_job_run(&job, service, &counts);
    }
  }
  transpose_service_close(service);
  test_job_expect_counts(&counts);
  ck_assert_int_gt(counts.jobs, num_problems() / 5);
  ck_assert_int_gt(counts.with_thousands, counts.jobs / 400);
  ck_assert_int_gt(counts.read_forward, 0);
  ck_assert_int_gt(counts.written_forward, 0);
  ck_assert_int_gt(counts.cut_loads, 0);
  ck_assert_int_gt(counts.cut_sums, 0);
  ck_assert_int_gt(counts.cut_additions, 0);
}

/* Jobs that failed once: plans of more bytes than are moved, a first pass that read
 * beyond its source. */
static const struct {
  uint64_t seed;
  int number, cut;
} jobs_of_old[] = {{109, 497, 0}, {313, 90, 1}, {2049, 229, 0}, {2089, 442, 0}};

RLO_TABLE_TEST(test_service_random__again, jobs_of_old) {
  static test_job job;
  test_job_counts counts = {0};
  rlo_service *service = transpose_service_open(3);
  ck_assert(test_job_init(&job, jobs_of_old[_i].seed, jobs_of_old[_i].number, jobs_of_old[_i].cut));
  test_job_run(&job, service, &counts);
  ck_assert_int_eq(counts.jobs, 1);
  transpose_service_close(service);
}

RLO_TEST(test_service_random__at_once) {
  uint64_t seed = test_random_begin("test_service_random").state;
  static test_job jobs[AT_ONCE];
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.max_running_jobs = 5;
  expect_ok(rlo_service_create(NULL, 0, &options, &service));
  for (int number = 0; number < num_problems() / 4;) {
    int count = 0;
    for (; count < AT_ONCE; ++number) {
      if (test_job_init(&jobs[count], seed, number, 1)) {
        if (test_job_submit(&jobs[count], service)) {
          ++count;
        } else {
          test_job_deinit(&jobs[count]);
        }
      }
    }
    while (count > 0) {
      test_job_expect(&jobs[--count]);
      test_job_deinit(&jobs[count]);
    }
  }
  rlo_service_release(service);
}
