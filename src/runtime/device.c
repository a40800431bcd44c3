/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "base/thread.h"
#include "runtime/cl_error.h"

enum { MAX_PLATFORMS = 64 };

/** Room for a string of the driver; longer ones fail and are read as empty. */
enum { MAX_TEXT_BYTES = 1024 };

/** Appends a name to a list of names, if there is room. */
static void append_name(char *names, size_t names_bytes, const char *name) {
  size_t length = strlen(names);
  (void)snprintf(names + length,
                 names_bytes - length,
                 "%s%s",
                 length == 0 ? "" : ", ",
                 name);
}

/** Copies a string, truncated to fit. */
static void copy_cut(char *to, size_t to_bytes, const char *from) {
  size_t length = strlen(from);
  if (length >= to_bytes) {
    length = to_bytes - 1;
  }
  memcpy(to, from, length);
  to[length] = '\0';
}

static void get_device_string(cl_device_id device,
                              cl_device_info what,
                              char *text,
                              size_t text_bytes) {
  char full[MAX_TEXT_BYTES] = "";
  if (clGetDeviceInfo(device, what, sizeof full - 1, full, NULL) !=
      CL_SUCCESS) {
    full[0] = '\0';
  }
  copy_cut(text, text_bytes, full);
}

static void get_platform_string(cl_platform_id platform,
                                cl_platform_info what,
                                char *text,
                                size_t text_bytes) {
  char full[MAX_TEXT_BYTES] = "";
  if (clGetPlatformInfo(platform, what, sizeof full - 1, full, NULL) !=
      CL_SUCCESS) {
    full[0] = '\0';
  }
  copy_cut(text, text_bytes, full);
}

static void get_platform_name(cl_platform_id platform,
                              char *name,
                              size_t name_bytes) {
  get_platform_string(platform, CL_PLATFORM_NAME, name, name_bytes);
}

void rlo__device_get_name(cl_device_id device, char *name, size_t name_bytes) {
  get_device_string(device, CL_DEVICE_NAME, name, name_bytes);
}

/* --------------------------------------------------------------- its class */

/** Which kernels suit a device. Recognized by names, as there is no query. */
typedef enum device_kind {
  KIND_POCL_CPU,
  KIND_INTEL_CPU,
  KIND_OCLGRIND,
  KIND_OTHER_CPU,
  /** Mesa's software device: a CPU by type, but its compiler vectorizes over
   *  work-items and crashes on clang's builtins. */
  KIND_LLVMPIPE,
  KIND_ACCELERATOR,
  KIND_GPU
} device_kind;

/** Intel's own driver, for its CPUs and for its GPUs; Mesa's is another. */
static bool is_intel_driver(const char *platform_name) {
  static const char name[] = "Intel(R) OpenCL";
  return strncmp(platform_name, name, sizeof name - 1) == 0;
}

static device_kind kind_of(const char *platform_name,
                           const char *device_name,
                           cl_device_type type) {
  /* Oclgrind reports every type. */
  if (strcmp(platform_name, "Oclgrind") == 0 ||
      strstr(device_name, "Oclgrind") != NULL) {
    return KIND_OCLGRIND;
  }
  if (strcmp(platform_name, "rusticl") == 0 ||
      strstr(device_name, "llvmpipe") != NULL) {
    return (type & CL_DEVICE_TYPE_GPU) != 0 ? KIND_GPU : KIND_LLVMPIPE;
  }
  if ((type & CL_DEVICE_TYPE_GPU) != 0) {
    return KIND_GPU;
  }
  if ((type & CL_DEVICE_TYPE_CPU) != 0) {
    return strcmp(platform_name, "Portable Computing Language") == 0
               ? KIND_POCL_CPU
           : is_intel_driver(platform_name) ? KIND_INTEL_CPU
                                            : KIND_OTHER_CPU;
  }
  return KIND_ACCELERATOR;
}

/** What the compilers of CPU devices take beside OpenCL C 1.2. __has_builtin is
 *  true of a compiler that dies of the builtin, so that it is known by trial:
 *  test_context compiles what is stated here, on each driver that it finds. */
