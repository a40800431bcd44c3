/* SPDX-License-Identifier: Apache-2.0 */
#include "service/job.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"

/* ----------------------------------------------------------------- one work */

/* Takes all staging memory at once: two jobs never wait for each other's. */
static rlo_status allocate_staging(rlo_job *job) {
  job->staging = rlo__alloc_pages((size_t)job->plan.host_bytes);
  RLO_FAIL_IF(job->staging == NULL, RLO_OUT_OF_MEMORY,
              "the host has no memory for %" PRId64 " bytes of staging memory",
              job->plan.host_bytes);
  return RLO_OK;
}

static rlo_status begin_pass(rlo_job *job) {
  rlo__pipeline_release(job->pipeline);
  return rlo__pipeline_create(&job->plan.passes[job->pass + 1], job->host,
                              job->staging + job->plan.index_bytes, &job->pipeline);
}

/* Reads the indices, unless they are used where they lie. */
static rlo_status read_indices(rlo_job *job) {
  if (job->indices == NULL) {
    return RLO_OK;
  }
  /* Jobs with indices are of one pass. */
  rlo__pass *pass = &job->plan.passes[0];
  pass->indices = job->indices->memory;
  if (job->plan.index_bytes > 0) {
    pass->indices = job->staging;
    RLO_TRY(rlo__storage_read(job->indices, 0, pass->index_bytes, job->staging));
  }
  return RLO_OK;
}

/* A file is not the same any more if it was written to, unless that was the
 * job. */
static rlo_status check_source(const rlo_job *job) {
  rlo__storage_identity dst;
  RLO_TRY(rlo__storage_get_identity(job->dst, &dst));
  return rlo__storage_is_same_file(&job->src_identity, &dst)
             ? RLO_OK
             : rlo__storage_check_identity(job->src, &job->src_identity);
}

static rlo_status start(rlo_job *job) {
  /* A journal was compared with the source as it was then. */
  RLO_TRY(job->journal != NULL ? check_source(job)
                               : rlo__storage_get_identity(job->src, &job->src_identity));
  if (job->src_bytes > rlo__thresholds.service_streamed_bytes) {
    rlo__storage_set_streamed(job->src);
  }
  if (job->dst_bytes > rlo__thresholds.service_streamed_bytes) {
    rlo__storage_set_streamed(job->dst);
  }
  RLO_TRY(rlo__storage_reserve(job->dst, job->dst_bytes));
  RLO_TRY(job->scratch != NULL ? rlo__storage_reserve(job->scratch, job->plan.scratch_bytes)
                               : RLO_OK);
  RLO_TRY(allocate_staging(job));
  RLO_TRY(read_indices(job));
  if (job->journal != NULL) {
    RLO_TRY(rlo__journal_start(job->journal));
  }
  return begin_pass(job);
}

/* Makes durable what is written. */
static rlo_status checkpoint(rlo_job *job) {
  RLO_TRY(check_source(job));
  rlo_storage *written = job->plan.passes[job->pass].storages[RLO__SIDE_DESTINATION];
  return job->journal != NULL ? rlo__journal_checkpoint(job->journal, written)
                              : rlo__storage_flush(written);
}

/* Releases what the job had; its numbers stay. The user's functions may be
 * called here. */
static void release_parts(rlo_job *job) {
  rlo__pipeline_release(job->pipeline);
  job->pipeline = NULL;
  rlo__journal_release(job->journal);
  job->journal = NULL;
  rlo__free_pages(job->staging, (size_t)job->plan.host_bytes);
  job->staging = NULL;
  rlo_storage_release(job->src);
  rlo_storage_release(job->dst);
  rlo_storage_release(job->indices);
  rlo_storage_release(job->scratch);
  job->src = job->dst = job->indices = job->scratch = NULL;
}

static rlo_status do_pass(rlo__job_work *work, rlo__lane *lane) {
  rlo_job *job = work->job;
  rlo_status status = rlo__work_do(job->pipeline, &work->work, lane);
  if (lane != NULL) {
    work->device_bytes = rlo__lane_buffer_bytes(lane);
  }
  if (status == RLO_OK) {
    return RLO_OK;
  }
  if (work->work.slot != NULL) {
    int64_t number = work->work.slot->number;
    status = rlo__status_prefix(status, "piece %" PRId64 " of %" PRId64 ": ", number,
                                rlo__pass_num_pieces(&job->plan.passes[job->pass]));
  } else {
    status =
        rlo__status_prefix(status, "box %" PRId64 " of %" PRId64 ": ", work->work.box->number + 1,
                           job->plan.passes[job->pass].plan.num_boxes);
  }
  return job->plan.num_passes == 1
             ? status
             : rlo__status_prefix(status, "pass %d of %d, ", job->pass + 1, job->plan.num_passes);
}

