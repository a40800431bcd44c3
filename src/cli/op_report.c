/* SPDX-License-Identifier: Apache-2.0 */
#include "op_report.h"

#include <stdio.h>

#include "display.h"
#include "files.h"
#include "report.h"
#include "stream_report.h"

/* Begins the object of an event, or of results without one. */
static void begin_report(const rlo__op *op,
                         const char *event,
                         const char *status,
                         rlo__report *r) {
  rlo__report_begin(r, op->request->common.is_json, 7);
  RLO__REPORT(r,
              RLO__STRING(event == NULL ? NULL : "event", NULL, event),
              RLO__STRING(status == NULL ? NULL : "status", NULL, status),
              RLO__STRING("operation", NULL, op->kernel.kernel_name));
  rlo__report_open(r, "results", '[');
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo__shape_text text;
    rlo__shape_text_make(op->outputs[n].shape, &text);
    RLO__REPORT_OBJECT(r,
                       NULL,
                       RLO__STRING("shape", "", text.text),
                       RLO__STRING("file", NULL, op->outputs[n].path));
  }
  rlo__report_close(r);
}

void rlo__op_print_estimate(const rlo__op *op,
                            const rlo_job_estimate *estimate) {
  if (op->request->common.is_json || op->request->stream.is_dry_run) {
    rlo__report r;
    begin_report(op, "plan", NULL, &r);
    rlo__stream_estimate_report(&r, estimate);
    rlo__report_end(&r);
    fflush(stdout);
  }
}

/* Whether a result may go to standard output: what is no regular file. */
static bool is_stdout_taken(const rlo__op *op) {
  bool is_taken = false;
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    is_taken |= rlo__path_is_special(op->outputs[n].path);
  }
  return is_taken;
}

void rlo__op_print_results(const rlo__op *op) {
  rlo__report r;
  begin_report(op, NULL, NULL, &r);
  if (op->request->profile.is_printed) {
    rlo__op_profile_report(&op->profile, &r, is_stdout_taken(op));
  }
  rlo__report_end(&r);
}

void rlo__op_print_job(const rlo__op *op, const rlo__stream_result *result) {
  const bool is_on_host = op->request->stream.devices.is_none;
  rlo__report r;
  begin_report(op, "end", rlo_status_name(RLO_OK), &r);
  RLO__REPORT(
      &r,
      RLO__STRING("device", NULL, is_on_host ? NULL : result->device_names),
      RLO__REAL("seconds", result->info.seconds));
  rlo__stream_info_report(&r, &result->info);
  rlo__report_end(&r);
}

void rlo__op_print_failure(const rlo__op *op, rlo_status status) {
  rlo__report r;
  rlo__report_begin(&r, true, 0);
  RLO__REPORT(
      &r,
      RLO__STRING("event", NULL, "end"),
      RLO__STRING(
          "status", NULL, status == RLO_OK ? NULL : rlo_status_name(status)),
      RLO__STRING("operation", NULL, op->kernel.kernel_name));
  rlo__report_end(&r);
}
