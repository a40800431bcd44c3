/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/kernel.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "engine/memory/backend_instance.h"
#include "engine/parts.h"
#include "engine/registry/input_names.h"
#include "engine/registry/registry.h"

static const char init_name[] = "RLO_KERNEL_CONFIG_INIT";

static rlo_status check_config(const rlo_kernel_config *config) {
  if (config->kernel_name == NULL || config->kernel_name[0] == '\0' ||
      config->backend_name == NULL || config->backend_name[0] == '\0') {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a kernel without a name, or without a backend's");
  }
  if (config->infer == NULL ||
      (config->run == NULL && config->built_in == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s' has no %s",
                    config->kernel_name,
                    config->infer == NULL ? "infer" : "run");
  }
  if (config->min_inputs < 0 ||
      (config->max_inputs >= 0 && config->max_inputs < config->min_inputs) ||
      config->num_attributes < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s' takes %d to %d inputs and %d attributes",
                    config->kernel_name,
                    config->min_inputs,
                    config->max_inputs,
                    config->num_attributes);
  }
  return rlo__input_names_check(config);
}

static rlo_status check_flags(uint32_t flags, const char *what) {
  return (flags & ~(uint32_t)RLO_KERNEL_REPLACE) == 0
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "%s: no known flags (%#x)",
                        what,
                        flags);
}

/* Reads a config, which may be that of an older header. */
static rlo_status read_config(const rlo_kernel_config *config,
                              rlo_kernel_config *out) {
  *out = (rlo_kernel_config)RLO_KERNEL_CONFIG_INIT;
  RLO_TRY(
      rlo__options_read("kernel config", init_name, config, out, sizeof *out));
  out->struct_size = sizeof *out;
  return check_config(out);
}

/* Replaces the names in a config by the registry's. During a change. */
static rlo_status intern_config(rlo__registry *registry,
                                rlo_kernel_config *config,
                                rlo__name **out_name) {
  rlo__name *backend = NULL;
  RLO_TRY(rlo__registry_intern(registry, config->kernel_name, out_name));
  RLO_TRY(rlo__registry_intern(registry, config->backend_name, &backend));
  config->kernel_name = (*out_name)->text;
  config->backend_name = backend->text;
  RLO_TRY(rlo__registry_intern_list(registry,
                                    config->input_names,
                                    config->num_input_names,
                                    &config->input_names));
  return rlo__registry_intern_list(registry,
                                   config->output_names,
                                   config->num_output_names,
                                   &config->output_names);
}

/* Registers a kernel. During a change. `out_old` is not written for a new
 * kernel. */
