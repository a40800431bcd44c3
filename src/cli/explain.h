/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_EXPLAIN_H
#define RLO_CLI_EXPLAIN_H

#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/shape.h"

#include "options.h"
#include "session.h"

/** A relayout of the command line that is planned and not run. Static in its verb: a
 *  problem is too large for the stack. */
typedef struct rlo__explain_request rlo__explain_request;

struct rlo__explain_request {
  rlo__common_options common;
  rlo_plan_options plan_options;
  /** NULL if not given. */
  const char *permutation_text;
  /** Plan the way back. */
  bool is_inverse;
  bool has_source;
  /** Planned for without --device and --class; AUTO: the default device. */
  rlo_device_class typical;
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  /** The computation; a plain copy if the types are equal too. */
  rlo_combine_options combine;
  /** NULL: `device` is a typical device of a class. */
  const rlo__session *session;
  rlo_device_info device;
  /** The problem before rewriting; the report of its plan has the canonical one. */
  rlo_problem written;
  /** Prints the plan. Returns an exit code. */
  int (*print)(const rlo__explain_request *request, const rlo_plan_report *report);
};

/** Reads the command line of a verb, plans, and prints. */
int rlo__explain_run(const rlo__command *command, int argc, char **argv,
                     rlo__explain_request *request);

/** Returns the lines of a problem, to be freed with rlo__free; NULL if there is no memory. */
char *rlo__explain_text(const rlo_problem *problem);

#endif
