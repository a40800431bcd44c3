/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_RANDOM_JOB_H
#define RLO_TESTS_SUPPORT_RANDOM_JOB_H

#include "relayout/service.h"
#include "support/random_problem.h"
#include "support/watched_storage.h"

enum { TEST_JOB_BYTES = 4096 };

/**
 * A random job: a problem, storages of random kinds with random bytes, and a
 * budget, mostly one in which it takes many pieces. What has to become of the
 * destination is what the oracle makes of it.
 */
typedef struct test_job {
  /** For messages: how to repeat it. */
  uint64_t seed;
  int number;
  test_problem problem;
  rlo_job_options options;
  watched_storage src, dst;
  uint8_t wanted[TEST_JOB_BYTES];
  rlo_job *job;
} test_job;

/** Draws job number `number`; false if there is no such job. */
bool test_job_init(test_job *job, uint64_t seed, int number);

/** Submits it; asks for more memory where that is too small. */
void test_job_submit(test_job *job, rlo_service *service);

/** Waits for its end, and compares the destination and the counters. Returns
 *  how many pieces there were. */
int64_t test_job_expect(test_job *job);

/** Releases everything; the job has ended or was not submitted. */
void test_job_deinit(test_job *job);

#endif
