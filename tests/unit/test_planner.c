/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/planner.h"
#include "relayout/ops.h"
#include "support/plan_case.h"
#include "support/random_shape.h"

static rlo_problem problem;
static rlo_launch launch;
static rlo_launch launch2;
static rlo_choice choice;
static rlo_device_info device;

static void begin(void) {
  device = test_plan_cpu();
}

static rlo_status plan_for(const char *family, int64_t src, int64_t dst) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  return rlo__planner_choose(
      &problem, &device, &options, src, dst, &choice, &launch);
}

static void plan(void) {
  ck_assert_msg(
      plan_for(NULL, 0, 0) == RLO_OK, "%s", rlo_error_last()->message);
}

static const rlo_plan_candidate *candidate(const char *family) {
  for (int32_t n = 0; n < choice.num_candidates; ++n) {
    if (strcmp(choice.candidates[n].family, family) == 0) {
      return &choice.candidates[n];
    }
  }
  ck_abort_msg("family %s was not asked", family);
  return NULL;
}

/* What runs what. Shapes large enough that a program of their own would pay. */
typedef struct plan_case {
  const char *src;
  const char *dst;
  const char *permutation;
  const char *family;
  /** Part of what the plan says of itself. */
  const char *parameters;
} plan_case;

// clang-format off
static const plan_case cases[] = {
    {"f32[1000,1000]{1,0}", "f32[1000,1000]{1,0}", NULL,
     "copy", "chunks of 256 KiB, units of 16 bytes, non-temporal stores"},
    {"u8[7]{0}", "u8[7]{0}", NULL, "copy", "units of 1 bytes"},
    {"f32[]", "f32[]", NULL, "copy", "units of 4 bytes"},
    /* NHWC to NCHW and back: units of one element, three streams. */
    {"f32[64,224,224,3]{3,2,1,0}", "f32[64,224,224,3]{2,1,3,0}", NULL,
     "skinny", "split into 3 streams"},
    {"f32[64,224,224,3]{2,1,3,0}", "f32[64,224,224,3]{3,2,1,0}", NULL,
     "skinny", "join 3 streams"},
    /* A run of several elements is one wide unit. */
    {"f32[300,400,4]{2,1,0}", "f32[300,400,4]{2,0,1}", NULL,
     "tile", "units of 16 bytes"},
    {"f32[2048,2048]{1,0}", "f32[2048,2048]{0,1}", NULL,
     "tile", "tile 64x256, units of 4 bytes, input order, non-temporal "
             "stores, prefetch"},
    {"u8[1024,1024]{1,0}", "u8[1024,1024]{0,1}", NULL,
     "tile", "tile 256x1024, units of 1 bytes"},
    {"f64[100,100,100]{2,1,0}", "f64[100,100,100]{0,1,2}", NULL,
     "tile", "units of 8 bytes, input order, sides of 1 and 2 axes"},
    /* Short axes are joined. */
    {"f32[32,15,15,112]{3,2,1,0}", "f32[32,15,15,112]{0,1,2,3}", NULL,
     "tile", "sides of 2 and 2 axes, non-temporal stores"},
    {"f32[8192,4096]{0,1}", "f32[8192,4096]{1,0:T(8,128)fill(zero)}", NULL,
     "tile", "tile 64x128, units of 4 bytes, input order, sides of 2 and 1"},
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
    /* Tiles that do not divide each other leave a quotient. */
    {"f32[640,29]{0,1:T(5,4)}", "f32[640,29]{1,0:T(3,2)}", NULL,
     "gather", "quotients"},
    {"f32[6450,256]{1,0:T(5,128)}", "f32[6450,256]{1,0:T(3,128)}", NULL,
     "lookup", "rows of 512 bytes, 64 to a group, 1 terms, non-temporal"},
    {"f32[800,800]{1,0}", "f32[800,800]{:strides(800,-1)offset(799)}", NULL,
     "gather", "0 quotients"},
    /* What computes. */
    {"f32[1000,1000]{1,0}", "bf16[1000,1000]{1,0}", NULL,
     "stream", "f32 to bf16 in f32, rows of 4000000 bytes"},
    {"s32[300,200]{1,0}", "u8[300,200]{1,0:pad(304,256)fill(one)}", NULL,
     "stream", "s32 to u8 in integers"},
    {"f32[1000,1000]{1,0}", "bf16[1000,1000]{0,1}", NULL,
     "turn", "f32 to bf16 in f32, tile 64x128, input order"},
    {"f32[640,290]{0,1:T(5,4)}", "f16[640,290]{1,0:T(3,2)}", NULL,
     "compute", "f32 to f16 in f32, segments"},
};

