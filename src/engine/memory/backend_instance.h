/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_BACKEND_INSTANCE_H
#define RLO_ENGINE_BACKEND_INSTANCE_H

#include <stdatomic.h>

#include "relayout/backend.h"

/** An instance of a backend, kept by whatever has memory or programs of it. */
typedef struct rlo__backend_instance {
  atomic_int_fast64_t num_references;
  /** Never used again by the engine. */
  uint64_t id;
  /** Interned by the engine: names are equal if their addresses are. */
  const char *name;
  rlo_backend_methods methods;
  void *self;
} rlo__backend_instance;

/** Make an instance by its factory. @return what the factory says;
 *  RLO_INVALID_ARGUMENT if it gives no methods; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status
rlo__backend_instance_create(rlo_engine *engine,
                             const char *name,
                             rlo_backend_factory factory,
                             void *payload,
                             uint64_t id,
                             rlo__backend_instance **out_instance);

rlo__backend_instance *rlo__backend_instance_retain(
    rlo__backend_instance *instance);
/** NULL is legal. */
void rlo__backend_instance_release(rlo__backend_instance *instance);

/** Get moves ready, which become the backend's, or are released.
 *  RLO_UNSUPPORTED where the backend runs none; or what it says. */
RLO_NODISCARD rlo_status
rlo__backend_instance_prepare(const rlo__backend_instance *instance,
                              rlo_moves *moves,
                              void **out_program);

/** The same for a segment sum. */
RLO_NODISCARD rlo_status
rlo__backend_instance_prepare_segment_sum(const rlo__backend_instance *instance,
                                          rlo_segment_sum *sum,
                                          void **out_program);

/** Run what was prepared; `dst` is memory of the instance, as operands are. */
RLO_NODISCARD rlo_status
rlo__backend_instance_run(const rlo__backend_instance *instance,
                          void *program,
                          void *const *operands,
                          void *dst);

/** Memory of an instance, shared by tensors. */
typedef struct rlo__storage {
  atomic_int_fast64_t num_references;
  /** Retained. */
  rlo__backend_instance *instance;
  /** NULL for 0 bytes. */
  void *memory;
  int64_t bytes;
  /** The memory is the caller's: told by `release` when it is free, if that is
   *  not NULL. */
  bool is_external;
  rlo_release_fn release;
  void *payload;
} rlo__storage;

/** New memory, of zeros or with undefined contents. RLO_OUT_OF_MEMORY,
 *  RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__storage_create(rlo__backend_instance *instance,
                                             int64_t bytes,
                                             bool is_zero,
                                             rlo__storage **out_storage);

/** A storage of memory that is there. With `is_external` the memory stays the
 *  caller's. On failure nothing is released. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__storage_adopt(rlo__backend_instance *instance,
                                            void *memory,
                                            int64_t bytes,
                                            bool is_external,
                                            rlo_release_fn release,
                                            void *payload,
                                            rlo__storage **out_storage);

rlo__storage *rlo__storage_retain(rlo__storage *storage);
/** NULL is legal. */
void rlo__storage_release(rlo__storage *storage);

/** Copies all its bytes from the host. */
RLO_NODISCARD rlo_status rlo__storage_write(rlo__storage *storage,
                                            const void *data);
/** Copies its first `bytes` to the host: a tensor may be smaller than the
 *  memory it shares. RLO_INTERNAL beyond the storage's own bytes. */
RLO_NODISCARD rlo_status rlo__storage_read(rlo__storage *storage,
                                           void *out_data,
                                           int64_t bytes);

/** The same bytes in memory of another instance. */
RLO_NODISCARD rlo_status rlo__storage_copy(rlo__storage *from,
                                           rlo__backend_instance *instance,
                                           rlo__storage **out_storage);

#endif
