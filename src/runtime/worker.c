/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/worker.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"

struct rlo__worker {
  rlo__mutex mutex;
  /** A job was queued or has run, or the worker is ending. */
  rlo__cond news;
  /** The mutex guards the fields below. */
  rlo__thread thread;
  bool has_thread, is_ending;
  /** Destroyed by one of its jobs: the thread frees it. */
  bool is_orphan;
  rlo__job *first;
  rlo__job **end;
  /** Jobs that are queued or running. */
  int64_t num_pending;
};

static void free_worker(rlo__worker *worker) {
  rlo__cond_deinit(&worker->news);
  rlo__mutex_deinit(&worker->mutex);
  rlo__free(worker);
}

rlo_status rlo__worker_create(rlo__worker **out_worker) {
  *out_worker = NULL;
  rlo__worker *worker = rlo__alloc(sizeof *worker);
  RLO_TRY_MEMORY(worker);
  worker->end = &worker->first;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__mutex_init(&worker->mutex));
  RLO_TRY_GOTO(rlo__cond_init(&worker->news));
  *out_worker = worker;
  return RLO_OK;
fail:
  free_worker(worker);
  return status;
}

/** Runs the first job. Called with the mutex held, which is free meanwhile. */
static void run_first(rlo__worker *worker) {
  rlo__job *job = worker->first;
  worker->first = job->next;
  if (worker->first == NULL) {
    worker->end = &worker->first;
  }
  rlo__mutex_unlock(&worker->mutex);
  job->run(job);
  rlo__mutex_lock(&worker->mutex);
  --worker->num_pending;
  rlo__cond_broadcast(&worker->news);
}

static void work(void *payload) {
  rlo__worker *worker = payload;
  rlo__mutex_lock(&worker->mutex);
  while (worker->first != NULL || !worker->is_ending) {
    if (worker->first != NULL) {
      run_first(worker);
    } else {
      rlo__cond_wait(&worker->news, &worker->mutex);
    }
  }
  bool is_orphan = worker->is_orphan;
  rlo__mutex_unlock(&worker->mutex);
  if (is_orphan) {
    free_worker(worker);
  }
}

/** Returns whether the caller is a job. Call with the mutex held. */
static bool is_on_thread(const rlo__worker *worker) {
  return worker->has_thread && rlo__thread_is_current(&worker->thread);
}

void rlo__worker_destroy(rlo__worker *worker) {
  if (worker == NULL) {
    return;
  }
  rlo__mutex_lock(&worker->mutex);
  worker->is_ending = true;
  worker->is_orphan = is_on_thread(worker);
  if (worker->is_orphan) {
    rlo__thread_detach(&worker->thread);
    rlo__mutex_unlock(&worker->mutex);
    return;
  }
  rlo__cond_broadcast(&worker->news);
  rlo__mutex_unlock(&worker->mutex);
  if (worker->has_thread) {
    rlo__thread_join(&worker->thread);
  }
  free_worker(worker);
}

rlo_status rlo__worker_submit(rlo__worker *worker, rlo__job *job) {
  rlo_status status = RLO_OK;
  rlo__mutex_lock(&worker->mutex);
  if (!worker->has_thread) {
    status = rlo__thread_start(work, worker, &worker->thread);
    worker->has_thread = status == RLO_OK;
  }
  if (status == RLO_OK) {
    job->next = NULL;
    *worker->end = job;
    worker->end = &job->next;
    ++worker->num_pending;
    rlo__cond_broadcast(&worker->news);
  }
  rlo__mutex_unlock(&worker->mutex);
  return status;
}

void rlo__worker_wait(rlo__worker *worker) {
  rlo__mutex_lock(&worker->mutex);
  while (!is_on_thread(worker) && worker->num_pending > 0) {
    rlo__cond_wait(&worker->news, &worker->mutex);
  }
  rlo__mutex_unlock(&worker->mutex);
}
