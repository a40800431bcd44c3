/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/sum_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/arithmetic.h"
#include "ir/problem.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/random_sum.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo_device_info device;
static char reason[160];

/* One unit wants 8 groups, has enough with 4, and a part reads 4 blocks of f32.
 */
static const rlo__sum_limits limits = {4, 8, 16 << 10, 1};

static void begin(void) {
  device = test_plan_cpu();
  device.compute_units = 1;
}

RLO_FIXTURE(begin, NULL);

static bool choose_by(const rlo__sum_limits *of_test, rlo_device_class device_class,
                      int64_t max_scratch_bytes, rlo__sum_cut *cut) {
  rlo__str why = rlo__str_over(reason, sizeof reason);
  rlo__str_append(&why, "");
  bool is_cut =
      rlo__sum_parts_choose(&problem, &device, device_class, of_test, max_scratch_bytes, cut, &why);
  ck_assert_int_eq(is_cut, why.length == 0);
  return is_cut;
}

static bool choose(rlo_device_class device_class, int64_t max_scratch_bytes, rlo__sum_cut *cut) {
  return choose_by(&limits, device_class, max_scratch_bytes, cut);
}

enum { M = 1 << 20, ENOUGH = 1 << 20 };

/* Sums of f32, in canonical form, and their parts or why there are none. */
static const struct {
  test_sum_axis axes[4];
  int64_t scratch_bytes;
  int64_t num_whole, whole_points, last_points;
  const char *reason;
} cuts[] = {
    {{{M, 1, 0}}, ENOUGH, 8, M / 8, 0, NULL},
    {{{M + 1, 1, 0}}, ENOUGH, 8, M / 8, 1, NULL},
    {{{M - 1, 1, 0}}, ENOUGH, 7, M / 8, M / 8 - 1, NULL},
    {{{M - 1024, 1, 0}}, ENOUGH, 15, M / 16, M / 16 - 1024, NULL},
    {{{M + 1024, 1, 0}}, ENOUGH, 8, M / 8, 1024, NULL},
    {{{M, -1, 0}}, ENOUGH, 8, M / 8, 0, NULL},
    {{{8192, 1, 0}}, ENOUGH, 2, 4096, 0, NULL},
    {{{8191, 1, 0}}, ENOUGH, 0, 0, 0, "too few points"},
    {{{1, 1, 0}}, ENOUGH, 0, 0, 0, "sums nothing"},
    {{{1023, 1, 0}}, ENOUGH, 0, 0, 0, "too few points"},
    {{{1024, 1, 0}}, ENOUGH, 0, 0, 0, "too few points"},
    {{{1025, 1, 0}}, ENOUGH, 0, 0, 0, "too few points"},
    /* There are as many parts as fit. */
    {{{M, 1, 0}}, 31, 4, M / 4, 0, NULL},
    {{{M, 1, 0}}, 8, 2, M / 2, 0, NULL},
    {{{M + 1, 1, 0}}, 15, 2, M / 2, 1, "fits three"},
    {{{M, 1, 0}}, 7, 0, 0, 0, "too little scratch memory"},
    {{{M, 1, 0}}, 0, 0, 0, 0, "too little scratch memory"},
    /* Down columns, 512 cells to a group, and along rows. */
    {{{64, 1, 1}, {4096, 64, 0}}, ENOUGH, 4, 1024, 0, NULL},
    {{{96, 1, 1}, {2500, 96, 0}}, ENOUGH, 2, 1024, 452, NULL},
    {{{1537, 1, 1}, {4096, 1537, 0}}, ENOUGH, 0, 0, 0, "enough groups"},
    {{{3, M, 1}, {M, 1, 0}}, ENOUGH, 4, M / 4, 0, NULL},
    {{{4, M, 1}, {M, 1, 0}}, ENOUGH, 0, 0, 0, "enough groups"},
    /* Along the outer axis, where inner ones have 2^m blocks. */
    {{{12, 5000, 0}, {4096, 1, 0}}, ENOUGH, 12, 1, 0, NULL},
    {{{12, 5000, 0}, {3073, 1, 0}}, ENOUGH, 6, 2, 0, NULL},
    {{{13, 5000, 0}, {1025, 1, 0}}, ENOUGH, 3, 4, 1, NULL},
    {{{12, 5000, 0}, {3072, 1, 0}}, ENOUGH, 0, 0, 0, "by 3 blocks at a time"},
    {{{64, 9000, 0}, {3, 2000, 0}, {5, 2, 0}}, ENOUGH, 0, 0, 0, "by 3 blocks at a time"},
    {{{2, 9000, 0}, {2, 2000, 0}, {1000, 1, 0}}, ENOUGH, 0, 0, 0, "too few"},
    /* A shorter axis would come later, or continue another one. */
    {{{M, 1, 0}, {1024, 1, 0}}, ENOUGH, 0, 0, 0, "another order"},
    {{{M, 0, 0}, {1024, -1, 0}}, ENOUGH, 0, 0, 0, "another order"},
    {{{M, -1, 0}, {1024, -4096, 0}}, ENOUGH, 0, 0, 0, "another order"},
    {{{INT64_MAX / 2, 0, 0}}, ENOUGH, 0, 0, 0, "exceed 64 bits"},
    {{{INT64_MAX / 2, 0, 1}, {M, 1, 0}}, ENOUGH, 0, 0, 0, "exceed 64 bits"},
};

