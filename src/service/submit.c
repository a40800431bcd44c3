/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/status.h"
#include "service/job_plan.h"
#include "service/service.h"
#include "service/storage.h"

/** Raised whenever an equal plan would give its boxes other numbers or other
 *  contents. */
enum { PLANNER_VERSION = 1 };

/** Memory that devices use where it lies begins at a multiple of the widest
 *  unit. */
enum { DEVICE_ALIGNMENT = RLO_MAX_UNIT_BITS / 8 };

/* ----------------------------------------------------------------- estimate */

/* Reads the traits of a side; NULL: memory. */
static rlo_status read_side(const rlo_storage_traits *traits, int64_t bytes, rlo__problem_side side,
                            rlo__job_setting *setting) {
  rlo_storage_traits *read = &setting->traits[side];
  *read = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  read->bytes = bytes;
  RLO_TRY(rlo__storage_read_traits(traits, read));
  setting->is_in_memory[side] = traits == NULL && bytes <= setting->limits.max_buffer_bytes;
  return RLO_OK;
}

static rlo_job_estimate fill_estimate(const rlo__job_plan *plan, const rlo__job_setting *setting) {
  rlo_job_estimate made = RLO_JOB_ESTIMATE_INIT;
  made.num_passes = plan->num_passes;
  made.host_bytes = plan->host_bytes;
  made.device_bytes = plan->device_bytes;
  made.scratch_bytes = plan->scratch_bytes;
  made.source_bytes_read = plan->passes[0].plan.bytes_read;
  const int64_t given = setting->options.host_memory_bytes;
  made.budget_bytes = given != 0 ? given : plan->settings.host_bytes;
  double time = 0;
  for (int32_t n = 0; n < plan->num_passes; ++n) {
    const rlo__pass *pass = &plan->passes[n];
    const rlo__piece_plan *p = &pass->plan;
    const int64_t good[2] = {pass->is_in_memory[0] ? 0 : setting->traits[0].good_read_bytes,
                             pass->is_in_memory[1] ? 0 : setting->traits[1].good_write_bytes};
    made.num_pieces += rlo__pass_num_pieces(pass);
    made.bytes_read += p->bytes_read;
    made.bytes_written += p->bytes_written;
    made.read_run_bytes =
        n == 0 ? p->read_run_bytes : rlo__min(made.read_run_bytes, p->read_run_bytes);
    made.write_run_bytes =
        n == 0 ? p->write_run_bytes : rlo__min(made.write_run_bytes, p->write_run_bytes);
    time += rlo__piece_plan_cost(p, good);
  }
  double copy =
      (double)plan->passes[0].plan.bytes_read + (double)plan->passes[0].plan.bytes_written;
  made.expected_fraction = time > 0 ? copy / time : 1.0;
  return made;
}

/* Checks the scratch that two passes may have of their own; NULL: they have none. */
static rlo_status check_scratch(const rlo_storage *scratch, const rlo_storage *src,
                                const rlo_storage *dst, rlo__job_setting *setting) {
  if (scratch == NULL) {
    return RLO_OK;
  }
  RLO_FAIL_IF(
      scratch == src || scratch == dst || scratch->is_write_only || scratch->traits.is_read_only,
      RLO_INVALID_ARGUMENT,
      "the scratch of a job is a storage of its own that can be read and written");
  setting->scratch = &scratch->traits;
  return RLO_OK;
}

/* Sides in memory are used there, as is_usable_memory() has it. */
static rlo_status estimate(const rlo__service_limits *limits, const rlo_problem *problem,
                           const rlo_storage_traits *src, const rlo_storage_traits *dst,
                           const rlo_job_options *job_options, rlo_job_estimate *out_estimate) {
  rlo__job_setting setting = {.limits = *limits};
  RLO_TRY(rlo__job_options_read(job_options, &setting.options));
  RLO_TRY(read_side(src, problem->src_bytes, RLO__SIDE_SOURCE, &setting));
  RLO_TRY(read_side(dst, problem->dst_bytes, RLO__SIDE_DESTINATION, &setting));
  setting.are_indices_in_memory =
      setting.options.indices != NULL && setting.options.indices->memory != NULL;
  RLO_TRY(check_scratch(setting.options.scratch, NULL, NULL, &setting));
  rlo__job_plan *plan = rlo__alloc(sizeof *plan);
  RLO_TRY_MEMORY(plan);
  rlo_status status = RLO_OK;
  rlo__journal *journal = NULL;
  if (setting.options.journal_path != NULL) {
    RLO_TRY_GOTO(rlo__journal_open(setting.options.journal_path, false, &journal));
    setting.resumed = rlo__journal_get_settings(journal);
  }
  RLO_TRY_GOTO(rlo__job_plan_make(problem, &setting, plan));
  rlo_job_estimate made = fill_estimate(plan, &setting);
  status =
      rlo__report_write("job estimate", "RLO_JOB_ESTIMATE_INIT", &made, out_estimate, sizeof made);
fail:
  rlo__journal_release(journal);
  rlo__free(plan);
  return status;
}

