/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime that owns everything: its context, queue and buffers. It uploads an
 * array, has it relayouted between two places inside larger buffers as soon as
 * the upload is complete, and reads the result when that is complete. Nothing
 * here waits but the last read.
 */
#include <relayout/opencl.h>
#include <relayout/relayout.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 200, COLUMNS = 300, SRC_AT = 4096, DST_AT = 64 };

static void check(cl_int code, const char *call) {
  if (code != CL_SUCCESS) {
    fprintf(stderr, "%s: %d\n", call, code);
    exit(EXIT_FAILURE);
  }
}

static void check_rlo(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", rlo_status_name(status), rlo_error_last()->message);
    exit(EXIT_FAILURE);
  }
}

static rlo_shape parse(const char *text) {
  rlo_shape shape;
  check_rlo(rlo_shape_parse(text, strlen(text), &shape));
  return shape;
}

/* The runtime's side: what it has long before it meets relayout. */
static cl_device_id first_device(void) {
  cl_platform_id platform;
  cl_device_id device;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  return device;
}

/* Every element where the layouts say it is, every slot without one zero, and
 * the bytes around the array as they were. */
static int count_wrong(const rlo_shape *src, const rlo_shape *dst, const float *from,
                       const unsigned char *to, int64_t to_bytes) {
  rlo_shape_extent extent;
  check_rlo(rlo_shape_measure(dst, &extent));
  int wrong = 0;
  for (int64_t b = 0; b < to_bytes; ++b) {
    int is_inside = b >= DST_AT && b < DST_AT + extent.physical_bytes;
    wrong += !is_inside && to[b] != 0xee;
  }
  for (int64_t slot = 0; slot < extent.slots; ++slot) {
    int64_t index[RLO_MAX_RANK];
    int64_t src_slot;
    bool is_element;
    float expected = 0.0f;
    float found;
    check_rlo(rlo_index_from_linear(dst, slot, index, &is_element));
    if (is_element) {
      check_rlo(rlo_index_to_linear(src, index, &src_slot));
      expected = from[src_slot];
    }
    memcpy(&found, to + DST_AT + slot * 4, sizeof found);
    wrong += found != expected;
  }
  return wrong;
}

int main(void) {
  cl_int code;
  cl_device_id device = first_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue =
      clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
  check(code, "clCreateCommandQueue");

  rlo_shape src = parse("f32[200,300]{1,0}");
  rlo_shape dst = parse("f32[200,300]{0,1:T(8,128)fill(zero)}");
  rlo_shape_extent src_extent;
  rlo_shape_extent dst_extent;
  check_rlo(rlo_shape_measure(&src, &src_extent));
  check_rlo(rlo_shape_measure(&dst, &dst_extent));
  size_t src_bytes = (size_t)(SRC_AT + src_extent.physical_bytes);
  size_t dst_bytes = (size_t)(DST_AT + dst_extent.physical_bytes + 4096);
  cl_mem src_buffer = clCreateBuffer(context, CL_MEM_READ_ONLY, src_bytes, NULL, &code);
  check(code, "clCreateBuffer");
  cl_mem dst_buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, dst_bytes, NULL, &code);
  check(code, "clCreateBuffer");

  // [snippet runtime/plan]
  rlo_context *relayout;
  rlo_problem problem;
  rlo_plan *plan;
  check_rlo(rlo_context_create(context, device, NULL, &relayout));
  check_rlo(rlo_relayout_lower(&src, &dst, NULL, &problem));
  check_rlo(rlo_plan_create(relayout, &problem, NULL, &plan));
  check_rlo(rlo_plan_prepare(plan)); /* compile now, not at the first use */
  // [/snippet]

  float *from = malloc(ROWS * COLUMNS * sizeof *from);
  unsigned char *to = malloc(dst_bytes);
  if (from == NULL || to == NULL) {
    fprintf(stderr, "out of memory\n");
    return EXIT_FAILURE;
  }
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    from[i] = (float)(i + 1);
  }
  memset(to, 0xee, dst_bytes);

  cl_event ready[2];
  cl_event moved;
  check(clEnqueueWriteBuffer(queue, src_buffer, CL_FALSE, SRC_AT, ROWS * COLUMNS * sizeof *from,
                             from, 0, NULL, &ready[0]),
        "clEnqueueWriteBuffer");
  check(clEnqueueWriteBuffer(queue, dst_buffer, CL_FALSE, 0, dst_bytes, to, 0, NULL, &ready[1]),
        "clEnqueueWriteBuffer");
  // [snippet runtime/enqueue]
  check_rlo(rlo_enqueue(plan, queue, src_buffer, SRC_AT, dst_buffer, DST_AT, 2, ready, &moved));
  // [/snippet]
  rlo_plan_release(plan); /* legal while its work is in flight */
  rlo_context_release(relayout);
  check(clEnqueueReadBuffer(queue, dst_buffer, CL_TRUE, 0, dst_bytes, to, 1, &moved, NULL),
        "clEnqueueReadBuffer");

  int wrong = count_wrong(&src, &dst, from, to, (int64_t)dst_bytes);
  printf("%lld slots, %lld elements, %d wrong\n", (long long)dst_extent.slots,
         (long long)dst_extent.elements, wrong);

  free(from);
  free(to);
  clReleaseEvent(ready[0]);
  clReleaseEvent(ready[1]);
  clReleaseEvent(moved);
  clReleaseMemObject(src_buffer);
  clReleaseMemObject(dst_buffer);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
