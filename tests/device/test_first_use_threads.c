/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "base/thread.h"
#include "relayout/opencl.h"
#include "support/expect.h"
#include "support/suite.h"

/*
 * Threads whose first call is also the process's first use of OpenCL. Drivers
 * initialize themselves then, some of them for one thread only. A program that
 * runs other suites before this one tests nothing here: ctest runs it alone.
 */
enum { NUM_THREADS = 8 };

typedef struct worker {
  rlo__thread thread;
  pthread_barrier_t *start;
  int32_t number;
  rlo_status status;
  int32_t num_devices;
  char message[700];
} worker;

static void use_first(void *payload) {
  worker *w = payload;
  rlo_context *context = NULL;
  (void)pthread_barrier_wait(w->start);
  if (w->number % 2 == 0) {
    w->status = rlo_device_list(NULL, 0, 0, &w->num_devices);
  } else {
    w->status = rlo_context_create_default(w->number % 4 == 1 ? -1 : 0, NULL, &context);
    w->num_devices = context != NULL;
  }
  if (w->status != RLO_OK) {
    (void)snprintf(w->message, sizeof w->message, "%s", rlo_error_last()->message);
  }
  rlo_context_release(context);
}

RLO_TEST(test_first_use_threads__may_all_be_first) {
  static worker workers[NUM_THREADS];
  pthread_barrier_t start;
  ck_assert_int_eq(pthread_barrier_init(&start, NULL, NUM_THREADS), 0);
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    workers[i] = (worker){.start = &start, .number = i};
    expect_ok(rlo__thread_start(use_first, &workers[i], &workers[i].thread));
  }
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    rlo__thread_join(&workers[i].thread);
  }
  ck_assert_int_eq(pthread_barrier_destroy(&start), 0);
  for (int32_t i = 0; i < NUM_THREADS; ++i) {
    ck_assert_msg(workers[i].status == RLO_OK, "thread %d: %s", (int)i, workers[i].message);
    ck_assert_int_ge(workers[i].num_devices, 1);
  }
}
