/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a file of `relayout emit` as a project that takes no library would: with
 * -DEMITTED="FILE", and -DON_HOST for C of the host. Arguments: the source's bytes, the file
 * for the destination's, and how many it has; it begins as zeros between guard
 * bytes, as many as the offset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include EMITTED

enum { MOST = 1 << 22, OFFSET = 512 };

static unsigned char src[MOST], dst[MOST];

static size_t read_file(const char *path, unsigned char *to) {
  FILE *file = fopen(path, "rb");
  size_t bytes = file == NULL ? 0 : fread(to, 1, MOST, file);
  if (file == NULL || fclose(file) != 0) {
    exit(2);
  }
  return bytes;
}

#ifndef ON_HOST
static void check(cl_int code, const char *what) {
  if (code != CL_SUCCESS) {
    fprintf(stderr, "%s: %d\n", what, (int)code);
    exit(1);
  }
}

static void run(size_t src_bytes, size_t dst_bytes) {
  static unsigned char text[MOST];
  const char *source = (const char *)text;
  const size_t length = read_file(EMITTED, text);
  cl_platform_id platform;
  cl_device_id device;
  cl_int code;
  check(clGetPlatformIDs(1, &platform, NULL), "platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "context");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "queue");
  cl_program program = clCreateProgramWithSource(context, 1, &source, &length, &code);
  check(code, "program");
  check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2 -Werror", NULL, NULL), "build");
  cl_kernel kernel = clCreateKernel(program, "emitted", &code);
  check(code, "kernel");
  cl_mem from = clCreateBuffer(context, CL_MEM_READ_ONLY, OFFSET + src_bytes, NULL, &code);
  check(code, "source");
  cl_mem to = clCreateBuffer(context, CL_MEM_READ_WRITE, dst_bytes + 2 * OFFSET, NULL, &code);
  check(code, "destination");
  check(clEnqueueWriteBuffer(queue, from, CL_TRUE, OFFSET, src_bytes, src, 0, NULL, NULL), "write");
  check(clEnqueueWriteBuffer(queue, to, CL_TRUE, 0, dst_bytes + 2 * OFFSET, dst, 0, NULL, NULL),
        "write");
  if (emitted_enqueue(queue, kernel, from, 1, to, OFFSET, 0, NULL, NULL) !=
      CL_MISALIGNED_SUB_BUFFER_OFFSET) {
    exit(3);
  }
  check(emitted_enqueue(queue, kernel, from, OFFSET, to, OFFSET, 0, NULL, NULL), "enqueue");
  check(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, dst_bytes + 2 * OFFSET, dst, 0, NULL, NULL),
        "read");
  clReleaseMemObject(from);
  clReleaseMemObject(to);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
}
#else
static void run(size_t src_bytes, size_t dst_bytes) {
  (void)src_bytes;
  (void)dst_bytes;
  emitted(src, dst + OFFSET);
}
#endif

int main(int argc, char **argv) {
  const size_t src_bytes = argc == 4 ? read_file(argv[1], src) : 0;
  const size_t dst_bytes = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
  memset(dst, 0xa5, sizeof dst);
  memset(dst + OFFSET, 0, dst_bytes);
  run(src_bytes, dst_bytes);
  for (size_t n = 0; n < OFFSET; ++n) {
    if (dst[n] != 0xa5 || dst[OFFSET + dst_bytes + n] != 0xa5) {
      return 4;
    }
  }
  FILE *file = fopen(argv[2], "wb");
  if (file == NULL || fwrite(dst + OFFSET, 1, dst_bytes, file) != dst_bytes) {
    return 2;
  }
  return fclose(file) == 0 ? 0 : 2;
}
