/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include <inttypes.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/available.h"
#include "base/checked.h"
#include "base/options.h"
#include "base/status.h"
#include "base/thread.h"
#include "service/job_plan.h"

/* The stack of a thread, and what a job takes beside its staging memory. */
enum { SPARE_BYTES = 16 << 20 };

rlo_status rlo__service_check_process(const rlo_service *service) {
  pid_t pid = getpid();
  RLO_FAIL_IF(pid != service->pid, RLO_UNSUPPORTED,
              "the service was created by process %ld and this is process %ld: its threads do not "
              "survive fork",
              (long)service->pid, (long)pid);
  return RLO_OK;
}

/* -------------------------------------------------------------------- lists */

static void append(rlo__job_list *list, rlo_job *job) {
  job->previous = list->last;
  job->next = NULL;
  *(list->last != NULL ? &list->last->next : &list->first) = job;
  list->last = job;
}

static void unlink_job(rlo__job_list *list, rlo_job *job) {
  *(job->previous != NULL ? &job->previous->next : &list->first) = job->next;
  *(job->next != NULL ? &job->next->previous : &list->last) = job->previous;
}

static rlo__job_list *list_of(rlo_service *service, const rlo_job *job) {
  return &service->lists[1 - job->priority];
}

/* --------------------------------------------------------------------- ends */

/* Makes the poll descriptor readable, or not. */
static void set_poll(const rlo_service *service, bool is_readable) {
  if (service->poll_fd >= 0) {
    uint64_t count = 1;
    ssize_t bytes = is_readable ? write(service->poll_fd, &count, sizeof count)
                                : read(service->poll_fd, &count, sizeof count);
    /* It fails only if the descriptor is in that state already. */
    (void)bytes;
  }
}

/* Makes the poll descriptor. */
static void open_poll(rlo_service *service) {
  service->poll_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (service->untaken.first != NULL) {
    set_poll(service, true);
  }
}

/* Takes a job out of those that have ended; the first if it is NULL. NULL if
 * there is none. */
static rlo_job *take_untaken(rlo_service *service, rlo_job *job) {
  job = job != NULL ? job : service->untaken.first;
  if (job != NULL) {
    unlink_job(&service->untaken, job);
    job->is_untaken = false;
    if (service->untaken.first == NULL) {
      set_poll(service, false);
    }
  }
  return job;
}

static void wake_threads(rlo_service *service) {
  rlo__cond_broadcast(&service->conds[RLO__SERVICE_NEWS]);
  rlo__cond_broadcast(&service->conds[RLO__SERVICE_LANE_NEWS]);
}

static void end_job(rlo_service *service, rlo_job *job) {
  unlink_job(list_of(service, job), job);
  if (service->untaken.first == NULL) {
    set_poll(service, true);
  }
  append(&service->untaken, job);
  job->is_untaken = true;
  if (job->begin_seconds > 0) {
    --service->num_running;
    service->host_bytes -= job->plan.host_bytes;
  }
  --service->num_unended;
  rlo__cond_broadcast(&service->conds[RLO__SERVICE_ENDED]);
  if (service->is_closed) {
    wake_threads(service);
  }
}

/* ------------------------------------------------------------------- choice */

/* Starts jobs, the highest priority first, then in the order of submission:
 * no job overtakes another, which might then never start. */
static void admit(rlo_service *service) {
  for (int32_t n = 0; n < RLO__NUM_PRIORITIES; ++n) {
    for (rlo_job *job = service->lists[n].first; job != NULL; job = job->next) {
      if (job->phase != RLO__PHASE_QUEUED || atomic_load(&job->is_cancelled)) {
        continue;
      }
      /* A job that is resumed may have begun with a larger budget than that of
       * this service: then it runs alone. */
      bool has_room =
          service->num_running == 0 ||
          job->plan.host_bytes <= service->limits.options.host_memory_bytes - service->host_bytes;
      if (service->num_running >= service->limits.options.max_running_jobs || !has_room) {
        return;
      }
      job->phase = RLO__PHASE_START;
      job->begin_seconds = rlo__clock_seconds();
      ++service->num_running;
      service->host_bytes += job->plan.host_bytes;
    }
  }
}

