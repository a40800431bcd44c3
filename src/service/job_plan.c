/* SPDX-License-Identifier: Apache-2.0 */
#include "service/job_plan.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/available.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"
#include "ir/update.h"
#include "ir/validate.h"

enum {
  DEFAULT_IO_THREADS = 8,
  DEFAULT_JOBS_OF_CONTEXT = 2,
  /** Read, running or to be written, for each context; besides those that
   *  threads read and write. */
  SLOTS_OF_LANE = 2
};

/* ------------------------------------------------------------------ options */

/* A quarter of what is available; where that is little, half of it. */
static int64_t default_host_bytes(void) {
  const int64_t available = rlo__available_bytes("");
  const int64_t least = rlo__thresholds.service_least_host_bytes;
  const int64_t wanted = rlo__max(available / 4, rlo__min(least, available / 2));
  return rlo__max(rlo__min(least, RLO_SERVICE_MIN_HOST_BYTES),
                  rlo__min(rlo__thresholds.service_most_host_bytes, wanted));
}

static rlo_status check_range(const char *name, int64_t value, int64_t least, int64_t most) {
  RLO_FAIL_IF(value < 0, RLO_INVALID_ARGUMENT, "%s is %" PRId64 ", below 0", name, value);
  RLO_FAIL_IF(value != 0 && (value < least || value > most), RLO_OUT_OF_RANGE,
              "%s is %" PRId64 "; %" PRId64 " to %" PRId64 ", or 0 for the default", name, value,
              least, most);
  return RLO_OK;
}

rlo_status rlo__service_options_read(const rlo_service_options *options, int32_t num_contexts,
                                     rlo_service_options *out_options) {
  rlo_service_options read = RLO_SERVICE_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("service options", "RLO_SERVICE_OPTIONS_INIT", options, &read,
                            sizeof read));
  RLO_TRY(check_range("host_memory_bytes", read.host_memory_bytes, RLO_SERVICE_MIN_HOST_BYTES,
                      INT64_MAX));
  RLO_TRY(check_range("device_memory_bytes", read.device_memory_bytes, RLO_SERVICE_MIN_DEVICE_BYTES,
                      INT64_MAX));
  RLO_TRY(check_range("io_threads", read.io_threads, 1, RLO__MAX_IO_THREADS));
  RLO_TRY(check_range("max_running_jobs", read.max_running_jobs, 1, INT32_MAX));
  if (read.host_memory_bytes == 0) {
    read.host_memory_bytes = default_host_bytes();
  }
  if (read.device_memory_bytes == 0) {
    read.device_memory_bytes = rlo__thresholds.service_device_bytes;
  }
  if (read.io_threads == 0) {
    read.io_threads = DEFAULT_IO_THREADS;
  }
  if (read.max_running_jobs == 0) {
    read.max_running_jobs =
        (int32_t)rlo__max(DEFAULT_JOBS_OF_CONTEXT, (int64_t)DEFAULT_JOBS_OF_CONTEXT * num_contexts);
  }
  *out_options = read;
  return RLO_OK;
}

rlo_status rlo__job_options_read(const rlo_job_options *options, rlo_job_options *out_options) {
  rlo_job_options read = RLO_JOB_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("job options", "RLO_JOB_OPTIONS_INIT", options, &read, sizeof read));
  RLO_FAIL_IF(read.priority < -1 || read.priority > 1, RLO_INVALID_ARGUMENT,
              "priority is %" PRId32 "; -1, 0 or 1", read.priority);
  RLO_TRY(check_range("host_memory_bytes", read.host_memory_bytes, 1, INT64_MAX));
  RLO_FAIL_IF(read.passes < 0 || read.passes > RLO__MAX_PASSES, RLO_INVALID_ARGUMENT,
              "passes is %" PRId32 "; 1 or 2, or 0 for as many as are faster", read.passes);
  RLO_TRY(check_range("scratch_bytes", read.scratch_bytes, 1, INT64_MAX));
  *out_options = read;
  return RLO_OK;
}

/* ----------------------------------------------------------------- planning */

static rlo_status check_side(const char *name, int64_t bytes, const rlo_storage_traits *traits) {
  RLO_FAIL_IF(traits->bytes < bytes, RLO_OUT_OF_RANGE,
              "the %s has %" PRId64 " bytes; the problem needs %" PRId64, name, traits->bytes,
              bytes);
  return RLO_OK;
}

static int64_t index_bytes_of(const rlo_problem *problem) {
  return rlo_problem_loads(problem) ? problem->index_bytes : 0;
}

/* Takes over the numbers of a job that began earlier: today's may be others,
 * since the default depends on the memory that is free. */
