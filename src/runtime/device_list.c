/* SPDX-License-Identifier: Apache-2.0 */
#include <CL/cl_ext.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "base/str.h"
#include "base/thread.h"
#include "runtime/cl_error.h"
#include "runtime/device.h"

/** Platforms and devices beyond these are not listed. */
enum { MAX_PLATFORMS = 64, MAX_DEVICES = 256 };

/** Appends a name to a list of names, if there is room. */
static void append_name(rlo__str *names, const char *name) {
  rlo__str_printf(names, "%s%s", names->length == 0 ? "" : ", ", name);
}

/* ------------------------------------------------------------- the default */

/** The device with the highest preference is the default; of equal ones, the
 *  first. */
typedef struct kind_traits {
  int32_t preference;
  const char *words;
} kind_traits;

static const kind_traits kinds[] = {
    [RLO__KIND_POCL_CPU] = {3, "the CPU through PoCL"},
    [RLO__KIND_INTEL_CPU] = {2, "the CPU through Intel's driver"},
    [RLO__KIND_OCLGRIND] = {0, "a simulator"},
    [RLO__KIND_OTHER_CPU] = {2, "the CPU"},
    [RLO__KIND_LLVMPIPE] = {1, "a GPU in software"},
    [RLO__KIND_ACCELERATOR] = {4, "an accelerator"},
    [RLO__KIND_GPU] = {5, "a GPU"},
};

static const kind_traits *traits_of(const rlo_device_entry *entry) {
  return &kinds[rlo__device_find_kind(entry->platform_name, entry->device_name, entry->type)];
}

static bool is_preferred(const rlo_device_entry *entry, const rlo_device_entry *over) {
  int32_t gain = traits_of(entry)->preference - traits_of(over)->preference;
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
      snprintf(entry->reason, sizeof entry->reason, "the default: %s with %d compute units%s",
               traits_of(entry)->words, (int)entry->compute_units,
               count == 1 ? ", the only device" : "");
    } else {
      snprintf(entry->reason, sizeof entry->reason,
               "%s with %d compute units; device %d is %s with %d", traits_of(entry)->words,
               (int)entry->compute_units, (int)best, traits_of(&entries[best])->words,
               (int)entries[best].compute_units);
    }
  }
}

/* ---------------------------------------------------------------- the list */

static rlo_status describe(cl_platform_id platform, int32_t platform_number, cl_device_id device,
                           int32_t device_number, rlo_device_entry *entry) {
  *entry = (rlo_device_entry){.platform = platform,
                              .platform_number = platform_number,
                              .device = device,
                              .device_number = device_number};
  rlo__platform_get_string(platform, CL_PLATFORM_NAME, entry->platform_name,
                           sizeof entry->platform_name);
  rlo__device_get_string(device, CL_DEVICE_NAME, entry->device_name, sizeof entry->device_name);
  rlo__device_get_string(device, CL_DEVICE_VERSION, entry->device_version,
                         sizeof entry->device_version);
  rlo__device_get_string(device, CL_DRIVER_VERSION, entry->driver_version,
                         sizeof entry->driver_version);
  RLO_TRY(RLO_CL(clGetDeviceInfo, device, CL_DEVICE_TYPE, sizeof entry->type, &entry->type, NULL));
  cl_uint compute_units = 0;
  RLO_TRY(RLO_CL(clGetDeviceInfo, device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof compute_units,
                 &compute_units, NULL));
  entry->compute_units = (int32_t)compute_units;
  return RLO_OK;
}

/** A growing array. */
typedef struct entry_list {
  rlo_device_entry *entries;
  size_t count, capacity;
} entry_list;

/** Appends the devices of one platform. */
static rlo_status append_platform(cl_platform_id platform, int32_t platform_number,
                                  entry_list *list) {
  cl_device_id devices[MAX_DEVICES];
  cl_uint num_devices = 0;
  cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &num_devices);
  if (code == CL_DEVICE_NOT_FOUND) {
    return RLO_OK;
  }
  RLO_TRY(rlo__cl_error_check("clGetDeviceIDs", code));
  for (cl_uint i = 0; i < num_devices && i < MAX_DEVICES; ++i) {
    RLO_TRY(rlo__array_reserve(&list->entries, sizeof list->entries[0], list->count + 1,
                               &list->capacity));
    RLO_TRY(describe(platform, platform_number, devices[i], (int32_t)list->count,
                     &list->entries[list->count]));
    ++list->count;
  }
  return RLO_OK;
}

/** Drivers are installed, and none has a device. */
static rlo_status fail_empty(const cl_platform_id *platforms, cl_uint count) {
  char text[256] = "";
  rlo__str names = rlo__str_over(text, sizeof text);
  for (cl_uint i = 0; i < count; ++i) {
    char name[128];
    rlo__platform_get_string(platforms[i], CL_PLATFORM_NAME, name, sizeof name);
    append_name(&names, name);
  }
  return RLO_FAIL(
      RLO_NOT_FOUND,
      "no OpenCL platform has a device: %s %s installed and %s nothing that it can use, or a "
      "setting turns it off; PoCL needs a folder that it can make, which POCL_CACHE_DIR may name",
      rlo__str_text(&names), count == 1 ? "is" : "are", count == 1 ? "finds" : "find");
}

