/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_WORKER_H
#define RLO_RUNTIME_WORKER_H

#include "relayout/status.h"

/**
 * A thread that runs jobs in the background, one after the other in the order
 * of submission. The thread starts with the first job.
 */
typedef struct rlo__worker rlo__worker;

/** A job: the first member of a struct that holds its data. */
typedef struct rlo__job {
  struct rlo__job *next;
  /** Called once; owns the job. */
  void (*run)(struct rlo__job *job);
} rlo__job;

/** @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__worker_create(rlo__worker **out_worker);

/**
 * Runs the remaining jobs, then ends the thread. No job may be submitted any
 * more. Within a job it returns at once, and the thread frees the worker when
 * that job and the remaining ones have returned. NULL is legal.
 */
void rlo__worker_destroy(rlo__worker *worker);

/** Queues a job. @return RLO_OK; RLO_OUT_OF_MEMORY if no thread can be started;
 *  the caller then still owns the job. Threads: safe. */
RLO_NODISCARD rlo_status rlo__worker_submit(rlo__worker *worker, rlo__job *job);

/** Waits until no job is queued or running. Within a job, returns at once. */
void rlo__worker_wait(rlo__worker *worker);

#endif