static rlo_status get_resumed_settings(const rlo__job_setting *setting, int64_t scratch_bytes,
                                       rlo__journal_settings *out) {
  const rlo_job_options *wanted = &setting->options;
  *out = *setting->resumed;
  RLO_FAIL_IF(
      (wanted->passes != 0 && wanted->passes != out->passes) || scratch_bytes < out->scratch_bytes,
      RLO_INVALID_ARGUMENT,
      "the journal \"%s\" is of a job with %" PRId64 " passes and %" PRId64
      " bytes of scratch; this one wants %" PRId32 " and %" PRId64,
      wanted->journal_path, out->passes, out->scratch_bytes, wanted->passes, scratch_bytes);
  return RLO_OK;
}

/* Gets the numbers that the job is planned with. */
static rlo_status get_settings(const rlo_problem *problem, const rlo__job_setting *setting,
                               rlo__journal_settings *out) {
  const rlo__service_limits *limits = &setting->limits;
  const rlo_job_options *options = &setting->options;
  const int64_t behind = setting->traits[RLO__SIDE_DESTINATION].bytes - problem->dst_bytes;
  const int64_t scratch =
      setting->scratch != NULL ? setting->scratch->bytes : rlo__min(options->scratch_bytes, behind);
  if (setting->resumed != NULL) {
    return get_resumed_settings(setting, scratch, out);
  }
  int64_t most = limits->options.host_memory_bytes;
  int64_t device_bytes = limits->options.device_memory_bytes - index_bytes_of(problem);
  RLO_FAIL_IF(options->host_memory_bytes > most, RLO_OUT_OF_RANGE,
              "the job wants %" PRId64 " bytes of host memory; the service has %" PRId64,
              options->host_memory_bytes, most);
  *out = (rlo__journal_settings){
      .host_bytes = options->host_memory_bytes != 0 ? options->host_memory_bytes
                                                    : most / limits->options.max_running_jobs,
      .piece_bytes = rlo__min(limits->max_buffer_bytes,
                              limits->copies ? rlo__max(1, device_bytes) / 2 : INT64_MAX),
      /* Without copies a device sees a box, or much of it, as one buffer. */
      .box_bytes = limits->copies ? INT64_MAX : limits->max_buffer_bytes,
      .num_slots = limits->options.io_threads + SLOTS_OF_LANE * limits->num_lanes,
      .passes = options->passes,
      .scratch_bytes = scratch};
  if (options->journal_path != NULL) {
    out->box_bytes = rlo__min(out->box_bytes, rlo__thresholds.service_journaled_box_bytes);
  }
  return RLO_OK;
}

static void count_whole(const rlo_problem *problem, rlo__piece_plan *plan) {
  *plan = (rlo__piece_plan){.gathered = RLO__SIDE_DESTINATION,
                            .num_boxes = 1,
                            .num_pieces = 1,
                            .read_run_bytes = problem->read_bytes,
                            .write_run_bytes = problem->written_bytes,
                            .bytes_read = problem->read_bytes,
                            .bytes_written = problem->written_bytes};
  plan->problem = *problem;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    plan->box[a] = plan->piece[a] = problem->extents[a];
  }
}

/* Checks what a problem that loads or reads its destination needs. */
static rlo_status check_problem(const rlo_problem *problem, const rlo__job_setting *setting) {
  RLO_TRY(rlo__problem_validate(problem));
  const rlo_job_options *options = &setting->options;
  RLO_FAIL_IF(options->indices == NULL && index_bytes_of(problem) > 0, RLO_UNSUPPORTED,
              "the problem loads %" PRId64 " bytes of indices; the job's options have none",
              problem->index_bytes);
  RLO_FAIL_IF(options->journal_path != NULL && rlo_problem_reads_cells(problem), RLO_UNSUPPORTED,
              "the problem adds to its destination: a job that is resumed by the journal \"%s\" "
              "would add some of it twice",
              options->journal_path);
  return RLO_OK;
}

/* Both sides are in memory and used there: as without a service. */
static void plan_in_place(const rlo_problem *problem, const rlo__job_setting *setting,
                          rlo__pass *pass) {
  count_whole(problem, &pass->plan);
  pass->staging.num_boxes = pass->staging.num_slots = 1;
  if (setting->limits.num_lanes == 0) {
    int64_t threads = rlo__min(rlo__thread_processors(), setting->limits.options.io_threads);
    int64_t bytes = rlo__max(problem->read_bytes, problem->written_bytes);
    /* Each thread has as many, if it is worth while to have several. */
    int64_t rounds = rlo__ceil_div(bytes, rlo__thresholds.service_share_bytes * threads);
    pass->num_shares = (int32_t)rlo__max(
        1, rlo__min(rounds * threads, bytes / rlo__thresholds.service_least_share_bytes));
    pass->staging.num_slots = (int32_t)rlo__min(threads, pass->num_shares);
  }
}

