/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "ops/chain.h"

/* Resizes an array of `capacity` elements; on failure the old one stays valid.
 */
static rlo_status grow(void **array,
                       int32_t capacity,
                       int32_t more,
                       size_t element_bytes) {
  void *longer =
      rlo__alloc_resize(*array, (size_t)capacity, (size_t)more, element_bytes);
  if (longer == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *array = longer;
  return RLO_OK;
}

static rlo_status reserve_move(rlo_moves *moves) {
  if (moves->count < moves->capacity) {
    return RLO_OK;
  }
  int32_t capacity = moves->capacity == 0 ? 4 : 2 * moves->capacity;
  void *problems = moves->problems;
  void *operands = moves->operands;
  void *index_operands = moves->index_operands;
  rlo_status status;
  RLO_TRY_GOTO(
      grow(&problems, moves->capacity, capacity, sizeof(rlo_problem *)));
  RLO_TRY_GOTO(grow(&operands, moves->capacity, capacity, sizeof(int32_t)));
  RLO_TRY_GOTO(
      grow(&index_operands, moves->capacity, capacity, sizeof(int32_t)));
  moves->capacity = capacity;
fail:
  moves->problems = problems;
  moves->operands = operands;
  moves->index_operands = index_operands;
  return status;
}

rlo_status rlo__moves_add(rlo_moves *moves,
                          int32_t operand,
                          int32_t index_operand,
                          const rlo_problem *problem) {
  RLO_TRY(reserve_move(moves));
  rlo_problem *kept = rlo__alloc(sizeof *kept);
  if (kept == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *kept = *problem;
  moves->problems[moves->count] = kept;
  moves->index_operands[moves->count] =
      rlo_problem_loads(kept) ? index_operand : -1;
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

int32_t rlo_moves_indices(const rlo_moves *moves, int32_t n) {
  return n >= 0 && n < moves->count ? moves->index_operands[n] : -1;
}

rlo_status rlo_moves_run_host(const rlo_moves *moves,
                              const void *const *operands,
                              void *dst) {
  for (int32_t n = 0; n < moves->count; ++n) {
    int32_t indices = moves->index_operands[n];
    RLO_TRY(rlo_problem_run_host_indexed(moves->problems[n],
                                         operands[moves->operands[n]],
                                         indices < 0 ? NULL : operands[indices],
                                         dst));
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
  rlo__free(moves->index_operands);
  rlo__free(moves);
}
