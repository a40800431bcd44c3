/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/backend.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"

static rlo_status check_name(const char *name) {
  return name[0] != '\0'
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "a backend without a name");
}

/* Finds or adds what is held under a name. During a change. */
static rlo_status get_usage(rlo__registry *registry,
                            const char *name,
                            rlo__usage **out_usage) {
  *out_usage = rlo__registry_find_usage(registry, name);
  if (*out_usage != NULL) {
    return RLO_OK;
  }
  rlo__named_usage *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->name = name;
  rlo__usage_init(&made->usage, &registry->usage);
  rlo__rwlock_lock_write(&registry->lock);
  made->next = registry->usages;
  registry->usages = made;
  rlo__rwlock_unlock(&registry->lock);
  *out_usage = &made->usage;
  return RLO_OK;
}

static rlo_status register_changing(rlo__registry *registry,
                                    const char *name,
                                    rlo_backend_factory factory,
                                    void *payload,
                                    int32_t priority) {
  if (rlo__registry_find_backend(registry, name) != NULL) {
    return RLO_FAIL(RLO_ALREADY_EXISTS,
                    "backend '%s' is registered already; remove it first",
                    name);
  }
  rlo__backend_entry *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = rlo__registry_intern(registry, name, &made->name);
  if (status == RLO_OK) {
    status = get_usage(registry, made->name, &made->usage);
  }
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  made->factory = factory;
  made->payload = payload;
  made->priority = priority;
  rlo__rwlock_lock_write(&registry->lock);
  rlo__backend_entry **link = &registry->backends;
  while (*link != NULL && (*link)->priority >= priority) {
    link = &(*link)->next;
  }
  made->next = *link;
  *link = made;
  rlo__rwlock_unlock(&registry->lock);
  return RLO_OK;
}

rlo_status rlo_backend_register(rlo_engine *engine,
                                const char *name,
                                rlo_backend_factory factory,
                                void *payload,
                                int32_t priority) {
  RLO_REQUIRE(engine, name, factory);
  RLO_TRY(check_name(name));
  rlo__registry *registry = engine->registry;
  RLO_TRY(rlo__registry_begin_change(registry, "registering a backend"));
  rlo_status status =
      register_changing(registry, name, factory, payload, priority);
  rlo__registry_end_change(registry);
  return status;
}

/* ---------------------------------------------------------------- instances */

/* The number of kernels of a backend. During a change. */
static size_t count_kernels(const rlo__registry *registry, const char *name) {
  size_t count = 0;
  for (rlo__kernel_slot *s = rlo__table_newest(&registry->kernels); s != NULL;
       s = rlo__table_older(&registry->kernels, s)) {
    count += s->config.backend_name == name;
  }
  return count;
}

/* Replaces the bound kernels of a backend's slots by `bound`, in the order of
 * the slots, or by NULL. The old ones go to `out_old` unless that is NULL.
 * Under `lock` for writing. */
static void swap_bound(rlo__registry *registry,
                       const char *name,
                       rlo__bound_kernel *const *bound,
                       rlo__bound_kernel **out_old) {
  size_t n = 0;
  for (rlo__kernel_slot *s = rlo__table_newest(&registry->kernels); s != NULL;
       s = rlo__table_older(&registry->kernels, s)) {
    if (s->config.backend_name == name) {
      if (out_old != NULL) {
        out_old[n] = s->bound;
      }
      s->bound = bound != NULL ? bound[n] : NULL;
      ++n;
    }
  }
}

static void release_bound(rlo__bound_kernel **bound, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    rlo__bound_kernel_release(bound[k]);
  }
  rlo__free(bound);
}

/* Sets every kernel of a backend up for its new instance, all or none. During a
 * change. */
static rlo_status bind_all(rlo__registry *registry,
                           rlo__backend_entry *entry,
                           rlo__backend_instance *instance) {
  rlo__bound_kernel **made = rlo__alloc_array(
      count_kernels(registry, entry->name) + 1, sizeof(rlo__bound_kernel *));
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OK;
  size_t n = 0;
  for (rlo__kernel_slot *s = rlo__table_newest(&registry->kernels); s != NULL;
       s = rlo__table_older(&registry->kernels, s)) {
    if (s->config.backend_name == entry->name) {
      RLO_TRY_GOTO(
          rlo__bound_kernel_create(registry, &s->config, instance, &made[n]));
      ++n;
    }
  }
  rlo__rwlock_lock_write(&registry->lock);
  entry->instance = instance;
  swap_bound(registry, entry->name, made, NULL);
  rlo__rwlock_unlock(&registry->lock);
  rlo__free(made);
  return RLO_OK;
fail:
  release_bound(made, n);
  return status;
}

