/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/context.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "runtime/cl_error.h"
#include "runtime/device.h"

enum {
  /** The most devices of a context. */
  MAX_DEVICES = 256,
  /** Some kernels have a problem's numbers compiled in: a process that uses
   * many shapes must not keep them all. */
  MAX_IDLE_PROGRAMS = 128,
  /** The most launches that are remembered: some 2 KiB each. */
  MAX_PLANNED = 256,
  /** Room for hundreds of PoCL programs of about 100 KiB each. */
  DEFAULT_CACHE_LIMIT_BYTES = 64 * 1024 * 1024
};

rlo_status rlo__context_check_process(const rlo_context *context) {
  pid_t pid = getpid();
  RLO_FAIL_IF(pid != context->pid, RLO_UNSUPPORTED,
              "the context was created by process %ld and this is process %ld: OpenCL does not "
              "survive fork; create a context here, and none before fork",
              (long)context->pid, (long)pid);
  return RLO_OK;
}

/** Reads and checks the options, with defaults for those that are 0. */
static rlo_status read_options(const rlo_context_options *options,
                               rlo_context_options *out_options) {
  rlo_context_options read = RLO_CONTEXT_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("context options", "RLO_CONTEXT_OPTIONS_INIT", options, &read,
                            sizeof read));
  RLO_FAIL_IF(read.memory_budget_bytes < 0, RLO_INVALID_ARGUMENT,
              "a memory budget of %lld bytes is negative", (long long)read.memory_budget_bytes);
  RLO_FAIL_IF(read.cache_limit_bytes < 0, RLO_INVALID_ARGUMENT,
              "a cache limit of %lld bytes is negative", (long long)read.cache_limit_bytes);
  if (read.cache_limit_bytes == 0) {
    read.cache_limit_bytes = DEFAULT_CACHE_LIMIT_BYTES;
  }
  /* It is opened for each use, and the working directory may change. */
  RLO_FAIL_IF(read.cache_dir != NULL && read.cache_dir[0] != '\0' && read.cache_dir[0] != '/',
              RLO_INVALID_ARGUMENT, "the cache directory \"%s\" is not an absolute path",
              read.cache_dir);
  *out_options = read;
  return RLO_OK;
}

/** Returns whether a device is part of one of the context's devices, and the
 *  driver accepts it there. PoCL names the whole device for contexts made of
 *  parts. */
static bool is_part_of(cl_context context, const cl_device_id *devices, size_t num_devices,
                       cl_device_id device) {
  cl_device_id whole = device;
  size_t i = num_devices;
  while (i == num_devices && whole != NULL) {
    cl_device_id part = whole;
    whole = NULL;
    (void)clGetDeviceInfo(part, CL_DEVICE_PARENT_DEVICE, sizeof whole, &whole, NULL);
    for (i = 0; i < num_devices && devices[i] != whole; ++i) {
    }
  }
  cl_command_queue queue = whole != NULL ? clCreateCommandQueue(context, device, 0, NULL) : NULL;
  if (queue != NULL) {
    clReleaseCommandQueue(queue);
  }
  return queue != NULL;
}

/** Checks that the device is one of the context. */
static rlo_status check_membership(cl_context context, cl_device_id device) {
  cl_device_id devices[MAX_DEVICES];
  size_t bytes = 0;
  RLO_TRY(RLO_CL(clGetContextInfo, context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes));
  const size_t num_devices = bytes / sizeof devices[0];
  size_t i = 0;
  while (i < num_devices && devices[i] != device) {
    ++i;
  }
  if (i == num_devices && !is_part_of(context, devices, num_devices, device)) {
    char name[128];
    rlo__device_get_string(device, CL_DEVICE_NAME, name, sizeof name);
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the device (%s) is not one of the %zu device%s of the context", name,
                    num_devices, num_devices == 1 ? "" : "s");
  }
  return RLO_OK;
}

static rlo_status query_work_item_sizes(rlo_context *context) {
  const cl_uint most = sizeof context->max_work_item_sizes / sizeof context->max_work_item_sizes[0];
  cl_uint num_dimensions = 0;
  RLO_TRY(RLO_CL(clGetDeviceInfo, context->cl_device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS,
                 sizeof num_dimensions, &num_dimensions, NULL));
  RLO_FAIL_IF(num_dimensions < 3 || num_dimensions > most, RLO_UNSUPPORTED,
              "the device has work-items of %u dimensions; 3 to 16 are supported",
              (unsigned)num_dimensions);
  return RLO_CL(clGetDeviceInfo, context->cl_device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
                num_dimensions * sizeof context->max_work_item_sizes[0],
                context->max_work_item_sizes, NULL);
}