static rlo_status add_kernel(rlo__registry *registry,
                             const rlo_kernel_config *config,
                             uint32_t flags,
                             rlo_kernel_config *out_old) {
  rlo_kernel_config copy = *config;
  rlo__name *name = NULL;
  rlo__bound_kernel *bound = NULL;
  rlo__kernel_slot *slot = rlo__registry_find_kernel(
      registry, config->kernel_name, config->backend_name);
  if (slot != NULL && (flags & RLO_KERNEL_REPLACE) == 0) {
    return RLO_FAIL(RLO_ALREADY_EXISTS,
                    "kernel '%s' is registered for backend '%s' already; "
                    "RLO_KERNEL_REPLACE would replace it",
                    config->kernel_name,
                    config->backend_name);
  }
  RLO_TRY(intern_config(registry, &copy, &name));
  rlo__kernel_slot *made = slot == NULL ? rlo__alloc(sizeof *made) : NULL;
  if (slot == NULL && made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  const rlo__name *backend =
      rlo__registry_find_backend(registry, copy.backend_name);
  if (backend != NULL && backend->backend.instance != NULL) {
    rlo_status status = rlo__bound_kernel_create(
        registry, &copy, backend->backend.instance, &bound);
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
    slot->name = name;
    slot->next = name->kernels;
    name->kernels = slot;
  }
  slot->config = copy;
  rlo__kernel_slot_bind(registry, slot, bound);
  rlo__rwlock_unlock(&registry->lock);
  return RLO_OK;
}

rlo_status rlo_kernel_register(rlo_engine *engine,
                               const rlo_kernel_config *config,
                               uint32_t flags,
                               rlo_kernel_config *out_old) {
  RLO_REQUIRE(engine, config);
  rlo_kernel_config known;
  rlo_kernel_config old = RLO_KERNEL_CONFIG_INIT;
  RLO_TRY(read_config(config, &known));
  RLO_TRY(check_flags(flags, "registering a kernel"));
  if (out_old != NULL) {
    RLO_TRY(rlo__options_check_size(
        "old kernel config", init_name, out_old, sizeof old));
  }
  RLO_TRY(rlo__registry_begin_change(engine->registry, "registering a kernel"));
  rlo_status status = add_kernel(engine->registry, &known, flags, &old);
  rlo__registry_end_change(engine->registry);
  return status == RLO_OK && out_old != NULL
             ? rlo__report_write(
                   "old kernel config", init_name, &old, out_old, sizeof old)
             : status;
}

rlo_status rlo_kernel_unregister(rlo_engine *engine,
                                 const char *kernel_name,
                                 const char *backend_name) {
  RLO_REQUIRE(engine, kernel_name, backend_name);
  rlo__registry *registry = engine->registry;
  RLO_TRY(rlo__registry_begin_change(registry, "unregistering a kernel"));
  rlo__kernel_slot *slot =
      rlo__registry_find_kernel(registry, kernel_name, backend_name);
  if (slot != NULL) {
    rlo__kernel_slot **link =
        &rlo__registry_find(registry, kernel_name)->kernels;
    while (*link != slot) {
      link = &(*link)->next;
    }
    rlo__rwlock_lock_write(&registry->lock);
    *link = slot->next;
    rlo__kernel_slot_bind(registry, slot, NULL);
    rlo__rwlock_unlock(&registry->lock);
  }
  rlo__registry_end_change(registry);
  rlo__free(slot);
  return slot != NULL ? RLO_OK
                      : rlo__registry_fail_no_kernel(
                            registry, kernel_name, backend_name);
}

static bool get_config(const rlo__name *name,
                       const char *backend_name,
                       void *out_config) {
  const rlo__kernel_slot *slot = rlo__name_find_kernel(name, backend_name);
  if (slot != NULL) {
    memcpy(out_config, &slot->config, sizeof slot->config);
  }
  return slot != NULL;
}

rlo_status rlo_kernel_find(rlo_engine *engine,
                           const char *kernel_name,
                           const char *backend_name,
                           rlo_kernel_config *out_config) {
  RLO_REQUIRE(engine, kernel_name, backend_name, out_config);
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  return rlo__registry_get(
             engine->registry, get_config, kernel_name, backend_name, &config)
             ? rlo__report_write("kernel config",
                                 init_name,
                                 &config,
                                 out_config,
                                 sizeof config)
             : rlo__registry_fail_no_kernel(
                   engine->registry, kernel_name, backend_name);
}

rlo_status rlo_kernel_list(rlo_engine *engine,
                           const char *backend_name,
                           rlo_kernel_config *out_configs,
                           size_t config_bytes,
                           int32_t capacity,
                           int32_t *out_count) {
  RLO_REQUIRE(engine, backend_name, out_count);
  RLO_REQUIRE_LIST(out_configs, capacity);
  return rlo__registry_list(engine->registry,
                            get_config,
                            backend_name,
                            "rlo_kernel_config",
                            sizeof *out_configs,
                            out_configs,
                            config_bytes,
                            capacity,
                            out_count);
}

/* Registers copies for another backend. During a change. */
static rlo_status copy_kernels(rlo__registry *registry,
                               const char *from,
                               const char *to,
                               uint32_t flags,
                               int32_t *out_count) {
  const rlo__kernel_slot *slot = NULL;
  *out_count = 0;
  while ((slot = rlo__registry_next_kernel(registry, from, slot)) != NULL) {
    const char *name = slot->config.kernel_name;
    ++*out_count;
    if ((flags & RLO_KERNEL_REPLACE) == 0 &&
        rlo__registry_find_kernel(registry, name, to) != NULL) {
      return RLO_FAIL(RLO_ALREADY_EXISTS,
                      "kernel '%s' is registered for backend '%s' already; "
                      "nothing was copied",
                      name,
                      to);
    }
  }
  if (*out_count == 0) {
    return RLO_FAIL(RLO_NOT_FOUND, "backend '%s' has no kernel to copy", from);
  }
  while ((slot = rlo__registry_next_kernel(registry, from, slot)) != NULL) {
    rlo_kernel_config old;
    rlo_kernel_config copy = slot->config;
    copy.backend_name = to;
    RLO_TRY(add_kernel(registry, &copy, flags, &old));
  }
  return RLO_OK;
}

rlo_status rlo_kernel_copy_all(rlo_engine *engine,
                               const char *from,
                               const char *to,
                               uint32_t flags,
                               int32_t *out_count) {
  RLO_REQUIRE(engine, from, to);
  RLO_TRY(check_flags(flags, "copying a backend's kernels"));
  if (to[0] == '\0') {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "a backend without a name");
  }
  int32_t count = 0;
  RLO_TRY(rlo__registry_begin_change(engine->registry,
                                     "copying a backend's kernels"));
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
static rlo__bound_kernel *find_bound(rlo__registry *registry,
                                     const char *kernel_name,
                                     const char *backend_name) {
  rlo__bound_kernel *found = NULL;
  rlo__rwlock_lock_read(&registry->lock);
  if (backend_name == NULL && registry->active != NULL) {
    backend_name = registry->active->name;
  }
  if (backend_name != NULL) {
    const rlo__kernel_slot *slot =
        rlo__registry_find_kernel(registry, kernel_name, backend_name);
    if (slot != NULL && slot->bound != NULL) {
      found = rlo__bound_kernel_retain(slot->bound);
    }
  }
  rlo__rwlock_unlock(&registry->lock);
  return found;
}

rlo_status rlo__kernel_bind(rlo__registry *registry,
                            const char *kernel_name,
                            rlo__bound_kernel **out_bound,
                            bool *out_is_fallback) {
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
                            : rlo__registry_fail_no_kernel(
                                  registry, kernel_name, backend_name);
}
