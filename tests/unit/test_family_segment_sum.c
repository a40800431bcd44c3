/* SPDX-License-Identifier: Apache-2.0 */

/* Sums that the CPU's segment sum refuses, and the reasons. */

#include <string.h>

#include "plan/family.h"
#include "support/factors.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo_device_info device;

static const struct {
  const char *src;
  const char *dst;
  const char *why;
} refusals[] = {
    {"f32[6,4]", "f32[3,4]", NULL},
    {"f32[6,4]", "f32[3,4]", "it does not sum points at computed positions"},
    {"f32[6,4]", "f32[3,4]", "it does not sum points at computed positions"},
    {"f32[6,4]", "f32[3,4]", "2 axes are summed; the kernel takes one"},
    {"f32[6,4]", "f32[3,4]", "it pads, which the kernel does not support"},
    {"f32[6,4]", "f32[3,4]", "it adds to the cells; the kernel overwrites them"},
    {"f32[6,4]", "f32[3,4]", "the kernel does not support these types"},
    {"f64[6,4]", "s32[3,4]", "the kernel does not support these types"},
    {"f32[6,4]", "s32[3,4]", NULL},
};

/* Changes the problem of a row, where its types do not do that. */
static void change(int row) {
  int32_t last = problem.num_axes - 1;
  switch (row) {
    case 1:
      problem.update = RLO_UPDATE_STORE;
      break;
    case 2:
      problem.num_terms = 0;
      break;
    case 3:
      /* Columns are summed too. */
      problem.dst.axis[last - 1] = 0;
      break;
    case 4:
      problem.guards[problem.num_guards] = (rlo_guard){.kind = RLO_GUARD_PAD, .limit = 1};
      problem.guards[problem.num_guards++].form.axis[0] = 1;
      break;
    case 5:
      test_set_factors(&problem.arithmetic, 1.0, 1.0);
      break;
    case 6:
      problem.arithmetic.src_type = RLO_DTYPE_F8E8M0FNU;
      break;
    default:
      break;
  }
}

RLO_TABLE_TEST(test_family_segment_sum__says_why_not, refusals) {
  char words[160];
  rlo__str why = rlo__str_over(words, sizeof words);
  device = test_plan_cpu();
  test_plan_segment_sum(refusals[_i].src, "s32[6]", refusals[_i].dst, &problem);
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 128, NULL, NULL), RLO_OK);
  change(_i);
  rlo__family_query query = {.problem = &problem,
                             .device = &device,
                             .device_class = RLO_DEVICE_CLASS_CPU,
                             .src_alignment_bytes = 128,
                             .dst_alignment_bytes = 128};
  bool is_taken = rlo__family_cpu_segment_sum.judge(&query, &why) >= 0.0;
  ck_assert_str_eq(words, refusals[_i].why != NULL ? refusals[_i].why : "");
  ck_assert(is_taken == (refusals[_i].why == NULL));
}