// clang-format on

START_TEST(test_planner__chooses_what_suits)
{
  const plan_case *c = &cases[_i];
  test_plan_lower(c->src, c->dst, c->permutation, &problem);
  plan();

  ck_assert_msg(strcmp(choice.family->name, c->family) == 0,
                "%s to %s: %s, not %s",
                c->src,
                c->dst,
                choice.family->name,
                c->family);
  ck_assert_msg(strstr(launch.parameters, c->parameters) != NULL,
                "%s to %s: \"%s\" does not say \"%s\"",
                c->src,
                c->dst,
                launch.parameters,
                c->parameters);
  ck_assert_str_eq(candidate(c->family)->reason, launch.parameters);
}

END_TEST

START_TEST(test_planner__every_row_of_the_table_is_chosen)
{
  const rlo_family *chosen[64];
  size_t num_chosen = 0;
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    for (int gpu = 0; gpu <= 1; ++gpu) {
      device = gpu ? test_plan_gpu() : test_plan_cpu();
      test_plan_lower(
          cases[n].src, cases[n].dst, cases[n].permutation, &problem);
      plan();
      chosen[num_chosen++] = choice.family;
    }
  }
  device = test_plan_cpu();
  test_plan_sum("f32[400,300]{1,0}", 1, &problem);
  plan();
  chosen[num_chosen++] = choice.family;
  test_plan_segment_sum("f32[5000,300]", "s32[5000]", "f32[100,300]", &problem);
  plan();
  chosen[num_chosen++] = choice.family;
  for (int32_t row = 0; row < rlo__num_families; ++row) {
    bool is_chosen = false;
    for (size_t n = 0; n < num_chosen; ++n) {
      is_chosen = is_chosen || chosen[n] == rlo__families[row];
    }
    ck_assert_msg(is_chosen,
                  "no problem chooses %s of class %d",
                  rlo__families[row]->name,
                  (int)rlo__families[row]->device_class);
  }
}

END_TEST

START_TEST(test_planner__devices_without_doubles_say_so)
{
  device.has_f64 = false;
  test_plan_lower("f64[9]{0}", "f32[9]{0}", NULL, &problem);
  ck_assert_int_eq(plan_for(NULL, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "f64 to f32 is computed in f64, which the device lacks");
  /* Moving doubles takes none. */
  test_plan_lower("f64[9]{0}", "f64[9]{0}", NULL, &problem);
  plan();
}

END_TEST

START_TEST(test_planner__movers_refuse_to_compute)
{
  test_plan_lower("f32[9]{0}", "f16[9]{0}", NULL, &problem);
  plan();
  ck_assert(!candidate("rows")->is_applicable);
  ck_assert_str_eq(candidate("rows")->reason,
                   "it computes, and the kernel moves bits");
  test_plan_lower("f32[9]{0}", "f32[9]{0}", NULL, &problem);
  plan();
  ck_assert_str_eq(candidate("stream")->reason,
                   "it moves bits and computes nothing");
}

END_TEST

START_TEST(test_planner__sums_go_along_rows_or_down_columns)
{
  test_plan_sum("f32[400,300]{1,0}", 1, &problem);
  plan();
  ck_assert_str_eq(choice.family->name, "reduce");
  ck_assert_ptr_nonnull(strstr(launch.parameters, "along rows"));
  test_plan_sum("f32[400,300]{1,0}", 0, &problem);
  plan();
  ck_assert_str_eq(choice.family->name, "reduce");
  ck_assert_ptr_nonnull(strstr(launch.parameters, "down columns"));
}

END_TEST

START_TEST(test_planner__parts_of_complex_numbers_are_computed_alike)
{
  test_plan_lower("c64[300]{0}", "c128[300]{0}", NULL, &problem);
  plan();
  ck_assert_int_eq(problem.unit_bits, 32);
  ck_assert_int_eq(problem.arithmetic.dst_unit_bits, 64);
  ck_assert_int_eq(problem.extents[0], 600);
  test_plan_lower("c64[300]{0}", "f32[300]{0}", NULL, &problem);
  ck_assert_int_eq(plan_for(NULL, 0, 0), RLO_UNSUPPORTED);
}

END_TEST

START_TEST(test_planner__names_are_unique_within_a_class)
{
  for (int32_t a = 0; a < rlo__num_families; ++a) {
    for (int32_t b = 0; b < a; ++b) {
      const rlo_family *x = rlo__families[a];
      const rlo_family *y = rlo__families[b];
      ck_assert(x->device_class != y->device_class ||
                strcmp(x->name, y->name) != 0);
    }
  }
}

END_TEST

/* What refuses what, and why. */
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
    {"f32[24,29]{0,1:T(5,4)}", "f32[24,29]{1,0:T(3,2)}", "tile",
     "2 quotients are left, which only gather computes"},
};

