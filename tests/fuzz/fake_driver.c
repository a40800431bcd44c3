/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_driver.h"

#include <stdlib.h>
#include <string.h>

#include "fake_objects.h"

enum { GROUP_ITEMS = 1024 };

static struct _cl_platform_id the_platform;
static struct _cl_device_id devices[FAKE_NUM_DEVICES] = {{false}, {true}};
static size_t group_limit;

cl_device_id fake_driver_device(int32_t number) {
  return &devices[number];
}

void fake_driver_limit_groups(size_t items) {
  group_limit = items;
}

unsigned char *fake_driver_memory(cl_mem buffer) {
  return buffer->memory;
}

/* ------------------------------------------------------------------ queries */

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count) {
  CALL();
  if (room > 0 && out != NULL) {
    out[0] = &the_platform;
  }
  if (count != NULL) {
    *count = 1;
  }
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t room, void *out,
                         size_t *size) {
  (void)platform;
  CALL();
  if (what == CL_PLATFORM_VERSION) {
    ANSWER_TEXT("OpenCL 1.2 fake");
  }
  ANSWER_TEXT("fake");
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *out,
                      cl_uint *count) {
  (void)platform;
  (void)type;
  CALL();
  for (cl_uint n = 0; out != NULL && n < room && n < FAKE_NUM_DEVICES; ++n) {
    out[n] = &devices[n];
  }
  if (count != NULL) {
    *count = FAKE_NUM_DEVICES;
  }
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *out,
                       size_t *size) {
  CALL();
  switch (what) {
    case CL_DEVICE_PLATFORM:
      ANSWER(cl_platform_id, &the_platform);
    case CL_DEVICE_TYPE:
      ANSWER(cl_device_type, device->is_gpu ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU);
    case CL_DEVICE_LOCAL_MEM_TYPE:
      ANSWER(cl_device_local_mem_type, CL_LOCAL);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      ANSWER(cl_uint, 4);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      ANSWER(size_t, GROUP_ITEMS);
    case CL_DEVICE_LOCAL_MEM_SIZE:
      ANSWER(cl_ulong, 49152);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      ANSWER(cl_ulong, 1 << 30);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      ANSWER(cl_ulong, FAKE_MAX_ALLOCATION_BYTES);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
      ANSWER(cl_uint, 1024);
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
      ANSWER(cl_uint, 64);
    case CL_DEVICE_MAX_PARAMETER_SIZE:
      ANSWER(size_t, 4096);
    case CL_DEVICE_ADDRESS_BITS:
      ANSWER(cl_uint, 64);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      ANSWER(cl_uint, 3);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
      const size_t sizes[3] = {GROUP_ITEMS, GROUP_ITEMS, GROUP_ITEMS};
      return fake_answer(sizes, sizeof sizes, room, out, size);
    }
    case CL_DEVICE_SINGLE_FP_CONFIG:
    case CL_DEVICE_DOUBLE_FP_CONFIG:
      ANSWER(cl_device_fp_config, CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST);
    case CL_DEVICE_NAME:
      ANSWER_TEXT(device->is_gpu ? "fake GPU" : "fake CPU");
    case CL_DEVICE_VENDOR:
    case CL_DRIVER_VERSION:
      ANSWER_TEXT("fake 1");
    case CL_DEVICE_VERSION:
      ANSWER_TEXT("OpenCL 1.2 fake");
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clRetainDevice(cl_device_id device) {
  (void)device;
  CALL();
  return CL_SUCCESS;
}

cl_int clReleaseDevice(cl_device_id device) {
  (void)device;
  return CL_SUCCESS;
}

/* ---------------------------------------------------- contexts and memories */

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *list,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user, cl_int *errcode) {
  (void)properties;
  (void)count;
  (void)notify;
  (void)user;
  CALL_THAT_MAKES();
  cl_context made = fake_make(sizeof *made, CONTEXT);
  made->device = list[0];
  return made;
}

DEFINE_RETAIN(clRetainContext, cl_context, CONTEXT)
DEFINE_RELEASE(clReleaseContext, cl_context, CONTEXT)