typedef struct device_extensions {
  device_kind kind;
  bool has_nontemporal_store, has_builtin_prefetch, has_vector_shuffle;
} device_extensions;

static const device_extensions known_extensions[] = {
    /* 3.0 to 6.0. */
    {KIND_POCL_CPU, true, true, true},
    /* 2026.2. */
    {KIND_INTEL_CPU, true, true, true},
    /* 21.10: __builtin_prefetch ends it. */
    {KIND_OCLGRIND, true, false, true},
};

static device_extensions extensions_of(device_kind kind) {
  for (size_t i = 0; i < sizeof known_extensions / sizeof known_extensions[0];
       ++i) {
    if (known_extensions[i].kind == kind) {
      return known_extensions[i];
    }
  }
  return (device_extensions){.kind = kind};
}

/** The number behind a word; 0 if there is none. */
static long number_behind(const char *word, const char *text) {
  const char *place = strstr(text, word);
  return place != NULL ? strtol(place + strlen(word), NULL, 10) : 0;
}

/** LLVM 18's InstCombine ends the process ("did not reach a fixpoint") in
 *  kernels that PoCL 5 and 6 make of groups of several work-items, but for one
 *  method of theirs (PoCL's issue 1608). */
static bool dies_of_groups(const rlo__device_facts *facts) {
  const long pocl = number_behind("PoCL ", facts->platform_version);
  return (pocl == 5 || pocl == 6) &&
         number_behind("LLVM ", facts->platform_version) >= 18 &&
         !facts->is_pocl_by_cbs;
}

void rlo__device_assess(const rlo__device_facts *facts, rlo_device_info *info) {
  const cl_device_fp_config ieee =
      CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST;
  device_kind kind =
      kind_of(facts->platform_name, facts->device_name, facts->type);
  const device_extensions extensions = extensions_of(kind);
  bool is_cpu = kind == KIND_POCL_CPU || kind == KIND_INTEL_CPU ||
                kind == KIND_OCLGRIND || kind == KIND_OTHER_CPU;
  info->device_class = is_cpu ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  info->has_nontemporal_store = extensions.has_nontemporal_store;
  info->has_vector_shuffle = extensions.has_vector_shuffle;
  info->has_builtin_prefetch = extensions.has_builtin_prefetch;
  info->has_f64 = (facts->double_config & ieee) == ieee;
  info->has_f32_denormals = (facts->single_config & CL_FP_DENORM) != 0;
  info->is_cpu_class_only = kind == KIND_POCL_CPU && dies_of_groups(facts);
  info->has_large_buffer_option =
      kind == KIND_GPU && is_intel_driver(facts->platform_name);
  /* The GPU class moves blocks through local memory because it is fast. */
  if (info->device_class == RLO_DEVICE_CLASS_GPU &&
      facts->local_memory_type != CL_LOCAL) {
    info->local_memory_bytes = 0;
  }
}

/* -------------------------------------------------------------- its numbers */

