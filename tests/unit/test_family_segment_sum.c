/* SPDX-License-Identifier: Apache-2.0 */

/* Sums that the CPU's segment sum refuses, and the reasons. */

#include <string.h>

#include "plan/family.h"
#include "support/expect.h"
#include "support/factors.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo_device_info device;

static void make(const char *src, const char *dst) {
  test_plan_segment_sum(src, "s32[6]", dst, &problem);
  expect_ok(rlo_problem_canonicalize(&problem, 128, NULL, NULL));
}

/* The problem is taken, or refused for a reason. It is as in the beginning then. */
static void expect_why(const char *what, const char *reason) {
  char words[160];
  rlo__str why = rlo__str_over(words, sizeof words);
  rlo__family_query query = {.problem = &problem,
                             .device = &device,
                             .device_class = RLO_DEVICE_CLASS_CPU,
                             .src_alignment_bytes = 128,
                             .dst_alignment_bytes = 128};
  bool is_taken = rlo__family_cpu_segment_sum.judge(&query, &why) >= 0.0;
  ck_assert_msg(strcmp(words, reason) == 0, "%s: %s", what, words);
  ck_assert_msg(is_taken == (reason[0] == '\0'), "%s", what);
  make("f32[6,4]", "f32[3,4]");
}

RLO_TEST(test_family_segment_sum__says_why_not) {
  device = test_plan_cpu();
  make("f32[6,4]", "f32[3,4]");
  expect_why("a sum", "");
  int32_t last = problem.num_axes - 1;
  problem.update = RLO_UPDATE_STORE;
  expect_why("a copy", "it does not sum points at computed positions");
  problem.num_terms = 0;
  expect_why("no indices", "it does not sum points at computed positions");
  problem.dst.axis[last - 1] = 0;
  expect_why("columns summed too", "2 axes are summed; the kernel takes one");
  problem.guards[problem.num_guards] = (rlo_guard){.kind = RLO_GUARD_PAD, .limit = 1};
  problem.guards[problem.num_guards++].form.axis[0] = 1;
  expect_why("padding", "it pads, which the kernel does not support");
  test_set_factors(&problem.arithmetic, 1.0, 1.0);
  expect_why("an update", "it adds to the cells; the kernel overwrites them");
  problem.arithmetic.src_type = RLO_DTYPE_F8E8M0FNU;
  expect_why("f8e8m0fnu", "the kernel does not support these types");
  make("f64[6,4]", "s32[3,4]");
  expect_why("f64 to s32", "the kernel does not support these types");
  make("f32[6,4]", "s32[3,4]");
  expect_why("f32 to s32", "");
}
