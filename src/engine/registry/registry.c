/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/registry/registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/engine.h"
#include "engine/memory/host_backend.h"

/* The registry that this thread is changing, or whose dispose it runs. */
static _Thread_local const rlo__registry *changing;

rlo_status rlo__registry_begin_change(rlo__registry *registry,
                                      const char *what) {
  if (changing == registry) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s from within a setup, a dispose or a factory",
                    what);
  }
  rlo__mutex_lock(&registry->changes);
  registry->changing_before = changing;
  changing = registry;
  return RLO_OK;
}

void rlo__registry_end_change(rlo__registry *registry) {
  changing = registry->changing_before;
  rlo__mutex_unlock(&registry->changes);
}

rlo_status rlo__registry_init(rlo__registry *registry) {
  *registry = (rlo__registry){.next_instance_id = 1};
  RLO_TRY(rlo__mutex_init(&registry->changes));
  rlo_status status = rlo__rwlock_init(&registry->lock);
  if (status != RLO_OK) {
    rlo__mutex_deinit(&registry->changes);
  }
  return status;
}

void rlo__registry_deinit(rlo__registry *registry) {
  for (int32_t b = 0; b < RLO__REGISTRY_BUCKETS; ++b) {
    while (registry->buckets[b] != NULL) {
      rlo__slot *slot = registry->buckets[b];
      registry->buckets[b] = slot->next;
      rlo__bound_kernel_release(slot->bound);
      rlo__free(slot);
    }
  }
  rlo__backend_instance_release(registry->active);
  while (registry->backends != NULL) {
    rlo__backend_entry *entry = registry->backends;
    registry->backends = entry->next;
    rlo__backend_instance_release(entry->instance);
    rlo__free(entry);
  }
  while (registry->names != NULL) {
    rlo__name *name = registry->names;
    registry->names = name->next;
    rlo__free(name->text);
    rlo__free(name);
  }
  rlo__rwlock_deinit(&registry->lock);
  rlo__mutex_deinit(&registry->changes);
}

rlo_status rlo__registry_intern(rlo__registry *registry,
                                const char *name,
                                const char **out_name) {
  for (const rlo__name *n = registry->names; n != NULL; n = n->next) {
    if (strcmp(n->text, name) == 0) {
      *out_name = n->text;
      return RLO_OK;
    }
  }
  rlo__name *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->text = rlo__alloc_string(name);
  if (made->text == NULL) {
    rlo__free(made);
    return RLO_OUT_OF_MEMORY;
  }
  made->next = registry->names;
  registry->names = made;
  *out_name = made->text;
  return RLO_OK;
}

rlo__backend_entry *rlo__registry_backend(const rlo__registry *registry,
                                          const char *name) {
  rlo__backend_entry *entry = registry->backends;
  while (entry != NULL && strcmp(entry->name, name) != 0) {
    entry = entry->next;
  }
  return entry;
}

uint32_t rlo__registry_hash(const char *kernel_name) {
  /* FNV-1a: names are short, and every call comes by here. */
  uint32_t hash = 2166136261u;
  for (const char *c = kernel_name; *c != '\0'; ++c) {
    hash = (hash ^ (uint8_t)*c) * 16777619u;
  }
  return hash;
}

static uint32_t bucket_of(const char *kernel_name) {
  return rlo__registry_hash(kernel_name) % RLO__REGISTRY_BUCKETS;
}

static bool is_slot_of(const rlo__slot *slot,
                       const char *kernel_name,
                       const char *backend_name) {
  return strcmp(slot->config.kernel_name, kernel_name) == 0 &&
         (slot->config.backend_name == backend_name ||
          strcmp(slot->config.backend_name, backend_name) == 0);
}

rlo__slot **rlo__registry_slot(rlo__registry *registry,
                               const char *kernel_name,
                               const char *backend_name) {
  rlo__slot **link = &registry->buckets[bucket_of(kernel_name)];
  while (*link != NULL && !is_slot_of(*link, kernel_name, backend_name)) {
    link = &(*link)->next;
  }
  return link;
}

/* --------------------------------------------------------------- activations
 */