rlo_status rlo_job_estimate_make(const rlo_problem *problem, const rlo_storage_traits *src,
                                 const rlo_storage_traits *dst,
                                 const rlo_service_options *service_options,
                                 const rlo_job_options *job_options,
                                 rlo_job_estimate *out_estimate) {
  RLO_REQUIRE(problem, out_estimate);
  rlo__service_limits limits = {.max_buffer_bytes = INT64_MAX};
  RLO_TRY(rlo__service_options_read(service_options, 0, &limits.options));
  return estimate(&limits, problem, src, dst, job_options, out_estimate);
}

rlo_status rlo_service_estimate(const rlo_service *service, const rlo_problem *problem,
                                const rlo_storage_traits *src, const rlo_storage_traits *dst,
                                const rlo_job_options *job_options,
                                rlo_job_estimate *out_estimate) {
  RLO_REQUIRE(service, problem, out_estimate);
  return estimate(&service->limits, problem, src, dst, job_options, out_estimate);
}

/* --------------------------------------------------------------- submission */

static bool overlap(const rlo_storage *a, int64_t a_bytes, const rlo_storage *b, int64_t b_bytes) {
  uintptr_t from = (uintptr_t)a->memory;
  uintptr_t to = (uintptr_t)b->memory;
  return a->memory != NULL && b->memory != NULL && from < to + (uintptr_t)b_bytes &&
         to < from + (uintptr_t)a_bytes;
}

static rlo_status check_storages(const rlo_problem *problem, const rlo_storage *src,
                                 const rlo_storage *dst) {
  RLO_FAIL_IF(src == dst, RLO_INVALID_ARGUMENT, "the source and the destination are one storage");
  RLO_FAIL_IF(overlap(src, problem->src_bytes, dst, problem->dst_bytes), RLO_INVALID_ARGUMENT,
              "the source and the destination overlap in memory");
  RLO_FAIL_IF(src->is_write_only, RLO_INVALID_ARGUMENT,
              "the source is a storage that can only be written");
  return RLO_OK;
}

static rlo_status check_indices(const rlo_problem *problem, const rlo_storage *indices,
                                const rlo_storage *dst) {
  RLO_FAIL_IF(indices->traits.bytes < problem->index_bytes, RLO_OUT_OF_RANGE,
              "the indices have %" PRId64 " bytes; the problem loads %" PRId64,
              indices->traits.bytes, problem->index_bytes);
  RLO_FAIL_IF(indices->is_write_only, RLO_INVALID_ARGUMENT,
              "the indices are a storage that can only be written");
  RLO_FAIL_IF(indices == dst || overlap(indices, problem->index_bytes, dst, problem->dst_bytes),
              RLO_INVALID_ARGUMENT, "the indices and the destination overlap in memory");
  return RLO_OK;
}

/* Tells if a side of so many bytes can be used where it lies in memory. For a
 * device a piece of it is one buffer, which is as long as the piece is spread:
 * maybe all of the side. What is larger than a buffer is staged as a file is.
 */
static bool is_usable_memory(const rlo_service *service, const rlo_storage *storage,
                             int64_t bytes) {
  return storage->memory != NULL &&
         (service->limits.num_lanes == 0 || ((uintptr_t)storage->memory % DEVICE_ALIGNMENT == 0 &&
                                             bytes <= service->limits.max_buffer_bytes));
}