void *rlo__context_find_function(const rlo_context *context, const char *name) {
  cl_platform_id platform = NULL;
  return clGetDeviceInfo(context->cl_device, CL_DEVICE_PLATFORM, sizeof platform, &platform,
                         NULL) == CL_SUCCESS
             ? clGetExtensionFunctionAddressForPlatform(platform, name)
             : NULL;
}

/** Finds what the device can do with pointers. A driver may have the functions for unified
 *  memory although the device has none. */
static void find_shared_memory(rlo_context *context) {
  cl_device_svm_capabilities svm = 0;
  /* Devices of OpenCL 1.2 do not know the query. */
  (void)clGetDeviceInfo(context->cl_device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL);
  context->shared.has_svm = svm != 0;
  char extensions[8192] = "";
  (void)clGetDeviceInfo(context->cl_device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions,
                        NULL);
  if (strstr(extensions, "cl_intel_unified_shared_memory") != NULL) {
    *(void **)&context->shared.set_argument =
        rlo__context_find_function(context, "clSetKernelArgMemPointerINTEL");
    *(void **)&context->shared.get_info =
        rlo__context_find_function(context, "clGetMemAllocInfoINTEL");
  }
}

static rlo_status init_planning(rlo_context *context) {
  char driver[128] = "";
  /* Without a version, or with one that is too long, drivers cannot be
   * distinguished. */
  if (clGetDeviceInfo(context->cl_device, CL_DRIVER_VERSION, sizeof driver, driver, NULL) !=
      CL_SUCCESS) {
    snprintf(driver, sizeof driver, "unknown");
  }
  /* The same chip with another number of usable cores is another device. */
  char device[192];
  snprintf(device, sizeof device, "%s, %d units", context->device_name,
           (int)context->device_info.compute_units);
  rlo__wisdom_init(device, driver, rlo_wisdom_table(), &context->wisdom);
  RLO_TRY(rlo__rwlock_init(&context->wisdom_lock));
  RLO_TRY(rlo__mutex_init(&context->measuring));
  return rlo__plan_memo_init(&context->memo, MAX_PLANNED);
}

static void deinit_planning(rlo_context *context) {
  rlo__wisdom_deinit(&context->wisdom);
  rlo__rwlock_deinit(&context->wisdom_lock);
  rlo__mutex_deinit(&context->measuring);
  rlo__plan_memo_deinit(&context->memo);
}

rlo_status rlo_context_create(cl_context context, cl_device_id device,
                              const rlo_context_options *options, rlo_context **out_context) {
  RLO_REQUIRE(out_context);
  *out_context = NULL;
  RLO_REQUIRE(context, device);
  rlo_context_options read = RLO_CONTEXT_OPTIONS_INIT;
  RLO_TRY(read_options(options, &read));
  RLO_TRY(check_membership(context, device));

  rlo_context *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  *made = (rlo_context){.num_references = 1,
                        .num_user_references = 1,
                        .pid = getpid(),
                        .log = {read.log, read.log_payload, RLO__LOG_DEBUG},
                        .memory_budget_bytes = read.memory_budget_bytes};
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(RLO_CL(clRetainContext, context));
  made->cl_context = context;
  RLO_TRY_GOTO(RLO_CL(clRetainDevice, device));
  made->cl_device = device;
  RLO_TRY_GOTO(rlo__device_query(device, &made->device_info));
  RLO_TRY_GOTO(query_work_item_sizes(made));
  find_shared_memory(made);
  rlo__device_get_string(device, CL_DEVICE_NAME, made->device_name, sizeof made->device_name);
  RLO_TRY_GOTO(init_planning(made));
  rlo__table_init(&made->buffers, offsetof(rlo__buffer_record, node));
  RLO_TRY_GOTO(rlo__mutex_init(&made->buffers_mutex));
  if (made->memory_budget_bytes == 0) {
    int64_t memory_bytes = made->device_info.global_memory_bytes;
    made->memory_budget_bytes = memory_bytes - memory_bytes / 4;
  }
  RLO_TRY_GOTO(rlo__disk_cache_create(&read, geteuid(), &made->log, &made->disk));
  RLO_TRY_GOTO(rlo__worker_create(&made->worker));
  const rlo__program_builder builder = {
      .context = context, .device = device, .log = &made->log, .disk = made->disk};
  RLO_TRY_GOTO(rlo__program_cache_create(&builder, MAX_IDLE_PROGRAMS, &made->programs));
  rlo__log(&made->log, RLO__LOG_INFO, "context on %s: %d compute units, class %s",
           made->device_name, (int)made->device_info.compute_units,
           made->device_info.device_class == RLO_DEVICE_CLASS_CPU ? "CPU" : "GPU");
  *out_context = made;
  return RLO_OK;
fail:
  rlo__context_unref(made);
  return status;
}

