/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_MOVER_H
#define RLO_HOST_MOVER_H

#include "relayout/problem.h"

/**
 * Runs a problem on host memory, fast: in cache-sized tiles, on threads, with
 * non-temporal stores. The bytes are those of rlo_problem_run_host_indexed,
 * always; what has no fast way here is run by that.
 *
 * A mover has no threads of its own and does not change: the caller's threads
 * run shares of the work.
 */
typedef struct rlo__host_mover rlo__host_mover;

/**
 * Prepares a problem.
 * @param problem  borrowed for the call; need not be canonical.
 * @param out_mover  the caller's; release it with rlo__host_mover_release.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo__problem_validate returns.
 */
RLO_NODISCARD rlo_status rlo__host_mover_create(const rlo_problem *problem,
                                                rlo__host_mover **out_mover);

/** NULL is legal. */
void rlo__host_mover_release(rlo__host_mover *mover);

/**
 * Runs one share of the work: the shares 0 .. num_shares-1 together are the
 * problem, in any order or at once. No two of them write one byte.
 *
 * @param src, dst  at any alignment, without overlap; of the problem's
 * src_bytes and dst_bytes.
 * @param indices   of rlo_problem_run_host_indexed; NULL if nothing is loaded.
 * @return RLO_OK; what rlo_problem_run_host_indexed returns: a position beyond
 *         its memory is found by share 0, which then runs the whole problem.
 *         RLO_INVALID_ARGUMENT for a share that does not exist.
 *         RLO_OUT_OF_MEMORY. Threads: safe.
 */
RLO_NODISCARD rlo_status rlo__host_mover_run_share(const rlo__host_mover *mover, const void *src,
                                                   const void *indices, void *dst, int32_t share,
                                                   int32_t num_shares);

/**
 * Runs the problem on the calling thread and up to num_threads - 1 that it
 * starts and joins: fewer for small problems.
 * @return as rlo__host_mover_run_share; of several failures the first share's.
 */
RLO_NODISCARD rlo_status rlo__host_mover_run(const rlo__host_mover *mover, const void *src,
                                             const void *indices, void *dst, int32_t num_threads);

/** The work of a mover, in bytes that would take as long to write. */
double rlo__host_mover_work(const rlo__host_mover *mover);

/** Runs a share of something. Threads: shares run at once. */
typedef rlo_status (*rlo__host_share_fn)(const void *payload, int32_t share, int32_t num_shares);

/** Runs all shares of so much work on threads, as rlo__host_mover_run does. */
RLO_NODISCARD rlo_status rlo__host_run_shares(rlo__host_share_fn run, const void *payload,
                                              double work, int32_t num_threads);

#endif
