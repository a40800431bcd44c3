/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_MEASURE_H
#define RLO_RUNTIME_MEASURE_H

#include "plan/planner.h"
#include "runtime/context.h"

/** What was fastest. */
typedef struct rlo__measured {
  const rlo__family *family;
  const rlo__schedule *schedule;
  /** Of the copy kernel's rate; 0 where there is nothing to copy. */
  double fraction;
} rlo__measured;

/**
 * Time the candidates of a problem on buffers of our own, and find the fastest.
 *
 * Candidates are built in the order in which they are listed, for at most half
 * of the time; the slower half leaves; then all take turns, the copy kernel
 * too, and the slower half leaves after every second round. The first
 * candidate, which is what would be planned without measuring, always stays. It
 * loses only to one that is 2 % faster both at its best, because whatever else
 * the machine does only ever adds, and in the median over the rounds that both
 * took part in, because that hits neighbours alike.
 *
 * @param problem  as it was given, with at least one point.
 * @param options  as rlo_plan_create has them, checked; not NULL.
 * @param alignment_bytes  of both memories, which the candidates rely on.
 * @return as rlo_plan_create.
 */
RLO_NODISCARD rlo_status rlo__measure(rlo_context *context,
                                      const rlo_problem *problem,
                                      const rlo_plan_options *options,
                                      int64_t alignment_bytes,
                                      rlo__measured *out_measured);

#endif
