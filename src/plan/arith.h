/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_ARITH_H
#define RLO_PLAN_ARITH_H

#include "plan/family.h"

/** What the kernels that include cl/arith.cl have in common. */

/** Whether a device can compute a canonical problem: RLO_OK, or RLO_UNSUPPORTED
 *  with what it lacks. */
RLO_NODISCARD rlo_status rlo__arith_check(const rlo_problem *problem,
                                          const rlo_device_info *device);

/**
 * Make a canonical problem that computes complex numbers one of real numbers,
 * for their parts are computed alike; any other stays.
 * @return RLO_OK; RLO_UNSUPPORTED between complex and real numbers, or for a
 *         fill of two parts; RLO_OVERFLOW; or what canonicalising says.
 */
RLO_NODISCARD rlo_status rlo__arith_split_parts(rlo_problem *problem);

/** Add the constants of arith.cl but RLO_LANES. */
RLO_NODISCARD rlo_status rlo__arith_define(const rlo_problem *problem,
                                           rlo__launch *launch);

/** Add alpha and beta in the compute type, two arguments. */
RLO_NODISCARD rlo_status rlo__arith_add_factors(const rlo_problem *problem,
                                                rlo__launch *launch);

/** Add where sums end before their axis does: RLO_NUM_ENDS and RLO_ENDS of
 *  compute.cl. The guards are compiled in. */
RLO_NODISCARD rlo_status rlo__arith_define_ends(const rlo_problem *problem,
                                                rlo__launch *launch);

/** RLO_SUM_LEVELS of arith.cl: levels that the blocks of a cell's sum, summed
 *  pairwise, take. 1 where nothing is summed. @return RLO_OK; RLO_OVERFLOW. */
RLO_NODISCARD rlo_status rlo__arith_sum_levels(const rlo_problem *problem,
                                               int64_t *out_levels);

/** Whether arith.cl computes a problem sixteen values at a time. */
bool rlo__arith_has_vectors(const rlo_problem *problem);

/** How many of a canonical problem's axes are summed: the last ones. */
int32_t rlo__arith_num_sum_axes(const rlo_problem *problem);

/** "f32 to bf16, alpha, beta, sum" for people, behind what is there. */
void rlo__arith_describe(const rlo_problem *problem, rlo__str *words);

#endif
