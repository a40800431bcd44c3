/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of OpenCL, found when one is first called, so that the library is
 * linked with no loader and its host side runs where there is none. */
#include "relayout/opencl.h"

#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/thread.h"

// clang-format off
#define STATUS(ROW, name, parameters, arguments) \
  ROW(cl_int, name, parameters, arguments, CL_PLATFORM_NOT_FOUND_KHR)

/* The functions that the library calls: ROW(type, name, parameters, arguments, result without it). The
 * last NUM_LATER are later than OpenCL 1.2, and there may be none. */
enum { NUM_LATER = 1 };
#define FUNCTIONS(ROW) \
  STATUS(ROW, clGetPlatformIDs, (cl_uint room, cl_platform_id *out, cl_uint *count), \
         (room, out, count)) \
  ROW(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id platform, \
         const char *name), (platform, name), NULL) \
  STATUS(ROW, clGetPlatformInfo, (cl_platform_id platform, cl_platform_info name, size_t room, \
         void *value, size_t *size), (platform, name, room, value, size)) \
  STATUS(ROW, clGetDeviceIDs, (cl_platform_id platform, cl_device_type type, cl_uint room, \
         cl_device_id *out, cl_uint *count), (platform, type, room, out, count)) \
  STATUS(ROW, clGetDeviceInfo, (cl_device_id device, cl_device_info name, size_t room, void *value, \
         size_t *size), (device, name, room, value, size)) \
  STATUS(ROW, clRetainDevice, (cl_device_id device), (device)) \
  STATUS(ROW, clReleaseDevice, (cl_device_id device), (device)) \
  ROW(cl_context, clCreateContext, (const cl_context_properties *properties, cl_uint count, \
         const cl_device_id *devices, \
         void (CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *payload, \
         cl_int *error), (properties, count, devices, notify, payload, error), refuse(error)) \
  STATUS(ROW, clRetainContext, (cl_context context), (context)) \
  STATUS(ROW, clReleaseContext, (cl_context context), (context)) \
  STATUS(ROW, clGetContextInfo, (cl_context context, cl_context_info name, size_t room, void *value, \
         size_t *size), (context, name, room, value, size)) \
  ROW(cl_command_queue, clCreateCommandQueue, (cl_context context, cl_device_id device, \
         cl_command_queue_properties properties, cl_int *error), \
         (context, device, properties, error), refuse(error)) \
  STATUS(ROW, clRetainCommandQueue, (cl_command_queue queue), (queue)) \
  STATUS(ROW, clReleaseCommandQueue, (cl_command_queue queue), (queue)) \
  STATUS(ROW, clGetCommandQueueInfo, (cl_command_queue queue, cl_command_queue_info name, \
         size_t room, void *value, size_t *size), (queue, name, room, value, size)) \
  ROW(cl_mem, clCreateBuffer, (cl_context context, cl_mem_flags flags, size_t bytes, \
         void *memory, cl_int *error), (context, flags, bytes, memory, error), refuse(error)) \
  STATUS(ROW, clRetainMemObject, (cl_mem memory), (memory)) \
  STATUS(ROW, clReleaseMemObject, (cl_mem memory), (memory)) \
  STATUS(ROW, clGetMemObjectInfo, (cl_mem memory, cl_mem_info name, size_t room, void *value, \
         size_t *size), (memory, name, room, value, size)) \
  ROW(cl_program, clCreateProgramWithSource, (cl_context context, cl_uint count, \
         const char **texts, const size_t *lengths, cl_int *error), \
         (context, count, texts, lengths, error), refuse(error)) \
  ROW(cl_program, clCreateProgramWithBinary, (cl_context context, cl_uint count, \
         const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries, \
         cl_int *codes, cl_int *error), \
         (context, count, devices, lengths, binaries, codes, error), refuse(error)) \
  STATUS(ROW, clReleaseProgram, (cl_program program), (program)) \
  STATUS(ROW, clBuildProgram, (cl_program program, cl_uint count, const cl_device_id *devices, \
         const char *options, void (CL_CALLBACK *notify)(cl_program, void *), void *payload), \
         (program, count, devices, options, notify, payload)) \
  STATUS(ROW, clGetProgramInfo, (cl_program program, cl_program_info name, size_t room, void *value, \
         size_t *size), (program, name, room, value, size)) \
  STATUS(ROW, clGetProgramBuildInfo, (cl_program program, cl_device_id device, \
         cl_program_build_info name, size_t room, void *value, size_t *size), \
         (program, device, name, room, value, size)) \
  ROW(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error), \
         (program, name, error), refuse(error)) \
  STATUS(ROW, clReleaseKernel, (cl_kernel kernel), (kernel)) \
  STATUS(ROW, clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t bytes, const void *value), \
         (kernel, index, bytes, value)) \
  STATUS(ROW, clGetKernelInfo, (cl_kernel kernel, cl_kernel_info name, size_t room, void *value, \
         size_t *size), (kernel, name, room, value, size)) \
  STATUS(ROW, clGetKernelArgInfo, (cl_kernel kernel, cl_uint index, cl_kernel_arg_info name, \
         size_t room, void *value, size_t *size), (kernel, index, name, room, value, size)) \
  STATUS(ROW, clGetKernelWorkGroupInfo, (cl_kernel kernel, cl_device_id device, \
         cl_kernel_work_group_info name, size_t room, void *value, size_t *size), \
         (kernel, device, name, room, value, size)) \
  STATUS(ROW, clWaitForEvents, (cl_uint count, const cl_event *events), (count, events)) \
  STATUS(ROW, clRetainEvent, (cl_event event), (event)) \
  STATUS(ROW, clReleaseEvent, (cl_event event), (event)) \
  STATUS(ROW, clGetEventInfo, (cl_event event, cl_event_info name, size_t room, void *value, \
         size_t *size), (event, name, room, value, size)) \
  STATUS(ROW, clGetEventProfilingInfo, (cl_event event, cl_profiling_info name, size_t room, \
         void *value, size_t *size), (event, name, room, value, size)) \
  STATUS(ROW, clFlush, (cl_command_queue queue), (queue)) \
  STATUS(ROW, clFinish, (cl_command_queue queue), (queue)) \
  STATUS(ROW, clEnqueueReadBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool is_blocking, \
         size_t offset, size_t bytes, void *out, cl_uint count, const cl_event *events, \
         cl_event *event), \
         (queue, buffer, is_blocking, offset, bytes, out, count, events, event)) \
  STATUS(ROW, clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool is_blocking, \
         size_t offset, size_t bytes, const void *in, cl_uint count, const cl_event *events, \
         cl_event *event), \
         (queue, buffer, is_blocking, offset, bytes, in, count, events, event)) \
  STATUS(ROW, clEnqueueReadBufferRect, (cl_command_queue queue, cl_mem buffer, cl_bool is_blocking, \
         const size_t *origin, const size_t *host_origin, const size_t *region, size_t row, \
         size_t slice, size_t host_row, size_t host_slice, void *out, cl_uint count, \
         const cl_event *events, cl_event *event), \
         (queue, buffer, is_blocking, origin, host_origin, region, row, slice, host_row, \
          host_slice, out, count, events, event)) \
  STATUS(ROW, clEnqueueWriteBufferRect, (cl_command_queue queue, cl_mem buffer, cl_bool is_blocking, \
         const size_t *origin, const size_t *host_origin, const size_t *region, size_t row, \
         size_t slice, size_t host_row, size_t host_slice, const void *in, cl_uint count, \
         const cl_event *events, cl_event *event), \
         (queue, buffer, is_blocking, origin, host_origin, region, row, slice, host_row, \
          host_slice, in, count, events, event)) \
  STATUS(ROW, clEnqueueFillBuffer, (cl_command_queue queue, cl_mem buffer, const void *pattern, \
         size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count, \
         const cl_event *events, cl_event *event), \
         (queue, buffer, pattern, pattern_bytes, offset, bytes, count, events, event)) \
  STATUS(ROW, clEnqueueCopyBuffer, (cl_command_queue queue, cl_mem src, cl_mem dst, \
         size_t src_offset, size_t dst_offset, size_t bytes, cl_uint count, \
         const cl_event *events, cl_event *event), \
         (queue, src, dst, src_offset, dst_offset, bytes, count, events, event)) \
  ROW(void *, clEnqueueMapBuffer, (cl_command_queue queue, cl_mem buffer, \
         cl_bool is_blocking, cl_map_flags flags, size_t offset, size_t bytes, cl_uint count, \
         const cl_event *events, cl_event *event, cl_int *error), \
         (queue, buffer, is_blocking, flags, offset, bytes, count, events, event, error), refuse(error)) \
  STATUS(ROW, clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem memory, void *mapped, \
         cl_uint count, const cl_event *events, cl_event *event), \
         (queue, memory, mapped, count, events, event)) \
  STATUS(ROW, clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel, cl_uint dims, \
         const size_t *offsets, const size_t *items, const size_t *group_items, cl_uint count, \
         const cl_event *events, cl_event *event), \
         (queue, kernel, dims, offsets, items, group_items, count, events, event)) \
  STATUS(ROW, clEnqueueMarkerWithWaitList, (cl_command_queue queue, cl_uint count, \
         const cl_event *events, cl_event *event), (queue, count, events, event)) \
  ROW(cl_int, clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint index, const void *value), \
      (kernel, index, value), CL_INVALID_OPERATION)

