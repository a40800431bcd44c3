/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_REPORT_H
#define RLO_CLI_OP_REPORT_H

#include "op.h"

/** What `relayout op` prints of its results on standard output: their shapes,
 *  or with --json an object, of jobs one for each event. */

/** Prints the event "plan"; as text only what --dry-run asks for. */
void rlo__op_print_estimate(const rlo__op *op,
                            const rlo_job_estimate *estimate);

/** Prints the results of what ran in memory. */
void rlo__op_print_results(const rlo__op *op);

/** Prints the results of jobs: the event "end". */
void rlo__op_print_job(const rlo__op *op, const rlo__stream_result *result);

/** Prints the event "end" of jobs that failed; the reason is on standard
 *  error. */
void rlo__op_print_failure(const rlo__op *op, rlo_status status);

#endif