/* Opens the journal, if the job has one, for planning. */
static rlo_status open_journal(rlo__job_setting *setting, const rlo_storage *dst, rlo_job *job) {
  const char *path = setting->options.journal_path;
  if (path == NULL) {
    return RLO_OK;
  }
  RLO_FAIL_IF(dst->kind->flush == NULL, RLO_INVALID_ARGUMENT,
              "the destination of a job with a journal is memory, which nothing outlives; a file, "
              "or functions");
  RLO_FAIL_IF(setting->scratch != NULL && setting->options.scratch->kind->flush == NULL,
              RLO_INVALID_ARGUMENT,
              "the scratch of a job with a journal is memory, which nothing outlives; a file, or "
              "functions");
  RLO_TRY(rlo__journal_open(path, true, &job->journal));
  setting->resumed = rlo__journal_get_settings(job->journal);
  return RLO_OK;
}

/* Adds what identifies a storage, without the device of a file: its number may
 * change when the machine starts. */
static void hash_file(rlo__hash *hash, const rlo__storage_identity *identity) {
  rlo__hash_u64(hash, identity->inode);
  rlo__hash_i64(hash, identity->offset);
}

/* Adds the bytes of what is read, or when they were changed last. */
static void hash_source(rlo__hash *hash, const rlo__storage_identity *identity) {
  hash_file(hash, identity);
  rlo__hash_i64(hash, identity->bytes);
  rlo__hash_i64(hash, identity->modified_nanos);
  rlo__hash_u64(hash, identity->number);
}

static rlo_status hash_indices(rlo__hash *hash, const rlo_job *job) {
  if (job->indices == NULL) {
    return RLO_OK;
  }
  rlo__storage_identity identity;
  RLO_TRY(rlo__storage_get_identity(job->indices, &identity));
  hash_source(hash, &identity);
  if (job->indices->memory != NULL) {
    rlo__hash_bytes(hash, job->indices->memory, (size_t)job->plan.passes[0].index_bytes);
  }
  return RLO_OK;
}

static void hash_plan(rlo__hash *hash, const rlo__piece_plan *plan) {
  rlo__hash_u64(hash, rlo_problem_hash(&plan->problem));
  rlo__hash_i64(hash, plan->problem.dst_bytes);
  rlo__hash_i64(hash, plan->gathered);
  rlo__hash_i64(hash, plan->num_boxes);
  rlo__hash_i64(hash, plan->num_pieces);
  for (int32_t a = 0; a < plan->problem.num_axes; ++a) {
    rlo__hash_i64(hash, plan->box[a]);
    rlo__hash_i64(hash, plan->piece[a]);
    rlo__hash_i64(hash, plan->band[a]);
  }
}

/* Compares the journal with the job as it is planned. */
static rlo_status fit_journal(const char *path, const rlo_problem *problem, rlo_job *job) {
  rlo__job_plan *plan = &job->plan;
  rlo__storage_identity dst;
  rlo__storage_identity scratch = {.is_file = false};
  RLO_TRY(rlo__storage_get_identity(job->src, &job->src_identity));
  RLO_TRY(rlo__storage_get_identity(job->dst, &dst));
  RLO_TRY(job->scratch != NULL ? rlo__storage_get_identity(job->scratch, &scratch) : RLO_OK);
  RLO_FAIL_IF(rlo__storage_is_same_file(&job->src_identity, &dst), RLO_UNSUPPORTED,
              "the source and the destination are parts of one file: a journal could not tell "
              "whether the source has changed");
  rlo__hash hash = rlo__hash_init(PLANNER_VERSION);
  rlo__journal_subject subject = {.settings = plan->settings};
  RLO_TRY(hash_indices(&hash, job));
  hash_source(&hash, &job->src_identity);
  hash_file(&hash, &dst);
  if (job->scratch != NULL) {
    hash_file(&hash, &scratch);
  }
  rlo__hash_i64(&hash, job->service->limits.copies);
  for (int32_t n = 0; n < plan->num_passes; ++n) {
    hash_plan(&hash, &plan->passes[n].plan);
    subject.num_boxes[n] = plan->passes[n].plan.num_boxes;
    plan->passes[n].journal = job->journal;
    plan->passes[n].number = n;
  }
  subject.hash = rlo__hash_finish(&hash);
  RLO_TRY(rlo__journal_fit(job->journal, &subject));
  /* The file was reserved before the journal was created. One that is shorter
   * has been made since, even if its number is the same. */
  const bool is_shorter = (dst.is_file && dst.bytes < problem->dst_bytes) ||
                          (scratch.is_file && scratch.bytes < plan->scratch_bytes);
  if (rlo__journal_get_settings(job->journal) != NULL && is_shorter) {
    return rlo__journal_fail_other(path);
  }
  job->info.bytes_resumed =
      rlo__min(job->info.bytes_total, rlo__journal_bytes_resumed(job->journal));
  return RLO_OK;
}

