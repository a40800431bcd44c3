/* SPDX-License-Identifier: Apache-2.0 */
/* The families that run relayouts, and the reasons of those that refuse. */
#include <stdio.h>
#include <string.h>

#include "relayout/ops.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"
#include "support/suite.h"

static test_plan plan;

static void begin(void) {
  plan.device = test_plan_cpu();
}

RLO_FIXTURE(begin, NULL);

/* A relayout and the family that runs it. Shapes are large, so that a program
 * of their own would pay. */
typedef struct plan_case {
  const char *src;
  const char *dst;
  const char *permutation;
  const char *family;
  /** A part of the plan's description. */
  const char *parameters;
} plan_case;

// clang-format off
static const plan_case cases[] = {
    {"f32[1000,1000]{1,0}", "f32[1000,1000]{1,0}", NULL,
     "copy", "chunks of 260 KiB, units of 16 bytes, non-temporal stores"},
    {"u8[7]{0}", "u8[7]{0}", NULL, "copy", "units of 1 bytes"},
    {"f32[]", "f32[]", NULL, "copy", "units of 4 bytes"},
    /* Packed elements, of rows of whole bytes and others. */
    {"s4[4096,2048]{1,0:E(4)}", "s4[4096,2048]{0,1:E(4)}", NULL,
     "tile", "2 joined rows of 4 bits, non-temporal stores"},
    {"s4[4095,2049]{1,0:E(4)}", "s4[4095,2049]{0,1:E(4)}", NULL,
     "tile", "2 joined rows of 4 bits that begin anywhere, staged "
     "non-temporal stores"},
    {"s4[4095,2049]{1,0:E(4)}", "s4[4095,2049]{1,0:E(4)pad(4095,2051)}", NULL,
     "bits", "elements of 4 bits"},
    /* NHWC to NCHW and back: units of one element, three streams. */
    {"f32[64,224,224,3]{3,2,1,0}", "f32[64,224,224,3]{2,1,3,0}", NULL,
     "skinny", "split into 3 streams"},
    {"f32[64,224,224,3]{2,1,3,0}", "f32[64,224,224,3]{3,2,1,0}", NULL,
     "skinny", "join 3 streams"},
    /* The fewest and the most. */
    {"u16[4000,2]{1,0}", "u16[4000,2]{0,1}", NULL,
     "skinny", "split into 2 streams"},
    {"f32[2,4000]{1,0}", "f32[2,4000]{0,1}", NULL,
     "skinny", "join 2 streams"},
    {"f32[4000,16]{1,0}", "f32[4000,16]{0,1}", NULL,
     "skinny", "split into 16 streams"},
    {"f32[16,4000]{1,0}", "f32[16,4000]{0,1}", NULL,
     "skinny", "join 16 streams"},
    /* A run of several elements is one wide unit. */
    {"f32[300,400,4]{2,1,0}", "f32[300,400,4]{2,0,1}", NULL,
     "tile", "units of 16 bytes"},
    {"f32[2048,2048]{1,0}", "f32[2048,2048]{0,1}", NULL,
     "tile", "tile 128x256, units of 4 bytes, input order, non-temporal "
             "stores, prefetch"},
    {"f32[8192,8192]{1,0}", "f32[8192,8192]{0,1}", NULL,
     "tile", "tile 752x256, units of 4 bytes, input order"},
    {"u8[1024,1024]{1,0}", "u8[1024,1024]{0,1}", NULL,
     "tile", "tile 512x512, units of 1 bytes"},
    {"f64[100,100,100]{2,1,0}", "f64[100,100,100]{0,1,2}", NULL,
     "tile", "units of 8 bytes, input order, sides of 1 and 2 axes"},
    /* Short axes are joined. */
    {"f32[32,15,15,112]{3,2,1,0}", "f32[32,15,15,112]{0,1,2,3}", NULL,
     "tile", "sides of 2 and 2 axes, non-temporal stores, prefetch"},
    /* Rows of 192 bytes, thousands of pages apart: 7 of a page at once. */
    {"f32[48,28,28,28,48]{4,3,2,1,0}", "f32[48,28,28,28,48]{0,1,2,3,4}", NULL,
     "tile", "non-temporal stores, prefetch, 7 groups to a page"},
    {"f32[8192,4096]{0,1}", "f32[8192,4096]{1,0:T(8,128)fill(zero)}", NULL,
     "tile", "tile 752x128, units of 4 bytes, input order, sides of 2 and 1"},
    {"f32[8192,4096]{1,0:T(8,128)fill(zero)}", "f32[8192,4096]{0,1}", NULL,
     "tile", "sides of 1 and 2 axes"},
    {"f32[1001,1003]{1,0}", "f32[1001,1003]{0,1}", NULL,
     "tile", "staged non-temporal stores"},
    {"f32[100,200,75]{2,1,0}", "f32[100,200,75]{2,0,1}", NULL,
     "rows", "rows of 300 bytes, units of 4 bytes"},
    {"f32[100,200,512]{2,1,0}", "f32[100,200,512]{2,0,1}", NULL,
     "rows", "rows of 2048 bytes, units of 16 bytes"},
    {"f32[20,300]{1,0}", "f32[20,300]{1,0:T(8,128)fill(zero)}", NULL,
     "rows", "rows of 512 bytes"},
    {"f32[20,300]{1,0:T(8,128)}", "f32[20,300]{1,0}", NULL,
     "rows", "input order"},
    {"f32[10,90000]{1,0}", "f32[10,90000]{1,0:pad(10,90001)}", NULL,
     "rows", "chunks of 64 KiB"},
    /* Small matrices, many small axes, rows shorter than lines. */
    {"f32[4000,7,9]{2,1,0}", "f32[4000,7,9]{1,2,0}", NULL,
     "packed", "cells of 63, 64 to a group, units of 4 bytes, input order, joined"},
    {"f32[4000,8,8]{2,1,0}", "f32[4000,8,8]{1,2,0}", NULL,
     "packed", "line by line"},
    {"f32[7,9,8,7,9,8]{5,4,3,2,1,0}", "f32[7,9,8,7,9,8]{3,0,5,1,4,2}", NULL,
     "packed", "matrices"},
    {"u8[300,300,33]{2,1,0}", "u8[300,300,33]{2,0,1}", NULL,
     "packed", "rows 33x1"},
    /* Rows of two lines: blocks with runs of the same length on both sides. */
    {"f32[1024,512,32]{2,1,0}", "f32[1024,512,32]{2,0,1}", NULL,
     "rows", "32 to a block, runs of 512 and 1024 bytes"},
    {"f16[8,2048,3,16,64]{4,3,2,1,0}", "f16[8,2048,3,16,64]{4,1,3,0,2}", NULL,
     "rows", "rows of 128 bytes"},
    /* Tiles that do not divide each other leave a quotient. */
    {"f32[640,29]{0,1:T(5,4)}", "f32[640,29]{1,0:T(3,2)}", NULL,
     "gather", "quotients"},
    {"f32[6450,256]{1,0:T(5,128)}", "f32[6450,256]{1,0:T(3,128)}", NULL,
     "gather_rows", "rows of 512 bytes, 64 to a group, 1 terms, non-temporal"},
    {"f32[800,800]{1,0}", "f32[800,800]{:strides(800,-1)offset(799)}", NULL,
     "gather", "0 quotients"},
    /* Computations. */
    {"f32[1000,1000]{1,0}", "bf16[1000,1000]{1,0}", NULL,
     "compute_rows", "f32 to bf16 in f32, rows of 4000000 bytes"},
    {"s32[300,200]{1,0}", "u8[300,200]{1,0:pad(304,256)fill(one)}", NULL,
     "compute_rows", "s32 to u8 in integers"},
    {"f32[1000,1000]{1,0}", "bf16[1000,1000]{0,1}", NULL,
     "compute_tile", "f32 to bf16 in f32, tile 64x1024, output order"},
    {"f32[640,290]{0,1:T(5,4)}", "f16[640,290]{1,0:T(3,2)}", NULL,
     "compute", "f32 to f16 in f32, segments"},
};

