/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/family.h"
#include "plan/grid.h"
#include "support/plan_case.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo__launch launch;
static rlo_device_info device;
static rlo__family_query request;
static char reason[160];

static void begin(void) {
  device = test_plan_gpu();
  request = (rlo__family_query){.problem = &problem,
                                .device = &device,
                                .device_class = RLO_DEVICE_CLASS_GPU,
                                .src_alignment_bytes = 128,
                                .dst_alignment_bytes = 128};
}

RLO_FIXTURE(begin, NULL);

static double judge(const rlo__family *family) {
  rlo__str why = rlo__str_over(reason, sizeof reason);
  double fraction = family->judge(&request, &why);
  ck_assert_int_eq(fraction >= 0.0, why.length == 0);
  return fraction;
}

static bool is_applicable(const rlo__family *family) {
  return judge(family) >= 0.0;
}

static void emit(const rlo__family *family) {
  double fraction = judge(family);
  ck_assert_msg(fraction > 0.0 && fraction <= 1.0, "%s: %s", family->name, reason);
  memset(&launch, 0, sizeof launch);
  ck_assert_msg(family->emit(&request, &launch) == RLO_OK, "%s: %s", family->name,
                rlo_error_last()->message);
  ck_assert_int_eq(launch.work_dim, 1);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_LOCAL"), (int64_t)launch.local_size[0]);
  ck_assert_uint_le(launch.local_size[0], (size_t)device.max_work_group_items);
  ck_assert_uint_eq(launch.global_size[0] % launch.local_size[0], 0);
}

static int64_t num_groups(void) {
  return (int64_t)(launch.global_size[0] / launch.local_size[0]);
}

static void make_run(int64_t unit_bits, int64_t units) {
  static const int64_t one[] = {1};
  test_plan_make((int32_t)unit_bits, 1, &units, one, one, &problem);
}

/* Rows of `units`, `gap` units apart in the destination. */
static void make_rows(int64_t num_rows, int64_t units, int64_t gap) {
  const int64_t extents[] = {num_rows, units};
  const int64_t src[] = {units, 1};
  const int64_t dst[] = {units + gap, 1};
  test_plan_make(32, 2, extents, src, dst, &problem);
}

static void make_plane(int32_t unit_bits, int64_t na, int64_t nb) {
  const int64_t extents[] = {na, nb};
  const int64_t src[] = {1, na};
  const int64_t dst[] = {nb, 1};
  test_plan_make(unit_bits, 2, extents, src, dst, &problem);
}

static void make_planes(int64_t count, int32_t unit_bits, int64_t na, int64_t nb) {
  const int64_t extents[] = {count, na, nb};
  const int64_t src[] = {na * nb, 1, na};
  const int64_t dst[] = {na * nb, nb, 1};
  test_plan_make(unit_bits, 3, extents, src, dst, &problem);
}

RLO_TEST(test_family_gpu__rows_are_wide_only_where_it_is_proven) {
  static const struct {
    int64_t units, gap, src_alignment, dst_alignment, dst_base, wide;
  } table[] = {
      {64, 4, 16, 16, 0, 4}, {64, 4, 8, 16, 0, 1},  {64, 4, 16, 8, 0, 1},  {64, 2, 16, 16, 0, 1},
      {66, 2, 16, 16, 0, 1}, {64, 4, 16, 16, 1, 1}, {64, 4, 16, 16, 4, 4}, {3, 1, 16, 16, 0, 1},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    make_rows(100, table[n].units, table[n].gap);
    problem.dst.base = table[n].dst_base;
    request.src_alignment_bytes = table[n].src_alignment;
    request.dst_alignment_bytes = table[n].dst_alignment;
    emit(&rlo__family_gpu_rows);
    ck_assert_msg(test_plan_define(&launch, "RLO_WIDE_UNITS") == table[n].wide, "case %d: %lld",
                  (int)n, (long long)test_plan_define(&launch, "RLO_WIDE_UNITS"));
  }
}

RLO_TEST(test_family_gpu__rows_that_begin_anywhere_are_shifted) {
  static const struct {
    int32_t bits;
    int64_t units, gap, wide, shift;
  } table[] = {
      {8, 64, 1, 4, 1},   {8, 16, 1, 4, 1},     {8, 15, 1, 1, 0},  {8, 64, 4, 4, 0},
      {8, 64, 16, 16, 0}, {8, 100003, 1, 4, 1}, {16, 65, 0, 2, 1}, {16, 64, 2, 2, 0},
      {16, 7, 1, 1, 0},   {32, 65, 0, 1, 0},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    make_rows(100, table[n].units, table[n].gap);
    problem.unit_bits = table[n].bits;
    request.src_alignment_bytes = 16;
    request.dst_alignment_bytes = 16;
    emit(&rlo__family_gpu_rows);
    ck_assert_msg(test_plan_define(&launch, "RLO_WIDE_UNITS") == table[n].wide &&
                      test_plan_define(&launch, "RLO_SHIFT") == table[n].shift,
                  "case %d: %s", (int)n, launch.parameters);
  }
}