static bool take_from(rlo_service *service, rlo__job_list *list, int32_t lane_number,
                      rlo__job_work *out_work) {
  for (rlo_job *job = list->first; job != NULL; job = job->next) {
    if (rlo__job_take(job, lane_number, out_work)) {
      /* The others of its priority come first the next time. */
      unlink_job(list, job);
      append(list, job);
      ++service->num_turns;
      return true;
    }
  }
  return false;
}

static bool take(rlo_service *service, int32_t lane_number, rlo__job_work *out_work) {
  admit(service);
  bool is_lowest_turn = service->num_turns % RLO__LOWEST_TURN == RLO__LOWEST_TURN - 1;
  for (int32_t n = 0; n < RLO__NUM_PRIORITIES; ++n) {
    rlo__job_list *list = &service->lists[is_lowest_turn ? RLO__NUM_PRIORITIES - 1 - n : n];
    if (take_from(service, list, lane_number, out_work)) {
      return true;
    }
  }
  return false;
}

/* ---------------------------------------------------------------------- end */

/* Releases what holds contexts. */
static void free_lanes(rlo_service *service) {
  for (int32_t n = 0; n < service->limits.num_lanes && service->lanes != NULL; ++n) {
    rlo__lane_deinit(&service->lanes[n]);
  }
  rlo__free(service->lanes);
  service->lanes = NULL;
}

static void free_service(rlo_service *service) {
  free_lanes(service);
  rlo__place_release(service->host);
  if (service->poll_fd >= 0) {
    (void)close(service->poll_fd);
  }
  for (int32_t n = 0; n < RLO__SERVICE_NUM_CONDS; ++n) {
    rlo__cond_deinit(&service->conds[n]);
  }
  rlo__mutex_deinit(&service->mutex);
  rlo__free(service->threads);
  rlo__free(service);
}

/* Drops a reference of a job, or that of all users. */
static void drop(rlo_service *service) {
  rlo__mutex_lock(&service->mutex);
  bool is_last = --service->num_references == 0;
  rlo__mutex_unlock(&service->mutex);
  if (is_last) {
    free_service(service);
  }
}

/* Ends what no user has any more, when its jobs have ended. The threads end by
 * themselves. */
static void close_service(rlo_service *service) {
  for (int32_t n = 0; n < service->num_threads; ++n) {
    if (&service->threads[n] != service->closer) {
      rlo__thread_join(&service->threads[n].thread);
    }
  }
  free_lanes(service);
  /* Nobody can take these jobs any more. The last of a job's references frees
   * it, if there is one. */
  rlo__mutex_lock(&service->mutex);
  rlo_job *job;
  while ((job = take_untaken(service, NULL)) != NULL) {
    if (job->num_references == 0) {
      --service->num_references;
      rlo__job_free(job);
    }
  }
  rlo__mutex_unlock(&service->mutex);
  drop(service);
}

/* ------------------------------------------------------------------ threads */

static void do_work(rlo_service *service, rlo__job_work *work, rlo__lane *lane) {
  /* There may be more work: who finds some wakes the next thread. */
  rlo__cond_signal(&service->conds[RLO__SERVICE_NEWS]);
  rlo__mutex_unlock(&service->mutex);
  rlo_status status = rlo__job_do(work, lane);
  rlo__mutex_lock(&service->mutex);
  rlo__job_end_work(work, status);
  if (work->job->phase == RLO__PHASE_ENDED) {
    end_job(service, work->job);
  }
  if (lane != NULL) {
    /* Other threads write the piece. */
    rlo__cond_signal(&service->conds[RLO__SERVICE_NEWS]);
  }
  if (service->limits.num_lanes > 0) {
    rlo__cond_broadcast(&service->conds[RLO__SERVICE_LANE_NEWS]);
  }
}

