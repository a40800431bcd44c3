/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_WORKER_H
#define RLO_RUNTIME_WORKER_H

#include "relayout/status.h"

/**
 * One thread for what nobody wants to wait for: jobs, one after the other, in
 * the order they came. The thread starts with the first job.
 */
typedef struct rlo__worker rlo__worker;

/** Something to do: the first member of a struct with what it is about. */
typedef struct rlo__job {
  struct rlo__job *next;
  /** Called once; the job is the callee's from then on. */
  void (*run)(struct rlo__job *job);
} rlo__job;

/** @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__worker_create(rlo__worker **out_worker);

/**
 * Run the jobs that are left, then end the thread. Nobody may submit another.
 * Within a job it runs what is left there and then, and the thread frees the
 * worker when that job has returned. NULL is legal.
 */
void rlo__worker_destroy(rlo__worker *worker);

/** Queue a job. @return RLO_OK; RLO_OUT_OF_MEMORY if there is no thread for
 *  it, and then it is still the caller's. Threads: safe. */
RLO_NODISCARD rlo_status rlo__worker_submit(rlo__worker *worker, rlo__job *job);

/** Return when no job is waiting or running. Within a job: at once. */
void rlo__worker_wait(rlo__worker *worker);

#endif
