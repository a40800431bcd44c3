/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_REGISTRY_H
#define RLO_ENGINE_REGISTRY_H

#include "base/thread.h"
#include "engine/memory/backend_instance.h"
#include "relayout/kernel.h"

/**
 * A kernel that is set up for an instance of its backend: what a call runs.
 * Counted; the last reference to go disposes of the kernel.
 */
typedef struct rlo__bound_kernel {
  atomic_int_fast64_t num_references;
  /** Borrowed: activations do not outlive it. */
  rlo_engine *engine;
  rlo_kernel_config config;
  /** Retained. */
  rlo__backend_instance *instance;
} rlo__bound_kernel;

rlo__bound_kernel *rlo__bound_kernel_retain(rlo__bound_kernel *bound);
/** NULL is legal. */
void rlo__bound_kernel_release(rlo__bound_kernel *bound);

/** A registered kernel. */
typedef struct rlo__slot {
  struct rlo__slot *next;
  rlo_kernel_config config;
  /** There is one exactly while there is an instance of the backend. */
  rlo__bound_kernel *bound;
} rlo__slot;

/** A backend, with its instance once there is one. */
typedef struct rlo__backend_entry {
  struct rlo__backend_entry *next;
  const char *name;
  rlo_backend_factory factory;
  void *payload;
  int32_t priority;
  rlo__backend_instance *instance;
} rlo__backend_entry;

typedef struct rlo__name {
  struct rlo__name *next;
  char *text;
} rlo__name;

enum { RLO__REGISTRY_BUCKETS = 128 };

/**
 * The kernels and backends of an engine. Who changes something holds `changes`
 * from beginning to end, calls of factories and setups included, and `lock` for
 * writing while it changes what others read. Who reads holds either.
 */
typedef struct rlo__registry {
  rlo__mutex changes;
  /** What the thread that changes this one was changing already. */
  const struct rlo__registry *changing_before;
  rlo__rwlock lock;
  /** By kernel name. */
  rlo__slot *buckets[RLO__REGISTRY_BUCKETS];
  /** By falling priority. */
  rlo__backend_entry *backends;
  /** Retained; NULL: none was chosen yet. */
  rlo__backend_instance *active;
  /** Names live as long as the registry, so that they can be borrowed. */
  rlo__name *names;
  uint64_t next_instance_id;
} rlo__registry;

/** RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__registry_init(rlo__registry *registry);
/** Dispose of every kernel and give up every backend. */
void rlo__registry_deinit(rlo__registry *registry);

/**
 * Begin a change: takes `changes`.
 * @return RLO_OK; RLO_INVALID_ARGUMENT within a setup, dispose or factory,
 *         where a change would wait for itself; `what` words the sentence.
 */
RLO_NODISCARD rlo_status rlo__registry_begin_change(rlo__registry *registry,
                                                    const char *what);
void rlo__registry_end_change(rlo__registry *registry);

/** The one copy of a name. During a change. RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__registry_intern(rlo__registry *registry,
                                              const char *name,
                                              const char **out_name);

/** The backend of this name; NULL if there is none. Under a lock. */
rlo__backend_entry *rlo__registry_backend(const rlo__registry *registry,
                                          const char *name);

/** A hash of a kernel's name, for tables of what belongs to kernels. */
uint32_t rlo__registry_hash(const char *kernel_name);

/** The link to the slot, so that it can be taken out; *link NULL if there is
 *  none. Under a lock. */
rlo__slot **rlo__registry_slot(rlo__registry *registry,
                               const char *kernel_name,
                               const char *backend_name);

/** Set a kernel up for an instance. RLO_OUT_OF_MEMORY; what setup says. */
RLO_NODISCARD rlo_status
rlo__bound_kernel_create(rlo_engine *engine,
                         const rlo_kernel_config *config,
                         rlo__backend_instance *instance,
                         rlo__bound_kernel **out_bound);

/**
 * Find what a call runs: the kernel for the active backend, chosen now if need
 * be, or for the host where that is allowed.
 * @param out_is_fallback  the kernel is one for the host because the active
 *                         backend has none.
 * @return RLO_OK; RLO_NOT_FOUND; what choosing a backend says.
 */
RLO_NODISCARD rlo_status rlo__registry_find(rlo_engine *engine,
                                            const char *kernel_name,
                                            rlo__bound_kernel **out_bound,
                                            bool *out_is_fallback);

/** RLO_NOT_FOUND with a sentence that names the backends that have the kernel.
 *  Not under `lock`. */
RLO_NODISCARD rlo_status rlo__registry_fail_missing(rlo__registry *registry,
                                                    const char *kernel_name,
                                                    const char *backend_name);

/** The instance of a backend, made now if need be; the caller's. RLO_NOT_FOUND;
 *  or what making it says. */
RLO_NODISCARD rlo_status rlo__backend_need(
    rlo_engine *engine, const char *name, rlo__backend_instance **out_instance);

/** The active instance, chosen now if need be; the caller's. */
RLO_NODISCARD rlo_status rlo__backend_need_active(
    rlo_engine *engine, rlo__backend_instance **out_instance);

#endif