RLO_TEST(test_family_gpu__narrow_units_move_four_bytes_where_proven) {
  static const struct {
    int32_t bits;
    int64_t na, nb, src_alignment, dst_alignment, read, write;
  } table[] = {
      {8, 64, 64, 4, 4, 4, 4},  {8, 66, 64, 4, 4, 1, 4},     {8, 64, 63, 4, 4, 4, 1},
      {8, 64, 64, 2, 4, 1, 4},  {16, 64, 64, 4, 2, 2, 1},    {16, 62, 63, 4, 4, 2, 1},
      {32, 63, 65, 4, 4, 1, 1}, {128, 64, 64, 16, 16, 1, 1},
  };

  /* Groups are too small for words. */
  device.max_work_group_items = 16;
  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    make_plane(table[n].bits, table[n].na, table[n].nb);
    request.src_alignment_bytes = table[n].src_alignment;
    request.dst_alignment_bytes = table[n].dst_alignment;
    emit(&rlo__family_gpu_tile);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_WORDS"), 0);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_READ_UNITS"), table[n].read);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_WRITE_UNITS"), table[n].write);
  }
}

RLO_TEST(test_family_gpu__narrow_units_move_as_words) {
  enum { SRC_BEGIN = 15 };

  static const struct {
    int32_t bits;
    int64_t na, nb, lanes, words;
  } table[] = {
      {8, 8191, 8191, 256, 1},  {8, 100, 100, 256, 1},   {8, 100, 16, 256, 0},
      {8, 8191, 8191, 128, 1},  {8, 8191, 8191, 64, 0},  {16, 8191, 8191, 256, 1},
      {16, 8191, 8191, 128, 1}, {16, 8191, 8191, 64, 0}, {16, 4, 8191, 256, 0},
      {32, 8191, 8191, 256, 0},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    make_plane(table[n].bits, table[n].na, table[n].nb);
    problem.src.base = 3;
    problem.src_bytes = 1000;
    device.max_work_group_items = table[n].lanes;
    emit(&rlo__family_gpu_tile);
    int64_t words = test_plan_define(&launch, "RLO_WORDS");
    ck_assert_msg(words == table[n].words, "case %d", (int)n);
    int64_t unit_bytes = table[n].bits / 8;
    if (words) {
      /* Rows that a lane takes begin alike in their words. */
      int64_t read = test_plan_define(&launch, "RLO_TILE_A") * unit_bytes / 4;
      int64_t written = test_plan_define(&launch, "RLO_TILE_B") * unit_bytes / 4;
      ck_assert_int_eq(table[n].lanes / read * unit_bytes % 4, 0);
      ck_assert_int_eq(table[n].lanes / written * unit_bytes % 4, 0);
      /* The bounds of the readable memory of the source. */
      const int64_t *bounds = &launch.numbers[launch.arguments[SRC_BEGIN].first];
      ck_assert_int_eq(bounds[0], -3 * unit_bytes);
      ck_assert_int_eq(bounds[1], 1000 - 3 * unit_bytes);
    }
  }
}

/* A device of 32 compute units. */
RLO_TEST(test_family_gpu__small_arrays_get_small_tiles) {
  static const struct {
    int64_t na, nb, tile;
  } table[] = {
      {7225, 7225, 32}, {512, 512, 64}, {7225, 448, 64},  {512, 448, 32},
      {257, 257, 32},   {4000, 96, 64}, {100000, 65, 32}, {3, 5, 0},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    make_plane(32, table[n].na, table[n].nb);
    emit(&rlo__family_gpu_tile);
    if (table[n].tile > 0) {
      ck_assert_msg(test_plan_define(&launch, "RLO_TILE_A") == table[n].tile &&
                        test_plan_define(&launch, "RLO_TILE_B") == table[n].tile,
                    "case %d: %s", (int)n, launch.parameters);
    }
  }
}

RLO_TEST(test_family_gpu__squares_only_where_it_is_proven) {
  static const struct {
    int32_t bits;
    int64_t na, nb, src_alignment, dst_alignment, local_bytes, square;
  } table[] = {
      {8, 128, 128, 4, 4, 32768, 4},   {8, 127, 128, 4, 4, 32768, 1},
      {8, 254, 128, 4, 4, 32768, 1},   {8, 128, 128, 4, 2, 32768, 1},
      {8, 128, 128, 4, 4, 16384, 4},   {16, 128, 124, 8, 8, 32768, 4},
      {16, 128, 122, 8, 8, 32768, 1},  {32, 64, 64, 16, 16, 32768, 4},
      {32, 64, 64, 16, 8, 32768, 1},   {32, 126, 64, 16, 16, 32768, 1},
      {64, 64, 32, 16, 16, 32768, 2},  {64, 64, 63, 16, 16, 32768, 1},
      {128, 64, 64, 16, 16, 32768, 1},
  };

  for (size_t n = 0; n < sizeof table / sizeof table[0]; ++n) {
    make_planes(100, table[n].bits, table[n].na, table[n].nb);
    request.src_alignment_bytes = table[n].src_alignment;
    request.dst_alignment_bytes = table[n].dst_alignment;
    device.local_memory_bytes = table[n].local_bytes;
    emit(&rlo__family_gpu_tile);
    ck_assert_msg(test_plan_define(&launch, "RLO_SQUARE") == table[n].square, "case %d: %lld",
                  (int)n, (long long)test_plan_define(&launch, "RLO_SQUARE"));
  }
}