/* The backend's instance, created on first use; borrowed. During a change. */
static rlo_status get_changing(rlo__registry *registry,
                               rlo__backend_entry *entry,
                               rlo__backend_instance **out_instance) {
  if (entry->instance == NULL) {
    rlo__backend_instance *instance = NULL;
    rlo_status status =
        rlo__backend_instance_create(registry->engine,
                                     entry->name,
                                     entry->usage,
                                     entry->factory,
                                     entry->payload,
                                     registry->next_instance_id++,
                                     &instance);
    if (status == RLO_OK) {
      status = bind_all(registry, entry, instance);
      if (status != RLO_OK) {
        rlo__backend_instance_release(instance);
      }
    }
    if (status != RLO_OK) {
      status = rlo__status_prefix(status, "backend '%s' fails: ", entry->name);
      rlo__log(
          registry->log, RLO__LOG_WARNING, "%s", rlo_error_last()->message);
      return status;
    }
    rlo__log(registry->log, RLO__LOG_INFO, "backend '%s' is up", entry->name);
  }
  *out_instance = entry->instance;
  return RLO_OK;
}

static void make_active(rlo__registry *registry,
                        rlo__backend_instance *instance) {
  rlo__rwlock_lock_write(&registry->lock);
  rlo__backend_instance *before = registry->active;
  registry->active = rlo__backend_instance_retain(instance);
  rlo__rwlock_unlock(&registry->lock);
  rlo__backend_instance_release(before);
}

/* Activates the backend of the highest priority that can be created. During a
 * change. */
static rlo_status choose_changing(rlo__registry *registry) {
  rlo_status status = RLO_OK;
  int32_t failed = 0;
  for (rlo__backend_entry *e = registry->backends; e != NULL; e = e->next) {
    rlo__backend_instance *instance = NULL;
    status = get_changing(registry, e, &instance);
    if (status == RLO_OK) {
      make_active(registry, instance);
      return RLO_OK;
    }
    ++failed;
  }
  if (failed == 0) {
    return RLO_FAIL(RLO_NOT_FOUND, "no backend is registered");
  }
  return failed == 1 ? status
                     : rlo__status_prefix(
                           status, "all %d backends fail, at last: ", failed);
}

static rlo__backend_instance *get_active(rlo__registry *registry) {
  rlo__rwlock_lock_read(&registry->lock);
  rlo__backend_instance *active = registry->active;
  if (active != NULL) {
    rlo__backend_instance_retain(active);
  }
  rlo__rwlock_unlock(&registry->lock);
  return active;
}

rlo_status rlo__backend_get_active(rlo__registry *registry,
                                   rlo__backend_instance **out_instance) {
  rlo__backend_instance *active = get_active(registry);
  if (active == NULL) {
    RLO_TRY(rlo__registry_begin_change(registry, "choosing a backend"));
    /* Another thread may have chosen one meanwhile. */
    rlo_status status =
        registry->active != NULL ? RLO_OK : choose_changing(registry);
    if (status == RLO_OK) {
      active = rlo__backend_instance_retain(registry->active);
    }
    rlo__registry_end_change(registry);
    RLO_TRY(status);
  }
  *out_instance = active;
  return RLO_OK;
}

static rlo__backend_instance *get_instance(rlo__registry *registry,
                                           const char *name) {
  rlo__backend_instance *found = NULL;
  rlo__rwlock_lock_read(&registry->lock);
  const rlo__backend_entry *entry = rlo__registry_find_backend(registry, name);
  if (entry != NULL && entry->instance != NULL) {
    found = rlo__backend_instance_retain(entry->instance);
  }
  rlo__rwlock_unlock(&registry->lock);
  return found;
}