static void run_thread(void *payload) {
  rlo__service_thread *thread = payload;
  rlo_service *service = thread->service;
  ptrdiff_t number = thread - service->threads;
  int32_t lane_number = number < service->limits.num_lanes ? (int32_t)number : -1;
  rlo__lane *lane = lane_number >= 0 ? &service->lanes[lane_number] : NULL;
  rlo__job_work work;
  rlo__mutex_lock(&service->mutex);
  for (;;) {
    if (take(service, lane_number, &work)) {
      do_work(service, &work, lane);
    } else if (service->is_closed && service->num_unended == 0) {
      break;
    } else {
      if (lane != NULL && service->num_unended == 0) {
        rlo__lane_trim(lane);
      }
      rlo__cond_wait(lane != NULL ? &service->conds[RLO__SERVICE_LANE_NEWS]
                                  : &service->conds[RLO__SERVICE_NEWS],
                     &service->mutex);
    }
  }
  const bool is_closer = service->closer == thread;
  rlo__mutex_unlock(&service->mutex);
  if (is_closer) {
    rlo__thread_detach(&thread->thread);
    close_service(service);
  }
}

/* Starts as many as the system allows, and leave room for the staging memory of a
 * job. A lane needs its own, and one that reads and writes; without lanes none is
 * needed. */
static rlo_status start_threads(rlo_service *service, int64_t host_bytes) {
  const int32_t num_lanes = service->limits.num_lanes;
  const int32_t num_wanted = num_lanes + service->limits.options.io_threads;
  if (service->threads == NULL) {
    service->threads = rlo__alloc_array((size_t)num_wanted, sizeof *service->threads);
    RLO_TRY_MEMORY(service->threads);
  }
  while (service->num_threads < num_wanted) {
    rlo__service_thread *thread = &service->threads[service->num_threads];
    thread->service = service;
    if (num_lanes == 0 && rlo__available_addresses("") - SPARE_BYTES < host_bytes) {
      return RLO_OK;
    }
    rlo_status status = rlo__thread_start(run_thread, thread, &thread->thread);
    if (status != RLO_OK) {
      return num_lanes == 0 || service->num_threads > num_lanes ? RLO_OK : status;
    }
    ++service->num_threads;
  }
  return RLO_OK;
}

/* Runs a job in the calling thread, and others in turn, if there is no other
 * thread. */
static void run_here(rlo_service *service, const rlo_job *job) {
  const double pause_seconds = 0.001;
  rlo__job_work work;
  while (service->num_threads == 0 && job->phase != RLO__PHASE_ENDED) {
    if (take(service, -1, &work)) {
      do_work(service, &work, NULL);
    } else {
      /* Another caller has the work. */
      (void)rlo__cond_wait_until(&service->conds[RLO__SERVICE_ENDED], &service->mutex,
                                 rlo__clock_seconds() + pause_seconds);
    }
  }
}

rlo_status rlo__service_add(rlo_service *service, rlo_job *job) {
  RLO_TRY(start_threads(service, job->plan.host_bytes));
  append(list_of(service, job), job);
  ++service->num_unended;
  rlo__cond_signal(&service->conds[RLO__SERVICE_NEWS]);
  run_here(service, job);
  return RLO_OK;
}

/* ---------------------------------------------------------------- lifecycle */

static rlo_status check_contexts(rlo_context *const *contexts, int32_t num_contexts) {
  RLO_FAIL_IF(num_contexts < 0, RLO_INVALID_ARGUMENT, "%" PRId32 " contexts, below 0",
              num_contexts);
  RLO_REQUIRE_LIST(contexts, num_contexts);
  for (int32_t n = 0; n < num_contexts; ++n) {
    RLO_FAIL_IF(contexts[n] == NULL, RLO_INVALID_ARGUMENT, "context %" PRId32 " is NULL", n);
    for (int32_t k = 0; k < n; ++k) {
      RLO_FAIL_IF(contexts[k] == contexts[n], RLO_INVALID_ARGUMENT,
                  "context %" PRId32 " is context %" PRId32 " again", n, k);
    }
  }
  return RLO_OK;
}

static rlo_status create_lanes(rlo_service *service, rlo_context *const *contexts, bool copies) {
  rlo__service_limits *limits = &service->limits;
  service->lanes = rlo__alloc_array((size_t)limits->num_lanes, sizeof *service->lanes);
  RLO_TRY_MEMORY(service->lanes);
  for (int32_t n = 0; n < limits->num_lanes; ++n) {
    rlo__lane *lane = &service->lanes[n];
    RLO_TRY(rlo__lane_init(lane, contexts[n], copies));
    lane->place->family = limits->options.family;
    lane->place->schedule = limits->options.schedule;
    limits->copies = limits->copies || lane->copies;
    limits->max_buffer_bytes = rlo__min(limits->max_buffer_bytes,
                                        rlo_context_device_info(contexts[n])->max_allocation_bytes);
  }
  return RLO_OK;
}

