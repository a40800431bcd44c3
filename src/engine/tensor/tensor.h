/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TENSOR_H
#define RLO_ENGINE_TENSOR_H

#include "engine/call/call_plan.h"
#include "relayout/tensor.h"

/** What makes a tensor that is pending. Immutable, counted. */
typedef struct rlo__pending {
  atomic_int_fast64_t num_references;
  /** Retained, as are the inputs. */
  rlo__call_plan *plan;
  int32_t output;
  /** Moves that at most are fused into it, itself included. */
  int32_t num_ops;
  int32_t num_inputs;
  rlo_tensor *inputs[];
} rlo__pending;

enum {
  /** Most moves that are fused into one. */
  RLO__MAX_FUSED_OPS = 32
};

/** One more storage of a tensor. */
typedef struct rlo__replica {
  struct rlo__replica *next;
  rlo__storage *storage;
} rlo__replica;

struct rlo_tensor {
  atomic_int_fast64_t num_references;
  /** Never used again by the engine; not 0. */
  uint64_t id;
  /** Retained, as is all below. */
  rlo_engine *engine;
  rlo__shared_shape *shape;
  /** Guards the rest, and is held while a pending tensor runs. */
  rlo__mutex mutex;
  /** NULL while the tensor is pending. */
  rlo__storage *storage;
  /** The same bytes on other backends. They stay: somebody may have borrowed
   *  an address. */
  rlo__replica *replicas;
  rlo__pending *pending;
};

/**
 * Make a tensor. Takes over one reference of `storage` or of `pending` (one of
 * them is NULL) on success; the shape gets one more. RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__tensor_create(rlo_engine *engine,
                                            rlo__shared_shape *shape,
                                            rlo__storage *storage,
                                            rlo__pending *pending,
                                            rlo_tensor **out_tensor);

/** RLO_OK if nothing is NULL of what a tensor is made of and put into. */
RLO_NODISCARD rlo_status rlo__tensor_check_new(const rlo_engine *engine,
                                               const rlo_shape *shape,
                                               rlo_tensor *const *out_tensor);

/** As rlo__tensor_create, of memory that is the caller's, who is told by
 *  `release`, once, when it is free: never, if this fails. */
RLO_NODISCARD rlo_status rlo__tensor_create_external(rlo_engine *engine,
                                                     rlo__shared_shape *shape,
                                                     rlo__storage *storage,
                                                     rlo_release_fn release,
                                                     void *payload,
                                                     rlo_tensor **out_tensor);

/** The tensor's bytes on an instance: made if they are pending, copied if they
 *  are elsewhere. NULL for the instance: wherever they are. The storage is
 *  retained. */
RLO_NODISCARD rlo_status rlo__tensor_need(rlo_tensor *tensor,
                                          rlo__backend_instance *instance,
                                          rlo__storage **out_storage);

/** The tensor's bytes, retained, or else what makes them, retained. */
void rlo__tensor_peek(rlo_tensor *tensor,
                      rlo__storage **out_storage,
                      rlo__pending **out_pending);

/** Tensors that this thread has made, less those it has let go. */
int64_t rlo__tensor_balance(void);

/** The id of the next tensor that the engine makes, or a later one's. */
uint64_t rlo__tensor_next_id(const rlo_engine *engine);

/** RLO_OK for a tensor of this engine. `role` words it: "input 2". */
RLO_NODISCARD rlo_status rlo__tensor_check(const rlo_tensor *tensor,
                                           const rlo_engine *engine,
                                           const char *role,
                                           int32_t number);

#endif
