/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan_handle.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/factors.h"
#include "support/random_sum.h"

/* Sums in parts on a device, held against the host bit by bit: whole memories,
 * with guard bands on both sides. */

enum { ENOUGH = 1 << 20 };

RLO_FILE_FIXTURE(open_device_unordered, close_device);
RLO_TIMEOUT(600);

/* Parts of a block or more, so that small sums are cut. */
static const rlo__sum_limits small = {1 << 20, 1 << 20, 1 << 12, 1};

static rlo_problem problem;

static rlo_plan *make_plan(rlo_device_class device_class, int64_t max_scratch_bytes,
                           bool is_aligned) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = device_class;
  options.max_scratch_bytes = max_scratch_bytes;
  options.is_aligned = is_aligned;
  rlo_plan *plan = NULL;
  expect_ok(rlo__plan_create_by_limits(device.context, &problem, &options, &small, &plan));
  return plan;
}

/* Runs the problem in parts and on the host. Returns the number of steps. */
static int32_t run(test_random *random, rlo_device_class device_class, const char *words) {
  const rlo_arithmetic *a = &problem.arithmetic;
  int64_t src_size = problem.unit_bits / 8;
  int64_t dst_size = a->dst_unit_bits / 8;
  bool is_aligned = test_random_once_in(random, 4);
  int64_t shift = is_aligned ? 0 : test_random_in(random, 0, 5);
  /* A promise about the tensors says nothing of scratch memory. */
  rlo_plan *plan = make_plan(device_class, ENOUGH, is_aligned);
  const int32_t num_steps = test_plan_info_of(plan).num_steps;
  test_arena src = test_arena_make(shift * src_size, problem.src_bytes, 8, 0x50);
  test_arena dst = test_arena_make(shift * dst_size, problem.dst_bytes, 8, 0xd0);
  test_sum_fill(random, a->src_type, problem.src_bytes, src.before + src.begin);
  test_sum_fill(random, a->dst_type, problem.dst_bytes, dst.before + dst.begin);
  test_arena_upload(&src, device.context);
  test_arena_upload(&dst, device.context);
  expect_ok(rlo_problem_run_host(&problem, src.before + src.begin, dst.expected + dst.begin));
  ck_assert_msg(run_in_arenas(plan, random, words, &src, NULL, &dst), "%s: the sums differ", words);
  return num_steps;
}

static const struct {
  rlo_dtype src, dst;
} types[] = {
    {RLO_DTYPE_F32, RLO_DTYPE_F32},
    {RLO_DTYPE_BF16, RLO_DTYPE_BF16},
    {RLO_DTYPE_F64, RLO_DTYPE_F64},
    {RLO_DTYPE_S32, RLO_DTYPE_S32},
    {RLO_DTYPE_C64, RLO_DTYPE_C64},
    {RLO_DTYPE_S8, RLO_DTYPE_F32},
    /* Added up by compute on a CPU. */
    {RLO_DTYPE_F32, RLO_DTYPE_S64},
};

enum { NUM_TYPES = (int)(sizeof types / sizeof types[0]) };

static const rlo_device_class classes[] = {RLO_DEVICE_CLASS_CPU, RLO_DEVICE_CLASS_GPU};

/* A power of two of blocks, give or take a point or a block, and less than one.
 */
static const int64_t lengths[] = {1, 1023, 1024, 1025, 8192, 8193, 8191, 9216, 7168};

RLO_LOOP_TEST(test_device_sum_parts__sums_of_all, 0, NUM_TYPES) {
  test_random random = test_random_begin("test_device_sum_parts");
  const size_t num_lengths = sizeof lengths / sizeof lengths[0];
  test_device_optimise(_i == 0);
  for (size_t n = 0; n < 2 * num_lengths; ++n) {
    const int64_t points = lengths[n % num_lengths];
    const rlo_device_class device_class = classes[n / num_lengths];
    if (_i > 0 && n % num_lengths != 5) {
      continue; /* programs cost more than cases */
    }
    const test_sum_axis axis = {points, 1, 0};
    test_sum_make(types[_i].src, types[_i].dst, &axis, 1, &problem);
    if (types[_i].dst == RLO_DTYPE_S64) {
      /* So that no bit of the sum is lost. */
      test_set_factors(&problem.arithmetic, 0x1p40, 0.0);
    }
    char words[64];
    snprintf(words, sizeof words, "type %d, length %d", _i, (int)points);
    int32_t num_steps = 0;
    /* Two orders of a sum often have the same bits. */
    for (int32_t k = 0; k < 8; ++k) {
      num_steps = run(&random, device_class, words);
    }
    if (_i == 0) {
      /* Parts read 4 KiB, which is a block of f32. */
      ck_assert_int_eq(num_steps, points < 2048 ? 1 : 2 + (points % 1024 > 0));
    }
  }
  test_device_optimise(true);
}

/* NHWC to C, by both classes, with the cells' old values. */
RLO_TEST(test_device_sum_parts__columns) {
  test_random random = test_random_begin("test_device_sum_parts");
  for (size_t n = 0; n < 2; ++n) {
    const test_sum_axis axes[] = {{test_is_short() ? 2051 : 5127, 33, 0}, {33, 1, 2}};
    test_sum_make(RLO_DTYPE_F32, RLO_DTYPE_F32, axes, 2, &problem);
    test_set_factors(&problem.arithmetic, 2.5, -0.5);
    ck_assert_int_eq(run(&random, classes[n], "columns"), 3);
  }
}

