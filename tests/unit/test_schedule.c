/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/planner.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo_device_info device;
static rlo__launch launch;
static rlo__candidate candidates[RLO__MAX_PLAN_CANDIDATES];
static int32_t num_candidates;

static void begin(void) {
  device = test_plan_cpu();
}

RLO_FIXTURE(begin, NULL);

static void list(rlo_plan_options *options) {
  const rlo__plan_request request = {.problem = &problem, .device = &device, .options = options};
  expect_ok(rlo__planner_list_candidates(&request, candidates, &num_candidates));
}

static rlo_status plan_in(const char *family, const char *schedule) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  options.schedule = schedule;
  memset(&launch, 0, sizeof launch);
  return test_plan_choose(&problem, &device, &options, 0, 0, NULL, &launch);
}

static void lower_plane(void) {
  test_plan_lower("f32[2048,2048]", "f32[2048,2048]{0,1}", NULL, &problem);
}

RLO_TEST(test_schedule__names_are_what_a_line_of_wisdom_takes) {
  ck_assert_str_eq(rlo__schedules[0].name, "default");
  for (int32_t n = 0; n < rlo__num_schedules; ++n) {
    ck_assert_ptr_eq(rlo__schedule_find(rlo__schedules[n].name), &rlo__schedules[n]);
    ck_assert_uint_lt(strlen(rlo__schedules[n].name), 64);
    for (const char *c = rlo__schedules[n].name; *c != '\0'; ++c) {
      ck_assert(*c >= ' ' && *c < 0x7f);
    }
  }
  ck_assert_ptr_null(rlo__schedule_find("sideways"));
  ck_assert_ptr_null(rlo__schedule_find(""));
}

RLO_TEST(test_schedule__an_unknown_one_is_refused_with_those_there_are) {
  lower_plane();
  expect_refusal_with(plan_in(NULL, "sideways"), RLO_NOT_FOUND,
                      "\"sideways\"; there are \"default\"");
}

RLO_TEST(test_schedule__turns_its_knobs) {
  lower_plane();
  expect_ok(plan_in("tile", NULL));
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 1);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_PREFETCH"), 1);
  expect_ok(plan_in("tile", "plain stores"));
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 0);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_PREFETCH"), 1);
  expect_ok(plan_in("tile", "no prefetch"));
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 1);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_PREFETCH"), 0);
  expect_ok(plan_in("tile", "tile 8x8"));
  ck_assert_int_eq(test_plan_define(&launch, "RLO_TILE_A"), 128);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_TILE_B"), 128);
  /* Small output stays in the caches unless the schedule is forced. */
  test_plan_lower("f32[64,64]", "f32[64,64]{0,1}", NULL, &problem);
  expect_ok(plan_in("tile", NULL));
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 0);
  expect_ok(plan_in("tile", "non-temporal stores"));
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 1);
}

/* The strides of the fastest group coordinate, source then destination. */
static void fastest_strides(int64_t out_strides[2]) {
  int32_t num_axes = (int32_t)launch.numbers[launch.arguments[6].first];
  ck_assert_int_ge(num_axes, 2);
  for (int32_t side = 0; side < 2; ++side) {
    int32_t first = launch.arguments[8 + side].first;
    out_strides[side] = launch.numbers[first + num_axes - 1];
  }
}

RLO_TEST(test_schedule__orders_groups) {
  int64_t strides[2];
  test_plan_lower("f32[8,512,512]", "f32[512,8,512]", "2,0,1", &problem);
  rlo_problem asked = problem;
  expect_ok(plan_in("tile", NULL));
  fastest_strides(strides);
  ck_assert_int_eq(strides[0], 128);
  problem = asked;
  expect_ok(plan_in("tile", "output order"));
  fastest_strides(strides);
  ck_assert_int_eq(strides[1], 256);
  ck_assert_ptr_nonnull(strstr(launch.parameters, "output order"));
  /* The source's order has an axis between those of the plane. */
  test_plan_lower("f32[1024,4,1024]", "f32[1024,4,1024]{0,1,2}", NULL, &problem);
  expect_ok(plan_in("tile", "plane order"));
  fastest_strides(strides);
  ck_assert_int_eq(strides[0], 128);
  int32_t num_axes = (int32_t)launch.numbers[launch.arguments[6].first];
  /* The axis beside the plane is the slowest. */
  ck_assert_int_eq(num_axes, 3);
  ck_assert_int_eq(launch.numbers[launch.arguments[7].first], 4);
}

static int64_t defined(const char *name) {
  return test_plan_define(&launch, name);
}

