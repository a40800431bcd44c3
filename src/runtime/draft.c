/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/draft.h"

#include "base/alloc.h"
#include "base/status.h"
#include "ir/problem.h"
#include "runtime/context.h"
#include "runtime/measure.h"

rlo__draft *rlo__draft_create(void) {
  rlo__draft *d = rlo__alloc_unset(sizeof *d);
  if (d != NULL) {
    rlo__launch_init(&d->launch);
  }
  return d;
}

void rlo__draft_destroy(rlo__draft *d) {
  if (d != NULL) {
    rlo__launch_deinit(&d->launch);
    rlo__free(d);
  }
}

rlo_status rlo__draft_plan(rlo_context *context,
                           const rlo_device_info *device,
                           const rlo_problem *problem,
                           const rlo_plan_options *options,
                           rlo__alignment a,
                           rlo__draft *out_draft) {
  rlo__problem_copy(problem, &out_draft->problem);
  atomic_fetch_add_explicit(&context->planned, 1, memory_order_relaxed);
  rlo__rwlock_lock_read(&context->wisdom_lock);
  const rlo__plan_request request = {.problem = &out_draft->problem,
                                     .device = device,
                                     .options = options,
                                     .src_alignment_bytes = a.src_bytes,
                                     .dst_alignment_bytes = a.dst_bytes,
                                     .wisdom = &context->wisdom};
  rlo_status status =
      rlo__planner_choose(&request, &out_draft->choice, &out_draft->launch);
  rlo__rwlock_unlock(&context->wisdom_lock);
  return status;
}

rlo__alignment rlo__draft_alignment(const rlo__draft *d) {
  return (rlo__alignment){d->choice.src_alignment_bytes,
                          d->choice.dst_alignment_bytes};
}

/* ---------------------------------------------------------------- measuring */

bool rlo__draft_wants_measuring(const rlo_plan_options *options,
                                const rlo__draft *d) {
  return options->effort == RLO_EFFORT_MEASURE && d->choice.family != NULL &&
         !rlo_problem_loads(&d->problem) &&
         d->choice.decision != RLO_PLAN_DECISION_WISDOM;
}

/** Stores a measurement of a draft's problem in the context's wisdom. A failure
 *  is logged. */
static void remember(rlo_context *context,
                     const rlo__draft *d,
                     const rlo__measured *measured) {
  const rlo__family_query request = {
      .problem = &d->problem,
      .device = &context->device_info,
      .src_alignment_bytes = d->choice.src_alignment_bytes,
      .dst_alignment_bytes = d->choice.dst_alignment_bytes};
  rlo__wisdom_entry entry = rlo__wisdom_entry_of(
      &request, measured->family, measured->schedule, measured->fraction);
  rlo__rwlock_lock_write(&context->wisdom_lock);
  rlo_status status = rlo__wisdom_put(&context->wisdom, &entry);
  rlo__rwlock_unlock(&context->wisdom_lock);
  rlo__plan_memo_clear(&context->memo);
  if (status != RLO_OK) {
    rlo__log(&context->log,
             RLO__LOG_WARNING,
             "the measurement is not remembered: %s",
             rlo_error_last()->message);
  }
}

/** Plans a draft again with the family and schedule that were fastest. */
static rlo_status plan_measured(rlo_context *context,
                                const rlo_problem *problem,
                                const rlo_plan_options *options,
                                const rlo__measured *measured,
                                rlo__draft *d) {
  rlo_plan_options forced = *options;
  forced.family = measured->family->name;
  forced.schedule = measured->schedule->name;
  RLO_TRY(rlo__draft_plan(context,
                          &context->device_info,
                          problem,
                          &forced,
                          rlo__draft_alignment(d),
                          d));
  d->choice.decision = RLO_PLAN_DECISION_MEASURE;
  d->choice.measured_fraction = measured->fraction;
  return RLO_OK;
}

rlo_status rlo__drafts_measure(rlo_context *context,
                               const rlo_problem *problem,
                               const rlo_plan_options *options,
                               rlo__draft *aligned,
                               rlo__draft *element) {
  const int64_t alignment_bytes = aligned->choice.dst_alignment_bytes;
  RLO_TRY(rlo__draft_plan(context,
                          &context->device_info,
                          problem,
                          options,
                          rlo__draft_alignment(aligned),
                          aligned));
  const bool is_same_problem =
      element != NULL &&
      rlo_problem_equal(&aligned->problem, &element->problem);
  if (!rlo__draft_wants_measuring(options, aligned)) {
    return element == NULL ? RLO_OK
                           : rlo__draft_plan(context,
                                             &context->device_info,
                                             problem,
                                             options,
                                             rlo__draft_alignment(element),
                                             element);
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
  /* Some families support the problem for aligned memory only. */
  return status == RLO_UNSUPPORTED
             ? rlo__draft_plan(context,
                               &context->device_info,
                               problem,
                               options,
                               rlo__draft_alignment(element),
                               element)
             : status;
}
