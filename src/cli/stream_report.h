/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_REPORT_H
#define RLO_CLI_STREAM_REPORT_H

#include "stream_jobs.h"

/** The report of a verb's jobs on standard output. */

/** Prints what they will need: the event "plan", or text for --dry-run. */
void rlo__stream_print_plan(const rlo__stream *stream,
                            const rlo_job_estimate *estimate);

/** Prints the outputs, or the event "end". Of jobs that failed only that: the
 *  reason is on standard error. */
void rlo__stream_print_end(const rlo__stream *stream,
                           const rlo__stream_result *result,
                           bool is_done);

/** Prints the event "progress". */
void rlo__stream_progress_print(const rlo_job_info *info);

#endif
