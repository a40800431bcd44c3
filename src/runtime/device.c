/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "runtime/cl_error.h"

/** Room for a string of the driver; longer ones fail and are read as empty. */
enum { MAX_TEXT_BYTES = 1024 };

void rlo__device_get_string(cl_device_id device, cl_device_info what, char *text,
                            size_t text_bytes) {
  char full[MAX_TEXT_BYTES] = "";
  if (clGetDeviceInfo(device, what, sizeof full - 1, full, NULL) != CL_SUCCESS) {
    full[0] = '\0';
  }
  (void)snprintf(text, text_bytes, "%s", full);
}

void rlo__platform_get_string(cl_platform_id platform, cl_platform_info what, char *text,
                              size_t text_bytes) {
  char full[MAX_TEXT_BYTES] = "";
  if (clGetPlatformInfo(platform, what, sizeof full - 1, full, NULL) != CL_SUCCESS) {
    full[0] = '\0';
  }
  (void)snprintf(text, text_bytes, "%s", full);
}

/* --------------------------------------------------------------- its class */

/** Intel's own driver, for its CPUs and for its GPUs; Mesa's is another. */
static bool is_intel_driver(const char *platform_name) {
  static const char name[] = "Intel(R) OpenCL";
  return strncmp(platform_name, name, sizeof name - 1) == 0;
}

rlo__device_kind rlo__device_find_kind(const char *platform_name, const char *device_name,
                                       cl_device_type type) {
  /* Oclgrind reports every type. */
  if (strcmp(platform_name, "Oclgrind") == 0 || strstr(device_name, "Oclgrind") != NULL) {
    return RLO__KIND_OCLGRIND;
  }
  if (strcmp(platform_name, "rusticl") == 0 || strstr(device_name, "llvmpipe") != NULL) {
    return (type & CL_DEVICE_TYPE_GPU) != 0 ? RLO__KIND_GPU : RLO__KIND_LLVMPIPE;
  }
  if ((type & CL_DEVICE_TYPE_GPU) != 0) {
    return RLO__KIND_GPU;
  }
  if ((type & CL_DEVICE_TYPE_CPU) != 0) {
    return strcmp(platform_name, "Portable Computing Language") == 0 ? RLO__KIND_POCL_CPU
           : is_intel_driver(platform_name)                          ? RLO__KIND_INTEL_CPU
                                                                     : RLO__KIND_OTHER_CPU;
  }
  return RLO__KIND_ACCELERATOR;
}

/** The number behind a word; 0 if there is none. */
static long number_behind(const char *word, const char *text) {
  const char *place = strstr(text, word);
  return place != NULL ? strtol(place + strlen(word), NULL, 10) : 0;
}

/** LLVM 18's InstCombine ends the process ("did not reach a fixpoint") in
 *  kernels that PoCL 5 and 6 make of groups of several work-items, but for one
 *  method of theirs (PoCL's issue 1608). By that one PoCL 5.0 makes kernels
 *  with local memory that write wrong bytes. */
static bool fails_at_groups(const rlo__device_facts *facts) {
  const long pocl = number_behind("PoCL ", facts->platform_version);
  const bool dies = number_behind("LLVM ", facts->platform_version) >= 18;
  return pocl == 6 ? dies && !facts->is_pocl_by_cbs : pocl == 5 && (dies || facts->is_pocl_by_cbs);
}

void rlo__device_assess(const rlo__device_facts *facts, rlo_device_info *info) {
  const cl_device_fp_config ieee = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST;
  rlo__device_kind kind =
      rlo__device_find_kind(facts->platform_name, facts->device_name, facts->type);
  /* Features that compilers made of clang have beyond OpenCL C 1.2.
   * __has_builtin is true even where the compiler crashes on the builtin, so
   * they are known by trial: test_context compiles what is stated here, on each
   * driver that it finds. PoCL 3.0 to 6.0, Intel 2026.2, Oclgrind 21.10, which
   * __builtin_prefetch ends. */
  const bool is_clang =
      kind == RLO__KIND_POCL_CPU || kind == RLO__KIND_INTEL_CPU || kind == RLO__KIND_OCLGRIND;
  const bool is_cpu = is_clang || kind == RLO__KIND_OTHER_CPU;
  info->device_class = is_cpu ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  info->has_nontemporal_store = is_clang;
  info->has_vector_shuffle = is_clang;
  info->has_builtin_prefetch = is_clang && kind != RLO__KIND_OCLGRIND;
  info->near_cache_bytes = is_cpu ? facts->near_cache_bytes : 0;
  info->has_f64 = (facts->double_config & ieee) == ieee;
  info->has_f32_denormals = (facts->single_config & CL_FP_DENORM) != 0;
  info->is_cpu_class_only = kind == RLO__KIND_POCL_CPU && fails_at_groups(facts);
  info->has_large_buffer_option = kind == RLO__KIND_GPU && is_intel_driver(facts->platform_name);
  /* The GPU class moves blocks through local memory because it is fast. */
  if (info->device_class == RLO_DEVICE_CLASS_GPU && facts->local_memory_type != CL_LOCAL) {
    info->local_memory_bytes = 0;
  }
}

