/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "engine/memory/backend_instance.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"

static rlo_status check_flags(uint32_t flags, const char *what) {
  return (flags & ~(uint32_t)RLO_KERNEL_REPLACE) == 0
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "%s: no known flags (%#x)", what, flags);
}

static rlo_status check_kernel(const rlo__config *given, uint32_t flags) {
  const rlo_kernel_config *config = &given->kernel;
  RLO_FAIL_IF(config->kernel_name == NULL || config->kernel_name[0] == '\0' ||
                  config->backend_name == NULL || config->backend_name[0] == '\0',
              RLO_INVALID_ARGUMENT, "a kernel without a name, or without a backend's");
  RLO_FAIL_IF(config->infer == NULL || (config->run == NULL && config->built_in == NULL),
              RLO_INVALID_ARGUMENT, "kernel '%s' has no %s", config->kernel_name,
              config->infer == NULL ? "infer" : "run");
  RLO_FAIL_IF(config->min_inputs < 0 ||
                  (config->max_inputs >= 0 && config->max_inputs < config->min_inputs) ||
                  config->num_attributes < 0,
              RLO_INVALID_ARGUMENT, "kernel '%s' takes %d to %d inputs and %d attributes",
              config->kernel_name, config->min_inputs, config->max_inputs, config->num_attributes);
  RLO_TRY(rlo__input_names_check(config));
  return check_flags(flags, "registering a kernel");
}

