/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_MOVE_MOVE_H
#define RLO_MOVE_MOVE_H

#include "move/memory.h"
#include "relayout/chain.h"
#include "relayout/ops.h"

/**
 * Problems made ready for a place: movers on the host, plans on a device. They
 * run in order, into one memory. A move does not change; it is counted by
 * references. Threads: safe.
 */
typedef struct rlo__move rlo__move;

/**
 * Prepares a list of problems.
 * @param list     borrowed for the call.
 * @param options  of the plans; NULL: the usual ones.
 * @return RLO_OK; what rlo_plan_create or rlo__host_mover_create returns, by
 *         which the place refuses; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__move_create(const rlo__place *place, const rlo_problem_list *list,
                                          const rlo_plan_options *options, rlo__move **out_move);

/** Prepares a segment sum, of which the rows and the ids are the operands.
 *  @param sum  taken over, unless this fails. */
RLO_NODISCARD rlo_status rlo__move_create_segment_sum(const rlo__place *place, rlo_segment_sum *sum,
                                                      rlo__move **out_move);

/**
 * Finds what is prepared of a problem, or prepares it: a place keeps what it
 * used last, since pieces of one problem are mostly equal.
 * @param problem     canonical; borrowed for the call. It reads operand 0 and
 *                    loads its indices from operand 1.
 * @param is_aligned  as in rlo_plan_options.
 * @return as rlo__move_create.
 */
RLO_NODISCARD rlo_status rlo__move_get(rlo__place *place, const rlo_problem *problem,
                                       bool is_aligned, rlo__move **out_move);

/** Drops a reference; NULL is legal. */
void rlo__move_release(rlo__move *move);

/**
 * Runs a move in the place of its destination: on the host before the return,
 * on a device in the order of the queue; the destination's event then tells
 * when it has run. Fails if an operand is known to be of a command that has
 * failed.
 * @param operands  memories of the place; NULL for 0 bytes.
 */
RLO_NODISCARD rlo_status rlo__move_run(const rlo__move *move, void *const *operands,
                                       rlo__memory *dst);

/** Runs one of `num_shares` shares of a move of rlo__move_get on the host.
 *  @return what rlo__host_mover_run_share returns. */
RLO_NODISCARD rlo_status rlo__move_run_share(const rlo__move *move, const void *src,
                                             const void *indices, void *dst, int32_t share,
                                             int32_t num_shares);

#endif
