/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_CALL_PLAN_H
#define RLO_ENGINE_CALL_PLAN_H

#include "engine/call/call_plan_cache.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/shape_table.h"

/** One result of a recipe. */
typedef struct rlo__call_plan_output {
  rlo__shared_shape *shape;
  /** It is its only input, byte for byte: nothing runs. */
  bool is_view;
  /** The instance's program; NULL until it is first needed. */
  _Atomic(void *) program;
} rlo__call_plan_output;

/**
 * What there is to know of a call once it has been seen: the shapes of its
 * results and the programs that make them. Counted, shared by all calls alike.
 */
struct rlo__call_plan {
  atomic_int_fast64_t num_references;
  rlo_engine *engine;
  /** Never used again by the engine; not 0. */
  uint64_t id;
  /** What calls alike have alike. */
  uint64_t *key;
  int32_t key_length;
  uint64_t hash;
  /** Retained. */
  rlo__backend_instance *instance;
  /** NULL for chains and fused moves, whose program is there from the
   *  beginning. */
  const rlo__copy_op *op;
  rlo_attributes *attributes;
  int32_t num_inputs;
  rlo__shared_shape **inputs;
  int32_t num_outputs;
  rlo__call_plan_output *outputs;
  /** Held while a program is made. */
  rlo__mutex mutex;
  bool has_mutex;
  struct rlo__call_plan *next_in_bucket;
  /** In order of use. */
  struct rlo__call_plan *newer, *older;
};

/**
 * The recipe of a move, found or made.
 * @param inputs  borrowed; retained by the recipe.
 * @param attributes  checked; borrowed, cloned.
 */
RLO_NODISCARD rlo_status rlo__call_plan_get(rlo_engine *engine,
                                            rlo__backend_instance *instance,
                                            const rlo__copy_op *op,
                                            rlo__shared_shape *const *inputs,
                                            int32_t num_inputs,
                                            const rlo_attributes *attributes,
                                            rlo__call_plan **out_plan);

/**
 * Make a recipe of a chain and keep it under these key.
 * @param shape  of the result; the caller's reference stays its own.
 */
RLO_NODISCARD rlo_status
rlo__call_plan_get_chain(rlo_engine *engine,
                         rlo__backend_instance *instance,
                         const rlo__call_key *key,
                         const rlo_chain *chain,
                         rlo__shared_shape *shape,
                         rlo__call_plan **out_plan);

/** A recipe of a chain that nobody else will find. */
RLO_NODISCARD rlo_status
rlo__call_plan_create_chain(rlo_engine *engine,
                            rlo__backend_instance *instance,
                            const rlo_chain *chain,
                            rlo__shared_shape *shape,
                            rlo__call_plan **out_plan);

rlo__call_plan *rlo__call_plan_retain(rlo__call_plan *plan);
/** NULL is legal. */
void rlo__call_plan_release(rlo__call_plan *plan);

/**
 * Make one result.
 * @param inputs  storages on the recipe's instance, one for each operand.
 * @param out_storage  new; or for a view that of input 0, retained.
 */
RLO_NODISCARD rlo_status rlo__call_plan_run(rlo__call_plan *plan,
                                            int32_t output,
                                            rlo__storage *const *inputs,
                                            int32_t num_inputs,
                                            rlo__storage **out_storage);

#endif