rlo_status rlo__job_do(rlo__job_work *work, rlo__lane *lane) {
  switch (work->phase) {
    case RLO__PHASE_START:
      return start(work->job);
    case RLO__PHASE_NEXT_PASS:
      return begin_pass(work->job);
    case RLO__PHASE_PASS:
      return do_pass(work, lane);
    case RLO__PHASE_CHECKPOINT:
      return checkpoint(work->job);
    default:
      release_parts(work->job);
      return RLO_OK;
  }
}

/* ------------------------------------------------------------------- phases */

static bool is_to_end(const rlo_job *job) {
  return job->failure.status != RLO_OK || atomic_load(&job->is_cancelled);
}

static bool is_last_pass(const rlo_job *job) {
  return job->pass + 1 == job->plan.num_passes;
}

/* Takes a checkpoint that is due: it is made while others go on with the pass.
 */
static bool take_checkpoint(rlo_job *job, rlo__job_work *out_work) {
  if (job->journal == NULL || !rlo__journal_is_due(job->journal, job->info.bytes_written)) {
    return false;
  }
  rlo__journal_begin_checkpoint(job->journal, job->info.bytes_written);
  out_work->phase = RLO__PHASE_CHECKPOINT;
  return true;
}

static bool take_in_pass(rlo_job *job, int32_t lane_number, rlo__job_work *out_work) {
  bool may_write = lane_number < 0;
  return (may_write && take_checkpoint(job, out_work)) ||
         rlo__pipeline_take(job->pipeline, lane_number, &out_work->work) ||
         /* A store may have found out that it has to wait for one. */
         (may_write && take_checkpoint(job, out_work));
}

static bool take_phase(rlo_job *job, int32_t lane_number) {
  if (job->num_works > 0 || lane_number >= 0) {
    return false;
  }
  if (job->journal != NULL && job->phase == RLO__PHASE_CHECKPOINT) {
    rlo__journal_begin_checkpoint(job->journal, job->info.bytes_written);
  }
  return true;
}

/* Ends a job early. What it has done is made durable before, for one that is
 * resumed. */
static void begin_end(rlo_job *job) {
  if (job->failure.status == RLO_OK) {
    (void)RLO_FAIL(RLO_CANCELLED, "the job was cancelled");
    rlo__status_save(RLO_CANCELLED, &job->failure);
  }
  const bool is_kept = job->journal != NULL && job->phase == RLO__PHASE_PASS;
  job->phase = is_kept ? RLO__PHASE_CHECKPOINT : RLO__PHASE_END;
  job->is_ending = true;
}

bool rlo__job_take(rlo_job *job, int32_t lane_number, rlo__job_work *out_work) {
  if (job->phase < RLO__PHASE_END && !job->is_ending && is_to_end(job)) {
    if (job->num_works > 0) {
      return false;
    }
    begin_end(job);
  }
  if (job->phase == RLO__PHASE_QUEUED || job->phase == RLO__PHASE_ENDED) {
    return false;
  }
  *out_work = (rlo__job_work){.job = job, .phase = job->phase};
  bool is_taken = job->phase == RLO__PHASE_PASS ? take_in_pass(job, lane_number, out_work)
                                                : take_phase(job, lane_number);
  job->num_works += is_taken;
  return is_taken;
}

static void settle_pass(rlo_job *job) {
  job->info.pieces_done = job->pipeline->num_pieces_done;
  for (int32_t n = 0; n < job->pass; ++n) {
    job->info.pieces_done += rlo__pass_num_pieces(&job->plan.passes[n]);
  }
  /* A checkpoint beside the pass comes to its end first. */
  if (rlo__pipeline_has_ended(job->pipeline) && job->num_works == 0) {
    job->phase =
        job->journal != NULL || is_last_pass(job) ? RLO__PHASE_CHECKPOINT : RLO__PHASE_NEXT_PASS;
  }
}

/* The least length of transfers; 0: there were none. */
static int64_t smallest(const rlo_job *job, bool is_write) {
  int64_t least = INT64_MAX;
  for (int32_t n = 0; n < 2 * job->plan.num_passes; ++n) {
    const rlo_storage *storage = job->plan.passes[n / 2].storages[n % 2];
    least = rlo__min(least, atomic_load(&storage->counters[is_write].smallest));
  }
  return least == INT64_MAX ? 0 : least;
}

