/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "engine/call/call_plan.h"
#include "engine/call/profile.h"
#include "engine/copy/copy_op.h"
#include "engine/gradient/gradient.h"
#include "engine/memory/backend_instance.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "engine/tensor/shape_table.h"

enum { DEFAULT_PLANS = 256, HOST_PRIORITY = 1, OPENCL_PRIORITY = 2 };

/* An engine with its parts, which it points to. */
typedef struct whole_engine {
  /** First, so that a pointer to one is a pointer to the other. */
  rlo_engine engine;
  rlo__shape_table shapes;
  rlo__registry registry;
  rlo__call_plans plans;
  rlo__profiler profiler;
} whole_engine;

/* Reads and checks the options; `read` has the defaults. */
static rlo_status read_options(const rlo_engine_options *options, rlo_engine_options *read) {
  RLO_TRY(
      rlo__options_read("engine options", "RLO_ENGINE_OPTIONS_INIT", options, read, sizeof *read));
  RLO_FAIL_IF(read->plan_capacity < 0, RLO_INVALID_ARGUMENT, "a capacity of %d plans is negative",
              read->plan_capacity);
  if (read->plan_capacity == 0) {
    read->plan_capacity = DEFAULT_PLANS;
  }
  return RLO_OK;
}

static rlo_status register_kernel(rlo_engine *engine, const rlo__copy_op *op,
                                  const char *backend_name) {
  static const char *const one_result[] = {"y"};
  rlo_kernel_config config = op->kernel;
  config.struct_size = sizeof config;
  config.kernel_name = op->name;
  config.backend_name = backend_name;
  if (!rlo__copy_op_has(op, RLO__COPY_HAS_RESULTS)) {
    config.output_names = one_result;
    config.num_output_names = 1;
  }
  config.infer = rlo__copy_op_infer;
  /* Never written through. */
  config.payload = (void *)(uintptr_t)op;
  config.built_in = op;
  return rlo_kernel_register(engine, &config, 0, NULL);
}

static rlo_status register_op(rlo_engine *engine, const rlo__copy_op *op) {
  RLO_TRY(register_kernel(engine, op, RLO__HOST_BACKEND));
  if (engine->context != NULL) {
    RLO_TRY(register_kernel(engine, op, RLO__OPENCL_BACKEND));
  }
  return rlo__gradient_register_op(engine, op);
}

static rlo_status register_built_in(rlo_engine *engine) {
  RLO_TRY(
      rlo_backend_register(engine, RLO__HOST_BACKEND, rlo__backend_create, NULL, HOST_PRIORITY));
  if (engine->context != NULL) {
    RLO_TRY(rlo_backend_register(engine, RLO__OPENCL_BACKEND, rlo__backend_create, engine->context,
                                 OPENCL_PRIORITY));
  }
  for (const rlo__copy_op *const *list = rlo__copy_lists; *list != NULL; ++list) {
    for (const rlo__copy_op *op = *list; op->name != NULL; ++op) {
      RLO_TRY(register_op(engine, op));
    }
  }
  return RLO_OK;
}

/* Also one of which only some parts are initialized. */
static void destroy(rlo_engine *engine) {
  whole_engine *whole = (whole_engine *)engine;
  rlo__call_plans_deinit(&whole->plans);
  rlo__registry_deinit(&whole->registry);
  rlo__shape_table_deinit(&whole->shapes);
  rlo__mutex_deinit(&whole->profiler.mutex);
  rlo__mutex_deinit(&engine->scope_mutex);
  rlo_context_release(engine->context);
  rlo__free(whole);
}

