/* SPDX-License-Identifier: Apache-2.0 */
#include "op_profile.h"

#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "files.h"
#include "message.h"

/* Processes of the trace: what ran on the host, and on the device. */
typedef enum trace_process { TRACE_HOST = 1, TRACE_DEVICE = 2 } trace_process;

int rlo__trace_options_check(const char *path,
                             const rlo__stream_options *stream) {
  return path != NULL &&
                 (rlo__stream_is_asked_for(stream) || stream->is_resumed)
             ? rlo__fail_usage("op",
                               "--trace measures kernels on whole arrays: it "
                               "excludes --memory, --io direct, --passes, "
                               "--dry-run and --resume, which are for pieces")
             : RLO__EXIT_OK;
}

int rlo__trace_path_check(const char *path,
                          const char *const *paths,
                          int32_t count) {
  for (int32_t n = 0; path != NULL && n < count; ++n) {
    if (strcmp(paths[n], path) == 0 || rlo__path_is_same_file(paths[n], path)) {
      return rlo__fail("%s is the file of an array; write the trace to another",
                       path);
    }
  }
  return RLO__EXIT_OK;
}

/* Takes over the event, which is NULL where there was no memory for it. */
static void append(rlo__trace *trace, json_t *event) {
  trace->is_cut |= json_array_append_new(trace->events, event) != 0;
}

void rlo__trace_init(rlo__trace *trace) {
  static const char *const names[] = {"host", "device"};
  trace->root =
      json_pack("{s:s, s:[]}", "displayTimeUnit", "ns", "traceEvents");
  trace->events = json_object_get(trace->root, "traceEvents");
  trace->is_cut = trace->root == NULL;
  for (int n = 0; n < 2; ++n) {
    append(trace,
           json_pack("{s:s, s:s, s:i, s:{s:s}}",
                     "name",
                     "process_name",
                     "ph",
                     "M",
                     "pid",
                     TRACE_HOST + n,
                     "args",
                     "name",
                     names[n]));
  }
}

void rlo__trace_deinit(rlo__trace *trace) {
  json_decref(trace->root);
}

static json_t *make_shapes(const rlo_shape *const *shapes, int32_t count) {
  json_t *texts = json_array();
  for (int32_t n = 0; n < count; ++n) {
    rlo__shape_text text;
    (void)json_array_append_new(
        texts, json_string(rlo__shape_text_make(shapes[n], &text)));
  }
  return texts;
}

static void append_run(rlo__trace *trace,
                       trace_process process,
                       const rlo_profile_entry *entry,
                       int64_t begin_ns,
                       int64_t ns) {
  append(trace,
         json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, "
                   "s:{s:s, s:o, s:o, s:I, s:I, s:i}}",
                   "name",
                   entry->name,
                   "cat",
                   "kernel",
                   "ph",
                   "X",
                   "ts",
                   (double)begin_ns * 1e-3,
                   "dur",
                   (double)ns * 1e-3,
                   "pid",
                   process,
                   "tid",
                   0,
                   "args",
                   "backend",
                   entry->backend_name,
                   "inputs",
                   make_shapes(entry->input_shapes, entry->num_inputs),
                   "results",
                   make_shapes(entry->output_shapes, entry->num_outputs),
                   "input_bytes",
                   (json_int_t)entry->input_bytes,
                   "output_bytes",
                   (json_int_t)entry->output_bytes,
                   "num_commands",
                   entry->num_events));
}

void rlo__trace_add(const rlo_profile_entry *entry, void *payload) {
  rlo__trace *trace = payload;
  int64_t begin_ns = 0;
  int64_t ns = 0;
  trace->is_cut |= entry->is_cut;
  append_run(trace, TRACE_HOST, entry, entry->begin_ns, entry->host_ns);
  if (rlo_profile_device_time(entry, &begin_ns, &ns) == RLO_OK) {
    append_run(trace, TRACE_DEVICE, entry, begin_ns, ns);
  }
}

int rlo__trace_save(const rlo__trace *trace, const char *path) {
  char *text = trace->is_cut ? NULL : json_dumps(trace->root, JSON_COMPACT);
  if (text == NULL) {
    return rlo__fail("cannot get memory for the trace");
  }
  const rlo__output output = {
      .path = path, .data = text, .data_bytes = strlen(text)};
  int code = rlo__outputs_write(&output, 1);
  free(text);
  return code;
}
