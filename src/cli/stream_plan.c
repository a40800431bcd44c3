/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "relayout/opencl.h"

#include "base/available.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "base/threshold.h"
#include "message.h"
#include "stream_inside.h"
#include "subprocess.h"

/* Runs of less cost the system more than their bytes; and more than to make them in memory,
 * a part of an output after the other. */
#define SHORT_RUN_BYTES      128.0
#define SHORT_BAND_RUN_BYTES 4096.0

/* A driver has memory of its own, 100 to 500 MiB: nobody knows how much. It is not
 * used within less, nor within a budget, unless it is asked for. */
#define DRIVER_ROOM_BYTES (INT64_C(1) << 30)

/* A job that reads a pipe as it comes, although there is memory for it, reaches this fraction of
 * the speed of a copy. */
#define FLOW_FRACTION 0.5

/* Outputs that are made in memory may have this share of what is available. */
#define MEMORY_SHARE 0.5

/* ------------------------------------------------------------------ options */

int rlo__stream_option_take_device(const char *verb, const char *value, void *options) {
  rlo__stream_options *taken = options;
  taken->is_device = true;
  return rlo__device_choice_parse(verb, value, &taken->devices);
}

int rlo__stream_count_devices(const rlo__device_choice *choice, int32_t *out_count) {
  *out_count = choice->count == 0 ? 1 : choice->count;
  if (choice->is_all) {
    RLO__EXIT_TRY(rlo__check(rlo_device_list(NULL, 0, 0, out_count)));
  }
  return *out_count == 0 ? rlo__fail("there is no OpenCL device") : RLO__EXIT_OK;
}

int rlo__stream_options_check(const char *verb, rlo__stream_options *options) {
  RLO__USAGE_IF(options->is_host && options->is_device, verb,
                "--host uses no device: it excludes --device");
  options->devices.is_none |= options->is_host;
  return RLO__EXIT_OK;
}

bool rlo__stream_is_asked_for(const rlo__stream_options *options) {
  return options->memory_bytes != 0 || options->passes != 0 || options->io == RLO__STREAM_IO_DIRECT;
}

/* Returns whether some array is moved in several pieces, mostly. */
static bool is_in_pieces(const rlo__stream *s) {
  bool is_large = rlo__stream_is_asked_for(s->options) || s->options->is_resumed;
  for (int32_t n = 0; n < s->num_sources; ++n) {
    is_large |= s->sources[n].bytes > rlo__thresholds.move_large_bytes;
  }
  for (int32_t n = 0; n < s->num_outputs; ++n) {
    is_large |= s->outputs[n].bytes > rlo__thresholds.move_large_bytes;
  }
  return is_large;
}

/* Returns chosen_by of the stream. */
static const char *choose_place(const rlo__stream *stream) {
  rlo__stream_options *options = stream->options;
  static const char *const words[] = {
      [RLO_PLACE_HOST_IS_SOONER] = "size",
      [RLO_PLACE_DEVICE] = "default",
      [RLO_PLACE_HOST_ALONE] = "element size",
  };
  if (options->is_device || options->devices.is_none || options->family != NULL ||
      options->schedule != NULL) {
    return "option";
  }
  rlo_place_choice choice = stream->is_in_pieces ? RLO_PLACE_DEVICE : RLO_PLACE_HOST_IS_SOONER;
  for (int32_t n = 0; n < stream->num_jobs; ++n) {
    const rlo_place_choice one = rlo_place_choose(stream->jobs[n].problem);
    choice = one > choice ? one : choice;
  }
  /* If a driver dies, what it has read from a pipe is lost, and what it has written stays. */
  const bool is_pipe = (stream->num_sources > 0 && stream->sources[0].file.pipe != 0) ||
                       (stream->num_outputs > 0 && stream->outputs[0].is_forward);
  const bool is_little =
      options->memory_bytes != 0 || is_pipe || rlo__available_bytes("") < DRIVER_ROOM_BYTES;
  options->devices.is_none = choice != RLO_PLACE_DEVICE || is_little;
  return choice == RLO_PLACE_DEVICE && is_little ? "memory" : words[choice];
}

/* ----------------------------------------------------------------- journals */

/* Returns whether a job may run a piece twice, and has its source until then.
 */
static bool is_repeatable(const rlo__stream *stream, const rlo__stream_job *job) {
  return !rlo_problem_reads_cells(job->problem) && job->source < stream->num_sources &&
         stream->sources[job->source].file.held_bytes == 0 &&
         (!rlo_problem_loads(job->problem) || stream->sources[job->indices].file.held_bytes == 0);
}

