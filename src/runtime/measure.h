/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_MEASURE_H
#define RLO_RUNTIME_MEASURE_H

#include "plan/planner.h"
#include "runtime/context.h"

/** The fastest candidate. */
typedef struct rlo__measured {
  const rlo__family *family;
  const rlo__schedule *schedule;
  /** Its rate as a fraction of the copy kernel's; 0 if there is nothing to
   *  copy. */
  double fraction;
} rlo__measured;

/**
 * Times the candidates of a problem on buffers of the library's own, and finds
 * the fastest.
 *
 * Candidates are built in the order in which they are listed, for at most half
 * of the time; the slower half is eliminated. Then come rounds, in each of
 * which every candidate left and the copy kernel take one sample; after every
 * second round the slower half is eliminated. The first candidate, the choice
 * without measuring, is never eliminated. It loses only to one that is 2 %
 * faster both in its best sample, because other load on the machine only adds
 * time, and in the median over the rounds that both took part in, because such
 * load slows neighbours alike.
 *
 * @param problem  as passed to rlo_plan_create, with at least one point.
 * @param options  those of rlo_plan_create, checked; not NULL.
 * @param alignment_bytes  of both memories, which the candidates rely on.
 * @return as rlo_plan_create.
 */
RLO_NODISCARD rlo_status rlo__measure(rlo_context *context,
                                      const rlo_problem *problem,
                                      const rlo_plan_options *options,
                                      int64_t alignment_bytes,
                                      rlo__measured *out_measured);

#endif
