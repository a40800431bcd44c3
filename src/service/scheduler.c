/* SPDX-License-Identifier: Apache-2.0 */
#include "service/scheduler.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/clock.h"

rlo_status rlo__service_check_process(const rlo_service *service) {
  pid_t pid = getpid();
  if (pid != service->pid) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the service was created by process %ld and this is "
                    "process %ld: its threads do not survive fork",
                    (long)service->pid,
                    (long)pid);
  }
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

void rlo__scheduler_open_poll(rlo_service *service) {
  service->poll_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (service->untaken.first != NULL) {
    set_poll(service, true);
  }
}

rlo_job *rlo__scheduler_take_untaken(rlo_service *service, rlo_job *job) {
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

static void end_job(rlo_service *service, rlo_job *job) {
  unlink_job(list_of(service, job), job);
  if (service->untaken.first == NULL) {
    set_poll(service, true);
  }
  append(&service->untaken, job);
  job->is_untaken = true;
  if (job->begin_seconds > 0) {
    --service->num_running;
    service->host_bytes -= job->host_bytes;
  }
  --service->num_unended;
  rlo__cond_broadcast(&service->ended);
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
          job->host_bytes <= service->host_memory_bytes - service->host_bytes;
      if (service->num_running >= service->max_running_jobs || !has_room) {
        return;
      }
      job->phase = RLO__PHASE_START;
      job->begin_seconds = rlo__clock_seconds();
      ++service->num_running;
      service->host_bytes += job->host_bytes;
    }
  }
}

static bool take_from(rlo_service *service,
                      rlo__job_list *list,
                      int32_t lane_number,
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

static bool take(rlo_service *service,
                 int32_t lane_number,
                 rlo__job_work *out_work) {
  admit(service);
  bool is_lowest_turn =
      service->num_turns % RLO__LOWEST_TURN == RLO__LOWEST_TURN - 1;
  for (int32_t n = 0; n < RLO__NUM_PRIORITIES; ++n) {
    rlo__job_list *list =
        &service->lists[is_lowest_turn ? RLO__NUM_PRIORITIES - 1 - n : n];
    if (take_from(service, list, lane_number, out_work)) {
      return true;
    }
  }
  return false;
}

/* ------------------------------------------------------------------ threads */

static void do_work(rlo_service *service,
                    rlo__job_work *work,
                    rlo__lane *lane) {
  /* There may be more work: who finds some wakes the next thread. */
  rlo__cond_signal(&service->news);
  rlo__mutex_unlock(&service->mutex);
  rlo_status status = rlo__job_do(work, lane);
  rlo__mutex_lock(&service->mutex);
  rlo__job_end_work(work, status);
  if (work->job->phase == RLO__PHASE_ENDED) {
    end_job(service, work->job);
  }
  if (lane != NULL) {
    /* Other threads write the piece. */
    rlo__cond_signal(&service->news);
  }
  if (service->num_lanes > 0) {
    rlo__cond_broadcast(&service->lane_news);
  }
}

static void run_thread(void *payload) {
  const rlo__service_thread *thread = payload;
  rlo_service *service = thread->service;
  int32_t number = thread->lane_number;
  rlo__lane *lane = number >= 0 ? &service->lanes[number] : NULL;
  rlo__job_work work;
  rlo__mutex_lock(&service->mutex);
  for (;;) {
    if (take(service, number, &work)) {
      do_work(service, &work, lane);
    } else if (service->is_ending) {
      break;
    } else {
      if (lane != NULL && service->num_unended == 0) {
        rlo__lane_trim(lane);
      }
      rlo__cond_wait(lane != NULL ? &service->lane_news : &service->news,
                     &service->mutex);
    }
  }
  rlo__mutex_unlock(&service->mutex);
}

static rlo_status start_threads(rlo_service *service) {
  int32_t num_wanted = service->io_threads + service->num_lanes;
  if (service->threads == NULL) {
    service->threads =
        rlo__alloc_array((size_t)num_wanted, sizeof *service->threads);
    if (service->threads == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  while (service->num_threads < num_wanted) {
    rlo__service_thread *thread = &service->threads[service->num_threads];
    int32_t lane_number = service->num_threads - service->io_threads;
    *thread = (rlo__service_thread){
        .service = service, .lane_number = lane_number < 0 ? -1 : lane_number};
    RLO_TRY(rlo__thread_start(run_thread, thread, &thread->thread));
    ++service->num_threads;
  }
  return RLO_OK;
}

rlo_status rlo__scheduler_add(rlo_service *service, rlo_job *job) {
  RLO_TRY(start_threads(service));
  append(list_of(service, job), job);
  ++service->num_unended;
  rlo__cond_signal(&service->news);
  return RLO_OK;
}

void rlo__scheduler_stop(rlo_service *service) {
  rlo__mutex_lock(&service->mutex);
  service->is_ending = true;
  rlo__cond_broadcast(&service->news);
  rlo__cond_broadcast(&service->lane_news);
  rlo__mutex_unlock(&service->mutex);
  for (int32_t n = 0; n < service->num_threads; ++n) {
    rlo__thread_join(&service->threads[n].thread);
  }
}
