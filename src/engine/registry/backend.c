/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/backend.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"

static rlo_status check_name(const char *name) {
  return name[0] != '\0' ? RLO_OK : RLO_FAIL(RLO_INVALID_ARGUMENT, "a backend without a name");
}

/* Registers a backend. During a change. */
static rlo_status add_backend(rlo__registry *registry, const char *name,
                              rlo__backend_slot backend) {
  RLO_FAIL_IF(rlo__registry_find_backend(registry, name) != NULL, RLO_ALREADY_EXISTS,
              "backend '%s' is registered already; remove it first", name);
  RLO_TRY(rlo__registry_intern(registry, &name));
  rlo__name *made = rlo__name_of(name);
  rlo__name **link = &registry->backends;
  while (*link != NULL && (*link)->backend.priority >= backend.priority) {
    link = &(*link)->backend.next;
  }
  rlo__rwlock_lock_write(&registry->lock);
  backend.next = *link;
  made->backend = backend;
  if (made->usage.whole == NULL) {
    made->usage.whole = &registry->usage;
  }
  *link = made;
  rlo__rwlock_unlock(&registry->lock);
  return RLO_OK;
}

rlo_status rlo_backend_register(rlo_engine *engine, const char *name, rlo_backend_factory factory,
                                void *payload, int32_t priority) {
  RLO_REQUIRE(engine, name, factory);
  RLO_TRY(check_name(name));
  RLO_TRY(rlo__registry_begin_change(engine->registry, "registering a backend"));
  rlo_status status = add_backend(
      engine->registry, name,
      (rlo__backend_slot){.factory = factory, .payload = payload, .priority = priority});
  rlo__registry_end_change(engine->registry);
  return status;
}

/* ---------------------------------------------------------------- instances */

/* Takes the bound kernels from a backend's slots. During a change. */
static void unbind_all(rlo__registry *registry, const char *name) {
  rlo__slot *slot = NULL;
  rlo__rwlock_lock_write(&registry->lock);
  while ((slot = rlo__registry_next_slot(registry, name, slot)) != NULL) {
    rlo__slot_bind(registry, slot, NULL);
  }
  rlo__rwlock_unlock(&registry->lock);
}

/* Creates the backend's instance, and sets every kernel of it up, all or none.
 * During a change: until the name has the instance, no reader looks for a
 * kernel. */
static rlo_status bring_up(rlo__registry *registry, rlo__name *name) {
  rlo__slot *slot = NULL;
  rlo__backend_instance *instance = NULL;
  rlo_status status = rlo__backend_instance_create(registry->engine, name->text, &name->usage,
                                                   name->backend.factory, name->backend.payload,
                                                   registry->next_instance_id++, &instance);
  while (status == RLO_OK && (slot = rlo__registry_next_slot(registry, name->text, slot)) != NULL) {
    status = rlo__bound_kernel_create(registry, &slot->config.kernel, instance, &slot->bound);
  }
  if (status != RLO_OK) {
    unbind_all(registry, name->text);
    rlo__backend_instance_release(instance);
    rlo__status_prefix(status, "backend '%s' fails: ", name->text);
    rlo__log(registry->log, RLO__LOG_WARNING, "%s", rlo_error_last()->message);
    return status;
  }
  rlo__rwlock_lock_write(&registry->lock);
  name->backend.instance = instance;
  rlo__rwlock_unlock(&registry->lock);
  rlo__log(registry->log, RLO__LOG_INFO, "backend '%s' is up", name->text);
  return RLO_OK;
}

/* The instance of a backend or, with a NULL, of the active one: without one, of
 * the highest priority that can be created. Created on first use; borrowed.
 * During a change. */
static rlo_status get_changing(rlo__registry *registry, const char *name,
                               rlo__backend_instance **out_instance) {
  rlo_status status = RLO_NOT_FOUND;
  int32_t failed = 0;
  rlo__name *found = name != NULL ? rlo__registry_find_backend(registry, name) : registry->backends;
  if (found == NULL) {
    return name != NULL ? rlo__registry_fail_no_backend(registry, name)
                        : RLO_FAIL(RLO_NOT_FOUND, "no backend is registered");
  }
  if (name == NULL && registry->active != NULL) {
    *out_instance = registry->active;
    return RLO_OK;
  }
  for (; found != NULL; found = name == NULL ? found->backend.next : NULL) {
    status = found->backend.instance == NULL ? bring_up(registry, found) : RLO_OK;
    if (status == RLO_OK) {
      *out_instance = found->backend.instance;
      return RLO_OK;
    }
    ++failed;
  }
  return failed == 1 ? status
                     : rlo__status_prefix(status, "all %d backends fail, at last: ", failed);
}

