/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/thread.h"
#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_arena.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

/*
 * Threads that measure one problem at once, and threads that plan, import,
 * export and forget meanwhile. What each is told must be whole: checks in other
 * threads than Check's own count failures, and the test looks at the sum.
 */
enum { NUM_MEASURING = 3, NUM_PLANNING = 3, NUM_TURNS = 200 };

static test_device device;
static rlo_problem problem;

typedef struct worker {
  rlo__thread thread;
  int32_t num_failures;
  rlo_plan_info info;
} worker;

static void plan_once(worker *w, const rlo_plan_options *options) {
  rlo_plan *plan = NULL;
  if (rlo_plan_create(device.context, &problem, options, &plan) != RLO_OK) {
    ++w->num_failures;
    return;
  }
  w->info = (rlo_plan_info)RLO_PLAN_INFO_INIT;
  w->num_failures += rlo_plan_get_info(plan, &w->info) != RLO_OK;
  w->info.parameters = ""; /* the plan's own */
  rlo_plan_release(plan);
}

static void measure(void *payload) {
  worker *w = payload;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.effort = RLO_EFFORT_MEASURE;
  options.measure_seconds = 0.05;
  plan_once(w, &options);
}

/* Print what the context knows, and read it back. */
static void carry(worker *w) {
  char text[4096];
  size_t length = rlo_context_export_wisdom(device.context, text, sizeof text);
  if (length >= sizeof text ||
      rlo_context_import_wisdom(device.context, text, length, NULL, NULL) != RLO_OK) {
    ++w->num_failures;
  }
}

static void plan_and_carry(void *payload) {
  worker *w = payload;
  for (int32_t turn = 0; turn < NUM_TURNS; ++turn) {
    plan_once(w, NULL);
    if (w->info.decision != RLO_PLAN_DECISION_ESTIMATE &&
        w->info.decision != RLO_PLAN_DECISION_WISDOM) {
      ++w->num_failures;
    }
    carry(w);
  }
}

static void start(worker *workers, int32_t count, void (*work)(void *payload)) {
  for (int32_t n = 0; n < count; ++n) {
    workers[n] = (worker){.num_failures = 0};
    expect_ok(rlo__thread_start(work, &workers[n], &workers[n].thread));
  }
}

static int32_t join(worker *workers, int32_t count) {
  int32_t num_failures = 0;
  for (int32_t n = 0; n < count; ++n) {
    rlo__thread_join(&workers[n].thread);
    num_failures += workers[n].num_failures;
  }
  return num_failures;
}

RLO_TIMEOUT(300);

RLO_TEST(test_wisdom_threads__one_measures_and_all_know) {
  static worker measuring[NUM_MEASURING];
  static worker planning[NUM_PLANNING];
  test_plan_lower("f32[130,70]", "f32[130,70]{0,1}", NULL, &problem);
  device = test_device_open();
  start(measuring, NUM_MEASURING, measure);
  start(planning, NUM_PLANNING, plan_and_carry);
  ck_assert_int_eq(join(measuring, NUM_MEASURING), 0);
  ck_assert_int_eq(join(planning, NUM_PLANNING), 0);
  int32_t num_measured = 0;
  for (int32_t n = 0; n < NUM_MEASURING; ++n) {
    num_measured += measuring[n].info.decision == RLO_PLAN_DECISION_MEASURE;
    ck_assert_str_eq(measuring[n].info.family, measuring[0].info.family);
    ck_assert_str_eq(measuring[n].info.schedule, measuring[0].info.schedule);
  }
  ck_assert_int_eq(num_measured, 1);
  test_device_close(&device);
}
