/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PLANNER_H
#define RLO_PLAN_PLANNER_H

#include "plan/planning.h"
#include "plan/wisdom.h"

/** The planner's decision. */
typedef struct rlo__choice {
  /** NULL for an empty problem, which needs no kernel. */
  const rlo__family *family;
  /** An entry of rlo__schedules. */
  const rlo__schedule *schedule;
  rlo_plan_decision decision;
  /** If wisdom decided. */
  double measured_fraction;
  /** From the options or the device. */
  rlo_device_class device_class;
  /** The alignment that was asked for, or the device's own. */
  int64_t src_alignment_bytes;
  int64_t dst_alignment_bytes;
  /** Set only if the request explains. */
  int32_t num_candidates;
  const rlo__family *asked[RLO_MAX_FAMILIES];
  rlo_plan_candidate candidates[RLO_MAX_FAMILIES];
} rlo__choice;

/** The launch of a family by a schedule: one to be timed. */
typedef struct rlo__candidate {
  const rlo__family *family;
  const rlo__schedule *schedule;
  rlo__launch launch;
} rlo__candidate;

/** Most candidates of one problem. */
enum { RLO__MAX_PLAN_CANDIDATES = 24 };

/**
 * Makes a problem canonical, chooses a family and a schedule for it and writes
 * its launch. Wisdom about the problem decides unless the options name a family
 * or a schedule; wisdom whose family refuses the problem is ignored.
 *
 * @param out_choice  may be NULL; undefined on failure.
 * @param out_launch  initialized; cleared and written if a family was chosen.
 * @return as rlo_plan_explain.
 */
RLO_NODISCARD rlo_status rlo__planner_choose(const rlo__plan_request *request,
                                             rlo__choice *out_choice, rlo__launch *out_launch);

/**
 * Lists the launches that are worth timing for a problem: each applicable
 * family by each schedule, without equal launches, at most
 * RLO__MAX_PLAN_CANDIDATES. The first is what rlo__planner_choose takes without
 * wisdom; the other families follow, then the other schedules of each, in the
 * order of expectation. Families that are expected to be far slower than the
 * first are left out. Options that name a family or a schedule leave only
 * those. The request's wisdom is not read.
 *
 * @param out_candidates  room for RLO__MAX_PLAN_CANDIDATES, whose launches are
 *                        initialized.
 * @param out_count       0 for an empty problem.
 * @return as rlo_plan_explain.
 */
RLO_NODISCARD rlo_status rlo__planner_list_candidates(const rlo__plan_request *request,
                                                      rlo__candidate *out_candidates,
                                                      int32_t *out_count);

#endif
