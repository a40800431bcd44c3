/* SPDX-License-Identifier: Apache-2.0 */
/* A launch claims what the planner proves, within the limits of a device. */

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/grid.h"
#include "plan/specialized.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

static test_plan plan;

static void begin(void) {
  plan.device = test_plan_cpu();
}

RLO_FIXTURE(begin, NULL);

static const struct {
  const char *what, *src, *dst, *family;
  int64_t dst_alignment, dst_base, proven;
} proofs[] = {
    {"lines", "f32[1024,1024]", "f32[1024,1024]{0,1}", "tile", 128, 0, 64},
    {"memory that is not aligned", "f32[1024,1024]", "f32[1024,1024]{0,1}", "tile", 32, 0, 4},
    {"an origin that is not", "f32[1024,1024]", "f32[1024,1024]{0,1}", "tile", 128, 8, 4},
    {"a stride that is not", "f32[8,512,512]", "f32[8,512,512]{:strides(262145,1,512)}", "tile",
     128, 0, 4},
    /* They are one run: only their groups have to be aligned. */
    {"joined structures", "f32[3,1000000]", "f32[3,1000000]{0,1}", "skinny", 128, 0, 64},
};

RLO_TABLE_TEST(test_planner__proves_lines_before_it_says_so, proofs) {
  test_plan_lower(proofs[_i].src, proofs[_i].dst, NULL, &plan.problem);
  plan.problem.dst.base = proofs[_i].dst_base;
  expect_ok(test_plan_try(&plan, proofs[_i].family, 4, proofs[_i].dst_alignment));
  ck_assert_msg(test_plan_define(&plan.launch, "RLO_DST_ALIGN") == proofs[_i].proven, "%s",
                proofs[_i].what);
  ck_assert_int_eq(plan.launch.dst_base_bytes, 4 * proofs[_i].dst_base);
  ck_assert(_i > 0 || test_plan_define(&plan.launch, "RLO_NT") == 1);
}

/* Rows of a block lean on each other, so that lines which two share are written
 * once, where they follow each other in the destination: not if the block has
 * several along another axis first. */
RLO_TEST(test_planner__rows_lean_on_those_that_they_follow) {
  static const int64_t extents[] = {1100, 9, 130};
  static const int64_t src_strides[2][3] = {{130, 143000, 1}, {1330, 140, 1}};
  static const int64_t dst_strides[] = {1170, 130, 1};
  static const int64_t leans_on[] = {-1, 1};

  enum { LEAN_AXIS = 14 };

  for (int n = 0; n < 2; ++n) {
    test_plan_make(128, 3, extents, src_strides[n], dst_strides, &plan.problem);
    expect_ok(test_plan_try(&plan, "rows", 64, 64));
    const rlo__argument *lean = &plan.launch.arguments[LEAN_AXIS];
    ck_assert_int_eq(plan.launch.numbers[lean->first], leans_on[n]);
  }
}

/* A device of few units gets groups for each of them. */
RLO_TEST(test_planner__groups_are_joined_as_units_allow) {
  enum { GROUPS = 4000, UNITS = 4, GROUPS_PER_UNIT = 4 };

  const rlo__family_query query = {.device = &plan.device};
  for (int32_t units = 0; units <= UNITS; ++units) {
    plan.device.compute_units = units;
    rlo__grid_plan grid = {.grid = {.num_axes = 1}};
    grid.grid.axes[0].extent = GROUPS;
    int64_t points;
    expect_ok(rlo__grid_join_groups(&query, 1, GROUPS, &grid, &points));
    const int64_t wanted = GROUPS_PER_UNIT * (units == 0 ? 1 : units);
    ck_assert_int_eq(points, GROUPS / wanted);
    ck_assert_uint_eq(grid.num_groups, (size_t)((GROUPS + points - 1) / points));
  }
}

/* Positions of 32 bits are taken as long as each bound fits. */
RLO_TEST(test_planner__counts_terms_in_32_bits_up_to_the_last_one) {
  static const int64_t one[] = {1};
  static const int64_t eight[] = {8};
  /* 2 + 8 at most, so that the quotient is 5 + 1 at most. */
  const int64_t most = INT32_MAX / 6;
  for (int64_t more = 0; more <= 1; ++more) {
    test_plan_make(8, 1, eight, one, one, &plan.problem);
    plan.problem.src.axis[0] = 0;
    plan.problem.num_terms = 1;
    plan.problem.terms[0].divisor = 2;
    plan.problem.terms[0].form.base = 2;
    plan.problem.terms[0].form.axis[0] = 1;
    plan.problem.src.term[0] = most + more;
    ck_assert_int_eq(rlo__specialized_fits_32_bits(&plan.problem), more == 0);
  }
}

