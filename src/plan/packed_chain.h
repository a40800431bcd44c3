/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PACKED_CHAIN_H
#define RLO_PLAN_PACKED_CHAIN_H

#include "plan/grid.h"

/** Axes of a problem that continue each other on one side, from an axis of
 *  stride 1 upwards. */
typedef struct rlo__axis_run {
  int32_t num_axes;
  int32_t axes[RLO__GRID_MAX_AXES];
} rlo__axis_run;

/** The chain of a form that begins with axis `first`. The problem has at most
 *  RLO__GRID_MAX_AXES axes. */
rlo__axis_run rlo__axis_run_find(const rlo_problem *problem,
                                 const rlo_form *form,
                                 int32_t first);

/** Whether an axis is among the first `count` of a chain. */
bool rlo__axis_run_leads(const rlo__axis_run *chain,
                         int32_t count,
                         int32_t axis);

/** Units that follow each other, if `block[a]` points of each axis a are taken:
 *  up to the first axis of the chain that is not taken whole. *out_num_axes:
 *  how many axes these are. */
int64_t rlo__axis_run_units(const rlo__axis_run *chain,
                            const rlo_problem *problem,
                            const int64_t *block,
                            int32_t *out_num_axes);

#endif
