/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/worker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "support/expect.h"
#include "support/suite.h"

enum { NUM_JOBS = 50, NUM_THREADS = 4 };

static atomic_int num_run;
/** In the order in which they ran; written by the worker alone. */
static int32_t numbers[NUM_JOBS];

typedef struct numbered_job {
  rlo__job job;
  int32_t number;
  /** The worker to destroy; NULL: none. */
  rlo__worker *worker;
} numbered_job;

static void run_numbered(rlo__job *job) {
  numbered_job one = *(numbered_job *)job;
  rlo__free(job);
  int32_t place = atomic_fetch_add(&num_run, 1);
  if (one.worker != NULL) {
    rlo__worker_wait(one.worker); /* on its own thread: returns at once */
    rlo__worker_destroy(one.worker);
  } else if (place < NUM_JOBS) {
    numbers[place] = one.number;
  }
}

static numbered_job *make_job(int32_t number, rlo__worker *worker) {
  numbered_job *one = rlo__alloc(sizeof *one);
  if (one != NULL) {
    *one = (numbered_job){.job = {NULL, run_numbered}, .number = number, .worker = worker};
  }
  return one;
}

static void submit(rlo__worker *worker, numbered_job *one) {
  ck_assert_ptr_nonnull(one);
  expect_ok(rlo__worker_submit(worker, &one->job));
}

static void begin(void) {
  atomic_store(&num_run, 0);
}

RLO_NO_FORK();
RLO_FIXTURE(begin, NULL);

RLO_TEST(test_worker_threads__runs_jobs_in_their_order) {
  int64_t live = rlo__alloc_live_count();
  rlo__worker *worker = NULL;
  expect_ok(rlo__worker_create(&worker));
  rlo__worker_wait(worker); /* without a thread yet */
  for (int32_t i = 0; i < NUM_JOBS; ++i) {
    submit(worker, make_job(i, NULL));
  }
  rlo__worker_wait(worker);
  ck_assert_int_eq(atomic_load(&num_run), NUM_JOBS);
  for (int32_t i = 0; i < NUM_JOBS; ++i) {
    ck_assert_int_eq(numbers[i], i);
  }
  rlo__worker_destroy(worker);
  rlo__worker_destroy(NULL);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

RLO_TEST(test_worker_threads__runs_what_is_left_before_it_ends) {
  rlo__worker *worker = NULL;
  expect_ok(rlo__worker_create(&worker));
  for (int32_t i = 0; i < NUM_JOBS; ++i) {
    submit(worker, make_job(i, NULL));
  }
  rlo__worker_destroy(worker);
  ck_assert_int_eq(atomic_load(&num_run), NUM_JOBS);
}

RLO_TEST(test_worker_threads__may_be_destroyed_by_a_job) {
  int64_t live = rlo__alloc_live_count();
  rlo__worker *worker = NULL;
  expect_ok(rlo__worker_create(&worker));
  submit(worker, make_job(0, worker));
  /* Nobody can wait for the thread, so look for its memory. */
  for (int32_t i = 0; i < 12000 && rlo__alloc_live_count() > live; ++i) {
    const struct timespec time = {0, 5000000};
    nanosleep(&time, NULL);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), live);
  ck_assert_int_eq(atomic_load(&num_run), 1);
}

RLO_TEST(test_worker_threads__leaves_a_job_that_has_no_thread) {
  rlo__worker *worker = NULL;
  expect_ok(rlo__worker_create(&worker));
  numbered_job *one = make_job(0, NULL);
  ck_assert_ptr_nonnull(one);
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo__worker_submit(worker, &one->job), RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  submit(worker, one); /* it is still ours, and next time there is one */
  rlo__worker_destroy(worker);
  ck_assert_int_eq(atomic_load(&num_run), 1);
}

static void submit_many(void *payload) {
  rlo__worker *worker = payload;
  for (int32_t i = 0; i < NUM_JOBS; ++i) {
    numbered_job *one = make_job(i, NULL);
    if (one == NULL || rlo__worker_submit(worker, &one->job) != RLO_OK) {
      rlo__free(one);
    }
    if (i % 10 == 0) {
      rlo__worker_wait(worker);
    }
  }
}

RLO_TEST(test_worker_threads__takes_jobs_from_many_threads) {
  rlo__worker *worker = NULL;
  rlo__thread threads[NUM_THREADS];
  expect_ok(rlo__worker_create(&worker));
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    expect_ok(rlo__thread_start(submit_many, worker, &threads[i]));
  }
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    rlo__thread_join(&threads[i]);
  }
  rlo__worker_destroy(worker);
  ck_assert_int_eq(atomic_load(&num_run), NUM_THREADS * NUM_JOBS);
}
