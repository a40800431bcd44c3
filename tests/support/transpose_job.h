/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_TRANSPOSE_JOB_H
#define RLO_TESTS_SUPPORT_TRANSPOSE_JOB_H

#include "relayout/service.h"
#include "support/watched_storage.h"

enum { TRANSPOSE_ROWS = 48, TRANSPOSE_COLUMNS = 80 };

/**
 * A job of known size: f32[48,80] transposed, from one watched storage to
 * another, in about a dozen pieces unless both are memory.
 */
typedef struct transpose_job {
  rlo_problem problem;
  rlo_job_options options;
  watched_storage src, dst;
  rlo_job *job;
} transpose_job;

/** Makes a service on the host with the smallest budget; `io_threads` is that
 *  of its options. */
rlo_service *transpose_service_open(int32_t io_threads);
/** Releases the service, and expects that nothing is left which was allocated
 *  since it was opened. */
void transpose_service_close(rlo_service *service);

void transpose_job_init(transpose_job *t, test_storage_kind src, test_storage_kind dst);
/** Makes it a job of two passes, in some KiB of memory, with room behind its
 *  destination. Returns what it is expected to do. */
rlo_job_estimate transpose_job_take_two_passes(transpose_job *t, int32_t io_threads);
void transpose_job_submit(transpose_job *t, rlo_service *service);
rlo_job_info transpose_job_info(const transpose_job *t);
/** Waits for the end, which is that of a job that was done. */
void transpose_job_expect(transpose_job *t);
/** Waits for the end, and expects this status and these first words. */
void transpose_job_expect_failure(transpose_job *t, rlo_status status, const char *words);
void transpose_job_deinit(transpose_job *t);

#endif
