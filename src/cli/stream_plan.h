/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_PLAN_H
#define RLO_CLI_STREAM_PLAN_H

#include "stream_jobs.h"
#include "stream_resume.h"

/** The options of a stream's jobs, and the memory and time that they need. */

/** The options of the service that runs them, one after the other. */
rlo_service_options rlo__stream_service_options(const rlo__stream *stream);

/** The options of one of them. The first job of an output finds nothing in it;
 * the others keep what it has written between their own bytes.
 *  @param journal  borrowed by the result. */
rlo_job_options rlo__stream_job_options(const rlo__stream *stream,
                                        int32_t job,
                                        const rlo__journal_path *journal);

/** How many jobs write to an output. */
int32_t rlo__stream_count_jobs(const rlo__stream *stream, int32_t output);

/** Estimates one of them, alone, as rlo_job_estimate_make does. */
rlo_status rlo__stream_estimate_job(const rlo__stream *stream,
                                    int32_t job,
                                    rlo_job_estimate *out_estimate);

/**
 * Computes what the jobs would do together.
 *
 * @param out_is_worth  NULL: jobs are the only way. False: the arrays are to be
 *                 loaded. Some problem cannot
 *                 be cut, which is an error if pieces are asked for; or the
 * jobs would write bytes here and there between those of each other, which is
 * slow, and the machine has memory for all of them.
 */
int rlo__stream_plan(const rlo__stream *stream,
                     rlo_job_estimate *out_estimate,
                     bool *out_is_worth);

#endif
