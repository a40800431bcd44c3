/* SPDX-License-Identifier: Apache-2.0 */

#include "plan/plane.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo__plane plane;
static rlo__side a;
static rlo__side b;

static void begin(const char *src, const char *dst) {
  test_plan_lower(src, dst, NULL, &problem);
  ck_assert_int_eq(rlo_problem_canonicalize(&problem, 0, NULL, NULL), RLO_OK);
  rlo_device_info device = {.device_class = RLO_DEVICE_CLASS_CPU};
  rlo__family_query request = {
      .problem = &problem, .device = &device, .src_alignment_bytes = 4, .dst_alignment_bytes = 4};
  rlo__geometry geometry = rlo__geometry_of(&request);
  ck_assert(rlo__plane_find(&problem, &geometry, &plane, NULL));
  rlo__sides_init(&problem, &plane, &a, &b);
}

/** The same position by the axes of a side and by counting. */
static void expect_side(const rlo__side *side, const rlo_form *along, const rlo_form *across) {
  int64_t extent = 1;
  for (int32_t n = 0; n < side->num_levels; ++n) {
    int32_t axis = side->axes[n];
    ck_assert_int_eq(along->axis[axis], extent);
    ck_assert_int_eq(side->extents[n], problem.extents[axis]);
    ck_assert_int_eq(side->steps[n], across->axis[axis]);
    extent *= side->extents[n];
  }
  ck_assert_int_eq(side->extent, extent);
}

static void expect_sides(int64_t a_extent, int64_t b_extent) {
  expect_side(&a, &problem.src, &problem.dst);
  expect_side(&b, &problem.dst, &problem.src);
  ck_assert_int_eq(a.extent, a_extent);
  ck_assert_int_eq(b.extent, b_extent);
  for (int32_t n = 0; n < a.num_levels; ++n) {
    ck_assert(!rlo__side_has(&b, a.axes[n]));
  }
}

RLO_TEST(test_side__begins_with_the_plane) {
  begin("f32[6,5,4,3]", "f32[6,5,4,3]{0,1,2,3}");
  expect_sides(3, 6);
  ck_assert(rlo__side_has(&a, plane.a_axis));
  ck_assert(!rlo__side_has(&a, plane.b_axis));
}

RLO_TEST(test_side__grows_until_it_is_enough) {
  begin("f32[6,5,4,3]", "f32[6,5,4,3]{0,1,2,3}");
  rlo__side_grow(&problem, &problem.src, 3, &b, &a);
  expect_sides(3, 6);
  rlo__side_grow(&problem, &problem.src, 4, &b, &a);
  expect_sides(12, 6);
  rlo__side_grow(&problem, &problem.dst, 1000, &a, &b);
  expect_sides(12, 30);
}

RLO_TEST(test_side__leaves_the_other_sides_axes) {
  begin("f32[6,5,4,3]", "f32[6,5,4,3]{0,1,2,3}");
  rlo__side_grow(&problem, &problem.src, 1000, &b, &a);
  expect_sides(60, 6);
  rlo__side_grow(&problem, &problem.dst, 1000, &a, &b);
  expect_sides(60, 6);
}

RLO_TEST(test_side__has_three_axes_at_most) {
  begin("f32[2,3,2,3,2,3]", "f32[2,3,2,3,2,3]{0,1,2,3,4,5}");
  rlo__side_grow(&problem, &problem.dst, 1000, &a, &b);
  expect_sides(3, 12);
  ck_assert_int_eq(b.num_levels, RLO__SIDE_MAX_LEVELS);
}

RLO_TEST(test_side__stops_at_a_gap) {
  begin("f32[6,5,4]{:strides(40,7,1)offset(0)}", "f32[6,5,4]{0,1,2}");
  rlo__side_grow(&problem, &problem.src, 1000, &b, &a);
  expect_sides(4, 6);
  rlo__side_grow(&problem, &problem.dst, 1000, &a, &b);
  expect_sides(4, 30);
}

RLO_TEST(test_side__stays_one_axis_beside_guards) {
  begin("f32[6,5,4,3]", "f32[6,5,4,3]{0,1,2,3:pad(6,8,4,3)fill(zero)}");
  ck_assert_int_gt(problem.num_guards, 0);
  rlo__side_grow(&problem, &problem.src, 1000, &b, &a);
  rlo__side_grow(&problem, &problem.dst, 1000, &a, &b);
  expect_sides(3, 6);
}