// clang-format on

RLO_TABLE_TEST(test_planner__chooses_what_suits, cases) {
  const plan_case *c = &cases[_i];
  test_plan_lower(c->src, c->dst, c->permutation, &plan.problem);
  test_plan_run(&plan);

  ck_assert_msg(strcmp(plan.choice.family->name, c->family) == 0, "%s to %s: %s, not %s", c->src,
                c->dst, plan.choice.family->name, c->family);
  ck_assert_msg(strstr(plan.launch.parameters, c->parameters) != NULL,
                "%s to %s: \"%s\" does not say \"%s\"", c->src, c->dst, plan.launch.parameters,
                c->parameters);
  ck_assert_str_eq(test_plan_candidate(&plan, c->family)->reason, plan.launch.parameters);

  /* Without an explanation not every family is heard to the end. */
  static rlo__launch launch;
  test_plan_lower(c->src, c->dst, c->permutation, &plan.problem);
  ck_assert_int_eq(test_plan_choose(&plan.problem, &plan.device, NULL, 0, 0, NULL, &launch),
                   RLO_OK);
  ck_assert(rlo__launch_equal(&launch, &plan.launch));
}

/* Hardware looks ahead along the runs of a block; not across pages,
 * nor where pages have several of its rows. */
RLO_TEST(test_planner__prefetches_where_hardware_does_not) {
  static const struct {
    const char *family;
    const char *src;
    const char *dst;
    int64_t is_prefetching;
  } some[] = {
      {"rows", "f32[384,64,2144]{2,1,0}", "f32[384,64,2144]{2,0,1}", 1},
      {"rows", "f32[8190,4001]{1,0}", "f32[8190,4001]{1,0:pad(8190,4096)}", 1},
      {"rows", "f32[512,512,255]{2,1,0}", "f32[512,512,255]{2,0,1}", 0},
      {"rows", "f32[512,512,75]{2,1,0}", "f32[512,512,75]{2,0,1}", 0},
      {"rows", "f32[512,512,20]{2,1,0}", "f32[512,512,20]{2,0,1}", 0},
      {"rows", "f32[32,12544,4,16]{3,2,1,0}", "f32[32,12544,4,16]{3,1,2,0}", 1},
      {"rows", "f16[16,2048,16,64]{3,2,1,0}", "f16[16,2048,16,64]{3,1,2,0}", 1},
      {"tile", "f32[8192,4096]{1,0}", "f32[8192,4096]{0,1}", 1},
      {"tile", "f32[2048,2048]{1,0}", "f32[2048,2048]{0,1}", 1},
      {"tile", "f32[8191,4096]{1,0}", "f32[8191,4096]{0,1}", 1},
      {"tile", "u16[8192,8192]{1,0}", "u16[8192,8192]{0,1}", 1},
  };

  for (size_t n = 0; n < sizeof some / sizeof some[0]; ++n) {
    plan.device = test_plan_cpu();
    test_plan_lower(some[n].src, some[n].dst, NULL, &plan.problem);
    ck_assert_msg(test_plan_try(&plan, some[n].family, 0, 0) == RLO_OK, "%s",
                  rlo_error_last()->message);
    ck_assert_msg(test_plan_define(&plan.launch, "RLO_PREFETCH") == some[n].is_prefetching,
                  "%s to %s: %s", some[n].src, some[n].dst, plan.launch.parameters);
  }
}

