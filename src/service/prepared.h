/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_PREPARED_H
#define RLO_SERVICE_PREPARED_H

#include "relayout/opencl.h"

/**
 * What is computed once for all pieces that are equal, as pieces over packed
 * memory mostly are: how the host runs them, and the plans of devices.
 */
typedef struct rlo__prepared rlo__prepared;

/** The prepared problems of a service: the next job may be like the last.
 *  Threads: safe. */
typedef struct rlo__prepared_set rlo__prepared_set;

/** @param num_lanes  of contexts; 0: the host runs the pieces.
 *  @param family, schedule  as in rlo_plan_options; borrowed.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__prepared_set_create(int32_t num_lanes,
                                                  const char *family,
                                                  const char *schedule,
                                                  rlo__prepared_set **out_set);

/** Nothing that was taken may be in use. NULL is legal. */
void rlo__prepared_set_release(rlo__prepared_set *set);

/**
 * Takes what is prepared for a problem, which is brought into canonical form,
 * or prepares it.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_problem_canonicalize returns.
 */
RLO_NODISCARD rlo_status rlo__prepared_take(rlo__prepared_set *set,
                                            rlo_problem *problem,
                                            rlo__prepared **out_prepared);

/** Gives back what was taken; NULL is legal. */
void rlo__prepared_give_back(rlo__prepared_set *set, rlo__prepared *prepared);

/** Runs one of `num_shares` shares of the problem on the host.
 *  @return what rlo__host_mover_run_share returns. */
RLO_NODISCARD rlo_status
rlo__prepared_run_on_host(const rlo__prepared *prepared,
                          const void *src,
                          void *dst,
                          int32_t share,
                          int32_t num_shares);

/** Gets the plan of a lane's context, which is made with the first call. Only
 *  the lane's thread may ask for it.
 *  @param is_aligned  as in rlo_plan_options.
 *  @return what rlo_plan_create returns. */
RLO_NODISCARD rlo_status rlo__prepared_get_plan(const rlo__prepared_set *set,
                                                rlo__prepared *prepared,
                                                int32_t lane,
                                                rlo_context *context,
                                                bool is_aligned,
                                                rlo_plan **out_plan);

#endif
