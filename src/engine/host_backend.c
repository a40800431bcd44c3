/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/host_backend.h"

#include <string.h>

#include "base/alloc.h"

/* Moves, ready to run. */
typedef struct host_program {
  int32_t count;
  int32_t *operands, *indices;
  rlo_problem *problems;
  /** Instead of moves. */
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
  if (p != NULL) {
    rlo_segment_sum_release(p->sum);
    rlo__free(p->operands);
    rlo__free(p->indices);
    rlo__free(p->problems);
    rlo__free(p);
  }
}

static rlo_status prepare(void *self,
                          const rlo_moves *moves,
                          void **out_program) {
  host_program *p = rlo__alloc(sizeof *p);
  if (p == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  int32_t count = rlo_moves_count(moves);
  p->operands = rlo__alloc_array((size_t)count, sizeof *p->operands);
  p->problems = rlo__alloc_array((size_t)count, sizeof *p->problems);
  p->indices = rlo__alloc_array((size_t)count, sizeof *p->indices);
  if (p->operands == NULL || p->indices == NULL || p->problems == NULL) {
    release_program(self, p);
    return RLO_OUT_OF_MEMORY;
  }
  p->count = count;
  for (int32_t n = 0; n < count; ++n) {
    p->operands[n] = rlo_moves_operand(moves, n);
    p->indices[n] = rlo_moves_indices(moves, n);
    p->problems[n] = *rlo_moves_problem(moves, n);
    /* Wide units make fewer points of the same move. The interpreter asks for
     * no alignment, and for no canonical form either where there is none. */
    rlo_status status = rlo_problem_canonicalize(
        &p->problems[n], RLO_MAX_UNIT_BITS, NULL, NULL);
    if (status != RLO_OK && status != RLO_UNSUPPORTED) {
      release_program(self, p);
      return status;
    }
  }
  *out_program = p;
  return RLO_OK;
}

static rlo_status prepare_segment_sum(void *self,
                                      rlo_segment_sum *sum,
                                      void **out_program) {
  (void)self;
  host_program *p = rlo__alloc(sizeof *p);
  if (p == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  p->sum = sum;
  *out_program = p;
  return RLO_OK;
}

static rlo_status run(void *self,
                      void *program,
                      void *const *operands,
                      void *dst) {
  (void)self;
  const host_program *p = program;
  if (p->sum != NULL) {
    return rlo_segment_sum_run_host(p->sum, operands[0], operands[1], dst);
  }
  for (int32_t n = 0; n < p->count; ++n) {
    rlo_status status = rlo_problem_run_host_indexed(
        &p->problems[n],
        operands[p->operands[n]],
        p->indices[n] >= 0 ? operands[p->indices[n]] : NULL,
        dst);
    if (status != RLO_OK) {
      return status;
    }
  }
  return RLO_OK;
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
                                              destroy};
  (void)engine;
  (void)payload;
  *out_methods = &methods;
  *out_self = NULL;
  return RLO_OK;
}
