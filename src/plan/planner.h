/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PLANNER_H
#define RLO_PLAN_PLANNER_H

#include "plan/wisdom.h"

/** The planner's own account: candidates and the choice. */
typedef struct rlo__choice {
  /** NULL for an empty problem, which needs no kernel. */
  const rlo__family *family;
  /** Of rlo__schedules. */
  const rlo__schedule *schedule;
  rlo_plan_decision decision;
  /** If wisdom decided. */
  double measured_fraction;
  /** Read from the options and the device. */
  rlo_device_class device_class;
  /** As given, or the device's own. */
  int64_t src_alignment_bytes;
  int64_t dst_alignment_bytes;
  int32_t num_candidates;
  rlo_plan_candidate candidates[RLO_MAX_FAMILIES];
} rlo__choice;

/** A family's launch in some schedule: one of those to be timed. */
typedef struct rlo__candidate {
  const rlo__family *family;
  const rlo__schedule *schedule;
  rlo__launch launch;
} rlo__candidate;

/** Most candidates of one problem. */
enum { RLO__MAX_PLAN_CANDIDATES = 24 };

/**
 * Canonicalise a problem as far as the alignments allow, choose a family for
 * it and write its launch.
 *
 * @param problem  in/out: becomes canonical.
 * @param src_alignment_bytes, dst_alignment_bytes  as in rlo_plan_explain.
 * @param out_choice  as rlo__planner_explain has it; may be NULL.
 * @param out_launch  written if a family was chosen.
 * @return as rlo_plan_explain.
 */
RLO_NODISCARD rlo_status rlo__planner_choose(rlo_problem *problem,
                                             const rlo_device_info *device,
                                             const rlo_plan_options *options,
                                             int64_t src_alignment_bytes,
                                             int64_t dst_alignment_bytes,
                                             rlo__choice *out_choice,
                                             rlo__launch *out_launch);

/**
 * As rlo__planner_choose, but what wisdom says of the problem wins, unless the
 * options name a family or a schedule. Wisdom that does not fit the problem (a
 * family that refuses it) is passed over. No more is asked of the families than
 * it takes to choose: the candidates are for rlo__planner_explain.
 * @param wisdom  NULL: there is none.
 */
RLO_NODISCARD rlo_status
rlo__planner_choose_with(rlo_problem *problem,
                         const rlo_device_info *device,
                         const rlo_plan_options *options,
                         int64_t src_alignment_bytes,
                         int64_t dst_alignment_bytes,
                         const rlo__wisdom *wisdom,
                         rlo__choice *out_choice,
                         rlo__launch *out_launch);

/** As rlo__planner_choose_with, and every family of the class tells among the
 *  choice's candidates what it would do, or why not. */
RLO_NODISCARD rlo_status rlo__planner_explain(rlo_problem *problem,
                                              const rlo_device_info *device,
                                              const rlo_plan_options *options,
                                              int64_t src_alignment_bytes,
                                              int64_t dst_alignment_bytes,
                                              const rlo__wisdom *wisdom,
                                              rlo__choice *out_choice,
                                              rlo__launch *out_launch);

/**
 * The launches that are worth timing for a problem: each applicable family's in
 * each schedule, without those that come out the same, at most
 * RLO__MAX_PLAN_CANDIDATES. The first is what rlo__planner_choose takes without
 * wisdom; then come the other families, and then the schedules of each, the
 * most promising family first. What is expected to be far slower than the first
 * is left out. Options that name a family or a schedule leave only those.
 *
 * @param problem  in/out: becomes canonical.
 * @param out_candidates  room for RLO__MAX_PLAN_CANDIDATES.
 * @param out_count  0 for an empty problem.
 * @return as rlo_plan_explain.
 */
RLO_NODISCARD rlo_status
rlo__planner_list_candidates(rlo_problem *problem,
                             const rlo_device_info *device,
                             const rlo_plan_options *options,
                             int64_t src_alignment_bytes,
                             int64_t dst_alignment_bytes,
                             rlo__candidate *out_candidates,
                             int32_t *out_count);

#endif
