/* SPDX-License-Identifier: Apache-2.0 */
#include "op_report.h"

#include <stdio.h>

#include "display.h"
#include "files.h"
#include "report.h"

void rlo__op_report(const void *payload,
                    rlo__report *r,
                    const rlo__stream_result *result) {
  const rlo__op *op = payload;
  const bool is_on_host = op->request->stream.devices.is_none;
  RLO__REPORT(r, RLO__STRING("operation", NULL, op->kernel.kernel_name));
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
  if (result != NULL && op->is_in_pieces) {
    RLO__REPORT(
        r,
        RLO__STRING("device", NULL, is_on_host ? NULL : result->device_names),
        RLO__REAL("seconds", result->info.seconds));
  }
}

void rlo__op_print_results(const rlo__op *op) {
  rlo__report r;
  rlo__report_begin(&r, op->request->common.is_json, 0);
  rlo__op_report(op, &r, NULL);
  rlo__report_end(&r);
}
