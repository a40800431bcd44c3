/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "runtime/cl_error.h"
#include "runtime/context.h"
#include "runtime/stopwatch.h"

enum {
  MIN_BYTES = 4096,
  /** Copied bytes are a multiple of this: an odd tail would be measured. */
  GRAIN_BYTES = 64
};

/** What a measurement holds. */
typedef struct bench {
  rlo_context *context;
  cl_command_queue queue;
  cl_mem src, dst;
  rlo_plan *plan;
  int64_t bytes;
} bench;

static rlo_status plan_copy(bench *b) {
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  if (problem == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__copy_problem(b->bytes, problem);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "copy";
  rlo_status status = rlo_plan_create(b->context, problem, &options, &b->plan);
  rlo__free(problem);
  return status;
}

/** Copy once. */
static rlo_status time_copy(const bench *b, double *out_nanos) {
  rlo__stopwatch watch;
  cl_event event = NULL;
  rlo__stopwatch_start(&watch);
  RLO_TRY(
      rlo_enqueue(b->plan, b->queue, b->src, 0, b->dst, 0, 0, NULL, &event));
  return rlo__stopwatch_stop(&watch, event, out_nanos);
}

static int compare_nanos(const void *a, const void *b) {
  double left = *(const double *)a;
  double right = *(const double *)b;
  return (left > right) - (left < right);
}

static rlo_status measure(const bench *b,
                          int32_t rounds,
                          double *nanos,
                          double *out_gb_per_s) {
  RLO_TRY(rlo__touch_buffer(b->queue, b->src, b->bytes));
  RLO_TRY(time_copy(b, &nanos[0]));
  for (int32_t i = 0; i < rounds; ++i) {
    RLO_TRY(time_copy(b, &nanos[i]));
  }
  qsort(nanos, (size_t)rounds, sizeof *nanos, compare_nanos);
  double median = (nanos[(rounds - 1) / 2] + nanos[rounds / 2]) / 2;
  *out_gb_per_s = 2.0 * (double)b->bytes / median;
  return RLO_OK;
}

rlo_status rlo_copy_limit(rlo_context *context,
                          int64_t bytes,
                          int32_t rounds,
                          double *out_gb_per_s) {
  if (context == NULL || out_gb_per_s == NULL || bytes < MIN_BYTES ||
      rounds < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a copy of %lld bytes in %d rounds; at least %d bytes and "
                    "one round, with a context and a place for the result",
                    (long long)bytes,
                    (int)rounds,
                    (int)MIN_BYTES);
  }
  RLO_TRY(rlo__context_check_process(context));
  bench b = {.context = context, .bytes = bytes - bytes % GRAIN_BYTES};
  double *nanos = rlo__alloc_array((size_t)rounds, sizeof *nanos);
  if (nanos == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OK;
  cl_int code = CL_SUCCESS;
  b.queue = clCreateCommandQueue(context->cl_context,
                                 context->cl_device,
                                 CL_QUEUE_PROFILING_ENABLE,
                                 &code);
  RLO_TRY_GOTO(rlo__cl_error_check("clCreateCommandQueue", code));
  RLO_TRY_GOTO(plan_copy(&b));
  RLO_TRY_GOTO(rlo_buffer_create(context, b.bytes, &b.src));
  RLO_TRY_GOTO(rlo_buffer_create(context, b.bytes, &b.dst));
  RLO_TRY_GOTO(measure(&b, rounds, nanos, out_gb_per_s));
fail:
  if (b.queue != NULL) {
    clReleaseCommandQueue(b.queue);
  }
  rlo_buffer_release(context, b.src);
  rlo_buffer_release(context, b.dst);
  rlo_plan_release(b.plan);
  rlo__free(nanos);
  return status;
}
