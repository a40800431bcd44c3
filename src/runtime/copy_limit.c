/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "runtime/timing.h"

enum {
  MIN_BYTES = 4096,
  /** Divides the bytes copied, so that no kernel for a tail is measured. */
  GRAIN_BYTES = 64
};

static rlo_status plan_copy(rlo_context *context,
                            int64_t bytes,
                            rlo_plan **out_plan) {
  rlo_problem *problem = rlo__alloc(sizeof *problem);
  if (problem == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__copy_problem_init(bytes, problem);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = "copy";
  rlo_status status = rlo_plan_create(context, problem, &options, out_plan);
  rlo__free(problem);
  return status;
}

/** Copies once. */
static rlo_status time_copy(const rlo__timing *timing,
                            rlo_plan *plan,
                            double *out_nanos) {
  cl_event event = NULL;
  double begun = rlo__clock_seconds();
  RLO_TRY(rlo_enqueue(
      plan, timing->queue, timing->src, 0, timing->dst, 0, 0, NULL, &event));
  return rlo__timing_wait(event, begun, out_nanos);
}

static int compare_nanos(const void *a, const void *b) {
  double left = *(const double *)a;
  double right = *(const double *)b;
  return (left > right) - (left < right);
}

rlo_status rlo_copy_limit(rlo_context *context,
                          int64_t bytes,
                          int32_t rounds,
                          double *out_gb_per_s) {
  RLO_REQUIRE(context, out_gb_per_s);
  if (bytes < MIN_BYTES || rounds < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a copy of %lld bytes in %d rounds; at least %d bytes and "
                    "one round",
                    (long long)bytes,
                    (int)rounds,
                    (int)MIN_BYTES);
  }
  RLO_TRY(rlo__context_check_process(context));
  bytes -= bytes % GRAIN_BYTES;
  rlo__timing timing = {.context = context};
  rlo_plan *plan = NULL;
  rlo_status status = RLO_OUT_OF_MEMORY;
  double *nanos = rlo__alloc_array((size_t)rounds, sizeof *nanos);
  if (nanos == NULL) {
    goto fail;
  }
  RLO_TRY_GOTO(plan_copy(context, bytes, &plan));
  RLO_TRY_GOTO(rlo__timing_init(context, bytes, bytes, &timing));
  RLO_TRY_GOTO(time_copy(&timing, plan, &nanos[0])); /* to warm up */
  for (int32_t i = 0; i < rounds; ++i) {
    RLO_TRY_GOTO(time_copy(&timing, plan, &nanos[i]));
  }
  qsort(nanos, (size_t)rounds, sizeof *nanos, compare_nanos);
  double median = (nanos[(rounds - 1) / 2] + nanos[rounds / 2]) / 2;
  *out_gb_per_s = 2.0 * (double)bytes / median;
fail:
  rlo__timing_deinit(&timing);
  rlo_plan_release(plan);
  rlo__free(nanos);
  return status;
}
