/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the planner: options, alignments, units, positions. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "relayout/ops.h"
#include "support/plan_case.h"
#include "support/random_shape.h"
#include "support/shape_of.h"
#include "support/suite.h"

static test_plan plan;
static rlo__launch launch2;

static void begin(void) {
  plan.device = test_plan_cpu();
}

RLO_FIXTURE(begin, NULL);

RLO_TEST(test_planner__devices_without_doubles_say_so) {
  plan.device.has_f64 = false;
  test_plan_lower("f64[9]{0}", "f32[9]{0}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "f64 to f32 is computed in f64, which the device lacks");
  /* Moving doubles takes none. */
  test_plan_lower("f64[9]{0}", "f64[9]{0}", NULL, &plan.problem);
  test_plan_run(&plan);
}

RLO_TEST(test_planner__takes_the_family_that_is_forced) {
  test_plan_lower("f32[512,512]{1,0}", "f32[512,512]{0,1}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, "gather", 0, 0), RLO_OK);
  ck_assert_str_eq(plan.choice.family->name, "gather");
  ck_assert_str_eq(plan.launch.kernel_file, "gather");
  /* The others are still told of. */
  ck_assert(test_plan_candidate(&plan, "tile")->is_applicable);
}

RLO_TEST(test_planner__lists_the_families_for_an_unknown_one) {
  test_plan_lower("f32[2]{0}", "f32[2]{0}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, "tiles", 0, 0), RLO_NOT_FOUND);
  ck_assert_str_eq(
      rlo_error_last()->message,
      "no kernel family of class CPU is called \"tiles\"; there "
      "are copy, rows, skinny, tile, packed, gather, gather_rows, "
      "bits, compute_rows, compute_tile, compute_sum, segment_sum, compute; did you mean 'tile'?");
}

RLO_TEST(test_planner__an_empty_problem_needs_no_family) {
  test_plan_lower("f32[0,3]{1,0}", "f32[0,3]{0,1}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_ptr_null(plan.choice.family);
  ck_assert_int_eq(plan.choice.num_candidates, 0);
  /* A name must be right all the same. */
  ck_assert_int_eq(test_plan_try(&plan, "tiles", 0, 0), RLO_NOT_FOUND);
}

RLO_TEST(test_planner__moves_units_below_a_byte) {
  test_plan_lower("s4[3,5]{1,0:E(4)}", "s4[3,5]{0,1:E(4)}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "bits");
  ck_assert_int_eq(plan.problem.unit_bits, 4);
  ck_assert_int_eq(test_plan_try(&plan, "rows", 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "family rows refuses the problem: units of 4 bits, which "
                   "the kernel cannot");
  ck_assert_int_eq(test_plan_try(&plan, "tile", 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "family tile refuses the problem: its rows of elements of 4 "
                   "bits are not whole bytes");
  test_plan_lower("f32[3]{0}", "f32[3]{0}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, "bits", 4, 4), RLO_UNSUPPORTED);
  /* Pairs that stay together are bytes. */
  test_plan_lower("s4[3,5,2]{2,1,0:E(4)}", "s4[3,5,2]{2,0,1:E(4)}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(plan.problem.unit_bits, 8);
}

/* A place of the destination tells its point as long as axes do not reach into
 * each other. */
RLO_TEST(test_planner__finds_no_points_where_axes_overlap) {
  static const int64_t extents[] = {2, 3};
  static const int64_t src_strides[] = {3, 1};
  static const int64_t outer[] = {3, 4, 5};
  for (size_t n = 0; n < sizeof outer / sizeof outer[0]; ++n) {
    const int64_t dst_strides[] = {outer[n], 2};
    test_plan_make(4, 2, extents, src_strides, dst_strides, &plan.problem);
    rlo_status status = test_plan_try(&plan, "bits", 0, 0);
    ck_assert_int_eq(status, outer[n] <= 4 ? RLO_UNSUPPORTED : RLO_OK);
    ck_assert(status == RLO_OK || strstr(rlo_error_last()->message, "overlap") != NULL);
  }
}

/* Rows of two elements in two bytes each, the last one of a table in the byte
 * in which the next table begins: no two rows, which are written by lanes of
 * their own, may share a byte. Two elements further they share none. */
RLO_TEST(test_planner__rows_of_packed_elements_share_no_byte) {
  static const int64_t extents[] = {2, 3, 2};
  static const int64_t src_strides[] = {6, 2, 1};
  for (int64_t more = 0; more <= 2; more += 2) {
    const int64_t dst_strides[] = {82 + more, 40, 1};
    test_plan_make(4, 3, extents, src_strides, dst_strides, &plan.problem);
    plan.problem.dst.base = 1;
    ck_assert_int_eq(test_plan_try(&plan, "bits", 0, 0), RLO_OK);
    const char *rows = more == 0 ? "4 bits, 1 rows of 83" : "4 bits, 6 rows of 2";
    ck_assert_msg(strstr(plan.launch.parameters, rows) != NULL, "%s", plan.launch.parameters);
  }
}

/* Integers of whole bytes are converted; what devices would not keep bit for
 * bit, or would compute at the wrong place, is refused. */
RLO_TEST(test_planner__repacks_integers_of_whole_bytes) {
  test_plan_lower("s8[30]{0:E(16)}", "s8[30]", NULL, &plan.problem);
  test_plan_run(&plan);
  test_plan_lower("s4[30]", "s4[30]{0:E(4)}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_UNSUPPORTED);
  test_plan_lower("f32[30]{0:E(64)}", "f32[30]", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "f32 in elements of 64 bits cannot move to elements of 32: devices "
                   "would not keep the bits of a NaN; the host reference runs "
                   "it");
  test_plan_lower("c64[30]{0:E(128)}", "c128[30]", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "c64 in elements of 128 bits to c128 in 128; devices compute "
                   "complex numbers of their own size; the host reference runs "
                   "it");
}

RLO_TEST(test_planner__cuts_units_of_odd_sizes) {
  static const int64_t extents[] = {5, 7};
  static const int64_t rows[] = {7, 1};
  static const int64_t columns[] = {1, 5};
  test_plan_make(24, 2, extents, rows, columns, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(plan.problem.unit_bits, 8);
  ck_assert_int_eq(plan.problem.num_axes, 3);
  test_plan_make(48, 2, extents, rows, columns, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(plan.problem.unit_bits, 16);
  /* Units that stay together are widened again. */
  test_plan_make(24, 2, extents, rows, rows, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(plan.problem.num_axes, 1);
  /* A fill with different parts is written unit by unit. */
  test_plan_lower("u8[5]{0:E(24)}", "u8[5]{0:E(24)pad(7)fill(one)}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "bits");
  ck_assert_int_eq(plan.problem.unit_bits, 24);
}

RLO_TEST(test_planner__cuts_units_no_wider_than_the_alignment) {
  static const int64_t extents[] = {100};
  static const int64_t one[] = {1};
  const rlo_device_info devices[] = {test_plan_cpu(), test_plan_gpu()};
  for (int n = 0; n < 2; ++n) {
    for (int64_t alignment = 1; alignment <= 8; alignment *= 2) {
      plan.device = devices[n];
      test_plan_make(96, 1, extents, one, one, &plan.problem);
      ck_assert_int_eq(test_plan_try(&plan, NULL, 16, alignment), RLO_OK);
      ck_assert_str_eq(plan.choice.family->name, "copy");
      ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_UNIT_BYTES"), alignment);
    }
  }
}

RLO_TEST(test_planner__does_not_compute_with_units_below_a_byte) {
  const rlo_shape src = test_shape_of("s4[6]{0:E(4)}");
  const rlo_shape dst = test_shape_of("s8[6]");
  ck_assert_int_eq(rlo_relayout_combine(&src, &dst, NULL, NULL, &plan.problem), RLO_OK);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the problem computes with units of 4 bits; devices compute "
                   "with 8, 16, 32, 64 and 128; the host reference runs it");
}

RLO_TEST(test_planner__widens_as_far_as_alignment_is_known) {
  for (int64_t align = 4; align <= 64; align *= 2) {
    test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &plan.problem);
    ck_assert_int_eq(test_plan_try(&plan, NULL, align, 128), RLO_OK);
    ck_assert_int_eq(plan.problem.unit_bits, 8 * (align < 16 ? align : 16));
    test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &plan.problem);
    ck_assert_int_eq(test_plan_try(&plan, NULL, 128, align), RLO_OK);
    ck_assert_int_eq(plan.problem.unit_bits, 8 * (align < 16 ? align : 16));
  }
}

RLO_TEST(test_planner__checks_alignments) {
  test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 12, 0), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the source alignment of 12 bytes is no power of two");
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 2), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the destination alignment of 2 bytes is below the unit of "
                   "4");
  ck_assert_int_eq(test_plan_try(&plan, NULL, -4, 0), RLO_INVALID_ARGUMENT);
  /* A device that does not say is trusted with the unit only. */
  plan.device.base_alignment_bytes = 0;
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_OK);
  ck_assert_int_eq(plan.choice.src_alignment_bytes, 4);
  ck_assert_int_eq(plan.problem.unit_bits, 32);
  test_plan_lower("u8[64]{0}", "u8[64]{0}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_OK);
  ck_assert_int_eq(plan.choice.dst_alignment_bytes, 1);
  ck_assert_int_eq(plan.problem.unit_bits, 8);
  /* The power of two in 48 counts. */
  plan.device.base_alignment_bytes = 48;
  test_plan_lower("u8[63]{0}", "u8[63]{0}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_OK);
  ck_assert_int_eq(plan.choice.src_alignment_bytes, 16);
}

RLO_TEST(test_planner__checks_options) {
  test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &plan.problem);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = (rlo_device_class)7;
  ck_assert_int_eq(
      test_plan_choose(&plan.problem, &plan.device, &options, 0, 0, NULL, &plan.launch),
      RLO_INVALID_ARGUMENT);
  options.device_class = RLO_DEVICE_CLASS_GPU;
  ck_assert_int_eq(
      test_plan_choose(&plan.problem, &plan.device, &options, 0, 0, &plan.choice, &plan.launch),
      RLO_OK);
  ck_assert_int_eq(plan.choice.family->device_class, RLO_DEVICE_CLASS_GPU);

  static const struct {
    double seconds;
    rlo_status status;
  } measures[] = {{0.0, RLO_OK},
                  {86400.0, RLO_OK},
                  {86400.1, RLO_INVALID_ARGUMENT},
                  {-0.1, RLO_INVALID_ARGUMENT},
                  {(double)NAN, RLO_INVALID_ARGUMENT}};

  for (size_t n = 0; n < sizeof measures / sizeof measures[0]; ++n) {
    options.measure_seconds = measures[n].seconds;
    ck_assert_int_eq(
        test_plan_choose(&plan.problem, &plan.device, &options, 0, 0, NULL, &plan.launch),
        measures[n].status);
  }
}

RLO_TEST(test_planner__refuses_positions_beyond_64_bits) {
  static const int64_t extents[] = {3, 2};
  static const int64_t src[] = {INT64_MAX / 8, 1};
  static const int64_t dst[] = {2, 1};
  test_plan_make(32, 2, extents, src, dst, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 4, 4), RLO_OVERFLOW);
}

RLO_TEST(test_planner__same_problem_same_plan) {
  test_random random = test_random_begin("planner");
  for (int32_t n = 0; n < 300; ++n) {
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random, RLO_DTYPE_F32, (int32_t)test_random_in(&random, 0, 6), 4000, &src,
                     &dst, permutation);
    static rlo_problem other;
    ck_assert_int_eq(rlo_relayout_lower(&src, &dst, permutation, &plan.problem), RLO_OK);
    other = plan.problem;
    /* Nothing of what was there before is left. */
    memset(plan.launch.few_numbers, 0x55, sizeof plan.launch.few_numbers);
    memset(launch2.few_numbers, 0xaa, sizeof launch2.few_numbers);
    test_plan_run(&plan);
    if (plan.choice.family == NULL) {
      continue;
    }
    ck_assert_int_eq(test_plan_choose(&other, &plan.device, NULL, 0, 0, NULL, &launch2), RLO_OK);
    ck_assert(rlo__launch_equal(&plan.launch, &launch2));
    ck_assert_mem_eq(plan.launch.parameters, launch2.parameters, sizeof launch2.parameters);
    ck_assert_uint_eq(plan.launch.global_size[0] % plan.launch.local_size[0], 0);
    ck_assert_uint_gt(plan.launch.global_size[0], 0);
  }
}

/* Expects the exact prediction of a family if it beats `to_beat`, else any
 * bound that does not exceed `to_beat`. */
static void expect_bounded(const rlo__family *family, rlo__family_query *query, double to_beat,
                           int32_t *inout_num_cut) {
  query->to_beat = 0.0;
  double exact = family->judge(query, NULL);
  query->to_beat = to_beat;
  double bounded = family->judge(query, NULL);
  if (exact > to_beat) {
    ck_assert_msg(bounded >= exact && bounded <= exact, "%s: %g, to beat %g: %g", family->name,
                  exact, to_beat, bounded);
  } else {
    ck_assert_double_le(bounded, to_beat);
    *inout_num_cut += bounded > exact ? 1 : 0;
  }
}

RLO_TEST(test_planner__predictions_are_exact_where_they_win) {
  test_random random = test_random_begin("planner_bounds");
  int32_t num_cut = 0;
  for (int32_t n = 0; n < 200; ++n) {
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random, RLO_DTYPE_F32, (int32_t)test_random_in(&random, 2, 6), 4000000, &src,
                     &dst, permutation);
    ck_assert_int_eq(rlo_relayout_lower(&src, &dst, permutation, &plan.problem), RLO_OK);
    if (rlo_problem_canonicalize(&plan.problem, 128, NULL, NULL) != RLO_OK ||
        rlo_problem_is_empty(&plan.problem)) {
      continue;
    }
    rlo__family_query query = {.problem = &plan.problem,
                               .device = &plan.device,
                               .src_alignment_bytes = 64,
                               .dst_alignment_bytes = 64};
    for (int32_t f = 0; f < rlo__num_families; ++f) {
      query.device_class = rlo__families[f]->device_class;
      query.to_beat = 0.0;
      if (rlo__families[f]->judge(&query, NULL) >= 0.0) {
        for (int32_t tenths = 0; tenths <= 10; ++tenths) {
          expect_bounded(rlo__families[f], &query, (double)tenths / 10.0, &num_cut);
        }
      }
    }
  }
  /* Some were left out, so that the bound is there at all. */
  ck_assert_int_gt(num_cut, 0);
}

/* The time of this thread: other work on the machine is no part of a plan. */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

RLO_TEST(test_planner__plans_in_microseconds) {
  enum { ROUNDS = 200 };

  static rlo_problem lowered;
  test_plan_lower("f32[64,224,224,3]{3,2,1,0}",
                  "f32[64,224,224,3]{2,1,3,0:pad(64,224,256,3)fill(zero)}", NULL, &lowered);
  double best = 1.0;
  for (int n = 0; n < ROUNDS; ++n) {
    plan.problem = lowered;
    double begun = seconds();
    ck_assert_int_eq(test_plan_choose(&plan.problem, &plan.device, NULL, 0, 0, NULL, &plan.launch),
                     RLO_OK);
    double taken = seconds() - begun;
    best = taken < best ? taken : best;
  }
  printf("planner: %.1f us a plan\n", best * 1e6);
  /* 20 us or so in a release; sanitizers on a slow machine take more. */
  ck_assert_double_lt(best, 5e-3);
}