RLO_TEST(test_family_gpu__small_devices_get_small_groups) {
  static const int64_t limits[] = {1, 2, 63, 64, 255, 256, 4096};
  static const int64_t locals[] = {1, 2, 32, 64, 128, 256, 256};
  for (size_t n = 0; n < sizeof limits / sizeof limits[0]; ++n) {
    device.max_work_group_items = limits[n];
    ck_assert_int_eq(rlo__gpu_local_items(&device), locals[n]);
    make_plane(32, 100, 200);
    emit(&rlo__family_gpu_tile);
    make_rows(100, 50, 1);
    emit(&rlo__family_gpu_rows);
    make_run(32, 5000);
    emit(&rlo__family_gpu_copy);
    ck_assert_uint_eq(launch.local_size[0], (size_t)locals[n]);
  }
}

static void check_refusal(const rlo__family *family, const char *words) {
  ck_assert(!is_applicable(family));
  ck_assert_str_eq(reason, words);
}

RLO_TEST(test_family_gpu__says_why_it_refuses) {
  make_plane(32, 100, 200);
  check_refusal(&rlo__family_gpu_copy, "2 axes are left; a copy has one");
  check_refusal(&rlo__family_gpu_rows, "no axis has stride 1 on both sides");
  device.local_memory_bytes = 4000;
  check_refusal(&rlo__family_gpu_tile,
                "its tile takes 4224 bytes of local memory; the device has "
                "4000");
  device.local_memory_bytes = 4224;
  ck_assert(is_applicable(&rlo__family_gpu_tile));

  problem.num_terms = 1;
  problem.terms[0].divisor = 3;
  check_refusal(&rlo__family_gpu_tile, "1 quotients are left, which only gather computes");

  make_run(32, 10);
  problem.num_terms = 1;
  problem.terms[0].divisor = 3;
  check_refusal(&rlo__family_gpu_copy, "it has 1 quotients; a copy has none");
  problem.num_terms = 0;
  problem.src.axis[0] = 2;
  check_refusal(&rlo__family_gpu_copy, "the axis does not have stride 1 on both sides");
  problem.src.axis[0] = 1;
  problem.num_guards = 1;
  check_refusal(&rlo__family_gpu_copy, "it has 1 guards; a copy has none");

  make_run(128, INT64_C(1) << 40);
  check_refusal(&rlo__family_gpu_copy,
                "it would need 1073741824 work-groups; a launch has at most "
                "16777215");
}

/* Drivers that count the work-items of a launch in 32 bits are not asked for
 * more: the largest launch of each family, and one group more. */
RLO_TEST(test_family_gpu__launches_stay_below_2_to_the_32_items) {
  const int64_t max_groups = (INT64_C(1) << 24) - 1;
  const int64_t copied = 4 * 256; /* pieces of 16 bytes in a group */
  make_run(128, max_groups * copied);
  emit(&rlo__family_gpu_copy);
  ck_assert_int_eq(num_groups(), max_groups);
  ck_assert_uint_lt(launch.global_size[0], (size_t)UINT32_MAX);
  make_run(128, max_groups * copied + 1);
  ck_assert(!is_applicable(&rlo__family_gpu_copy));

  for (int64_t more = 0; more <= 1; ++more) {
    /* A group moves a part of one row of the batch, or a tile of it. */
    const int64_t rows[] = {max_groups + more, 1 << 20, 1 << 20};
    const int64_t src[] = {INT64_C(1) << 41, 1 << 20, 1};
    const int64_t dst[] = {INT64_C(1) << 41, 1, 1 << 20};
    test_plan_make(32, 3, rows, src, dst, &problem);
    ck_assert(!is_applicable(&rlo__family_gpu_tile));
    const int64_t one_tile[] = {max_groups + more, 4, 4};
    const int64_t src_tile[] = {16, 4, 1};
    const int64_t dst_tile[] = {16, 1, 4};
    test_plan_make(32, 3, one_tile, src_tile, dst_tile, &problem);
    ck_assert_int_eq(is_applicable(&rlo__family_gpu_tile), more == 0);
  }
  device.max_work_group_items = 1;
  make_run(128, INT64_C(1) << 40);
  ck_assert(!is_applicable(&rlo__family_gpu_copy));
}
