/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan_handle.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "ir/update.h"
#include "runtime/cl_error.h"
#include "runtime/context_wisdom.h"
#include "runtime/measure.h"

enum {
  /** Beyond a cache line, alignment gains nothing, and asking for less lets
   *  more offsets have the fast kernel. */
  ENOUGH_ALIGNMENT_BYTES = 64
};

/** What planning works on: too large for a stack. */
typedef struct draft {
  rlo_problem problem;
  rlo__choice choice;
  /* Apart, so that two drafts can be compared. */
  rlo__launch launch;
} draft;

/** Bytes that both memories of a plan are aligned to. */
typedef struct alignment {
  int64_t src_bytes, dst_bytes;
} alignment;

/** Plan a copy of the problem for memories so aligned. */
static rlo_status plan_for(rlo_context *context,
                           const rlo_problem *problem,
                           const rlo_plan_options *options,
                           alignment a,
                           draft *out_draft) {
  out_draft->problem = *problem;
  rlo__rwlock_lock_read(&context->wisdom_lock);
  const rlo__plan_request request = {.problem = &out_draft->problem,
                                     .device = &context->device_info,
                                     .options = options,
                                     .src_alignment_bytes = a.src_bytes,
                                     .dst_alignment_bytes = a.dst_bytes,
                                     .wisdom = &context->wisdom};
  rlo_status status =
      rlo__planner_choose(&request, &out_draft->choice, &out_draft->launch);
  rlo__rwlock_unlock(&context->wisdom_lock);
  return status;
}

static rlo_status add_launch(rlo_plan *plan, const draft *d, alignment a) {
  rlo__prepared_launch *launch = &plan->launches[plan->num_launches];
  ++plan->num_launches;
  launch->src_alignment_bytes = a.src_bytes;
  launch->dst_alignment_bytes = a.dst_bytes;
  return rlo__prepared_launch_init(plan->context, &d->launch, launch);
}

static void describe(rlo_plan *plan,
                     const draft *d,
                     const rlo_plan_options *options) {
  rlo_device_class device_class = plan->context->device_info.device_class;
  if (options != NULL && options->device_class != RLO_DEVICE_CLASS_AUTO) {
    device_class = options->device_class;
  }
  const rlo__family *family = d->choice.family;
  plan->info.family = family != NULL ? family->name : "none";
  plan->info.schedule = d->choice.schedule->name;
  plan->info.decision = d->choice.decision;
  plan->info.measured_fraction = d->choice.measured_fraction;
  plan->info.device_class =
      family != NULL ? family->device_class : device_class;
  if (family != NULL) {
    memcpy(plan->parameters, d->launch.parameters, sizeof plan->parameters);
    plan->parameters[sizeof plan->parameters - 1] = '\0';
  }
  plan->info.parameters = plan->parameters;
}

static alignment alignment_of(const draft *d) {
  return (alignment){d->choice.src_alignment_bytes,
                     d->choice.dst_alignment_bytes};
}

/** What a problem that loads takes depends on its indices, which are not there
 *  to be measured with. */
static bool wants_measuring(const rlo_plan_options *options, const draft *d) {
  return options != NULL && options->effort == RLO_EFFORT_MEASURE &&
         d->choice.family != NULL && !rlo_problem_loads(&d->problem) &&
         d->choice.decision != RLO_PLAN_DECISION_WISDOM;
}

/** Keep what was measured of a draft's problem. */
static void remember(rlo_context *context,
                     const draft *d,
                     const rlo__measured *measured) {
  const rlo__family_query request = {
      .problem = &d->problem,
      .device = &context->device_info,
      .src_alignment_bytes = d->choice.src_alignment_bytes,
      .dst_alignment_bytes = d->choice.dst_alignment_bytes};
  rlo__wisdom_entry entry = rlo__wisdom_entry_of(
      &request, measured->family, measured->schedule, measured->fraction);
  rlo__context_wisdom_put(context, &entry);
}

/** Plan a draft again by the schedule that was fastest. */
static rlo_status plan_measured(rlo_context *context,
                                const rlo_problem *problem,
                                const rlo_plan_options *options,
                                const rlo__measured *measured,
                                draft *d) {
  rlo_plan_options forced = *options;
  forced.family = measured->family->name;
  forced.schedule = measured->schedule->name;
  RLO_TRY(plan_for(context, problem, &forced, alignment_of(d), d));
  d->choice.decision = RLO_PLAN_DECISION_MEASURE;
  d->choice.measured_fraction = measured->fraction;
  return RLO_OK;
}