// clang-format on

/* ---------------------------------------------------------------- the table */

typedef struct functions {
#define MEMBER(type, name, parameters, arguments, otherwise) type(CL_API_CALL *name) parameters;
  FUNCTIONS(MEMBER)
} functions;

typedef struct function_entry {
  const char *name;
  size_t offset;
} function_entry;

static const function_entry entries[] = {
#define ENTRY(type, name, parameters, arguments, otherwise) {#name, offsetof(functions, name)},
    FUNCTIONS(ENTRY)};

/** Written once, before is_loaded. */
static functions table;
static atomic_bool is_loaded;

/* ----------------------------------------------------------------- loading */

/** The search for functions without a getter: in the program and the libraries that it sees,
 *  as for a library that is linked; then in a library that is opened. */
typedef struct search {
  void *program;
  const char *library_name;
  /** NULL before it is needed, and if it cannot be opened. */
  void *library;
  /** Why it cannot be opened. */
  char reason[256];
} search;

static void *find(void *payload, const char *name) {
  search *s = payload;
  void *found = dlsym(s->program, name);
  if (found != NULL) {
    return found;
  }
  if (s->library == NULL) {
    s->library = dlopen(s->library_name, RTLD_NOW | RTLD_LOCAL);
    const char *reason = s->library == NULL ? dlerror() : NULL;
    snprintf(s->reason, sizeof s->reason, "%s", reason != NULL ? reason : "");
  }
  return s->library != NULL ? dlsym(s->library, name) : NULL;
}

