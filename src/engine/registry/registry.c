/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/registry/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
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
  rlo__table_init(&registry->names, offsetof(rlo__name, node));
  rlo__usage_init(&registry->usage, NULL);
  return RLO_OK;
}

/* Releases what is registered under a name. */
static void deinit_name(rlo__name *name) {
  while (name->kernels != NULL) {
    rlo__kernel_slot *slot = name->kernels;
    name->kernels = slot->next;
    rlo__bound_kernel_release(slot->bound);
    rlo__free(slot);
  }
  while (name->lists != NULL) {
    rlo__name_list *list = name->lists;
    name->lists = list->next;
    rlo__free(list);
  }
}

void rlo__registry_deinit(rlo__registry *registry) {
  rlo__table *names = &registry->names;
  /* Kernels before backends, and everything before the texts. */
  for (rlo__name *n = rlo__table_newest(names); n != NULL;
       n = rlo__table_older(names, n)) {
    deinit_name(n);
  }
  rlo__backend_instance_release(registry->active);
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

static uint64_t hash_name(const char *name) {
  /* FNV-1a: names are short, and every call hashes one. */
  uint32_t hash = 2166136261u;
  for (const char *c = name; *c != '\0'; ++c) {
    hash = (hash ^ (uint8_t)*c) * 16777619u;
  }
  return hash;
}

static bool is_name(const void *entry, const void *text) {
  const rlo__name *name = entry;
  return strcmp(name->text, text) == 0;
}

rlo__name *rlo__registry_find(const rlo__registry *registry, const char *name) {
  return rlo__table_find(&registry->names, hash_name(name), is_name, name);
}

rlo_status rlo__registry_intern(rlo__registry *registry,
                                const char *name,
                                rlo__name **out_name) {
  *out_name = rlo__registry_find(registry, name);
  if (*out_name != NULL) {
    return RLO_OK;
  }
  size_t bytes = strlen(name) + 1;
  rlo__name *made = rlo__alloc(sizeof *made + bytes);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(made->text, name, bytes);
  rlo__usage_init(&made->usage, &registry->usage);
  rlo__rwlock_lock_write(&registry->lock);
  rlo__table_insert(&registry->names, made, hash_name(name));
  rlo__rwlock_unlock(&registry->lock);
  *out_name = made;
  return RLO_OK;
}

rlo_status rlo__registry_intern_list(rlo__registry *registry,
                                     const char *const *names,
                                     int32_t count,
                                     const char *const **out_names) {
  *out_names = NULL;
  if (count <= 0) {
    return RLO_OK;
  }
  size_t bytes = (size_t)count * sizeof(char *);
  rlo__name *name = NULL;
  rlo__name_list *made = rlo__alloc(sizeof *made + bytes);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OK;
  made->count = count;
  for (int32_t i = count - 1; i >= 0; --i) {
    RLO_TRY_GOTO(rlo__registry_intern(registry, names[i], &name));
    made->names[i] = name->text;
  }
  rlo__name_list *list = name->lists;
  while (list != NULL && (list->count != count ||
                          memcmp(list->names, made->names, bytes) != 0)) {
    list = list->next;
  }
  if (list == NULL) {
    list = made;
    made->next = name->lists;
    name->lists = made;
    made = NULL;
  }
  *out_names = list->names;
fail:
  rlo__free(made);
  return status;
}

rlo__name *rlo__registry_find_backend(const rlo__registry *registry,
                                      const char *name) {
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

rlo__kernel_slot *rlo__name_find_kernel(const rlo__name *name,
                                        const char *backend_name) {
  rlo__kernel_slot *slot = name != NULL ? name->kernels : NULL;
  while (slot != NULL && slot->config.backend_name != backend_name &&
         strcmp(slot->config.backend_name, backend_name) != 0) {
    slot = slot->next;
  }
  return slot;
}

rlo__kernel_slot *rlo__registry_find_kernel(const rlo__registry *registry,
                                            const char *kernel_name,
                                            const char *backend_name) {
  return rlo__name_find_kernel(rlo__registry_find(registry, kernel_name),
                               backend_name);
}

rlo__kernel_slot *rlo__registry_next_kernel(const rlo__registry *registry,
                                            const char *backend_name,
                                            const rlo__kernel_slot *slot) {
  const rlo__table *names = &registry->names;
  rlo__name *name = slot == NULL ? rlo__table_newest(names)
                                 : rlo__table_older(names, slot->name);
  rlo__kernel_slot *next = NULL;
  while (name != NULL &&
         (next = rlo__name_find_kernel(name, backend_name)) == NULL) {
    name = rlo__table_older(names, name);
  }
  return next;
}

bool rlo__registry_get(rlo__registry *registry,
                       rlo__registered_fn get,
                       const char *kernel_name,
                       const char *backend_name,
                       void *out_config) {
  rlo__rwlock_lock_read(&registry->lock);
  const rlo__name *name = rlo__registry_find(registry, kernel_name);
  bool is_found = name != NULL && get(name, backend_name, out_config);
  rlo__rwlock_unlock(&registry->lock);
  return is_found;
}

/* The beginning of a config. */
typedef struct config_head {
  size_t struct_size;
  const char *kernel_name;
} config_head;

static int compare_names(const void *a, const void *b) {
  const config_head *left = a;
  const config_head *right = b;
  return strcmp(left->kernel_name, right->kernel_name);
}

rlo_status rlo__registry_list(rlo__registry *registry,
                              rlo__registered_fn get,
                              const char *backend_name,
                              const char *type,
                              size_t bytes,
                              void *out_configs,
                              size_t config_bytes,
                              int32_t capacity,
                              int32_t *out_count) {
  RLO_TRY(rlo__report_list_check(
      type, capacity, config_bytes, sizeof(size_t), bytes));
  size_t count = 0;
  rlo__rwlock_lock_read(&registry->lock);
  char *configs = rlo__alloc_array(registry->names.count + 1, bytes);
  for (rlo__name *n = rlo__table_newest(&registry->names);
       n != NULL && configs != NULL;
       n = rlo__table_older(&registry->names, n)) {
    if (get(n, backend_name, configs + count * bytes)) {
      memcpy(configs + count++ * bytes, &config_bytes, sizeof config_bytes);
    }
  }
  rlo__rwlock_unlock(&registry->lock);
  if (configs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  qsort(configs, count, bytes, compare_names);
  *out_count = (int32_t)count;
  rlo__report_list_write(
      configs, *out_count, bytes, out_configs, config_bytes, capacity);
  rlo__free(configs);
  return RLO_OK;
}

rlo_status rlo__registry_fail_no_backend(rlo__registry *registry,
                                         const char *name) {
  char text[256];
  rlo__str have = rlo__str_over(text, sizeof text);
  rlo__rwlock_lock_read(&registry->lock);
  for (const rlo__name *n = registry->backends; n != NULL;
       n = n->backend.next) {
    rlo__str_printf(&have, "%s'%s'", have.length == 0 ? "" : ", ", n->text);
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
  const rlo__name *name = rlo__registry_find(registry, kernel_name);
  for (const rlo__kernel_slot *s = name != NULL ? name->kernels : NULL;
       s != NULL;
       s = s->next) {
    rlo__str_printf(
        &have, "%s'%s'", have.length == 0 ? "" : ", ", s->config.backend_name);
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

void rlo__kernel_slot_bind(rlo__registry *registry,
                           rlo__kernel_slot *slot,
                           rlo__bound_kernel *bound) {
  if (slot->bound != NULL) {
    slot->bound->next_removed = registry->removed;
    registry->removed = slot->bound;
  }
  slot->bound = bound;
}
