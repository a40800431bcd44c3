/* SPDX-License-Identifier: Apache-2.0 */

#include "plan/geometry.h"
#include "plan/grid.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;

static rlo__geometry look(void) {
  static rlo_device_info device = RLO_DEVICE_INFO_INIT;
  device = test_plan_cpu();
  rlo__family_query request = {.problem = &problem,
                               .device = &device,
                               .src_alignment_bytes = 128,
                               .dst_alignment_bytes = 128};
  return rlo__geometry_of(&request);
}

static void make(int32_t num_axes, const int64_t *extents, const int64_t *src, const int64_t *dst) {
  test_plan_make(32, num_axes, extents, src, dst, &problem);
}

#define MAKE(extents, src, dst) \
  make((int32_t)(sizeof(extents) / sizeof(extents)[0]), (extents), (src), (dst))

static const struct {
  const char *fact;
  int32_t num_axes;
  int64_t extents[3], src[3], dst[3];
  int32_t src_axis, dst_axis, run_axis;
  int64_t box_bytes;
} boxes[] = {
    {"two axes of stride one are a plane", 3, {4, 5, 6}, {1, 4, 20}, {30, 6, 1}, 0, 2, -1, 480},
    {"an axis kept on both sides is the run", 3, {4, 5, 6}, {6, 24, 1}, {30, 6, 1}, -1, 2, 2, 480},
    {"reversed and strided axes are no plane", 2, {4, 5}, {5, -1}, {10, 2}, -1, -1, -1, 80},
    /* dst[3i + j] = src[i + j]. */
    {"windows have a run and a plane", 2, {100, 3}, {1, 1}, {3, 1}, 0, 1, 1, 1200},
};

RLO_TABLE_TEST(test_geometry__finds_axes_of_stride_one, boxes) {
  make(boxes[_i].num_axes, boxes[_i].extents, boxes[_i].src, boxes[_i].dst);
  rlo__geometry g = look();
  ck_assert_msg(g.src_axis == boxes[_i].src_axis && g.dst_axis == boxes[_i].dst_axis &&
                    g.run_axis == boxes[_i].run_axis,
                "%s: axes %d, %d, %d", boxes[_i].fact, g.src_axis, g.dst_axis, g.run_axis);
  ck_assert_int_eq(g.unit_bytes, 4);
  ck_assert_int_eq(g.box_bytes, boxes[_i].box_bytes);
}

RLO_TEST(test_geometry__nothing_is_read_where_a_pad_guard_never_holds) {
  static const int64_t extents[] = {4, 5};
  static const int64_t src[] = {0, 0};
  static const int64_t dst[] = {8, 1};
  MAKE(extents, src, dst);
  ck_assert(!look().is_fill);
  ck_assert_int_eq(look().run_axis, -1);
  problem.num_guards = 1; /* 0 <= 0 < 0 */
  rlo__geometry g = look();

  ck_assert(g.is_fill);
  ck_assert_int_eq(g.run_axis, 1);
  ck_assert_int_eq(g.num_pad_guards, 1);
  ck_assert_int_eq(g.num_skip_guards, 0);
}

RLO_TEST(test_geometry__32_bits_end_at_2_gib) {
  static const int64_t zero[] = {0};
  static const int64_t one[] = {1};
  int64_t extent[] = {(INT64_C(1) << 29) - 1}; /* 2^31 - 4 bytes */
  MAKE(extent, one, one);
  ck_assert(look().fits_32_bits);
  extent[0] += 1;
  MAKE(extent, one, one);
  ck_assert(!look().fits_32_bits);
  MAKE(extent, zero, one);
  ck_assert(!look().fits_32_bits);
  MAKE(extent, zero, zero);
  ck_assert(look().fits_32_bits);
  problem.dst.base = -(INT64_C(1) << 29);
  ck_assert(!look().fits_32_bits);
  /* Each position fits, the distance of two does not. */
  static const int64_t half[] = {(INT64_C(1) << 28) + 1};
  MAKE(half, one, one);
  problem.src.axis[0] = -2;
  problem.src.base = INT64_C(1) << 28;
  ck_assert(!look().fits_32_bits);
  problem.src.axis[0] = -1;
  ck_assert(look().fits_32_bits);
  /* One side alone is enough. */
  static const int64_t two[] = {2};
  static const int64_t far[] = {INT64_C(1) << 29};
  MAKE(two, far, one);
  ck_assert(!look().fits_32_bits);
  MAKE(two, one, far);
  ck_assert(!look().fits_32_bits);
}

