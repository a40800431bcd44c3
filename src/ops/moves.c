/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "ops/chain.h"

int32_t rlo_moves_count(const rlo_moves *moves) {
  return moves->count;
}

const rlo_problem *rlo_moves_problem(const rlo_moves *moves, int32_t n) {
  return n >= 0 && n < moves->count ? moves->problems[n] : NULL;
}

int32_t rlo_moves_operand(const rlo_moves *moves, int32_t n) {
  return n >= 0 && n < moves->count ? moves->operands[n] : -1;
}

rlo_status rlo_moves_run_host(const rlo_moves *moves,
                              const void *const *operands,
                              void *dst) {
  for (int32_t n = 0; n < moves->count; ++n) {
    RLO_TRY(rlo_problem_run_host(
        moves->problems[n], operands[moves->operands[n]], dst));
  }
  return RLO_OK;
}

void rlo_moves_release(rlo_moves *moves) {
  if (moves == NULL) {
    return;
  }
  for (int32_t n = 0; n < moves->count; ++n) {
    rlo__free(moves->problems[n]);
  }
  rlo__free(moves->problems);
  rlo__free(moves->operands);
  rlo__free(moves);
}