/* Most launches have some hundred numbers, and the largest thousands. */
RLO_TEST(test_planner__a_launch_is_as_large_as_its_use) {
  enum { COUNT = 1000 };

  static int64_t values[COUNT];
  int64_t live = rlo__alloc_live_count();
  rlo__launch *launch = malloc(sizeof *launch);
  ck_assert_ptr_nonnull(launch);
  ck_assert_uint_lt(sizeof *launch, 6000);
  memset(launch, 0x55, sizeof *launch);
  rlo__launch_init(launch);
  for (int64_t n = 0; n < COUNT; ++n) {
    values[n] = n + 1;
  }
  expect_ok(rlo__launch_define_list(launch, "RLO_FEW", values, RLO__LAUNCH_FEW_NUMBERS));
  ck_assert_int_eq(rlo__alloc_live_count(), live);
  expect_ok(rlo__launch_define_list(launch, "RLO_MANY", values, COUNT));
  expect_ok(rlo__launch_define(launch, "RLO_LAST", 7));
  for (int64_t n = 0; n < RLO__LAUNCH_FEW_NUMBERS; ++n) {
    ck_assert_int_eq(launch->numbers[n], n + 1);
  }
  for (int64_t n = 0; n < COUNT; ++n) {
    ck_assert_int_eq(launch->numbers[RLO__LAUNCH_FEW_NUMBERS + n], n + 1);
  }
  ck_assert_int_eq(test_plan_define(launch, "RLO_LAST"), 7);
  rlo__alloc_set_fault(1, false);
  ck_assert_int_eq(rlo__launch_define_list(launch, "RLO_MORE", values, COUNT), RLO_OUT_OF_MEMORY);
  rlo__alloc_set_fault(0, false);
  ck_assert_int_eq(test_plan_define(launch, "RLO_MANY"), 1);
  rlo__launch_deinit(launch);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
  ck_assert_int_eq(launch->num_defines, 0);
  free(launch);
}

RLO_TEST(test_planner__small_output_stays_in_the_caches) {
  test_plan_lower("f32[720,720]{1,0}", "f32[720,720]{0,1}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_NT"), 0); /* 2073600 */
  test_plan_lower("f32[736,736]{1,0}", "f32[736,736]{0,1}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_NT"), 1); /* 2166784 */
  plan.device.has_nontemporal_store = false;
  test_plan_run(&plan);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_NT"), 0);
}

/* Rows are stored past the caches if they are whole lines, or long. */
RLO_TEST(test_planner__rows_go_by_lines) {
  static const struct {
    const char *src, *dst;
    int64_t is_past_caches;
  } rows[] = {{"f32[40000,16]{1,0}", "f32[40000,16]{:strides(32,1)}", 1},
              {"f32[300,3001]{1,0}", "f32[300,3001]{:strides(3003,1)}", 1},
              {"f32[40000,17]{1,0}", "f32[40000,17]{:strides(33,1)}", 0}};

  for (size_t n = 0; n < sizeof rows / sizeof rows[0]; ++n) {
    test_plan_lower(rows[n].src, rows[n].dst, NULL, &plan.problem);
    expect_ok(test_plan_try(&plan, "rows", 0, 0));
    ck_assert_msg(test_plan_define(&plan.launch, "RLO_NT") == rows[n].is_past_caches, "%s",
                  rows[n].dst);
  }
}

RLO_TEST(test_planner__prefetches_only_where_the_device_can) {
  test_plan_lower("f32[720,720]{1,0}", "f32[720,720]{0,1}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_PREFETCH"), 1);
  plan.device.has_builtin_prefetch = false;
  plan.device.has_vector_shuffle = false;
  test_plan_run(&plan);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_PREFETCH"), 0);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_VECTOR_SHUFFLE"), 0);
}

