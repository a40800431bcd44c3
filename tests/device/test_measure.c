/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/text.h"
#include "runtime/measure.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"

/* Building kernels takes most of the time: few candidates, and one shape. */
#define SECONDS 0.3

static rlo_problem problem;
static char folder[] = "/tmp/relayout-measure-XXXXXX";
static char path[64];

static void begin_file(void) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/wisdom", folder);
  open_device();
}

static void end_file(void) {
  close_device();
  unlink(path);
  rmdir(folder);
}

static void forget(void) {
  rlo_context_clear_wisdom(device.context);
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_FIXTURE(forget, NULL);
RLO_TIMEOUT(300);

static rlo_plan_options measure_options(void) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.effort = RLO_EFFORT_MEASURE;
  options.measure_seconds = SECONDS;
  return options;
}

/* Plan, and tell what came of it. */
static rlo_plan_info plan(rlo_context *context, const rlo_plan_options *options) {
  rlo_plan *made = test_context_plan(context, &problem, options);
  rlo_plan_info info = test_plan_info_of(made);
  rlo_plan_release(made);
  info.parameters = ""; /* the plan's own */
  return info;
}

static void measure(const char *src, const char *dst) {
  rlo_plan_options options = measure_options();
  test_plan_lower(src, dst, NULL, &problem);
  rlo_plan_info info = plan(device.context, &options);
  ck_assert_int_eq(info.decision, RLO_PLAN_DECISION_MEASURE);
}

RLO_TEST(test_measure__a_clock_that_does_not_run_is_not_believed) {
  static const struct {
    double host_nanos, device_nanos, chosen;
  } cases[] = {
      {10e6, 9e6, 9e6},
      /* A kernel of 2 us, for which the host waits 100 us. */
      {100e3, 2e3, 2e3},
      /* Clocks that differ by a little. */
      {10e6, 10.5e6, 10.5e6},
      /* One that stands still, and one that counts microseconds as 1 ns. */
      {10e6, 1, 10e6},
      {10e6, 900, 10e6},
      /* One that is ahead of all that has passed. */
      {10e6, 12e6, 10e6},
      {10e6, 9e12, 10e6},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    ck_assert_double_eq(rlo__timing_choose(cases[i].host_nanos, cases[i].device_nanos),
                        cases[i].chosen);
  }
}

RLO_TEST(test_measure__measures_once_and_remembers) {
  rlo_plan_options options = measure_options();
  test_plan_lower("f32[300,201]", "f32[300,201]{0,1}", NULL, &problem);
  ck_assert_int_eq(plan(device.context, NULL).decision, RLO_PLAN_DECISION_ESTIMATE);
  rlo_plan_info first = plan(device.context, &options);
  ck_assert_int_eq(first.decision, RLO_PLAN_DECISION_MEASURE);
  ck_assert_double_gt(first.measured_fraction, 0.0);
  rlo_context_stats before = test_context_stats(device.context);
  rlo_plan_info second = plan(device.context, &options);
  rlo_plan_info third = plan(device.context, NULL);
  rlo_context_stats after = test_context_stats(device.context);
  ck_assert_int_eq(second.decision, RLO_PLAN_DECISION_WISDOM);
  ck_assert_int_eq(third.decision, RLO_PLAN_DECISION_WISDOM);
  ck_assert_str_eq(first.family, second.family);
  ck_assert_str_eq(first.schedule, second.schedule);
  ck_assert_ptr_eq(second.schedule, third.schedule);
  ck_assert_double_eq(first.measured_fraction, third.measured_fraction);
  ck_assert_int_eq(before.launches, after.launches);
  ck_assert_int_eq(after.buffer_bytes, 0);
  rlo_context_clear_wisdom(device.context);
  ck_assert_int_eq(plan(device.context, NULL).decision, RLO_PLAN_DECISION_ESTIMATE);
}

RLO_TEST(test_measure__what_is_forced_stays_and_is_not_remembered) {
  rlo_plan_options options = measure_options();
  options.family = "gather";
  test_plan_lower("f32[64,65]", "f32[64,65]{0,1}", NULL, &problem);
  rlo_plan_info info = plan(device.context, &options);
  ck_assert_str_eq(info.family, "gather");
  ck_assert_int_eq(info.decision, RLO_PLAN_DECISION_MEASURE);
  ck_assert_int_eq(plan(device.context, NULL).decision, RLO_PLAN_DECISION_ESTIMATE);
}