/** Measure for aligned memory, unless another thread has just done it, and plan
 *  both drafts again; `element` may be NULL. What is fastest there is taken
 *  elsewhere too if the problem is the same. */
static rlo_status measure_drafts(rlo_context *context,
                                 const rlo_problem *problem,
                                 const rlo_plan_options *options,
                                 draft *aligned,
                                 draft *element) {
  const int64_t alignment_bytes = aligned->choice.dst_alignment_bytes;
  RLO_TRY(plan_for(context, problem, options, alignment_of(aligned), aligned));
  const bool is_same_problem =
      element != NULL &&
      rlo_problem_equal(&aligned->problem, &element->problem);
  if (!wants_measuring(options, aligned)) {
    return element == NULL
               ? RLO_OK
               : plan_for(
                     context, problem, options, alignment_of(element), element);
  }
  rlo__measured measured;
  RLO_TRY(rlo__measure(context, problem, options, alignment_bytes, &measured));
  const bool is_for_all = options->family == NULL &&
                          options->schedule == NULL &&
                          options->device_class == RLO_DEVICE_CLASS_AUTO;
  if (is_for_all) {
    remember(context, aligned, &measured);
  }
  RLO_TRY(plan_measured(context, problem, options, &measured, aligned));
  if (!is_same_problem) {
    return RLO_OK;
  }
  rlo_status status =
      plan_measured(context, problem, options, &measured, element);
  if (status == RLO_OK && is_for_all) {
    remember(context, element, &measured);
  }
  /* A family may take the problem only where memory is aligned. */
  return status == RLO_UNSUPPORTED
             ? plan_for(
                   context, problem, options, alignment_of(element), element)
             : status;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t whole_bytes(int32_t unit_bits) {
  return unit_bits > 0 && unit_bits % 8 == 0 ? unit_bits / 8 : 1;
}

/** Plan for both alignments and keep what differs. */
static rlo_status plan_launches(rlo_plan *plan,
                                const rlo_problem *problem,
                                const rlo_plan_options *options,
                                draft *aligned,
                                draft *element) {
  alignment element_alignment = {
      plan->src_element_bytes & -plan->src_element_bytes,
      plan->dst_element_bytes & -plan->dst_element_bytes};
  int64_t enough = plan->context->device_info.base_alignment_bytes;
  if (enough > ENOUGH_ALIGNMENT_BYTES) {
    enough = ENOUGH_ALIGNMENT_BYTES;
  }
  alignment best_alignment = {larger(enough, element_alignment.src_bytes),
                              larger(enough, element_alignment.dst_bytes)};
  /* A forced family may need one alignment or the other; one will do. */
  rlo_status aligned_status =
      plan_for(plan->context, problem, options, best_alignment, aligned);
  if (aligned_status != RLO_OK && aligned_status != RLO_UNSUPPORTED) {
    return aligned_status;
  }
  bool is_enough =
      aligned_status == RLO_OK && options != NULL && options->is_aligned;
  rlo_status element_status =
      is_enough
          ? RLO_UNSUPPORTED
          : plan_for(
                plan->context, problem, options, element_alignment, element);
  if (element_status != RLO_OK &&
      (element_status != RLO_UNSUPPORTED || aligned_status != RLO_OK)) {
    return element_status;
  }
  if (aligned_status == RLO_OK && wants_measuring(options, aligned)) {
    rlo__mutex_lock(&plan->context->measuring);
    rlo_status status =
        measure_drafts(plan->context,
                       problem,
                       options,
                       aligned,
                       element_status == RLO_OK ? element : NULL);
    rlo__mutex_unlock(&plan->context->measuring);
    RLO_TRY(status);
  }
  const draft *first = aligned_status == RLO_OK ? aligned : element;
  describe(plan, first, options);
  if (first->choice.family == NULL) {
    return RLO_OK;
  }
  bool is_one = aligned_status == RLO_OK && element_status == RLO_OK &&
                rlo__launch_equal(&aligned->launch, &element->launch);
  if (aligned_status == RLO_OK && !is_one) {
    RLO_TRY(add_launch(plan, aligned, best_alignment));
  }
  if (element_status == RLO_OK) {
    RLO_TRY(add_launch(plan, element, element_alignment));
  }
  return RLO_OK;
}

rlo_status rlo_plan_create(rlo_context *context,
                           const rlo_problem *problem,
                           const rlo_plan_options *options,
                           rlo_plan **out_plan) {
  if (out_plan == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "no place for the plan");
  }
  *out_plan = NULL;
  if (context == NULL || problem == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    context == NULL ? "context" : "problem");
  }
  RLO_TRY(rlo__context_check_process(context));
  rlo_plan *plan = rlo__alloc(sizeof *plan);
  draft *drafts = rlo__alloc_array(2, sizeof *drafts);
  rlo_status status = RLO_OK;
  if (plan == NULL || drafts == NULL) {
    status = RLO_OUT_OF_MEMORY;
    rlo__free(plan);
    plan = NULL;
    goto fail;
  }
  atomic_init(&plan->num_references, 1);
  plan->context = rlo__context_ref(context);
  plan->src_element_bytes = whole_bytes(problem->unit_bits);
  plan->dst_element_bytes = whole_bytes(rlo_problem_dst_unit_bits(problem));
  plan->is_updating = rlo__problem_reads_cells(problem);
  plan->info.src_bytes = problem->src_bytes;
  plan->info.dst_bytes = problem->dst_bytes;
  if (rlo_problem_loads(problem)) {
    plan->index_element_bytes = problem->index_bits / 8;
    plan->info.index_bytes = problem->index_bytes;
  }
  plan->info.read_bytes = problem->read_bytes;
  plan->info.written_bytes = problem->written_bytes;
  RLO_TRY_GOTO(plan_launches(plan, problem, options, &drafts[0], &drafts[1]));
  rlo__log(&context->log,
           RLO__LOG_DEBUG,
           "planned %s%s%s, %d launches",
           plan->info.family,
           plan->parameters[0] != '\0' ? ": " : "",
           plan->parameters,
           (int)plan->num_launches);
  *out_plan = plan;
  rlo__free(drafts);
  return RLO_OK;
