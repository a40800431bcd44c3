/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_MEASURE_H
#define RLO_RUNTIME_MEASURE_H

#include "runtime/planned.h"

/** A launch with the reason why it was chosen. */
typedef struct rlo__decided {
  /** A reference. */
  rlo__planned *planned;
  rlo_plan_decision decision;
  /** If wisdom or a measurement decided: its rate as a fraction of the copy
   *  kernel's; 0 if there is nothing to copy. */
  double measured_fraction;
} rlo__decided;

/**
 * Times the candidates of a problem on buffers of the library's own, and plans
 * the problem by the fastest, which becomes wisdom unless the options name a
 * family or a schedule. Does nothing for an empty problem, for one that wisdom
 * knows, and for one that loads indices: its time depends on their values.
 *
 * In each round every candidate and the copy kernel run once; after it those
 * far slower than the fastest are eliminated. The first round builds
 * candidates, in the order in which they are listed, for at most half of the
 * time. The best run of a candidate counts, because other load on the machine
 * only adds time. The first candidate, the choice without measuring, is never
 * eliminated, and loses only to one that is 2 % faster.
 *
 * @param problem  as passed to rlo_plan_create.
 * @param options  those of rlo_plan_create, read.
 * @param decided  in/out.
 * @return as rlo_plan_create. Threads: safe; they wait for each other.
 */
RLO_NODISCARD rlo_status rlo__measure(const rlo_problem *problem, const rlo_plan_options *options,
                                      rlo__decided *decided);

/**
 * Chooses between two measurements of a command: that of the device's clock,
 * unless it is less than 1/10,000 of the host's, which also waits, or longer
 * than that. Some drivers' clocks stand still (Mesa 22.3's llvmpipe counts 1 ns
 * for 10 ms) or count in another unit.
 */
double rlo__timing_choose(double host_nanos, double device_nanos);

#endif