// clang-format on

START_TEST(test_planner__says_why_a_family_refuses)
{
  const refusal_case *c = &refusals[_i];
  test_plan_lower(c->src, c->dst, NULL, &problem);
  plan();

  ck_assert(!candidate(c->family)->is_applicable);
  ck_assert_str_eq(candidate(c->family)->reason, c->reason);

  char message[256];
  snprintf(message,
           sizeof message,
           "family %s refuses the problem: %s",
           c->family,
           c->reason);
  ck_assert_int_eq(plan_for(c->family, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message, message);
}

END_TEST

START_TEST(test_planner__takes_the_family_that_is_forced)
{
  test_plan_lower("f32[512,512]{1,0}", "f32[512,512]{0,1}", NULL, &problem);
  ck_assert_int_eq(plan_for("gather", 0, 0), RLO_OK);
  ck_assert_str_eq(choice.family->name, "gather");
  ck_assert_str_eq(launch.kernel_file, "gather");
  /* The others are still told of. */
  ck_assert(candidate("tile")->is_applicable);
}

END_TEST

START_TEST(test_planner__lists_the_families_for_an_unknown_one)
{
  test_plan_lower("f32[2]{0}", "f32[2]{0}", NULL, &problem);
  ck_assert_int_eq(plan_for("tiles", 0, 0), RLO_NOT_FOUND);
  ck_assert_str_eq(
      rlo_error_last()->message,
      "no kernel family of class CPU is called \"tiles\"; there "
      "are copy, rows, skinny, tile, packed, gather, lookup, stream, turn, "
      "reduce, segments, compute");
}

END_TEST

START_TEST(test_planner__an_empty_problem_needs_no_family)
{
  test_plan_lower("f32[0,3]{1,0}", "f32[0,3]{0,1}", NULL, &problem);
  plan();
  ck_assert_ptr_null(choice.family);
  ck_assert_int_eq(choice.num_candidates, 0);
  /* A name must be right all the same. */
  ck_assert_int_eq(plan_for("tiles", 0, 0), RLO_NOT_FOUND);
}

END_TEST

START_TEST(test_planner__refuses_units_below_a_byte)
{
  test_plan_lower("s4[3,5]{1,0:E(4)}", "s4[3,5]{0,1:E(4)}", NULL, &problem);
  ck_assert_int_eq(plan_for(NULL, 0, 0), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the problem moves units of 4 bits; devices move 8, 16, 32, "
                   "64 and 128; the host reference runs it");
  /* Pairs that stay together are bytes. */
  test_plan_lower(
      "s4[3,5,2]{2,1,0:E(4)}", "s4[3,5,2]{2,0,1:E(4)}", NULL, &problem);
  plan();
  ck_assert_int_eq(problem.unit_bits, 8);
}

END_TEST

START_TEST(test_planner__refuses_units_of_odd_sizes)
{
  static const int64_t extents[] = {4};
  static const int64_t one[] = {1};
  test_plan_make(24, 1, extents, one, one, &problem);
  ck_assert_int_eq(plan_for(NULL, 0, 0), RLO_UNSUPPORTED);
}

END_TEST

START_TEST(test_planner__widens_as_far_as_alignment_is_known)
{
  for (int64_t align = 4; align <= 64; align *= 2) {
    test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &problem);
    ck_assert_int_eq(plan_for(NULL, align, 128), RLO_OK);
    ck_assert_int_eq(problem.unit_bits, 8 * (align < 16 ? align : 16));
    test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &problem);
    ck_assert_int_eq(plan_for(NULL, 128, align), RLO_OK);
    ck_assert_int_eq(problem.unit_bits, 8 * (align < 16 ? align : 16));
  }
}