RLO_TABLE_TEST(test_sum_parts__are_powers_of_two_of_blocks, cuts) {
  int32_t num_axes = 0;
  while (num_axes < 4 && cuts[_i].axes[num_axes].extent > 0) {
    ++num_axes;
  }
  memset(&problem, 0, sizeof problem);
  test_sum_axis axes[4];
  memcpy(axes, cuts[_i].axes, sizeof axes);
  for (int32_t a = 0; a < num_axes; ++a) {
    /* The memory would be larger than can be counted. */
    axes[a].extent = axes[a].extent > M + 1024 ? 2 : axes[a].extent;
  }
  test_sum_make(RLO_DTYPE_F32, RLO_DTYPE_BF16, axes, num_axes, &problem);
  for (int32_t a = 0; a < num_axes; ++a) {
    problem.extents[a] = cuts[_i].axes[a].extent;
  }
  rlo__sum_cut cut;
  bool is_cut = choose(RLO_DEVICE_CLASS_CPU, cuts[_i].scratch_bytes, &cut);
  ck_assert_msg(is_cut == (cuts[_i].num_whole > 0), "%s", reason);
  if (!is_cut) {
    ck_assert_msg(strstr(reason, cuts[_i].reason) != NULL, "it says: %s", reason);
    return;
  }
  ck_assert_int_eq(cut.num_whole, cuts[_i].num_whole);
  ck_assert_int_eq(cut.whole_points, cuts[_i].whole_points);
  ck_assert_int_eq(cut.last_points, cuts[_i].last_points);
  ck_assert_int_le(cut.scratch_bytes, cuts[_i].scratch_bytes);
  ck_assert_int_eq(cut.scratch_bytes,
                   rlo__sum_cut_parts(&cut) * cut.cells * (int64_t)sizeof(float));
}

static void make_sum_of_all(rlo_dtype src_type, rlo_dtype dst_type) {
  const test_sum_axis axis = {M, 1, 0};
  test_sum_make(src_type, dst_type, &axis, 1, &problem);
}

static void expect_whole(const char *words) {
  rlo__sum_cut cut;
  ck_assert(!choose(RLO_DEVICE_CLASS_CPU, ENOUGH, &cut));
  ck_assert_msg(strstr(reason, words) != NULL, "it says: %s", reason);
}

RLO_TEST(test_sum_parts__are_of_plain_sums) {
  make_sum_of_all(RLO_DTYPE_F32, RLO_DTYPE_F32);
  problem.update = RLO_UPDATE_STORE;
  expect_whole("sums nothing");
  make_sum_of_all(RLO_DTYPE_F32, RLO_DTYPE_F32);
  problem.num_guards = 1;
  expect_whole("guards");
  problem.num_guards = 0;
  problem.num_terms = 1;
  expect_whole("terms");
  problem.num_terms = 0;
  problem.arithmetic.is_sequential = true;
  expect_whole("an order of its own");
  make_sum_of_all(RLO_DTYPE_C64, RLO_DTYPE_C64);
  expect_whole("complex");
  make_sum_of_all(RLO_DTYPE_C64, RLO_DTYPE_F32);
  expect_whole("complex");
  make_sum_of_all(RLO_DTYPE_F32, RLO_DTYPE_F32);
  for (; problem.num_axes < RLO_MAX_AXES; ++problem.num_axes) {
    problem.extents[problem.num_axes] = 1;
  }
  expect_whole("one axis too many");
}

