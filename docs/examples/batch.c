/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All tensors of a small model, which lie one behind the other in a buffer, are brought
 * to another layout by few launches, and once more on the host, which must agree.
 */
#include <relayout/batch_opencl.h>
#include <relayout/relayout.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6, KINDS = 4, MAX_ITEMS = LAYERS * KINDS };

static const char *const kinds[KINDS][2] = {
    {"bf16[256,256]", "bf16[256,256]{1,0:T(8,128)}"},
    {"bf16[688,256]", "bf16[688,256]{1,0:T(8,128)fill(zero)}"},
    {"bf16[256,688]", "bf16[256,688]{1,0:T(8,128)fill(zero)}"},
    {"bf16[256]", "bf16[256]"},
};

static void check(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", rlo_status_name(status), rlo_error_last()->message);
    exit(EXIT_FAILURE);
  }
}

static void check_cl(cl_int code) {
  if (code != CL_SUCCESS) {
    fprintf(stderr, "OpenCL: %d\n", code);
    exit(EXIT_FAILURE);
  }
}

static rlo_shape parse(const char *text) {
  rlo_shape shape;
  check(rlo_shape_parse(text, strlen(text), &shape));
  return shape;
}

/* Begins an array of some bytes behind those before, at a multiple of 64. */
static int64_t take(int64_t *used, int64_t bytes) {
  const int64_t at = (*used + 63) / 64 * 64;
  *used = at + bytes;
  return at;
}

static void *allocate(int64_t bytes) {
  unsigned char *memory = malloc((size_t)bytes);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(EXIT_FAILURE);
  }
  for (int64_t n = 0; n < bytes; ++n) {
    memory[n] = (unsigned char)(n * 167 + n / 256);
  }
  return memory;
}

int main(void) {
  static rlo_problem problems[KINDS];
  for (int k = 0; k < KINDS; ++k) {
    const rlo_shape src = parse(kinds[k][0]);
    const rlo_shape dst = parse(kinds[k][1]);
    check(rlo_relayout_lower(&src, &dst, NULL, &problems[k]));
  }
  // [snippet batch/create]
  rlo_batch_item items[MAX_ITEMS];
  int64_t used[2] = {0, 0};
  for (int n = 0; n < MAX_ITEMS; ++n) {
    const rlo_problem *problem = &problems[n % KINDS];
    items[n].problem = problem;
    items[n].src = 0;
    items[n].dst = 1;
    items[n].src_offset_bytes = take(&used[0], rlo_problem_src_bytes(problem));
    items[n].dst_offset_bytes = take(&used[1], rlo_problem_dst_bytes(problem));
  }
  rlo_context *context;
  rlo_batch *batch;
  check(rlo_context_create_default(-1, NULL, &context));
  check(rlo_batch_create(context, items, MAX_ITEMS, 2, NULL, &batch));
  // [/snippet]
  void *src = allocate(used[0]);
  void *dst = allocate(used[1]);
  void *got = allocate(used[1]);
  cl_int code;
  const cl_context cl = rlo_context_cl_context(context);
  cl_command_queue queue = clCreateCommandQueue(cl, rlo_context_cl_device(context), 0, &code);
  check_cl(code);
  cl_mem buffers[2];
  buffers[0] =
      clCreateBuffer(cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, (size_t)used[0], src, &code);
  check_cl(code);
  buffers[1] =
      clCreateBuffer(cl, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, (size_t)used[1], dst, &code);
  check_cl(code);
  // [snippet batch/enqueue]
  const rlo_batch_memory memories[2] = {{buffers[0], NULL, 0}, {buffers[1], NULL, 0}};
  cl_event moved;
  check(rlo_batch_enqueue(batch, queue, memories, 0, NULL, &moved));
  // [/snippet]
  check_cl(
      clEnqueueReadBuffer(queue, buffers[1], CL_TRUE, 0, (size_t)used[1], got, 1, &moved, NULL));

  // [snippet batch/host]
  void *const arrays[2] = {src, dst};
  check(rlo_batch_run_host(items, MAX_ITEMS, arrays, 2, 4));
  // [/snippet]
  rlo_context_stats stats = RLO_CONTEXT_STATS_INIT;
  check(rlo_context_get_stats(context, &stats));
  const bool is_equal = memcmp(got, dst, (size_t)used[1]) == 0;
  printf("%d tensors, %d launches: %s\n", MAX_ITEMS, (int)stats.launches,
         is_equal ? "equal on both" : "different");
  const bool is_right = is_equal && stats.launches <= 4;

  clReleaseEvent(moved);
  clReleaseMemObject(buffers[0]);
  clReleaseMemObject(buffers[1]);
  clReleaseCommandQueue(queue);
  rlo_batch_release(batch);
  rlo_context_release(context);
  free(src);
  free(dst);
  free(got);
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
