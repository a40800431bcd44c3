/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_REGISTRY_H
#define RLO_ENGINE_REGISTRY_H

#include "base/log.h"
#include "base/table.h"
#include "base/thread.h"
#include "engine/memory/backend_instance.h"
#include "relayout/kernel.h"

/** What runs a kernel. */
typedef enum rlo__kernel_kind {
  /** config.run, a function of whoever registered it. */
  RLO__KERNEL_FUNCTION,
  /** config.built_in, an rlo__copy_op: planned, cached and fused. */
  RLO__KERNEL_COPY_OP
} rlo__kernel_kind;

/**
 * A kernel that is set up for an instance of its backend: what a call runs.
 * Counted; the last reference disposes of the kernel.
 */
typedef struct rlo__bound_kernel {
  atomic_int_fast64_t num_references;
  /** Borrowed: bound kernels do not outlive it. */
  struct rlo__registry *registry;
  rlo__kernel_kind kind;
  rlo_kernel_config config;
  /** Retained. */
  rlo__backend_instance *instance;
} rlo__bound_kernel;

rlo__bound_kernel *rlo__bound_kernel_retain(rlo__bound_kernel *bound);
/** NULL is legal. */
void rlo__bound_kernel_release(rlo__bound_kernel *bound);

/** A registered kernel. */
typedef struct rlo__kernel_slot {
  rlo__table_node node;
  rlo_kernel_config config;
  /** NULL exactly while the backend has no instance. */
  rlo__bound_kernel *bound;
} rlo__kernel_slot;

/** A registered backend. */
typedef struct rlo__backend_entry {
  struct rlo__backend_entry *next;
  const char *name;
  rlo__usage *usage;
  rlo_backend_factory factory;
  void *payload;
  int32_t priority;
  /** NULL until the backend is first used. */
  rlo__backend_instance *instance;
} rlo__backend_entry;

/** What is held under the name of a backend, also after it is removed. */
typedef struct rlo__named_usage {
  struct rlo__named_usage *next;
  const char *name;
  rlo__usage usage;
} rlo__named_usage;

typedef struct rlo__name {
  struct rlo__name *next;
  char *text;
} rlo__name;

typedef struct rlo__name_list {
  struct rlo__name_list *next;
  const char **names;
  int32_t count;
} rlo__name_list;

/**
 * The kernels and backends of an engine. A writer holds `changes` from
 * beginning to end, including its calls of factories and setups, and in
 * addition `lock` for writing while it modifies what readers see. A reader
 * holds either.
 */
typedef struct rlo__registry {
  /** Passed on to factories, setups and disposes. */
  rlo_engine *engine;
  const rlo__log_sink *log;
  rlo__mutex changes;
  /** The registry that the writing thread was changing before this one. */
  const struct rlo__registry *changing_before;
  rlo__rwlock lock;
  /** rlo__kernel_slot, by kernel name. */
  rlo__table kernels;
  /** By descending priority. */
  rlo__backend_entry *backends;
  /** Retained; NULL until a backend is chosen. */
  rlo__backend_instance *active;
  /** Names and lists of them live as long as the registry, so that they can be
   *  borrowed. */
  rlo__name *names;
  rlo__name_list *name_lists;
  /** Under `lock`; an entry lives as long as the registry. */
  rlo__named_usage *usages;
  /** Of all backends. */
  rlo__usage usage;
  uint64_t next_instance_id;
} rlo__registry;

/** RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__registry_init(rlo__registry *registry,
                                            rlo_engine *engine,
                                            const rlo__log_sink *log);
/** Disposes of every kernel and releases every backend. */
void rlo__registry_deinit(rlo__registry *registry);

/**
 * Begins a change: locks `changes`.
 * @param action  for the message: "registering a kernel".
 * @return RLO_OK; RLO_INVALID_ARGUMENT within a setup, a dispose or a factory,
 *         where a change would wait for itself.
 */
RLO_NODISCARD rlo_status rlo__registry_begin_change(rlo__registry *registry,
                                                    const char *action);
void rlo__registry_end_change(rlo__registry *registry);

/** The registry that this thread changes, or of which it runs a setup, a
 * factory or a dispose; NULL: none. */
const rlo__registry *rlo__registry_changing(void);

/** Finds or adds the unique copy of a name. During a change.
 *  RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__registry_intern(rlo__registry *registry,
                                              const char *name,
                                              const char **out_name);

/** The same for a list of names; NULL for none. */
RLO_NODISCARD rlo_status
rlo__registry_intern_list(rlo__registry *registry,
                          const char *const *names,
                          int32_t count,
                          const char *const **out_names);

/** The backend of this name; NULL if there is none. Under a lock. */
rlo__backend_entry *rlo__registry_find_backend(const rlo__registry *registry,
                                               const char *name);

/** RLO_NOT_FOUND, naming the registered backends. Not under `lock`. */
RLO_NODISCARD rlo_status rlo__registry_fail_no_backend(rlo__registry *registry,
                                                       const char *name);

/** What is held under a name; NULL if no backend has or had it. Under a lock.
 */
rlo__usage *rlo__registry_find_usage(const rlo__registry *registry,
                                     const char *name);

/** Makes what is held now the peaks. Not under `lock`. */
void rlo__registry_reset_peaks(rlo__registry *registry);

/** The hash of a kernel's name, for tables by kernel. */
uint64_t rlo__registry_hash(const char *kernel_name);

/** The slot of a kernel; NULL if there is none. Under a lock. */
rlo__kernel_slot *rlo__registry_find_kernel(const rlo__registry *registry,
                                            const char *kernel_name,
                                            const char *backend_name);

/** RLO_NOT_FOUND, naming the backends that have the kernel. Not under `lock`.
 */
RLO_NODISCARD rlo_status rlo__registry_fail_no_kernel(rlo__registry *registry,
                                                      const char *kernel_name,
                                                      const char *backend_name);

/** Sets a kernel up for an instance. RLO_OUT_OF_MEMORY; the status of setup. */
RLO_NODISCARD rlo_status
rlo__bound_kernel_create(rlo__registry *registry,
                         const rlo_kernel_config *config,
                         rlo__backend_instance *instance,
                         rlo__bound_kernel **out_bound);

/* backend.c */

/** Returns a new reference to the instance of a backend, creating it on first
 *  use. RLO_NOT_FOUND; the status of the factory or of a setup. */
RLO_NODISCARD rlo_status rlo__backend_get(rlo__registry *registry,
                                          const char *name,
                                          rlo__backend_instance **out_instance);

/** Returns a new reference to the active instance, choosing a backend on first
 *  use. */
RLO_NODISCARD rlo_status rlo__backend_get_active(
    rlo__registry *registry, rlo__backend_instance **out_instance);

/**
 * Removes a backend and disposes of its kernels' set-ups.
 * @param out_instance  its instance, which the caller releases; NULL if it was
 *                      never used.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status
rlo__backend_remove(rlo__registry *registry,
                    const char *name,
                    rlo__backend_instance **out_instance);

/* kernel.c */

/**
 * Finds the kernel that a call runs: the active backend's or, where that has
 * none and fallback is allowed, the host's.
 * @param out_is_fallback  whether it is the host's in place of the active
 *                         backend's.
 * @return RLO_OK; RLO_NOT_FOUND; the statuses of rlo__backend_get_active.
 */
RLO_NODISCARD rlo_status rlo__kernel_bind(rlo__registry *registry,
                                          const char *kernel_name,
                                          bool allows_fallback,
                                          rlo__bound_kernel **out_bound,
                                          bool *out_is_fallback);

#endif
