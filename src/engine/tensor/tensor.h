/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TENSOR_H
#define RLO_ENGINE_TENSOR_H

#include "base/thread.h"
#include "engine/memory/backend_instance.h"
#include "engine/tensor/shape_table.h"
#include "relayout/tensor.h"

/** How the bytes of a pending tensor are computed. `state` is counted. */
typedef struct rlo__pending_ops {
  /** Computes the bytes of a tensor of `shape`. Called once for a tensor, with
   *  its mutex held; again if it fails. */
  rlo_status (*run)(void *state,
                    rlo__shared_shape *shape,
                    rlo__allocation **out_allocation);
  /** The name of the backend that the bytes will be on. */
  const char *(*backend_name)(const void *state);
  void (*retain)(void *state);
  void (*release)(void *state);
} rlo__pending_ops;

/** A computation that waits, by reference; ops NULL: none. */
typedef struct rlo__pending {
  const rlo__pending_ops *ops;
  void *state;
} rlo__pending;

/** Releases the reference; does nothing for none. */
void rlo__pending_release(rlo__pending pending);

/** A copy of a tensor's bytes on another backend. */
typedef struct rlo__replica {
  struct rlo__replica *next;
  rlo__allocation *allocation;
} rlo__replica;

struct rlo_tensor {
  atomic_int_fast64_t num_references;
  /** Not 0; never reused by the engine. */
  uint64_t id;
  /** Retained, as is all below. */
  rlo_engine *engine;
  rlo__shared_shape *shape;
  /** Guards the rest, and is held while a pending tensor runs. */
  rlo__mutex mutex;
  /** NULL while the tensor is pending. */
  rlo__allocation *allocation;
  /** Never removed: their addresses may have been borrowed. */
  rlo__replica *replicas;
  rlo__pending pending;
};

/**
 * Creates a tensor of bytes or, with `allocation` NULL, a pending one. Takes
 * over one reference of either on success, and retains the shape.
 * RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__tensor_create(rlo_engine *engine,
                                            rlo__shared_shape *shape,
                                            rlo__allocation *allocation,
                                            rlo__pending pending,
                                            rlo_tensor **out_tensor);

/** As rlo__tensor_create, for bytes in memory of the caller's. Calls `release`
 *  once, when the memory is free; never, if this fails. */
RLO_NODISCARD rlo_status
rlo__tensor_create_external(rlo_engine *engine,
                            rlo__shared_shape *shape,
                            rlo__allocation *allocation,
                            rlo_release_fn release,
                            void *payload,
                            rlo_tensor **out_tensor);

/** Returns a new reference to the tensor's bytes on an instance, NULL for
 *  wherever they are: computes them if they are pending, copies them if they
 *  are elsewhere. */
RLO_NODISCARD rlo_status rlo__tensor_need(rlo_tensor *tensor,
                                          rlo__backend_instance *instance,
                                          rlo__allocation **out_allocation);

/** Returns a new reference to the tensor's bytes, or else to the computation
 *  that it waits for. */
void rlo__tensor_peek(rlo_tensor *tensor,
                      rlo__allocation **out_allocation,
                      rlo__pending *out_pending);

/** The number of tensors that this thread created less those it released. */
int64_t rlo__tensor_balance(void);

/** The id of the next tensor that the engine creates, or a later one's. */
uint64_t rlo__tensor_next_id(const rlo_engine *engine);

/** RLO_OK for a tensor of this engine; the message names it by `role` and
 *  `index`: "input 2 is NULL". */
RLO_NODISCARD rlo_status rlo__tensor_check(const rlo_tensor *tensor,
                                           const rlo_engine *engine,
                                           const char *role,
                                           int32_t index);

/** Releases `count` tensors, of which each may be NULL, and the list; a NULL
 *  list is legal. */
void rlo__tensor_list_release(rlo_tensor **tensors, int32_t count);

#endif
