/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLAN_HANDLE_H
#define RLO_RUNTIME_PLAN_HANDLE_H

#include "runtime/operand.h"
#include "runtime/prepared_launch.h"

enum {
  /** One for memory aligned as the device aligns it, one for memory aligned to
   *  the element only. */
  RLO__STEP_MAX_LAUNCHES = 2,
  /** Of a segment sum: three that invert the ids, two fills, the sum. */
  RLO__PLAN_MAX_STEPS = 6
};

/** One kernel of a plan, which runs after those of the steps before it. */
typedef struct rlo__plan_step {
  /** The operands of the plan that the kernel takes as its source, destination
   *  and indices. */
  rlo__operand_side src, dst, indices;
  /** At least 1; the faster first. */
  int32_t num_launches;
  rlo__prepared_launch launches[RLO__STEP_MAX_LAUNCHES];
} rlo__plan_step;

struct rlo_plan {
  atomic_int_fast32_t num_references;
  /** Retained. */
  rlo_context *context;
  rlo_plan_info info;
  char parameters[160];
  int32_t num_operands;
  rlo__operand_need operands[RLO__NUM_OPERANDS];
  /** 0 for an empty problem; else info.num_steps. */
  int32_t num_steps;
  rlo__plan_step steps[];
};

/**
 * Finds the fastest launch of a step for memories of these alignments.
 * @return RLO_OK; RLO_UNSUPPORTED if every launch needs larger alignments.
 */
RLO_NODISCARD rlo_status
rlo__plan_choose_launch(rlo_plan *plan,
                        int32_t step,
                        int64_t src_alignment_bytes,
                        int64_t dst_alignment_bytes,
                        rlo__prepared_launch **out_launch);

#endif
