/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_REPORT_H
#define RLO_CLI_STREAM_REPORT_H

#include "relayout/service.h"

#include "json.h"

/** What a verb prints of its jobs on standard output. */

/** Writes the keys of an estimate into an object: the event "plan". */
void rlo__stream_estimate_keys(rlo__json *json,
                               const rlo_job_estimate *estimate);

/** Prints an estimate as text. */
void rlo__stream_estimate_print(const rlo_job_estimate *estimate);

/** Writes the keys of what was done into an object: the event "end". */
void rlo__stream_info_keys(rlo__json *json, const rlo_job_info *info);

/** Prints the event "progress". */
void rlo__stream_progress_print(const rlo_job_info *info);

#endif
