/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "relayout/opencl.h"

/* planted FILE KERNEL: run one kernel of a file on 64 work-items and a buffer
 * of 64 uints, and look at the result. Exits with 0 if OpenCL was content. */

enum { ITEMS = 64, MAX_SOURCE_BYTES = 1 << 16 };

static void must(cl_int code, const char *call) {
  if (code != CL_SUCCESS) {
    fprintf(stderr, "planted: %s: %d\n", call, (int)code);
    exit(EXIT_FAILURE);
  }
}

int main(int argc, char **argv) {
  static char source[MAX_SOURCE_BYTES];
  FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL || fread(source, 1, sizeof source - 1, file) == 0) {
    fprintf(stderr, "usage: planted FILE KERNEL\n");
    return EXIT_FAILURE;
  }
  fclose(file);
  cl_platform_id platform;
  cl_device_id device;
  cl_int code = CL_SUCCESS;
  must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  must(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  must(code, "clCreateCommandQueue");
  const char *text = source;
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
  must(code, "clCreateProgramWithSource");
  must(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, argv[2], &code);
  must(code, "clCreateKernel");
  cl_uint zeros[ITEMS] = {0};
  cl_mem buffer =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &code);
  must(code, "clCreateBuffer");
  must(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
  const size_t global = ITEMS;
  const size_t local = ITEMS;
  must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
       "clEnqueueNDRangeKernel");
  cl_uint result[ITEMS];
  must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL),
       "clEnqueueReadBuffer");
  int num_sevens = 0;
  for (int n = 0; n < ITEMS; ++n) {
    if (result[n] == 7) {
      ++num_sevens;
    }
  }
  printf("%d of %d are 7\n", num_sevens, (int)ITEMS);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return EXIT_SUCCESS;
}
