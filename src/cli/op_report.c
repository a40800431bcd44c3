/* SPDX-License-Identifier: Apache-2.0 */
#include "op_report.h"

#include <stdio.h>

#include "display.h"
#include "json.h"
#include "stream_report.h"

static void print_shapes(const rlo__op *op) {
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo__shape_text text;
    puts(rlo__shape_text_make(op->outputs[n].shape, &text));
  }
}

/* Begins the object of an event, or of results without one. */
static void begin_json(const rlo__op *op,
                       const char *event,
                       const char *status,
                       rlo__json *json) {
  rlo__json_begin_object(json, NULL);
  if (event != NULL) {
    rlo__json_string(json, "event", event);
  }
  if (status != NULL) {
    rlo__json_string(json, "status", status);
  }
  rlo__json_string(json, "operation", op->kernel.kernel_name);
  rlo__json_begin_array(json, "results");
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo__shape_text text;
    rlo__json_begin_object(json, NULL);
    rlo__json_string(
        json, "shape", rlo__shape_text_make(op->outputs[n].shape, &text));
    rlo__json_string(json, "file", op->outputs[n].path);
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
}

void rlo__op_print_estimate(const rlo__op *op,
                            const rlo_job_estimate *estimate) {
  if (op->request->common.is_json) {
    rlo__json json = {0};
    begin_json(op, "plan", NULL, &json);
    rlo__stream_estimate_keys(&json, estimate);
    rlo__json_end_object(&json);
    fflush(stdout);
  } else if (op->request->stream.is_dry_run) {
    print_shapes(op);
    rlo__stream_estimate_print(estimate);
  }
}

void rlo__op_print_results(const rlo__op *op) {
  if (!op->request->common.is_json) {
    print_shapes(op);
    return;
  }
  rlo__json json = {0};
  begin_json(op, NULL, NULL, &json);
  rlo__json_end_object(&json);
}

void rlo__op_print_job(const rlo__op *op, const rlo__stream_result *result) {
  if (!op->request->common.is_json) {
    print_shapes(op);
    return;
  }
  const bool is_on_host = op->request->stream.devices.is_none;
  rlo__json json = {0};
  begin_json(op, "end", rlo_status_name(RLO_OK), &json);
  rlo__json_string(&json, "device", is_on_host ? NULL : result->device_names);
  rlo__json_double(&json, "seconds", result->info.seconds);
  rlo__stream_info_keys(&json, &result->info);
  rlo__json_end_object(&json);
}

void rlo__op_print_failure(const rlo__op *op, rlo_status status) {
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "event", "end");
  rlo__json_string(
      &json, "status", status == RLO_OK ? NULL : rlo_status_name(status));
  rlo__json_string(&json, "operation", op->kernel.kernel_name);
  rlo__json_end_object(&json);
}
