/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLAN_HANDLE_H
#define RLO_RUNTIME_PLAN_HANDLE_H

#include "plan/sum_parts.h"
#include "runtime/operand.h"
#include "runtime/planned.h"

enum {
  /** The steps of a segment sum: three that invert the ids, two fills, the
   *  sum. */
  RLO__PLAN_MAX_STEPS = 6,
  /** The most steps of a problem: one, or three for a sum that is cut (whole
   *  parts, the last part, the sum over them). */
  RLO__PLAN_PROBLEM_STEPS = 3
};

/** One kernel of a plan, which runs after those of the steps before it. */
typedef struct rlo__plan_step {
  /** The operands of the plan that the kernel takes as its source, destination
   *  and indices. */
  rlo__operand_side src, dst, indices;
  /** A reference. */
  rlo__planned *planned;
  /** The programs of its launches. */
  rlo__program_slot programs[RLO__PLANNED_MAX_LAUNCHES];
} rlo__plan_step;

/**
 * Builds a launch of a step, unless it is built. If its kernel runs smaller
 * work-groups only than were planned, the one in place of it.
 * @param index      as rlo__planned_choose returns it.
 * @param out_index  of the launch to enqueue.
 * @return as rlo_plan_prepare. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__plan_step_build(rlo_context *context,
                                              rlo__plan_step *step,
                                              int32_t index,
                                              rlo__build_priority priority,
                                              int32_t *out_index);

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

/** Creates a plan, with the limits beyond which sums are cut into parts. @param
 *  limits NULL: those of the class. @return as rlo_plan_create. */
RLO_NODISCARD rlo_status
rlo__plan_create_by_limits(rlo_context *context,
                           const rlo_problem *problem,
                           const rlo_plan_options *options,
                           const rlo__sum_limits *limits,
                           rlo_plan **out_plan);

#endif