RLO_TEST(test_measure__there_is_nothing_to_measure_of_nothing) {
  rlo_plan_options options = measure_options();
  test_plan_lower("f32[0,65]", "f32[0,65]{0,1}", NULL, &problem);
  rlo_plan_info info = plan(device.context, &options);
  ck_assert_str_eq(info.family, "none");
  ck_assert_str_eq(info.schedule, "default");
  ck_assert_int_eq(info.decision, RLO_PLAN_DECISION_ESTIMATE);
}

RLO_LOOP_TEST(test_measure__moves_every_byte_right, 0, 5) {
  static const char *const pairs[][2] = {
      {"f32[130,190]", "f32[130,190]{0,1:pad(133,200)fill(one)}"},
      {"u8[65,63]", "u8[65,63]{0,1}"},
      {"bf16[5,300,7]", "bf16[5,300,7]{1,2,0}"},
      {"f64[20,300]{1,0:T(8,128)}", "f64[20,300]"},
      {"f32[40]{0:T(8)}", "f32[40]{0:T(3)fill(zero)}"},
  };
  rlo_shape src = test_shape_of(pairs[_i][0]);
  rlo_shape dst = test_shape_of(pairs[_i][1]);
  for (int64_t shift = 0; shift <= 8; shift += 8) {
    test_case c = {.src = &src,
                   .dst = &dst,
                   .effort = RLO_EFFORT_MEASURE,
                   .measure_seconds = SECONDS,
                   .src_shift_bytes = shift,
                   .dst_shift_bytes = 3 * shift};
    rlo_plan_info info = RLO_PLAN_INFO_INIT;
    ck_assert_int_eq(test_device_run(&device, &c, &info), TEST_RAN);
    /* The first time it is measured, the second time known. */
    ck_assert_int_eq(info.decision,
                     shift == 0 ? RLO_PLAN_DECISION_MEASURE : RLO_PLAN_DECISION_WISDOM);
  }
}

