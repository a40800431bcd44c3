/* SPDX-License-Identifier: Apache-2.0 */
/* The info of devices that are not at hand, from facts that a driver states. */
#include <stdio.h>
#include <string.h>

#include "codegen/codegen.h"
#include "plan/family.h"
#include "runtime/device.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

enum { IEEE = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST, LOCAL_BYTES = 48 << 10 };

static test_plan plan;

/* The info of a device of this platform, with the sizes of a GPU. */
static rlo_device_info assess(const char *platform, const char *device, cl_device_type type,
                              cl_device_local_mem_type local, cl_device_fp_config single_config) {
  rlo__device_facts facts = {.type = type,
                             .local_memory_type = local,
                             .single_config = single_config,
                             .double_config = IEEE};
  snprintf(facts.platform_name, sizeof facts.platform_name, "%s", platform);
  snprintf(facts.device_name, sizeof facts.device_name, "%s", device);
  rlo_device_info info = test_plan_gpu();
  rlo__device_assess(&facts, &info);
  return info;
}

static rlo_device_info assess_gpu(cl_device_local_mem_type local,
                                  cl_device_fp_config single_config) {
  return assess("NVIDIA CUDA", "NVIDIA H200", CL_DEVICE_TYPE_GPU, local, single_config);
}

RLO_TEST(test_device_facts__local_memory_of_a_gpu_is_its_own) {
  rlo_device_info info = assess_gpu(CL_LOCAL, IEEE);
  ck_assert_int_eq(info.device_class, RLO_DEVICE_CLASS_GPU);
  ck_assert_int_eq(info.local_memory_bytes, LOCAL_BYTES);
  info = assess_gpu(CL_GLOBAL, IEEE);
  ck_assert_int_eq(info.local_memory_bytes, 0);
  /* No family that needs some is taken then. */
  plan.device = info;
  test_plan_lower("f32[512,512]{1,0}", "f32[512,512]{0,1}", NULL, &plan.problem);
  test_plan_run(&plan);
  ck_assert(!test_plan_candidate(&plan, "tile")->is_applicable);
  ck_assert(!test_plan_candidate(&plan, "packed")->is_applicable);
  /* A CPU has it in its caches. */
  info = assess("Portable Computing Language", "pthread", CL_DEVICE_TYPE_CPU, CL_GLOBAL, IEEE);
  ck_assert_int_eq(info.device_class, RLO_DEVICE_CLASS_CPU);
  ck_assert_int_eq(info.local_memory_bytes, LOCAL_BYTES);
}

/* Pages that are read in turns share a set of the first-level cache. */
RLO_TEST(test_device_facts__a_small_near_cache_has_room_for_fewer_pages) {
  static const struct {
    int64_t bytes, streams;
  } caches[] = {{0, 8}, {32 << 10, 4}, {44 << 10, 4}, {48 << 10, 8}, {96 << 10, 8}};

  plan.device = test_plan_cpu();
  for (size_t n = 0; n < sizeof caches / sizeof caches[0]; ++n) {
    plan.device.near_cache_bytes = caches[n].bytes;
    test_plan_lower("f32[64,4096]", "bf16[64,4096]", NULL, &plan.problem);
    test_plan_run(&plan);
    ck_assert_int_eq(test_plan_define(&plan.launch, "RLO_STREAMS"), caches[n].streams);
  }
  rlo__device_facts facts = {.platform_name = "Portable Computing Language",
                             .type = CL_DEVICE_TYPE_CPU,
                             .near_cache_bytes = 32 << 10};
  rlo_device_info info = RLO_DEVICE_INFO_INIT;
  rlo__device_assess(&facts, &info);
  ck_assert_int_eq(info.near_cache_bytes, 32 << 10);
  /* That of the host is no GPU's. */
  facts.type = CL_DEVICE_TYPE_GPU;
  rlo__device_assess(&facts, &info);
  ck_assert_int_eq(info.near_cache_bytes, 0);
}

