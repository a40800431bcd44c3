/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "ops/chain.h"

rlo_status rlo__moves_add(rlo_moves *moves,
                          int32_t operand,
                          const rlo_problem *problem) {
  if (moves->count == moves->capacity) {
    int32_t capacity = moves->capacity == 0 ? 4 : 2 * moves->capacity;
    rlo_problem **problems = rlo__alloc_resize(moves->problems,
                                               (size_t)moves->capacity,
                                               (size_t)capacity,
                                               sizeof(rlo_problem *));
    if (problems == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    moves->problems = problems;
    int32_t *operands = rlo__alloc_resize(moves->operands,
                                          (size_t)moves->capacity,
                                          (size_t)capacity,
                                          sizeof *operands);
    if (operands == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    moves->operands = operands;
    moves->capacity = capacity;
  }
  rlo_problem *kept = rlo__alloc(sizeof *kept);
  if (kept == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *kept = *problem;
  moves->problems[moves->count] = kept;
  moves->operands[moves->count++] = operand;
  return RLO_OK;
}

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
