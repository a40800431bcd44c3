/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "engine/copy/copy_op.h"
#include "engine/memory/host_backend.h"
#include "engine/memory/opencl_backend.h"

enum { DEFAULT_PLANS = 256, HOST_PRIORITY = 1, OPENCL_PRIORITY = 2 };

/* Reads and checks the options, with defaults for those that are 0. */
static rlo_status read_options(const rlo_engine_options *options,
                               rlo_engine_options *out_options) {
  rlo_engine_options read = RLO_ENGINE_OPTIONS_INIT;
  RLO_TRY(rlo__options_read("engine options",
                            "RLO_ENGINE_OPTIONS_INIT",
                            options,
                            &read,
                            sizeof read));
  if (read.plan_capacity < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a capacity of %d plans is negative",
                    read.plan_capacity);
  }
  if (read.plan_capacity == 0) {
    read.plan_capacity = DEFAULT_PLANS;
  }
  *out_options = read;
  return RLO_OK;
}

static rlo_status register_moves(rlo_engine *engine, const char *backend) {
  int32_t count = 0;
  const rlo__copy_op *table = rlo__copy_ops(&count);
  for (int32_t m = 0; m < count; ++m) {
    rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
    config.kernel_name = table[m].name;
    config.backend_name = backend;
    config.min_inputs = table[m].min_inputs;
    config.max_inputs = table[m].max_inputs;
    config.attributes = table[m].specs;
    config.num_attributes = table[m].num_specs;
    config.infer = rlo__copy_op_infer;
    config.run = rlo__copy_op_run;
    /* Never written through. */
    config.payload = (void *)(uintptr_t)&table[m];
    RLO_TRY(rlo_kernel_register(engine, &config, 0, NULL));
  }
  return RLO_OK;
}

static rlo_status register_built_in(rlo_engine *engine) {
  RLO_TRY(rlo_backend_register(engine,
                               RLO__HOST_BACKEND,
                               rlo__host_backend_create,
                               NULL,
                               HOST_PRIORITY));
  RLO_TRY(register_moves(engine, RLO__HOST_BACKEND));
  if (engine->context != NULL) {
    RLO_TRY(rlo_backend_register(engine,
                                 RLO__OPENCL_BACKEND,
                                 rlo__opencl_backend_create,
                                 engine->context,
                                 OPENCL_PRIORITY));
    RLO_TRY(register_moves(engine, RLO__OPENCL_BACKEND));
  }
  return rlo__gradient_register_built_in(engine);
}

static void init_counters(rlo_engine *engine) {
  atomic_init(&engine->live_tensors, 0);
  atomic_init(&engine->tensors_made, 0);
  rlo__engine_counters *c = &engine->counters;
  atomic_init(&c->kernels_run, 0);
  atomic_init(&c->fallbacks, 0);
  atomic_init(&c->copies, 0);
  atomic_init(&c->copied_bytes, 0);
  atomic_init(&c->pending, 0);
  atomic_init(&c->materialized, 0);
}

rlo_status rlo_engine_create(const rlo_engine_options *options,
                             rlo_engine **out_engine) {
  if (out_engine == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "no place for the engine");
  }
  *out_engine = NULL;
  rlo_engine_options read = RLO_ENGINE_OPTIONS_INIT;
  RLO_TRY(read_options(options, &read));
  rlo_engine *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&made->num_references, 1);
  init_counters(made);
  made->options = read;
  made->log = (rlo__log_sink){read.log, read.log_payload, RLO__LOG_DEBUG};
  made->context = rlo_context_retain(read.context);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__shape_table_init(&made->shapes));
  made->has_shapes = true;
  RLO_TRY_GOTO(rlo__call_plans_init(&made->plans, read.plan_capacity));
  made->has_recipes = true;
  RLO_TRY_GOTO(rlo__registry_init(&made->registry));
  made->has_registry = true;
  RLO_TRY_GOTO(register_built_in(made));
  *out_engine = made;
  return RLO_OK;
fail:
  rlo_engine_release(made);
  return status;
}

rlo_engine *rlo_engine_retain(rlo_engine *engine) {
  if (engine != NULL) {
    atomic_fetch_add_explicit(&engine->num_references, 1, memory_order_relaxed);
  }
  return engine;
}

void rlo_engine_release(rlo_engine *engine) {
  if (engine == NULL ||
      atomic_fetch_sub_explicit(
          &engine->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (engine->has_recipes) {
    rlo__call_plans_deinit(&engine->plans);
  }
  rlo__gradient_table_deinit(&engine->gradients);
  if (engine->has_registry) {
    rlo__registry_deinit(&engine->registry);
  }
  if (engine->has_shapes) {
    rlo__shape_table_deinit(&engine->shapes);
  }
  rlo_context_release(engine->context);
  rlo__free(engine);
}

int64_t rlo_engine_live_tensors(const rlo_engine *engine) {
  return engine != NULL ? (int64_t)atomic_load(&engine->live_tensors) : 0;
}

static int64_t load(const atomic_int_fast64_t *counter) {
  return (int64_t)atomic_load_explicit(counter, memory_order_relaxed);
}

void rlo_engine_get_stats(const rlo_engine *engine,
                          rlo_engine_stats *out_stats) {
  if (engine == NULL || out_stats == NULL) {
    return;
  }
  const rlo__engine_counters *c = &engine->counters;
  *out_stats = (rlo_engine_stats){.kernels_run = load(&c->kernels_run),
                                  .fallbacks = load(&c->fallbacks),
                                  .copies = load(&c->copies),
                                  .copied_bytes = load(&c->copied_bytes),
                                  .pending = load(&c->pending),
                                  .materialized = load(&c->materialized)};
  rlo__call_plans_count(
      &engine->plans, &out_stats->plan_hits, &out_stats->plan_misses);
}
