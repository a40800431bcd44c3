/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

/* Printed, and held to a bound that only a mistake of another order breaks.
 * Under a sanitizer it is printed only. */
#define MOST_MICROS (TEST_IS_SANITIZED ? 1e9 : 50.0)

static double micros_now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

RLO_TIMEOUT(120);

RLO_TEST(test_enqueue_cost__takes_microseconds_on_the_host) {
  enum { TURNS = 2000 };

  test_device device = test_device_open();
  const rlo_problem tiny = test_problem_of("f32[2,3]", "f32[3,2]", "1,0");
  rlo_plan *plan = test_context_plan(device.context, &tiny, NULL);
  cl_mem src = test_context_buffer(device.context, 0, 64, NULL);
  cl_mem dst = test_context_buffer(device.context, 0, 64, NULL);
  double best = 1e9;
  for (int32_t round = 0; round < 5; ++round) {
    /* The time of this thread alone: machines that run tests are busy. */
    double begun = micros_now(CLOCK_THREAD_CPUTIME_ID);
    for (int32_t i = 0; i < TURNS; ++i) {
      /* Refused by the last check of all, so that only the checks are timed. */
      ck_assert_int_eq(rlo_enqueue(plan, device.queue, dst, 0, dst, 8, 0, NULL, NULL),
                       RLO_INVALID_ARGUMENT);
    }
    double micros = (micros_now(CLOCK_THREAD_CPUTIME_ID) - begun) / (double)TURNS;
    best = micros < best ? micros : best;
  }
  printf("checks, and a refusal: %.2f us\n", best);
  ck_assert(best < MOST_MICROS);
  double best_call = 1e9;
  for (int32_t i = 0; i < 200; ++i) {
    double begun = micros_now(CLOCK_MONOTONIC);
    expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, 0, 0, NULL, NULL));
    double micros = micros_now(CLOCK_MONOTONIC) - begun;
    best_call = micros < best_call ? micros : best_call;
    expect_cl(clFinish(device.queue));
  }
  printf("a whole enqueue: %.2f us at best\n", best_call);
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  rlo_plan_release(plan);
  test_device_close(&device);
}
