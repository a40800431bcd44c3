/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that owns everything: OpenCL, which it loads by itself, so that no loader is
 * linked; its context, queue and shared memory. An array goes to tiles by an enqueue, by
 * launches that the runtime enqueues as its own, and twice by a batch. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <relayout/batch_opencl.h>
#include <relayout/launch.h>
#include <relayout/relayout.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 200 * 300, SLOTS = 304 * 256, TIMES = 4 };

static cl_icd_dispatch cl; /* OpenCL's functions, of which those in load() are set */

static void check(int is_right, const char *what) {
  if (!is_right) {
    fprintf(stderr, "failed: %s\n", what);
    exit(EXIT_FAILURE);
  }
}

static void check_rlo(rlo_status status) {
  check(status == RLO_OK, rlo_error_last()->message);
}

static void *find(void *library, const char *name) {
  return dlsym(library, name);
}

static void load(void) {
  const struct {
    const char *name;
    void *place;
  } functions[] = {{"clCreateContext", &cl.clCreateContext},
                   {"clCreateCommandQueue", &cl.clCreateCommandQueue},
                   {"clSVMAlloc", &cl.clSVMAlloc},
                   {"clSVMFree", &cl.clSVMFree},
                   {"clEnqueueSVMMemcpy", &cl.clEnqueueSVMMemcpy},
                   {"clEnqueueNDRangeKernel", &cl.clEnqueueNDRangeKernel},
                   {"clReleaseCommandQueue", &cl.clReleaseCommandQueue},
                   {"clReleaseContext", &cl.clReleaseContext}};

  void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
  check(library != NULL, "libOpenCL.so.1");
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    void *function = find(library, functions[i].name);
    check(function != NULL, functions[i].name);
    memcpy(functions[i].place, &function, sizeof function);
  }
  check_rlo(rlo_opencl_load(find, library)); /* relayout calls the same functions */
}

// [snippet runtime/launch]
/* Here a runtime records a launch, adds it to a graph or times it. */
static rlo_status take_launch(void *queue, const rlo_launch *launch) {
  cl_int code = cl.clEnqueueNDRangeKernel(queue, launch->kernel, launch->work_dim, NULL,
                                          launch->global_size, launch->local_size, 0, NULL, NULL);
  return code == CL_SUCCESS ? RLO_OK : RLO_DEVICE;
}

// [/snippet]
int main(void) {
  static float from[COUNT];
  static float to[TIMES * SLOTS];
  static float expected[SLOTS];
  for (int i = 0; i < COUNT; ++i) {
    from[i] = (float)(i + 1);
  }
  load();
  rlo_device_entry found;
  int32_t num_found;
  check_rlo(rlo_device_list(&found, sizeof found, 1, &num_found));
  cl_device_id device = found.device;
  cl_context context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = cl.clCreateCommandQueue(context, device, 0, NULL);
  float *shared = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, sizeof from + sizeof to, 0);
  check(shared != NULL, "clSVMAlloc");
  // [snippet runtime/plan]
  rlo_shape rows;
  rlo_shape tiles;
  rlo_problem problem;
  rlo_context *relayout;
  rlo_plan *plan;
  check_rlo(rlo_shape_parse("f32[200,300]", RLO_TEXT_TERMINATED, &rows));
  check_rlo(rlo_shape_parse("f32[200,300]{0,1:T(8,128)fill(zero)}", RLO_TEXT_TERMINATED, &tiles));
  check_rlo(rlo_relayout_lower(&rows, &tiles, NULL, &problem));
  check_rlo(rlo_context_create(context, device, NULL, &relayout)); /* caches in $HOME */
  check_rlo(rlo_plan_create(relayout, &problem, NULL, &plan));
  check_rlo(rlo_plan_prepare(plan)); /* compile now, not at the first use */
  // [/snippet]
  cl.clEnqueueSVMMemcpy(queue, CL_FALSE, shared, from, sizeof from, 0, NULL, NULL);
  // [snippet runtime/enqueue]
  rlo_operands operands = RLO_OPERANDS_INIT;
  operands.src_pointer = shared; /* or .src, a cl_mem */
  operands.dst_pointer = shared + COUNT;
  check_rlo(rlo_enqueue_operands(plan, queue, &operands, 0, NULL, NULL));
  operands.dst_offset_bytes = problem.dst_bytes;
  check_rlo(rlo_plan_get_launches(plan, &operands, take_launch, queue));
  // [/snippet]
  const rlo_batch_item items[2] = {{&problem, 0, 1, 0, 0}, {&problem, 0, 1, 0, problem.dst_bytes}};
  const rlo_batch_memory memories[2] = {{NULL, shared, 0}, {NULL, shared + COUNT + 2 * SLOTS, 0}};
  rlo_batch *batch;
  check_rlo(rlo_batch_create(relayout, items, 2, 2, NULL, &batch));
  check_rlo(rlo_batch_enqueue(batch, queue, memories, 0, NULL, NULL));
  rlo_batch_release(batch); /* legal while its work is in flight */
  rlo_plan_release(plan);
  rlo_context_release(relayout);
  cl.clEnqueueSVMMemcpy(queue, CL_TRUE, to, shared + COUNT, sizeof to, 0, NULL, NULL);
  check_rlo(rlo_run_host(&problem, from, NULL, expected, 1));
  for (int n = 0; n < TIMES; ++n) {
    check(memcmp(to + n * SLOTS, expected, sizeof expected) == 0, "equal to the host");
  }
  cl.clSVMFree(context, shared);
  cl.clReleaseCommandQueue(queue);
  cl.clReleaseContext(context);
}
