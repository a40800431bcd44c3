/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_CHECKED_JOB_H
#define RLO_TESTS_SUPPORT_CHECKED_JOB_H

#include "relayout/service.h"
#include "support/watched_storage.h"

/**
 * A job of any problem, from one watched storage to another, and what has to
 * become of the destination: what the oracle makes of it.
 */
typedef struct checked_job {
  rlo_problem problem;
  rlo_job_options options;
  watched_storage src, dst;
  uint8_t *wanted;
  rlo_job *job;
} checked_job;

/** Fills the source and the destination, and asks the oracle. The options are
 *  the defaults. */
void checked_job_init(checked_job *job, const rlo_problem *problem, test_storage_kind src,
                      test_storage_kind dst);

void checked_job_submit(checked_job *job, rlo_service *service);

rlo_job_info checked_job_info(const checked_job *job);

/** Waits for the end, and compares the destination, the counters of bytes and
 *  the host memory. `name` is for messages. */
void checked_job_expect(checked_job *job, const char *name);

void checked_job_deinit(checked_job *job);

/** The problem of a pad of every dimension by as many elements on both sides.
 */
void checked_job_pad(const char *src, int64_t by, rlo_problem *out_problem);

#endif
