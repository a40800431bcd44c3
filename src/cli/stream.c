/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "message.h"
#include "progress.h"
#include "session.h"
#include "stream_plan.h"
#include "stream_report.h"
#include "stream_resume.h"
#include "stream_verify.h"
#include "subprocess.h"

/* How long to wait between two looks at a job. */
#define LOOK_MILLISECONDS 100

/* Where an output is while it is made. */
typedef struct place {
  rlo__output_file part;
  /* Where the array begins in the part. */
  int64_t offset_bytes;
  /* The bytes that a job of two passes uses behind the array. */
  int64_t scratch_bytes;
  /* Shared memory for the array, if the output is no regular file; else
   * NULL. */
  void *memory;
} place;

/*
 * Where the jobs run. With devices, in the child process that uses the driver:
 * the pieces pass through the driver's memory there. The child draws the
 * progress too, since it has the jobs at hand; the parent only waits, and owns
 * what must not depend on the driver: the parts, which it made before the fork,
 * and their names. If the driver dies, or a signal ends the command, the parent
 * unlinks the parts, but for those with a journal, and the targets are what
 * they were. What remains of the jobs is in a shared page. On the host there is
 * no driver, and no child.
 */
typedef struct run {
  const rlo__stream *stream;
  /* One for each output. */
  place *places;
  /* In shared memory. */
  rlo__stream_result *result;
  rlo__session *sessions;
  int32_t num_sessions;
  /* Those of the sources, then of the outputs. */
  rlo_storage **storages;
  rlo_service *service;
  rlo_job **jobs;
  rlo__progress progress;
  double next_event_seconds;
  /* Nothing of what was done is of use. */
  bool is_spoilt;
  rlo__stream_words words;
} run;

/* ----------------------------------------------------------------- devices */

static int count_devices(int32_t *out_count) {
  if (rlo_device_list(NULL, 0, 0, out_count) != RLO_OK) {
    return rlo__fail_last();
  }
  return *out_count == 0 ? rlo__fail("there is no OpenCL device")
                         : RLO__EXIT_OK;
}

static void add_name(rlo__stream_result *result, const char *name) {
  size_t length = strlen(result->device_names);
  snprintf(result->device_names + length,
           sizeof(result->device_names) - length,
           "%s%s",
           length == 0 ? "" : ", ",
           name);
}

static int open_devices(run *r) {
  const rlo__device_choice *choice = &r->stream->options->devices;
  if (choice->is_none) {
    return RLO__EXIT_OK;
  }
  int32_t count = choice->count == 0 ? 1 : choice->count;
  int code = choice->is_all ? count_devices(&count) : RLO__EXIT_OK;
  if (code != RLO__EXIT_OK) {
    return code;
  }
  r->sessions = calloc((size_t)count, sizeof(*r->sessions));
  if (r->sessions == NULL) {
    return rlo__fail("cannot get memory for %d devices", count);
  }
  for (int32_t n = 0; code == RLO__EXIT_OK && n < count; ++n) {
    const rlo__device_ref numbered = {.index = n};
    ++r->num_sessions;
    code = rlo__session_init(choice->is_all ? &numbered
                             : n == 0       ? rlo__device_choice_first(choice)
                                            : &choice->devices[n],
                             &r->sessions[n]);
    if (code == RLO__EXIT_OK) {
      add_name(r->result, r->sessions[n].device_name);
    }
  }
  return code;
}

static int create_service(run *r) {
  const rlo_service_options options = rlo__stream_service_options(r->stream);
  rlo_context **contexts =
      calloc((size_t)r->num_sessions + 1, sizeof(*contexts));
  if (contexts == NULL) {
    return rlo__fail("cannot get memory for %d devices", r->num_sessions);
  }
  for (int32_t n = 0; n < r->num_sessions; ++n) {
    contexts[n] = r->sessions[n].context;
  }
  rlo_status status =
      rlo_service_create(contexts, r->num_sessions, &options, &r->service);
  free((void *)contexts);
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

/* Plans a whole problem, for its family, or for the reason why there is none.
 */
static rlo_status prepare_job(run *r, const rlo_problem *problem) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  rlo_plan *plan = NULL;
  options.family = r->stream->options->family;
  options.schedule = r->stream->options->schedule;
  options.is_aligned = true;
  rlo_status status =
      rlo_plan_create(r->sessions[0].context, problem, &options, &plan);
  if (status == RLO_OK && r->stream->is_whole) {
    /* Stores the program; the job's seconds are those of the move. */
    status = rlo_plan_prepare(plan);
  }
  if (status == RLO_OK) {
    status = rlo_plan_get_info(plan, &info);
  }
  snprintf(r->result->family, sizeof(r->result->family), "%s", info.family);
  rlo_plan_release(plan);
  return status;
}

