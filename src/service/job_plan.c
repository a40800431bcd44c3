/* SPDX-License-Identifier: Apache-2.0 */
#include "service/job_plan.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "ir/update.h"
#include "ir/validate.h"
#include "service/host_budget.h"

enum {
  DEFAULT_IO_THREADS = 8,
  DEFAULT_JOBS_OF_CONTEXT = 2,
  /** Read, running or to be written, for each context; besides those that
   *  threads read and write. */
  SLOTS_OF_LANE = 2,
  MAX_BUDGET_TRIES = 8
};

static const int64_t default_device_bytes = INT64_C(64) << 20;
/** A share of a problem in memory: long enough to be as fast as the whole,
 * short enough to be cancelled soon. */
static const int64_t share_bytes = INT64_C(512) << 20;
static const int64_t least_share_bytes = INT64_C(256) << 10;
/** With a journal: what is lost with a box that was not complete is moved again
 * in about the seconds between two checkpoints. */
static const int64_t journaled_box_bytes = INT64_C(1) << 30;

/* ------------------------------------------------------------------ options */

static rlo_status check_range(const char *name,
                              int64_t value,
                              int64_t least,
                              int64_t most) {
  if (value < 0) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "%s is %" PRId64 ", below 0", name, value);
  }
  if (value != 0 && (value < least || value > most)) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "%s is %" PRId64 "; %" PRId64 " to %" PRId64
                    ", or 0 for the default",
                    name,
                    value,
                    least,
                    most);
  }
  return RLO_OK;
}

rlo_status rlo__service_options_read(const rlo_service_options *options,
                                     int32_t num_contexts,
                                     rlo_service_options *out_options) {
  rlo_service_options read = RLO_SERVICE_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("service options",
                            "RLO_SERVICE_OPTIONS_INIT",
                            options,
                            &read,
                            sizeof read));
  RLO_TRY(check_range("host_memory_bytes",
                      read.host_memory_bytes,
                      RLO_SERVICE_MIN_HOST_BYTES,
                      INT64_MAX));
  RLO_TRY(check_range("device_memory_bytes",
                      read.device_memory_bytes,
                      RLO_SERVICE_MIN_DEVICE_BYTES,
                      INT64_MAX));
  RLO_TRY(check_range("io_threads", read.io_threads, 1, RLO__MAX_IO_THREADS));
  RLO_TRY(check_range("max_running_jobs", read.max_running_jobs, 1, INT32_MAX));
  if (read.host_memory_bytes == 0) {
    read.host_memory_bytes = rlo__host_budget_default();
  }
  if (read.device_memory_bytes == 0) {
    read.device_memory_bytes = default_device_bytes;
  }
  if (read.io_threads == 0) {
    read.io_threads = DEFAULT_IO_THREADS;
  }
  if (read.max_running_jobs == 0) {
    read.max_running_jobs =
        (int32_t)rlo__max(DEFAULT_JOBS_OF_CONTEXT,
                          (int64_t)DEFAULT_JOBS_OF_CONTEXT * num_contexts);
  }
  *out_options = read;
  return RLO_OK;
}

rlo_status rlo__job_options_read(const rlo_job_options *options,
                                 rlo_job_options *out_options) {
  rlo_job_options read = RLO_JOB_OPTIONS_INIT;
  RLO_TRY(rlo__options_read(
      "job options", "RLO_JOB_OPTIONS_INIT", options, &read, sizeof read));
  if (read.priority < -1 || read.priority > 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "priority is %" PRId32 "; -1, 0 or 1",
                    read.priority);
  }
  if (read.host_memory_bytes < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "host_memory_bytes of a job is %" PRId64 ", below 0",
                    read.host_memory_bytes);
  }
  *out_options = read;
  return RLO_OK;
}

/* ----------------------------------------------------------------- planning */

static rlo_status check_problem(const rlo_problem *problem) {
  RLO_TRY(rlo__problem_validate(problem));
  const char *what = rlo_problem_loads(problem)    ? "loads indices"
                     : rlo_problem_is_sum(problem) ? "sums"
                     : rlo__problem_reads_cells(problem)
                         ? "adds to its destination"
                     : problem->update == RLO_UPDATE_COMBINE &&
                             problem->arithmetic.is_sequential
                         ? "is sequential"
                         : NULL;
  if (what != NULL) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the problem %s; jobs move bytes or convert types",
                    what);
  }
  return RLO_OK;
}

static rlo_status check_side(const char *name,
                             int64_t bytes,
                             const rlo_storage_traits *traits) {
  if (traits->bytes < bytes) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "the %s has %" PRId64 " bytes; the problem needs %" PRId64,
                    name,
                    traits->bytes,
                    bytes);
  }
  return RLO_OK;
}

/* The budget of a job that began earlier: today's may be another, since the
 * default depends on the memory that is free. */
static rlo_status get_resumed_budget(const rlo__job_setting *setting,
                                     int64_t *out_bytes) {
  const rlo__journal_settings *resumed = setting->resumed;
  int64_t wanted = setting->options.host_memory_bytes;
  if (wanted != 0 && wanted != resumed->host_bytes) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the journal \"%s\" is of a job with %" PRId64
                    " bytes of host memory; this one wants %" PRId64,
                    setting->options.journal_path,
                    resumed->host_bytes,
                    wanted);
  }
  *out_bytes = resumed->host_bytes;
  return RLO_OK;
}

