/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_ENGINE_H
#define RLO_ENGINE_ENGINE_H

#include "base/log.h"
#include "engine/call/call_plan.h"
#include "engine/gradient/gradient.h"
#include "engine/registry/registry.h"
#include "engine/tensor/shape_table.h"

/** Counters of rlo_engine_stats. */
typedef struct rlo__engine_counters {
  atomic_int_fast64_t kernels_run;
  atomic_int_fast64_t fallbacks;
  atomic_int_fast64_t copies;
  atomic_int_fast64_t copied_bytes;
  atomic_int_fast64_t pending;
  atomic_int_fast64_t materialized;
} rlo__engine_counters;

struct rlo_engine {
  atomic_int_fast64_t num_references;
  atomic_int_fast64_t live_tensors;
  /** Those that are gone included. */
  atomic_int_fast64_t tensors_made;
  /** Read when it was made; never changes. */
  rlo_engine_options options;
  rlo__log_sink log;
  /** Retained; may be NULL. */
  struct rlo_context *context;
  rlo__engine_counters counters;
  rlo__shape_table shapes;
  rlo__registry registry;
  rlo__gradient_table gradients;
  rlo__call_plans plans;
  bool has_shapes, has_registry, has_recipes;
};

static inline void rlo__engine_count(atomic_int_fast64_t *counter,
                                     int64_t more) {
  atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

#endif