static rlo_status check_gradient(const rlo__config *given, uint32_t flags) {
  const rlo_gradient_config *config = &given->gradient;
  RLO_FAIL_IF(config->kernel_name == NULL || config->kernel_name[0] == '\0', RLO_INVALID_ARGUMENT,
              "the gradient names no kernel");
  RLO_FAIL_IF(config->run == NULL || (flags & ~(uint32_t)RLO_GRADIENT_REPLACE) != 0,
              RLO_INVALID_ARGUMENT, "the gradient of kernel '%s' has %s", config->kernel_name,
              config->run == NULL ? "no function to run" : "flags that are none");
  RLO_FAIL_IF(
      config->num_saved_names < 0 || (config->num_saved_names > 0 && config->saved_names == NULL),
      RLO_INVALID_ARGUMENT, "the gradient of kernel '%s' saves %d names without a list of them",
      config->kernel_name, config->num_saved_names);
  for (int32_t i = 0; i < config->num_saved_names; ++i) {
    RLO_FAIL_IF(config->saved_names[i] == NULL, RLO_INVALID_ARGUMENT,
                "the gradient of kernel '%s': name %d of those it saves is NULL",
                config->kernel_name, i);
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ configs */

static const rlo_kernel_config kernel_init = RLO_KERNEL_CONFIG_INIT;
static const rlo_gradient_config gradient_init = RLO_GRADIENT_CONFIG_INIT;

/* The kinds that are registered: kernels, for a backend, or gradients. */
typedef struct kind {
  /** Names in messages. */
  const char *name, *old_name, *type, *registering, *unregistering, *init_name;
  const void *init;
  size_t bytes;
  rlo_status (*check)(const rlo__config *config, uint32_t flags);
} kind;

static const kind kernels = {
    "kernel config",        "old kernel config",      "rlo_kernel_config",
    "registering a kernel", "unregistering a kernel", "RLO_KERNEL_CONFIG_INIT",
    &kernel_init,           sizeof kernel_init,       check_kernel};

static const kind gradients = {
    "gradient config",        "old gradient config",      "rlo_gradient_config",
    "registering a gradient", "unregistering a gradient", "RLO_GRADIENT_CONFIG_INIT",
    &gradient_init,           sizeof gradient_init,       check_gradient};

/* Replaces the names in a config by the registry's. During a change. */
static rlo_status intern(rlo__registry *registry, const kind *of, rlo__config *config) {
  rlo_kernel_config *kernel = &config->kernel;
  RLO_TRY(rlo__registry_intern(registry, &config->head.kernel_name));
  if (of == &gradients) {
    return rlo__registry_intern_list(registry, &config->gradient.saved_names,
                                     config->gradient.num_saved_names);
  }
  RLO_TRY(rlo__registry_intern(registry, &kernel->backend_name));
  RLO_TRY(rlo__registry_intern_list(registry, &kernel->input_names, kernel->num_input_names));
  return rlo__registry_intern_list(registry, &kernel->output_names, kernel->num_output_names);
}

/* Registers a config that was checked. During a change. What it replaces is
 * written to `out_old`. */
static rlo_status add(rlo__registry *registry, const kind *of, const rlo__config *config,
                      uint32_t flags, rlo__config *out_old) {
  rlo__config copy = *config;
  rlo__bound_kernel *bound = NULL;
  RLO_TRY(intern(registry, of, &copy));
  const char *backend_name = of == &kernels ? copy.kernel.backend_name : NULL;
  const rlo__name *backend = backend_name != NULL ? rlo__name_of(backend_name) : NULL;
  rlo__name *name = rlo__name_of(copy.head.kernel_name);
  rlo__slot *slot = rlo__slot_find(name, backend_name);
  if (slot != NULL && (flags & RLO_KERNEL_REPLACE) == 0) {
    return backend == NULL
               ? RLO_FAIL(RLO_ALREADY_EXISTS, "kernel '%s' has a gradient already", name->text)
               : RLO_FAIL(RLO_ALREADY_EXISTS,
                          "kernel '%s' is registered for backend '%s' already; RLO_KERNEL_REPLACE "
                          "would replace it",
                          name->text, backend_name);
  }
  rlo__slot *made = slot == NULL ? rlo__alloc(sizeof *made) : NULL;
  if (slot == NULL && made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  if (backend != NULL && backend->backend.instance != NULL) {
    rlo_status status =
        rlo__bound_kernel_create(registry, &copy.kernel, backend->backend.instance, &bound);
    if (status != RLO_OK) {
      rlo__free(made);
      return status;
    }
  }
  rlo__rwlock_lock_write(&registry->lock);
  if (slot != NULL) {
    *out_old = slot->config;
  } else {
    slot = made;
    *slot = (rlo__slot){.next = name->slots, .name = name, .backend_name = backend_name};
    name->slots = slot;
  }
  slot->config = copy;
  rlo__slot_bind(registry, slot, bound);
  rlo__rwlock_unlock(&registry->lock);
  return RLO_OK;
}

static rlo_status register_config(rlo__registry *registry, const kind *of, const void *config,
                                  uint32_t flags, void *out_old) {
  rlo__config known;
  rlo__config old;
  memcpy(&known, of->init, of->bytes);
  memcpy(&old, of->init, of->bytes);
  RLO_TRY(rlo__options_read(of->name, of->init_name, config, &known, of->bytes));
  known.head.struct_size = of->bytes;
  RLO_TRY(of->check(&known, flags));
  if (out_old != NULL) {
    RLO_TRY(rlo__options_check_size(of->old_name, of->init_name, out_old, of->bytes));
  }
  RLO_TRY(rlo__registry_begin_change(registry, of->registering));
  rlo_status status = add(registry, of, &known, flags, &old);
  rlo__registry_end_change(registry);
  return status == RLO_OK && out_old != NULL
             ? rlo__report_write(of->old_name, of->init_name, &old, out_old, of->bytes)
             : status;
}

static rlo_status unregister(rlo__registry *registry, const kind *of, const char *kernel_name,
                             const char *backend_name) {
  RLO_TRY(rlo__registry_begin_change(registry, of->unregistering));
  rlo__slot *slot = rlo__slot_find(rlo__registry_find(registry, kernel_name), backend_name);
  if (slot != NULL) {
    rlo__slot **link = &slot->name->slots;
    while (*link != slot) {
      link = &(*link)->next;
    }
    rlo__rwlock_lock_write(&registry->lock);
    *link = slot->next;
    rlo__slot_bind(registry, slot, NULL);
    rlo__rwlock_unlock(&registry->lock);
  }
  rlo__registry_end_change(registry);
  rlo__free(slot);
  return slot != NULL ? RLO_OK : rlo__registry_fail_missing(registry, kernel_name, backend_name);
}

static rlo_status find(rlo__registry *registry, const kind *of, const char *kernel_name,
                       const char *backend_name, void *out_config) {
  rlo__config found;
  return rlo__registry_get(registry, kernel_name, backend_name, &found)
             ? rlo__report_write(of->name, of->init_name, &found, out_config, of->bytes)
             : rlo__registry_fail_missing(registry, kernel_name, backend_name);
}

static int compare_names(const void *a, const void *b) {
  const rlo__slot *const *left = a;
  const rlo__slot *const *right = b;
  return strcmp((*left)->name->text, (*right)->name->text);
}

static rlo_status list(rlo__registry *registry, const kind *of, const char *backend_name,
                       void *out_configs, size_t config_bytes, int32_t capacity,
                       int32_t *out_count) {
  RLO_TRY(rlo__report_list_check(of->type, capacity, config_bytes, sizeof(size_t), of->bytes));
  const rlo__slot *slot = NULL;
  size_t count = 0;
  rlo__rwlock_lock_read(&registry->lock);
  const rlo__slot **slots = rlo__alloc_array(registry->names.count, sizeof(rlo__slot *));
  while (slots != NULL && (slot = rlo__registry_next_slot(registry, backend_name, slot)) != NULL) {
    slots[count++] = slot;
  }
  if (slots != NULL) {
    qsort(slots, count, sizeof(rlo__slot *), compare_names);
  }
  for (size_t n = 0; n < count && n < (size_t)capacity; ++n) {
    rlo__config listed = slots[n]->config;
    listed.head.struct_size = config_bytes;
    memcpy((char *)out_configs + n * config_bytes, &listed, config_bytes);
  }
  rlo__rwlock_unlock(&registry->lock);
  rlo__free(slots);
  *out_count = (int32_t)count;
  return slots != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

rlo_status rlo_kernel_register(rlo_engine *engine, const rlo_kernel_config *config, uint32_t flags,
                               rlo_kernel_config *out_old) {
  RLO_REQUIRE(engine, config);
  return register_config(engine->registry, &kernels, config, flags, out_old);
}

rlo_status rlo_kernel_unregister(rlo_engine *engine, const char *kernel_name,
                                 const char *backend_name) {
  RLO_REQUIRE(engine, kernel_name, backend_name);
  return unregister(engine->registry, &kernels, kernel_name, backend_name);
}

rlo_status rlo_kernel_find(rlo_engine *engine, const char *kernel_name, const char *backend_name,
                           rlo_kernel_config *out_config) {
  RLO_REQUIRE(engine, kernel_name, backend_name, out_config);
  return find(engine->registry, &kernels, kernel_name, backend_name, out_config);
}

rlo_status rlo_kernel_list(rlo_engine *engine, const char *backend_name,
                           rlo_kernel_config *out_configs, size_t config_bytes, int32_t capacity,
                           int32_t *out_count) {
  RLO_REQUIRE(engine, backend_name, out_count);
  RLO_REQUIRE_LIST(out_configs, capacity);
  return list(engine->registry, &kernels, backend_name, out_configs, config_bytes, capacity,
              out_count);
}

rlo_status rlo_gradient_register(rlo_engine *engine, const rlo_gradient_config *config,
                                 uint32_t flags, rlo_gradient_config *out_old) {
  RLO_REQUIRE(engine, config);
  return register_config(engine->registry, &gradients, config, flags, out_old);
}

rlo_status rlo_gradient_unregister(rlo_engine *engine, const char *kernel_name) {
  RLO_REQUIRE(engine, kernel_name);
  return unregister(engine->registry, &gradients, kernel_name, NULL);
}

rlo_status rlo_gradient_find(rlo_engine *engine, const char *kernel_name,
                             rlo_gradient_config *out_config) {
  RLO_REQUIRE(engine, kernel_name, out_config);
  return find(engine->registry, &gradients, kernel_name, NULL, out_config);
}

rlo_status rlo_gradient_list(rlo_engine *engine, rlo_gradient_config *out_configs,
                             size_t config_bytes, int32_t capacity, int32_t *out_count) {
  RLO_REQUIRE(engine, out_count);
  RLO_REQUIRE_LIST(out_configs, capacity);
  return list(engine->registry, &gradients, NULL, out_configs, config_bytes, capacity, out_count);
}

/* Registers copies for another backend. During a change. */
static rlo_status copy_kernels(rlo__registry *registry, const char *from, const char *to,
                               uint32_t flags, int32_t *out_count) {
  const rlo__slot *slot = NULL;
  *out_count = 0;
  while ((slot = rlo__registry_next_slot(registry, from, slot)) != NULL) {
    const char *name = slot->name->text;
    ++*out_count;
    RLO_FAIL_IF((flags & RLO_KERNEL_REPLACE) == 0 && rlo__slot_find(slot->name, to) != NULL,
                RLO_ALREADY_EXISTS,
                "kernel '%s' is registered for backend '%s' already; nothing was copied", name, to);
  }
  RLO_FAIL_IF(*out_count == 0, RLO_NOT_FOUND, "backend '%s' has no kernel to copy", from);
  while ((slot = rlo__registry_next_slot(registry, from, slot)) != NULL) {
    rlo__config old;
    rlo__config copy = slot->config;
    copy.kernel.backend_name = to;
    RLO_TRY(add(registry, &kernels, &copy, flags, &old));
  }
  return RLO_OK;
}

rlo_status rlo_kernel_copy_all(rlo_engine *engine, const char *from, const char *to, uint32_t flags,
                               int32_t *out_count) {
  RLO_REQUIRE(engine, from, to);
  RLO_TRY(check_flags(flags, "copying a backend's kernels"));
  RLO_FAIL_IF(to[0] == '\0', RLO_INVALID_ARGUMENT, "a backend without a name");
  int32_t count = 0;
  RLO_TRY(rlo__registry_begin_change(engine->registry, "copying a backend's kernels"));
  rlo_status status = copy_kernels(engine->registry, from, to, flags, &count);
  rlo__registry_end_change(engine->registry);
  if (status == RLO_OK && out_count != NULL) {
    *out_count = count;
  }
  return status;
}

/* ------------------------------------------------------------------ binding */

/* The kernel of a backend, NULL for the active one, retained; NULL if there is
 * none. */
static rlo__bound_kernel *find_bound(rlo__registry *registry, const char *kernel_name,
                                     const char *backend_name) {
  rlo__bound_kernel *found = NULL;
  rlo__rwlock_lock_read(&registry->lock);
  if (backend_name == NULL && registry->active != NULL) {
    backend_name = registry->active->name;
  }
  if (backend_name != NULL) {
    const rlo__slot *slot = rlo__slot_find(rlo__registry_find(registry, kernel_name), backend_name);
    if (slot != NULL && slot->bound != NULL) {
      found = rlo__bound_kernel_retain(slot->bound);
    }
  }
  rlo__rwlock_unlock(&registry->lock);
  return found;
}

rlo_status rlo__kernel_bind(rlo__registry *registry, const char *kernel_name,
                            rlo__bound_kernel **out_bound, bool *out_is_fallback) {
  *out_bound = find_bound(registry, kernel_name, NULL);
  if (*out_bound != NULL) {
    return RLO_OK;
  }
  rlo__backend_instance *instance = NULL;
  RLO_TRY(rlo__backend_get(registry, NULL, &instance));
  const char *backend_name = instance->name;
  rlo__backend_instance_release(instance);
  *out_bound = find_bound(registry, kernel_name, backend_name);
  if (*out_bound == NULL && registry->engine->options.allow_host_fallback) {
    RLO_TRY(rlo__backend_get(registry, RLO__HOST_BACKEND, &instance));
    rlo__backend_instance_release(instance);
    *out_bound = find_bound(registry, kernel_name, RLO__HOST_BACKEND);
    if (out_is_fallback != NULL) {
      *out_is_fallback = *out_bound != NULL;
    }
  }
  return *out_bound != NULL ? RLO_OK
                            : rlo__registry_fail_missing(registry, kernel_name, backend_name);
}