rlo_status rlo__service_create(rlo_context *const *contexts, int32_t num_contexts,
                               const rlo_service_options *options, bool copies,
                               rlo_service **out_service) {
  RLO_REQUIRE(out_service);
  *out_service = NULL;
  RLO_TRY(check_contexts(contexts, num_contexts));
  rlo__service_limits limits = {.num_lanes = num_contexts, .max_buffer_bytes = INT64_MAX};
  RLO_TRY(rlo__service_options_read(options, num_contexts, &limits.options));
  rlo_service *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  made->pid = getpid();
  made->limits = limits;
  made->num_user_references = made->num_references = 1;
  made->poll_fd = -1;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__mutex_init(&made->mutex));
  for (int32_t n = 0; n < RLO__SERVICE_NUM_CONDS; ++n) {
    RLO_TRY_GOTO(rlo__cond_init(&made->conds[n]));
  }
  RLO_TRY_GOTO(create_lanes(made, contexts, copies));
  RLO_TRY_GOTO(rlo__place_create(NULL, NULL, false, &made->host));
  *out_service = made;
  return RLO_OK;
fail:
  free_service(made);
  return status;
}

rlo_status rlo_service_create(rlo_context *const *contexts, int32_t num_contexts,
                              const rlo_service_options *options, rlo_service **out_service) {
  return rlo__service_create(contexts, num_contexts, options, false, out_service);
}

/* Takes the mutex; false for NULL, and in a child of fork, where the threads,
 * and with them the locks, are the parent's. */
static bool lock(rlo_service *service) {
  bool is_here = service != NULL && service->pid == getpid();
  if (is_here) {
    rlo__mutex_lock(&service->mutex);
  }
  return is_here;
}

rlo_service *rlo_service_retain(rlo_service *service) {
  if (lock(service)) {
    ++service->num_user_references;
    rlo__mutex_unlock(&service->mutex);
  }
  return service;
}

static void cancel_all(rlo_service *service) {
  for (int32_t n = 0; n < RLO__NUM_PRIORITIES; ++n) {
    for (rlo_job *job = service->lists[n].first; job != NULL; job = job->next) {
      rlo_job_cancel(job);
    }
  }
  rlo__cond_signal(&service->conds[RLO__SERVICE_NEWS]);
}

/* Returns the thread of the service that is the caller's; NULL: it is none. With
 * the mutex. */
static rlo__service_thread *find_own_thread(const rlo_service *service) {
  for (int32_t n = 0; n < service->num_threads; ++n) {
    if (rlo__thread_is_current(&service->threads[n].thread)) {
      return &service->threads[n];
    }
  }
  return NULL;
}

void rlo_service_release(rlo_service *service) {
  if (!lock(service)) {
    return;
  }
  /* While the service closes, a storage's function may retain and release it. */
  const bool is_last = --service->num_user_references == 0 && !service->is_closed;
  if (is_last) {
    service->is_closed = true;
    service->closer = find_own_thread(service);
    cancel_all(service);
    wake_threads(service);
  }
  const bool is_here = is_last && service->closer == NULL;
  rlo__mutex_unlock(&service->mutex);
  if (is_here) {
    close_service(service);
  }
}

void rlo_service_cancel_all(rlo_service *service) {
  if (lock(service)) {
    cancel_all(service);
    rlo__mutex_unlock(&service->mutex);
  }
}

/* ------------------------------------------------------------------ waiting */

static double seconds_of(int64_t timeout_ms) {
  const double for_ever = 1e12;
  return timeout_ms < 0 ? for_ever : rlo__clock_seconds() + (double)timeout_ms * 1e-3;
}

