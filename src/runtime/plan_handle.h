/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLAN_HANDLE_H
#define RLO_RUNTIME_PLAN_HANDLE_H

#include "plan/sum_parts.h"
#include "runtime/measure.h"
#include "runtime/operand.h"

enum {
  /** The steps of a segment sum: three that invert the ids, two fills, the
   *  sum. */
  RLO__PLAN_MAX_STEPS = 6,
  /** The most steps of a sum that is cut: whole parts, the last part, the sum
   *  over them. Other problems have one. */
  RLO__PLAN_PART_STEPS = 3
};

/** One kernel of a plan, which runs after those of the steps before it. */
typedef struct rlo__plan_step {
  /** The operands of the plan that the kernel takes as its source, destination
   *  and indices. */
  rlo__operand_side src, dst, indices;
  /** The launch for memory as aligned as its terms tell. */
  rlo__decided aligned;
  /** The launch for memory aligned to the element, planned by `terms` when an
   *  enqueue needs it. A reference; NULL until then. */
  _Atomic(rlo__planned *) element;
  rlo__planned_terms terms;
  /** There is no launch but `aligned`: the caller promised such memory, or it
   *  runs on any. */
  bool has_one;
} rlo__plan_step;

struct rlo_plan {
  atomic_int_fast32_t num_references;
  /** Retained. */
  rlo_context *context;
  rlo_plan_info info;
  /** The text that info.parameters points to, for a sum in parts. */
  char parameters[192];
  int32_t num_operands;
  rlo__operand_need operands[RLO__NUM_OPERANDS];
  /** 0 for an empty problem; else info.num_steps. */
  int32_t num_steps;
  rlo__plan_step steps[];
};

/**
 * Chooses the launch of a step for memories of these alignments, and plans it
 * if it is not there.
 * @param out_planned  borrowed from the step.
 * @return RLO_OK; RLO_UNSUPPORTED if every launch needs larger alignments; as
 *         rlo_plan_create. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__plan_step_choose(rlo__plan_step *step, int64_t src_alignment_bytes,
                                               int64_t dst_alignment_bytes,
                                               rlo__planned **out_planned);

/** Creates a plan, with the limits beyond which sums are cut into parts. @param
 *  limits NULL: those of the class. @return as rlo_plan_create. */
RLO_NODISCARD rlo_status rlo__plan_create_by_limits(rlo_context *context,
                                                    const rlo_problem *problem,
                                                    const rlo_plan_options *options,
                                                    const rlo__sum_limits *limits,
                                                    rlo_plan **out_plan);

#endif
