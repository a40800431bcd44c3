/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_OP_REPORT_H
#define RLO_CLI_OP_REPORT_H

#include "op.h"

/** The report of `relayout op` on standard output: the shapes of its results,
 *  or with --json an object, of jobs one for each event. */

/** Adds the results of an operation, as in rlo__stream. */
void rlo__op_report(const void *op,
                    rlo__report *report,
                    const rlo__stream_result *result);

/** Prints the results of what ran in memory. */
void rlo__op_print_results(const rlo__op *op);

#endif