END_TEST

START_TEST(test_planner__checks_alignments)
{
  test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &problem);
  ck_assert_int_eq(plan_for(NULL, 12, 0), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the source alignment of 12 bytes is no power of two");
  ck_assert_int_eq(plan_for(NULL, 0, 2), RLO_INVALID_ARGUMENT);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the destination alignment of 2 bytes is below the unit of "
                   "4");
  ck_assert_int_eq(plan_for(NULL, -4, 0), RLO_INVALID_ARGUMENT);
  /* A device that does not say is trusted with the unit only. */
  device.base_alignment_bytes = 0;
  ck_assert_int_eq(plan_for(NULL, 0, 0), RLO_OK);
  ck_assert_int_eq(choice.src_alignment_bytes, 4);
  ck_assert_int_eq(problem.unit_bits, 32);
}

END_TEST

START_TEST(test_planner__checks_options)
{
  test_plan_lower("f32[64]{0}", "f32[64]{0}", NULL, &problem);
  rlo_plan_options options;
  memset(&options, 0, sizeof options);
  ck_assert_int_eq(
      rlo__planner_choose(&problem, &device, &options, 0, 0, NULL, &launch),
      RLO_INVALID_ARGUMENT);
  options = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  options.device_class = (rlo_device_class)7;
  ck_assert_int_eq(
      rlo__planner_choose(&problem, &device, &options, 0, 0, NULL, &launch),
      RLO_INVALID_ARGUMENT);
  options.device_class = RLO_DEVICE_CLASS_GPU;
  ck_assert_int_eq(
      rlo__planner_choose(&problem, &device, &options, 0, 0, &choice, &launch),
      RLO_OK);
  ck_assert_int_eq(choice.family->device_class, RLO_DEVICE_CLASS_GPU);
}

END_TEST

START_TEST(test_planner__refuses_positions_beyond_64_bits)
{
  static const int64_t extents[] = {3, 2};
  static const int64_t src[] = {INT64_MAX / 8, 1};
  static const int64_t dst[] = {2, 1};
  test_plan_make(32, 2, extents, src, dst, &problem);
  ck_assert_int_eq(plan_for(NULL, 4, 4), RLO_OVERFLOW);
}

END_TEST

START_TEST(test_planner__proves_lines_before_it_says_so)
{
  static const char src[] = "f32[1024,1024]{1,0}";
  static const char dst[] = "f32[1024,1024]{0,1}";
  test_plan_lower(src, dst, NULL, &problem);
  ck_assert_int_eq(plan_for("tile", 4, 128), RLO_OK);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 1);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_DST_ALIGN"), 64);

  /* The memory is not aligned. */
  test_plan_lower(src, dst, NULL, &problem);
  ck_assert_int_eq(plan_for("tile", 4, 32), RLO_OK);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_DST_ALIGN"), 4);

  /* The origin is not. */
  test_plan_lower(src, dst, NULL, &problem);
  problem.dst.base = 8;
  ck_assert_int_eq(plan_for("tile", 4, 128), RLO_OK);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_DST_ALIGN"), 4);
  ck_assert_int_eq(launch.dst_base_bytes, 32);

  /* One stride is not. */
  test_plan_lower("f32[8,512,512]{2,1,0}",
                  "f32[8,512,512]{:strides(262145,1,512)offset(0)}",
                  NULL,
                  &problem);
  ck_assert_int_eq(plan_for("tile", 4, 128), RLO_OK);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_DST_ALIGN"), 4);

  /* Joined structures are one run: only their groups have to be aligned. */
  test_plan_lower("f32[3,1000000]{1,0}", "f32[3,1000000]{0,1}", NULL, &problem);
  ck_assert_int_eq(plan_for("skinny", 4, 128), RLO_OK);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_DST_ALIGN"), 64);
}

