/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/backends.h"

#include "base/alloc.h"
#include "base/status.h"
#include "ops/chain.h"
#include "runtime/device_memory.h"

typedef struct opencl_program {
  /** Without their problems, which are planned. */
  rlo_moves *moves;
  rlo_plan **plans;
  /** In place of moves. */
  rlo_segment_plan *sum;
} opencl_program;

static rlo_status allocate(void *self, int64_t bytes, void **out_memory) {
  rlo__device_memory *memory = NULL;
  RLO_TRY(rlo__device_memory_create(self, bytes, &memory));
  *out_memory = memory;
  return RLO_OK;
}

static void free_memory(void *self, void *memory) {
  (void)self;
  rlo__device_memory_free(memory);
}

static rlo_status write_memory(void *self,
                               void *memory,
                               const void *data,
                               int64_t bytes) {
  (void)self;
  return rlo__device_memory_write(memory, data, bytes);
}

static rlo_status clear_memory(void *self, void *memory, int64_t bytes) {
  (void)self;
  return rlo__device_memory_clear(memory, bytes);
}

static rlo_status read_memory(void *self,
                              void *memory,
                              void *out_data,
                              int64_t bytes) {
  (void)self;
  return rlo__device_memory_read(memory, out_data, bytes);
}

static void release_plans(rlo_plan **plans, int32_t count) {
  for (int32_t n = 0; plans != NULL && n < count; ++n) {
    rlo_plan_release(plans[n]);
  }
  rlo__free(plans);
}

static void release_program(void *self, void *program) {
  (void)self;
  opencl_program *p = program;
  if (p == NULL) {
    return;
  }
  if (p->moves != NULL) {
    release_plans(p->plans, p->moves->count);
    rlo_moves_release(p->moves);
  }
  rlo_segment_plan_release(p->sum);
  rlo__free(p);
}

static rlo_status prepare(void *self, rlo_moves *moves, void **out_program) {
  rlo_context *context = rlo__device_queue_context(self);
  opencl_program *p = rlo__alloc(sizeof *p);
  rlo_plan **plans = rlo__alloc_array((size_t)moves->count, sizeof(rlo_plan *));
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (p == NULL || plans == NULL) {
    goto fail;
  }
  for (int32_t n = 0; n < moves->count; ++n) {
    RLO_TRY_GOTO(rlo_plan_create(context, moves->problems[n], NULL, &plans[n]));
  }
  rlo__moves_forget_problems(moves);
  p->moves = moves;
  p->plans = plans;
  *out_program = p;
  return RLO_OK;
fail:
  release_plans(plans, moves->count);
  rlo__free(p);
  return status;
}

static rlo_status prepare_segment_sum(void *self,
                                      rlo_segment_sum *sum,
                                      void **out_program) {
  opencl_program *p = rlo__alloc(sizeof *p);
  if (p == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = rlo_segment_plan_create(
      rlo__device_queue_context(self), sum, NULL, &p->sum);
  if (status != RLO_OK) {
    release_program(self, p);
    return status;
  }
  rlo_segment_sum_release(sum);
  *out_program = p;
  return RLO_OK;
}

static rlo_status run(void *self,
                      void *program,
                      void *const *operands,
                      void *dst) {
  (void)self;
  const opencl_program *p = program;
  return p->sum != NULL ? rlo__device_memory_run_segment_sum(
                              dst, p->sum, operands[0], operands[1])
                        : rlo__device_memory_run(dst,
                                                 p->plans,
                                                 p->moves->operands,
                                                 p->moves->index_operands,
                                                 p->moves->count,
                                                 operands);
}

static void destroy(void *self) {
  rlo__device_queue_release(self);
}

rlo_status rlo__opencl_backend_create(rlo_engine *engine,
                                      void *payload,
                                      const rlo_backend_methods **out_methods,
                                      void **out_self) {
  static const rlo_backend_methods methods = {sizeof methods,
                                              allocate,
                                              free_memory,
                                              write_memory,
                                              read_memory,
                                              NULL,
                                              prepare,
                                              prepare_segment_sum,
                                              run,
                                              release_program,
                                              destroy,
                                              clear_memory};
  (void)engine;
  rlo__device_queue *queue = NULL;
  RLO_TRY(rlo__device_queue_create(payload, &queue));
  *out_methods = &methods;
  *out_self = queue;
  return RLO_OK;
}

bool rlo__opencl_backend_is(const rlo_backend_methods *methods) {
  return methods->destroy == destroy;
}
