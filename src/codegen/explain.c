/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/explain.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "codegen/codegen.h"
#include "plan/planner.h"

/* A report with what its borrowed strings live in. */
typedef struct owned_report {
  rlo_plan_report report;
  rlo__program_spec spec;
} owned_report;

/* What planning needs at hand: too large for a small stack. */
typedef struct workspace {
  rlo__choice choice;
  rlo__launch launch;
} workspace;

static void tell_choice(const rlo__choice *choice, rlo_plan_report *report) {
  report->family = choice->family == NULL ? "none" : choice->family->name;
  report->schedule = choice->schedule->name;
  report->decision = choice->decision;
  report->measured_fraction = choice->measured_fraction;
  report->num_candidates = choice->num_candidates;
  memcpy(report->candidates,
         choice->candidates,
         (size_t)choice->num_candidates * sizeof choice->candidates[0]);
}

static void tell_launch(const rlo__launch *launch, rlo_plan_report *report) {
  memcpy(report->parameters, launch->parameters, sizeof report->parameters);
  report->work_dim = launch->work_dim;
  memcpy(report->global_size, launch->global_size, sizeof launch->global_size);
  memcpy(report->local_size, launch->local_size, sizeof launch->local_size);
}

static rlo_status explain(const rlo_device_info *device,
                          const rlo_plan_options *options,
                          int64_t src_alignment_bytes,
                          int64_t dst_alignment_bytes,
                          const rlo__wisdom *wisdom,
                          workspace *w,
                          owned_report *owned) {
  rlo_plan_report *report = &owned->report;
  RLO_TRY(rlo__planner_explain(&report->problem,
                               device,
                               options,
                               src_alignment_bytes,
                               dst_alignment_bytes,
                               wisdom,
                               &w->choice,
                               &w->launch));
  report->src_alignment_bytes = w->choice.src_alignment_bytes;
  report->dst_alignment_bytes = w->choice.dst_alignment_bytes;
  report->device_class = w->choice.device_class;
  tell_choice(&w->choice, report);
  report->kernel_name = report->source = report->build_options = "";
  if (w->choice.family == NULL) {
    return RLO_OK;
  }
  tell_launch(&w->launch, report);
  RLO_TRY(rlo__codegen_program(&w->launch, &owned->spec));
  report->kernel_name = owned->spec.kernel_name;
  report->source = owned->spec.source;
  report->build_options = owned->spec.options;
  return RLO_OK;
}

rlo_status rlo__plan_explain_with(const rlo_problem *problem,
                                  const rlo_device_info *device,
                                  const rlo_plan_options *options,
                                  int64_t src_alignment_bytes,
                                  int64_t dst_alignment_bytes,
                                  const rlo__wisdom *wisdom,
                                  rlo_plan_report **out_report) {
  *out_report = NULL;
  workspace *w = rlo__alloc(sizeof *w);
  owned_report *owned = rlo__alloc(sizeof *owned);
  if (w == NULL || owned == NULL) {
    rlo__free(w);
    rlo__free(owned);
    return RLO_OUT_OF_MEMORY;
  }
  owned->report.problem = *problem;
  rlo_status status = explain(device,
                              options,
                              src_alignment_bytes,
                              dst_alignment_bytes,
                              wisdom,
                              w,
                              owned);
  rlo__free(w);
  if (status != RLO_OK) {
    rlo_plan_report_release(&owned->report);
    return status;
  }
  *out_report = &owned->report;
  return RLO_OK;
}

rlo_status rlo_plan_explain(const rlo_problem *problem,
                            const rlo_device_info *device,
                            const rlo_plan_options *options,
                            int64_t src_alignment_bytes,
                            int64_t dst_alignment_bytes,
                            rlo_plan_report **out_report) {
  return rlo__plan_explain_with(problem,
                                device,
                                options,
                                src_alignment_bytes,
                                dst_alignment_bytes,
                                NULL,
                                out_report);
}

void rlo_plan_report_release(rlo_plan_report *report) {
  if (report == NULL) {
    return;
  }
  /* The report is the first member, so this is the whole. */
  owned_report *owned = (owned_report *)(void *)report;
  rlo__codegen_deinit(&owned->spec);
  rlo__free(owned);
}