rlo_status rlo_engine_create(const rlo_engine_options *options, rlo_engine **out_engine) {
  RLO_REQUIRE(out_engine);
  *out_engine = NULL;
  rlo_engine_options read = RLO_ENGINE_OPTIONS_INIT;
  RLO_TRY(read_options(options, &read));
  whole_engine *whole = rlo__alloc(sizeof *whole);
  RLO_TRY_MEMORY(whole);
  rlo_engine *engine = &whole->engine;
  *engine = (rlo_engine){.num_references = 1,
                         .options = read,
                         .log = {read.log, read.log_payload, RLO__LOG_DEBUG},
                         .context = rlo_context_retain(read.context),
                         .registry = &whole->registry,
                         .shapes = &whole->shapes,
                         .plans = &whole->plans,
                         .profiler = &whole->profiler,
                         .destroy = destroy};
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__mutex_init(&engine->scope_mutex));
  RLO_TRY_GOTO(rlo__mutex_init(&whole->profiler.mutex));
  RLO_TRY_GOTO(rlo__shape_table_init(&whole->shapes));
  RLO_TRY_GOTO(rlo__call_plans_init(&whole->plans, &whole->shapes, read.plan_capacity));
  RLO_TRY_GOTO(rlo__registry_init(&whole->registry, engine, &engine->log));
  RLO_TRY_GOTO(register_built_in(engine));
  *out_engine = engine;
  return RLO_OK;
fail:
  rlo_engine_release(engine);
  return status;
}

rlo_engine *rlo_engine_retain(rlo_engine *engine) {
  return engine != NULL ? rlo__engine_retain(engine) : NULL;
}

void rlo_engine_release(rlo_engine *engine) {
  if (engine != NULL) {
    rlo__engine_release(engine);
  }
}

rlo_status rlo_backend_remove(rlo_engine *engine, const char *name) {
  RLO_REQUIRE(engine, name);
  RLO_FAIL_IF(name[0] == '\0', RLO_INVALID_ARGUMENT, "a backend without a name");
  rlo__backend_instance *instance = NULL;
  RLO_TRY(rlo__backend_remove(engine->registry, name, &instance));
  if (instance != NULL) {
    rlo__call_plans_forget(engine->plans, instance);
  }
  rlo__backend_instance_release(instance);
  return RLO_OK;
}

int64_t rlo_engine_live_tensors(const rlo_engine *engine) {
  return engine != NULL ? rlo__usage_now(&engine->registry->usage, RLO__USAGE_TENSORS) : 0;
}

rlo_status rlo_engine_get_memory(const rlo_engine *engine, const char *backend_name,
                                 rlo_memory_info *out_info) {
  RLO_REQUIRE(engine, out_info);
  rlo__registry *registry = engine->registry;
  const rlo__usage *usage = &registry->usage;
  if (backend_name != NULL) {
    rlo__rwlock_lock_read(&registry->lock);
    const rlo__name *name = rlo__registry_find(registry, backend_name);
    rlo__rwlock_unlock(&registry->lock);
    if (name == NULL || name->usage.whole == NULL) {
      return rlo__registry_fail_no_backend(registry, backend_name);
    }
    usage = &name->usage;
  }
  rlo_memory_info info;
  rlo__usage_read(usage, &info);
  return rlo__report_write("memory info", "RLO_MEMORY_INFO_INIT", &info, out_info, sizeof info);
}

void rlo_engine_reset_peaks(rlo_engine *engine) {
  if (engine != NULL) {
    rlo__registry_reset_peaks(engine->registry);
  }
}

rlo_status rlo_engine_get_stats(const rlo_engine *engine, rlo_engine_stats *out_stats) {
  RLO_REQUIRE(engine, out_stats);
  const rlo__call_plans *plans = engine->plans;
  const rlo_engine_stats stats = {
      .kernels_run = rlo__engine_counted(engine, RLO__COUNT_KERNELS_RUN),
      .fallbacks = rlo__engine_counted(engine, RLO__COUNT_FALLBACKS),
      .copies = rlo__engine_counted(engine, RLO__COUNT_COPIES),
      .copied_bytes = rlo__engine_counted(engine, RLO__COUNT_COPIED_BYTES),
      .pending = rlo__engine_counted(engine, RLO__COUNT_PENDING),
      .materialized = rlo__engine_counted(engine, RLO__COUNT_MATERIALIZED),
      .plan_hits = atomic_load_explicit(&plans->hits, memory_order_relaxed),
      .plan_misses = atomic_load_explicit(&plans->misses, memory_order_relaxed)};
  return rlo__report_write("engine stats", "RLO_ENGINE_STATS_INIT", &stats, out_stats,
                           sizeof stats);
}