/* Jobs of the process so far, from 1. */
static atomic_uint_fast64_t num_submitted = 1;

static rlo_status fill_job(rlo_service *service, const rlo_problem *problem, rlo_storage *src,
                           rlo_storage *dst, const rlo_job_options *options, rlo_job *job) {
  rlo__job_plan *plan = &job->plan;
  rlo__job_setting setting = {.limits = service->limits,
                              .traits = {src->traits, dst->traits},
                              .is_in_memory = {is_usable_memory(service, src, problem->src_bytes),
                                               is_usable_memory(service, dst, problem->dst_bytes)}};
  RLO_TRY(rlo__job_options_read(options, &setting.options));
  RLO_TRY(check_storages(problem, src, dst));
  rlo_storage *indices = rlo_problem_loads(problem) ? setting.options.indices : NULL;
  if (indices != NULL) {
    RLO_TRY(check_indices(problem, indices, dst));
    setting.are_indices_in_memory = is_usable_memory(service, indices, problem->index_bytes);
    job->indices = rlo_storage_retain(indices);
  }
  RLO_TRY(check_scratch(setting.options.scratch, src, dst, &setting));
  if (dst->is_write_only) {
    /* Two passes read what they have written. */
    setting.options.scratch_bytes = 0;
  }
  RLO_TRY(open_journal(&setting, dst, job));
  RLO_TRY(rlo__job_plan_make(problem, &setting, plan));
  job->pass = -1;
  job->info = (rlo_job_info)RLO_JOB_INFO_INIT;
  job->info.num_passes = plan->num_passes;
  job->scratch = plan->num_passes > 1 ? rlo_storage_retain(setting.options.scratch) : NULL;
  rlo_storage *mid = job->scratch != NULL ? job->scratch : dst;
  for (int32_t n = 0; n < plan->num_passes; ++n) {
    rlo__pass *pass = &plan->passes[n];
    pass->storages[RLO__SIDE_SOURCE] = n == 0 ? src : mid;
    pass->storages[RLO__SIDE_DESTINATION] = n + 1 == plan->num_passes ? dst : mid;
    pass->watch = n + 1 == plan->num_passes ? setting.options.watch : NULL;
    pass->watch_payload = setting.options.watch_payload;
    job->info.num_pieces += rlo__pass_num_pieces(pass);
    job->info.bytes_total += pass->plan.bytes_read + pass->plan.bytes_written;
  }
  job->service = service;
  job->host = service->host;
  job->priority = setting.options.priority;
  plan->passes[0].index_number = atomic_fetch_add(&num_submitted, 1);
  job->src_bytes = problem->src_bytes;
  job->dst_bytes = problem->dst_bytes + (job->scratch != NULL ? 0 : plan->scratch_bytes);
  job->src = rlo_storage_retain(src);
  job->dst = rlo_storage_retain(dst);
  atomic_init(&job->is_cancelled, false);
  return job->journal == NULL ? RLO_OK : fit_journal(setting.options.journal_path, problem, job);
}

rlo_status rlo_service_submit(rlo_service *service, const rlo_problem *problem, rlo_storage *src,
                              rlo_storage *dst, const rlo_job_options *options, rlo_job **out_job) {
  RLO_REQUIRE(out_job);
  *out_job = NULL;
  RLO_REQUIRE(service, problem, src, dst);
  RLO_TRY(rlo__service_check_process(service));
  rlo_job *job = rlo__alloc(sizeof *job);
  RLO_TRY_MEMORY(job);
  rlo_status status = fill_job(service, problem, src, dst, options, job);
  if (status == RLO_OK) {
    rlo__mutex_lock(&service->mutex);
    job->num_references = 1;
    ++service->num_references;
    status = rlo__service_add(service, job);
    service->num_references -= status != RLO_OK;
    rlo__mutex_unlock(&service->mutex);
  }
  if (status != RLO_OK) {
    rlo__job_free(job);
    return status;
  }
  *out_job = job;
  return RLO_OK;
}