/* The parts have the type that the sum is computed in. */
static const struct {
  rlo_dtype src, dst, compute, part;
} types[] = {
    {RLO_DTYPE_F32, RLO_DTYPE_F32, RLO_DTYPE_INVALID, RLO_DTYPE_F32},
    {RLO_DTYPE_F32, RLO_DTYPE_F32, RLO_DTYPE_F64, RLO_DTYPE_F64},
    {RLO_DTYPE_BF16, RLO_DTYPE_BF16, RLO_DTYPE_INVALID, RLO_DTYPE_F32},
    {RLO_DTYPE_F32, RLO_DTYPE_F64, RLO_DTYPE_INVALID, RLO_DTYPE_F64},
    {RLO_DTYPE_S32, RLO_DTYPE_F32, RLO_DTYPE_INVALID, RLO_DTYPE_F32},
    {RLO_DTYPE_S8, RLO_DTYPE_S32, RLO_DTYPE_INVALID, RLO_DTYPE_S64},
    {RLO_DTYPE_U64, RLO_DTYPE_PRED, RLO_DTYPE_INVALID, RLO_DTYPE_S64},
    {RLO_DTYPE_F32, RLO_DTYPE_S8, RLO_DTYPE_INVALID, RLO_DTYPE_F32},
};

RLO_TABLE_TEST(test_sum_parts__have_the_type_of_the_sum, types) {
  make_sum_of_all(types[_i].src, types[_i].dst);
  problem.arithmetic.compute_type = types[_i].compute;
  rlo__sum_cut cut;
  ck_assert_msg(choose(RLO_DEVICE_CLASS_CPU, ENOUGH, &cut), "%s", reason);
  ck_assert_int_eq(cut.dtype, types[_i].part);
}

/* A GPU shares 8 cells of f32 with as many work-items as one: 64 cells are 8
 * groups; of 128 units they keep no more busy. */
RLO_TEST(test_sum_parts__suit_the_class_and_the_units) {
  const test_sum_axis axes[] = {{64, 1, 1}, {1 << 16, 64, 0}};
  test_sum_make(RLO_DTYPE_F32, RLO_DTYPE_F32, axes, 2, &problem);
  rlo__sum_cut cut;
  ck_assert(!choose(RLO_DEVICE_CLASS_GPU, ENOUGH, &cut));
  ck_assert(choose(RLO_DEVICE_CLASS_CPU, ENOUGH, &cut));
  ck_assert_int_eq(cut.num_whole, 8);
  device.compute_units = 4;
  ck_assert(choose(RLO_DEVICE_CLASS_GPU, ENOUGH, &cut));
  ck_assert_int_eq(cut.num_whole, 4);
  device.compute_units = 16;
  ck_assert(choose(RLO_DEVICE_CLASS_GPU, ENOUGH, &cut));
  ck_assert_int_eq(cut.num_whole, 16);
  ck_assert(choose(RLO_DEVICE_CLASS_CPU, ENOUGH, &cut));
  ck_assert_int_eq(cut.num_whole, 64);
}

/* A kernel reads blocks of one part in turns, if there are parts enough. */
RLO_TEST(test_sum_parts__have_blocks_for_turns) {
  const test_sum_axis axes[] = {{64, 1, 1}, {1 << 16, 64, 0}};
  test_sum_make(RLO_DTYPE_F32, RLO_DTYPE_F32, axes, 2, &problem);
  const rlo__sum_limits turns = {4, 64, 1, 4};
  rlo__sum_cut cut;
  ck_assert(choose_by(&turns, RLO_DEVICE_CLASS_CPU, ENOUGH, &cut));
  ck_assert_int_eq(cut.num_whole, 16);
  device.compute_units = 8;
  ck_assert(choose_by(&turns, RLO_DEVICE_CLASS_CPU, ENOUGH, &cut));
  ck_assert_int_eq(cut.num_whole, 32);
  device.compute_units = 16;
  ck_assert(choose_by(&turns, RLO_DEVICE_CLASS_CPU, ENOUGH, &cut));
  ck_assert_int_eq(cut.num_whole, 64);
}

/* -------------------------------------------------------- bits, on the host */

static rlo__sum_parts parts;
static rlo_problem part;