static rlo_status get_number(cl_device_id device,
                             cl_device_info what,
                             size_t bytes,
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

/** What a device keeps of the rules of IEEE 754 for a type; nothing if it does
 *  not know the query, as one without doubles. */
static cl_device_fp_config get_fp_config(cl_device_id device,
                                         cl_device_info what) {
  cl_device_fp_config config = 0;
  cl_int code = clGetDeviceInfo(device, what, sizeof config, &config, NULL);
  return code == CL_SUCCESS ? config : 0;
}

static rlo_status get_facts(cl_device_id device, rlo__device_facts *out) {
  cl_platform_id platform = NULL;
  RLO_TRY(RLO_CL(clGetDeviceInfo,
                 device,
                 CL_DEVICE_PLATFORM,
                 sizeof platform,
                 &platform,
                 NULL));
  RLO_TRY(RLO_CL(clGetDeviceInfo,
                 device,
                 CL_DEVICE_TYPE,
                 sizeof out->type,
                 &out->type,
                 NULL));
  RLO_TRY(RLO_CL(clGetDeviceInfo,
                 device,
                 CL_DEVICE_LOCAL_MEM_TYPE,
                 sizeof out->local_memory_type,
                 &out->local_memory_type,
                 NULL));
  get_platform_name(platform, out->platform_name, sizeof out->platform_name);
  get_platform_string(platform,
                      CL_PLATFORM_VERSION,
                      out->platform_version,
                      sizeof out->platform_version);
  const char *method = getenv("POCL_WORK_GROUP_METHOD");
  out->is_pocl_by_cbs = method != NULL && strcmp(method, "cbs") == 0;
  rlo__device_get_name(device, out->device_name, sizeof out->device_name);
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
      {CL_DEVICE_MAX_WORK_GROUP_SIZE,
       sizeof(size_t),
       &info.max_work_group_items},
      {CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong), &info.local_memory_bytes},
      {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong), &info.global_memory_bytes},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE,
       sizeof(cl_ulong),
       &info.max_allocation_bytes},
      {CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint), &base_alignment_bits},
      {CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE,
       sizeof(cl_uint),
       &info.cache_line_bytes},
      {CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(size_t), &info.max_parameter_bytes},
      {CL_DEVICE_ADDRESS_BITS, sizeof(cl_uint), &address_bits},
  };

  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    RLO_TRY(get_number(
        device, numbers[i].what, numbers[i].bytes, numbers[i].number));
  }
  info.compute_units = (int32_t)compute_units;
  info.address_bits = (int32_t)address_bits;
  /* A power of two by the standard; take the lowest bit in case it is not. */
  int64_t alignment_bytes = base_alignment_bits / 8;
  info.base_alignment_bytes =
      alignment_bytes > 0 ? alignment_bytes & -alignment_bytes : 1;
  rlo__device_assess(&facts, &info);
  *out_info = info;
  return RLO_OK;
}

rlo_status rlo_device_query(cl_device_id device, rlo_device_info *out_info) {
  RLO_REQUIRE(device, out_info);
  rlo_device_info info;
  RLO_TRY(rlo__device_query(device, &info));
  return rlo__report_write(
      "device info", "RLO_DEVICE_INFO_INIT", &info, out_info, sizeof info);
}

/* ----------------------------------------------------------------- the list */

/** The device with the highest preference is the default; of equal ones, the
 *  first. */
static int32_t preference(const rlo_device_entry *entry) {
  switch (kind_of(entry->platform_name, entry->device_name, entry->type)) {
    case KIND_GPU:
      return 5;
    case KIND_ACCELERATOR:
      return 4;
    case KIND_POCL_CPU:
      return 3;
    case KIND_INTEL_CPU:
    case KIND_OTHER_CPU:
      return 2;
    case KIND_LLVMPIPE:
      return 1;
    case KIND_OCLGRIND:
      break;
  }
  return 0;
}

static const char *kind_words(const rlo_device_entry *entry) {
  switch (kind_of(entry->platform_name, entry->device_name, entry->type)) {
    case KIND_GPU:
      return "a GPU";
    case KIND_ACCELERATOR:
      return "an accelerator";
    case KIND_POCL_CPU:
      return "the CPU through PoCL";
    case KIND_INTEL_CPU:
      return "the CPU through Intel's driver";
    case KIND_OTHER_CPU:
      return "the CPU";
    case KIND_LLVMPIPE:
      return "a GPU in software";
    case KIND_OCLGRIND:
      break;
  }
  return "a simulator";
}

static bool is_preferred(const rlo_device_entry *entry,
                         const rlo_device_entry *over) {
  int32_t gain = preference(entry) - preference(over);
  return gain > 0 || (gain == 0 && entry->compute_units > over->compute_units);
}