rlo_status rlo_context_create_default(int32_t device_number, const rlo_context_options *options,
                                      rlo_context **out_context) {
  RLO_REQUIRE(out_context);
  *out_context = NULL;
  rlo_device_entry *entries = NULL;
  int32_t count = 0;
  RLO_TRY(rlo__device_list(&entries, &count));
  rlo_status status = RLO_OK;
  cl_context context = NULL;
  if (device_number < -1 || device_number >= count) {
    status =
        RLO_FAIL(RLO_NOT_FOUND,
                 "there is no device %d: the %d found are numbered from 0, and -1 is the default",
                 (int)device_number, (int)count);
    goto fail;
  }
  const rlo_device_entry *entry = &entries[0];
  for (int32_t i = 0; i < count; ++i) {
    if (device_number == -1 ? entries[i].is_default : i == device_number) {
      entry = &entries[i];
    }
  }
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              (cl_context_properties)entry->platform, 0};
  cl_int code = CL_SUCCESS;
  context = clCreateContext(properties, 1, &entry->device, NULL, NULL, &code);
  RLO_TRY_GOTO(rlo__cl_error_check("clCreateContext", code));
  RLO_TRY_GOTO(rlo_context_create(context, entry->device, options, out_context));
fail:
  if (context != NULL) {
    clReleaseContext(context);
  }
  rlo__free(entries);
  return status;
}

rlo_context *rlo__context_ref(rlo_context *context) {
  atomic_fetch_add_explicit(&context->num_references, 1, memory_order_relaxed);
  return context;
}

/** Forgets the buffers that were never released, which are their callers'. */
static void forget_buffers(rlo_context *context) {
  rlo__buffer_record *record = NULL;
  while ((record = rlo__table_remove_oldest(&context->buffers)) != NULL) {
    rlo__free(record);
  }
  rlo__table_deinit(&context->buffers);
  rlo__mutex_deinit(&context->buffers_mutex);
}

void rlo__context_unref(rlo_context *context) {
  if (atomic_fetch_sub_explicit(&context->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (getpid() != context->pid) {
    /* In a child of fork the driver's objects belong to the parent, and a lock
     * may be held by a thread that does not exist. Only leaking is safe. */
    return;
  }
  rlo__worker_destroy(context->worker);
  deinit_planning(context);
  forget_buffers(context);
  rlo__program_cache_destroy(context->programs);
  rlo__disk_cache_destroy(context->disk);
  if (context->cl_device != NULL) {
    clReleaseDevice(context->cl_device);
  }
  if (context->cl_context != NULL) {
    clReleaseContext(context->cl_context);
  }
  rlo__free(context);
}

rlo_context *rlo_context_retain(rlo_context *context) {
  if (context != NULL) {
    atomic_fetch_add_explicit(&context->num_user_references, 1, memory_order_relaxed);
  }
  return context;
}

void rlo_context_release(rlo_context *context) {
  if (context == NULL ||
      atomic_fetch_sub_explicit(&context->num_user_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (getpid() == context->pid) {
    rlo__worker_wait(context->worker);
  }
  rlo__context_unref(context);
}

cl_context rlo_context_cl_context(const rlo_context *context) {
  return context != NULL ? context->cl_context : NULL;
}

cl_device_id rlo_context_cl_device(const rlo_context *context) {
  return context != NULL ? context->cl_device : NULL;
}

const rlo_device_info *rlo_context_device_info(const rlo_context *context) {
  return context != NULL ? &context->device_info : NULL;
}

const char *rlo_context_device_name(const rlo_context *context) {
  return context != NULL ? context->device_name : NULL;
}

rlo_status rlo_context_get_stats(const rlo_context *context, rlo_context_stats *out_stats) {
  RLO_REQUIRE(context, out_stats);
  rlo_context_stats stats = {
      .launches = atomic_load_explicit(&context->launches, memory_order_relaxed),
      .buffer_bytes = atomic_load_explicit(&context->buffer_bytes, memory_order_relaxed)};
  rlo__program_cache_get_stats(context->programs, &stats);
  rlo__disk_cache_get_stats(context->disk, &stats);
  return rlo__report_write("context stats", "RLO_CONTEXT_STATS_INIT", &stats, out_stats,
                           sizeof stats);
}
