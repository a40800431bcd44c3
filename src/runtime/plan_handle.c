/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan_handle.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"

rlo_plan *rlo_plan_retain(rlo_plan *plan) {
  if (plan != NULL) {
    atomic_fetch_add_explicit(&plan->num_references, 1, memory_order_relaxed);
  }
  return plan;
}

void rlo_plan_release(rlo_plan *plan) {
  if (plan == NULL ||
      atomic_fetch_sub_explicit(
          &plan->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (getpid() != plan->context->pid) {
    /* In a child of fork, leak, as rlo_context_release does. */
    return;
  }
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    rlo__plan_step *step = &plan->steps[n];
    for (int32_t i = 0; i < RLO__PLANNED_MAX_LAUNCHES; ++i) {
      rlo__program_cache_put(
          plan->context->programs,
          atomic_load_explicit(&step->programs[i], memory_order_acquire));
    }
    rlo__planned_release(step->planned);
  }
  rlo__context_unref(plan->context);
  rlo__free(plan);
}

/* ---------------------------------------------------------------- preparing */

rlo_status rlo__plan_step_build(rlo_context *context,
                                rlo__plan_step *step,
                                int32_t index,
                                rlo__build_priority priority,
                                int32_t *out_index) {
  rlo__planned *planned = step->planned;
  *out_index = index;
  if (!atomic_load_explicit(&planned->has_smaller[index],
                            memory_order_acquire)) {
    int64_t max_group_items = 0;
    rlo_status status = rlo__prepared_launch_build(context,
                                                   &planned->launches[index],
                                                   priority,
                                                   &step->programs[index],
                                                   &max_group_items);
    if (status == RLO_OK || max_group_items == 0) {
      return status;
    }
    RLO_TRY(rlo__planned_shrink(context, planned, index, max_group_items));
  }
  *out_index = index + RLO__PLANNED_SMALLER;
  return rlo__prepared_launch_build(context,
                                    &planned->launches[*out_index],
                                    priority,
                                    &step->programs[*out_index],
                                    NULL);
}

/** Plans what is left of a step, and builds all of it. */
static rlo_status prepare_step(rlo_context *context, rlo__plan_step *step) {
  rlo__planned *planned = step->planned;
  RLO_TRY(rlo__planned_complete(context, planned));
  const bool has_second =
      atomic_load_explicit(&planned->second, memory_order_acquire) ==
      RLO__SECOND_THERE;
  for (int32_t i = 0; i < (has_second ? 2 : 1); ++i) {
    int32_t built = 0;
    RLO_TRY(
        rlo__plan_step_build(context, step, i, RLO__BUILD_BACKGROUND, &built));
  }
  return RLO_OK;
}

rlo_status rlo_plan_prepare(rlo_plan *plan) {
  RLO_REQUIRE(plan);
  RLO_TRY(rlo__context_check_process(plan->context));
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    RLO_TRY(prepare_step(plan->context, &plan->steps[n]));
  }
  return RLO_OK;
}

/** A queued preparation and its callback. */
typedef struct prepare_job {
  /** First, so that a pointer to it points to the struct. */
  rlo__job job;
  /** Retained. */
  rlo_plan *plan;
  rlo_plan_prepared_fn callback;
  void *payload;
} prepare_job;

static void run_prepare_job(rlo__job *job) {
  prepare_job prepare = *(prepare_job *)job;
  rlo__free(job);
  rlo_status status = rlo_plan_prepare(prepare.plan);
  prepare.callback(prepare.payload, status);
  rlo_plan_release(prepare.plan);
}

rlo_status rlo_plan_prepare_async(rlo_plan *plan,
                                  rlo_plan_prepared_fn callback,
                                  void *payload) {
  RLO_REQUIRE(plan, callback);
  RLO_TRY(rlo__context_check_process(plan->context));
  prepare_job *job = rlo__alloc(sizeof *job);
  if (job == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *job = (prepare_job){.job = {NULL, run_prepare_job},
                       .plan = rlo_plan_retain(plan),
                       .callback = callback,
                       .payload = payload};
  rlo_status status = rlo__worker_submit(plan->context->worker, &job->job);
  if (status != RLO_OK) {
    rlo_plan_release(plan);
    rlo__free(job);
  }
  return status;
}

rlo_status rlo_plan_get_info(const rlo_plan *plan, rlo_plan_info *out_info) {
  RLO_REQUIRE(plan, out_info);
  return rlo__report_write("plan info",
                           "RLO_PLAN_INFO_INIT",
                           &plan->info,
                           out_info,
                           sizeof *out_info);
}
