/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "codegen/codegen.h"
#include "plan/planner.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/short_memory.h"
#include "support/suite.h"

static rlo_problem problem;
static rlo__launch launch;
static rlo_device_info device;

static void plan(const char *src, const char *dst, const char *family) {
  device = test_plan_cpu();
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  test_plan_lower(src, dst, NULL, &problem);
  expect_ok(test_plan_choose(&problem, &device, &options, 0, 0, NULL, &launch));
}

static rlo__program_spec make(void) {
  rlo__program_spec spec;
  expect_ok(rlo__codegen_program(&launch, &spec));
  return spec;
}

/* Checks the options that follow the kernel's name. */
static void expect_options(const char *kernel_file, const char *expected) {
  rlo__program_spec spec = make();
  char head[256];
  snprintf(head, sizeof head, "-cl-std=CL1.2 -w -DRLO_KERNEL=rlo_%s_", kernel_file);
  ck_assert_int_eq(strncmp(spec.options, head, strlen(head)), 0);
  /* 16 hexadecimal digits, then the constants. */
  const char *rest = spec.options + strlen(head);
  ck_assert_uint_eq(strspn(rest, "0123456789abcdef"), 16);
  ck_assert_str_eq(rest + 16, expected);
  rlo__codegen_deinit(&spec);
}

RLO_TEST(test_codegen__options_are_the_constants_in_order) {
  plan("f32[512,512]{1,0}", "f32[512,512]{0,1}", "tile");
  expect_options("cpu_tile",
                 " -DRLO_UNIT_BYTES=4 -DRLO_GRID_RANK=16 -DRLO_INDEX32=1"
                 " -DRLO_PAD_GUARDS=0 -DRLO_SKIP_GUARDS=0 -DRLO_NT=0"
                 " -DRLO_PREFETCH=1 -DRLO_VECTOR_SHUFFLE=1 -DRLO_DST_ALIGN=4"
                 " -DRLO_LEVELS=1");
  plan("f32[999]{0}", "f32[999]{0}", "copy");
  expect_options("cpu_copy",
                 " -DRLO_UNIT_BYTES=4 -DRLO_GRID_RANK=16 -DRLO_INDEX32=1"
                 " -DRLO_PAD_GUARDS=0 -DRLO_SKIP_GUARDS=0 -DRLO_NT=0"
                 " -DRLO_PREFETCH=1");
  plan("f32[20,300]{1,0}", "f32[20,300]{1,0:T(8,128)fill(zero)}", "rows");
  expect_options("cpu_rows",
                 " -DRLO_UNIT_BYTES=16 -DRLO_GRID_RANK=16 -DRLO_INDEX32=1"
                 " -DRLO_PAD_GUARDS=2 -DRLO_SKIP_GUARDS=0 -DRLO_NT=0"
                 " -DRLO_PREFETCH=1 -DRLO_ROWS_PLACES=512");
  plan("u16[4000,3]{1,0}", "u16[4000,3]{0,1}", "skinny");
  expect_options("cpu_skinny",
                 " -DRLO_UNIT_BYTES=2 -DRLO_GRID_RANK=16 -DRLO_INDEX32=1"
                 " -DRLO_PAD_GUARDS=0 -DRLO_SKIP_GUARDS=0 -DRLO_NT=0"
                 " -DRLO_PREFETCH=1 -DRLO_VECTOR_SHUFFLE=1 -DRLO_DST_ALIGN=2"
                 " -DRLO_SKINNY_SPLIT=1 -DRLO_SKINNY_N=3 -DRLO_SKINNY_LONG=2720"
                 " -DRLO_SKINNY_LD=3");
}

RLO_TEST(test_codegen__lists_are_separated_by_commas) {
  static const int64_t values[] = {3, -1, INT64_MIN};
  memset(&launch, 0, sizeof launch);
  launch.kernel_file = "gather";
  expect_ok(rlo__launch_define_list(&launch, "RLO_SRC", values, 3));
  expect_ok(rlo__launch_define(&launch, "RLO_NT", 1));
  expect_options("gather", " -DRLO_SRC=3,-1,-9223372036854775808 -DRLO_NT=1");
}