int32_t rlo__stream_count_jobs(const rlo__stream *stream, int32_t output, int32_t end) {
  int32_t count = 0;
  for (int32_t n = 0; n < end; ++n) {
    count += stream->jobs[n].output == output;
  }
  return count;
}

bool rlo__stream_has_journal(const rlo__stream *stream, int32_t output) {
  int64_t bytes = 0;
  bool can_resume = stream->outputs[output].path != NULL && !stream->outputs[output].is_forward;
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    /* Files are far smaller than that all of them together would overflow. */
    bytes += stream->outputs[n].bytes;
  }
  for (int32_t n = 0; n < stream->num_jobs; ++n) {
    can_resume &= stream->jobs[n].output != output || is_repeatable(stream, &stream->jobs[n]);
  }
  const bool has_jobs =
      stream->num_steps > 0 || rlo__stream_count_jobs(stream, output, stream->num_jobs) > 0;
  return can_resume && has_jobs && stream->outputs[output].whole == NULL &&
         (stream->options->is_resumed || bytes >= rlo__thresholds.cli_journaled_bytes);
}

void rlo__stream_name_journal(const rlo__stream *stream, int32_t job, const char *first_path,
                              rlo__journal_path *out_path) {
  const int32_t before = rlo__stream_count_jobs(stream, stream->jobs[job].output, job);
  rlo__str path = rlo__str_over(out_path->text, sizeof(out_path->text));
  if (first_path != NULL && first_path[0] != '\0') {
    rlo__str_append(&path, first_path);
    if (before > 0) {
      rlo__str_printf(&path, "-%d", before + 1);
    }
  }
}

/* The files that there are of an output. */
typedef struct remains {
  rlo__file_replace file;
  bool has_journal;
  bool can_resume;
} remains;

static void look(const rlo__stream *stream, int32_t output, remains *out) {
  const char *path = stream->outputs[output].path;
  bool is_named = path != NULL && rlo__file_replace_begin(&out->file, path, RLO__FILE_NAMES) == 0;
  out->has_journal = is_named && access(out->file.journal_path, F_OK) == 0;
  out->can_resume = is_named && rlo__file_replace_can_resume(&out->file);
}

/* Returns whether an output is made in a file. */
static bool has_part(const rlo__stream *stream, int32_t output) {
  const char *path = stream->outputs[output].path;
  return path != NULL && !stream->is_in_memory && rlo__path_why_in_place(path) == NULL;
}

/* Finds the journal with which a job would go on, or which it would create: "" if
 * it has none. One that is there and would be removed is as one that is not. */
static void find_journal(const rlo__stream *stream, int32_t job, rlo__journal_path *out_path) {
  remains r;
  const int32_t output = stream->jobs[job].output;
  look(stream, output, &r);
  const bool is_used = has_part(stream, output) && rlo__stream_has_journal(stream, output);
  rlo__stream_name_journal(stream, job, is_used ? r.file.journal_path : NULL, out_path);
  if (is_used && r.has_journal && !(stream->options->is_resumed && r.can_resume)) {
    const size_t length = strlen(out_path->text);
    (void)snprintf(out_path->text + length, sizeof(out_path->text) - length, "-0");
  }
}

/* Returns the bytes that two passes may use behind an output: what its disk has
 * left when the outputs are there. A part that is gone on with has its own. */
static int64_t find_scratch_room(const rlo__stream *stream, int32_t output) {
  remains r;
  struct statvfs disk;
  look(stream, output, &r);
  char *slash = strrchr(r.file.temp_path, '/');
  if (slash != NULL) {
    slash[1] = '\0';
  }
  if (r.can_resume || statvfs(slash == NULL ? "." : r.file.temp_path, &disk) != 0) {
    return INT64_MAX;
  }
  int64_t room = rlo__mul_capped((int64_t)disk.f_bavail, (int64_t)disk.f_frsize);
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    room -= stream->outputs[n].bytes;
  }
  return rlo__max(room, 0);
}

/* Returns whether there is something to go on with, so that pieces are the only
 * way. */
static bool is_begun(const rlo__stream *stream) {
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    remains r;
    look(stream, n, &r);
    if (rlo__stream_has_journal(stream, n) && stream->options->is_resumed && r.can_resume) {
      return true;
    }
  }
  return false;
}