static void choose_default(rlo_device_entry *entries, int32_t count) {
  int32_t best = 0;
  for (int32_t i = 1; i < count; ++i) {
    if (is_preferred(&entries[i], &entries[best])) {
      best = i;
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    rlo_device_entry *entry = &entries[i];
    entry->is_default = i == best;
    if (i == best) {
      snprintf(entry->reason,
               sizeof entry->reason,
               "the default: %s with %d compute units%s",
               kind_words(entry),
               (int)entry->compute_units,
               count == 1 ? ", the only device" : "");
    } else {
      snprintf(entry->reason,
               sizeof entry->reason,
               "%s with %d compute units; device %d is %s with %d",
               kind_words(entry),
               (int)entry->compute_units,
               (int)best,
               kind_words(&entries[best]),
               (int)entries[best].compute_units);
    }
  }
}

static rlo_status describe(cl_platform_id platform,
                           int32_t platform_number,
                           cl_device_id device,
                           int32_t device_number,
                           rlo_device_entry *entry) {
  entry->platform = platform;
  entry->platform_number = platform_number;
  entry->device = device;
  entry->device_number = device_number;
  get_platform_name(
      platform, entry->platform_name, sizeof entry->platform_name);
  rlo__device_get_name(device, entry->device_name, sizeof entry->device_name);
  get_device_string(device,
                    CL_DEVICE_VERSION,
                    entry->device_version,
                    sizeof entry->device_version);
  get_device_string(device,
                    CL_DRIVER_VERSION,
                    entry->driver_version,
                    sizeof entry->driver_version);
  RLO_TRY(RLO_CL(clGetDeviceInfo,
                 device,
                 CL_DEVICE_TYPE,
                 sizeof entry->type,
                 &entry->type,
                 NULL));
  int64_t compute_units = 0;
  RLO_TRY(get_number(
      device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint), &compute_units));
  entry->compute_units = (int32_t)compute_units;
  return RLO_OK;
}

/** Appends the devices of one platform to a growing array. */
static rlo_status append_platform(cl_platform_id platform,
                                  int32_t platform_number,
                                  rlo_device_entry **entries,
                                  int32_t *count) {
  cl_uint num_devices = 0;
  cl_int code =
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &num_devices);
  if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && num_devices == 0)) {
    return RLO_OK;
  }
  RLO_TRY(rlo__cl_error_check("clGetDeviceIDs", code));
  cl_device_id *devices = rlo__alloc_array(num_devices, sizeof(cl_device_id));
  if (devices == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(RLO_CL(clGetDeviceIDs,
                      platform,
                      CL_DEVICE_TYPE_ALL,
                      num_devices,
                      devices,
                      NULL));
  size_t old_count = (size_t)*count;
  rlo_device_entry *grown = rlo__alloc_resize(
      *entries, old_count, old_count + num_devices, sizeof **entries);
  if (grown == NULL) {
    status = RLO_OUT_OF_MEMORY;
    goto fail;
  }
  *entries = grown;
  for (cl_uint i = 0; i < num_devices; ++i) {
    RLO_TRY_GOTO(describe(
        platform, platform_number, devices[i], *count, &grown[*count]));
    ++*count;
  }
fail:
  rlo__free(devices);
  return status;
}

/** Drivers are installed, and none has a device. */
static rlo_status fail_empty(const cl_platform_id *platforms, cl_uint count) {
  char names[256] = "";
  for (cl_uint i = 0; i < count; ++i) {
    char name[128];
    get_platform_name(platforms[i], name, sizeof name);
    append_name(names, sizeof names, name);
  }
  return RLO_FAIL(RLO_NOT_FOUND,
                  "no OpenCL platform has a device: %.400s %s installed and %s "
                  "nothing that it can use, or a setting turns it off",
                  names,
                  count == 1 ? "is" : "are",
                  count == 1 ? "finds" : "find");
}