/* Does the work of the launch over the parts; each part is a block. */
static void add_up(const uint8_t *scratch, uint8_t *dst) {
  const rlo_problem *sum = &parts.problem;
  const rlo__sum_cut *cut = &parts.cut;
  rlo_problem total;
  rlo__problem_copy(sum, &total);
  total.arithmetic.src_type = cut->dtype;
  total.unit_bits = rlo_dtype_value_bits(cut->dtype);
  const size_t part_bytes = (size_t)total.unit_bits / 8;
  const size_t cell_bytes = (size_t)sum->arithmetic.dst_unit_bits / 8;
  static rlo__combiner combiner;
  rlo__combiner_init(&combiner, &total);
  for (int64_t c = 0; c < cut->cells; ++c) {
    int64_t at = sum->dst.base;
    int64_t rest = c;
    for (int32_t a = cut->axis - 1; a >= 0; --a) {
      at += rest % sum->extents[a] * sum->dst.axis[a];
      rest /= sum->extents[a];
    }
    rlo__combiner_begin(&combiner);
    for (int64_t p = 0; p < rlo__sum_cut_parts(cut); ++p) {
      uint8_t unit[16] = {0};
      memcpy(unit, scratch + (size_t)(p * cut->cells + c) * part_bytes, part_bytes);
      rlo__combiner_add(&combiner, unit, 0);
      rlo__combiner_end_block(&combiner);
    }
    uint8_t cell[16] = {0};
    memcpy(cell, dst + (size_t)at * cell_bytes, cell_bytes);
    rlo__combiner_finish(&combiner, cell);
    memcpy(dst + (size_t)at * cell_bytes, cell, cell_bytes);
  }
}

static const rlo_dtype random_types[] = {RLO_DTYPE_F32, RLO_DTYPE_BF16, RLO_DTYPE_F64,
                                         RLO_DTYPE_F16, RLO_DTYPE_S32,  RLO_DTYPE_U8,
                                         RLO_DTYPE_C64};

typedef enum part_outcome { WHOLE, CUT, WRONG } part_outcome;

/* Whatever is cut has the bits of the whole, and writes all of the scratch
 * memory and nothing else. */
static part_outcome sums_in_parts(test_random *random) {
  rlo_dtype src_type = random_types[test_random_in(random, 0, 6)];
  rlo_dtype dst_type = test_random_once_in(random, 2) ? src_type
                       : src_type == RLO_DTYPE_C64    ? RLO_DTYPE_F32
                                                      : RLO_DTYPE_F64;
  test_random_sum(random, src_type, dst_type, 30000, &problem);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.max_scratch_bytes =
      test_random_once_in(random, 4) ? test_random_in(random, 1, 200) : ENOUGH;
  const rlo__sum_limits small = {1 << 20, 1 << 20, 1 << 12, 1};
  const rlo__plan_request request = {.problem = &problem, .device = &device, .options = &options};
  bool is_cut = false;
  expect_ok(rlo__sum_parts_plan(&request, &small, &parts, &is_cut));
  if (!is_cut) {
    return WHOLE;
  }
  const size_t scratch_bytes = (size_t)parts.cut.scratch_bytes;
  const size_t src_bytes = (size_t)problem.src_bytes;
  const size_t dst_bytes = (size_t)problem.dst_bytes;
  uint8_t *src = malloc(src_bytes + 2 * dst_bytes + 2 * scratch_bytes);
  ck_assert_ptr_nonnull(src);
  uint8_t *whole = src + src_bytes;
  uint8_t *cut = whole + dst_bytes;
  uint8_t *scratch = cut + dst_bytes;
  test_sum_fill(random, src_type, problem.src_bytes, src);
  test_sum_fill(random, dst_type, problem.dst_bytes, whole);
  memcpy(cut, whole, dst_bytes);
  expect_ok(rlo_problem_run_host(&problem, src, whole));
  for (int32_t n = 0; n < 2; ++n) {
    uint8_t *memory = scratch + (size_t)n * scratch_bytes;
    memset(memory, n == 0 ? 0x00 : 0xff, scratch_bytes);
    for (int32_t is_last = 0; is_last <= (parts.cut.last_points > 0 ? 1 : 0); ++is_last) {
      rlo__sum_parts_get(&parts, is_last != 0, &part);
      ck_assert_int_le(part.dst_bytes, parts.cut.scratch_bytes);
      expect_ok(rlo_problem_run_host(&part, src, memory));
    }
  }
  add_up(scratch, cut);
  bool is_right = memcmp(scratch, scratch + scratch_bytes, scratch_bytes) == 0 &&
                  memcmp(cut, whole, dst_bytes) == 0;
  free(src);
  return is_right ? CUT : WRONG;
}

