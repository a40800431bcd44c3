/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BENCH_TURNS_H
#define RLO_BENCH_TURNS_H

#include "peer.h"

/**
 * Times contestants in turns, for suites that compare two of them and not with
 * the copy kernel. Each is run once and checked, once more untimed, and then
 * once in each round: in the order of the list, and back in the next round.
 * @param out_nanos  room for count * rounds: nanos[p * rounds + i] is the time
 *                   of contestant p in round i, 0 if it cannot do the move.
 * @return false if one failed, or wrote a wrong byte.
 */
bool bench_turns_take(const bench_move *move, const bench_peer *const *peers, int32_t count,
                      int32_t rounds, double *out_nanos);

/**
 * Times a contestant that has run before.
 * @param is_queued  if it can, all runs are enqueued and waited for once, so
 * that the time of a launch and of a wait is not that of a run.
 * @param out_nanos  the mean of `repeats` runs.
 */
bool bench_turns_time(const bench_peer *peer, void *state, int32_t repeats, bool is_queued,
                      double *out_nanos);

/** The median over the rounds of the time of `b` divided by that of `a`: the
 *  rate of `a` as a fraction of that of `b`, which moves as many bytes. */
double bench_turns_ratio(const double *a, const double *b, int32_t rounds);

#endif