rlo_status rlo__backend_get(rlo__registry *registry,
                            const char *name,
                            rlo__backend_instance **out_instance) {
  rlo__backend_instance *instance = get_instance(registry, name);
  if (instance == NULL) {
    RLO_TRY(rlo__registry_begin_change(registry, "bringing a backend up"));
    rlo__backend_entry *entry = rlo__registry_find_backend(registry, name);
    rlo_status status = entry != NULL
                            ? get_changing(registry, entry, &instance)
                            : rlo__registry_fail_no_backend(registry, name);
    if (status == RLO_OK) {
      rlo__backend_instance_retain(instance);
    }
    rlo__registry_end_change(registry);
    RLO_TRY(status);
  }
  *out_instance = instance;
  return RLO_OK;
}

rlo_status rlo_backend_set(rlo_engine *engine, const char *name) {
  RLO_REQUIRE(engine, name);
  RLO_TRY(check_name(name));
  rlo__registry *registry = engine->registry;
  RLO_TRY(rlo__registry_begin_change(registry, "setting the backend"));
  rlo__backend_instance *instance = NULL;
  rlo__backend_entry *entry = rlo__registry_find_backend(registry, name);
  rlo_status status = entry != NULL
                          ? get_changing(registry, entry, &instance)
                          : rlo__registry_fail_no_backend(registry, name);
  if (status == RLO_OK) {
    make_active(registry, instance);
  }
  rlo__registry_end_change(registry);
  return status;
}

rlo_status rlo_backend_active(rlo_engine *engine, const char **out_name) {
  RLO_REQUIRE(engine, out_name);
  rlo__backend_instance *active = NULL;
  RLO_TRY(rlo__backend_get_active(engine->registry, &active));
  *out_name = active->name;
  rlo__backend_instance_release(active);
  return RLO_OK;
}

rlo_status rlo_backend_list(rlo_engine *engine,
                            const char **out_names,
                            int32_t capacity,
                            int32_t *out_count) {
  RLO_REQUIRE(engine, out_count);
  RLO_REQUIRE_LIST(out_names, capacity);
  int32_t count = 0;
  rlo__rwlock_lock_read(&engine->registry->lock);
  for (const rlo__backend_entry *e = engine->registry->backends; e != NULL;
       e = e->next) {
    if (count < capacity) {
      out_names[count] = e->name;
    }
    ++count;
  }
  rlo__rwlock_unlock(&engine->registry->lock);
  *out_count = count;
  return RLO_OK;
}

/* Unlinks a backend. During a change. */
static rlo_status remove_changing(rlo__registry *registry,
                                  const char *name,
                                  rlo__backend_entry **out_entry,
                                  rlo__backend_instance **out_active,
                                  rlo__bound_kernel ***out_bound,
                                  size_t *out_count) {
  rlo__backend_entry *entry = rlo__registry_find_backend(registry, name);
  if (entry == NULL) {
    return rlo__registry_fail_no_backend(registry, name);
  }
  *out_count = count_kernels(registry, entry->name);
  *out_bound = rlo__alloc_array(*out_count + 1, sizeof(rlo__bound_kernel *));
  if (*out_bound == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__rwlock_lock_write(&registry->lock);
  rlo__backend_entry **link = &registry->backends;
  while (*link != entry) {
    link = &(*link)->next;
  }
  *link = entry->next;
  if (registry->active != NULL && registry->active == entry->instance) {
    *out_active = registry->active;
    registry->active = NULL;
  }
  swap_bound(registry, entry->name, NULL, *out_bound);
  rlo__rwlock_unlock(&registry->lock);
  *out_entry = entry;
  return RLO_OK;
}

rlo_status rlo__backend_remove(rlo__registry *registry,
                               const char *name,
                               rlo__backend_instance **out_instance) {
  rlo__backend_entry *entry = NULL;
  rlo__backend_instance *active = NULL;
  rlo__bound_kernel **bound = NULL;
  size_t count = 0;
  RLO_TRY(rlo__registry_begin_change(registry, "removing a backend"));
  rlo_status status =
      remove_changing(registry, name, &entry, &active, &bound, &count);
  rlo__registry_end_change(registry);
  if (entry == NULL) {
    return status;
  }
  release_bound(bound, count);
  rlo__backend_instance_release(active);
  *out_instance = entry->instance;
  rlo__free(entry);
  return RLO_OK;
}
