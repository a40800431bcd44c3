/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/backends.h"

#include "base/alloc.h"
#include "base/status.h"
#include "engine/parts.h"
#include "ops/chain.h"
#include "runtime/device_memory.h"

enum {
  /** More than the parts of a sum take on any device. */
  MAX_SCRATCH_BYTES = 16 << 20
};

/** Plans, run in order into one destination. */
typedef struct opencl_program {
  int32_t count;
  rlo_plan **plans;
  /** Of each plan: the operand it reads, and that of its indices or -1. */
  int32_t *operands;
  int32_t *index_operands;
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

static void release_program(void *self, void *program) {
  (void)self;
  opencl_program *p = program;
  if (p == NULL) {
    return;
  }
  for (int32_t n = 0; p->plans != NULL && n < p->count; ++n) {
    rlo_plan_release(p->plans[n]);
  }
  rlo__free(p->plans);
  rlo__free(p->operands);
  rlo__free(p->index_operands);
  rlo__free(p);
}

/** Creates a program without plans. NULL if there is no memory. */
static opencl_program *create_program(int32_t count) {
  opencl_program *p = rlo__alloc(sizeof *p);
  if (p == NULL) {
    return NULL;
  }
  p->count = count;
  p->plans = rlo__alloc_array((size_t)count, sizeof(rlo_plan *));
  p->operands = rlo__alloc_array((size_t)count, sizeof *p->operands);
  p->index_operands =
      rlo__alloc_array((size_t)count, sizeof *p->index_operands);
  if (p->plans == NULL || p->operands == NULL || p->index_operands == NULL) {
    release_program(NULL, p);
    return NULL;
  }
  return p;
}

static rlo_status prepare(void *self,
                          rlo_problem_list *problems,
                          void **out_program) {
  opencl_program *p = create_program(problems->count);
  if (p == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.max_scratch_bytes = MAX_SCRATCH_BYTES;
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < p->count; ++n) {
    p->operands[n] = problems->entries[n].operand;
    p->index_operands[n] = problems->entries[n].index_operand;
    RLO_TRY_GOTO(rlo_plan_create(rlo__device_queue_context(self),
                                 problems->entries[n].problem,
                                 &options,
                                 &p->plans[n]));
  }
  rlo_problem_list_release(problems);
  *out_program = p;
  return RLO_OK;
fail:
  release_program(self, p);
  return status;
}

static rlo_status prepare_segment_sum(void *self,
                                      rlo_segment_sum *sum,
                                      void **out_program) {
  opencl_program *p = create_program(1);
  if (p == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  p->index_operands[0] = 1;
  rlo_status status = rlo_plan_create_segment_sum(
      rlo__device_queue_context(self), sum, NULL, &p->plans[0]);
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
  return rlo__device_memory_run(
      dst, p->plans, p->operands, p->index_operands, p->count, operands);
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
  rlo__device_queue *queue = NULL;
  RLO_TRY(
      rlo__device_queue_create(payload, engine->options.is_profiling, &queue));
  *out_methods = &methods;
  *out_self = queue;
  return RLO_OK;
}

bool rlo__opencl_backend_is(const rlo_backend_methods *methods) {
  return methods->destroy == destroy;
}
