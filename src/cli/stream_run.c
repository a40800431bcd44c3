/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "base/threshold.h"
#include "interrupt.h"
#include "message.h"
#include "session.h"
#include "stream_inside.h"
#include "subprocess.h"

/* How long to wait between two looks at a job. */
#define LOOK_MILLISECONDS 100

/*
 * Where the jobs run. With devices, in the child process that uses the driver: the
 * pieces pass through the driver's memory there. The child draws the progress too, since
 * it has the jobs at hand; the parent only waits, and owns what must not depend on the
 * driver: the parts, which it made before the fork, and their names. If the driver dies,
 * or a signal ends the command, the parent unlinks the parts, but for those with a
 * journal, and the targets are what they were. What remains of the jobs is in a shared
 * page. On the host there is no driver, and no child.
 */
typedef struct run {
  rlo__stream *stream;
  /* The bytes of all outputs in memory, and of a part of a step's. */
  int64_t held_bytes, band_bytes;
  /* In shared memory. */
  rlo__stream_result *result;
  rlo_context **contexts;
  int32_t num_contexts;
  /* The storages of the sources, then of the outputs. */
  rlo_storage **storages;
  rlo_service *service;
  rlo_job **jobs;
  /* One for each job; NULL for a share and when verifying, where nothing is chosen. */
  rlo_job_estimate *estimates;
  rlo__progress progress;
  rlo__stream_sum sum;
  /* The bytes that all steps will read and write; what the steps before this one did. */
  int64_t bytes_total;
  rlo_job_info before;
  /* Some output has a journal; its jobs were told to stop. */
  bool can_resume, is_stopping;
  /* Nothing of what was done is of use. */
  bool is_spoilt;
  rlo__stream_words words;
} run;

/* ----------------------------------------------------------------- devices */

static void add_name(rlo__stream_result *result, const char *name) {
  size_t length = strlen(result->device_names);
  snprintf(result->device_names + length, sizeof(result->device_names) - length, "%s%s",
           length == 0 ? "" : ", ", name);
}

static int open_devices(run *r) {
  const rlo__device_choice *choice = &r->stream->options->devices;
  int32_t count;
  if (choice->is_none) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_TRY(rlo__stream_count_devices(choice, &count));
  r->contexts = rlo__alloc_array((size_t)count, sizeof(*r->contexts));
  RLO__EXIT_TRY_MEMORY(r->contexts);
  for (int32_t n = 0; n < count; ++n) {
    const rlo__device_ref other = {.index = choice->is_all ? n : -1};
    rlo__session session;
    RLO__EXIT_TRY(rlo__session_init(choice->count > 0 ? &choice->devices[n] : &other, &session));
    r->contexts[r->num_contexts++] = session.context;
    add_name(r->result, session.device_name);
  }
  return RLO__EXIT_OK;
}