RLO_TEST(test_measure__takes_about_the_time_that_it_is_given) {
  rlo_plan_options options = measure_options();
  options.measure_seconds = 1e-6;
  test_plan_lower("f32[512,384]", "f32[512,384]{0,1}", NULL, &problem);
  /* Builds the programs that every measurement needs. */
  plan(device.context, &options);
  rlo_context_clear_wisdom(device.context);
  rlo_context_stats before = test_context_stats(device.context);
  rlo_plan_info info = plan(device.context, &options);
  rlo_context_stats after = test_context_stats(device.context);
  /* No time for any but the first. */
  ck_assert_int_eq(info.decision, RLO_PLAN_DECISION_MEASURE);
  ck_assert_str_eq(info.schedule, "default");
  ck_assert_int_eq(after.programs_built, before.programs_built);
  options.measure_seconds = -1.0;
  rlo_plan *none = NULL;
  ck_assert_int_eq(rlo_plan_create(device.context, &problem, &options, &none),
                   RLO_INVALID_ARGUMENT);
  options.measure_seconds = 0.0;
  options.effort = (rlo_effort)7;
  ck_assert_int_eq(rlo_plan_create(device.context, &problem, &options, &none),
                   RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(none);
}

RLO_TEST(test_measure__stays_within_the_budget) {
  rlo_context_options context_options = RLO_CONTEXT_OPTIONS_INIT;
  context_options.memory_budget_bytes = 300 * 200 * 4 + 100;
  rlo_context *context = NULL;
  expect_ok(rlo_context_create(rlo_context_cl_context(device.context),
                               rlo_context_cl_device(device.context), &context_options, &context));
  rlo_plan_options options = measure_options();
  test_plan_lower("f32[300,200]", "f32[300,200]{0,1}", NULL, &problem);
  rlo_plan *none = NULL;
  ck_assert_int_eq(rlo_plan_create(context, &problem, &options, &none), RLO_OUT_OF_MEMORY);
  ck_assert_ptr_null(none);
  rlo_context_stats stats = test_context_stats(context);
  ck_assert_int_eq(stats.buffer_bytes, 0);
  ck_assert_int_eq(plan(context, NULL).decision, RLO_PLAN_DECISION_ESTIMATE);
  rlo_context_release(context);
}

static rlo_context *another_context(void) {
  rlo_context *context = NULL;
  expect_ok(rlo_context_create(rlo_context_cl_context(device.context),
                               rlo_context_cl_device(device.context), NULL, &context));
  return context;
}

RLO_TEST(test_measure__wisdom_goes_from_context_to_context) {
  measure("f32[64,129]", "f32[64,129]{0,1}");
  size_t length = rlo_context_export_wisdom(device.context, NULL, 0);
  char *text = malloc(length + 1);
  ck_assert_ptr_nonnull(text);
  ck_assert_uint_eq(rlo_context_export_wisdom(device.context, text, length + 1), length);
  rlo_context *other = another_context();
  int32_t num_taken = 0;
  int32_t num_ignored = 0;
  expect_ok(rlo_context_import_wisdom(other, text, length, &num_taken, &num_ignored));
  ck_assert_int_ge(num_taken, 1);
  ck_assert_int_eq(num_ignored, 0);
  ck_assert_int_eq(plan(other, NULL).decision, RLO_PLAN_DECISION_WISDOM);
  rlo_plan_report *report = NULL;
  expect_ok(rlo_context_explain(other, &problem, NULL, 0, 0, &report));
  ck_assert_int_eq(report->decision, RLO_PLAN_DECISION_WISDOM);
  ck_assert_double_gt(report->measured_fraction, 0.0);
  rlo_plan_report_release(report);
  rlo_context_release(other);
  free(text);
}

static void write_text(const char *text) {
  expect_ok(rlo__file_write(path, text, strlen(text)));
}

RLO_TEST(test_measure__wisdom_gathers_in_a_file) {
  unlink(path);
  rlo_context *other = another_context();
  int32_t num_taken = 0;
  ck_assert_int_eq(rlo_context_load_wisdom(other, path, &num_taken, NULL), RLO_NOT_FOUND);
  /* Two contexts that know different things, one after the other. */
  measure("f32[64,130]", "f32[64,130]{0,1}");
  expect_ok(rlo_context_save_wisdom(device.context, path));
  rlo_context_clear_wisdom(device.context);
  measure("f32[64,131]", "f32[64,131]{0,1}");
  expect_ok(rlo_context_save_wisdom(device.context, path));
  expect_ok(rlo_context_load_wisdom(other, path, &num_taken, NULL));
  ck_assert_int_ge(num_taken, 2);
  ck_assert_int_eq(plan(other, NULL).decision, RLO_PLAN_DECISION_WISDOM);
  test_plan_lower("f32[64,130]", "f32[64,130]{0,1}", NULL, &problem);
  ck_assert_int_eq(plan(other, NULL).decision, RLO_PLAN_DECISION_WISDOM);
  rlo_context_release(other);
}

RLO_TEST(test_measure__a_file_that_is_no_wisdom_is_not_touched) {
  write_text("dear diary\n");
  expect_refusal_with(rlo_context_load_wisdom(device.context, path, NULL, NULL), RLO_PARSE, path);
  ck_assert_int_eq(rlo_context_save_wisdom(device.context, path), RLO_PARSE);
  char content[32] = "";
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_ptr_nonnull(fgets(content, sizeof content, file));
  fclose(file);
  ck_assert_str_eq(content, "dear diary\n");
  unlink(path);
  ck_assert_int_eq(rlo_context_save_wisdom(device.context, "/nonexistent/folder/wisdom"),
                   RLO_NOT_FOUND);
}

/* The time of this thread: other work on the machine is no part of a plan. */
static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_best_plan(rlo_context *context, double *best_seconds) {
  double begun = seconds_now();
  plan(context, NULL);
  double taken = seconds_now() - begun;
  *best_seconds = taken < *best_seconds ? taken : *best_seconds;
}

RLO_TEST(test_measure__planning_with_wisdom_costs_no_more) {
  rlo_context *ignorant = another_context();
  double with = 1.0;
  double without = 1.0;
  measure("f32[9,8,7,6,5,4]", "f32[9,8,7,6,5,4]{0,2,4,1,3,5}");
  /* In turns: load that comes and goes slows both. */
  for (int32_t n = 0; n < 300; ++n) {
    keep_best_plan(ignorant, &without);
    keep_best_plan(device.context, &with);
  }
  ck_assert_int_eq(plan(ignorant, NULL).decision, RLO_PLAN_DECISION_ESTIMATE);
  ck_assert_int_eq(plan(device.context, NULL).decision, RLO_PLAN_DECISION_WISDOM);
  rlo_context_release(ignorant);
  printf("a plan takes %.1f us, by wisdom %.1f us\n", without * 1e6, with * 1e6);
  ck_assert_double_lt(with, 1.5 * without + 20e-6);
}