static void check_denormals(const char *src, const char *dst, bool is_taken) {
  test_plan_lower(src, dst, NULL, &plan.problem);
  rlo_status status = test_plan_try(&plan, NULL, 0, 0);
  ck_assert_msg(status == (is_taken ? RLO_OK : RLO_UNSUPPORTED), "%s to %s", src, dst);
}

RLO_TEST(test_device_facts__floats_need_denormals) {
  plan.device = assess_gpu(CL_LOCAL, IEEE);
  ck_assert(plan.device.has_f32_denormals);
  check_denormals("f32[9]", "bf16[9]", true);
  plan.device = assess_gpu(CL_LOCAL, IEEE & ~(cl_device_fp_config)CL_FP_DENORM);
  ck_assert(!plan.device.has_f32_denormals);
  check_denormals("f32[9]", "bf16[9]", false);
  ck_assert_str_eq(rlo_error_last()->message,
                   "f32 to bf16 is computed in floats, of which the device "
                   "takes denormals for 0; the host reference runs it");
  check_denormals("f32[9]", "f64[9]", false);
  check_denormals("f8e5m2[9]", "s32[9]", false);
  /* Integers are computed without them, and bits are moved. */
  check_denormals("s32[9]", "s8[9]", true);
  check_denormals("f32[9]", "f32[9]", true);
  /* So are doubles alone. */
  test_plan_sum("f64[9,5]", 1, &plan.problem);
  expect_ok(test_plan_try(&plan, NULL, 0, 0));
  test_plan_sum("f32[9,5]", 1, &plan.problem);
  ck_assert_int_eq(test_plan_try(&plan, NULL, 0, 0), RLO_UNSUPPORTED);
}

static bool has_option(const rlo__launch *launch) {
  rlo__program_spec spec;
  expect_ok(rlo__codegen_program(launch, &spec));
  bool has = strstr(spec.options, " -cl-intel-greater-than-4GB-buffer-required") != NULL;
  ck_assert(strstr(spec.options, "LARGE_BUFFERS") == NULL);
  rlo__codegen_deinit(&spec);
  return has;
}

static bool plan_has_option(const char *platform, int64_t max_allocation_bytes, const char *shape) {
  plan.device = assess(platform, "some GPU", CL_DEVICE_TYPE_GPU, CL_LOCAL, IEEE);
  plan.device.max_allocation_bytes = max_allocation_bytes;
  test_plan_lower(shape, shape, NULL, &plan.problem);
  test_plan_run(&plan);
  return has_option(&plan.launch);
}

RLO_TEST(test_device_facts__intel_is_told_of_large_buffers) {
  static const char intel[] = "Intel(R) OpenCL Graphics";
  const int64_t limit = INT64_C(4) << 30;
  ck_assert(!plan_has_option(intel, limit, "u8[4294967296]"));
  ck_assert(plan_has_option(intel, limit, "u8[4294967297]"));
  /* Where a buffer can be larger, an offset may lead beyond 4 GiB. */
  ck_assert(plan_has_option(intel, limit + 1, "u8[64]"));
  ck_assert(!plan_has_option("rusticl", limit + 1, "u8[4294967297]"));
  ck_assert(!plan_has_option("NVIDIA CUDA", limit + 1, "u8[4294967297]"));
  /* Its CPUs have no such option. */
  rlo_device_info info = assess("Intel(R) OpenCL", "Xeon", CL_DEVICE_TYPE_CPU, CL_GLOBAL, IEEE);
  ck_assert(!info.has_large_buffer_option);
}

/* Programs with the option and without it are two, of two names. */
RLO_TEST(test_device_facts__the_option_is_part_of_a_kernel_s_name) {
  rlo__program_spec specs[2];
  for (int n = 0; n < 2; ++n) {
    ck_assert_int_eq(plan_has_option("Intel(R) OpenCL", (INT64_C(4) << 30) + n, "u8[64]"), n);
    expect_ok(rlo__codegen_program(&plan.launch, &specs[n]));
  }
  ck_assert_str_ne(specs[0].kernel_name, specs[1].kernel_name);
  rlo__codegen_deinit(&specs[0]);
  rlo__codegen_deinit(&specs[1]);
}