RLO_TEST(test_codegen__shapes_share_programs) {
  plan("f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}", NULL);
  rlo__program_spec a = make();
  plan("f32[2048,6144]{1,0}", "f32[2048,6144]{0,1}", NULL);
  rlo__program_spec b = make();
  ck_assert_str_eq(a.options, b.options);
  ck_assert_str_eq(a.kernel_name, b.kernel_name);
  ck_assert_ptr_eq(a.source, b.source);
  rlo__codegen_deinit(&a);
  rlo__codegen_deinit(&b);
}

RLO_TEST(test_codegen__different_programs_have_different_names) {
  plan("f32[512,512]{1,0}", "f32[512,512]{0,1}", "tile");
  rlo__program_spec a = make();
  launch.numbers[launch.defines[5].first] ^= 1;
  rlo__program_spec b = make();
  launch.kernel_file = "cpu_skinny";
  rlo__program_spec c = make();
  ck_assert_str_ne(a.kernel_name, b.kernel_name);
  ck_assert_str_ne(b.kernel_name, c.kernel_name);
  /* Arguments are no part of a program. */
  launch.kernel_file = "cpu_tile";
  launch.numbers[launch.defines[5].first] ^= 1;
  launch.numbers[launch.arguments[6].first] += 1;
  rlo__program_spec d = make();
  ck_assert_str_eq(a.kernel_name, d.kernel_name);
  rlo__codegen_deinit(&a);
  rlo__codegen_deinit(&b);
  rlo__codegen_deinit(&c);
  rlo__codegen_deinit(&d);
}

RLO_TEST(test_codegen__the_source_is_the_kernel_file) {
  plan("f32[512,512]{1,0}", "f32[512,512]{0,1}", "tile");
  rlo__program_spec spec = make();
  ck_assert_ptr_nonnull(spec.kernel);
  ck_assert_ptr_eq(spec.kernel, rlo__kernel_source_find("cpu_tile"));
  rlo__codegen_deinit(&spec);
  ck_assert_ptr_null(spec.options);
  rlo__codegen_deinit(NULL);
}

RLO_TEST(test_codegen__every_file_a_family_names_is_there) {
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    const rlo__family *family = rlo__families[n];
    bool is_gpu = family->device_class == RLO_DEVICE_CLASS_GPU;
    device = is_gpu ? test_plan_gpu() : test_plan_cpu();
    static const char *const pairs[][2] = {
        {"f32[64,48]{1,0}", "f32[64,48]{1,0}"},
        {"f32[64,48]{1,0}", "f32[64,48]{1,0:pad(64,49)}"},
        {"f32[64,48]{1,0}", "f32[64,48]{0,1}"},
        {"f32[64,3]{1,0}", "f32[64,3]{0,1}"},
        {"f32[645,256]{1,0:T(5,128)}", "f32[645,256]{1,0:T(3,128)}"},
        {"f32[64,48]{1,0}", "bf16[64,48]{1,0}"},
        {"f32[64,48]{1,0}", "bf16[64,48]{0,1}"},
        {"s4[64,47]{1,0:E(4)}", "s4[64,47]{0,1:E(4)}"}};
    bool is_tried = false;
    rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
    options.family = family->name;
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0] && !is_tried; ++k) {
      test_plan_lower(pairs[k][0], pairs[k][1], NULL, &problem);
      is_tried = test_plan_choose(&problem, &device, &options, 0, 0, NULL, &launch) == RLO_OK;
    }
    for (int32_t k = 0; k < 2 && !is_tried; ++k) {
      if (k == 0) {
        test_plan_sum("f32[64,48]", 1, &problem);
      } else {
        test_plan_segment_sum("f32[64,48]", "s32[64]", "f32[7,48]", &problem);
      }
      is_tried = test_plan_choose(&problem, &device, &options, 0, 0, NULL, &launch) == RLO_OK;
    }
    ck_assert_msg(is_tried, "no problem for %s", family->name);
    rlo__program_spec spec = make();
    rlo__codegen_deinit(&spec);
  }
}

