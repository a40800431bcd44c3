/* SPDX-License-Identifier: Apache-2.0 */

/* One service, many threads that submit, watch, wait, cancel and release. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "base/threshold.h"
#include "service/journal.h"
#include "support/expect.h"
#include "support/random_job.h"
#include "support/suite.h"
#include "support/temp_file.h"

enum { NUM_THREADS = 4, JOBS_OF_THREAD = 40 };

typedef struct user {
  rlo_service *service;
  uint64_t seed;
  int first_number;
} user;

static char folder[TEMP_FOLDER_CHARS];

/* Does a job whose journal is at `path` once more. */
static void resume(test_job *job, rlo_service *service) {
  rlo_job_release(job->job);
  ck_assert(test_job_submit(job, service));
  /* The storages have counted the first run too. */
  expect_ok(rlo_job_wait(job->job, -1, NULL));
  expect_ok(rlo_job_result(job->job));
  test_job_expect_bytes(job);
}

/* Cancels every eighth job, before or after its end; those that have a journal
 * are resumed then. */
static void use_job(test_job *job, int number, rlo_service *service) {
  if (!test_job_submit(job, service)) {
    return;
  }
  if (number % 8 != 0) {
    rlo_job_info info = RLO_JOB_INFO_INIT;
    expect_ok(rlo_job_get_info(job->job, &info));
    ck_assert_int_le(info.pieces_done, info.num_pieces);
    test_job_expect(job);
    return;
  }
  rlo_job_cancel(job->job);
  expect_ok(rlo_job_wait(job->job, -1, NULL));
  rlo_status status = rlo_job_result(job->job);
  ck_assert(status == RLO_OK || status == RLO_CANCELLED);
  if (job->options.journal_path != NULL) {
    resume(job, service);
  }
}

static void use(void *payload) {
  const user *u = payload;
  test_job *job = malloc(sizeof *job);
  ck_assert_ptr_nonnull(job);
  for (int n = 0; n < JOBS_OF_THREAD; ++n) {
    if (test_job_init(job, u->seed, u->first_number + n, 2)) {
      char path[128];
      (void)snprintf(path, sizeof path, "%s/%d", folder, u->first_number + n);
      if (!watched_storage_is_memory(&job->dst) && !test_job_reads_destination(job)) {
        job->options.journal_path = path;
      }
      use_job(job, n, u->service);
      test_job_deinit(job);
      (void)unlink(path);
    }
  }
  free(job);
  rlo_service_release(u->service);
}

RLO_TEST(test_service_threads__all_use_one_service) {
  uint64_t seed = test_random_begin("test_service_threads").state;
  int64_t live = rlo__alloc_live_count();
  temp_folder_make(folder);
  rlo__thresholds.service_checkpoint_seconds = 0;
  rlo_service *service = NULL;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  options.io_threads = 3;
  options.max_running_jobs = 3;
  expect_ok(rlo_service_create(NULL, 0, &options, &service));
  user users[NUM_THREADS];
  rlo__thread threads[NUM_THREADS];
  for (int n = 0; n < NUM_THREADS; ++n) {
    users[n] = (user){rlo_service_retain(service), seed, n * JOBS_OF_THREAD};
    expect_ok(rlo__thread_start(use, &users[n], &threads[n]));
  }
  for (int n = 0; n < NUM_THREADS; ++n) {
    rlo_job_release(rlo_service_take_ended(service));
    expect_ok(rlo_service_drain(service, 1, NULL));
  }
  for (int n = 0; n < NUM_THREADS; ++n) {
    rlo__thread_join(&threads[n]);
  }
  rlo_service_release(service);
  rlo__thresholds.service_checkpoint_seconds = 5;
  ck_assert_int_eq(rmdir(folder), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}