RLO_TEST(test_planner__every_row_of_the_table_is_chosen) {
  const rlo__family *chosen[2 * (sizeof cases / sizeof cases[0]) + 3];
  size_t num_chosen = 0;
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    for (int gpu = 0; gpu <= 1; ++gpu) {
      plan.device = gpu ? test_plan_gpu() : test_plan_cpu();
      test_plan_lower(cases[n].src, cases[n].dst, cases[n].permutation, &plan.problem);
      test_plan_run(&plan);
      chosen[num_chosen++] = plan.choice.family;
    }
  }
  for (int gpu = 1; gpu >= 0; --gpu) {
    plan.device = gpu ? test_plan_gpu() : test_plan_cpu();
    test_plan_sum("f32[400,300]{1,0}", 1, &plan.problem);
    test_plan_run(&plan);
    chosen[num_chosen++] = plan.choice.family;
  }
  test_plan_segment_sum("f32[5000,300]", "s32[5000]", "f32[100,300]", &plan.problem);
  test_plan_run(&plan);
  chosen[num_chosen++] = plan.choice.family;
  for (int32_t row = 0; row < rlo__num_families; ++row) {
    bool is_chosen = false;
    for (size_t n = 0; n < num_chosen; ++n) {
      is_chosen = is_chosen || chosen[n] == rlo__families[row];
    }
    ck_assert_msg(is_chosen, "no problem chooses %s of class %d", rlo__families[row]->name,
                  (int)rlo__families[row]->device_class);
  }
}