/** Fills the table. @param out_missing  receives the function that there is not. */
static bool fill(rlo_opencl_getter_fn getter, void *payload, const char **out_missing) {
  const size_t count = sizeof entries / sizeof entries[0];
  for (size_t i = 0; i < count; ++i) {
    void *function = getter(payload, entries[i].name);
    if (function == NULL && i + NUM_LATER < count) {
      *out_missing = entries[i].name;
      return false;
    }
    memcpy((char *)&table + entries[i].offset, &function, sizeof function);
  }
  return true;
}

static rlo_status load_with(rlo_opencl_getter_fn getter, void *payload) {
  const char *missing = NULL;
  return fill(getter, payload, &missing)
             ? RLO_OK
             : RLO_FAIL(RLO_NOT_FOUND, "the getter of OpenCL's functions has no %s", missing);
}

static rlo_status load_by_search(void) {
  const char *named = getenv("RELAYOUT_OPENCL_LIBRARY");
  const bool is_named = named != NULL && named[0] != '\0';
  search s = {.library_name = is_named ? named : "libOpenCL.so.1"};
  s.program = dlopen(NULL, RTLD_LAZY);
  const char *missing = NULL;
  if (fill(find, &s, &missing)) {
    return RLO_OK;
  }
  RLO_FAIL_IF(s.library == NULL, RLO_NOT_FOUND,
              "there is no OpenCL here: %s; install its loader and a driver, such as "
              "ocl-icd-libopencl1 and pocl-opencl-icd, or name a loader in RELAYOUT_OPENCL_LIBRARY",
              s.reason);
  (void)dlclose(s.library);
  return RLO_FAIL(RLO_NOT_FOUND, "%s has no %s: an OpenCL of version 1.2 or later has",
                  s.library_name, missing);
}

rlo_status rlo_opencl_load(rlo_opencl_getter_fn getter, void *payload) {
  static rlo__mutex loading = RLO__MUTEX_INIT;
  rlo_status status = RLO_OK;
  rlo__mutex_lock(&loading);
  const bool is_first = !atomic_load_explicit(&is_loaded, memory_order_relaxed);
  if (is_first) {
    status = getter != NULL ? load_with(getter, payload) : load_by_search();
    atomic_store_explicit(&is_loaded, status == RLO_OK, memory_order_release);
  } else if (getter != NULL) {
    status = RLO_FAIL(RLO_ALREADY_EXISTS,
                      "OpenCL's functions are loaded already: a getter comes before all other "
                      "calls that need them");
  }
  rlo__mutex_unlock(&loading);
  return status;
}

static bool is_there(void) {
  return atomic_load_explicit(&is_loaded, memory_order_acquire) ||
         rlo_opencl_load(NULL, NULL) == RLO_OK;
}

/* ------------------------------------------------------------ the functions */

/* Weak: a program that we are linked into statically may have OpenCL in it, too. */
#define STUB __attribute__((weak, visibility("hidden")))

static void *refuse(cl_int *error) {
  if (error != NULL) {
    *error = CL_PLATFORM_NOT_FOUND_KHR;
  }
  return NULL;
}

#define FUNCTION(type, name, parameters, arguments, otherwise)                    \
  STUB type CL_API_CALL name parameters {                                         \
    return is_there() && table.name != NULL ? table.name arguments : (otherwise); \
  }

FUNCTIONS(FUNCTION)