RLO_TEST(test_codegen__refuses_a_file_that_is_not_there) {
  memset(&launch, 0, sizeof launch);
  launch.kernel_file = "nothing";
  rlo__program_spec spec;
  expect_refusal(rlo__codegen_program(&launch, &spec), RLO_INTERNAL,
                 "the kernel file nothing.cl is not part of this library");
  ck_assert_ptr_null(spec.options);
}

RLO_TEST(test_codegen__gives_memory_back_when_it_runs_out) {
  plan("f32[512,512]{1,0}", "f32[512,512]{0,1}", "tile");
  int64_t before = rlo__alloc_live_count();
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    rlo__program_spec spec;
    run.status = rlo__codegen_program(&launch, &spec);
    rlo__codegen_deinit(&spec);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), before);
}

RLO_TEST(test_explain__tells_the_whole_plan) {
  device = test_plan_cpu();
  test_plan_lower("f32[512,512]{1,0}", "f32[512,512]{0,1}", NULL, &problem);
  rlo_plan_report *report;
  expect_ok(rlo_plan_explain(&problem, &device, NULL, 0, 32, &report));
  ck_assert_str_eq(report->family, "tile");
  ck_assert_int_eq(report->device_class, RLO_DEVICE_CLASS_CPU);
  ck_assert_str_eq(report->parameters, "tile 128x256, units of 4 bytes, input order, prefetch");
  int32_t num_families = 0;
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    num_families += rlo__families[n]->device_class == RLO_DEVICE_CLASS_CPU;
  }
  ck_assert_int_eq(report->num_candidates, num_families);
  ck_assert_int_eq(report->problem.num_axes, 2);
  ck_assert_ptr_nonnull(strstr(report->build_options, report->kernel_name));
  ck_assert_ptr_nonnull(strstr(report->source, "__kernel"));
  ck_assert_int_eq(report->work_dim, 1);
  ck_assert_uint_eq(report->global_size[0], 4 * 2);
  ck_assert_uint_eq(report->local_size[0], 1);
  ck_assert_int_eq(report->src_alignment_bytes, 128);
  ck_assert_int_eq(report->dst_alignment_bytes, 32);
  rlo_plan_report_release(report);
  rlo_plan_report_release(NULL);
}

RLO_TEST(test_explain__an_empty_problem_has_no_kernel) {
  device = test_plan_cpu();
  test_plan_lower("f32[0]{0}", "f32[0]{0}", NULL, &problem);
  rlo_plan_report *report;
  expect_ok(rlo_plan_explain(&problem, &device, NULL, 0, 0, &report));
  ck_assert_str_eq(report->family, "none");
  ck_assert_str_eq(report->kernel_name, "");
  ck_assert_str_eq(report->source, "");
  ck_assert_str_eq(report->build_options, "");
  ck_assert_int_eq(report->work_dim, 0);
  rlo_plan_report_release(report);
}

RLO_TEST(test_explain__leaves_nothing_behind_on_failure) {
  device = test_plan_cpu();
  test_plan_lower("f32[6,5]{1,0}", "f32[6,5]{0,1}", NULL, &problem);
  static rlo_problem before;
  before = problem;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "copy";
  int64_t live = rlo__alloc_live_count();
  rlo_plan_report *report = (rlo_plan_report *)(void *)&problem;
  ck_assert_int_eq(rlo_plan_explain(&problem, &device, &options, 0, 0, &report), RLO_UNSUPPORTED);
  ck_assert_ptr_null(report);
  ck_assert(rlo_problem_equal(&before, &problem));
  test_short_memory run = {0};
  while (test_short_memory_next(&run)) {
    run.status = rlo_plan_explain(&problem, &device, NULL, 0, 0, &report);
    rlo_plan_report_release(report);
  }
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}