static rlo_device_info assess_cpu(const char *platform) {
  return assess(platform, "Xeon", CL_DEVICE_TYPE_CPU, CL_GLOBAL, IEEE);
}

RLO_TEST(test_device_facts__extensions_are_those_of_the_driver) {
  static const struct {
    const char *platform;
    bool has_nontemporal_store, has_builtin_prefetch, has_vector_shuffle;
  } cases[] = {
      {"Portable Computing Language", true, true, true},
      {"Intel(R) OpenCL", true, true, true},
      {"Oclgrind", true, false, true},
      {"Some other", false, false, false},
      {"rusticl", false, false, false},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    rlo_device_info info = assess_cpu(cases[i].platform);
    ck_assert_int_eq(info.has_nontemporal_store, cases[i].has_nontemporal_store);
    ck_assert_int_eq(info.has_builtin_prefetch, cases[i].has_builtin_prefetch);
    ck_assert_int_eq(info.has_vector_shuffle, cases[i].has_vector_shuffle);
  }
}

/* PoCL's account of itself, on Debian 12, on Debian 13 and on Ubuntu 24.04. */
static const struct {
  const char *version;
  bool is_by_cbs, is_cpu_class_only;
} pocls[] = {
    {"OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM "
     "14.0.6, "
     "SLEEF, DISTRO, POCL_DEBUG",
     false, false},
    {"OpenCL 3.0 PoCL 6.0+debian  Linux, None+Asserts, RELOC, SPIR-V, LLVM "
     "18.1.8, SLEEF, DISTRO, POCL_DEBUG",
     false, true},
    {"OpenCL 3.0 PoCL 6.0+debian  Linux, None+Asserts, RELOC, SPIR-V, LLVM "
     "18.1.8, SLEEF, DISTRO, POCL_DEBUG",
     true, false},
    {"OpenCL 3.0 PoCL 5.0+debian  Linux, None+Asserts, RELOC, SPIR, LLVM "
     "16.0.6, "
     "SLEEF, DISTRO, POCL_DEBUG",
     false, false},
    {"OpenCL 3.0 PoCL 5.0+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 16.0.6, SLEEF, DISTRO, "
     "POCL_DEBUG",
     true, true},
    {"OpenCL 3.0 PoCL 7.0  Linux, Release, RELOC, SPIR-V, LLVM 20.1.8", false, false},
};

RLO_TABLE_TEST(test_device_facts__a_compiler_that_fails_at_groups, pocls) {
  rlo__device_facts facts = {.type = CL_DEVICE_TYPE_CPU,
                             .is_pocl_by_cbs = pocls[_i].is_by_cbs,
                             .platform_name = "Portable Computing Language"};
  snprintf(facts.platform_version, sizeof facts.platform_version, "%s", pocls[_i].version);
  plan.device = test_plan_cpu();
  rlo__device_assess(&facts, &plan.device);
  ck_assert(plan.device.is_cpu_class_only == pocls[_i].is_cpu_class_only);
  test_plan_lower("f32[512,512]{1,0}", "f32[512,512]{0,1}", NULL, &plan.problem);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  rlo_plan_report *report = NULL;
  expect_ok(rlo_plan_explain(&plan.problem, &plan.device, &options, 0, 0, &report));
  rlo_plan_report_release(report);
  options.device_class = RLO_DEVICE_CLASS_GPU;
  if (!plan.device.is_cpu_class_only) {
    expect_ok(rlo_plan_explain(&plan.problem, &plan.device, &options, 0, 0, &report));
    rlo_plan_report_release(report);
    return;
  }
  expect_refusal(rlo_plan_explain(&plan.problem, &plan.device, &options, 0, 0, &report),
                 RLO_UNSUPPORTED,
                 "the device's compiler dies of kernels of the GPU class, or makes wrong "
                 "ones; PoCL 6 with LLVM 18 takes them if POCL_WORK_GROUP_METHOD is cbs "
                 "in the environment, PoCL 5 with an older one if it is not");
}
