/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_BACKEND_INSTANCE_H
#define RLO_ENGINE_BACKEND_INSTANCE_H

#include <stdatomic.h>

#include "move/place.h"
#include "relayout/backend.h"
#include "relayout/engine.h"

/** The counters; each has a peak. */
typedef enum rlo__usage_kind {
  RLO__USAGE_TENSORS,
  RLO__USAGE_BUFFERS,
  RLO__USAGE_BYTES,
  RLO__USAGE_EXTERNAL_BYTES,
  RLO__NUM_USAGE_KINDS
} rlo__usage_kind;

typedef struct rlo__usage_counter {
  atomic_int_fast64_t now, peak;
} rlo__usage_counter;

/** The resources held by all instances of a backend, by name: tensors outlive a
 *  backend that is removed. Zeros, but for `whole`, at first. */
typedef struct rlo__usage {
  rlo__usage_counter counters[RLO__NUM_USAGE_KINDS];
  /** The usage of all backends, which counts along; NULL: this is it. */
  struct rlo__usage *whole;
} rlo__usage;

/** Adds to a counter, and to that of the whole. Threads: safe, as is all here.
 */
void rlo__usage_add(rlo__usage *usage, rlo__usage_kind kind, int64_t increment);

int64_t rlo__usage_now(const rlo__usage *usage, rlo__usage_kind kind);

/** Fills in the public struct. */
void rlo__usage_read(const rlo__usage *usage, rlo_memory_info *out_info);

/** Makes what is held now the peaks. */
void rlo__usage_reset_peaks(rlo__usage *usage);

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
RLO_NODISCARD rlo_status rlo__backend_instance_create(rlo_engine *engine, const char *name,
                                                      rlo__usage *usage,
                                                      rlo_backend_factory factory, void *payload,
                                                      uint64_t id,
                                                      rlo__backend_instance **out_instance);

rlo__backend_instance *rlo__backend_instance_retain(rlo__backend_instance *instance);
/** NULL is legal. */
void rlo__backend_instance_release(rlo__backend_instance *instance);

/** Prepares a program of problems or else of a sum, which this takes over, also
 *  on failure. RLO_UNSUPPORTED if the backend runs none of them; the status of
 *  its function. */
RLO_NODISCARD rlo_status rlo__backend_instance_prepare(const rlo__backend_instance *instance,
                                                       rlo_problem_list *problems,
                                                       rlo_segment_sum *sum, void **out_program);

/** Runs a program; `dst` and the operands are memories of the instance. */
RLO_NODISCARD rlo_status rlo__backend_instance_run(const rlo__backend_instance *instance,
                                                   void *program, void *const *operands, void *dst);

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
  /** The next copy of a tensor's bytes on another instance. */
  struct rlo__allocation *next_replica;
  /** Called when the allocation is destroyed; may be NULL. */
  rlo_release_fn release;
  void *payload;
} rlo__allocation;

/** Allocates memory: of zeros, of `data`, which may be NULL, or with undefined
 *  contents. RLO_OUT_OF_MEMORY, RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__allocation_create(rlo__backend_instance *instance, int64_t bytes,
                                                bool is_zero, const void *data,
                                                rlo__allocation **out_allocation);

/** Creates an allocation of the caller's memory, which it frees in the end.
 *  Releases nothing on failure. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__allocation_adopt(rlo__backend_instance *instance, void *memory,
                                               int64_t bytes, rlo__allocation **out_allocation);

rlo__allocation *rlo__allocation_retain(rlo__allocation *allocation);
/** NULL is legal. */
void rlo__allocation_release(rlo__allocation *allocation);

/** Gets the address of its bytes in host memory, NULL for 0 bytes; false if
 *  the backend has none. */
bool rlo__allocation_host(const rlo__allocation *allocation, void **out_data);

/** Copies its first `bytes` to the host: a tensor may be smaller than the
 *  memory it shares. RLO_INTERNAL beyond the allocation's own bytes. */
RLO_NODISCARD rlo_status rlo__allocation_read(rlo__allocation *allocation, void *out_data,
                                              int64_t bytes);

/** Copies an allocation to another instance. */
RLO_NODISCARD rlo_status rlo__allocation_copy(rlo__allocation *from,
                                              rlo__backend_instance *instance,
                                              rlo__allocation **out_allocation);

/* backends.c: the built-in backends */

#define RLO__HOST_BACKEND   RLO_BACKEND_NAME_HOST
#define RLO__OPENCL_BACKEND RLO_BACKEND_NAME_OPENCL

/** The rlo_backend_factory of both: a place, which is `self`. A memory is an
 *  rlo__memory, a program an rlo__move.
 *  @param payload  the context of "opencl"; NULL for "host". */
RLO_NODISCARD rlo_status rlo__backend_create(rlo_engine *engine, void *payload,
                                             const rlo_backend_methods **out_methods,
                                             void **out_self);

/** The place of a built-in backend; NULL for another one, which may have the
 *  same name. */
rlo__place *rlo__backend_place(const rlo__backend_instance *instance);

#endif
