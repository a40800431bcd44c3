/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "measure.h"
#include "timer.h"
#include "verify.h"

/** Runs a contestant once and looks at what it wrote. */
static bool check(const bench_move *move, const bench_peer *peer, void *state) {
  char reason[256];
  bench_arena arena = *move->arena;
  if (peer->is_copy) {
    return peer->run(state);
  }
  return bench_arena_clear_dst(&arena, move->problem->dst_bytes) && peer->run(state) &&
         bench_arena_fetch_dst(&arena, move->problem->dst_bytes) &&
         (bench_verify(move->item, move->problem, arena.host_src, arena.host_dst, reason) ||
          bench_fail("%s: %s: %s", move->item->name, peer->name, reason));
}

bool bench_turns_time(const bench_peer *peer, void *state, int32_t repeats, bool is_queued,
                      double *out_nanos) {
  bool has_halves = is_queued && peer->enqueue != NULL;
  double start = bench_nanos_now();
  bool is_done = true;
  for (int32_t i = 0; i < repeats && is_done; ++i) {
    is_done = has_halves ? peer->enqueue(state) : peer->run(state);
  }
  is_done = is_done && (!has_halves || peer->finish(state));
  *out_nanos = (bench_nanos_now() - start) / repeats;
  return is_done;
}

static bool time_all(const bench_peer *const *peers, void *const *states, int32_t count,
                     int32_t rounds, double *out_nanos) {
  for (int32_t i = -1; i < rounds; ++i) { /* the first one warms up */
    for (int32_t k = 0; k < count; ++k) {
      int32_t p = i % 2 == 0 ? k : count - 1 - k;
      double nanos = 0;
      if (states[p] != NULL && !bench_turns_time(peers[p], states[p], 1, false, &nanos)) {
        return false;
      }
      if (i >= 0) {
        out_nanos[p * rounds + i] = nanos;
      }
    }
  }
  return true;
}

bool bench_turns_take(const bench_move *move, const bench_peer *const *peers, int32_t count,
                      int32_t rounds, double *out_nanos) {
  void *states[BENCH_MAX_PEERS] = {NULL};
  bool is_done = true;
  for (int32_t p = 0; p < count && is_done; ++p) {
    bool can_run = move->arena->is_host_memory || !peers[p]->is_on_host;
    states[p] = can_run ? peers[p]->create(move) : NULL;
    is_done = states[p] == NULL || check(move, peers[p], states[p]);
  }
  is_done = is_done && time_all(peers, states, count, rounds, out_nanos);
  for (int32_t p = 0; p < count; ++p) {
    if (states[p] != NULL) {
      peers[p]->release(states[p]);
    }
  }
  return is_done;
}

double bench_turns_ratio(const double *a, const double *b, int32_t rounds) {
  static double ratios[BENCH_MAX_ROUNDS];
  for (int32_t i = 0; i < rounds; ++i) {
    ratios[i] = b[i] / a[i];
  }
  return bench_median(ratios, rounds);
}
