/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_PARTS_H
#define RLO_ENGINE_PARTS_H

#include <stdatomic.h>

#include "base/sentence.h"
#include "base/thread.h"
#include "relayout/engine.h"

/** Counters of an engine, behind rlo_engine_stats. */
typedef enum rlo__count {
  /** Released tensors included; the next tensor's id follows from it. */
  RLO__COUNT_TENSORS_MADE,
  RLO__COUNT_KERNELS_RUN,
  RLO__COUNT_FALLBACKS,
  RLO__COUNT_COPIES,
  RLO__COUNT_COPIED_BYTES,
  RLO__COUNT_PENDING,
  RLO__COUNT_MATERIALIZED,
  RLO__NUM_COUNTS
} rlo__count;

/**
 * The parts of an engine. Each part is a type of its own shelf, which sees none
 * of the others through this struct: public functions, which take an engine,
 * look up the part that they need here and pass it on. engine.c creates the
 * parts and destroys them.
 */
struct rlo_engine {
  atomic_int_fast64_t num_references;
  /** Constant. */
  rlo_engine_options options;
  rlo__log_sink log;
  /** Retained; may be NULL. */
  struct rlo_context *context;
  atomic_int_fast64_t counters[RLO__NUM_COUNTS];
  struct rlo__registry *registry;
  struct rlo__shape_table *shapes;
  struct rlo__call_plans *plans;
  struct rlo__profiler *profiler;
  /** Guards what scopes hold. */
  rlo__mutex scope_mutex;
  /** Destroys the engine; called with the last reference. */
  void (*destroy)(rlo_engine *engine);
};

/** Adds to a counter; returns what it was before. */
static inline int64_t rlo__engine_count(rlo_engine *engine, rlo__count counter, int64_t increment) {
  return atomic_fetch_add_explicit(&engine->counters[counter], increment, memory_order_relaxed);
}

static inline int64_t rlo__engine_counted(const rlo_engine *engine, rlo__count counter) {
  return atomic_load_explicit(&engine->counters[counter], memory_order_relaxed);
}

static inline rlo_engine *rlo__engine_retain(rlo_engine *engine) {
  atomic_fetch_add_explicit(&engine->num_references, 1, memory_order_relaxed);
  return engine;
}

static inline void rlo__engine_release(rlo_engine *engine) {
  if (atomic_fetch_sub_explicit(&engine->num_references, 1, memory_order_acq_rel) == 1) {
    engine->destroy(engine);
  }
}

#endif
