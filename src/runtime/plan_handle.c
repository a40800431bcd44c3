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
      atomic_fetch_sub_explicit(&plan->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (getpid() != plan->context->pid) {
    /* In a child of fork, leak, as rlo_context_release does. */
    return;
  }
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    rlo__planned_release(plan->steps[n].aligned.planned);
    rlo__planned_release(atomic_load_explicit(&plan->steps[n].element, memory_order_acquire));
  }
  rlo__context_unref(plan->context);
  rlo__free(plan);
}

/* ----------------------------------------------------- launches of a step */

/** Finds the launch for memory aligned to the element, or plans it. */
static rlo_status find_element(rlo__plan_step *step, rlo__planned **out_planned) {
  *out_planned = atomic_load_explicit(&step->element, memory_order_acquire);
  if (*out_planned != NULL) {
    return RLO_OK;
  }
  rlo__planned *made = NULL;
  RLO_TRY(rlo__planned_get_again(step->aligned.planned, &step->terms, &made));
  if (atomic_compare_exchange_strong_explicit(&step->element, out_planned, made,
                                              memory_order_acq_rel, memory_order_acquire)) {
    *out_planned = made;
  } else {
    /* Another thread was first. */
    rlo__planned_release(made);
  }
  return RLO_OK;
}

rlo_status rlo__plan_step_choose(rlo__plan_step *step, int64_t src_alignment_bytes,
                                 int64_t dst_alignment_bytes, rlo__planned **out_planned) {
  rlo__planned *aligned = step->aligned.planned;
  const rlo__planned_terms *needed = &aligned->terms;
  *out_planned = aligned;
  if (src_alignment_bytes >= needed->src_alignment_bytes &&
      dst_alignment_bytes >= needed->dst_alignment_bytes) {
    return RLO_OK;
  }
  /* An enqueue accepts no memory that is aligned to less than the element. */
  rlo_status status = step->has_one ? RLO_UNSUPPORTED : find_element(step, out_planned);
  if (status != RLO_UNSUPPORTED) {
    return status;
  }
  /* It was promised, or the family that the options name refuses. */
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "the plan of family %s needs memory aligned to %lld and %lld bytes; this memory "
                  "is aligned to %lld and %lld",
                  aligned->family == NULL ? "none" : aligned->family->name,
                  (long long)needed->src_alignment_bytes, (long long)needed->dst_alignment_bytes,
                  (long long)src_alignment_bytes, (long long)dst_alignment_bytes);
}

/* ---------------------------------------------------------------- preparing */

/** Plans what is left of a step, and builds all of it. */
static rlo_status prepare_step(rlo__plan_step *step) {
  rlo__planned *planned = NULL;
  RLO_TRY(rlo__planned_build(step->aligned.planned, RLO__BUILD_BACKGROUND, &planned));
  if (step->has_one) {
    return RLO_OK;
  }
  rlo_status status = find_element(step, &planned);
  if (status == RLO_UNSUPPORTED) {
    /* A family that the options name may take aligned memory only. */
    return RLO_OK;
  }
  RLO_TRY(status);
  return rlo__planned_build(planned, RLO__BUILD_BACKGROUND, &planned);
}

rlo_status rlo_plan_prepare(rlo_plan *plan) {
  RLO_REQUIRE(plan);
  RLO_TRY(rlo__context_check_process(plan->context));
  for (int32_t n = 0; n < plan->num_steps; ++n) {
    RLO_TRY(prepare_step(&plan->steps[n]));
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

rlo_status rlo_plan_prepare_async(rlo_plan *plan, rlo_plan_prepared_fn callback, void *payload) {
  RLO_REQUIRE(plan, callback);
  RLO_TRY(rlo__context_check_process(plan->context));
  prepare_job *job = rlo__alloc(sizeof *job);
  RLO_TRY_MEMORY(job);
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
  return rlo__report_write("plan info", "RLO_PLAN_INFO_INIT", &plan->info, out_info,
                           sizeof *out_info);
}
