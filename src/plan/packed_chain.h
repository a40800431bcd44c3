/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_PACKED_CHAIN_H
#define RLO_PLAN_PACKED_CHAIN_H

#include "plan/grid.h"

/** Axes of a problem that continue each other on one side, from an axis of
 *  stride 1 upwards. */
typedef struct rlo__chain {
  int32_t num_axes;
  int32_t axes[RLO__GRID_MAX_AXES];
} rlo__chain;

/** The chain of a form that begins with axis `first`. The problem has at most
 *  RLO__GRID_MAX_AXES axes. */
rlo__chain rlo__chain_find(const rlo_problem *problem,
                           const rlo_form *form,
                           int32_t first);

/** Whether an axis is among the first `count` of a chain. */
bool rlo__chain_leads(const rlo__chain *chain, int32_t count, int32_t axis);

/** Units that follow each other, if `block[a]` points of each axis a are taken:
 *  up to the first axis of the chain that is not taken whole. *out_num_axes:
 *  how many axes these are. */
int64_t rlo__chain_run_units(const rlo__chain *chain,
                             const rlo_problem *problem,
                             const int64_t *block,
                             int32_t *out_num_axes);

#endif
