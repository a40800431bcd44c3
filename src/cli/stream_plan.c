/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/status.h"
#include "message.h"
#include "stream_inside.h"
#include "subprocess.h"

/* Runs of less cost the system more than their bytes. */
#define SHORT_RUN_BYTES 128.0

/* Loaded arrays are in memory up to three times: as read, in the engine, and as
 * written. They may have this share of the machine's. */
#define LOADED_COPIES 3.0
#define LOADED_SHARE  0.5

/* ------------------------------------------------------------------ options */

int rlo__stream_option_take_device(const char *verb,
                                   const char *value,
                                   void *options) {
  rlo__stream_options *taken = options;
  taken->is_device = true;
  return rlo__device_choice_parse(verb, value, &taken->devices);
}

int rlo__stream_option_take_io(const char *verb,
                               const char *value,
                               void *is_direct) {
  /* auto is buffered, which is best everywhere up to now. */
  static const char *const words[] = {"auto", "buffered", "direct"};
  int32_t n = 0;
  int code = rlo__word_parse(verb, "--io", value, words, 3, &n);
  *(bool *)is_direct = n == 2;
  return code;
}

int rlo__stream_option_take_passes(const char *verb,
                                   const char *value,
                                   void *passes) {
  static const char *const words[] = {"1", "2"};
  int32_t number = 0;
  int code = rlo__word_parse(verb, "--passes", value, words, 2, &number);
  *(int32_t *)passes = number + 1;
  return code;
}

int rlo__stream_options_check(const char *verb, rlo__stream_options *options) {
  if (options->is_host && options->is_device) {
    return rlo__fail_usage(verb, "--host uses no device: it excludes --device");
  }
  options->devices.is_none |= options->is_host;
  return RLO__EXIT_OK;
}

bool rlo__stream_is_asked_for(const rlo__stream_options *options) {
  return options->memory_bytes != 0 || options->passes != 0 ||
         options->is_direct || options->is_dry_run;
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

rlo_job_options rlo__stream_job_options(const rlo__stream *s,
                                        int32_t job,
                                        const rlo__journal_path *journal) {
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  options.host_memory_bytes = s->options->memory_bytes;
  options.journal_path = journal->text[0] == '\0' ? NULL : journal->text;
  options.is_new_destination = true;
  for (int32_t n = 0; n < job; ++n) {
    options.is_new_destination &= s->jobs[n].output != s->jobs[job].output;
  }
  options.passes = s->options->passes;
  return options;
}

int32_t rlo__stream_count_jobs(const rlo__stream *s, int32_t output) {
  int32_t count = 0;
  for (int32_t n = 0; n < s->num_jobs; ++n) {
    count += s->jobs[n].output == output;
  }
  return count;
}

rlo_status rlo__stream_estimate_job(const rlo__stream *s,
                                    int32_t job,
                                    rlo_job_estimate *out_estimate) {
  const rlo__array_source *source = &s->sources[s->jobs[job].source];
  rlo_service_options of_service = rlo__stream_service_options(s);
  rlo__journal_path journal;
  rlo__stream_find_journal(s, job, &journal);
  rlo_job_options of_job = rlo__stream_job_options(s, job, &journal);
  rlo_storage_traits src = RLO_STORAGE_TRAITS_INIT;
  src.bytes = source->bytes;
  src.granule_bytes = rlo__array_source_granule_bytes(source);
  rlo_storage_traits dst = RLO_STORAGE_TRAITS_INIT;
  dst.bytes = s->outputs[s->jobs[job].output].bytes;
  if (rlo__stream_count_jobs(s, s->jobs[job].output) == 1) {
    /* It may use the output for two passes. */
    dst.bytes = of_job.scratch_bytes = INT64_MAX;
  }
  *out_estimate = (rlo_job_estimate)RLO_JOB_ESTIMATE_INIT;
  return rlo_job_estimate_make(
      s->jobs[job].problem, &src, &dst, &of_service, &of_job, out_estimate);
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
      is_first ? one->read_run_bytes
               : rlo__min(all->read_run_bytes, one->read_run_bytes);
  all->write_run_bytes =
      is_first ? one->write_run_bytes
               : rlo__min(all->write_run_bytes, one->write_run_bytes);
  s->num_writes +=
      (double)one->bytes_written / (double)rlo__max(1, one->write_run_bytes);
  double bytes = (double)(one->bytes_read + one->bytes_written);
  s->copy_bytes += bytes;
  s->time += bytes / one->expected_fraction;
  all->expected_fraction = s->time > 0 ? s->copy_bytes / s->time : 1;
}

static rlo_status estimate(const rlo__stream *stream, sum *out) {
  *out = (sum){.all = RLO_JOB_ESTIMATE_INIT};
  out->all.expected_fraction = 1;
  for (int32_t n = 0; n < stream->num_jobs; ++n) {
    rlo_job_estimate one;
    RLO_TRY(rlo__stream_estimate_job(stream, n, &one));
    add_estimate(&one, out);
  }
  return RLO_OK;
}

/* Returns whether the jobs write so short runs between those of each other that
 * the arrays are better loaded, for which there is memory. */
static bool is_better_loaded(const rlo__stream *stream, const sum *s) {
  double bytes = 0;
  for (int32_t n = 0; n < stream->num_sources; ++n) {
    bytes += (double)stream->sources[n].bytes;
  }
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    bytes += (double)stream->outputs[n].bytes;
  }
  return stream->num_jobs > stream->num_outputs &&
         (double)s->all.bytes_written < SHORT_RUN_BYTES * s->num_writes &&
         LOADED_COPIES * bytes < LOADED_SHARE * (double)rlo__memory_bytes();
}

int rlo__stream_plan(const rlo__stream *stream,
                     rlo_job_estimate *out_estimate,
                     bool *out_is_worth) {
  bool is_asked_for =
      rlo__stream_is_asked_for(stream->options) || rlo__stream_is_begun(stream);
  for (int32_t n = 0; is_asked_for && n < stream->num_outputs; ++n) {
    const char *path = stream->outputs[n].path;
    if (rlo__path_is_special(path)) {
      return rlo__fail(
          "%s is not a regular file: it cannot be written in pieces", path);
    }
  }
  sum s;
  rlo_status status = estimate(stream, &s);
  /* The second: its parts are too large for what it may have in pieces. */
  if ((status == RLO_UNSUPPORTED || status == RLO_OUT_OF_RANGE) &&
      !is_asked_for && out_is_worth != NULL) {
    *out_is_worth = false;
    return RLO__EXIT_OK;
  }
  if (status != RLO_OK) {
    return rlo__stream_fail_submit(stream);
  }
  *out_estimate = s.all;
  if (out_is_worth != NULL) {
    *out_is_worth = is_asked_for || !is_better_loaded(stream, &s);
  }
  return RLO__EXIT_OK;
}