END_TEST

START_TEST(test_planner__small_output_stays_in_the_caches)
{
  test_plan_lower("f32[720,720]{1,0}", "f32[720,720]{0,1}", NULL, &problem);
  plan();
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 0); /* 2073600 */
  test_plan_lower("f32[736,736]{1,0}", "f32[736,736]{0,1}", NULL, &problem);
  plan();
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 1); /* 2166784 */
  device.has_nontemporal_store = false;
  plan();
  ck_assert_int_eq(test_plan_define(&launch, "RLO_NT"), 0);
}

END_TEST

START_TEST(test_planner__prefetches_only_where_the_device_can)
{
  test_plan_lower("f32[720,720]{1,0}", "f32[720,720]{0,1}", NULL, &problem);
  plan();
  ck_assert_int_eq(test_plan_define(&launch, "RLO_PREFETCH"), 1);
  device.has_builtin_prefetch = false;
  device.has_vector_shuffle = false;
  plan();
  ck_assert_int_eq(test_plan_define(&launch, "RLO_PREFETCH"), 0);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_VECTOR_SHUFFLE"), 0);
}

END_TEST

/* All arguments together, as clSetKernelArg takes them. */
static int64_t argument_bytes(void) {
  int64_t bytes = 0;
  for (int32_t n = 0; n < launch.num_arguments; ++n) {
    bytes += rlo__argument_bytes(launch.arguments[n].kind);
  }
  return bytes;
}

START_TEST(test_planner__beyond_2_gib_grids_are_64_bits_wide)
{
  test_plan_lower(
      "f32[50000,50000]{1,0}", "f32[50000,50000]{0,1}", NULL, &problem);
  plan();
  ck_assert_str_eq(choice.family->name, "tile");
  ck_assert_int_eq(test_plan_define(&launch, "RLO_INDEX32"), 0);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_GRID_RANK"), 8);
  ck_assert_int_eq(launch.arguments[7].kind, RLO_ARGUMENT_LONG8);
  ck_assert_int_eq(launch.arguments[12].kind, RLO_ARGUMENT_LONG);

  test_plan_lower("f32[5000,5000]{1,0}", "f32[5000,5000]{0,1}", NULL, &problem);
  plan();
  ck_assert_int_eq(test_plan_define(&launch, "RLO_INDEX32"), 1);
  ck_assert_int_eq(test_plan_define(&launch, "RLO_GRID_RANK"), 16);
  ck_assert_int_eq(launch.arguments[7].kind, RLO_ARGUMENT_INT16);
  ck_assert_int_eq(launch.arguments[12].kind, RLO_ARGUMENT_INT);
}

END_TEST

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
  test_plan_make(32, num_axes, extents, src, dst, &problem);
  for (int32_t g = 0; g < num_guards; ++g) {
    rlo_guard *guard = &problem.guards[problem.num_guards++];
    guard->limit = 3 + g % 4;
    guard->form.axis[g % num_axes] = 1;
    guard->form.axis[(g + 1) % num_axes] = 3;
  }
}