static rlo_status list_devices(rlo_device_entry **out_entries,
                               int32_t *out_count) {
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint num_platforms = 0;
  cl_int code = clGetPlatformIDs(MAX_PLATFORMS, platforms, &num_platforms);
  if (code == -1001 || (code == CL_SUCCESS && num_platforms == 0)) {
    return rlo__status_fail_cl(
        RLO_NOT_FOUND,
        "clGetPlatformIDs",
        code,
        "no OpenCL platform was found: install a driver, such as "
        "pocl-opencl-icd for the CPU or the one of your GPU's vendor");
  }
  RLO_TRY(rlo__cl_error_check("clGetPlatformIDs", code));
  if (num_platforms > MAX_PLATFORMS) {
    num_platforms = MAX_PLATFORMS;
  }

  rlo_device_entry *entries = NULL;
  int32_t count = 0;
  rlo_status status = RLO_OK;
  for (cl_uint i = 0; i < num_platforms; ++i) {
    /* A broken driver must not hide the others: its failure is returned only if
     * no platform has a device. */
    rlo_status this_status =
        append_platform(platforms[i], (int32_t)i, &entries, &count);
    if (this_status != RLO_OK) {
      status = this_status;
    }
  }
  if (count == 0) {
    rlo__free(entries);
    return status != RLO_OK ? status : fail_empty(platforms, num_platforms);
  }
  choose_default(entries, count);
  *out_entries = entries;
  *out_count = count;
  return RLO_OK;
}

rlo_status rlo__device_list(rlo_device_entry **out_entries,
                            int32_t *out_count) {
  /* PoCL initializes itself in its first clGetDeviceIDs, and shows another
   * thread devices that are half made, or none (3.1, 6.0). */
  static rlo__mutex first_use = RLO__MUTEX_INIT;
  rlo__mutex_lock(&first_use);
  rlo_status status = list_devices(out_entries, out_count);
  rlo__mutex_unlock(&first_use);
  return status;
}

rlo_status rlo_device_list(rlo_device_entry *out_entries,
                           size_t entry_bytes,
                           int32_t capacity,
                           int32_t *out_count) {
  RLO_REQUIRE(out_count);
  RLO_REQUIRE_LIST(out_entries, capacity);
  if (capacity < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "room for %d entries", (int)capacity);
  }
  if (capacity > 0 &&
      (entry_bytes < offsetof(rlo_device_entry, platform_name) ||
       entry_bytes > sizeof *out_entries)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "entries of %zu bytes; this library knows rlo_device_entry "
                    "of up to %zu",
                    entry_bytes,
                    sizeof *out_entries);
  }
  rlo_device_entry *entries = NULL;
  int32_t count = 0;
  RLO_TRY(rlo__device_list(&entries, &count));
  int32_t copied = count < capacity ? count : capacity;
  for (int32_t i = 0; i < copied; ++i) {
    memcpy((char *)out_entries + (size_t)i * entry_bytes,
           &entries[i],
           entry_bytes);
  }
  *out_count = count;
  rlo__free(entries);
  return RLO_OK;
}

/* ASCII only: what a driver writes in other bytes matches as it is. */
static bool is_part_of(const char *part, const char *text) {
  for (; *text != '\0'; ++text) {
    size_t i = 0;
    while (part[i] != '\0' &&
           tolower((unsigned char)part[i]) == tolower((unsigned char)text[i])) {
      ++i;
    }
    if (part[i] == '\0') {
      return true;
    }
  }
  return false;
}

static bool is_named(const rlo_device_entry *entry, const char *name) {
  return is_part_of(name, entry->device_name) ||
         is_part_of(name, entry->platform_name) ||
         is_part_of(name, entry->device_version);
}

rlo_status rlo_device_find(const char *name, int32_t *out_device_number) {
  RLO_REQUIRE(name, out_device_number);
  if (name[0] == '\0') {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the name of a device is empty");
  }
  rlo_device_entry *entries = NULL;
  int32_t count = 0;
  RLO_TRY(rlo__device_list(&entries, &count));
  char names[256] = "";
  const rlo_device_entry *best = NULL;
  for (int32_t i = 0; i < count; ++i) {
    append_name(names, sizeof names, entries[i].device_name);
    if (is_named(&entries[i], name) &&
        (best == NULL || is_preferred(&entries[i], best))) {
      best = &entries[i];
    }
  }
  rlo_status status = RLO_OK;
  if (best != NULL) {
    *out_device_number = best->device_number;
  } else {
    status = RLO_FAIL(RLO_NOT_FOUND,
                      "no device, platform or version is named '%.120s': "
                      "there %s %.400s",
                      name,
                      count == 1 ? "is" : "are",
                      names);
  }
  rlo__free(entries);
  return status;
}
