/* SPDX-License-Identifier: Apache-2.0 */

/* A launch as a value: what makes two of them different, and how much it may
 * hold. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/launch.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo__launch launch;
static rlo__launch other;

static void begin(void) {
  rlo__launch_init(&launch);
  rlo__launch_init(&other);
}

static void end(void) {
  rlo__launch_deinit(&launch);
  rlo__launch_deinit(&other);
}

RLO_FIXTURE(begin, end);

static void fill(rlo__launch *l) {
  const int64_t values[] = {3, 5};
  l->kernel_file = "cpu_tile";
  l->src_base_bytes = 8;
  l->dst_base_bytes = 16;
  l->work_dim = 1;
  l->global_size[0] = 64;
  l->local_size[0] = 4;
  expect_ok(rlo__launch_define(l, "RLO_A", 7));
  expect_ok(rlo__launch_define_list(l, "RLO_B", values, 2));
  expect_ok(rlo__launch_argument(l, RLO__ARGUMENT_INT, values, 1));
  expect_ok(rlo__launch_argument(l, RLO__ARGUMENT_LONG, values, 1));
}

/* Launches that are each changed in one part that counts. */
static rlo__launch changed[15];

static void make_changed(void) {
  for (size_t n = 0; n < sizeof changed / sizeof changed[0]; ++n) {
    rlo__launch_init(&changed[n]);
    fill(&changed[n]);
    changed[n].global_size[1] = 9; /* not counted */
    ck_assert(rlo__launch_equal(&launch, &changed[n]));
  }
  rlo__launch *l = changed;
  l++->kernel_file = "cpu_rows";
  l++->num_defines = 1;
  l++->num_arguments = 1;
  l++->num_numbers = 4;
  l++->src_base_bytes = 9;
  l++->dst_base_bytes = 17;
  l++->work_dim = 2;
  l++->defines[1].name = "RLO_C";
  l++->defines[1].first = 0;
  l++->defines[1].count = 1;
  l++->arguments[1].kind = RLO__ARGUMENT_INT;
  l++->arguments[1].first = 0;
  l++->global_size[0] = 65;
  l++->local_size[0] = 5;
  l++->numbers[2] = 6;
  ck_assert_ptr_eq(l, changed + sizeof changed / sizeof changed[0]);
}

RLO_TABLE_TEST(test_launch__is_different_by_every_part, changed) {
  fill(&launch);
  make_changed();
  ck_assert(!rlo__launch_equal(&launch, &changed[_i]));
}

RLO_TEST(test_launch__is_as_new_once_it_is_cleared) {
  fill(&launch);
  for (int d = 0; d < 3; ++d) {
    launch.global_size[d] = 7;
    launch.local_size[d] = 7;
  }
  snprintf(launch.parameters, sizeof launch.parameters, "tile 8x8");
  rlo__launch_clear(&launch);
  ck_assert_ptr_null(launch.kernel_file);
  launch.kernel_file = other.kernel_file = "cpu_copy";
  ck_assert(rlo__launch_equal(&launch, &other));
  for (int d = 0; d < 3; ++d) {
    ck_assert_uint_eq(launch.global_size[d], 0);
    ck_assert_uint_eq(launch.local_size[d], 0);
  }
  ck_assert_str_eq(launch.parameters, "");
}

RLO_TEST(test_launch__without_numbers_is_equal) {
  launch.kernel_file = other.kernel_file = "cpu_copy";
  ck_assert(rlo__launch_equal(&launch, &other));
}

RLO_TEST(test_launch__refuses_arguments_that_do_not_fit) {
  const int64_t beyond[] = {INT64_C(1) << 31, -(INT64_C(1) << 31) - 1};
  const int64_t within[] = {INT32_MAX, INT32_MIN};
  launch.kernel_file = "cpu_tile";
  for (int n = 0; n < 2; ++n) {
    expect_ok(rlo__launch_argument(&launch, RLO__ARGUMENT_INT, &within[n], 1));
    expect_ok(rlo__launch_argument(&launch, RLO__ARGUMENT_LONG, &beyond[n], 1));
    ck_assert_int_eq(rlo__launch_argument(&launch, RLO__ARGUMENT_INT, &beyond[n], 1), RLO_OVERFLOW);
    ck_assert_int_eq(rlo__launch_argument(&launch, RLO__ARGUMENT_INT16, &beyond[n], 1),
                     RLO_OVERFLOW);
  }
  ck_assert_str_eq(rlo_error_last()->message,
                   "argument 4 of kernel cpu_tile is -2147483649, beyond 32 "
                   "bits");
  ck_assert_int_eq(launch.num_arguments, 4);
}

RLO_TEST(test_launch__refuses_an_origin_beyond_64_bits) {
  static rlo_problem problem;
  const int64_t one = 1;
  test_plan_make(32, 1, &one, &one, &one, &problem);
  problem.src.base = INT64_MAX / 4;
  problem.dst.base = INT64_MIN / 4;
  expect_ok(rlo__launch_begin(&problem, "cpu_tile", RLO__LAUNCH_ORIGIN, &launch));
  ck_assert(launch.src_base_bytes == INT64_MAX - 3);
  ck_assert(launch.dst_base_bytes == INT64_MIN);
  rlo__launch_clear(&launch);
  --problem.dst.base;
  ck_assert_int_eq(rlo__launch_begin(&problem, "cpu_tile", RLO__LAUNCH_ORIGIN, &launch),
                   RLO_OVERFLOW);
  problem.dst.base = 0;
  ++problem.src.base;
  ck_assert_int_eq(rlo__launch_begin(&problem, "cpu_tile", RLO__LAUNCH_ORIGIN, &launch),
                   RLO_OVERFLOW);
  /* Kernels that have the problem compiled in add it themselves. */
  rlo__launch_clear(&launch);
  expect_ok(rlo__launch_begin(&problem, "cpu_tile", 0, &launch));
  ck_assert_int_eq(launch.src_base_bytes, 0);
}