fail:
  rlo__free(drafts);
  rlo_plan_release(plan);
  return status;
}

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
    /* As rlo_context_release: in a child of fork, leak. */
    return;
  }
  for (int32_t i = 0; i < plan->num_launches; ++i) {
    rlo__prepared_launch_deinit(plan->context, &plan->launches[i]);
  }
  rlo__context_unref(plan->context);
  rlo__free(plan);
}

rlo_status rlo__plan_choose_launch(rlo_plan *plan,
                                   int64_t src_alignment_bytes,
                                   int64_t dst_alignment_bytes,
                                   rlo__prepared_launch **out_launch) {
  *out_launch = NULL;
  for (int32_t i = 0; i < plan->num_launches; ++i) {
    rlo__prepared_launch *launch = &plan->launches[i];
    if (src_alignment_bytes >= launch->src_alignment_bytes &&
        dst_alignment_bytes >= launch->dst_alignment_bytes) {
      *out_launch = launch;
      return RLO_OK;
    }
  }
  return plan->num_launches == 0
             ? RLO_OK
             : RLO_FAIL(RLO_UNSUPPORTED,
                        "family %s, as it was asked for, needs memory aligned "
                        "to %lld and %lld bytes; this is aligned to %lld and "
                        "%lld",
                        plan->info.family,
                        (long long)plan->launches[0].src_alignment_bytes,
                        (long long)plan->launches[0].dst_alignment_bytes,
                        (long long)src_alignment_bytes,
                        (long long)dst_alignment_bytes);
}

rlo_status rlo__plan_prepare(rlo_plan *plan, rlo__build_priority priority) {
  for (int32_t i = 0; i < plan->num_launches; ++i) {
    RLO_TRY(rlo__prepared_launch_build(
        plan->context, &plan->launches[i], priority));
  }
  return RLO_OK;
}

rlo_status rlo_plan_prepare(rlo_plan *plan) {
  if (plan == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the plan is NULL");
  }
  RLO_TRY(rlo__context_check_process(plan->context));
  return rlo__plan_prepare(plan, RLO__BUILD_BACKGROUND);
}

/** A plan to be prepared, and whom to tell. */
typedef struct prepare_job {
  /** First, so that a job leads here. */
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
  if (plan == NULL || callback == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    plan == NULL ? "plan" : "callback");
  }
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