/* Waits until a job has ended, or all if it is NULL. */
static rlo_status wait_for(rlo_service *service, const rlo_job *job, int64_t timeout_ms,
                           bool *out_has_ended) {
  RLO_TRY(rlo__service_check_process(service));
  double until = seconds_of(timeout_ms);
  bool is_late = false;
  rlo__mutex_lock(&service->mutex);
  const bool is_own = find_own_thread(service) != NULL;
  /* A job may have been cancelled before it began: rlo_job_cancel, which signal
   * handlers call, wakes nobody. */
  rlo__cond_signal(&service->conds[RLO__SERVICE_NEWS]);
  bool has_ended;
  for (;;) {
    has_ended = job == NULL ? service->num_unended == 0 : job->phase == RLO__PHASE_ENDED;
    if (has_ended || is_late || (is_own && timeout_ms < 0)) {
      break;
    }
    is_late = !rlo__cond_wait_until(&service->conds[RLO__SERVICE_ENDED], &service->mutex, until);
  }
  rlo__mutex_unlock(&service->mutex);
  if (out_has_ended != NULL) {
    *out_has_ended = has_ended;
  }
  return has_ended || is_late ? RLO_OK
                              : RLO_FAIL(RLO_UNSUPPORTED,
                                         "a function of a storage waits for jobs of its own "
                                         "service, which wait for it; give a timeout");
}

rlo_status rlo_service_drain(rlo_service *service, int64_t timeout_ms, bool *out_is_idle) {
  RLO_REQUIRE(service);
  return wait_for(service, NULL, timeout_ms, out_is_idle);
}

rlo_status rlo_job_wait(rlo_job *job, int64_t timeout_ms, bool *out_has_ended) {
  RLO_REQUIRE(job);
  return wait_for(job->service, job, timeout_ms, out_has_ended);
}

int rlo_service_poll_fd(rlo_service *service) {
  if (!lock(service)) {
    return -1;
  }
  if (service->poll_fd < 0) {
    open_poll(service);
  }
  int fd = service->poll_fd;
  rlo__mutex_unlock(&service->mutex);
  return fd;
}

rlo_job *rlo_service_take_ended(rlo_service *service) {
  if (!lock(service)) {
    return NULL;
  }
  rlo_job *job = take_untaken(service, NULL);
  if (job != NULL) {
    ++job->num_references;
  }
  rlo__mutex_unlock(&service->mutex);
  return job;
}

/* --------------------------------------------------------------------- jobs */

rlo_status rlo_job_result(const rlo_job *job) {
  RLO_REQUIRE(job);
  RLO_TRY(rlo__service_check_process(job->service));
  rlo__mutex_lock(&job->service->mutex);
  bool has_ended = job->phase == RLO__PHASE_ENDED;
  rlo__mutex_unlock(&job->service->mutex);
  RLO_FAIL_IF(!has_ended, RLO_INVALID_ARGUMENT, "the job has not ended");
  return job->failure.status == RLO_OK ? RLO_OK : rlo__status_restore(&job->failure);
}

rlo_status rlo_job_get_info(const rlo_job *job, rlo_job_info *out_info) {
  RLO_REQUIRE(job, out_info);
  RLO_TRY(rlo__service_check_process(job->service));
  rlo__mutex_lock(&job->service->mutex);
  rlo_job_info info = rlo__job_get_info(job);
  rlo__mutex_unlock(&job->service->mutex);
  return rlo__report_write("job info", "RLO_JOB_INFO_INIT", &info, out_info, sizeof info);
}

void rlo_job_cancel(rlo_job *job) {
  if (job != NULL) {
    atomic_store(&job->is_cancelled, true);
  }
}

rlo_job *rlo_job_retain(rlo_job *job) {
  if (job != NULL && lock(job->service)) {
    ++job->num_references;
    rlo__mutex_unlock(&job->service->mutex);
  }
  return job;
}

void rlo_job_release(rlo_job *job) {
  if (job == NULL || !lock(job->service)) {
    return;
  }
  rlo_service *service = job->service;
  bool is_dead = --job->num_references == 0 && job->phase == RLO__PHASE_ENDED;
  if (is_dead && job->is_untaken) {
    take_untaken(service, job);
  }
  rlo__mutex_unlock(&service->mutex);
  if (is_dead) {
    rlo__job_free(job);
    drop(service);
  }
}
