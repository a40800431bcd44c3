/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/family.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo__launch launch;
static rlo_device_info device;

static const rlo__family *const rows[] = {&rlo__family_cpu_gather, &rlo__family_gpu_gather};

/* Problems that come here are canonical; these are near enough. */
static void emit(int row) {
  rlo__family_query request = {.problem = &problem,
                               .device = &device,
                               .device_class = rows[row]->device_class,
                               .src_alignment_bytes = 128,
                               .dst_alignment_bytes = 128};
  device.device_class = rows[row]->device_class;
  double fraction = rows[row]->judge(&request, NULL);
  ck_assert(fraction > 0.0 && fraction <= 1.0);
  rlo__launch_deinit(&launch);
  expect_ok(rows[row]->emit(&request, &launch));
}

static void begin(void) {
  device = test_plan_gpu();
}

static void end(void) {
  rlo__launch_deinit(&launch);
}

RLO_FIXTURE(begin, end);

static void make_plane(int64_t n0, int64_t n1) {
  const int64_t extents[] = {n0, n1};
  const int64_t src[] = {1, n0};
  const int64_t dst[] = {n1, 1};
  test_plan_make(32, 2, extents, src, dst, &problem);
}

static int64_t counts_in_int(void) {
  emit(1);
  return test_plan_define(&launch, "RLO_INDEX32");
}

RLO_TEST(test_family_gather__counts_in_int_only_where_it_suffices) {
  make_plane(4, 6);
  ck_assert_int_eq(counts_in_int(), 1);
  /* The byte behind the last unit is what has to fit. */
  problem.dst.axis[0] = (INT32_MAX / 4 - 6) / 4;
  ck_assert_int_eq(counts_in_int(), 1);
  problem.dst.axis[0] += 1;
  ck_assert_int_eq(counts_in_int(), 0);

  make_plane(4, 6);
  problem.src.axis[1] = (INT32_MAX / 4 - 4) / 6;
  ck_assert_int_eq(counts_in_int(), 1);
  problem.src.axis[1] += 1;
  ck_assert_int_eq(counts_in_int(), 0);

  make_plane(4, 6);
  problem.src.base = -(INT64_C(1) << 33);
  problem.src.axis[0] = INT64_C(1) << 32;
  ck_assert_int_eq(counts_in_int(), 0);

  make_plane(4, 6);
  problem.src.base = INT64_MIN;
  ck_assert_int_eq(counts_in_int(), 0);

  make_plane(4, 6);
  problem.num_guards = 1;
  problem.guards[0].limit = INT32_MAX;
  problem.guards[0].form.axis[0] = 1;
  ck_assert_int_eq(counts_in_int(), 1);
  problem.guards[0].limit = INT64_C(1) << 31;
  ck_assert_int_eq(counts_in_int(), 0);
  problem.guards[0].limit = 5;
  problem.guards[0].form.axis[0] = INT64_C(1) << 30;
  ck_assert_int_eq(counts_in_int(), 0);

  make_plane(4, 6);
  problem.num_terms = 2;
  problem.terms[0].divisor = 3;
  problem.terms[0].form.axis[0] = INT64_C(300000000);
  problem.terms[1].divisor = 1;
  problem.terms[1].form.term[0] = 5;
  ck_assert_int_eq(counts_in_int(), 1);
  problem.terms[1].form.term[0] = 6;
  ck_assert_int_eq(counts_in_int(), 0);
  problem.terms[1].form.term[0] = 1;
  ck_assert_int_eq(counts_in_int(), 1);
  problem.terms[1].divisor = INT64_C(1) << 31;
  ck_assert_int_eq(counts_in_int(), 0);
}

RLO_TEST(test_family_gather__the_largest_problem_fits_a_launch) {
  int64_t extents[RLO_MAX_AXES];
  int64_t strides[RLO_MAX_AXES];
  for (int32_t a = 0; a < RLO_MAX_AXES; ++a) {
    extents[a] = a < 20 ? 2 : 1;
    strides[a] = INT64_C(1) << a % 20;
  }
  test_plan_make(32, RLO_MAX_AXES, extents, strides, strides, &problem);
  problem.num_terms = RLO_MAX_TERMS;
  for (int32_t t = 0; t < RLO_MAX_TERMS; ++t) {
    problem.terms[t].divisor = 3 + t;
    problem.terms[t].form.axis[t] = 1;
    problem.src.term[t] = t;
  }
  problem.num_guards = RLO_MAX_GUARDS;
  for (int32_t g = 0; g < RLO_MAX_GUARDS; ++g) {
    problem.guards[g].limit = 1;
    problem.guards[g].kind = g % 3 == 0 ? RLO_GUARD_SKIP : RLO_GUARD_PAD;
  }
  for (int row = 0; row < 2; ++row) {
    emit(row);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_SKIP_GUARDS"), 16);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_PAD_GUARDS"), 32);
  }
}

RLO_TEST(test_family_gather__refuses_boxes_beyond_64_bits) {
  make_plane(INT64_C(1) << 40, INT64_C(1) << 40);
  rlo__family_query request = {.problem = &problem,
                               .device = &device,
                               .src_alignment_bytes = 128,
                               .dst_alignment_bytes = 128};
  for (int row = 0; row < 2; ++row) {
    memset(&launch, 0, sizeof launch);
    expect_refusal(rows[row]->emit(&request, &launch), RLO_OVERFLOW,
                   "the points of a box of 2 axes do not fit into 64 bits");
  }
}
