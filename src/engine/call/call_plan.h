/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_CALL_PLAN_H
#define RLO_ENGINE_CALL_PLAN_H

#include "engine/call/call_plan_cache.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/shape_table.h"

/** One result of a recipe. */
typedef struct rlo__recipe_output {
  rlo__shared_shape *shape;
  /** It is its only input, byte for byte: nothing runs. */
  bool is_view;
  /** The instance's program; NULL until it is first needed. */
  _Atomic(void *) program;
} rlo__recipe_output;

/**
 * What there is to know of a call once it has been seen: the shapes of its
 * results and the programs that make them. Counted, shared by all calls alike.
 */
struct rlo__recipe {
  atomic_int_fast64_t num_references;
  rlo_engine *engine;
  /** Never used again by the engine; not 0. */
  uint64_t id;
  /** What calls alike have alike. */
  uint64_t *words;
  int32_t num_words;
  uint64_t hash;
  /** Retained. */
  rlo__instance *instance;
  /** NULL for chains and fused moves, whose program is there from the
   *  beginning. */
  const rlo__move *move;
  rlo_attributes *attributes;
  int32_t num_inputs;
  rlo__shared_shape **inputs;
  int32_t num_outputs;
  rlo__recipe_output *outputs;
  /** Held while a program is made. */
  rlo__mutex mutex;
  bool has_mutex;
  struct rlo__recipe *next_in_bucket;
  /** In order of use. */
  struct rlo__recipe *newer, *older;
};

/**
 * The recipe of a move, found or made.
 * @param inputs  borrowed; retained by the recipe.
 * @param attributes  checked; borrowed, cloned.
 */
RLO_NODISCARD rlo_status rlo__recipe_get(rlo_engine *engine,
                                         rlo__instance *instance,
                                         const rlo__move *move,
                                         rlo__shared_shape *const *inputs,
                                         int32_t num_inputs,
                                         const rlo_attributes *attributes,
                                         rlo__recipe **out_recipe);

/**
 * Make a recipe of a chain and keep it under these words.
 * @param shape  of the result; the caller's reference stays its own.
 */
RLO_NODISCARD rlo_status rlo__recipe_put_chain(rlo_engine *engine,
                                               rlo__instance *instance,
                                               const rlo__words *words,
                                               const rlo_chain *chain,
                                               rlo__shared_shape *shape,
                                               rlo__recipe **out_recipe);

/** A recipe of a chain that nobody else will find. */
RLO_NODISCARD rlo_status rlo__recipe_of_chain(rlo_engine *engine,
                                              rlo__instance *instance,
                                              const rlo_chain *chain,
                                              rlo__shared_shape *shape,
                                              rlo__recipe **out_recipe);

rlo__recipe *rlo__recipe_retain(rlo__recipe *recipe);
/** NULL is legal. */
void rlo__recipe_release(rlo__recipe *recipe);

/**
 * Make one result.
 * @param inputs  storages on the recipe's instance, one for each operand.
 * @param out_storage  new; or for a view that of input 0, retained.
 */
RLO_NODISCARD rlo_status rlo__recipe_run(rlo__recipe *recipe,
                                         int32_t output,
                                         rlo__storage *const *inputs,
                                         int32_t num_inputs,
                                         rlo__storage **out_storage);

#endif