static rlo_status list_devices(rlo_device_entry **out_entries, int32_t *out_count) {
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint num_platforms = 0;
  RLO_TRY(rlo_opencl_load(NULL, NULL));
  cl_int code = clGetPlatformIDs(MAX_PLATFORMS, platforms, &num_platforms);
  if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && num_platforms == 0)) {
    return rlo__status_fail_cl(RLO_NOT_FOUND, "clGetPlatformIDs", code,
                               "no OpenCL platform was found: install a driver, such as "
                               "pocl-opencl-icd for the CPU or the one of your GPU's vendor");
  }
  RLO_TRY(rlo__cl_error_check("clGetPlatformIDs", code));
  if (num_platforms > MAX_PLATFORMS) {
    num_platforms = MAX_PLATFORMS;
  }

  entry_list list = {0};
  rlo_status status = RLO_OK;
  for (cl_uint i = 0; i < num_platforms && status != RLO_OUT_OF_MEMORY; ++i) {
    /* A broken driver must not hide the others: its failure is returned only if
     * no platform has a device. */
    rlo_status this_status = append_platform(platforms[i], (int32_t)i, &list);
    if (this_status != RLO_OK) {
      status = this_status;
    }
  }
  if (list.count == 0 || status == RLO_OUT_OF_MEMORY) {
    rlo__free(list.entries);
    return status != RLO_OK ? status : fail_empty(platforms, num_platforms);
  }
  *out_entries = list.entries;
  *out_count = (int32_t)list.count;
  choose_default(*out_entries, *out_count);
  return RLO_OK;
}

rlo_status rlo__device_list(rlo_device_entry **out_entries, int32_t *out_count) {
  /* PoCL initializes itself in its first clGetDeviceIDs, and shows another
   * thread devices that are half made, or none (3.1, 6.0). */
  static rlo__mutex first_use = RLO__MUTEX_INIT;
  rlo__mutex_lock(&first_use);
  rlo_status status = list_devices(out_entries, out_count);
  rlo__mutex_unlock(&first_use);
  return status;
}

rlo_status rlo_device_list(rlo_device_entry *out_entries, size_t entry_bytes, int32_t capacity,
                           int32_t *out_count) {
  RLO_REQUIRE(out_count);
  RLO_REQUIRE_LIST(out_entries, capacity);
  RLO_TRY(rlo__report_list_check("rlo_device_entry", capacity, entry_bytes,
                                 offsetof(rlo_device_entry, platform_name), sizeof *out_entries));
  rlo_device_entry *entries = NULL;
  int32_t count = 0;
  RLO_TRY(rlo__device_list(&entries, &count));
  rlo__report_list_write(entries, count, sizeof *entries, out_entries, entry_bytes, capacity);
  *out_count = count;
  rlo__free(entries);
  return RLO_OK;
}

/* ----------------------------------------------------------------- by name */

/* ASCII only: what a driver writes in other bytes matches as it is. */
static bool is_part_of(const char *part, const char *text) {
  for (; *text != '\0'; ++text) {
    size_t i = 0;
    while (part[i] != '\0' && tolower((unsigned char)part[i]) == tolower((unsigned char)text[i])) {
      ++i;
    }
    if (part[i] == '\0') {
      return true;
    }
  }
  return false;
}

static bool is_named(const rlo_device_entry *entry, const char *name) {
  return is_part_of(name, entry->device_name) || is_part_of(name, entry->platform_name) ||
         is_part_of(name, entry->device_version);
}

rlo_status rlo_device_find(const char *name, int32_t *out_device_number) {
  RLO_REQUIRE(name, out_device_number);
  RLO_FAIL_IF(name[0] == '\0', RLO_INVALID_ARGUMENT, "the name of a device is empty");
  rlo_device_entry *entries = NULL;
  int32_t count = 0;
  RLO_TRY(rlo__device_list(&entries, &count));
  char text[256] = "";
  rlo__str names = rlo__str_over(text, sizeof text);
  const rlo_device_entry *best = NULL;
  for (int32_t i = 0; i < count; ++i) {
    append_name(&names, entries[i].device_name);
    if (is_named(&entries[i], name) && (best == NULL || is_preferred(&entries[i], best))) {
      best = &entries[i];
    }
  }
  rlo_status status = RLO_OK;
  if (best != NULL) {
    *out_device_number = best->device_number;
  } else {
    status = RLO_FAIL(RLO_NOT_FOUND, "no device, platform or version is named '%s': there %s %s",
                      name, count == 1 ? "is" : "are", rlo__str_text(&names));
  }
  rlo__free(entries);
  return status;
}
