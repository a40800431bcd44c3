/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/registry/registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"

/* The registry that this thread changes, or whose dispose it runs. */
static _Thread_local const rlo__registry *changing;

rlo_status rlo__registry_begin_change(rlo__registry *registry, const char *action) {
  RLO_FAIL_IF(changing == registry, RLO_INVALID_ARGUMENT,
              "%s from within a setup, a dispose or a factory", action);
  rlo__mutex_lock(&registry->changes);
  registry->changing_before = changing;
  changing = registry;
  return RLO_OK;
}

void rlo__registry_end_change(rlo__registry *registry) {
  rlo__bound_kernel *removed = registry->removed;
  registry->removed = NULL;
  changing = registry->changing_before;
  rlo__mutex_unlock(&registry->changes);
  while (removed != NULL) {
    rlo__bound_kernel *next = removed->next_removed;
    rlo__bound_kernel_release(removed);
    removed = next;
  }
}

const rlo__registry *rlo__registry_changing(void) {
  return changing;
}

rlo_status rlo__registry_init(rlo__registry *registry, rlo_engine *engine,
                              const rlo__log_sink *log) {
  *registry = (rlo__registry){.engine = engine, .log = log, .next_instance_id = 1};
  rlo__table_init(&registry->names, offsetof(rlo__name, node));
  RLO_TRY(rlo__mutex_init(&registry->changes));
  return rlo__rwlock_init(&registry->lock);
}

void rlo__registry_deinit(rlo__registry *registry) {
  rlo__table *names = &registry->names;
  /* Kernels before backends, and everything before the texts. */
  for (rlo__name *n = rlo__table_newest(names); n != NULL; n = rlo__table_older(names, n)) {
    while (n->slots != NULL) {
      rlo__slot *slot = n->slots;
      n->slots = slot->next;
      rlo__bound_kernel_release(slot->bound);
      rlo__free(slot);
    }
  }
  for (rlo__name *n = registry->backends; n != NULL; n = n->backend.next) {
    rlo__backend_instance_release(n->backend.instance);
  }
  rlo__name *name = NULL;
  while ((name = rlo__table_remove_oldest(names)) != NULL) {
    rlo__free(name);
  }
  rlo__table_deinit(names);
  rlo__rwlock_deinit(&registry->lock);
  rlo__mutex_deinit(&registry->changes);
}

/* -------------------------------------------------------------------- names */

/* FNV-1a: names are short, and every call hashes one. */
static uint64_t hash_name(const char *text, size_t bytes) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ (uint8_t)text[i]) * 16777619u;
  }
  return hash;
}

/* A text that is looked for. */
typedef struct wanted_text {
  const void *text;
  size_t bytes;
} wanted_text;

static bool is_name(const void *entry, const void *key) {
  const rlo__name *name = entry;
  const wanted_text *wanted = key;
  return name->bytes == wanted->bytes && memcmp(name->text, wanted->text, wanted->bytes) == 0;
}

rlo__name *rlo__registry_find(const rlo__registry *registry, const char *name) {
  const wanted_text wanted = {name, strlen(name)};
  return rlo__table_find(&registry->names, hash_name(name, wanted.bytes), is_name, &wanted);
}

static rlo_status intern(rlo__registry *registry, const wanted_text *wanted,
                         const char **out_text) {
  uint64_t hash = hash_name(wanted->text, wanted->bytes);
  rlo__name *name = rlo__table_find(&registry->names, hash, is_name, wanted);
  if (name == NULL) {
    name = rlo__alloc(sizeof *name + wanted->bytes + 1);
    RLO_TRY_MEMORY(name);
    name->bytes = wanted->bytes;
    memcpy(name->text, wanted->text, wanted->bytes);
    rlo__rwlock_lock_write(&registry->lock);
    rlo__table_insert(&registry->names, name, hash);
    rlo__rwlock_unlock(&registry->lock);
  }
  *out_text = name->text;
  return RLO_OK;
}

rlo_status rlo__registry_intern(rlo__registry *registry, const char **inout_name) {
  const wanted_text wanted = {*inout_name, strlen(*inout_name)};
  return intern(registry, &wanted, inout_name);
}

rlo_status rlo__registry_intern_list(rlo__registry *registry, const char *const **inout_names,
                                     int32_t count) {
  const char *const *given = *inout_names;
  const char *text = NULL;
  *inout_names = NULL;
  if (count <= 0) {
    return RLO_OK;
  }
  const char **names = rlo__alloc_array((size_t)count, sizeof(char *));
  RLO_TRY_MEMORY(names);
  rlo_status status = RLO_OK;
  for (int32_t i = 0; i < count; ++i) {
    names[i] = given[i];
    RLO_TRY_GOTO(rlo__registry_intern(registry, &names[i]));
  }
  const wanted_text wanted = {names, (size_t)count * sizeof(char *)};
  RLO_TRY_GOTO(intern(registry, &wanted, &text));
  *inout_names = (const char *const *)(const void *)text;
fail:
  rlo__free(names);
  return status;
}

rlo__name *rlo__registry_find_backend(const rlo__registry *registry, const char *name) {
  rlo__name *found = rlo__registry_find(registry, name);
  return found != NULL && found->backend.factory != NULL ? found : NULL;
}

