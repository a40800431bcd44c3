/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/backends.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/chain.h"

/* Either. */
typedef struct host_program {
  rlo_problem_list *problems;
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
    rlo_problem_list_release(p->problems);
    rlo_segment_sum_release(p->sum);
    rlo__free(p);
  }
}

static rlo_status prepare(void *self,
                          rlo_problem_list *problems,
                          void **out_program) {
  (void)self;
  for (int32_t n = 0; n < problems->count; ++n) {
    /* Wide units make fewer points. The interpreter needs no alignment; nor
     * does it need canonical form, which may not exist. */
    rlo_status status = rlo_problem_canonicalize(
        problems->entries[n].problem, RLO_MAX_UNIT_BITS, NULL, NULL);
    if (status != RLO_OK && status != RLO_UNSUPPORTED) {
      return status;
    }
  }
  host_program *p = rlo__alloc(sizeof *p);
  if (p == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  p->problems = problems;
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
  return p->sum != NULL
             ? rlo_segment_sum_run_host(p->sum, operands[0], operands[1], dst)
             : rlo_problem_list_run_host(
                   p->problems, (const void *const *)operands, dst);
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
