/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert.h"
#include "convert_verify.h"
#include "json.h"
#include "message.h"
#include "progress.h"
#include "session.h"
#include "subprocess.h"

/* How long to wait between two looks at a job. */
#define LOOK_MILLISECONDS 100

/*
 * Where the job runs. With devices, in the child process that uses the driver:
 * the pieces pass through the driver's memory there. The child draws the
 * progress too, since it has the job at hand; the parent only waits, and owns
 * what must not depend on the driver: the part, which it made before the fork,
 * and its name. If the driver dies, or a signal ends the command, the parent
 * unlinks the part, and the target is what it was. What remains of the job is
 * in a shared page. On the host there is no driver, and no child.
 */
typedef struct stream {
  const rlo__conversion *c;
  rlo__output_file output;
  /* Where the array begins in the output. */
  int64_t offset_bytes;
  /* In shared memory. */
  rlo__convert_result *result;
  rlo__session *sessions;
  int32_t num_sessions;
  rlo_storage *src;
  rlo_storage *dst;
  rlo_service *service;
  rlo_job *job;
} stream;

/* ---------------------------------------------------------------- estimate */

static rlo_service_options service_options(const rlo__conversion *c) {
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = c->request.memory_bytes;
  /* So that the job gets all of the memory. */
  options.max_running_jobs = 1;
  return options;
}

static rlo_job_options job_options(void) {
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.is_new_destination = true;
  return options;
}

rlo_status rlo__convert_estimate(const rlo__conversion *conversion,
                                 rlo_job_estimate *out_estimate) {
  const rlo__conversion *c = conversion;
  rlo_service_options of_service = service_options(c);
  rlo_job_options of_job = job_options();
  rlo_storage_traits src = RLO_STORAGE_TRAITS_INIT;
  src.bytes = c->source.bytes;
  src.granule_bytes = (int64_t)c->source.swapped_width_bytes;
  rlo_storage_traits dst = RLO_STORAGE_TRAITS_INIT;
  dst.bytes = c->problem.dst_bytes;
  *out_estimate = (rlo_job_estimate)RLO_JOB_ESTIMATE_INIT;
  return rlo_job_estimate_make(
      &c->problem, &src, &dst, &of_service, &of_job, out_estimate);
}

/* ----------------------------------------------------------------- devices */

static int count_devices(int32_t *out_count) {
  if (rlo_device_list(NULL, 0, out_count) != RLO_OK) {
    return rlo__fail_last();
  }
  return *out_count == 0 ? rlo__fail("there is no OpenCL device")
                         : RLO__EXIT_OK;
}

static void add_name(rlo__convert_result *result, const char *name) {
  size_t length = strlen(result->device_names);
  snprintf(result->device_names + length,
           sizeof(result->device_names) - length,
           "%s%s",
           length == 0 ? "" : ", ",
           name);
}

static int open_devices(stream *s) {
  const rlo__device_choice *choice = &s->c->request.devices;
  if (choice->is_none) {
    return RLO__EXIT_OK;
  }
  int32_t count = choice->count == 0 ? 1 : choice->count;
  int code = choice->is_all ? count_devices(&count) : RLO__EXIT_OK;
  if (code != RLO__EXIT_OK) {
    return code;
  }
  s->sessions = calloc((size_t)count, sizeof(*s->sessions));
  if (s->sessions == NULL) {
    return rlo__fail("cannot get memory for %d devices", count);
  }
  for (int32_t n = 0; code == RLO__EXIT_OK && n < count; ++n) {
    int32_t number = choice->is_all       ? n
                     : choice->count == 0 ? -1
                                          : choice->numbers[n];
    ++s->num_sessions;
    code = rlo__session_init(number, &s->sessions[n]);
    if (code == RLO__EXIT_OK) {
      add_name(s->result, s->sessions[n].device_name);
    }
  }
  return code;
}

static void close_devices(stream *s) {
  for (int32_t n = 0; n < s->num_sessions; ++n) {
    rlo__session_deinit(&s->sessions[n]);
  }
  free(s->sessions);
  s->sessions = NULL;
  s->num_sessions = 0;
}

/* --------------------------------------------------------------------- job */

