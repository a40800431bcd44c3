/* SPDX-License-Identifier: Apache-2.0 */
/* The library's host mover: no OpenCL. */
#include <stdlib.h>

#include "bench.h"
#include "host/mover.h"
#include "peer.h"

typedef struct host_state {
  const bench_arena *arena;
  /** Where each operand begins. */
  int64_t offsets[BENCH_MAX_OPERANDS];
  int32_t num_movers;
  rlo__host_mover *movers[BENCH_MAX_OPERANDS];
} host_state;

static bool run(void *payload) {
  const host_state *state = payload;
  for (int32_t n = 0; n < state->num_movers; ++n) {
    if (rlo__host_mover_run(state->movers[n], state->arena->host_src + state->offsets[n], NULL,
                            state->arena->host_dst, state->arena->threads) != RLO_OK) {
      return bench_fail_last("the host mover");
    }
  }
  return true;
}

static void release(void *payload) {
  host_state *state = payload;
  for (int32_t n = 0; n < state->num_movers; ++n) {
    rlo__host_mover_release(state->movers[n]);
  }
  free(state);
}

static void *create(const bench_move *move) {
  if (move->item->is_computed) {
    return NULL; /* the reference runs it, one by one */
  }
  host_state *state = calloc(1, sizeof *state);
  if (state == NULL) {
    bench_fail("out of memory");
    return NULL;
  }
  state->arena = move->arena;
  int64_t offset = 0;
  for (int32_t n = 0; n < move->item->num_operands; ++n) {
    if (rlo__host_mover_create(&move->problem[n], &state->movers[n]) != RLO_OK) {
      bench_fail_last("the host mover");
      release(state);
      return NULL;
    }
    state->offsets[n] = offset;
    offset += move->problem[n].src_bytes;
    state->num_movers += 1;
  }
  return state;
}

const bench_peer bench_peer_host = {
    .name = "host",
    .summary = "the library on host memory, without OpenCL",
    .is_on_host = true,
    .is_opt_in = true,
    .create = create,
    .run = run,
    .release = release,
};
