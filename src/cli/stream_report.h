/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_REPORT_H
#define RLO_CLI_STREAM_REPORT_H

#include "relayout/service.h"

#include "report.h"

/** What a verb prints of its jobs on standard output. */

/** Adds an estimate: to the event "plan", or in text. */
void rlo__stream_estimate_report(rlo__report *r,
                                 const rlo_job_estimate *estimate);

/** Adds what was done, to the event "end". */
void rlo__stream_info_report(rlo__report *r, const rlo_job_info *info);

/** Prints the event "progress". */
void rlo__stream_progress_print(const rlo_job_info *info);

#endif