RLO_TEST(test_schedule__turns_the_knobs_of_gpus) {
  device = test_plan_gpu();
  lower_plane();
  expect_ok(plan_in("tile", "half tiles"));
  ck_assert_int_eq(defined("RLO_TILE_A"), 32);
  ck_assert_int_eq(defined("RLO_TILE_B"), 32);
  lower_plane();
  expect_ok(plan_in("tile", "groups of 128"));
  ck_assert_int_eq(defined("RLO_LOCAL"), 128);
  ck_assert_uint_eq(launch.local_size[0], 128);
  ck_assert_int_eq(defined("RLO_TILE_A"), 64);
  lower_plane();
  expect_ok(plan_in("tile", "diagonal order"));
  ck_assert_int_eq(defined("RLO_DIAGONAL"), 1);
}

RLO_TEST(test_schedule__orders_groups_of_gpus) {
  static const char *const orders[] = {"output order", "input order", "plane order"};
  device = test_plan_gpu();
  for (size_t n = 0; n < sizeof orders / sizeof orders[0]; ++n) {
    int64_t strides[2];
    /* The axis beside the plane is between those of it, on both sides. */
    test_plan_lower("f32[1024,8,1024]", "f32[1024,8,1024]{0,1,2}", NULL, &problem);
    expect_ok(plan_in("tile", orders[n]));
    fastest_strides(strides);
    ck_assert_int_eq(strides[n == 0 ? 1 : 0], 64);
    int64_t extent = launch.numbers[launch.arguments[7].first];
    ck_assert_int_eq(extent, n == 2 ? 8 : 16);
    ck_assert_int_eq(defined("RLO_A_AXIS"), n == 0 ? 0 : 2);
    ck_assert_int_eq(defined("RLO_B_AXIS"), n == 0 ? 2 : n == 1 ? 0 : 1);
  }
}

RLO_TEST(test_schedule__candidates_begin_with_the_plan_and_differ) {
  lower_plane();
  list(NULL);
  ck_assert_int_ge(num_candidates, 12);
  ck_assert_str_eq(candidates[0].schedule->name, "default");
  expect_ok(plan_in(NULL, NULL));
  ck_assert(rlo__launch_equal(&candidates[0].launch, &launch));
  for (int32_t n = 0; n < num_candidates; ++n) {
    for (int32_t k = 0; k < n; ++k) {
      ck_assert_msg(!rlo__launch_equal(&candidates[n].launch, &candidates[k].launch),
                    "%s and %s come out the same", candidates[n].schedule->name,
                    candidates[k].schedule->name);
    }
    /* Forced by name, each is what was listed. */
    expect_ok(plan_in(candidates[n].family->name, candidates[n].schedule->name));
    ck_assert(rlo__launch_equal(&candidates[n].launch, &launch));
  }
}

RLO_TEST(test_schedule__candidates_are_bounded_and_of_what_is_forced) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "gather";
  lower_plane();
  list(&options);
  ck_assert_int_eq(num_candidates, 1);
  options.family = "tile";
  options.schedule = "tile 4x4";
  lower_plane();
  list(&options);
  ck_assert_int_eq(num_candidates, 1);
  ck_assert_str_eq(candidates[0].schedule->name, "tile 4x4");
  options.schedule = NULL;
  lower_plane();
  list(&options);
  for (int32_t n = 0; n < num_candidates; ++n) {
    ck_assert_str_eq(candidates[n].family->name, "tile");
  }
  test_plan_lower("f32[0,3]", "f32[0,3]{0,1}", NULL, &problem);
  list(NULL);
  ck_assert_int_eq(num_candidates, 0);
}

/* A schedule that changes nothing anywhere would be a name and no more. */
RLO_TEST(test_schedule__each_changes_some_launch) {
  static const char *const pairs[][2] = {
      {"f32[2048,2048]", "f32[2048,2048]{0,1}"},
      {"f32[64,64]", "f32[64,64]{0,1}"},
      {"f32[64,512,512]", "f32[64,512,512]{1,2,0}"},
      {"f32[512,512,64]", "f32[512,512,64]{2,0,1}"},
      {"f32[1024,64,1024]", "f32[1024,64,1024]{0,1,2}"},
  };
  bool has_changed[64] = {false};
  for (size_t p = 0; p < 2 * sizeof pairs / sizeof pairs[0]; ++p) {
    device = p % 2 == 0 ? test_plan_cpu() : test_plan_gpu();
    test_plan_lower(pairs[p / 2][0], pairs[p / 2][1], NULL, &problem);
    list(NULL);
    for (int32_t n = 0; n < num_candidates; ++n) {
      has_changed[candidates[n].schedule - rlo__schedules] = true;
    }
  }
  for (int32_t n = 0; n < rlo__num_schedules; ++n) {
    ck_assert_msg(has_changed[n], "\"%s\" is never a candidate", rlo__schedules[n].name);
  }
}
