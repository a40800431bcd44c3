/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_BACKEND_INSTANCE_H
#define RLO_ENGINE_BACKEND_INSTANCE_H

#include <stdatomic.h>

#include "engine/memory/usage.h"
#include "relayout/backend.h"

/** An instance of a backend. Its memories and programs hold references. */
typedef struct rlo__backend_instance {
  atomic_int_fast64_t num_references;
  /** Never reused by the engine. */
  uint64_t id;
  /** Interned by the engine: names are equal if their addresses are. */
  const char *name;
  /** Usage by all instances of the name; outlives them. */
  rlo__usage *usage;
  rlo_backend_methods methods;
  void *self;
} rlo__backend_instance;

/** Creates an instance. @return the status of the factory;
 *  RLO_INVALID_ARGUMENT if methods are missing; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status
rlo__backend_instance_create(rlo_engine *engine,
                             const char *name,
                             rlo__usage *usage,
                             rlo_backend_factory factory,
                             void *payload,
                             uint64_t id,
                             rlo__backend_instance **out_instance);

rlo__backend_instance *rlo__backend_instance_retain(
    rlo__backend_instance *instance);
/** NULL is legal. */
void rlo__backend_instance_release(rlo__backend_instance *instance);

/** Prepares a program of the problems, which this takes over, also on failure.
 *  RLO_UNSUPPORTED if the backend runs no problems; the status of its
 * `prepare`.
 */
RLO_NODISCARD rlo_status
rlo__backend_instance_prepare(const rlo__backend_instance *instance,
                              rlo_problem_list *problems,
                              void **out_program);

/** The same for a segment sum. */
RLO_NODISCARD rlo_status
rlo__backend_instance_prepare_segment_sum(const rlo__backend_instance *instance,
                                          rlo_segment_sum *sum,
                                          void **out_program);

/** Runs a program; `dst` and the operands are memories of the instance. */
RLO_NODISCARD rlo_status
rlo__backend_instance_run(const rlo__backend_instance *instance,
                          void *program,
                          void *const *operands,
                          void *dst);

/** Memory of an instance. Tensors share it by reference. */
typedef struct rlo__allocation {
  atomic_int_fast64_t num_references;
  /** Retained. */
  rlo__backend_instance *instance;
  /** NULL for 0 bytes. */
  void *memory;
  int64_t bytes;
  /** The bytes are the caller's, and counted apart. */
  bool is_external;
  /** Called when the allocation is destroyed; may be NULL. */
  rlo_release_fn release;
  void *payload;
} rlo__allocation;

/** Allocates memory, of zeros or with undefined contents. RLO_OUT_OF_MEMORY,
 *  RLO_DEVICE. */
RLO_NODISCARD rlo_status
rlo__allocation_create(rlo__backend_instance *instance,
                       int64_t bytes,
                       bool is_zero,
                       rlo__allocation **out_allocation);

/** Creates an allocation of existing memory, which it frees in the end.
 *  Releases nothing on failure. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status
rlo__allocation_adopt(rlo__backend_instance *instance,
                      void *memory,
                      int64_t bytes,
                      bool is_external,
                      rlo_release_fn release,
                      void *payload,
                      rlo__allocation **out_allocation);

rlo__allocation *rlo__allocation_retain(rlo__allocation *allocation);
/** NULL is legal. */
void rlo__allocation_release(rlo__allocation *allocation);

/** Copies all its bytes from the host. */
RLO_NODISCARD rlo_status rlo__allocation_write(rlo__allocation *allocation,
                                               const void *data);
/** Copies its first `bytes` to the host: a tensor may be smaller than the
 *  memory it shares. RLO_INTERNAL beyond the allocation's own bytes. */
RLO_NODISCARD rlo_status rlo__allocation_read(rlo__allocation *allocation,
                                              void *out_data,
                                              int64_t bytes);

/** Copies an allocation to another instance. */
RLO_NODISCARD rlo_status rlo__allocation_copy(rlo__allocation *from,
                                              rlo__backend_instance *instance,
                                              rlo__allocation **out_allocation);

#endif
