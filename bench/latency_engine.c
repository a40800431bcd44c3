/* SPDX-License-Identifier: Apache-2.0 */
#include "latency_engine.h"

#include <stdlib.h>

#include "bench.h"
#include "relayout/engine_opencl.h"
#include "relayout/engine_ops.h"
#include "relayout/ops.h"
#include "timer.h"

enum {
  /** Calls between two waits, and how many such bursts: those of the suite. */
  BURST = 50,
  BURSTS = 40,
  CALLS = BURST * BURSTS,
  SIZE = 64
};

/** One transpose, as an operation of an engine and as a plan. */
typedef struct asked {
  rlo_engine *engine;
  rlo_tensor *x, *y;
  rlo_plan *plan;
  cl_mem src, dst;
  cl_command_queue queue;
} asked;

static bool borrow_buffer(rlo_tensor *tensor, cl_mem *out_buffer) {
  int64_t offset_bytes = 0;
  cl_event ready = NULL;
  if (rlo_tensor_buffer(tensor, out_buffer, &offset_bytes, &ready) != RLO_OK) {
    return bench_fail_last("the buffer of a tensor");
  }
  if (ready != NULL) {
    clWaitForEvents(1, &ready);
    clReleaseEvent(ready);
  }
  return true;
}

static bool set_up(const bench_arena *arena, asked *a, rlo_problem *problem) {
  const int64_t dims[] = {SIZE, SIZE};
  const int32_t permutation[] = {1, 0};
  rlo_shape shape;
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  options.context = arena->context;
  a->queue = arena->queue;
  if (rlo_engine_create(&options, &a->engine) != RLO_OK ||
      rlo_shape_make(RLO_DTYPE_F32, dims, 2, &shape) != RLO_OK ||
      rlo_tensor_create(a->engine, &shape, NULL, &a->x) != RLO_OK ||
      rlo_op_transpose(a->x, NULL, &a->y) != RLO_OK ||
      rlo_relayout_lower(&shape, &shape, permutation, problem) != RLO_OK ||
      rlo_plan_create(arena->context, problem, NULL, &a->plan) != RLO_OK ||
      rlo_plan_prepare(a->plan) != RLO_OK) {
    return bench_fail_last("setting up an engine");
  }
  return borrow_buffer(a->x, &a->src) && borrow_buffer(a->y, &a->dst);
}

static void tear_down(asked *a) {
  rlo_plan_release(a->plan);
  rlo_tensor_release(a->y);
  rlo_tensor_release(a->x);
  rlo_engine_release(a->engine);
}

static bool ask_engine(const asked *a) {
  rlo_tensor *result = NULL;
  if (rlo_op_transpose(a->x, NULL, &result) != RLO_OK) {
    return bench_fail_last("a transpose of a tensor");
  }
  rlo_tensor_release(result);
  return true;
}

static bool ask_plan(const asked *a) {
  cl_event event = NULL;
  if (rlo_enqueue(a->plan, a->queue, a->src, 0, a->dst, 0, 0, NULL, &event) != RLO_OK) {
    return bench_fail_last("enqueueing");
  }
  clReleaseEvent(event);
  return true;
}

/** Asks BURST times and waits; only the asking is timed. */
static bool burst(const asked *a, bool (*ask)(const asked *a), double *out_nanos) {
  for (int32_t i = 0; i < BURST; ++i) {
    double start = bench_nanos_now();
    if (!ask(a)) {
      return false;
    }
    out_nanos[i] = bench_nanos_now() - start;
  }
  /* The engine's queue is its own: reading waits for it. */
  static float drain[SIZE * SIZE];
  return (rlo_tensor_read(a->y, drain, sizeof drain) == RLO_OK ||
          bench_fail_last("reading a tensor")) &&
         (clFinish(a->queue) == CL_SUCCESS || bench_fail("clFinish failed"));
}

bool bench_latency_engine_run(bench_run *run) {
  asked a = {0};
  double *engine_nanos = calloc((size_t)2 * CALLS, sizeof *engine_nanos);
  rlo_problem *problem = calloc(1, sizeof *problem);
  if (engine_nanos == NULL || problem == NULL) {
    free(engine_nanos);
    free(problem);
    return bench_fail("out of memory");
  }
  bool is_done = set_up(run->arena, &a, problem);
  double *plan_nanos = engine_nanos + CALLS;
  for (int32_t i = 0; i < BURSTS && is_done; ++i) {
    is_done = burst(&a, ask_engine, engine_nanos + (size_t)i * BURST) &&
              burst(&a, ask_plan, plan_nanos + (size_t)i * BURST);
  }
  if (is_done) {
    const bench_figure figure = {.suite = "latency",
                                 .name = "an operation on a tensor",
                                 .value = bench_median(engine_nanos, CALLS) / 1e3,
                                 .unit = "us",
                                 .reference = bench_median(plan_nanos, CALLS) / 1e3,
                                 .reference_name = "rlo_enqueue"};
    is_done = bench_report_figure(run->report, &figure);
  }
  tear_down(&a);
  free(problem);
  free(engine_nanos);
  return is_done;
}
