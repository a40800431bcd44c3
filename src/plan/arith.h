/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_ARITH_H
#define RLO_PLAN_ARITH_H

#include "plan/family.h"

/** Constants and arguments of the kernels that include cl/arith.cl. */

/** Checks that a device can compute a canonical problem. @return RLO_OK;
 *  RLO_UNSUPPORTED, naming what the device lacks. */
RLO_NODISCARD rlo_status rlo__arith_check(const rlo_problem *problem,
                                          const rlo_device_info *device);

/**
 * Turns a canonical problem that computes complex numbers into one that
 * computes their parts as real numbers. Other problems stay as they are.
 * @return RLO_OK; RLO_UNSUPPORTED to pred, from real numbers unless they are
 *         converted only, or for a fill of two different parts; RLO_OVERFLOW;
 * or the status of rlo_problem_canonicalize.
 */
RLO_NODISCARD rlo_status rlo__arith_split_parts(rlo_problem *problem);

/** Adds all constants that depend on what a query computes, and begins the
 *  launch's description with it. */
RLO_NODISCARD rlo_status rlo__arith_begin(const rlo__family_query *query, rlo__launch *launch);

/** Adds the numbers of the steps in the compute type: one argument. */
RLO_NODISCARD rlo_status rlo__arith_add_numbers(const rlo_problem *problem, rlo__launch *launch);

/** Adds RLO_NUM_ENDS and RLO_ENDS of compute.cl: the guards that end a sum
 *  before its axis ends. The guards themselves are compiled in. */
RLO_NODISCARD rlo_status rlo__arith_define_ends(const rlo_problem *problem, rlo__launch *launch);

/** RLO_SUM_LEVELS of arith.cl: the levels of the pairwise sum over the blocks
 *  of a cell; 1 where nothing is summed. @return RLO_OK; RLO_OVERFLOW. */
RLO_NODISCARD rlo_status rlo__arith_sum_levels(const rlo__family_query *query, int64_t *out_levels);

/** Points of a block of the query's sum. */
int64_t rlo__arith_block_points(const rlo__family_query *query);

/** Tells if arith.cl computes a problem sixteen values at a time. */
bool rlo__arith_has_vectors(const rlo_problem *problem);

/** Number of summed axes of a canonical problem. They are its last ones. */
int32_t rlo__arith_num_sum_axes(const rlo_problem *problem);

#endif