/* -------------------------------------------------------------- its numbers */

static rlo_status get_number(cl_device_id device, cl_device_info what, size_t bytes,
                             int64_t *out_number) {
  union {
    cl_uint u32;
    cl_ulong u64;
    size_t size;
  } value = {.u64 = 0};

  RLO_TRY(RLO_CL(clGetDeviceInfo, device, what, bytes, &value, NULL));
  cl_ulong number = bytes == sizeof value.u32 ? value.u32 : value.u64;
  *out_number = number > INT64_MAX ? INT64_MAX : (int64_t)number;
  return RLO_OK;
}

/** Gets the rules of IEEE 754 that a device keeps for a type; none if it does
 *  not know the query, as one without doubles. */
static cl_device_fp_config get_fp_config(cl_device_id device, cl_device_info what) {
  cl_device_fp_config config = 0;
  cl_int code = clGetDeviceInfo(device, what, sizeof config, &config, NULL);
  return code == CL_SUCCESS ? config : 0;
}

static rlo_status get_facts(cl_device_id device, rlo__device_facts *out) {
  cl_platform_id platform = NULL;
  RLO_TRY(RLO_CL(clGetDeviceInfo, device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
  RLO_TRY(RLO_CL(clGetDeviceInfo, device, CL_DEVICE_TYPE, sizeof out->type, &out->type, NULL));
  RLO_TRY(RLO_CL(clGetDeviceInfo, device, CL_DEVICE_LOCAL_MEM_TYPE, sizeof out->local_memory_type,
                 &out->local_memory_type, NULL));
  rlo__platform_get_string(platform, CL_PLATFORM_NAME, out->platform_name,
                           sizeof out->platform_name);
  rlo__platform_get_string(platform, CL_PLATFORM_VERSION, out->platform_version,
                           sizeof out->platform_version);
  const char *method = getenv("POCL_WORK_GROUP_METHOD");
  out->is_pocl_by_cbs = method != NULL && strcmp(method, "cbs") == 0;
  rlo__device_get_string(device, CL_DEVICE_NAME, out->device_name, sizeof out->device_name);
#ifdef _SC_LEVEL1_DCACHE_SIZE
  out->near_cache_bytes = rlo__max(sysconf(_SC_LEVEL1_DCACHE_SIZE), 0);
#endif
  out->single_config = get_fp_config(device, CL_DEVICE_SINGLE_FP_CONFIG);
  out->double_config = get_fp_config(device, CL_DEVICE_DOUBLE_FP_CONFIG);
  return RLO_OK;
}

rlo_status rlo__device_query(cl_device_id device, rlo_device_info *out_info) {
  rlo__device_facts facts;
  RLO_TRY(get_facts(device, &facts));
  rlo_device_info info = RLO_DEVICE_INFO_INIT;

  int64_t compute_units = 0;
  int64_t base_alignment_bits = 0;
  int64_t address_bits = 0;

  const struct {
    cl_device_info what;
    size_t bytes;
    int64_t *number;
  } numbers[] = {
      {CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint), &compute_units},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t), &info.max_work_group_items},
      {CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong), &info.local_memory_bytes},
      {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong), &info.global_memory_bytes},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong), &info.max_allocation_bytes},
      {CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint), &base_alignment_bits},
      {CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, sizeof(cl_uint), &info.cache_line_bytes},
      {CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(size_t), &info.max_parameter_bytes},
      {CL_DEVICE_ADDRESS_BITS, sizeof(cl_uint), &address_bits},
  };

  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    RLO_TRY(get_number(device, numbers[i].what, numbers[i].bytes, numbers[i].number));
  }
  info.compute_units = (int32_t)compute_units;
  info.address_bits = (int32_t)address_bits;
  /* A power of two by the standard; take the lowest bit in case it is not. */
  int64_t alignment_bytes = base_alignment_bits / 8;
  info.base_alignment_bytes = alignment_bytes > 0 ? alignment_bytes & -alignment_bytes : 1;
  rlo__device_assess(&facts, &info);
  *out_info = info;
  return RLO_OK;
}

rlo_status rlo_device_query(cl_device_id device, rlo_device_info *out_info) {
  RLO_REQUIRE(device, out_info);
  rlo_device_info info;
  RLO_TRY(rlo__device_query(device, &info));
  return rlo__report_write("device info", "RLO_DEVICE_INFO_INIT", &info, out_info, sizeof info);
}
