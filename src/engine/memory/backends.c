/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/backend_instance.h"

#include "base/status.h"
#include "engine/parts.h"
#include "move/move.h"

enum {
  /** More than the parts of a sum take on any device. */
  MAX_SCRATCH_BYTES = 16 << 20
};

static rlo_status allocate(void *self, int64_t bytes, void **out_memory) {
  rlo__memory *memory = NULL;
  RLO_TRY(rlo__memory_create(self, bytes, &memory));
  *out_memory = memory;
  return RLO_OK;
}

static void free_memory(void *self, void *memory) {
  (void)self;
  rlo__memory_free(memory);
}

static rlo_status write_memory(void *self, void *memory, const void *data, int64_t bytes) {
  (void)self;
  return rlo__memory_write(memory, data, bytes);
}

static rlo_status clear_memory(void *self, void *memory, int64_t bytes) {
  (void)self;
  return rlo__memory_clear(memory, bytes);
}

static rlo_status read_memory(void *self, void *memory, void *out_data, int64_t bytes) {
  (void)self;
  return rlo__memory_read(memory, out_data, bytes);
}

/* NULL on a device. */
static void *host_pointer(void *self, void *memory) {
  (void)self;
  return ((rlo__memory *)memory)->host;
}

static rlo_status prepare(void *self, rlo_problem_list *problems, void **out_program) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.max_scratch_bytes = MAX_SCRATCH_BYTES;
  rlo__move *move = NULL;
  RLO_TRY(rlo__move_create(self, problems, &options, &move));
  rlo_problem_list_release(problems);
  *out_program = move;
  return RLO_OK;
}

static rlo_status prepare_segment_sum(void *self, rlo_segment_sum *sum, void **out_program) {
  rlo__move *move = NULL;
  RLO_TRY(rlo__move_create_segment_sum(self, sum, &move));
  *out_program = move;
  return RLO_OK;
}

static rlo_status run(void *self, void *program, void *const *operands, void *dst) {
  (void)self;
  return rlo__move_run(program, operands, dst);
}

static void release_program(void *self, void *program) {
  (void)self;
  rlo__move_release(program);
}

static void destroy(void *self) {
  rlo__place_release(self);
}

static const rlo_backend_methods methods = {
    sizeof methods, allocate,    free_memory,         write_memory, read_memory,
    host_pointer,   prepare,     prepare_segment_sum, run,          release_program,
    destroy,        clear_memory};

rlo_status rlo__backend_create(rlo_engine *engine, void *payload,
                               const rlo_backend_methods **out_methods, void **out_self) {
  rlo__place *place = NULL;
  RLO_TRY(rlo__place_create(payload, NULL, engine->options.is_profiling, &place));
  *out_methods = &methods;
  *out_self = place;
  return RLO_OK;
}

rlo__place *rlo__backend_place(const rlo__backend_instance *instance) {
  return instance->methods.destroy == destroy ? instance->self : NULL;
}