START_TEST(test_planner__keeps_within_the_device_limit_of_arguments)
{
  for (int32_t num_axes = 2; num_axes <= 20; ++num_axes) {
    for (int32_t num_guards = 0; num_guards <= 7; ++num_guards) {
      for (int64_t stretch = 1; stretch <= 1 << 20; stretch *= 1 << 20) {
        make_rows(num_axes, num_guards, stretch);
        plan();
        ck_assert_int_le(argument_bytes(), device.max_parameter_bytes);
        ck_assert_int_le(launch.num_arguments, RLO_LAUNCH_MAX_ARGUMENTS);
      }
    }
  }
}

END_TEST

START_TEST(test_planner__says_which_limit_a_problem_exceeds)
{
  make_rows(18, 0, 1);
  plan();
  ck_assert_str_eq(candidate("rows")->reason,
                   "its groups would need 17 coordinates; the kernel takes 16");
  make_rows(9, 7, 1);
  plan();
  ck_assert_str_eq(candidate("rows")->reason,
                   "it has 7 guards; the kernel takes 6");
  make_rows(2, 1, 1);
  plan();
  ck_assert_str_eq(candidate("rows")->reason,
                   "guard 0 has the coefficient 3 along the row; the kernel "
                   "takes -1, 0 and 1");
  make_rows(4, 0, 1);
  device.max_parameter_bytes = 256;
  plan();
  ck_assert_str_eq(candidate("rows")->reason,
                   "its 0 guards need 308 bytes of arguments; the device takes "
                   "256");
}

END_TEST

START_TEST(test_planner__turns_guards_that_count_down)
{
  /* Two cells of padding before the row: 0 <= j - 2. */
  static const int64_t extents[] = {10, 40};
  static const int64_t src[] = {38, 1};
  static const int64_t dst[] = {40, 1};
  test_plan_make(32, 2, extents, src, dst, &problem);
  problem.src.base = -2;
  problem.num_guards = 1;
  problem.guards[0].form.base = -2;
  problem.guards[0].form.axis[1] = 1;
  problem.guards[0].limit = 1000;
  ck_assert_int_eq(plan_for("rows", 4, 4), RLO_OK);
  ck_assert_int_eq(problem.guards[0].form.axis[1], -1);

  /* The kernel wants it back: base, limit, x, y are the last four. */
  const int64_t *x = &launch.numbers[launch.arguments[21].first];
  const int64_t *limit = &launch.numbers[launch.arguments[20].first];
  const int64_t *base = &launch.numbers[launch.arguments[19].first];
  ck_assert_int_eq(launch.num_arguments, 23);
  ck_assert_int_eq(*x, 1);
  ck_assert_int_eq(*base, -2);
  ck_assert_int_eq(*limit, 38);
  ck_assert_int_eq(launch.src_base_bytes, -8);
}

END_TEST

START_TEST(test_planner__a_pure_fill_is_rows_that_read_nothing)
{
  static const int64_t extents[] = {1000, 40};
  static const int64_t src[] = {1, 7};
  static const int64_t dst[] = {48, 1};
  test_plan_make(32, 2, extents, src, dst, &problem);
  problem.num_guards = 1; /* 0 <= 0 < 0 */
  problem.fill[1] = 0x42;
  plan();
  ck_assert_str_eq(choice.family->name, "rows");
  ck_assert_int_eq(launch.numbers[launch.arguments[4].first], 0x4200);
}

END_TEST

START_TEST(test_planner__same_problem_same_plan)
{
  test_random random = test_random_begin("planner");
  for (int32_t n = 0; n < 300; ++n) {
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_random_pair(&random,
                     RLO_DTYPE_F32,
                     (int32_t)test_random_in(&random, 0, 6),
                     4000,
                     &src,
                     &dst,
                     permutation);
    static rlo_problem other;
    ck_assert_int_eq(rlo_relayout_lower(&src, &dst, permutation, &problem),
                     RLO_OK);
    other = problem;
    memset(&launch, 0x55, sizeof launch);
    memset(&launch2, 0xaa, sizeof launch2);
    plan();
    if (choice.family == NULL) {
      continue;
    }
    ck_assert_int_eq(
        rlo__planner_choose(&other, &device, NULL, 0, 0, NULL, &launch2),
        RLO_OK);
    ck_assert_mem_eq(&launch, &launch2, sizeof launch);
    ck_assert_uint_eq(launch.global_size[0] % launch.local_size[0], 0);
    ck_assert_uint_gt(launch.global_size[0], 0);
  }
}

