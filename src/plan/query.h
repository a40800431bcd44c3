/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_QUERY_H
#define RLO_PLAN_QUERY_H

#include "plan/family.h"

/** What the planner is asked, once the options have been read. Not to be
 *  copied: its query points into it. */
typedef struct rlo__query {
  /** Its device is the one below. */
  rlo__family_query query;
  rlo_device_class device_class;
  /** The row that the caller forces, or NULL. */
  const rlo__family *forced;
  /** The schedule that the caller forces, or NULL. */
  const rlo__schedule *forced_schedule;
  /** As it is, and as the query's schedule leaves it. */
  const rlo_device_info *whole_device;
  rlo_device_info device;
} rlo__query;

/**
 * Read everything that is asked and make the problem canonical.
 *
 * @param problem, device  borrowed until the query is not used any more.
 * @param options, src_alignment_bytes, dst_alignment_bytes  as in
 *        rlo_plan_explain.
 * @return as rlo_plan_explain.
 */
RLO_NODISCARD rlo_status rlo__query_begin(rlo_problem *problem,
                                          const rlo_device_info *device,
                                          const rlo_plan_options *options,
                                          int64_t src_alignment_bytes,
                                          int64_t dst_alignment_bytes,
                                          rlo__query *out_query);

/** Ask in this schedule from now on: what it does without is what the device
 * does not have. */
void rlo__query_set_schedule(rlo__query *query, const rlo__schedule *schedule);

/** Whether devices move such units at all. @return RLO_OK; RLO_UNSUPPORTED;
 *  RLO_OVERFLOW for positions beyond 64 bits. */
RLO_NODISCARD rlo_status rlo__query_check_unit(const rlo__query *query);

/** "CPU" or "GPU". */
const char *rlo__query_class_name(rlo_device_class device_class);

#endif