/* Makes two passes of one. The pieces of the second are copies, and start and
 * end on the host; with an intermediate, of which nothing is anybody's, those of both. */
static void take_two(const rlo__piece_plan plans[2], rlo__job_plan *out) {
  out->num_passes = 2;
  out->scratch_bytes = plans[0].shift_bytes;
  out->passes[1] = out->passes[0];
  out->passes[0].plan = plans[0];
  out->passes[1].plan = plans[1];
  out->passes[1].num_lanes = 0;
  out->passes[1].copies = false;
  if (!plans[0].is_tiled[RLO__SIDE_DESTINATION]) {
    out->passes[0].num_lanes = 0;
    out->passes[0].copies = false;
    out->passes[0].is_new_destination = true;
  }
}

/* Plans two passes: through the destination, else an intermediate where the source has
 * chunks, of more than a unit. */
static rlo_status plan_two(const rlo_problem *problem, const rlo__job_setting *setting,
                           const rlo__piece_budget *budget, rlo__piece_plan two[2],
                           bool *out_is_between) {
  const rlo_storage_traits *src = &setting->traits[RLO__SIDE_SOURCE];
  const rlo_storage_traits *dst = &setting->traits[RLO__SIDE_DESTINATION];
  const bool is_behind = setting->scratch == NULL;
  *out_is_between = false;
  if (is_behind) {
    const rlo_status status = rlo__piece_plan_make_two(problem, src, dst, budget, two);
    if (status == RLO_OK || src->granule_bytes <= RLO_MAX_UNIT_BITS / 8) {
      return status;
    }
  }
  *out_is_between = true;
  return rlo__piece_plan_make_between(problem, src, dst, is_behind ? dst : setting->scratch,
                                      is_behind ? problem->dst_bytes : 0, budget, two);
}

/* Plans one pass or two: those that are asked for, or the faster. With an intermediate
 * these are those that move fewer bytes, since what is read again is decoded again. */
static rlo_status choose_passes(const rlo_problem *problem, const rlo__job_setting *setting,
                                int64_t wanted, const rlo__piece_budget *budget,
                                rlo__job_plan *out) {
  const rlo_storage_traits *src = &setting->traits[RLO__SIDE_SOURCE];
  const rlo_storage_traits *dst = &setting->traits[RLO__SIDE_DESTINATION];
  rlo__piece_plan *one = &out->passes[0].plan;
  if (wanted == 1 || (wanted == 0 && (budget->is_memory[0] || budget->is_memory[1] ||
                                      budget->scratch_bytes == 0 || dst->is_forward))) {
    return rlo__piece_plan_make(problem, src, dst, budget, one);
  }
  rlo__piece_plan *two = rlo__alloc_array(2, sizeof *two);
  RLO_TRY_MEMORY(two);
  bool is_between;
  rlo_status status = plan_two(problem, setting, budget, two, &is_between);
  bool is_better = status == RLO_OK;
  if (wanted == 0) {
    const int64_t good[2] = {is_between ? 0 : src->good_read_bytes,
                             is_between ? 0 : dst->good_write_bytes};
    status = rlo__piece_plan_make(problem, src, dst, budget, one);
    is_better = is_better && (status != RLO_OK ||
                              rlo__piece_plans_cost(two, good) < rlo__piece_plan_cost(one, good));
  }
  if (is_better) {
    take_two(two, out);
    status = RLO_OK;
  }
  rlo__free(two);
  return status;
}

/* Plans for the budget, of which `host_bytes` are used: a job that is resumed may
 * have less than it began with. */
static rlo_status plan_passes(const rlo_problem *problem, const rlo__job_setting *setting,
                              int64_t wanted, rlo__piece_budget budget, int64_t host_bytes,
                              rlo__job_plan *out) {
  RLO_TRY(choose_passes(problem, setting, wanted, &budget, out));
  budget.host_bytes = host_bytes;
  for (int32_t n = 0; n < out->num_passes; ++n) {
    rlo__pass *pass = &out->passes[n];
    if (pass->plan.is_of_chunks) {
      pass->num_lanes = 0;
      pass->copies = false;
    }
    budget.copies = pass->copies;
    pass->staging = rlo__piece_plan_staging(&pass->plan, &budget);
    if (pass->staging.bytes > host_bytes && pass->staging.num_boxes > 1) {
      /* It does with one box at a time. */
      pass->staging.num_boxes = 1;
      pass->staging.bytes -= pass->staging.box_bytes;
    }
    out->host_bytes = rlo__max(out->host_bytes, pass->staging.bytes);
  }
  return RLO_OK;
}