RLO_TEST(test_planner__movers_refuse_to_compute) {
  test_plan_lower("f32[9]{0}", "f16[9]{0}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert(!test_plan_candidate(&plan, "rows")->is_applicable);
  ck_assert_str_eq(test_plan_candidate(&plan, "rows")->reason,
                   "it computes, and the kernel moves bits");
  test_plan_lower("f32[9]{0}", "f32[9]{0}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(test_plan_candidate(&plan, "compute_rows")->reason,
                   "it moves bits and computes nothing");
}

/* Both are a third memory. */
RLO_TEST(test_planner__a_refusal_names_the_third_memory) {
  rlo_shape shape = test_shape_of("f32[6,7]");
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.steps[0] = (rlo_element_step){RLO_ELEMENT_SCALE_BY, {0.0}};
  options.num_steps = 1;
  options.operand_dim = 1;
  expect_ok(rlo_relayout_combine(&shape, &shape, NULL, &options, &plan.problem));
  test_plan_run(&plan);
  ck_assert_str_eq(test_plan_candidate(&plan, "rows")->reason,
                   "it reads an operand, which the kernel cannot");
  test_plan_segment_sum("f32[5000,300]", "s32[5000]", "f32[100,300]", &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(test_plan_candidate(&plan, "rows")->reason,
                   "it reads indices, which the kernel cannot");
}

RLO_TEST(test_planner__sums_go_along_rows_or_down_columns) {
  test_plan_sum("f32[400,300]{1,0}", 1, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "compute_sum");
  ck_assert_ptr_nonnull(strstr(plan.launch.parameters, "along rows"));
  test_plan_sum("f32[400,300]{1,0}", 0, &plan.problem);
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "compute_sum");
  ck_assert_ptr_nonnull(strstr(plan.launch.parameters, "down columns"));
}

RLO_TEST(test_planner__parts_of_complex_numbers_are_computed_alike) {
  test_plan_lower("c64[300]{0}", "c128[300]{0}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(plan.problem.unit_bits, 32);
  ck_assert_int_eq(plan.problem.arithmetic.dst_unit_bits, 64);
  ck_assert_int_eq(plan.problem.extents[0], 600);
  /* The real parts, two apart; the parts, of which the imaginary one is filled.
   */
  test_plan_lower("c64[300]{0}", "f32[300]{0}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(plan.problem.src.axis[0], 2);
  test_plan_lower("f32[300]{0}", "c64[300]{0}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert_int_eq(plan.problem.num_guards, 1);
  test_plan_lower("c64[300]{0}", "pred[300]{0}", NULL, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_UNSUPPORTED);
}

RLO_TEST(test_planner__names_are_unique_within_a_class) {
  for (int32_t a = 0; a < rlo__num_families; ++a) {
    for (int32_t b = 0; b < a; ++b) {
      const rlo__family *x = rlo__families[a];
      const rlo__family *y = rlo__families[b];
      ck_assert(x->device_class != y->device_class || strcmp(x->name, y->name) != 0);
    }
  }
}

/* A relayout, a family that refuses it, and the reason. */
typedef struct refusal_case {
  const char *src;
  const char *dst;
  const char *family;
  const char *reason;
} refusal_case;

// clang-format off
static const refusal_case refusals[] = {
    {"f32[9,5]{1,0}", "f32[9,5]{0,1}", "copy", "2 axes are left; a copy has one"},
    {"f32[9]{0}", "f32[9]{0:pad(12)fill(one)}", "copy",
     "it has 1 guards; a copy has none"},
    {"f32[9]{:strides(2)offset(0)}", "f32[9]{0}", "copy",
     "the axis does not have stride 1 on both sides"},
    {"f32[9,5]{1,0}", "f32[9,5]{0,1}", "rows",
     "no axis has stride 1 on both sides"},
    {"f32[9,5,7]{2,1,0}", "f32[9,5,7]{2,0,1}", "tile",
     "the innermost axis is the same on both sides"},
    {"f32[9]{0}", "f32[9]{:strides(3)offset(0)}", "tile",
     "no axis has stride 1 in the destination"},
    {"f32[9]{:strides(-1)offset(8)}", "f32[9]{0}", "tile",
     "no axis has stride 1 in the source"},
    {"f32[99,99]{1,0}", "f32[99,99]{0,1}", "skinny",
     "its plane is 99 x 99 with steps of 99 and 99; one side must be 2 to 16, "
     "closely packed"},
    {"f32[4000,17]{1,0}", "f32[4000,17]{0,1}", "skinny",
     "its plane is 17 x 4000 with steps of 17 and 4000; one side must be 2 to "
     "16, closely packed"},
    {"f32[24,29]{0,1:T(5,4)}", "f32[24,29]{1,0:T(3,2)}", "tile",
     "2 quotients are left, which only gather computes"},
};

// clang-format on

RLO_TABLE_TEST(test_planner__says_why_a_family_refuses, refusals) {
  const refusal_case *c = &refusals[_i];
  test_plan_lower(c->src, c->dst, NULL, &plan.problem);
  test_plan_run(&plan);

  ck_assert(!test_plan_candidate(&plan, c->family)->is_applicable);
  ck_assert_str_eq(test_plan_candidate(&plan, c->family)->reason, c->reason);

  char message[256];
  snprintf(message, sizeof message, "family %s refuses the problem: %s", c->family, c->reason);
  ck_assert_int_eq(test_plan_try(&plan, c->family, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message, message);
}

RLO_TEST(test_planner__a_pure_fill_is_rows_that_read_nothing) {
  static const int64_t extents[] = {1000, 40};
  static const int64_t src[] = {1, 7};
  static const int64_t dst[] = {48, 1};
  test_plan_make(32, 2, extents, src, dst, &plan.problem);
  plan.problem.num_guards = 1; /* 0 <= 0 < 0 */
  plan.problem.fill[1] = 0x42;
  test_plan_run(&plan);
  ck_assert_str_eq(plan.choice.family->name, "rows");
  ck_assert_int_eq(plan.launch.numbers[plan.launch.arguments[4].first], 0x4200);
}
