/* SPDX-License-Identifier: Apache-2.0 */
#include "support/memcheck.h"

#include <check.h>
#include <stdlib.h>

#include "support/expect.h"

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND                   0
#define VALGRIND_MAKE_MEM_NOACCESS(at, bytes) ((void)(at), (void)(bytes))
#endif

bool test_memcheck_watches(void) {
  return RUNNING_ON_VALGRIND != 0;
}

void test_memcheck_forbid(const void *at, size_t bytes) {
  (void)VALGRIND_MAKE_MEM_NOACCESS(at, bytes);
}

void test_memcheck_forget_buffer(const test_device *device, cl_mem buffer, int64_t offset,
                                 int64_t bytes) {
  if (!test_memcheck_watches() || bytes == 0) {
    return;
  }
  /* Copies of bytes that nobody wrote are such bytes. */
  void *unwritten = malloc((size_t)bytes);
  ck_assert_ptr_nonnull(unwritten);
  expect_cl(clEnqueueWriteBuffer(device->queue, buffer, CL_TRUE, (size_t)offset, (size_t)bytes,
                                 unwritten, 0, NULL, NULL));
  free(unwritten);
}

/* Volatile, since nobody reads what is stored. */
static const char forget_source[] =
    "__kernel void forget(__global const ulong4 *from,\n"
    "                     volatile __local ulong4 *to, ulong count) {\n"
    "  for (ulong n = 0; n < count; ++n) to[n] = from[n];\n"
    "}\n";

void test_memcheck_forget_local(const test_device *device) {
  static cl_context context;
  static cl_kernel kernel;
  static cl_mem unwritten;
  static cl_ulong bytes;
  if (!test_memcheck_watches()) {
    return;
  }
  cl_int code = CL_SUCCESS;
  cl_device_id id = rlo_context_cl_device(device->context);
  if (context != rlo_context_cl_context(device->context)) {
    /* The context is kept, so that no other one gets its address. */
    context = rlo_context_cl_context(device->context);
    expect_cl(clRetainContext(context));
    expect_cl(clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    const char *source = forget_source;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    expect_cl(code);
    expect_cl(clBuildProgram(program, 1, &id, "", NULL, NULL));
    kernel = clCreateKernel(program, "forget", &code);
    expect_cl(code);
    unwritten = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    expect_cl(code);
    test_memcheck_forget_buffer(device, unwritten, 0, (int64_t)bytes);
    const cl_ulong count = bytes / sizeof(cl_ulong4);
    expect_cl(clSetKernelArg(kernel, 0, sizeof unwritten, &unwritten));
    expect_cl(clSetKernelArg(kernel, 1, bytes, NULL));
    expect_cl(clSetKernelArg(kernel, 2, sizeof count, &count));
    clReleaseProgram(program);
  }
  const size_t one = 1;
  expect_cl(clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
  expect_cl(clFinish(device->queue));
}