cl_int clGetContextInfo(cl_context context, cl_context_info what, size_t room, void *out,
                        size_t *size) {
  CHECK(context, CONTEXT);
  CALL();
  if (what == CL_CONTEXT_DEVICES) {
    ANSWER(cl_device_id, context->device);
  }
  return CL_INVALID_VALUE;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                      cl_int *errcode) {
  CHECK(context, CONTEXT);
  CALL_THAT_MAKES();
  if (host != NULL || bytes == 0 || bytes > FAKE_MAX_ALLOCATION_BYTES ||
      fake_find_memory(NULL) == NULL) {
    fake_stop(__func__, "arguments that a driver would refuse");
  }
  cl_mem made = fake_make(sizeof *made, MEMORY);
  made->context = context;
  made->bytes = bytes;
  made->flags = flags;
  made->memory = malloc(bytes);
  if (made->memory == NULL) {
    fake_stop(__func__, "no memory");
  }
  memset(made->memory, 0xa5, bytes);
  fake_replace_memory(NULL, made);
  fake_keep(context);
  return made;
}

DEFINE_RETAIN(clRetainMemObject, cl_mem, MEMORY)
DEFINE_RELEASE(clReleaseMemObject, cl_mem, MEMORY)

cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info what, size_t room, void *out, size_t *size) {
  CHECK(memory, MEMORY);
  CALL();
  switch (what) {
    case CL_MEM_TYPE:
      ANSWER(cl_mem_object_type, CL_MEM_OBJECT_BUFFER);
    case CL_MEM_CONTEXT:
      ANSWER(cl_context, memory->context);
    case CL_MEM_SIZE:
      ANSWER(size_t, memory->bytes);
    case CL_MEM_FLAGS:
      ANSWER(cl_mem_flags, memory->flags);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
      ANSWER(cl_mem, NULL);
    default:
      return CL_INVALID_VALUE;
  }
}

/* ----------------------------------------------------- programs and kernels */

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                     const size_t *lengths, cl_int *errcode) {
  (void)count;
  (void)texts;
  (void)lengths;
  CHECK(context, CONTEXT);
  CALL_THAT_MAKES();
  cl_program made = fake_make(sizeof *made, PROGRAM);
  made->context = context;
  fake_keep(context);
  return made;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *list,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user) {
  (void)count;
  (void)list;
  (void)options;
  (void)notify;
  (void)user;
  CHECK(program, PROGRAM);
  CALL();
  program->max_items = group_limit > 0 ? group_limit : GROUP_ITEMS;
  return CL_SUCCESS;
}

DEFINE_RELEASE(clReleaseProgram, cl_program, PROGRAM)

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what,
                             size_t room, void *out, size_t *size) {
  (void)device;
  (void)what;
  CHECK(program, PROGRAM);
  CALL();
  ANSWER_TEXT("fake log");
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *errcode) {
  (void)name;
  CHECK(program, PROGRAM);
  CALL_THAT_MAKES();
  if (program->max_items == 0) {
    fake_stop(__func__, "of a program that is not built");
  }
  cl_kernel made = fake_make(sizeof *made, KERNEL);
  made->program = program;
  fake_keep(program);
  return made;
}

DEFINE_RELEASE(clReleaseKernel, cl_kernel, KERNEL)

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
  CHECK(kernel, KERNEL);
  CALL();
  if (index >= MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES || value == NULL) {
    fake_stop(__func__, "an argument that is not expected");
  }
  kernel->arguments[index].bytes = bytes;
  memcpy(kernel->arguments[index].value, value, bytes);
  return CL_SUCCESS;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t room, void *out,
                                size_t *size) {
  (void)device;
  CHECK(kernel, KERNEL);
  CALL();
  switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE:
      ANSWER(size_t, kernel->program->max_items);
    case CL_KERNEL_LOCAL_MEM_SIZE:
      ANSWER(cl_ulong, 0);
    default:
      return CL_INVALID_VALUE;
  }
}
