/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_CALL_PLAN_H
#define RLO_ENGINE_CALL_PLAN_H

#include "base/hash.h"
#include "base/status.h"
#include "base/table.h"
#include "base/thread.h"
#include "engine/copy/copy_op.h"
#include "engine/tensor/shape_table.h"
#include "engine/tensor/tensor_lifetime.h"

/** The cached plans of an engine's calls. The least recently used plan is
 *  evicted first. */
typedef struct rlo__call_plans {
  rlo__shape_table *shapes;
  rlo__mutex mutex;
  size_t capacity;
  atomic_int_fast64_t hits, misses;
  rlo__table table;
} rlo__call_plans;

RLO_NODISCARD rlo_status rlo__call_plans_init(rlo__call_plans *plans, rlo__shape_table *shapes,
                                              int32_t capacity);
void rlo__call_plans_deinit(rlo__call_plans *plans);

/** Drops every plan of an instance. */
void rlo__call_plans_forget(rlo__call_plans *plans, const rlo__backend_instance *instance);

/** One result of a plan. */
typedef struct rlo__call_plan_output {
  rlo__shared_shape *shape;
  /** It has the bytes of the only input: nothing runs. */
  bool is_view;
  /** The instance's program; NULL until it is first needed. */
  _Atomic(void *) program;
} rlo__call_plan_output;

/**
 * The plan of a call: the shapes of its results and the programs that compute
 * them. Counted; calls with equal keys share one. One block of memory.
 */
typedef struct rlo__call_plan {
  atomic_int_fast64_t num_references;
  /** Borrowed: plans do not outlive it. */
  rlo__call_plans *plans;
  rlo__table_node node;
  /** Stands for the call: no two calls are expected to have one hash. */
  rlo__hash128 key;
  /** Retained. */
  rlo__backend_instance *instance;
  /** Its inputs are those of shared shapes, retained. Without an operation for
   *  chains and fused operations, which have their program from the beginning.
   */
  rlo__copy_call call;
  /** The attributes of the call. */
  rlo_attributes *attributes;
  int32_t num_outputs;
  rlo__call_plan_output *outputs;
} rlo__call_plan;

rlo__call_plan *rlo__call_plan_retain(rlo__call_plan *plan);
/** NULL is legal. */
void rlo__call_plan_release(rlo__call_plan *plan);

/**
 * Finds or creates the plan of a copy operation.
 * @param call  its inputs are those of shared shapes, which the plan retains;
 *              its attributes are checked, and cloned.
 */
RLO_NODISCARD rlo_status rlo__call_plan_get(rlo__call_plans *plans, rlo__backend_instance *instance,
                                            const rlo__copy_call *call, rlo__call_plan **out_plan);

/** Finds a plan by its key; NULL if there is none. Counts a hit or a miss. */
rlo__call_plan *rlo__call_plans_find(rlo__call_plans *plans, rlo__hash128 key);

/**
 * Creates the plan of a chain and inserts it under a key. If another thread
 * has inserted one meanwhile, that is returned.
 * @param key    NULL: the plan is not inserted.
 * @param shape  of the result; retained by the plan.
 */
RLO_NODISCARD rlo_status rlo__call_plan_create_chain(
    rlo__call_plans *plans, rlo__backend_instance *instance, const rlo__hash128 *key,
    const rlo_chain *chain, rlo__shared_shape *shape, rlo__call_plan **out_plan);

/**
 * Computes one result.
 * @param inputs  allocations on the plan's instance, one for each operand.
 * @param out_allocation  new; for a view that of input 0, retained.
 */
RLO_NODISCARD rlo_status rlo__call_plan_run(rlo__call_plan *plan, int32_t output,
                                            rlo__allocation *const *inputs, int32_t num_inputs,
                                            rlo__allocation **out_allocation);

/** The same of tensors, which are copied to the instance where necessary. */
RLO_NODISCARD rlo_status rlo__call_plan_run_tensors(rlo__call_plan *plan, int32_t output,
                                                    rlo_tensor *const *inputs, int32_t num_inputs,
                                                    rlo__allocation **out_allocation);

/**
 * The same of a copy operation: if the plan's backend refuses the call and the
 * engine's options allow it, the host runs it. The result stays there, and the
 * call counts as a fallback.
 * @return of both, if both fail, the host's status.
 */
RLO_NODISCARD rlo_status rlo__call_plan_run_or_fall_back(rlo__call_plan *plan, int32_t output,
                                                         rlo_tensor *const *inputs,
                                                         int32_t num_inputs,
                                                         rlo__allocation **out_allocation);

/** Tells if a call that an instance has refused with `status` may run on the
 * host. If so, *inout_instance, which is retained, becomes the host's. */
bool rlo__fall_back(rlo_engine *engine, rlo_status status, rlo__backend_instance **inout_instance);

/* fusion.c */

enum {
  /** The largest number of operations that are fused into one. */
  RLO__MAX_FUSED_OPS = 32
};

/**
 * Creates the computation of a pending tensor: one result of a plan. When it
 * runs, the operations that its inputs are pending on are fused with it as far
 * as the limits of a problem allow.
 * @param inputs  of the plan; retained.
 */
RLO_NODISCARD rlo_status rlo__fusion_create(rlo__call_plan *plan, int32_t output,
                                            rlo_tensor *const *inputs, int32_t num_inputs,
                                            rlo__pending **out_pending);

#endif
