/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_REGISTRY_H
#define RLO_ENGINE_REGISTRY_H

#include <stddef.h>

#include "base/sentence.h"
#include "base/status.h"
#include "base/table.h"
#include "base/thread.h"
#include "engine/memory/backend_instance.h"
#include "relayout/gradient.h"
#include "relayout/kernel.h"

/**
 * A kernel that is set up for an instance of its backend: what a call runs.
 * Counted; the last reference disposes of the kernel.
 */
typedef struct rlo__bound_kernel {
  atomic_int_fast64_t num_references;
  /** Borrowed: bound kernels do not outlive it. */
  struct rlo__registry *registry;
  /** Runs by its `run`, a function of whoever registered it, or else by
   *  `built_in`, an rlo__copy_op: planned, cached and fused. */
  rlo_kernel_config config;
  /** Retained. */
  rlo__backend_instance *instance;
  /** The next one of rlo__registry.removed. */
  struct rlo__bound_kernel *next_removed;
} rlo__bound_kernel;

rlo__bound_kernel *rlo__bound_kernel_retain(rlo__bound_kernel *bound);
/** NULL is legal. */
void rlo__bound_kernel_release(rlo__bound_kernel *bound);

/** The registered struct of the user's. All begin alike. */
typedef union rlo__config {
  struct {
    size_t struct_size;
    const char *kernel_name;
  } head;

  rlo_kernel_config kernel;
  rlo_gradient_config gradient;
} rlo__config;

/** A kernel of one backend, or a gradient. */
typedef struct rlo__slot {
  /** The next one of the same name. */
  struct rlo__slot *next;
  /** The name of the kernel. */
  struct rlo__name *name;
  /** The registry's text; NULL: a gradient. */
  const char *backend_name;
  rlo__config config;
  /** The kernel's, while its backend has an instance; else NULL. */
  rlo__bound_kernel *bound;
} rlo__slot;

typedef struct rlo__backend_slot {
  /** NULL: there is no backend. */
  rlo_backend_factory factory;
  void *payload;
  int32_t priority;
  /** The next one by descending priority. */
  struct rlo__name *next;
  /** NULL until the backend is first used. */
  rlo__backend_instance *instance;
} rlo__backend_slot;

/**
 * A name, and what is registered under it: kernels, a gradient, a backend. It
 * lives as long as the registry, so that its text can be borrowed. The pointers
 * of a list of names are such a text, too.
 */
typedef struct rlo__name {
  rlo__table_node node;
  rlo__slot *slots;
  rlo__backend_slot backend;
  /** Usage under the name of a backend, also after it is removed; without
   *  `whole` if there was none. */
  rlo__usage usage;
  /** The length of the text, without its NUL. */
  size_t bytes;
  _Alignas(void *) char text[];
} rlo__name;

/**
 * The kernels, gradients and backends of an engine. A writer holds `changes`
 * from beginning to end, including its calls of factories and setups, and in
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
  /** Bound kernels to release when the change has ended: disposes may take
   *  locks of the user's. */
  rlo__bound_kernel *removed;
  rlo__rwlock lock;
  /** rlo__name. */
  rlo__table names;
  /** Sorted by descending priority. */
  rlo__name *backends;
  /** The instance of one of them; NULL until a backend is chosen. */
  rlo__backend_instance *active;
  /** The usage of all backends. */
  rlo__usage usage;
  uint64_t next_instance_id;
} rlo__registry;

/** RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__registry_init(rlo__registry *registry, rlo_engine *engine,
                                            const rlo__log_sink *log);
/** Disposes of every kernel and releases every backend. */
void rlo__registry_deinit(rlo__registry *registry);

/**
 * Begins a change: locks `changes`.
 * @param action  for the message: "registering a kernel".
 * @return RLO_OK; RLO_INVALID_ARGUMENT within a setup, a dispose or a factory,
 *         where a change would wait for itself.
 */
RLO_NODISCARD rlo_status rlo__registry_begin_change(rlo__registry *registry, const char *action);
/** Ends it, and releases the bound kernels that it has removed. */
void rlo__registry_end_change(rlo__registry *registry);

/** The registry that this thread changes, or of which it runs a setup, a
 * factory or a dispose; NULL: none. */
const rlo__registry *rlo__registry_changing(void);

/** The entry of a name; NULL if there is none. Under a lock. */
rlo__name *rlo__registry_find(const rlo__registry *registry, const char *name);

/** Finds or adds a name and gets its text. During a change. RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__registry_intern(rlo__registry *registry, const char **inout_name);

/** The same of a list of names; NULL for none. */
RLO_NODISCARD rlo_status rlo__registry_intern_list(rlo__registry *registry,
                                                   const char *const **inout_names, int32_t count);

/** The name of a text of the registry. */
static inline rlo__name *rlo__name_of(const char *text) {
  return (rlo__name *)((uintptr_t)text - offsetof(rlo__name, text));
}

/** The entry of a backend's name; NULL if there is no such backend. Under a
 *  lock. */
rlo__name *rlo__registry_find_backend(const rlo__registry *registry, const char *name);

/** RLO_NOT_FOUND, naming the registered backends. Not under `lock`. */
RLO_NODISCARD rlo_status rlo__registry_fail_no_backend(rlo__registry *registry, const char *name);