RLO_TEST(test_geometry__a_guard_may_leave_32_bits) {
  static const int64_t extents[] = {1000};
  static const int64_t one[] = {1};
  MAKE(extents, one, one);
  problem.num_guards = 1;
  problem.guards[0].limit = INT64_C(1) << 40;
  problem.guards[0].form.axis[0] = 2147483;
  ck_assert(look().fits_32_bits);
  problem.guards[0].form.axis[0] = 2147484;
  ck_assert(!look().fits_32_bits);
  problem.guards[0].form.axis[0] = -2147484;
  ck_assert(!look().fits_32_bits);
}

RLO_TEST(test_geometry__positions_in_bytes_may_overflow) {
  static const int64_t extents[] = {3};
  static const int64_t small[] = {1};
  int64_t large[] = {INT64_MAX / 4};
  MAKE(extents, small, large);
  ck_assert(rlo__geometry_overflows(&problem));
  large[0] = INT64_MAX / 16;
  MAKE(extents, small, large);
  ck_assert(!rlo__geometry_overflows(&problem));
}

RLO_TEST(test_geometry__alignment_is_the_least_of_what_takes_part) {
  ck_assert_int_eq(rlo__alignment_after(128, 0, 64), 64);
  ck_assert_int_eq(rlo__alignment_after(16, 0, 64), 16);
  ck_assert_int_eq(rlo__alignment_after(128, 96, 64), 32);
  ck_assert_int_eq(rlo__alignment_after(128, -12, 64), 4);
  ck_assert_int_eq(rlo__alignment_after(128, 1, 64), 1);
}

RLO_TEST(test_grid__covers_the_box_and_reads_in_order) {
  static const int64_t extents[] = {3, 100, 1, 70};
  static const int64_t src[] = {-7000, 1, 5, 100};
  static const int64_t dst[] = {7000, 70, 5, 1};
  MAKE(extents, src, dst);
  rlo__grid grid = {0};
  rlo__grid_add_axis(&grid, &problem, 1, 64);
  rlo__grid_add_axis(&grid, &problem, 3, 70);
  rlo__grid_add_axis(&grid, &problem, 2, 1);
  rlo__grid_add_axis(&grid, &problem, 0, 1);
  rlo__grid_sort_by_src(&grid);

  /* One step covers axes 2 and 3. */
  ck_assert_int_eq(grid.num_axes, 2);
  ck_assert_int_eq(rlo__grid_find(&grid, 0), 0);
  ck_assert_int_eq(rlo__grid_find(&grid, 1), 1);
  ck_assert_int_eq(rlo__grid_find(&grid, 3), -1);
  ck_assert_int_eq(grid.axes[1].extent, 2);
  ck_assert_int_eq(grid.axes[1].src_stride, 64);
  ck_assert_int_eq(grid.axes[1].dst_stride, 64 * 70);
  size_t groups;
  ck_assert_int_eq(rlo__grid_num_groups(&grid, &groups), RLO_OK);
  ck_assert_uint_eq(groups, 6);
}

RLO_TEST(test_grid__counts_groups_within_size_t) {
  int64_t extents[RLO__GRID_MAX_AXES];
  for (int32_t a = 0; a < RLO__GRID_MAX_AXES; ++a) {
    extents[a] = INT64_C(1) << 40;
  }
  MAKE(extents, extents, extents);
  rlo__grid grid = {0};
  for (int32_t a = 0; a < RLO__GRID_MAX_AXES; ++a) {
    rlo__grid_add_axis(&grid, &problem, a, 1);
  }
  size_t groups;
  ck_assert_int_eq(rlo__grid_num_groups(&grid, &groups), RLO_OVERFLOW);
}
