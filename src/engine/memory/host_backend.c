/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/backends.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "host/mover.h"
#include "ops/chain.h"

/** A problem made ready, the operand that it reads, and that of its indices or
 *  -1. */
typedef struct host_move {
  rlo__host_mover *mover;
  int32_t operand, index_operand;
} host_move;

/** Moves, run in order into one destination. */
typedef struct host_program {
  int32_t count, num_threads;
  host_move *moves;
  /** NULL, or what the moves sum: operand 1 is the order of its rows, which
   *  each run makes from the ids. */
  rlo_segment_sum *sum;
} host_program;

static rlo_status allocate(void *self, int64_t bytes, void **out_memory) {
  (void)self;
  *out_memory = rlo__alloc((size_t)bytes);
  return *out_memory != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

static void free_memory(void *self, void *memory) {
  (void)self;
  rlo__free(memory);
}

static rlo_status write_memory(void *self,
                               void *memory,
                               const void *data,
                               int64_t bytes) {
  (void)self;
  memcpy(memory, data, (size_t)bytes);
  return RLO_OK;
}

static rlo_status read_memory(void *self,
                              void *memory,
                              void *out_data,
                              int64_t bytes) {
  (void)self;
  memcpy(out_data, memory, (size_t)bytes);
  return RLO_OK;
}

static void *host_pointer(void *self, void *memory) {
  (void)self;
  return memory;
}

static void release_program(void *self, void *program) {
  (void)self;
  host_program *p = program;
  if (p == NULL) {
    return;
  }
  for (int32_t n = 0; n < p->count; ++n) {
    rlo__host_mover_release(p->moves[n].mover);
  }
  rlo_segment_sum_release(p->sum);
  rlo__free(p->moves);
  rlo__free(p);
}

static rlo_status prepare_list(const rlo_problem_list *list,
                               host_program **out_program) {
  rlo_status status = RLO_OUT_OF_MEMORY;
  host_program *p = rlo__alloc(sizeof *p);
  if (p == NULL) {
    return status;
  }
  p->num_threads = rlo__thread_processors();
  p->moves = rlo__alloc_array((size_t)list->count, sizeof *p->moves);
  if (p->moves == NULL) {
    goto fail;
  }
  for (; p->count < list->count; ++p->count) {
    const rlo__listed_problem *entry = &list->entries[p->count];
    host_move *move = &p->moves[p->count];
    move->operand = entry->operand;
    move->index_operand = entry->index_operand;
    RLO_TRY_GOTO(rlo__host_mover_create(entry->problem, &move->mover));
  }
  *out_program = p;
  return RLO_OK;
fail:
  release_program(NULL, p);
  return status;
}

static rlo_status prepare(void *self,
                          rlo_problem_list *problems,
                          void **out_program) {
  (void)self;
  host_program *p;
  RLO_TRY(prepare_list(problems, &p));
  rlo_problem_list_release(problems);
  *out_program = p;
  return RLO_OK;
}

static rlo_status prepare_segment_sum(void *self,
                                      rlo_segment_sum *sum,
                                      void **out_program) {
  (void)self;
  host_program *p;
  RLO_TRY(prepare_list(rlo_segment_sum_problems(sum), &p));
  p->sum = sum;
  *out_program = p;
  return RLO_OK;
}

static rlo_status run_moves(const host_program *p,
                            void *const *operands,
                            void *dst) {
  for (int32_t n = 0; n < p->count; ++n) {
    const host_move *move = &p->moves[n];
    const void *indices =
        move->index_operand >= 0 ? operands[move->index_operand] : NULL;
    RLO_TRY(rlo__host_mover_run(
        move->mover, operands[move->operand], indices, dst, p->num_threads));
  }
  return RLO_OK;
}

static rlo_status run(void *self,
                      void *program,
                      void *const *operands,
                      void *dst) {
  (void)self;
  const host_program *p = program;
  if (p->sum == NULL) {
    return run_moves(p, operands, dst);
  }
  rlo_segment_sum_sizes sizes;
  rlo_segment_sum_get_sizes(p->sum, &sizes);
  void *order = rlo__alloc((size_t)sizes.order_bytes);
  if (order == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = rlo_segment_sum_order_host(p->sum, operands[1], order);
  if (status == RLO_OK) {
    void *const sources[] = {operands[0], order};
    status = run_moves(p, sources, dst);
  }
  rlo__free(order);
  return status;
}

static void destroy(void *self) {
  (void)self;
}

rlo_status rlo__host_backend_create(rlo_engine *engine,
                                    void *payload,
                                    const rlo_backend_methods **out_methods,
                                    void **out_self) {
  static const rlo_backend_methods methods = {sizeof methods,
                                              allocate,
                                              free_memory,
                                              write_memory,
                                              read_memory,
                                              host_pointer,
                                              prepare,
                                              prepare_segment_sum,
                                              run,
                                              release_program,
                                              destroy,
                                              NULL};
  (void)engine;
  (void)payload;
  *out_methods = &methods;
  *out_self = NULL;
  return RLO_OK;
}