static int create_service(stream *s) {
  const rlo_service_options options = service_options(s->c);
  rlo_context **contexts =
      calloc((size_t)s->num_sessions + 1, sizeof(*contexts));
  if (contexts == NULL) {
    return rlo__fail("cannot get memory for %d devices", s->num_sessions);
  }
  for (int32_t n = 0; n < s->num_sessions; ++n) {
    contexts[n] = s->sessions[n].context;
  }
  rlo_status status =
      rlo_service_create(contexts, s->num_sessions, &options, &s->service);
  free((void *)contexts);
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

static int create_storages(stream *s) {
  int code = rlo__array_source_storage(&s->c->source, &s->src);
  if (code == RLO__EXIT_OK && rlo_storage_from_fd(s->output.file.fd,
                                                  s->offset_bytes,
                                                  s->c->problem.dst_bytes,
                                                  NULL,
                                                  &s->dst) != RLO_OK) {
    code = rlo__fail_last();
  }
  return code;
}

static int submit(stream *s) {
  const rlo_job_options options = job_options();
  s->result->status = rlo_service_submit(
      s->service, &s->c->problem, s->src, s->dst, &options, &s->job);
  return s->result->status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

static void print_event(const rlo_job_info *info) {
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "event", "progress");
  rlo__json_int(&json, "pass", info->pass);
  rlo__json_int(&json, "num_passes", info->num_passes);
  rlo__json_int(&json, "bytes_done", info->bytes_done);
  rlo__json_int(&json, "bytes_total", info->bytes_total);
  rlo__json_double(&json, "seconds", info->seconds);
  if (info->seconds_left >= 0) {
    rlo__json_double(&json, "seconds_left", info->seconds_left);
  } else {
    rlo__json_string(&json, "seconds_left", NULL);
  }
  rlo__json_string(&json, "waits_for", rlo__progress_bottleneck(info));
  rlo__json_end_object(&json);
  fflush(stdout);
}

/* Shows how far the job is until it has ended. */
static int watch(stream *s) {
  const rlo__convert_request *request = &s->c->request;
  rlo_job_info *info = &s->result->info;
  rlo__progress progress;
  rlo__progress_begin(
      &progress,
      rlo__progress_kind_choose(request->is_progress_wanted, request->is_quiet),
      request->output_path);
  double next_event_seconds = 1.0;
  bool has_ended = false;
  rlo_status status = RLO_OK;
  while (status == RLO_OK && !has_ended) {
    status = rlo_job_wait(s->job, LOOK_MILLISECONDS, &has_ended);
    if (status == RLO_OK) {
      status = rlo_job_get_info(s->job, info);
    }
    if (status == RLO_OK && !has_ended) {
      rlo__progress_show(&progress, info);
    }
    if (status == RLO_OK && request->common.is_json && !has_ended &&
        info->seconds >= next_event_seconds) {
      print_event(info);
      next_event_seconds += 1.0;
    }
  }
  rlo__progress_end(&progress, info);
  if (status == RLO_OK) {
    status = rlo_job_result(s->job);
  }
  s->result->status = status;
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

static int run_job(void *payload) {
  stream *s = payload;
  int (*const steps[])(stream *) = {
      open_devices, create_service, create_storages, submit, watch};
  int code = RLO__EXIT_OK;
  for (size_t n = 0;
       code == RLO__EXIT_OK && n < sizeof(steps) / sizeof(steps[0]);
       ++n) {
    code = steps[n](s);
  }
  rlo_job_release(s->job);
  rlo_service_release(s->service);
  rlo_storage_release(s->dst);
  rlo_storage_release(s->src);
  close_devices(s);
  return code;
}

/* ------------------------------------------------------------------ output */

static int begin_output(stream *s, const char *note) {
  const rlo__convert_request *request = &s->c->request;
  char head[RLO__MAX_HEADER_BYTES];
  size_t head_bytes = 0;
  int code = rlo__array_make_header(
      request->output_path, &s->c->dst_shape, head, &head_bytes);
  if (code == RLO__EXIT_OK) {
    code = rlo__output_file_begin(
        request->output_path, head, head_bytes, note, &s->output);
  }
  s->offset_bytes = (int64_t)head_bytes;
  return code;
}

/* Makes the part, and renames it to the output. */
static int run_into_part(stream *s) {
  const rlo__convert_request *request = &s->c->request;
  int code = request->devices.is_none
                 ? run_job(s)
                 : rlo__subprocess_run(request->common.is_isolated, run_job, s);
  if (code == RLO__EXIT_OK) {
    code = rlo__input_file_check_unchanged(&s->c->source.file);
  }
  if (code == RLO__EXIT_OK && request->is_verified) {
    code = rlo__convert_verify(s->c, s->output.file.fd, s->offset_bytes);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__output_file_commit(&s->output);
  }
  return code;
}

int rlo__convert_in_pieces(const rlo__conversion *conversion,
                           rlo__convert_result *out_result) {
  *out_result = (rlo__convert_result){
      .is_job = true, .info = RLO_JOB_INFO_INIT, .status = RLO_OK};
  stream s = {.c = conversion, .result = rlo__shared_create(sizeof(*s.result))};
  if (s.result == NULL) {
    return RLO__EXIT_FAILURE;
  }
  *s.result = *out_result;
  /* On a terminal the line that is being drawn ends first. */
  char note[PATH_MAX + 64];
  snprintf(note,
           sizeof(note),
           "%srelayout: stopped; nothing was written to %s\n",
           isatty(STDERR_FILENO) ? "\n" : "",
           conversion->request.output_path);
  int code = begin_output(&s, note);
  if (code == RLO__EXIT_OK) {
    code = run_into_part(&s);
    rlo__output_file_abandon(&s.output);
  }
  s.result->seconds = s.result->info.seconds;
  *out_result = *s.result;
  rlo__shared_release(s.result, sizeof(*s.result));
  return code;
}