static void count_work(rlo_job *job, const rlo__job_work *work) {
  rlo_job_info *info = &job->info;
  info->smallest_read = smallest(job, false);
  info->smallest_write = smallest(job, true);
  info->bytes_read += work->work.bytes_read;
  info->source_bytes_read += job->pass == 0 ? work->work.bytes_read : 0;
  info->bytes_written += work->work.bytes_written;
  info->device_bytes_peak = rlo__max(info->device_bytes_peak, work->device_bytes);
  for (int32_t n = 0; n < RLO_STAGE_COUNT; ++n) {
    info->stage_seconds[n] += work->work.seconds[n];
  }
}

/* Ends a work of a pass, which may have been the last one of its box. */
static rlo_status end_pass_work(rlo_job *job, const rlo__job_work *work, rlo_status status) {
  rlo__pipeline *pipeline = job->pipeline;
  const rlo__box *box = work->work.box;
  int64_t num_boxes_before = pipeline->num_boxes_done;
  count_work(job, work);
  RLO_TRY(rlo__pipeline_end_work(pipeline, &work->work, status));
  if (job->journal != NULL && pipeline->num_boxes_done > num_boxes_before) {
    rlo__journal_add(job->journal, job->pass, box->number, box->bytes_moved);
  }
  return RLO_OK;
}

void rlo__job_end_work(rlo__job_work *work, rlo_status status) {
  rlo_job *job = work->job;
  --job->num_works;
  if (work->phase == RLO__PHASE_PASS) {
    status = end_pass_work(job, work, status);
  }
  if (status != RLO_OK) {
    if (job->failure.status == RLO_OK) {
      rlo__status_save(status, &job->failure);
    }
    job->phase = job->is_ending ? RLO__PHASE_END : job->phase;
    return;
  }
  switch (work->phase) {
    case RLO__PHASE_CHECKPOINT:
      if (job->journal != NULL) {
        rlo__journal_end_checkpoint(job->journal);
      }
      if (job->phase == RLO__PHASE_CHECKPOINT) {
        job->phase = job->is_ending || is_last_pass(job) ? RLO__PHASE_END : RLO__PHASE_NEXT_PASS;
        break;
      }
      settle_pass(job);
      break;
    case RLO__PHASE_END:
      job->phase = RLO__PHASE_ENDED;
      job->end_seconds = rlo__clock_seconds();
      break;
    default:
      if (work->phase != RLO__PHASE_PASS) {
        ++job->pass;
        job->phase = RLO__PHASE_PASS;
      }
      settle_pass(job);
      break;
  }
}

/* -------------------------------------------------------------- information */

rlo_job_state rlo__job_get_state(const rlo_job *job) {
  switch (job->phase) {
    case RLO__PHASE_QUEUED:
      return RLO_JOB_QUEUED;
    case RLO__PHASE_CHECKPOINT:
      return is_last_pass(job) ? RLO_JOB_FINISHING : RLO_JOB_RUNNING;
    case RLO__PHASE_END:
      return RLO_JOB_FINISHING;
    case RLO__PHASE_ENDED:
      return job->failure.status == RLO_OK          ? RLO_JOB_DONE
             : job->failure.status == RLO_CANCELLED ? RLO_JOB_CANCELLED
                                                    : RLO_JOB_FAILED;
    default:
      return RLO_JOB_RUNNING;
  }
}

rlo_job_info rlo__job_get_info(const rlo_job *job) {
  rlo_job_info info = job->info;
  info.state = rlo__job_get_state(job);
  info.status = job->failure.status;
  info.pass = (int32_t)rlo__max(1, job->pass + 1);
  info.bytes_done =
      info.state == RLO_JOB_DONE
          ? info.bytes_total
          : rlo__min(info.bytes_total, info.bytes_resumed + info.bytes_read + info.bytes_written);
  bool has_ended = job->phase == RLO__PHASE_ENDED;
  if (job->begin_seconds > 0) {
    info.host_bytes_peak = job->plan.host_bytes;
    info.seconds = (has_ended ? job->end_seconds : rlo__clock_seconds()) - job->begin_seconds;
  }
  /* Before, the first pieces say little. */
  const double known_after_seconds = 2.0;
  int64_t bytes_now = info.bytes_done - info.bytes_resumed;
  bool is_known = info.seconds >= known_after_seconds && bytes_now != 0;
  info.seconds_left =
      has_ended  ? 0
      : is_known ? info.seconds * (double)(info.bytes_total - info.bytes_done) / (double)bytes_now
                 : -1;
  return info;
}

void rlo__job_free(rlo_job *job) {
  if (job != NULL) {
    release_parts(job);
    rlo__free(job);
  }
}