rlo_status rlo__job_plan_make(const rlo_problem *problem, const rlo__job_setting *setting,
                              rlo__job_plan *out) {
  RLO_TRY(check_problem(problem, setting));
  RLO_TRY(check_side("source", problem->src_bytes, &setting->traits[RLO__SIDE_SOURCE]));
  RLO_TRY(check_side("destination", problem->dst_bytes, &setting->traits[RLO__SIDE_DESTINATION]));
  RLO_FAIL_IF(setting->traits[RLO__SIDE_DESTINATION].is_read_only, RLO_INVALID_ARGUMENT,
              "the destination is a storage that can only be read");
  const rlo__service_limits *limits = &setting->limits;
  const int64_t index_bytes = index_bytes_of(problem);
  rlo__pass *pass = &out->passes[0];
  out->num_passes = 1;
  out->host_bytes = out->device_bytes = out->scratch_bytes = 0;
  out->index_bytes = 0;
  RLO_TRY(get_settings(problem, setting, &out->settings));
  const int64_t host_bytes = setting->options.host_memory_bytes != 0
                                 ? setting->options.host_memory_bytes
                                 : out->settings.host_bytes;
  *pass = (rlo__pass){.is_in_memory = {setting->is_in_memory[0] && !limits->copies,
                                       setting->is_in_memory[1] && !limits->copies},
                      .is_new_destination = setting->options.is_new_destination ||
                                            setting->traits[RLO__SIDE_DESTINATION].is_forward,
                      .num_lanes = limits->num_lanes,
                      .index_bytes = index_bytes,
                      .copies = limits->copies};
  bool is_in_place = pass->is_in_memory[0] && pass->is_in_memory[1];
  bool is_empty = rlo_problem_is_empty(problem);
  if (!setting->are_indices_in_memory && !is_empty &&
      !rlo__round_up(index_bytes, RLO__STAGING_ALIGNMENT, &out->index_bytes)) {
    return rlo__fail_overflow("the memory of the indices");
  }
  if (is_in_place && limits->num_lanes <= 1 && !is_empty) {
    plan_in_place(problem, setting, pass);
  } else {
    const rlo__journal_settings *settings = &out->settings;
    const rlo__piece_budget budget = {
        .host_bytes = settings->host_bytes - out->index_bytes,
        .index_bytes = out->index_bytes,
        .alignment_bytes = RLO__STAGING_ALIGNMENT,
        .piece_bytes = settings->piece_bytes,
        .box_bytes = settings->box_bytes,
        /* In place threads have nothing to transfer. */
        .num_slots = is_in_place ? SLOTS_OF_LANE * limits->num_lanes : (int32_t)settings->num_slots,
        .is_memory = {pass->is_in_memory[0], pass->is_in_memory[1]},
        .copies = limits->copies,
        .scratch_bytes = settings->scratch_bytes};
    rlo_status status = plan_passes(problem, setting, is_empty ? 1 : settings->passes, budget,
                                    host_bytes - out->index_bytes, out);
    if (status != RLO_OK) {
      /* The job of the journal could be planned with these settings. */
      return setting->resumed != NULL && status != RLO_OUT_OF_MEMORY
                 ? rlo__journal_fail_other(setting->options.journal_path)
                 : status;
    }
    out->settings.passes = out->num_passes;
    out->settings.scratch_bytes = out->scratch_bytes;
  }
  out->host_bytes += out->index_bytes;
  RLO_FAIL_IF(out->host_bytes > host_bytes, RLO_OUT_OF_RANGE,
              "the budget is %" PRId64
              " bytes of staging memory; the least that suffices is %" PRId64,
              host_bytes, out->host_bytes);
  if (pass->copies) {
    out->device_bytes = index_bytes + pass->plan.piece_bytes[RLO__SIDE_SOURCE] +
                        pass->plan.piece_bytes[RLO__SIDE_DESTINATION];
    RLO_FAIL_IF(out->device_bytes > limits->options.device_memory_bytes, RLO_INVALID_ARGUMENT,
                "the journal \"%s\" is of a job whose pieces take %" PRId64
                " bytes on a device; the budget is %" PRId64,
                setting->options.journal_path, out->device_bytes,
                limits->options.device_memory_bytes);
  }
  return RLO_OK;
}