RLO_TEST(test_device_sum_parts__random_sums_are_exact) {
  const int32_t cases = test_is_short() ? 6 : test_case_count(200, 12, 8);
  const int64_t points = test_is_short() ? 3000 : 20000;
  test_random random = test_random_begin("test_device_sum_parts");
  test_device_optimise(false);
  int32_t num_cut = 0;
  for (int32_t n = 0; n < cases; ++n) {
    char words[96];
    snprintf(words, sizeof words, "case %d: RELAYOUT_TEST_SEED=%llu makes it the first", (int)n,
             (unsigned long long)random.state);
    const int64_t type = test_random_in(&random, 0, 1);
    test_random_sum(&random, types[type].src, types[type].dst, points, &problem);
    num_cut += run(&random, classes[test_random_in(&random, 0, 1)], words) > 1;
  }
  test_device_optimise(true);
  printf("%d of %d were cut\n", (int)num_cut, (int)cases);
  ck_assert_int_ge(num_cut, cases / 4);
}

static void make_sum_of_floats(int64_t points) {
  const test_sum_axis axis = {points, 1, 0};
  test_sum_make(RLO_DTYPE_F32, RLO_DTYPE_F32, &axis, 1, &problem);
}

/* The plan says what it is; preparing it builds all of its programs. */
RLO_TEST(test_device_sum_parts__are_a_plan_of_steps) {
  make_sum_of_floats(9217);
  rlo_plan *plan = make_plan(RLO_DEVICE_CLASS_CPU, ENOUGH, false);
  rlo_plan_info info = test_plan_info_of(plan);
  ck_assert_int_eq(info.num_steps, 3);
  ck_assert_int_eq(info.scratch_bytes, 40);
  ck_assert_int_eq(info.read_bytes, problem.src_bytes);
  ck_assert_int_eq(info.written_bytes, 4);
  ck_assert_str_eq(info.family, "compute_sum");
  ck_assert_ptr_eq(strstr(info.parameters, "10 parts in scratch memory: f32 to f32 in f32, summed"),
                   info.parameters);
  expect_ok(rlo_plan_prepare(plan));
  rlo_context_stats prepared = test_context_stats(device.context);
  test_arena m = test_arena_make(0, 65536, 8, 1);
  test_arena_upload(&m, device.context);
  rlo_operands o = RLO_OPERANDS_INIT;
  o.src = o.dst = o.scratch = m.buffer;
  o.dst_offset_bytes = 40000;
  o.scratch_offset_bytes = 50008;
  for (int32_t n = 0; n < 2; ++n) {
    expect_ok(rlo_enqueue_operands(plan, unordered, &o, 0, NULL, NULL));
    expect_cl(clFinish(unordered));
  }
  rlo_context_stats after = test_context_stats(device.context);
  ck_assert_int_eq(after.programs_built, prepared.programs_built);
  ck_assert_int_eq(after.launches, prepared.launches + 6);

  expect_refusal(rlo_enqueue(plan, device.queue, m.buffer, 0, m.buffer, 64, 0, NULL, NULL),
                 RLO_INVALID_ARGUMENT,
                 "the plan needs 40 bytes of scratch memory; rlo_enqueue_operands takes "
                 "it");
  o.scratch_offset_bytes = m.bytes - 32;
  expect_refusal(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, NULL), RLO_OUT_OF_RANGE,
                 "the scratch needs 40 bytes from offset 73696 on; its memory has 73728");
  o.scratch_offset_bytes = 50004;
  expect_refusal(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, NULL), RLO_INVALID_ARGUMENT,
                 "the scratch offset of 50004 bytes is not a multiple of the "
                 "element's 8");
  o.scratch_offset_bytes = 40000;
  expect_refusal_with(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, NULL),
                      RLO_INVALID_ARGUMENT, "overlap");
  o.scratch = NULL;
  ck_assert_int_eq(rlo_enqueue_operands(plan, device.queue, &o, 0, NULL, NULL),
                   RLO_INVALID_ARGUMENT);
  rlo_plan_release(plan);
  test_arena_deinit(&m);
}

/* Options of an older header, and those that give no scratch memory. */
RLO_TEST(test_device_sum_parts__need_the_callers_consent) {
  make_sum_of_floats(4 << 20);
  rlo_plan *plan = test_context_plan(device.context, &problem, NULL);
  ck_assert_int_eq(test_plan_info_of(plan).num_steps, 1);
  rlo_plan_release(plan);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.max_scratch_bytes = ENOUGH;
  plan = test_context_plan(device.context, &problem, &options);
  ck_assert_int_eq(test_plan_info_of(plan).num_steps, 2);
  ck_assert_int_gt(test_plan_info_of(plan).scratch_bytes, 0);
  rlo_plan_release(plan);
  options.struct_size = offsetof(rlo_plan_options, max_scratch_bytes);
  plan = test_context_plan(device.context, &problem, &options);
  ck_assert_int_eq(test_plan_info_of(plan).num_steps, 1);
  ck_assert_int_eq(test_plan_info_of(plan).scratch_bytes, 0);
  rlo_plan_release(plan);
  options.struct_size = sizeof options;
  options.max_scratch_bytes = INT64_MIN;
  expect_refusal(rlo_plan_create(device.context, &problem, &options, &plan), RLO_INVALID_ARGUMENT,
                 "max_scratch_bytes is -9223372036854775808, below 0");
  ck_assert_ptr_null(plan);
}

/* The last, so that it sees what all tests of the file have built. */
RLO_TEST(test_device_sum_parts__need_few_programs) {
  expect_programs_within(75);
}