END_TEST

/* Of this thread: other work on the machine is no part of a plan. */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

START_TEST(test_planner__plans_in_microseconds)
{
  enum { ROUNDS = 200 };

  static rlo_problem lowered;
  test_plan_lower("f32[64,224,224,3]{3,2,1,0}",
                  "f32[64,224,224,3]{2,1,3,0:pad(64,224,256,3)fill(zero)}",
                  NULL,
                  &lowered);
  double best = 1.0;
  for (int n = 0; n < ROUNDS; ++n) {
    problem = lowered;
    double begun = seconds();
    ck_assert_int_eq(
        rlo__planner_choose(&problem, &device, NULL, 0, 0, NULL, &launch),
        RLO_OK);
    double taken = seconds() - begun;
    best = taken < best ? taken : best;
  }
  printf("planner: %.1f us a plan\n", best * 1e6);
  /* 20 us or so in a release; sanitizers on a slow machine take more. */
  ck_assert_double_lt(best, 5e-3);
}

END_TEST

static Suite *planner_suite(void) {
  Suite *suite = suite_create("planner");
  TCase *table = tcase_create("table");
  tcase_add_checked_fixture(table, begin, NULL);
  tcase_add_loop_test(table,
                      test_planner__chooses_what_suits,
                      0,
                      (int)(sizeof cases / sizeof cases[0]));
  tcase_add_test(table, test_planner__devices_without_doubles_say_so);
  tcase_add_test(table, test_planner__movers_refuse_to_compute);
  tcase_add_test(table, test_planner__sums_go_along_rows_or_down_columns);
  tcase_add_test(table,
                 test_planner__parts_of_complex_numbers_are_computed_alike);
  tcase_add_test(table, test_planner__every_row_of_the_table_is_chosen);
  tcase_add_test(table, test_planner__names_are_unique_within_a_class);
  tcase_add_loop_test(table,
                      test_planner__says_why_a_family_refuses,
                      0,
                      (int)(sizeof refusals / sizeof refusals[0]));
  suite_add_tcase(suite, table);
  TCase *facts = tcase_create("facts");
  tcase_add_checked_fixture(facts, begin, NULL);
  tcase_add_test(facts, test_planner__takes_the_family_that_is_forced);
  tcase_add_test(facts, test_planner__lists_the_families_for_an_unknown_one);
  tcase_add_test(facts, test_planner__an_empty_problem_needs_no_family);
  tcase_add_test(facts, test_planner__refuses_units_below_a_byte);
  tcase_add_test(facts, test_planner__refuses_units_of_odd_sizes);
  tcase_add_test(facts, test_planner__widens_as_far_as_alignment_is_known);
  tcase_add_test(facts, test_planner__checks_alignments);
  tcase_add_test(facts, test_planner__checks_options);
  tcase_add_test(facts, test_planner__refuses_positions_beyond_64_bits);
  tcase_add_test(facts, test_planner__proves_lines_before_it_says_so);
  tcase_add_test(facts, test_planner__small_output_stays_in_the_caches);
  tcase_add_test(facts, test_planner__prefetches_only_where_the_device_can);
  tcase_add_test(facts, test_planner__beyond_2_gib_grids_are_64_bits_wide);
  tcase_add_test(facts,
                 test_planner__keeps_within_the_device_limit_of_arguments);
  tcase_add_test(facts, test_planner__says_which_limit_a_problem_exceeds);
  tcase_add_test(facts, test_planner__turns_guards_that_count_down);
  tcase_add_test(facts, test_planner__a_pure_fill_is_rows_that_read_nothing);
  tcase_add_test(facts, test_planner__same_problem_same_plan);
  tcase_add_test(facts, test_planner__plans_in_microseconds);
  suite_add_tcase(suite, facts);
  return suite;
}

int main(void) {
  SRunner *runner = srunner_create(planner_suite());
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
