/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_TENSOR_LIFETIME_H
#define RLO_ENGINE_TENSOR_LIFETIME_H

#include "base/thread.h"
#include "engine/memory/backend_instance.h"
#include "engine/tensor/shape_table.h"
#include "relayout/scope.h"

/** A reference to a tensor that a scope holds. A tensor may have several. */
typedef struct rlo__scope_entry {
  rlo_tensor *tensor;
  struct rlo_scope *scope;
  /** The tensor's next older entry. */
  struct rlo__scope_entry *older_of_tensor;
  /** The neighbours in the scope's list. */
  struct rlo__scope_entry *newer, *older;
} rlo__scope_entry;

/** How the bytes of a pending tensor are computed: the first part of a struct
 * of who computes them. Counted. */
typedef struct rlo__pending {
  atomic_int_fast64_t num_references;
  /** The instance that the bytes will be on; borrowed. */
  const rlo__backend_instance *instance;
  /** Computes the bytes of a tensor of `shape`. Called once for a tensor, with
   *  its mutex held; again if it fails. */
  rlo_status (*run)(struct rlo__pending *pending, rlo__shared_shape *shape,
                    rlo__allocation **out_allocation);
  void (*destroy)(struct rlo__pending *pending);
} rlo__pending;

/** NULL is legal. */
void rlo__pending_release(rlo__pending *pending);

/** The amount that one reference adds to rlo_tensor.references. A reference is
 * the user's (rlo_tensor_retain), the library's (rlo__tensor_hold) or a
 * scope's; those of the user are counted once more in the upper half. */
#define RLO__ANY_REFERENCE  UINT64_C(1)
#define RLO__USER_REFERENCE ((UINT64_C(1) << 32) + RLO__ANY_REFERENCE)

struct rlo_tensor {
  atomic_uint_fast64_t references;
  /** A number above 0; never reused by the engine. */
  uint64_t id;
  /** Retained, as is all below. */
  rlo_engine *engine;
  rlo__shared_shape *shape;
  /** The usage of the backend that has the bytes, or will; borrowed. */
  rlo__usage *usage;
  /** The references that scopes hold, the newest first. Guarded by the engine's
   *  scope_mutex. */
  rlo__scope_entry *scope_entries;
  /** Guards the rest, and is held while a pending tensor runs. */
  rlo__mutex mutex;
  /** NULL while the tensor is pending. */
  rlo__allocation *allocation;
  /** Copies on other instances. Never removed: their addresses may have been
   *  borrowed. */
  rlo__allocation *replicas;
  /** NULL once the bytes are there. */
  rlo__pending *pending;
  /** A tensor that is released, whose engine is NULL, has the one before it here. */
  rlo_tensor *next_released;
};

/**
 * Creates a tensor of bytes or, with `allocation` NULL, a pending one. Takes
 * over one reference of either, also on failure, and retains the shape.
 * RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__tensor_create(rlo_engine *engine, rlo__shared_shape *shape,
                                            rlo__allocation *allocation, rlo__pending *pending,
                                            rlo_tensor **out_tensor);

/** Like rlo__tensor_create, for a function that returns the tensor to its
 * caller: the scope that the thread is in gets the reference. */
RLO_NODISCARD rlo_status rlo__tensor_create_for_caller(rlo_engine *engine, rlo__shared_shape *shape,
                                                       rlo__allocation *allocation,
                                                       rlo_tensor **out_tensor);

/** Takes a reference of the library's own, which outlives scopes; returns the
 *  tensor. NULL is legal. */
rlo_tensor *rlo__tensor_hold(rlo_tensor *tensor);

/** Releases a reference of the library's own, or one that has been taken out of
 *  a scope; NULL is legal. */
void rlo__tensor_drop(rlo_tensor *tensor);

/** Returns what is wrong with a tensor as one of an engine, such as "released already";
 *  NULL if nothing is. A tensor that was released within a call of the library can be
 *  asked until that call ends, for a function of a user's may return it. */
const char *rlo__tensor_fault(const rlo_tensor *tensor, const rlo_engine *engine);

/** Holds tensors while a function of a user's borrows them. */
void rlo__tensors_lend(rlo_tensor *const *tensors, int32_t count);

/** Takes back what was lent. The caller keeps a tensor that the function has
 *  released although it was not the function's.
 *  @return the first of these, or -1. */
int32_t rlo__tensors_take_back(rlo_tensor *const *tensors, int32_t count);

/** The number of tensors that this thread created less those it released. */
int64_t rlo__tensor_balance(void);

/** The id of the next tensor that the engine creates, or a later one's. */
uint64_t rlo__tensor_next_id(const rlo_engine *engine);

/** Releases `count` tensors, of which each may be NULL, and the list; a NULL
 *  list is legal. */
void rlo__tensor_list_release(rlo_tensor **tensors, int32_t count);

/*
 * A public function that returns tensors and may call functions of a user's
 *
 *     rlo__scope_enter();
 *     ...                          make the tensors
 *     RLO_TRY_GOTO(rlo__scope_hand_out(engine, tensors, count, outputs));
 *   fail:
 *     ...                          release what was not handed out
 *     rlo__scope_leave();
 */

void rlo__scope_enter(void);

/** Moves tensors to the caller's outputs, which may be the same list, and gives
 * a reference to each to the scope around the call, if there is one. NULLs are
 * passed over.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT if a function that was called has left
 * a scope open; RLO_OUT_OF_MEMORY. On failure all are still the call's.
 */
RLO_NODISCARD rlo_status rlo__scope_hand_out(rlo_engine *engine, rlo_tensor **tensors,
                                             int32_t count, rlo_tensor **outputs);

/** Ends the scopes that were begun within the call and are open. */
void rlo__scope_leave(void);

/* tensor.c */

/** Returns a new reference to the tensor's bytes on an instance, NULL for
 *  wherever they are: computes them if they are pending, copies them if they
 *  are elsewhere. */
RLO_NODISCARD rlo_status rlo__tensor_need(rlo_tensor *tensor, rlo__backend_instance *instance,
                                          rlo__allocation **out_allocation);

/** Returns a new reference to the computation that the tensor waits for; NULL
 * if its bytes are there. */
rlo__pending *rlo__tensor_peek(rlo_tensor *tensor);

/** Replaces a reference by one to a view of the whole tensor: a tape knows a
 *  tensor by the kernel that made it. */
RLO_NODISCARD rlo_status rlo__tensor_make_alias(rlo_tensor **tensor);

/** RLO_OK for a tensor of this engine; the message names it by `role` and
 *  `index`: "input 2 is NULL". */
RLO_NODISCARD rlo_status rlo__tensor_check(const rlo_tensor *tensor, const rlo_engine *engine,
                                           const char *role, int32_t index);

/** The same of a list. */
RLO_NODISCARD rlo_status rlo__tensors_check(rlo_tensor *const *tensors, int32_t count,
                                            const rlo_engine *engine, const char *role);

#endif