/* The same, retained, and made the active one if it was chosen or
 * `is_set`. */
static rlo_status change(rlo__registry *registry, const char *name, bool is_set,
                         rlo__backend_instance **out_instance) {
  RLO_TRY(rlo__registry_begin_change(registry, is_set         ? "setting the backend"
                                               : name != NULL ? "bringing a backend up"
                                                              : "choosing a backend"));
  rlo_status status = get_changing(registry, name, out_instance);
  if (status == RLO_OK) {
    rlo__backend_instance_retain(*out_instance);
  }
  if (status == RLO_OK && (is_set || name == NULL)) {
    rlo__rwlock_lock_write(&registry->lock);
    registry->active = *out_instance;
    rlo__rwlock_unlock(&registry->lock);
  }
  rlo__registry_end_change(registry);
  return status;
}

/* The instance of a backend, NULL for the active one, if it is up; retained. */
static rlo__backend_instance *find_instance(rlo__registry *registry, const char *name) {
  rlo__rwlock_lock_read(&registry->lock);
  rlo__backend_instance *found = registry->active;
  if (name != NULL) {
    const rlo__name *entry = rlo__registry_find_backend(registry, name);
    found = entry != NULL ? entry->backend.instance : NULL;
  }
  if (found != NULL) {
    rlo__backend_instance_retain(found);
  }
  rlo__rwlock_unlock(&registry->lock);
  return found;
}

rlo_status rlo__backend_get(rlo__registry *registry, const char *name,
                            rlo__backend_instance **out_instance) {
  *out_instance = find_instance(registry, name);
  return *out_instance != NULL ? RLO_OK : change(registry, name, false, out_instance);
}

rlo_status rlo_backend_set(rlo_engine *engine, const char *name) {
  RLO_REQUIRE(engine, name);
  rlo__backend_instance *instance = NULL;
  RLO_TRY(check_name(name));
  RLO_TRY(change(engine->registry, name, true, &instance));
  rlo__backend_instance_release(instance);
  return RLO_OK;
}

rlo_status rlo_backend_active(rlo_engine *engine, const char **out_name) {
  RLO_REQUIRE(engine, out_name);
  rlo__backend_instance *active = NULL;
  RLO_TRY(rlo__backend_get(engine->registry, NULL, &active));
  *out_name = active->name;
  rlo__backend_instance_release(active);
  return RLO_OK;
}

rlo_status rlo_backend_list(rlo_engine *engine, const char **out_names, int32_t capacity,
                            int32_t *out_count) {
  RLO_REQUIRE(engine, out_count);
  RLO_REQUIRE_LIST(out_names, capacity);
  int32_t count = 0;
  rlo__rwlock_lock_read(&engine->registry->lock);
  for (const rlo__name *n = engine->registry->backends; n != NULL; n = n->backend.next) {
    if (count < capacity) {
      out_names[count] = n->text;
    }
    ++count;
  }
  rlo__rwlock_unlock(&engine->registry->lock);
  *out_count = count;
  return RLO_OK;
}

rlo_status rlo__backend_remove(rlo__registry *registry, const char *name,
                               rlo__backend_instance **out_instance) {
  RLO_TRY(rlo__registry_begin_change(registry, "removing a backend"));
  rlo__name *found = rlo__registry_find_backend(registry, name);
  if (found != NULL) {
    rlo__name **link = &registry->backends;
    while (*link != found) {
      link = &(*link)->backend.next;
    }
    rlo__rwlock_lock_write(&registry->lock);
    *link = found->backend.next;
    *out_instance = found->backend.instance;
    found->backend = (rlo__backend_slot){.factory = NULL};
    if (registry->active == *out_instance) {
      registry->active = NULL;
    }
    rlo__rwlock_unlock(&registry->lock);
    unbind_all(registry, name);
  }
  rlo__registry_end_change(registry);
  return found != NULL ? RLO_OK : rlo__registry_fail_no_backend(registry, name);
}
