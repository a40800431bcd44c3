/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PLANNER_H
#define RLO_PLAN_PLANNER_H

#include "plan/family.h"

/** The planner's own account: candidates and the choice. */
typedef struct rlo_choice {
  /** NULL for an empty problem, which needs no kernel. */
  const rlo_family *family;
  /** Read from the options and the device. */
  rlo_device_class device_class;
  /** As given, or the device's own. */
  int64_t src_alignment_bytes;
  int64_t dst_alignment_bytes;
  int32_t num_candidates;
  rlo_plan_candidate candidates[RLO_MAX_FAMILIES];
} rlo_choice;

/**
 * Canonicalise a problem as far as the alignments allow, choose a family for
 * it and write its launch.
 *
 * @param problem  in/out: becomes canonical.
 * @param src_alignment_bytes, dst_alignment_bytes  as in rlo_plan_explain.
 * @param out_choice  may be NULL.
 * @param out_launch  written if a family was chosen.
 * @return as rlo_plan_explain.
 */
RLO_NODISCARD rlo_status rlo__planner_choose(rlo_problem *problem,
                                             const rlo_device_info *device,
                                             const rlo_plan_options *options,
                                             int64_t src_alignment_bytes,
                                             int64_t dst_alignment_bytes,
                                             rlo_choice *out_choice,
                                             rlo_launch *out_launch);

#endif
