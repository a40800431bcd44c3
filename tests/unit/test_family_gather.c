/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/family.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo__launch launch;
static rlo_device_info device;

static const rlo__family *const rows[] = {&rlo__family_cpu_gather,
                                          &rlo__family_gpu_gather};

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
  ck_assert_msg(rows[row]->emit(&request, &launch) == RLO_OK,
                "%s",
                rlo_error_last()->message);
}

static void begin(void) {
  device = test_plan_gpu();
}

static void end(void) {
  rlo__launch_deinit(&launch);
}

RLO_FIXTURE(begin, end);

static void check_list(const char *name, const int64_t *values, int32_t count) {
  for (int32_t d = 0; d < launch.num_defines; ++d) {
    if (strcmp(launch.defines[d].name, name) == 0) {
      ck_assert_int_eq(launch.defines[d].count, count);
      for (int32_t n = 0; n < count; ++n) {
        ck_assert_int_eq(launch.numbers[launch.defines[d].first + n],
                         values[n]);
      }
      return;
    }
  }
  ck_abort_msg("the launch has no %s", name);
}

#define CHECK_LIST(name, ...)         \
  check_list(                         \
      name,                           \
      (const int64_t[]){__VA_ARGS__}, \
      (int32_t)(sizeof(const int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

static void make_plane(int64_t n0, int64_t n1) {
  const int64_t extents[] = {n0, n1};
  const int64_t src[] = {1, n0};
  const int64_t dst[] = {n1, 1};
  test_plan_make(32, 2, extents, src, dst, &problem);
}

RLO_TEST(test_family_gather__bakes_every_form) {
  make_plane(4, 6);
  problem.src.base = 7;
  problem.src.term[0] = -2;
  problem.num_terms = 1;
  problem.terms[0].divisor = 5;
  problem.terms[0].form.base = -3;
  problem.terms[0].form.axis[1] = 2;
  /* A SKIP guard before a PAD guard: the kernel takes PAD first. */
  problem.num_guards = 2;
  problem.guards[0].kind = RLO_GUARD_SKIP;
  problem.guards[0].limit = 9;
  problem.guards[0].form.axis[0] = 1;
  problem.guards[1].kind = RLO_GUARD_PAD;
  problem.guards[1].limit = 8;
  problem.guards[1].form.term[0] = 1;
  for (int row = 0; row < 2; ++row) {
    emit(row);
    ck_assert_str_eq(launch.kernel_file, "gather");
    ck_assert_int_eq(test_plan_define(&launch, "RLO_UNIT_BYTES"), 4);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_NUM_AXES"), 2);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_NUM_TERMS"), 1);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_PAD_GUARDS"), 1);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_SKIP_GUARDS"), 1);
    CHECK_LIST("RLO_EXTENTS", 4, 6);
    CHECK_LIST("RLO_SRC", 7, 1, 4, -2);
    CHECK_LIST("RLO_DST", 0, 6, 1, 0);
    CHECK_LIST("RLO_TERMS", 5, -3, 0, 2, 0);
    CHECK_LIST("RLO_GUARD_FORMS", 8, 0, 0, 0, 1, 9, 0, 1, 0, 0);
    ck_assert_int_eq(launch.src_base_bytes, 0);
    ck_assert_int_eq(launch.num_arguments, 6);
  }
}

RLO_TEST(test_family_gather__passes_the_fill_in_two_halves) {
  make_plane(4, 6);
  problem.unit_bits = 128;
  for (int b = 0; b < 16; ++b) {
    problem.fill[b] = (uint8_t)(b + 1);
  }
  emit(0);
  ck_assert_int_eq(launch.arguments[4].kind, RLO__ARGUMENT_LONG);
  ck_assert_int_eq(launch.numbers[launch.arguments[4].first],
                   INT64_C(0x0807060504030201));
  ck_assert_int_eq(launch.numbers[launch.arguments[5].first],
                   INT64_C(0x100f0e0d0c0b0a09));
}

/* That segments tile the rows and work-items the segments. */
static void check_cover(void) {
  int64_t rest = 1;
  for (int32_t a = 0; a + 1 < problem.num_axes; ++a) {
    rest *= problem.extents[a];
  }
  int64_t inner =
      problem.num_axes > 0 ? problem.extents[problem.num_axes - 1] : 1;
  int64_t segment = test_plan_define(&launch, "RLO_SEGMENT");
  int64_t row_segments = test_plan_define(&launch, "RLO_ROW_SEGMENTS");
  int64_t segments = test_plan_define(&launch, "RLO_SEGMENTS");
  int64_t local = test_plan_define(&launch, "RLO_LOCAL");
  int64_t items = (int64_t)launch.global_size[0];
  ck_assert_int_ge(segment * row_segments, inner);
  ck_assert_int_lt(segment * (row_segments - 1), inner);
  ck_assert_int_eq(segments, row_segments * rest);
  ck_assert_int_eq(launch.work_dim, 1);
  ck_assert_uint_eq(launch.local_size[0], (size_t)local);
  ck_assert_int_le(local, device.max_work_group_items);
  ck_assert_int_eq(items % local, 0);
  ck_assert_int_le(items, INT64_C(1) << 30);
  int64_t pieces = test_plan_define(&launch, "RLO_PIECES");
  ck_assert(pieces == 1 || segment == 1);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_LOOP"),
                   items * pieces < segments);
  if (items * pieces < segments) {
    ck_assert_int_gt(items, (INT64_C(1) << 30) - local);
  } else {
    ck_assert_int_lt(items * pieces - local * pieces, segments);
  }
}

RLO_TEST(test_family_gather__work_items_cover_the_box) {
  static const int64_t sizes[][2] = {{1, 1},
                                     {3, 1},
                                     {1, 3},
                                     {5, 1023},
                                     {7, 1024},
                                     {7, 1025},
                                     {1000, 77777},
                                     {3000000, 1000},
                                     {INT64_C(1) << 20, INT64_C(1) << 20}};
  static const int64_t limits[] = {1, 3, 64, 1024};
  for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; ++n) {
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; ++k) {
      for (int row = 0; row < 2; ++row) {
        make_plane(sizes[n][0], sizes[n][1]);
        device.max_work_group_items = limits[k];
        emit(row);
        check_cover();
      }
    }
  }
}

RLO_TEST(test_family_gather__runs_a_single_cell) {
  test_plan_make(8, 0, NULL, NULL, NULL, &problem);
  problem.src.base = 3;
  for (int row = 0; row < 2; ++row) {
    emit(row);
    check_cover();
    CHECK_LIST("RLO_EXTENTS", 1);
    CHECK_LIST("RLO_SRC", 3, 0);
    CHECK_LIST("RLO_DST", 0, 0);
  }
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
    check_cover();
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
    ck_assert_int_eq(rows[row]->emit(&request, &launch), RLO_OVERFLOW);
    ck_assert_str_eq(rlo_error_last()->message,
                     "the points of a box of 2 axes do not fit into 64 bits");
  }
}
