/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "files.h"
#include "message.h"
#include "op.h"

void rlo__op_report(const void *payload,
                    rlo__report *r,
                    const rlo__stream_result *result) {
  const rlo__op *op = payload;
  const bool is_on_host = op->stream_options.devices.is_none;
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

/* -------------------------------------------------------------------- trace */

static json_t *make_shapes(const rlo_shape *const *shapes, int32_t count) {
  json_t *texts = json_array();
  for (int32_t n = 0; n < count; ++n) {
    rlo__shape_text text;
    (void)json_array_append_new(
        texts, json_string(rlo__shape_text_make(shapes[n], &text)));
  }
  return texts;
}

/* An event of the Trace Event Format of Chrome; takes over `args`. */
static json_t *make_event(const char *name,
                          int row,
                          double seconds,
                          json_t *args) {
  return json_pack("{s:s, s:s, s:f, s:f, s:i, s:i, s:o}",
                   "name",
                   name,
                   "ph",
                   "X",
                   "ts",
                   0.0,
                   "dur",
                   seconds * 1e6,
                   "pid",
                   1,
                   "tid",
                   row,
                   "args",
                   args);
}

static json_t *make_trace(const rlo__op *op, const rlo__stream_result *result) {
  const rlo_job_info *info = &result->info;
  const rlo_shape *results[RLO_MAX_KERNEL_OUTPUTS];
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    results[n] = op->outputs[n].shape;
  }
  json_t *args = json_pack(
      "{s:o, s:o, s:s, s:I, s:I, s:I}",
      "inputs",
      make_shapes(op->input_shapes, op->num_inputs),
      "results",
      make_shapes(results, op->num_outputs),
      "device",
      op->stream_options.devices.is_none ? "host" : result->device_names,
      "bytes_read",
      (json_int_t)info->bytes_read,
      "bytes_written",
      (json_int_t)info->bytes_written,
      "num_pieces",
      (json_int_t)info->num_pieces);
  return json_pack(
      "{s:s, s:[o, o, o, o]}",
      "displayTimeUnit",
      "ns",
      "traceEvents",
      make_event(op->kernel.kernel_name, 0, info->seconds, args),
      make_event("read", 1, info->stage_seconds[RLO_STAGE_READ], json_object()),
      make_event("run", 2, info->stage_seconds[RLO_STAGE_RUN], json_object()),
      make_event(
          "write", 3, info->stage_seconds[RLO_STAGE_WRITE], json_object()));
}

int rlo__op_save_trace(const rlo__op *op, const rlo__stream_result *result) {
  json_t *trace = make_trace(op, result);
  char *text = json_dumps(trace, JSON_COMPACT);
  const int code =
      text == NULL ? rlo__fail("cannot get memory for the trace")
                   : rlo__output_write(
                         op->request->trace_path, NULL, 0, text, strlen(text));
  free(text);
  json_decref(trace);
  return code;
}
