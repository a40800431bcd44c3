/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_EXPLANATION_H
#define RLO_CLI_EXPLANATION_H

#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/shape.h"

#include "wisdom_file.h"

/** Most steps of a rewriting that are kept; the others are counted. */
#define RLO__EXPLANATION_MAX_STEPS 256

/** What `relayout explain` knows about one relayout. */
typedef struct rlo__explanation {
  rlo_shape src;
  rlo_shape dst;
  bool has_permutation;
  int32_t permutation[RLO_MAX_RANK];
  /** What is computed; nothing if src and dst are of one type too. */
  rlo_combine_options combine;
  /** NULL: no device, but typical numbers of a class. Borrowed. */
  const char *device_name;
  rlo_device_info device;
  /** What the file of wisdom held for it. */
  rlo__wisdom_known wisdom;
  /** The problem as the relayout makes it; the report has the canonical one. */
  rlo_problem written;
  int32_t num_steps;
  char steps[RLO__EXPLANATION_MAX_STEPS][120];
  /** Borrowed. */
  const rlo_plan_report *report;
} rlo__explanation;

/** Note a step of the rewriting. */
void rlo__explanation_add_step(rlo__explanation *explanation, const char *step);

/** Print it all, with the kernel's source if asked. */
void rlo__explanation_print_text(const rlo__explanation *explanation,
                                 bool has_source);
void rlo__explanation_print_json(const rlo__explanation *explanation,
                                 bool has_source);

#endif