static int create_service(run *r) {
  const rlo_service_options options = rlo__stream_service_options(r->stream);
  return rlo__check(rlo_service_create(r->contexts, r->num_contexts, &options, &r->service));
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
  rlo_status status = rlo_plan_create(r->contexts[0], problem, &options, &plan);
  if (status == RLO_OK && !r->stream->is_in_pieces) {
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
  const bool is_named = s->options->family != NULL || s->options->schedule != NULL;
  if (r->num_contexts == 0 || (s->is_in_pieces && !is_named)) {
    return RLO__EXIT_OK;
  }
  for (int32_t n = 0; n < s->num_jobs; ++n) {
    if (prepare_job(r, s->jobs[n].problem) != RLO_OK) {
      const rlo_error *error = rlo_error_last();
      return !is_named && error->status == RLO_UNSUPPORTED
                 ? rlo__fail("%s; try --host", error->message)
                 : rlo__fail_last();
    }
  }
  return RLO__EXIT_OK;
}

/* -------------------------------------------------------------------- jobs */

static int create_storages(run *r) {
  const rlo__stream *s = r->stream;
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  hints.is_direct = s->options->io == RLO__STREAM_IO_DIRECT;
  r->storages =
      rlo__alloc_array((size_t)s->num_sources + (size_t)s->num_outputs, sizeof(rlo_storage *));
  r->jobs = rlo__alloc_array((size_t)s->num_jobs + 1, sizeof(rlo_job *));
  if (r->storages == NULL || r->jobs == NULL) {
    return rlo__fail_last();
  }
  for (int32_t n = 0; n < s->num_sources; ++n) {
    RLO__EXIT_TRY(rlo__check(rlo__array_source_storage(&s->sources[n], &hints, &r->storages[n])));
  }
  for (int32_t n = 0; n < s->num_outputs; ++n) {
    rlo__stream_output *o = &s->outputs[n];
    rlo_storage **storage = &r->storages[s->num_sources + n];
    RLO__EXIT_TRY(rlo__check(o->is_dropped ? rlo__stream_storage_that_sums(o, &r->sum, storage)
                                           : rlo__stream_output_storage(s, o, &hints, storage)));
  }
  return RLO__EXIT_OK;
}

/* Finds out what the jobs will do, and prints it. */
static int estimate_jobs(run *r) {
  const rlo__stream *s = r->stream;
  rlo_job_estimate all;
  if (s->report == NULL || s->is_verifying) {
    return RLO__EXIT_OK;
  }
  r->estimates = rlo__alloc_array((size_t)s->num_jobs + 1, sizeof(*r->estimates));
  RLO__EXIT_TRY_MEMORY(r->estimates);
  RLO__EXIT_TRY(rlo__stream_estimate(s, r->service, r->estimates, &all));
  for (int32_t n = 0; n < s->num_jobs; ++n) {
    s->outputs[s->jobs[n].output].scratch_bytes = r->estimates[n].scratch_bytes;
  }
  r->bytes_total = s->num_steps > 0 ? all.bytes_read + all.bytes_written : 0;
  rlo__stream_print_plan(s, r->result, &all);
  return RLO__EXIT_OK;
}

/* All at once, so that the totals are known from the beginning. */
static int submit(run *r) {
  const rlo__stream *s = r->stream;
  /* Each may have a journal open. */
  rlo__files_allow(2 * (s->num_sources + s->num_outputs) + s->num_jobs);
  for (int32_t n = 0; n < s->num_jobs; ++n) {
    const rlo__stream_job *job = &s->jobs[n];
    const rlo__stream_output *output = &s->outputs[job->output];
    rlo__journal_path journal;
    rlo__stream_name_journal(
        s, n, r->stream->is_verifying ? NULL : output->part.unfinished.journal_path, &journal);
    rlo_job_options options = rlo__stream_job_options(s, n, &journal);
    if (r->estimates != NULL && output->whole == NULL) {
      /* The plan that was printed, whatever memory is free by now. */
      options.host_memory_bytes = r->estimates[n].budget_bytes;
      options.scratch_bytes = r->estimates[n].scratch_bytes;
    }
    options.watch = rlo__stream_can_sum(s) ? rlo__stream_sum_add : NULL;
    options.watch_payload = &r->sum;
    options.indices = rlo_problem_loads(job->problem) ? r->storages[job->indices] : NULL;
    r->result->status =
        rlo_service_submit(r->service, job->problem, r->storages[job->source],
                           r->storages[s->num_sources + job->output], &options, &r->jobs[n]);
    if (r->result->status != RLO_OK) {
      return rlo__stream_fail_submit(s);
    }
  }
  r->result->has_begun = true;
  return RLO__EXIT_OK;
}

/* Gets the state of job `current`, with the totals of all. */
static rlo_status get_info(const run *r, int32_t current, rlo_job_info *out) {
  rlo_job_info all = r->before;
  for (int32_t n = 0; n < r->stream->num_jobs; ++n) {
    rlo_job_info one = RLO_JOB_INFO_INIT;
    RLO_TRY(rlo_job_get_info(r->jobs[n], &one));
    one.host_bytes_peak += r->band_bytes;
    rlo__stream_add_info(&one, &all);
    if (n == current) {
      all.state = one.state;
      all.status = one.status;
      all.pass = one.pass;
      all.seconds_left = one.seconds_left;
    }
  }
  all.bytes_total = rlo__max(all.bytes_total, r->bytes_total);
  if (r->stream->num_jobs > 1 || r->bytes_total > 0) {
    const int64_t bytes_now = all.bytes_done - all.bytes_resumed;
    all.seconds_left =
        bytes_now > 0 ? all.seconds * (double)(all.bytes_total - all.bytes_done) / (double)bytes_now
                      : -1;
  }
  *out = all;
  return RLO_OK;
}

/* Stops the jobs when what they have done is durable. */
static void stop_orderly(run *r) {
  if (r->result->stop_signal != 0 && !r->is_stopping) {
    r->is_stopping = true;
    rlo_service_cancel_all(r->service);
    rlo__progress_end(&r->progress, &r->result->info);
    (void)rlo__fail("stops when what is done is on the disk; a second signal stops at once");
  }
}

/* Shows how far the jobs are until job `n` has ended. */
static rlo_status watch_job(run *r, int32_t n) {
  rlo_job_info *info = &r->result->info;
  bool has_ended = false;
  const char *path = r->stream->outputs[r->stream->jobs[n].output].path;
  if (path != NULL) {
    r->progress.name = path;
  }
  while (!has_ended) {
    stop_orderly(r);
    RLO_TRY(rlo_job_wait(r->jobs[n], LOOK_MILLISECONDS, &has_ended));
    RLO_TRY(get_info(r, n, info));
    if (!has_ended && !r->is_stopping) {
      rlo__progress_show(&r->progress, r->stream, info);
    }
  }
  return rlo_job_result(r->jobs[n]);
}

static int watch(run *r) {
  /* A signal may come before the first look. */
  rlo_status status = get_info(r, 0, &r->result->info);
  for (int32_t n = 0; status == RLO_OK && n < r->stream->num_jobs; ++n) {
    status = watch_job(r, n);
  }
  if (status != RLO_OK) {
    rlo__progress_end(&r->progress, &r->result->info);
  }
  r->result->status = status;
  RLO__EXIT_IF(
      status == RLO_IO && r->result->info.num_passes == 2 && r->result->info.bytes_done == 0,
      "%s; --passes 1 needs no scratch", rlo_error_last()->message);
  return r->is_stopping && status == RLO_CANCELLED ? 128 + r->result->stop_signal
                                                   : rlo__check(status);
}

static void release_jobs(run *r) {
  const rlo__stream *s = r->stream;
  for (int32_t n = 0; r->jobs != NULL && n < s->num_jobs; ++n) {
    rlo_job_release(r->jobs[n]);
  }
  for (int32_t n = 0; r->storages != NULL && n < s->num_sources + s->num_outputs; ++n) {
    rlo_storage_release(r->storages[n]);
  }
  rlo__free((void *)r->jobs);
  rlo__free((void *)r->storages);
  r->jobs = NULL;
  r->storages = NULL;
}

static void release(run *r) {
  release_jobs(r);
  rlo__free(r->estimates);
  rlo_service_release(r->service);
  for (int32_t n = 0; n < r->num_contexts; ++n) {
    rlo_context_release(r->contexts[n]);
  }
  rlo__free((void *)r->contexts);
}

static int do_jobs(run *r) {
  RLO__EXIT_TRY(create_storages(r));
  RLO__EXIT_TRY(submit(r));
  return watch(r);
}

/* Adds what a step that need not be done again has read and written. */
static void pass_over(run *r) {
  const rlo__stream *s = r->stream;
  for (int32_t n = 0; n < s->num_jobs; ++n) {
    const int64_t bytes = s->jobs[n].problem->read_bytes + s->jobs[n].problem->written_bytes;
    r->before.bytes_done += bytes;
    r->before.bytes_resumed += bytes;
  }
}

static int do_part(run *r) {
  const rlo__stream *s = r->stream;
  if (r->result->stop_signal != 0) {
    /* It may have come when there was no job left to cancel. */
    stop_orderly(r);
    r->result->status = RLO_CANCELLED;
    return 128 + r->result->stop_signal;
  }
  RLO__EXIT_TRY(do_jobs(r));
  for (int32_t n = 0; n < s->num_sources; ++n) {
    if (rlo__input_file_check_unchanged(&s->sources[n].file) != RLO__EXIT_OK) {
      r->result->status = RLO_DATA_LOSS;
      return RLO__EXIT_FAILURE;
    }
  }
  r->before = r->result->info;
  r->before.bytes_total = r->before.bytes_done;
  return RLO__EXIT_OK;
}

/* Makes step n in memory, a part after the other. */
static int do_bands(run *r, const rlo__stream *all, int64_t n, void *memory) {
  rlo__stream *step = r->stream;
  rlo__stream_options options = *all->options;
  options.memory_bytes -= options.memory_bytes != 0 ? r->band_bytes : 0;
  const int64_t end = step->outputs->bytes;
  for (int64_t at = 0; at < end; at += step->outputs->bytes) {
    release_jobs(r);
    RLO__EXIT_TRY(rlo__check(all->make_step(all, n, at, r->band_bytes, step)));
    step->options = &options;
    step->outputs->memory = memory;
    RLO__EXIT_TRY(do_part(r));
    r->result->status = rlo__stream_output_write(step->outputs, 0, step->outputs->bytes, memory);
    RLO__EXIT_TRY(rlo__check(r->result->status));
  }
  return RLO__EXIT_OK;
}

static int do_step(run *r, const rlo__stream *all, int64_t n) {
  RLO__EXIT_TRY(rlo__check(rlo__stream_find_band(r->stream, r->service, &r->band_bytes)));
  if (r->band_bytes == 0) {
    return do_part(r);
  }
  /* Jobs leave slots without an element as they are, which a new file has as zeros. */
  void *memory = r->stream->can_cut ? rlo__alloc_unset((size_t)r->band_bytes)
                                    : rlo__alloc((size_t)r->band_bytes);
  const int code = memory != NULL ? do_bands(r, all, n, memory) : rlo__fail_last();
  release_jobs(r);
  rlo__free(memory);
  r->band_bytes = 0;
  return code;
}

/* Does the steps in their order, and notes how many of them are done. */
static int do_steps(run *r) {
  rlo__stream *all = r->stream;
  rlo__stream_output *whole = NULL;
  int64_t noted_bytes = 0;
  int code = RLO__EXIT_OK;
  for (int64_t n = 0; code == RLO__EXIT_OK && n < all->num_steps; ++n) {
    rlo__stream step = *all;
    RLO__EXIT_TRY(rlo__check(all->make_step(all, n, 0, INT64_MAX, &step)));
    const bool is_due = r->before.bytes_done - noted_bytes > rlo__thresholds.cli_journaled_bytes;
    rlo__stream_output *next = step.outputs->whole;
    assert(next != NULL);
    if (whole != next || is_due) {
      RLO__EXIT_TRY(rlo__stream_note_steps(all, whole, n));
      noted_bytes = r->before.bytes_done;
      whole = next;
    }
    r->stream = &step;
    if (n < next->num_done && !all->is_verifying) {
      pass_over(r);
    } else {
      code = do_step(r, all, n);
    }
    release_jobs(r);
    r->stream = all;
    if (code != RLO__EXIT_OK) {
      (void)rlo__stream_note_steps(all, whole, n);
    }
  }
  return code;
}

static int try_jobs(run *r) {
  r->sum = (rlo__stream_sum){r->stream->outputs->shape, &r->result->digest};
  RLO__EXIT_TRY(open_devices(r));
  RLO__EXIT_TRY(prepare_whole(r));
  RLO__EXIT_TRY(create_service(r));
  RLO__EXIT_TRY(estimate_jobs(r));
  if (r->stream->options->is_dry_run) {
    return RLO__EXIT_OK;
  }
  rlo__progress_begin(&r->progress, r->stream, r->result);
  RLO__EXIT_TRY(r->stream->num_steps > 0 ? do_steps(r) : do_jobs(r));
  rlo__progress_end(&r->progress, &r->result->info);
  return rlo__stream_cut_off_scratch(r->stream);
}

static int run_jobs(void *payload) {
  run *r = payload;
  const int code = try_jobs(r);
  release(r);
  return code;
}

/* Tells if the device, after this exit code, cannot be opened, or not run what
 * comes first. */
static bool is_useless(const rlo__stream_result *result, int code) {
  if (result->device_names[0] == '\0') {
    return code == RLO__EXIT_FAILURE || code == RLO__EXIT_DRIVER;
  }
  return result->info.bytes_written == 0 &&
         (code == RLO__EXIT_DRIVER || result->status == RLO_DEVICE ||
          result->status == RLO_BUILD_FAILED);
}

/* Runs the jobs where they were to run. If that is a device that nobody has asked
 * for and that is useless, which it has said by then, the host does. */
static int run_somewhere(run *r) {
  rlo__stream *s = r->stream;
  if (s->options->devices.is_none) {
    return run_jobs(r);
  }
  const int code = rlo__subprocess_run(s->common->is_isolated, run_jobs, r);
  if (strcmp(s->chosen_by, "default") != 0 || !is_useless(r->result, code)) {
    return code;
  }
  (void)rlo__fail("the host does it without a device");
  for (int32_t n = 0; n < s->num_jobs && !s->options->is_resumed; ++n) {
    rlo__journal_path journal;
    rlo__stream_name_journal(s, n, s->outputs[s->jobs[n].output].part.unfinished.journal_path,
                             &journal);
    (void)unlink(journal.text);
  }
  s->options->devices.is_none = true;
  s->chosen_by = "no device";
  *r->result = (rlo__stream_result){.info = RLO_JOB_INFO_INIT};
  run again = {.stream = s, .result = r->result, .before = RLO_JOB_INFO_INIT};
  return run_jobs(&again);
}

/* Runs the jobs once more, on the host, and compares what they would write.
 * Prints the first byte that differs. */
static int verify(const run *r) {
  /* It has no journal: that is the one of the jobs that have run. */
  rlo__stream_options options = {.devices.is_none = true,
                                 .memory_bytes = r->stream->options->memory_bytes,
                                 .io = r->stream->options->io,
                                 .passes = 1,
                                 .is_quiet = r->stream->options->is_quiet,
                                 .is_progress_wanted = r->stream->options->is_progress_wanted};
  rlo__stream again = *r->stream;
  again.options = &options;
  again.is_verifying = true;
  rlo__stream_result result = {.info = RLO_JOB_INFO_INIT};
  run compared = {.stream = &again, .result = &result, .before = RLO_JOB_INFO_INIT};
  return run_jobs(&compared);
}

/* ----------------------------------------------------------------- outputs */

/* Memory for what is not made in a part. */
static int begin_memory(run *r, rlo__stream_output *o) {
  RLO__EXIT_TRY(rlo__memory_check(r->held_bytes, o->bytes));
  r->held_bytes += o->bytes;
  o->memory = rlo__shared_create((size_t)o->bytes);
  return o->memory == NULL ? RLO__EXIT_FAILURE : RLO__EXIT_OK;
}

/* Opens the part of an output and writes the header. */
static int begin_output(run *r, int32_t n) {
  rlo__stream_output *o = &r->stream->outputs[n];
  char head[RLO__MAX_HEADER_BYTES];
  o->has_part = o->path != NULL && (o->is_forward || rlo__path_why_in_place(o->path) == NULL);
  if (!o->is_dropped && (!o->has_part || r->stream->is_in_memory)) {
    RLO__EXIT_TRY(begin_memory(r, o));
  }
  if (!o->has_part) {
    return RLO__EXIT_OK;
  }
  rlo__output_start start = {
      .head = o->head != NULL ? o->head : head,
      .head_bytes = (size_t)o->head_bytes,
      .has_journal = !r->stream->is_in_memory && rlo__stream_has_journal(r->stream, n),
      .is_resumed = r->stream->options->is_resumed,
      .is_forward = o->is_forward,
  };
  r->can_resume |= start.has_journal;
  if (o->head == NULL) {
    const rlo_digest unknown = RLO_DIGEST_INIT;
    RLO__EXIT_TRY(rlo__array_make_header(o->path, o->shape, o->is_swapped,
                                         r->stream->has_digest ? &unknown : NULL, head,
                                         &start.head_bytes));
  }
  o->part.unfinished.tell = n == 0 ? rlo__stream_words_stop : NULL;
  o->part.unfinished.payload = &r->words;
  RLO__EXIT_TRY(rlo__output_file_begin(o->path, &start, &o->part));
  o->offset_bytes = (int64_t)start.head_bytes;
  /* A job gives its destination the size. */
  int code = rlo__stream_count_jobs(r->stream, n, r->stream->num_jobs) > 0
                 ? RLO__EXIT_OK
                 : rlo__output_file_resize(&o->part, o->offset_bytes + o->bytes);
  if (code == RLO__EXIT_OK && r->stream->num_steps > 0 && start.has_journal) {
    code = rlo__stream_find_notes(r->stream, o);
  }
  if (code != RLO__EXIT_OK && !rlo__output_file_leave(&o->part)) {
    rlo__output_file_abandon(&o->part);
  }
  return code;
}

static int check_outputs(const run *r) {
  const rlo__stream *s = r->stream;
  for (int32_t n = 0; n < s->num_sources; ++n) {
    RLO__EXIT_TRY(rlo__input_file_check_unchanged(&s->sources[n].file));
  }
  RLO__EXIT_TRY(s->is_verified ? verify(r) : RLO__EXIT_OK);
  return s->has_digest ? rlo__stream_finish_digest(s, r->result) : RLO__EXIT_OK;
}

/* Removes the parts that are no outputs, unless they can be resumed. */
static void end_outputs(run *r, int32_t num_begun) {
  /* A changed input spoils it too, unless the jobs were refused for that. */
  r->is_spoilt |= r->result->has_begun && r->result->status == RLO_DATA_LOSS;
  const bool stays = rlo__stream_leave_outputs(r->stream, num_begun, r->is_spoilt);
  if (r->result->stop_signal != 0) {
    rlo__stream_words_end(&r->words, stays);
  } else if (stays && r->result->has_begun) {
    rlo__stream_words_fail(&r->words);
  }
}

/* Makes the parts, runs the jobs and renames the parts to the outputs. */
static int try_parts(run *r, int32_t *num_begun) {
  const rlo__stream *s = r->stream;
  for (; *num_begun < s->num_outputs; ++*num_begun) {
    RLO__EXIT_TRY(begin_output(r, *num_begun));
  }
  rlo__interrupt_set_orderly(r->can_resume ? &r->result->stop_signal : NULL);
  const int ran = run_somewhere(r);
  rlo__interrupt_set_orderly(NULL);
  RLO__EXIT_TRY(ran);
  const int code = check_outputs(r);
  r->is_spoilt = code != RLO__EXIT_OK;
  return r->is_spoilt ? code : rlo__stream_commit_outputs(s, &r->result->digest);
}

int rlo__stream_run_share(rlo__stream *stream, int fd, int64_t offset_bytes,
                          rlo__stream_result *out_result) {
  stream->outputs->part.file.fd = fd;
  stream->outputs->offset_bytes = offset_bytes;
  *out_result = (rlo__stream_result){.info = RLO_JOB_INFO_INIT};
  run r = {.stream = stream, .result = out_result, .before = RLO_JOB_INFO_INIT};
  return run_jobs(&r);
}

static int run_stream(run *r, rlo__stream_result *out_result) {
  r->result = rlo__shared_create(sizeof(*r->result));
  if (r->result == NULL) {
    return RLO__EXIT_FAILURE;
  }
  *r->result = *out_result;
  rlo__stream_words_make(r->stream, &r->result->info, &r->words);
  int32_t num_begun = 0;
  const int code = r->stream->options->is_dry_run ? run_somewhere(r) : try_parts(r, &num_begun);
  end_outputs(r, num_begun);
  *out_result = *r->result;
  rlo__shared_release(r->result, sizeof(*r->result));
  return code;
}

int rlo__stream_do(rlo__stream *stream, rlo__stream_result *out_result) {
  run r = {.stream = stream, .before = RLO_JOB_INFO_INIT};
  *out_result = (rlo__stream_result){.info = RLO_JOB_INFO_INIT};
  RLO__EXIT_TRY(rlo__stream_plan(stream));
  const int code = run_stream(&r, out_result);
  if (!stream->options->is_dry_run) {
    rlo__stream_print_end(stream, out_result, code == RLO__EXIT_OK);
  }
  return code;
}
