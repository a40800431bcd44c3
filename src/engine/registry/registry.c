/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/registry/registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"

/* The registry that this thread changes, or whose dispose it runs. */
static _Thread_local const rlo__registry *changing;

rlo_status rlo__registry_begin_change(rlo__registry *registry,
                                      const char *action) {
  if (changing == registry) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s from within a setup, a dispose or a factory",
                    action);
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

const rlo__registry *rlo__registry_changing(void) {
  return changing;
}

rlo_status rlo__registry_init(rlo__registry *registry,
                              rlo_engine *engine,
                              const rlo__log_sink *log) {
  *registry =
      (rlo__registry){.engine = engine, .log = log, .next_instance_id = 1};
  RLO_TRY(rlo__mutex_init(&registry->changes));
  rlo_status status = rlo__rwlock_init(&registry->lock);
  if (status != RLO_OK) {
    rlo__mutex_deinit(&registry->changes);
    return status;
  }
  rlo__table_init(&registry->kernels, offsetof(rlo__kernel_slot, node));
  rlo__usage_init(&registry->usage, NULL);
  return RLO_OK;
}

void rlo__registry_deinit(rlo__registry *registry) {
  rlo__kernel_slot *slot = NULL;
  while ((slot = rlo__table_remove_oldest(&registry->kernels)) != NULL) {
    rlo__bound_kernel_release(slot->bound);
    rlo__free(slot);
  }
  rlo__table_deinit(&registry->kernels);
  rlo__backend_instance_release(registry->active);
  while (registry->backends != NULL) {
    rlo__backend_entry *entry = registry->backends;
    registry->backends = entry->next;
    rlo__backend_instance_release(entry->instance);
    rlo__free(entry);
  }
  while (registry->usages != NULL) {
    rlo__named_usage *usage = registry->usages;
    registry->usages = usage->next;
    rlo__free(usage);
  }
  while (registry->names != NULL) {
    rlo__name *name = registry->names;
    registry->names = name->next;
    rlo__free(name->text);
    rlo__free(name);
  }
  while (registry->name_lists != NULL) {
    rlo__name_list *list = registry->name_lists;
    registry->name_lists = list->next;
    rlo__free(list->names);
    rlo__free(list);
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

/* Finds a list of interned names; adds it, and takes it over, if it is new. */
static rlo_status intern_names(rlo__registry *registry,
                               const char **names,
                               int32_t count,
                               const char *const **out_names) {
  size_t bytes = (size_t)count * sizeof names[0];
  for (const rlo__name_list *l = registry->name_lists; l != NULL; l = l->next) {
    if (l->count == count && memcmp(l->names, names, bytes) == 0) {
      *out_names = l->names;
      rlo__free(names);
      return RLO_OK;
    }
  }
  rlo__name_list *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    rlo__free(names);
    return RLO_OUT_OF_MEMORY;
  }
  *made = (rlo__name_list){registry->name_lists, names, count};
  registry->name_lists = made;
  *out_names = names;
  return RLO_OK;
}

rlo_status rlo__registry_intern_list(rlo__registry *registry,
                                     const char *const *names,
                                     int32_t count,
                                     const char *const **out_names) {
  *out_names = NULL;
  if (count == 0) {
    return RLO_OK;
  }
  const char **interned = rlo__alloc_array((size_t)count, sizeof(char *));
  if (interned == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < count; ++i) {
    rlo_status status = rlo__registry_intern(registry, names[i], &interned[i]);
    if (status != RLO_OK) {
      rlo__free(interned);
      return status;
    }
  }
  return intern_names(registry, interned, count, out_names);
}

rlo__backend_entry *rlo__registry_find_backend(const rlo__registry *registry,
                                               const char *name) {
  rlo__backend_entry *entry = registry->backends;
  while (entry != NULL && strcmp(entry->name, name) != 0) {
    entry = entry->next;
  }
  return entry;
}

rlo__usage *rlo__registry_find_usage(const rlo__registry *registry,
                                     const char *name) {
  rlo__named_usage *usage = registry->usages;
  while (usage != NULL && strcmp(usage->name, name) != 0) {
    usage = usage->next;
  }
  return usage != NULL ? &usage->usage : NULL;
}

void rlo__registry_reset_peaks(rlo__registry *registry) {
  rlo__rwlock_lock_read(&registry->lock);
  rlo__usage_reset_peaks(&registry->usage);
  for (rlo__named_usage *u = registry->usages; u != NULL; u = u->next) {
    rlo__usage_reset_peaks(&u->usage);
  }
  rlo__rwlock_unlock(&registry->lock);
}

uint64_t rlo__registry_hash(const char *kernel_name) {
  /* FNV-1a: names are short, and every call hashes one. */
  uint32_t hash = 2166136261u;
  for (const char *c = kernel_name; *c != '\0'; ++c) {
    hash = (hash ^ (uint8_t)*c) * 16777619u;
  }
  return hash;
}

static bool is_slot_of(const rlo__kernel_slot *slot,
                       const char *kernel_name,
                       const char *backend_name) {
  return strcmp(slot->config.kernel_name, kernel_name) == 0 &&
         (slot->config.backend_name == backend_name ||
          strcmp(slot->config.backend_name, backend_name) == 0);
}

rlo__kernel_slot *rlo__registry_find_kernel(const rlo__registry *registry,
                                            const char *kernel_name,
                                            const char *backend_name) {
  rlo__kernel_slot *slot =
      rlo__table_first(&registry->kernels, rlo__registry_hash(kernel_name));
  while (slot != NULL && !is_slot_of(slot, kernel_name, backend_name)) {
    slot = rlo__table_next(&registry->kernels, slot);
  }
  return slot;
}

rlo_status rlo__registry_fail_no_backend(rlo__registry *registry,
                                         const char *name) {
  char text[256];
  rlo__str have = rlo__str_over(text, sizeof text);
  rlo__rwlock_lock_read(&registry->lock);
  for (const rlo__backend_entry *e = registry->backends; e != NULL;
       e = e->next) {
    rlo__str_printf(&have, "%s'%s'", have.length == 0 ? "" : ", ", e->name);
  }
  rlo__rwlock_unlock(&registry->lock);
  return RLO_FAIL(RLO_NOT_FOUND,
                  "there is no backend '%s'; %s%s",
                  name,
                  have.length == 0 ? "none is registered" : "there is ",
                  rlo__str_text(&have));
}

rlo_status rlo__registry_fail_no_kernel(rlo__registry *registry,
                                        const char *kernel_name,
                                        const char *backend_name) {
  char text[256];
  rlo__str have = rlo__str_over(text, sizeof text);
  rlo__rwlock_lock_read(&registry->lock);
  for (rlo__kernel_slot *s = rlo__table_first(&registry->kernels,
                                              rlo__registry_hash(kernel_name));
       s != NULL;
       s = rlo__table_next(&registry->kernels, s)) {
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

/* ------------------------------------------------------------ bound kernels */

rlo_status rlo__bound_kernel_create(rlo__registry *registry,
                                    const rlo_kernel_config *config,
                                    rlo__backend_instance *instance,
                                    rlo__bound_kernel **out_bound) {
  rlo__bound_kernel *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&made->num_references, 1);
  made->registry = registry;
  made->kind = config->run != NULL ? RLO__KERNEL_FUNCTION : RLO__KERNEL_COPY_OP;
  made->config = *config;
  if (config->setup != NULL) {
    rlo_status status = RLO__CALLBACK(
        config->setup(registry->engine, instance->self, config->payload),
        "the setup");
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
    /* Marked as a change, because a dispose must neither change the registry
     * nor, while the engine is destroyed, use it. */
    const rlo__registry *before = changing;
    changing = bound->registry;
    config->dispose(
        bound->registry->engine, bound->instance->self, config->payload);
    changing = before;
  }
  rlo__backend_instance_release(bound->instance);
  rlo__free(bound);
}