/* All arguments together, as clSetKernelArg takes them. */
static int64_t argument_bytes(void) {
  int64_t bytes = 0;
  for (int32_t n = 0; n < plan.launch.num_arguments; ++n) {
    bytes += rlo__argument_bytes(plan.launch.arguments[n].kind);
  }
  return bytes;
}

RLO_TEST(test_planner__beyond_2_gib_grids_are_64_bits_wide) {
  test_plan_lower("f32[50000,50000]{1,0}", "f32[50000,50000]{0,1}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "tile");
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_INDEX32"), 0);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_GRID_RANK"), 8);
  ck_assert_int_eq(plan.launch.arguments[7].kind, RLO__ARGUMENT_LONG8);
  ck_assert_int_eq(plan.launch.arguments[12].kind, RLO__ARGUMENT_LONG);

  test_plan_lower("f32[5000,5000]{1,0}", "f32[5000,5000]{0,1}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_INDEX32"), 1);
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_GRID_RANK"), 16);
  ck_assert_int_eq(plan.launch.arguments[7].kind, RLO__ARGUMENT_INT16);
  ck_assert_int_eq(plan.launch.arguments[12].kind, RLO__ARGUMENT_INT);
}

/* 8 G elements in 1 GiB: bytes are counted, but where rows begin anywhere. */
RLO_TEST(test_planner__packed_elements_count_bytes) {
  test_plan_lower("u1[131072,65536]{1,0:E(1)}", "u1[131072,65536]{0,1:E(1)}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "tile");
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_INDEX32"), 1);

  test_plan_lower("u1[131071,65537]{1,0:E(1)}", "u1[131071,65537]{0,1:E(1)}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "tile");
  ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_INDEX32"), 0);
}

/* Rows over `num_axes` axes without a merge, with `num_guards` PAD guards. */
static void make_rows(int32_t num_axes, int32_t num_guards, int64_t stretch) {
  int64_t extents[RLO_MAX_AXES];
  int64_t src[RLO_MAX_AXES];
  int64_t dst[RLO_MAX_AXES];
  int64_t stride = 1;
  for (int32_t a = num_axes - 1; a >= 0; --a) {
    extents[a] = 3;
    src[a] = dst[a] = stride * (a == 0 ? stretch : 1);
    stride *= 4;
  }
  test_plan_make(32, num_axes, extents, src, dst, &plan.problem);
  for (int32_t g = 0; g < num_guards; ++g) {
    rlo_guard *guard = &plan.problem.guards[plan.problem.num_guards++];
    guard->limit = 3 + g % 4;
    guard->form.axis[g % num_axes] = 1;
    guard->form.axis[(g + 1) % num_axes] = 3;
  }
}

RLO_TEST(test_planner__keeps_within_the_device_limit_of_arguments) {
  for (int32_t num_axes = 2; num_axes <= 20; ++num_axes) {
    for (int32_t num_guards = 0; num_guards <= 7; ++num_guards) {
      for (int64_t stretch = 1; stretch <= 1 << 20; stretch *= 1 << 20) {
        make_rows(num_axes, num_guards, stretch);
        test_plan_run(&plan);
        ck_assert_int_le(argument_bytes(), plan.device.max_parameter_bytes);
        ck_assert_int_le(plan.launch.num_arguments, RLO__LAUNCH_MAX_ARGUMENTS);
      }
    }
  }
}

RLO_TEST(test_planner__says_which_limit_a_problem_exceeds) {
  make_rows(18, 0, 1);
  test_plan_run(&plan);
  ck_assert_str_eq(test_plan_candidate(&plan, "rows")->reason,
                   "its groups would need 17 coordinates; the kernel takes 16");
  make_rows(9, 7, 1);
  test_plan_run(&plan);
  ck_assert_str_eq(test_plan_candidate(&plan, "rows")->reason,
                   "it has 7 guards; the kernel takes 6");
  make_rows(2, 1, 1);
  test_plan_run(&plan);
  ck_assert_str_eq(test_plan_candidate(&plan, "rows")->reason,
                   "guard 0 has the coefficient 3 along the row; the kernel "
                   "takes -1, 0 and 1");
  make_rows(4, 0, 1);
  plan.device.max_parameter_bytes = 256;
  test_plan_run(&plan);
  ck_assert_str_eq(test_plan_candidate(&plan, "rows")->reason,
                   "its 0 guards need 436 bytes of arguments; the device takes "
                   "256");
}