int rlo__stream_fail_submit(const rlo__stream *stream) {
  const rlo_error *error = rlo_error_last();
  const rlo__stream_options *options = stream->options;
  const bool is_chosen = options->is_host || options->is_device;
  const char *hint = is_begun(stream) && options->memory_bytes != 0 && !is_chosen
                         ? "; --device default goes on with one that began on a device, without "
                           "--resume the job begins anew"
                     : is_begun(stream)                  ? "; without --resume the job begins anew"
                     : options->passes == 2              ? "; --passes 1 needs no scratch"
                     : error->status == RLO_OUT_OF_RANGE ? "; --memory sets the budget"
                                                         : "";
  return rlo__fail("%s%s", error->message, hint);
}

/* --------------------------------------------------------------------- jobs */

rlo_service_options rlo__stream_service_options(const rlo__stream *s) {
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = s->options->memory_bytes;
  /* So that each job gets all of the memory, and that they do not overtake each
   * other: a later one may write over what an earlier one has filled. */
  options.max_running_jobs = 1;
  options.family = s->options->family;
  options.schedule = s->options->schedule;
  return options;
}

rlo_job_options rlo__stream_job_options(const rlo__stream *s, int32_t job,
                                        const rlo__journal_path *journal) {
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.host_memory_bytes = s->options->memory_bytes;
  options.journal_path = journal->text[0] == '\0' ? NULL : journal->text;
  options.is_new_destination = rlo__stream_count_jobs(s, s->jobs[job].output, job) == 0;
  options.passes = (int32_t)s->options->passes;
  return options;
}

/* Plans a job for a service; NULL: for one on the host. */
static rlo_status estimate_job(const rlo__stream *s, int32_t n, const rlo_service *service,
                               rlo_job_estimate *out_estimate) {
  const rlo__stream_job *job = &s->jobs[n];
  const rlo__stream_output *output = &s->outputs[job->output];
  rlo_service_options of_service = rlo__stream_service_options(s);
  rlo__journal_path journal;
  find_journal(s, n, &journal);
  rlo_job_options of_job = rlo__stream_job_options(s, n, &journal);
  rlo_storage_traits traits[2] = {RLO_STORAGE_TRAITS_INIT, RLO_STORAGE_TRAITS_INIT};
  const bool has_file = job->source < s->num_sources;
  const bool makes_file = has_part(s, job->output);
  if (has_file) {
    traits[0].bytes = s->sources[job->source].bytes;
    traits[0].granule_bytes = rlo__array_source_granule_bytes(&s->sources[job->source]);
    traits[0].is_forward = s->sources[job->source].file.pipe != 0;
  }
  traits[1].bytes = output->bytes;
  traits[1].is_forward = output->is_forward;
  if (output->is_dropped) {
    traits[1] = rlo__stream_sum_traits(output);
  }
  if (makes_file && output->whole == NULL &&
      rlo__stream_count_jobs(s, job->output, s->num_jobs) == 1) {
    /* It may use the output for two passes. */
    of_job.scratch_bytes = find_scratch_room(s, job->output);
    traits[1].bytes = rlo__add_capped(output->bytes, of_job.scratch_bytes);
  }
  if (rlo_problem_loads(job->problem)) {
    RLO_TRY(rlo__array_source_storage(&s->sources[job->indices], NULL, &of_job.indices));
  }
  const rlo_storage_traits *src = has_file ? &traits[0] : NULL;
  const bool has_traits = makes_file || output->is_dropped || output->is_forward;
  const rlo_storage_traits *dst = has_traits ? &traits[1] : NULL;
  *out_estimate = (rlo_job_estimate)RLO_JOB_ESTIMATE_INIT;
  const rlo_status status =
      service != NULL
          ? rlo_service_estimate(service, job->problem, src, dst, &of_job, out_estimate)
          : rlo_job_estimate_make(job->problem, src, dst, &of_service, &of_job, out_estimate);
  rlo_storage_release(of_job.indices);
  return status;
}

/* An estimate of jobs together. */
typedef struct sum {
  rlo_job_estimate all;
  /* The time of copies, and of what is done, in that of a byte. */
  double copy_bytes;
  double time;
  /* How many runs are written. */
  double num_writes;
} sum;

static void add_estimate(const rlo_job_estimate *one, sum *s) {
  rlo_job_estimate *all = &s->all;
  bool is_first = all->num_pieces == 0;
  all->num_passes = (int32_t)rlo__max(all->num_passes, one->num_passes);
  all->host_bytes = rlo__max(all->host_bytes, one->host_bytes);
  all->device_bytes = rlo__max(all->device_bytes, one->device_bytes);
  if (one->num_pieces == 0) {
    return;
  }
  all->num_pieces += one->num_pieces;
  all->bytes_read += one->bytes_read;
  all->bytes_written += one->bytes_written;
  all->read_run_bytes =
      is_first ? one->read_run_bytes : rlo__min(all->read_run_bytes, one->read_run_bytes);
  all->write_run_bytes =
      is_first ? one->write_run_bytes : rlo__min(all->write_run_bytes, one->write_run_bytes);
  s->num_writes += (double)one->bytes_written / (double)rlo__max(1, one->write_run_bytes);
  double bytes = (double)(one->bytes_read + one->bytes_written);
  s->copy_bytes += bytes;
  s->time += bytes / one->expected_fraction;
  all->expected_fraction = s->time > 0 ? s->copy_bytes / s->time : 1;
}