/** Makes what is held now the peaks. Not under `lock`. */
void rlo__registry_reset_peaks(rlo__registry *registry);

/** The slot of a kernel for a backend or, with a NULL, of a gradient; NULL if
 *  there is none, or no name. Under a lock. */
rlo__slot *rlo__slot_find(const rlo__name *name, const char *backend_name);

/** RLO_NOT_FOUND of a kernel, naming the backends that have it; or, without
 *  `backend_name`, of a gradient. Not under `lock`. */
RLO_NODISCARD rlo_status rlo__registry_fail_missing(rlo__registry *registry,
                                                    const char *kernel_name,
                                                    const char *backend_name);

/** Copies a config; returns whether there is one. Not under `lock`. */
bool rlo__registry_get(rlo__registry *registry, const char *kernel_name, const char *backend_name,
                       rlo__config *out_config);

/** The first kernel of a backend, or the one after `slot`; with a NULL, of the
 * gradients. NULL after the last one. Under a lock. */
rlo__slot *rlo__registry_next_slot(const rlo__registry *registry, const char *backend_name,
                                   const rlo__slot *slot);

/** Replaces the bound kernel of a slot. During a change, and under `lock` for
 *  writing where readers may see the slot. */
void rlo__slot_bind(rlo__registry *registry, rlo__slot *slot, rlo__bound_kernel *bound);

/** Sets a kernel up for an instance. RLO_OUT_OF_MEMORY; the status of setup. */
RLO_NODISCARD rlo_status rlo__bound_kernel_create(rlo__registry *registry,
                                                  const rlo_kernel_config *config,
                                                  rlo__backend_instance *instance,
                                                  rlo__bound_kernel **out_bound);

/* backend.c */

/** Returns a new reference to the instance of a backend, NULL for the active
 *  one, creating it, or choosing a backend, on first use. RLO_NOT_FOUND; the
 *  status of the factory or of a setup. */
RLO_NODISCARD rlo_status rlo__backend_get(rlo__registry *registry, const char *name,
                                          rlo__backend_instance **out_instance);

/**
 * Removes a backend and disposes of its kernels' set-ups.
 * @param out_instance  its instance, which the caller releases; NULL if it was
 *                      never used.
 * @return RLO_OK; RLO_NOT_FOUND; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__backend_remove(rlo__registry *registry, const char *name,
                                             rlo__backend_instance **out_instance);

/* register.c */

/**
 * Finds the kernel that a call runs: the active backend's or, where that has
 * none and the engine's options allow it, the host's.
 * @param out_is_fallback  whether it is the host's in place of the active
 *                         backend's; may be NULL.
 * @return RLO_OK; RLO_NOT_FOUND; the statuses of rlo__backend_get.
 */
RLO_NODISCARD rlo_status rlo__kernel_bind(rlo__registry *registry, const char *kernel_name,
                                          rlo__bound_kernel **out_bound, bool *out_is_fallback);

/* input_names.c */

/*
 * The names of a kernel's inputs: `count` of them, of which the last one stands
 * for all inputs from its place on. A kernel without names has a count of 0.
 */

/** The name in messages of an input. A long name is cut. */
typedef struct rlo__input_text {
  char text[96];
} rlo__input_text;

/** "'x'", "'inputs[2]'": the n-th input of a name. */
rlo__input_text rlo__name_text(const char *name, int32_t n);

/** "input 'x'", "input 'inputs[2]'" where several inputs share the name, "input
 *  1" without a name. */
rlo__input_text rlo__input_text_of(const char *const *names, int32_t count, int32_t num_inputs,
                                   int32_t place);

/** The index of a name; -1 if it is none of them. */
int32_t rlo__input_names_find(const char *const *names, int32_t count, const char *name);

/** The name of an input; NULL without names. */
const char *rlo__input_name(const char *const *names, int32_t count, int32_t place);

/** The place of the n-th input of this name among `num_inputs`; -1 if there is
 *  none. */
int32_t rlo__input_place(const char *const *names, int32_t count, int32_t num_inputs,
                         const char *name, int32_t n);

/** RLO_OK if a kernel's config gives every input one name, and the results
 *  others. RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status rlo__input_names_check(const rlo_kernel_config *config);

/** RLO_INVALID_ARGUMENT for a number of inputs that a kernel does not take. */
RLO_NODISCARD rlo_status rlo__input_count_fail(const rlo_kernel_config *config, int32_t num_inputs);

/** RLO_OK if a kernel takes this number of inputs. RLO_INVALID_ARGUMENT. */
RLO_NODISCARD static inline rlo_status rlo__input_count_check(const rlo_kernel_config *config,
                                                              int32_t num_inputs) {
  return num_inputs >= config->min_inputs &&
                 (config->max_inputs < 0 || num_inputs <= config->max_inputs)
             ? RLO_OK
             : rlo__input_count_fail(config, num_inputs);
}

/** Finds the places of named inputs: rlo_kernel_place_inputs. */
RLO_NODISCARD rlo_status rlo__input_names_place(const rlo_kernel_config *config,
                                                const char *const *names, int32_t count,
                                                int32_t *out_places);

#endif
