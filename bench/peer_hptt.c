/* SPDX-License-Identifier: Apache-2.0 */
/* HPTT, as it plans by estimate and, if asked, by measuring. */
#include "hptt_plan.h"
#include "peer.h"

static void *create(const bench_move *move, int is_measured) {
  const bench_plain *plain = move->plain;
  int permutation[RLO_MAX_RANK];
  int dims[RLO_MAX_RANK];
  if (plain == NULL || plain->rank < 2 || (move->element_bytes != 4 && move->element_bytes != 8)) {
    return NULL;
  }
  for (int32_t k = 0; k < plain->rank; ++k) {
    if (plain->dims[k] > INT32_MAX) {
      return NULL;
    }
    permutation[k] = plain->permutation[k];
    dims[k] = (int)plain->dims[k];
  }
  return bench_hptt_plan_create(permutation, plain->rank, dims, (int)move->element_bytes,
                                move->arena->host_src, move->arena->host_dst, move->arena->threads,
                                is_measured);
}

static void *create_estimated(const bench_move *move) {
  return create(move, 0);
}

static void *create_measured(const bench_move *move) {
  return create(move, 1);
}

static bool run(void *state) {
  bench_hptt_plan_execute(state);
  return true;
}

const bench_peer bench_peer_hptt = {
    .name = "hptt",
    .summary = "HPTT, its default plan",
    .is_on_host = true,
    .is_spinning = true,
    .create = create_estimated,
    .run = run,
    .release = bench_hptt_plan_release,
};

const bench_peer bench_peer_hptt_measure = {
    .name = "hptt-measure",
    .summary = "HPTT, its measured plan, seconds for each case",
    .is_on_host = true,
    .is_opt_in = true,
    .is_spinning = true,
    .create = create_measured,
    .run = run,
    .release = bench_hptt_plan_release,
};