static rlo_status estimate_jobs(const rlo__stream *stream, const rlo_service *service,
                                rlo_job_estimate *jobs, sum *out) {
  for (int32_t n = 0; n < stream->num_jobs; ++n) {
    rlo_job_estimate one;
    RLO_TRY(estimate_job(stream, n, service, &one));
    add_estimate(&one, out);
    if (stream->options->is_resumed && stream->options->memory_bytes == 0 &&
        one.budget_bytes >= RLO_SERVICE_MIN_HOST_BYTES) {
      /* Jobs without a journal yet keep to the budget of the first one. Tests have less. */
      stream->options->memory_bytes = one.budget_bytes;
    }
    if (jobs != NULL) {
      jobs[n] = one;
    }
  }
  return RLO_OK;
}

/* Returns whether the jobs write short runs between those of each other. */
static bool writes_short_runs(const rlo__stream *stream, const sum *s, double run_bytes) {
  return stream->num_jobs > stream->num_outputs &&
         (double)s->all.bytes_written < run_bytes * s->num_writes;
}

/* Returns how much memory an output may have, beside that of the jobs that make it in parts. */
static int64_t find_room(const rlo__stream *stream) {
  const int64_t memory = stream->options->memory_bytes;
  const int64_t room = memory == 0 ? rlo__available_bytes("") / 4
                                   : rlo__min(memory / 2, memory - RLO_SERVICE_MIN_HOST_BYTES);
  return rlo__min(room, rlo__thresholds.cli_band_bytes);
}

rlo_status rlo__stream_find_band(const rlo__stream *step, const rlo_service *service,
                                 int64_t *out_bytes) {
  sum s = {.all = RLO_JOB_ESTIMATE_INIT};
  const int64_t room = find_room(step);
  *out_bytes = 0;
  if (step->num_jobs > 1) {
    RLO_TRY(estimate_jobs(step, service, NULL, &s));
    *out_bytes = !writes_short_runs(step, &s, SHORT_BAND_RUN_BYTES) ? 0
                 : room >= step->outputs->bytes                     ? step->outputs->bytes
                 : step->can_cut                                    ? room
                                                                    : 0;
  }
  return RLO_OK;
}

/* Plans a step; its bands as one. */
static rlo_status estimate_step(const rlo__stream *stream, int64_t n, const rlo_service *service,
                                sum *out) {
  rlo__stream step = *stream;
  int64_t band_bytes = 0;
  sum s = {.all = RLO_JOB_ESTIMATE_INIT};
  RLO_TRY(stream->make_step(stream, n, 0, INT64_MAX, &step));
  RLO_TRY(rlo__stream_find_band(&step, service, &band_bytes));
  step.is_in_memory = band_bytes > 0;
  RLO_TRY(estimate_jobs(&step, service, NULL, &s));
  if (step.is_in_memory) {
    s.all.host_bytes += band_bytes;
    s.all.write_run_bytes = band_bytes;
  }
  add_estimate(&s.all, out);
  return RLO_OK;
}

static rlo_status estimate(const rlo__stream *stream, const rlo_service *service,
                           rlo_job_estimate *jobs, sum *out) {
  *out = (sum){.all = RLO_JOB_ESTIMATE_INIT};
  out->all.expected_fraction = 1;
  for (int64_t n = 0; n < stream->num_steps; ++n) {
    RLO_TRY(estimate_step(stream, n, service, out));
  }
  return estimate_jobs(stream, service, jobs, out);
}

int rlo__stream_estimate(const rlo__stream *stream, const rlo_service *service,
                         rlo_job_estimate *out_jobs, rlo_job_estimate *out_all) {
  sum s;
  if (estimate(stream, service, out_jobs, &s) != RLO_OK) {
    return rlo__stream_fail_submit(stream);
  }
  *out_all = s.all;
  return RLO__EXIT_OK;
}

/* Returns whether the jobs write so short runs that the outputs are better made in
 * memory, of which there is enough. */
static bool is_better_in_memory(const rlo__stream *stream, const sum *s) {
  double bytes = 0;
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    bytes += (double)stream->outputs[n].bytes;
  }
  return writes_short_runs(stream, s, SHORT_RUN_BYTES) &&
         bytes < MEMORY_SHARE * (double)rlo__available_bytes("");
}