RLO_TEST(test_sum_parts__add_up_to_the_bits_of_the_whole) {
  enum { CASES = 300 };

  device.has_f64 = true;
  device.has_f32_denormals = true;
  test_random random = test_random_begin("test_sum_parts");
  int32_t num_cut = 0;
  for (int32_t n = 0; n < CASES; ++n) {
    uint64_t case_seed = random.state;
    part_outcome outcome = sums_in_parts(&random);
    num_cut += outcome == CUT;
    ck_assert_msg(outcome != WRONG, "case %d: RELAYOUT_TEST_SEED=%llu makes it the first", (int)n,
                  (unsigned long long)case_seed);
  }
  printf("%d of %d were cut\n", (int)num_cut, CASES);
  ck_assert_int_ge(num_cut, CASES / 3);
}

/* ----------------------------------------------------------------- planning */

static char parameters[160];

static const char *explain(const rlo_plan_options *options) {
  rlo_plan_report *report = NULL;
  expect_ok(rlo_plan_explain(&problem, &device, options, 4, 4, &report));
  memcpy(parameters, report->parameters, sizeof parameters);
  rlo_plan_report_release(report);
  return parameters;
}

RLO_TEST(test_sum_parts__need_scratch_memory_and_no_forced_kernel) {
  make_sum_of_all(RLO_DTYPE_F32, RLO_DTYPE_F32);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  ck_assert_ptr_null(strstr(explain(NULL), "parts"));
  ck_assert_ptr_null(strstr(explain(&options), "parts"));
  options.max_scratch_bytes = ENOUGH;
  ck_assert_msg(strstr(explain(&options), "16 parts in scratch memory: f32 to ") == parameters,
                "%s", parameters);
  options.family = "compute_sum";
  ck_assert_ptr_null(strstr(explain(&options), "parts"));
  options.family = NULL;
  options.schedule = "default";
  ck_assert_ptr_null(strstr(explain(&options), "parts"));
  options.schedule = NULL;
  options.struct_size = offsetof(rlo_plan_options, max_scratch_bytes);
  ck_assert_ptr_null(strstr(explain(&options), "parts"));
}

RLO_TEST(test_sum_parts__need_a_size_of_scratch_memory) {
  make_sum_of_all(RLO_DTYPE_F32, RLO_DTYPE_F32);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.max_scratch_bytes = -1;
  rlo_plan_report *report = NULL;
  expect_refusal(rlo_plan_explain(&problem, &device, &options, 0, 0, &report), RLO_INVALID_ARGUMENT,
                 "max_scratch_bytes is -1, below 0");
  ck_assert_ptr_null(report);
}

/* The launch over the parts: a block is a point, and a GPU's groups are small.
 */
RLO_TEST(test_sum_parts__are_added_up_by_one_small_launch) {
  static rlo__launch launch;
  make_sum_of_all(RLO_DTYPE_F32, RLO_DTYPE_BF16);
  for (int32_t n = 0; n < 3; ++n) {
    rlo_device_class device_class = n == 0 ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
    device = n == 0 ? test_plan_cpu() : test_plan_gpu();
    device.compute_units = 16;
    memset(&parts, 0, sizeof parts);
    rlo__problem_copy(&problem, &parts.problem);
    parts.device_class = device_class;
    ck_assert(choose(device_class, ENOUGH, &parts.cut));
    rlo__launch_init(&launch);
    expect_ok(rlo__sum_parts_emit(&parts, &device, n < 2 ? 64 : 1, &launch));
    ck_assert_int_eq(test_plan_define(&launch, "RLO_SUM_BLOCK"), 1);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_SRC_BYTES"), 4);
    ck_assert_int_eq(test_plan_define(&launch, "RLO_DST_BYTES"), 2);
    ck_assert_uint_eq(launch.global_size[0] / launch.local_size[0], 1);
    ck_assert_uint_eq(launch.local_size[0], n == 1 ? 64 : 1);
    if (n > 0) {
      ck_assert_str_eq(launch.kernel_file, "gpu_compute_sum");
      ck_assert_int_eq(test_plan_define(&launch, "RLO_TEAM"), 1);
    } else {
      ck_assert_str_eq(launch.kernel_file, "cpu_compute_sum");
    }
    rlo__launch_deinit(&launch);
  }
}
