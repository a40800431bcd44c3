/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_JOB_H
#define RLO_SERVICE_JOB_H

#include <stdatomic.h>

#include "base/status.h"
#include "relayout/service.h"
#include "service/job_plan.h"
#include "service/journal.h"
#include "service/storage.h"
#include "service/work.h"

/** The next thing that a job does. */
typedef enum rlo__job_phase {
  RLO__PHASE_QUEUED,
  /** Takes its staging memory and reserves the destination. */
  RLO__PHASE_START,
  /** Begins a pass. */
  RLO__PHASE_NEXT_PASS,
  RLO__PHASE_PASS,
  /** Makes durable what the pass has written. Also a work beside those of the
   *  pass: then the job's phase is PASS. */
  RLO__PHASE_CHECKPOINT,
  /** Releases everything. */
  RLO__PHASE_END,
  RLO__PHASE_ENDED
} rlo__job_phase;

/** The parts of a job that are below its service. Guarded by the service's
 * lock, but for what is constant and what is atomic. */
struct rlo_job {
  /** Constant. */
  struct rlo_service *service;
  int32_t priority;
  /** The bytes that are used of the storages. */
  int64_t src_bytes, dst_bytes;
  rlo__job_plan plan;
  /** The service's. */
  rlo__place *host;

  /** For the service: the list that the job is in, its users, and whether it is
   *  in the list of those that have ended. */
  rlo_job *previous, *next;
  int64_t num_references;
  bool is_untaken;

  atomic_bool is_cancelled;
  rlo__job_phase phase;
  /** Works that are being done: one at a time but in a pass. */
  int32_t num_works;
  /** It has failed or was cancelled, and has only to keep what is done. */
  bool is_ending;
  /** The first failure; status RLO_OK: none. */
  rlo__saved_error failure;
  /** Retained until the end. `indices` is NULL if the problem loads none. */
  rlo_storage *src, *dst, *indices;
  /** That of two passes, if it is not behind the destination; else NULL. */
  rlo_storage *scratch;
  rlo__storage_identity src_identity;
  /** NULL: none. */
  rlo__journal *journal;
  /** Pages. */
  char *staging;
  /** -1 before the first one. */
  int32_t pass;
  rlo__pipeline *pipeline;

  /** The counts of what is planned and was done; rlo__job_get_info() adds the
   * rest. */
  rlo_job_info info;
  double begin_seconds, end_seconds;
};

/** A work that a thread does for a job. */
typedef struct rlo__job_work {
  rlo_job *job;
  rlo__job_phase phase;
  /** In a pass. */
  rlo__work work;
  int64_t device_bytes;
} rlo__job_work;

/** Takes what a lane's thread, or another if `lane_number` is -1, can do next.
 *  The caller holds the lock. @return false for nothing. */
bool rlo__job_take(rlo_job *job, int32_t lane_number, rlo__job_work *out_work);

/** Does it, without the lock; the failure is in this thread's error record. */
RLO_NODISCARD rlo_status rlo__job_do(rlo__job_work *work, rlo__lane *lane);

/** Ends it, with the lock. */
void rlo__job_end_work(rlo__job_work *work, rlo_status status);

/** With the lock. */
rlo_job_state rlo__job_get_state(const rlo_job *job);
rlo_job_info rlo__job_get_info(const rlo_job *job);

/** Frees a job that has ended, or was never begun; NULL is legal. */
void rlo__job_free(rlo_job *job);

#endif