/* The staging memory that a job may have. */
static rlo_status get_budget(const rlo__job_setting *setting,
                             int64_t *out_bytes) {
  if (setting->resumed != NULL) {
    return get_resumed_budget(setting, out_bytes);
  }
  int64_t wanted = setting->options.host_memory_bytes;
  if (wanted > setting->host_memory_bytes) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "the job wants %" PRId64
                    " bytes of host memory; the service has %" PRId64,
                    wanted,
                    setting->host_memory_bytes);
  }
  *out_bytes = wanted != 0
                   ? wanted
                   : setting->host_memory_bytes / setting->max_running_jobs;
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

/* Both sides are in memory and used there: as without a service. */
static void plan_in_place(const rlo_problem *problem,
                          const rlo__job_setting *setting,
                          rlo__pass *pass) {
  count_whole(problem, &pass->plan);
  if (setting->num_lanes == 0) {
    int64_t threads = rlo__min(rlo__max(1, sysconf(_SC_NPROCESSORS_ONLN)),
                               setting->io_threads);
    int64_t bytes = rlo__max(problem->read_bytes, problem->written_bytes);
    /* As many for each thread, if it is worth while to have several. */
    int64_t rounds = rlo__ceil_div(bytes, share_bytes * threads);
    pass->num_shares = (int32_t)rlo__max(
        1, rlo__min(rounds * threads, bytes / least_share_bytes));
    pass->num_slots = (int32_t)threads;
  }
}

/* What pieces are planned with. */
static rlo__journal_settings get_settings(const rlo__job_setting *setting,
                                          int64_t host_bytes) {
  if (setting->resumed != NULL) {
    return *setting->resumed;
  }
  return (rlo__journal_settings){
      .host_bytes = host_bytes,
      .piece_bytes =
          setting->copies ? setting->device_memory_bytes / 2 : INT64_MAX,
      .num_slots = setting->io_threads + SLOTS_OF_LANE * setting->num_lanes};
}

static rlo_status plan_pieces(const rlo_problem *problem,
                              const rlo__job_setting *setting,
                              const rlo__journal_settings *settings,
                              rlo__pass *pass) {
  int64_t host_bytes = settings->host_bytes;
  rlo__piece_budget budget = {
      .host_bytes = host_bytes,
      .piece_bytes = settings->piece_bytes,
      .num_slots = pass->num_slots,
      .is_memory = {pass->is_in_memory[0], pass->is_in_memory[1]},
      .box_bytes =
          setting->options.journal_path != NULL ? journaled_box_bytes : 0};
  for (int32_t n = 0; n < MAX_BUDGET_TRIES; ++n) {
    RLO_TRY(rlo__piece_plan_make(problem,
                                 &setting->traits[RLO__SIDE_SOURCE],
                                 &setting->traits[RLO__SIDE_DESTINATION],
                                 &budget,
                                 &pass->plan));
    int64_t excess = rlo__pass_get_layout(pass).bytes - host_bytes;
    if (excess <= 0) {
      return RLO_OK;
    }
    budget.host_bytes -= rlo__min(budget.host_bytes / 2, excess);
  }
  return RLO_FAIL(RLO_OUT_OF_RANGE,
                  "%" PRId64
                  " bytes of host memory are too few for the pieces of the job",
                  host_bytes);
}

rlo_status rlo__job_plan_make(const rlo_problem *problem,
                              const rlo__job_setting *setting,
                              rlo__job_plan *out) {
  RLO_TRY(check_problem(problem));
  RLO_TRY(check_side(
      "source", problem->src_bytes, &setting->traits[RLO__SIDE_SOURCE]));
  RLO_TRY(check_side("destination",
                     problem->dst_bytes,
                     &setting->traits[RLO__SIDE_DESTINATION]));
  if (setting->traits[RLO__SIDE_DESTINATION].is_read_only) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the destination is a storage that can only be read");
  }
  int64_t host_bytes;
  RLO_TRY(get_budget(setting, &host_bytes));
  out->settings = get_settings(setting, host_bytes);
  rlo__pass *pass = &out->passes[0];
  out->num_passes = 1;
  out->host_bytes = out->device_bytes = 0;
  *pass = (rlo__pass){
      .is_in_memory = {setting->is_in_memory[0] && !setting->copies,
                       setting->is_in_memory[1] && !setting->copies},
      .is_new_destination = setting->options.is_new_destination,
      .num_lanes = setting->num_lanes,
      .copies = setting->copies,
      .num_slots = (int32_t)out->settings.num_slots};
  bool is_in_place = pass->is_in_memory[0] && pass->is_in_memory[1];
  if (rlo_problem_is_empty(problem)) {
    count_whole(problem, &pass->plan);
    pass->plan.num_boxes = pass->plan.num_pieces = 0;
    pass->plan.bytes_read = pass->plan.bytes_written = 0;
    return RLO_OK;
  }
  if (is_in_place && setting->num_lanes <= 1) {
    plan_in_place(problem, setting, pass);
  } else {
    RLO_TRY(plan_pieces(problem, setting, &out->settings, pass));
  }
  out->host_bytes = rlo__pass_get_layout(pass).bytes;
  if (setting->copies) {
    out->device_bytes = pass->plan.piece_bytes[RLO__SIDE_SOURCE] +
                        pass->plan.piece_bytes[RLO__SIDE_DESTINATION];
    if (out->device_bytes > setting->device_memory_bytes) {
      return RLO_FAIL(
          RLO_INVALID_ARGUMENT,
          "the journal \"%s\" is of a job whose pieces take %" PRId64
          " bytes on a device; the budget is %" PRId64,
          setting->options.journal_path,
          out->device_bytes,
          setting->device_memory_bytes);
    }
  }
  return RLO_OK;
}
