/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan_handle.h"

#include <unistd.h>

#include "base/alloc.h"
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
    for (int32_t i = 0; i < step->num_launches; ++i) {
      rlo__prepared_launch_deinit(plan->context, &step->launches[i]);
    }
  }
  rlo__context_unref(plan->context);
  rlo__free(plan);
}

/* ---------------------------------------------------------------- preparing */

rlo_status rlo__plan_choose_launch(rlo_plan *plan,
                                   int32_t step,
                                   int64_t src_alignment_bytes,
                                   int64_t dst_alignment_bytes,
                                   rlo__prepared_launch **out_launch) {
  rlo__plan_step *s = &plan->steps[step];
  for (int32_t i = 0; i < s->num_launches; ++i) {
    rlo__prepared_launch *launch = &s->launches[i];
    if (src_alignment_bytes >= launch->src_alignment_bytes &&
        dst_alignment_bytes >= launch->dst_alignment_bytes) {
      *out_launch = launch;
      return RLO_OK;
    }
  }
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "the plan of family %s needs memory aligned to %lld and %lld "
                  "bytes; this memory is aligned to %lld and %lld",
                  plan->info.family,
                  (long long)s->launches[0].src_alignment_bytes,
                  (long long)s->launches[0].dst_alignment_bytes,
                  (long long)src_alignment_bytes,
                  (long long)dst_alignment_bytes);
}

rlo_status rlo_plan_prepare(rlo_plan *plan) {
  RLO_REQUIRE(plan);
  RLO_TRY(rlo__context_check_process(plan->context));
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    rlo__plan_step *step = &plan->steps[n];
    for (int32_t i = 0; i < step->num_launches; ++i) {
      RLO_TRY(rlo__prepared_launch_build(
          plan->context, &step->launches[i], RLO__BUILD_BACKGROUND));
    }
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

void rlo_plan_get_info(const rlo_plan *plan, rlo_plan_info *out_info) {
  if (plan != NULL && out_info != NULL) {
    *out_info = plan->info;
  }
}