/* Plans beforehand what is one kernel each. */
static int prepare_whole(run *r) {
  const rlo__stream *s = r->stream;
  const bool is_named =
      s->options->family != NULL || s->options->schedule != NULL;
  if (r->num_sessions == 0 || !(s->is_whole || is_named)) {
    return RLO__EXIT_OK;
  }
  rlo_status status = RLO_OK;
  for (int32_t n = 0; status == RLO_OK && n < s->num_jobs; ++n) {
    status = prepare_job(r, s->jobs[n].problem);
  }
  return status == RLO_OK ? RLO__EXIT_OK
         : is_named       ? rlo__fail_last()
                          : rlo__fail_on_device();
}

/* -------------------------------------------------------------------- jobs */

static int create_storages(run *r) {
  const rlo__stream *s = r->stream;
  int32_t count = s->num_sources + s->num_outputs;
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  hints.is_direct = s->options->is_direct;
  r->storages = calloc((size_t)count, sizeof(rlo_storage *));
  if (r->storages == NULL) {
    return rlo__fail("cannot get memory for %d files", count);
  }
  for (int32_t n = 0; n < s->num_sources; ++n) {
    int code =
        rlo__array_source_storage(&s->sources[n], &hints, &r->storages[n]);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  for (int32_t n = 0; n < s->num_jobs; ++n) {
    rlo_job_estimate estimate;
    if (rlo__stream_estimate_job(s, n, &estimate) != RLO_OK) {
      return rlo__stream_fail_submit(s);
    }
    const int32_t output = s->jobs[n].output;
    r->places[output].scratch_bytes =
        r->places[output].memory == NULL ? estimate.scratch_bytes : 0;
  }
  for (int32_t n = 0; n < s->num_outputs; ++n) {
    const int64_t bytes = s->outputs[n].bytes;
    rlo_storage **storage = &r->storages[s->num_sources + n];
    rlo_status status =
        r->places[n].memory != NULL
            ? rlo_storage_from_memory(r->places[n].memory, bytes, storage)
            : rlo_storage_from_fd(r->places[n].part.file.fd,
                                  r->places[n].offset_bytes,
                                  bytes + r->places[n].scratch_bytes,
                                  &hints,
                                  storage);
    if (status != RLO_OK) {
      return rlo__fail_last();
    }
  }
  return RLO__EXIT_OK;
}

/* All at once, so that the totals are known from the beginning. */
static int submit(run *r) {
  const rlo__stream *s = r->stream;
  r->jobs = calloc((size_t)s->num_jobs + 1, sizeof(rlo_job *));
  if (r->jobs == NULL) {
    return rlo__fail("cannot get memory for %d jobs", s->num_jobs);
  }
  /* Each may have a journal open. */
  rlo__files_allow(2 * (s->num_sources + s->num_outputs) + s->num_jobs);
  for (int32_t n = 0; n < s->num_jobs; ++n) {
    const rlo__stream_job *job = &s->jobs[n];
    rlo__journal_path journal;
    rlo__stream_name_journal(
        s, n, r->places[job->output].part.unfinished.journal_path, &journal);
    rlo_job_options options = rlo__stream_job_options(s, n, &journal);
    options.scratch_bytes = r->places[job->output].scratch_bytes;
    rlo_status status =
        rlo_service_submit(r->service,
                           job->problem,
                           r->storages[job->source],
                           r->storages[s->num_sources + job->output],
                           &options,
                           &r->jobs[n]);
    if (status != RLO_OK) {
      r->result->status = status;
      return rlo__stream_fail_submit(s);
    }
  }
  r->result->has_begun = true;
  return RLO__EXIT_OK;
}

/* The smaller one, of those that are not 0. */
static int64_t smaller(int64_t a, int64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

static void add_info(const rlo_job_info *one, rlo_job_info *all) {
  all->num_passes = (int32_t)rlo__max(all->num_passes, one->num_passes);
  all->pieces_done += one->pieces_done;
  all->num_pieces += one->num_pieces;
  all->bytes_done += one->bytes_done;
  all->bytes_total += one->bytes_total;
  all->bytes_read += one->bytes_read;
  all->bytes_written += one->bytes_written;
  all->bytes_resumed += one->bytes_resumed;
  all->host_bytes_peak = rlo__max(all->host_bytes_peak, one->host_bytes_peak);
  all->device_bytes_peak =
      rlo__max(all->device_bytes_peak, one->device_bytes_peak);
  all->smallest_read = smaller(all->smallest_read, one->smallest_read);
  all->smallest_write = smaller(all->smallest_write, one->smallest_write);
  all->seconds += one->seconds;
  for (int stage = 0; stage < RLO_STAGE_COUNT; ++stage) {
    all->stage_seconds[stage] += one->stage_seconds[stage];
  }
}

/* Gets the state of job `current`, with the totals of all. */
static rlo_status get_info(const run *r, int32_t current, rlo_job_info *out) {
  rlo_job_info all = RLO_JOB_INFO_INIT;
  for (int32_t n = 0; n < r->stream->num_jobs; ++n) {
    rlo_job_info one = RLO_JOB_INFO_INIT;
    rlo_status status = rlo_job_get_info(r->jobs[n], &one);
    if (status != RLO_OK) {
      return status;
    }
    add_info(&one, &all);
    if (n == current) {
      all.state = one.state;
      all.status = one.status;
      all.pass = one.pass;
      all.seconds_left = one.seconds_left;
    }
  }
  if (r->stream->num_jobs > 1) {
    int64_t bytes_now = all.bytes_done - all.bytes_resumed;
    all.seconds_left = bytes_now == 0
                           ? -1
                           : all.seconds *
                                 (double)(all.bytes_total - all.bytes_done) /
                                 (double)bytes_now;
  }
  *out = all;
  return RLO_OK;
}

static void show(run *r, const rlo_job_info *info) {
  rlo__progress_show(&r->progress, info);
  if (r->stream->has_events && r->stream->common->is_json &&
      info->seconds >= r->next_event_seconds) {
    rlo__stream_progress_print(info);
    r->next_event_seconds += 1.0;
  }
}

/* Shows how far the jobs are until job `n` has ended. */
static rlo_status watch_job(run *r, int32_t n) {
  rlo_job_info *info = &r->result->info;
  r->progress.name = r->stream->outputs[r->stream->jobs[n].output].path;
  bool has_ended = false;
  rlo_status status = RLO_OK;
  while (status == RLO_OK && !has_ended) {
    status = rlo_job_wait(r->jobs[n], LOOK_MILLISECONDS, &has_ended);
    if (status == RLO_OK) {
      status = get_info(r, n, info);
    }
    if (status == RLO_OK && !has_ended) {
      show(r, info);
    }
  }
  return status == RLO_OK ? rlo_job_result(r->jobs[n]) : status;
}

static int watch(run *r) {
  const rlo__stream_options *options = r->stream->options;
  rlo__progress_begin(
      &r->progress,
      rlo__progress_kind_choose(options->is_progress_wanted, options->is_quiet),
      r->stream->outputs[0].path);
  r->next_event_seconds = 1.0;
  /* A signal may come before the first look. */
  rlo_status status = get_info(r, 0, &r->result->info);
  for (int32_t n = 0; status == RLO_OK && n < r->stream->num_jobs; ++n) {
    status = watch_job(r, n);
  }
  rlo__progress_end(&r->progress, &r->result->info);
  r->result->status = status;
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

/* Cuts off what two passes have left behind the arrays. */
static int cut_off_scratch(run *r) {
  const rlo__stream *s = r->stream;
  int code = RLO__EXIT_OK;
  for (int32_t n = 0; code == RLO__EXIT_OK && n < s->num_outputs; ++n) {
    if (r->places[n].scratch_bytes > 0) {
      code = rlo__output_file_resize(
          &r->places[n].part, r->places[n].offset_bytes + s->outputs[n].bytes);
    }
  }
  return code;
}

static void release(run *r) {
  const rlo__stream *s = r->stream;
  for (int32_t n = 0; r->jobs != NULL && n < s->num_jobs; ++n) {
    rlo_job_release(r->jobs[n]);
  }
  free((void *)r->jobs);
  rlo_service_release(r->service);
  for (int32_t n = 0;
       r->storages != NULL && n < s->num_sources + s->num_outputs;
       ++n) {
    rlo_storage_release(r->storages[n]);
  }
  free((void *)r->storages);
  for (int32_t n = 0; n < r->num_sessions; ++n) {
    rlo__session_deinit(&r->sessions[n]);
  }
  free(r->sessions);
}

static int run_jobs(void *payload) {
  run *r = payload;
  int (*const steps[])(run *) = {open_devices,
                                 prepare_whole,
                                 create_service,
                                 create_storages,
                                 submit,
                                 watch,
                                 cut_off_scratch};
  int code = RLO__EXIT_OK;
  for (size_t n = 0;
       code == RLO__EXIT_OK && n < sizeof(steps) / sizeof(steps[0]);
       ++n) {
    code = steps[n](r);
  }
  release(r);
  return code;
}

/* ----------------------------------------------------------------- outputs */

/* Memory for what is no regular file. */
static int begin_memory(run *r, int32_t n) {
  const int64_t bytes = r->stream->outputs[n].bytes;
  int64_t held_bytes = 0;
  for (int32_t k = 0; k < n; ++k) {
    held_bytes += r->places[k].memory != NULL ? r->stream->outputs[k].bytes : 0;
  }
  int code = rlo__memory_check(held_bytes, bytes);
  if (code == RLO__EXIT_OK) {
    r->places[n].memory = rlo__shared_create((size_t)bytes);
  }
  return r->places[n].memory == NULL ? RLO__EXIT_FAILURE : RLO__EXIT_OK;
}

/* Opens the part of an output and writes the header. */
static int begin_output(run *r, int32_t n) {
  const rlo__stream_output *output = &r->stream->outputs[n];
  char head[RLO__MAX_HEADER_BYTES];
  if (rlo__path_is_special(output->path)) {
    return begin_memory(r, n);
  }
  rlo__output_start start = {
      .head = head,
      .has_journal = rlo__stream_has_journal(r->stream, n),
      .is_resumed = r->stream->options->is_resumed,
      .tell = n == 0 ? rlo__stream_words_stop : NULL,
      .payload = &r->words,
  };
  int code = rlo__array_make_header(
      output->path, output->shape, head, &start.head_bytes);
  if (code == RLO__EXIT_OK) {
    code = rlo__output_file_begin(output->path, &start, &r->places[n].part);
  }
  if (code != RLO__EXIT_OK) {
    return code;
  }
  r->places[n].offset_bytes = (int64_t)start.head_bytes;
  /* A job gives its destination the size. */
  if (rlo__stream_count_jobs(r->stream, n) == 0) {
    code = rlo__output_file_resize(&r->places[n].part,
                                   r->places[n].offset_bytes + output->bytes);
  }
  if (code != RLO__EXIT_OK) {
    rlo__output_file_abandon(&r->places[n].part);
  }
  return code;
}

/* Writes what is no regular file, and gives the parts their names. */
static int commit_outputs(run *r) {
  const rlo__stream *s = r->stream;
  int code = RLO__EXIT_OK;
  for (int32_t n = 0; code == RLO__EXIT_OK && n < s->num_outputs; ++n) {
    const rlo__array_target target = {
        s->outputs[n].path, s->outputs[n].shape, r->places[n].memory};
    code = target.data != NULL ? rlo__arrays_save(&target, 1)
                               : rlo__output_file_finish(&r->places[n].part);
  }
  for (int32_t n = 0; code == RLO__EXIT_OK && n < s->num_outputs; ++n) {
    if (r->places[n].memory == NULL) {
      code = rlo__output_file_commit(&r->places[n].part);
    }
  }
  return code;
}

static int finish_outputs(run *r) {
  const rlo__stream *s = r->stream;
  int code = RLO__EXIT_OK;
  for (int32_t n = 0; code == RLO__EXIT_OK && n < s->num_sources; ++n) {
    code = rlo__input_file_check_unchanged(&s->sources[n].file);
  }
  for (int32_t n = 0;
       code == RLO__EXIT_OK && s->is_verified && n < s->num_outputs;
       ++n) {
    code = rlo__stream_verify(s,
                              n,
                              r->places[n].part.file.fd,
                              r->places[n].offset_bytes,
                              r->places[n].memory);
  }
  r->is_spoilt = code != RLO__EXIT_OK;
  return r->is_spoilt ? code : commit_outputs(r);
}

/* Removes the parts that are no outputs, unless they can be resumed. */
static void end_outputs(run *r, int32_t num_begun) {
  /* A changed input spoils it too, unless the jobs were refused for that. */
  r->is_spoilt |= r->result->has_begun && r->result->status == RLO_DATA_LOSS;
  bool stays = false;
  for (int32_t n = 0; n < num_begun; ++n) {
    if (r->places[n].memory != NULL) {
      rlo__shared_release(r->places[n].memory,
                          (size_t)r->stream->outputs[n].bytes);
    } else if (!r->is_spoilt && rlo__output_file_leave(&r->places[n].part)) {
      stays = true;
    } else {
      rlo__output_file_abandon(&r->places[n].part);
    }
  }
  if (stays && r->result->has_begun) {
    rlo__stream_words_fail(&r->words);
  }
}

/* Makes the parts, and renames them to the outputs. */
static int run_into_parts(run *r) {
  const rlo__stream *s = r->stream;
  int code = RLO__EXIT_OK;
  int32_t num_begun = 0;
  while (code == RLO__EXIT_OK && num_begun < s->num_outputs) {
    code = begin_output(r, num_begun);
    num_begun += code == RLO__EXIT_OK;
  }
  if (code == RLO__EXIT_OK) {
    code = s->options->devices.is_none
               ? run_jobs(r)
               : rlo__subprocess_run(s->common->is_isolated, run_jobs, r);
  }
  if (code == RLO__EXIT_OK) {
    code = finish_outputs(r);
  }
  end_outputs(r, num_begun);
  return code;
}

int rlo__stream_run_share(const rlo__stream *stream,
                          int fd,
                          int64_t offset_bytes,
                          rlo__stream_result *out_result) {
  place share = {.part.file.fd = fd, .offset_bytes = offset_bytes};
  *out_result =
      (rlo__stream_result){.info = RLO_JOB_INFO_INIT, .status = RLO_OK};
  run r = {.stream = stream, .places = &share, .result = out_result};
  return run_jobs(&r);
}

static int run_stream(const rlo__stream *stream,
                      rlo__stream_result *out_result) {
  *out_result =
      (rlo__stream_result){.info = RLO_JOB_INFO_INIT, .status = RLO_OK};
  run r = {.stream = stream};
  r.result = rlo__shared_create(sizeof(*r.result));
  if (r.result == NULL) {
    return RLO__EXIT_FAILURE;
  }
  *r.result = *out_result;
  rlo__stream_words_make(stream, &r.result->info, &r.words);
  r.places = rlo__alloc_array((size_t)stream->num_outputs, sizeof(*r.places));
  int code = r.places == NULL ? rlo__fail_last() : run_into_parts(&r);
  rlo__free(r.places);
  *out_result = *r.result;
  rlo__shared_release(r.result, sizeof(*r.result));
  return code;
}

int rlo__stream_do(const rlo__stream *stream, bool *out_is_done) {
  rlo_job_estimate estimate;
  rlo__stream_result result;
  int code = rlo__stream_plan(stream, &estimate, out_is_done);
  if (code != RLO__EXIT_OK || (out_is_done != NULL && !*out_is_done)) {
    return code;
  }
  rlo__stream_print_plan(stream, &estimate);
  if (stream->options->is_dry_run) {
    return RLO__EXIT_OK;
  }
  code = run_stream(stream, &result);
  rlo__stream_print_end(stream, &result, code == RLO__EXIT_OK);
  return code;
}