/* Returns whether a source is a pipe that its only job reads as it comes, and as well
 * as from memory, or there is too little of that. */
static bool flows(const rlo__stream *stream, const rlo__array_source *source) {
  const rlo__input_file *file = &source->file;
  const int64_t end = source->contents.offset_bytes + source->bytes;
  sum s;
  return file->pipe != 0 && stream->num_jobs == 1 && stream->num_sources == 1 &&
         !stream->is_verified && estimate(stream, NULL, NULL, &s) == RLO_OK &&
         (s.all.expected_fraction > FLOW_FRACTION || end > file->most_bytes);
}

/* Returns whether the only job may write the only output, which has no gaps, as it is made. */
static bool can_be_forward(const rlo__stream *s) {
  const rlo__stream_output *o = s->outputs;
  return s->num_jobs == 1 && s->num_outputs == 1 && o->path != NULL && s->is_in_pieces &&
         s->jobs->problem->written_bytes == o->bytes && !s->is_verified && !s->has_digest &&
         rlo__path_is_forward(o->path);
}

/* Finds what is read, and written, as it comes: of a pipe to a pipe both, or the source.
 * Reads the other sources into memory. */
static int find_flows(rlo__stream *stream) {
  rlo__stream_output *output = stream->outputs;
  const bool can_be = can_be_forward(stream);
  sum s;
  output->is_forward = can_be;
  for (int32_t n = 0; n < stream->num_sources; ++n) {
    rlo__array_source *source = &stream->sources[n];
    output->is_forward = output->is_forward && flows(stream, source);
    const bool is_flow = output->is_forward || flows(stream, source);
    RLO__EXIT_TRY(is_flow ? RLO__EXIT_OK : rlo__array_source_hold(source));
  }
  output->is_forward = can_be;
  output->is_forward =
      can_be && estimate(stream, NULL, NULL, &s) == RLO_OK &&
      (s.all.expected_fraction > FLOW_FRACTION || stream->options->memory_bytes != 0 ||
       (double)output->bytes > MEMORY_SHARE * (double)rlo__available_bytes(""));
  return RLO__EXIT_OK;
}

/* Takes what was read from pipes off --memory. */
static int take_held_memory(const rlo__stream *stream, rlo__stream_options *options) {
  int64_t held_bytes = 0;
  for (int32_t n = 0; n < stream->num_sources; ++n) {
    held_bytes += stream->sources[n].file.pipe == 0 ? stream->sources[n].file.held_bytes : 0;
  }
  if (options->memory_bytes == 0 || held_bytes == 0) {
    return RLO__EXIT_OK;
  }
  options->memory_bytes -= held_bytes;
  return options->memory_bytes >= RLO_SERVICE_MIN_HOST_BYTES
             ? RLO__EXIT_OK
             : rlo__fail("what was read from pipes takes %" PRId64
                         " bytes, which leaves too little of --memory: at least %" PRId64
                         " bytes are needed; write it to a file, or give more",
                         held_bytes, held_bytes + RLO_SERVICE_MIN_HOST_BYTES);
}

int rlo__stream_plan(rlo__stream *stream) {
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    if (stream->outputs[n].path != NULL) {
      rlo__output_claim(stream->outputs[n].path);
    }
  }
  stream->is_in_pieces = is_in_pieces(stream);
  RLO__EXIT_TRY(find_flows(stream));
  RLO__EXIT_TRY(take_held_memory(stream, stream->options));
  stream->chosen_by = choose_place(stream);
  stream->is_in_pieces |= stream->num_steps > 0;
  const bool is_asked_for =
      rlo__stream_is_asked_for(stream->options) || is_begun(stream) || stream->num_steps > 0;
  for (int32_t n = 0; is_asked_for && n < stream->num_outputs; ++n) {
    const char *path = stream->outputs[n].path;
    const char *why = path != NULL ? rlo__path_why_in_place(path) : NULL;
    RLO__EXIT_IF(why != NULL && !stream->outputs[n].is_forward,
                 "%s %s: it cannot be written in pieces", path, why);
  }
  sum s;
  if (stream->num_steps > 0) {
    /* They take long to make, and are estimated when there is a service. */
    return RLO__EXIT_OK;
  }
  if (estimate(stream, NULL, NULL, &s) != RLO_OK) {
    return rlo__stream_fail_submit(stream);
  }
  stream->is_in_memory = !is_asked_for && is_better_in_memory(stream, &s);
  return RLO__EXIT_OK;
}