rlo_status rlo__bound_kernel_create(rlo_engine *engine,
                                    const rlo_kernel_config *config,
                                    rlo__backend_instance *instance,
                                    rlo__bound_kernel **out_bound) {
  rlo__bound_kernel *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&made->num_references, 1);
  made->engine = engine;
  made->config = *config;
  if (config->setup != NULL) {
    rlo_status status = RLO__CALLBACK(
        config->setup(engine, instance->self, config->payload), "the setup");
    if (status != RLO_OK) {
      rlo__free(made);
      return rlo__status_prefix(status,
                                "setting up kernel '%s' for backend '%s': ",
                                config->kernel_name,
                                config->backend_name);
    }
  }
  made->instance = rlo__backend_instance_retain(instance);
  *out_bound = made;
  return RLO_OK;
}

rlo__bound_kernel *rlo__bound_kernel_retain(rlo__bound_kernel *bound) {
  atomic_fetch_add_explicit(&bound->num_references, 1, memory_order_relaxed);
  return bound;
}

void rlo__bound_kernel_release(rlo__bound_kernel *bound) {
  if (bound == NULL ||
      atomic_fetch_sub_explicit(
          &bound->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  const rlo_kernel_config *config = &bound->config;
  if (config->dispose != NULL) {
    /* So that a dispose cannot change the registry, nor, when it is the
     * engine's last breath, use it. */
    const rlo__registry *before = changing;
    changing = &bound->engine->registry;
    config->dispose(bound->engine, bound->instance->self, config->payload);
    changing = before;
  }
  rlo__backend_instance_release(bound->instance);
  rlo__free(bound);
}

/* ------------------------------------------------------------------- finding
 */

rlo_status rlo__registry_fail_missing(rlo__registry *registry,
                                      const char *kernel_name,
                                      const char *backend_name) {
  char words[256];
  rlo__str have = rlo__str_over(words, sizeof words);
  rlo__rwlock_lock_read(&registry->lock);
  for (const rlo__slot *s = registry->buckets[bucket_of(kernel_name)];
       s != NULL;
       s = s->next) {
    if (strcmp(s->config.kernel_name, kernel_name) == 0) {
      rlo__str_printf(&have,
                      "%s'%s'",
                      have.length == 0 ? "" : ", ",
                      s->config.backend_name);
    }
  }
  rlo__rwlock_unlock(&registry->lock);
  return RLO_FAIL(RLO_NOT_FOUND,
                  "kernel '%s' is not registered for backend '%s'; %s%s",
                  kernel_name,
                  backend_name,
                  have.length == 0 ? "no backend has it" : "it is for ",
                  rlo__str_text(&have));
}

/* The activation for an instance's backend, retained; NULL if there is none.
 * Under a lock. */
static rlo__bound_kernel *find_locked(rlo__registry *registry,
                                      const char *kernel_name,
                                      const char *backend_name) {
  const rlo__slot *slot =
      *rlo__registry_slot(registry, kernel_name, backend_name);
  return slot != NULL && slot->bound != NULL
             ? rlo__bound_kernel_retain(slot->bound)
             : NULL;
}

rlo_status rlo__registry_find(rlo_engine *engine,
                              const char *kernel_name,
                              rlo__bound_kernel **out_bound,
                              bool *out_is_fallback) {
  rlo__registry *registry = &engine->registry;
  *out_is_fallback = false;
  rlo__rwlock_lock_read(&registry->lock);
  const rlo__backend_instance *active = registry->active;
  const char *backend_name = active != NULL ? active->name : NULL;
  rlo__bound_kernel *found =
      active != NULL ? find_locked(registry, kernel_name, backend_name) : NULL;
  rlo__rwlock_unlock(&registry->lock);
  if (found == NULL) {
    rlo__backend_instance *instance = NULL;
    RLO_TRY(rlo__backend_need_active(engine, &instance));
    backend_name = instance->name;
    rlo__backend_instance_release(instance);
    rlo__rwlock_lock_read(&registry->lock);
    found = find_locked(registry, kernel_name, backend_name);
    rlo__rwlock_unlock(&registry->lock);
  }
  if (found == NULL && engine->options.allow_host_fallback) {
    rlo__backend_instance *host = NULL;
    RLO_TRY(rlo__backend_need(engine, RLO__HOST_BACKEND, &host));
    rlo__backend_instance_release(host);
    rlo__rwlock_lock_read(&registry->lock);
    found = find_locked(registry, kernel_name, RLO__HOST_BACKEND);
    rlo__rwlock_unlock(&registry->lock);
    *out_is_fallback = found != NULL;
  }
  if (found == NULL) {
    return rlo__registry_fail_missing(registry, kernel_name, backend_name);
  }
  *out_bound = found;
  return RLO_OK;
}