void rlo__registry_reset_peaks(rlo__registry *registry) {
  rlo__rwlock_lock_read(&registry->lock);
  rlo__usage_reset_peaks(&registry->usage);
  for (rlo__name *n = rlo__table_newest(&registry->names); n != NULL;
       n = rlo__table_older(&registry->names, n)) {
    rlo__usage_reset_peaks(&n->usage);
  }
  rlo__rwlock_unlock(&registry->lock);
}

/* ------------------------------------------------------------------ configs */

rlo__slot *rlo__slot_find(const rlo__name *name, const char *backend_name) {
  rlo__slot *slot = name != NULL ? name->slots : NULL;
  while (slot != NULL && slot->backend_name != backend_name &&
         (slot->backend_name == NULL || backend_name == NULL ||
          strcmp(slot->backend_name, backend_name) != 0)) {
    slot = slot->next;
  }
  return slot;
}

rlo__slot *rlo__registry_next_slot(const rlo__registry *registry, const char *backend_name,
                                   const rlo__slot *slot) {
  const rlo__table *names = &registry->names;
  rlo__name *name = slot == NULL ? rlo__table_newest(names) : rlo__table_older(names, slot->name);
  rlo__slot *next = NULL;
  while (name != NULL && (next = rlo__slot_find(name, backend_name)) == NULL) {
    name = rlo__table_older(names, name);
  }
  return next;
}

rlo_status rlo__registry_fail_no_backend(rlo__registry *registry, const char *name) {
  char text[256];
  rlo__str have = rlo__str_over(text, sizeof text);
  rlo__rwlock_lock_read(&registry->lock);
  for (const rlo__name *n = registry->backends; n != NULL; n = n->backend.next) {
    rlo__str_printf(&have, "%s'%s'", have.length == 0 ? "" : ", ", n->text);
  }
  rlo__rwlock_unlock(&registry->lock);
  return RLO_FAIL(RLO_NOT_FOUND, "there is no backend '%s'; %s%s", name,
                  have.length == 0 ? "none is registered" : "there is ", rlo__str_text(&have));
}

rlo_status rlo__registry_fail_missing(rlo__registry *registry, const char *kernel_name,
                                      const char *backend_name) {
  RLO_FAIL_IF(backend_name == NULL, RLO_NOT_FOUND, "no gradient is registered for kernel '%s'",
              kernel_name);
  char text[256];
  rlo__str have = rlo__str_over(text, sizeof text);
  rlo__rwlock_lock_read(&registry->lock);
  const rlo__name *name = rlo__registry_find(registry, kernel_name);
  for (const rlo__slot *s = name != NULL ? name->slots : NULL; s != NULL; s = s->next) {
    if (s->backend_name != NULL) {
      rlo__str_printf(&have, "%s'%s'", have.length == 0 ? "" : ", ", s->backend_name);
    }
  }
  rlo__rwlock_unlock(&registry->lock);
  return RLO_FAIL(RLO_NOT_FOUND, "kernel '%s' is not registered for backend '%s'; %s%s",
                  kernel_name, backend_name, have.length == 0 ? "no backend has it" : "it is for ",
                  rlo__str_text(&have));
}

bool rlo__registry_get(rlo__registry *registry, const char *kernel_name, const char *backend_name,
                       rlo__config *out_config) {
  rlo__rwlock_lock_read(&registry->lock);
  const rlo__slot *slot = rlo__slot_find(rlo__registry_find(registry, kernel_name), backend_name);
  if (slot != NULL) {
    *out_config = slot->config;
  }
  rlo__rwlock_unlock(&registry->lock);
  return slot != NULL;
}

/* ------------------------------------------------------------ bound kernels */

rlo_status rlo__bound_kernel_create(rlo__registry *registry, const rlo_kernel_config *config,
                                    rlo__backend_instance *instance,
                                    rlo__bound_kernel **out_bound) {
  rlo__bound_kernel *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  *made = (rlo__bound_kernel){.num_references = 1, .registry = registry, .config = *config};
  if (config->setup != NULL) {
    rlo_status status = RLO__CALLBACK(
        config->setup(registry->engine, instance->self, config->payload), "the setup");
    if (status != RLO_OK) {
      rlo__free(made);
      return rlo__status_prefix(status,
                                "setting up kernel '%s' for backend '%s': ", config->kernel_name,
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
      atomic_fetch_sub_explicit(&bound->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  const rlo_kernel_config *config = &bound->config;
  if (config->dispose != NULL) {
    /* Marked as a change, because a dispose must neither change the registry
     * nor, while the engine is destroyed, use it. */
    const rlo__registry *before = changing;
    changing = bound->registry;
    config->dispose(bound->registry->engine, bound->instance->self, config->payload);
    changing = before;
  }
  rlo__backend_instance_release(bound->instance);
  rlo__free(bound);
}

void rlo__slot_bind(rlo__registry *registry, rlo__slot *slot, rlo__bound_kernel *bound) {
  if (slot->bound != NULL) {
    slot->bound->next_removed = registry->removed;
    registry->removed = slot->bound;
  }
  slot->bound = bound;
}
