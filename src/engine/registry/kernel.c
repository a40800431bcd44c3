/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "engine/memory/backends.h"
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
                                rlo_kernel_config *config) {
  RLO_TRY(rlo__registry_intern(
      registry, config->kernel_name, &config->kernel_name));
  RLO_TRY(rlo__registry_intern(
      registry, config->backend_name, &config->backend_name));
  RLO_TRY(rlo__registry_intern_list(registry,
                                    config->input_names,
                                    config->num_input_names,
                                    &config->input_names));
  return rlo__registry_intern_list(registry,
                                   config->output_names,
                                   config->num_output_names,
                                   &config->output_names);
}

/* During a change. `out_old` may be NULL, and is not written for a new kernel.
 * The bound kernel of a replaced one goes to `out_bound`, to be released after
 * the change. */
static rlo_status register_changing(rlo__registry *registry,
                                    const rlo_kernel_config *config,
                                    uint32_t flags,
                                    rlo_kernel_config *out_old,
                                    rlo__bound_kernel **out_bound) {
  rlo__kernel_slot *slot = rlo__registry_find_kernel(
      registry, config->kernel_name, config->backend_name);
  if (slot != NULL && (flags & RLO_KERNEL_REPLACE) == 0) {
    return RLO_FAIL(RLO_ALREADY_EXISTS,
                    "kernel '%s' is registered for backend '%s' already; "
                    "RLO_KERNEL_REPLACE would replace it",
                    config->kernel_name,
                    config->backend_name);
  }
  rlo_kernel_config copy = *config;
  RLO_TRY(intern_config(registry, &copy));
  rlo__kernel_slot *made = NULL;
  if (slot == NULL) {
    made = rlo__alloc(sizeof *made);
    if (made == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  const rlo__backend_entry *backend =
      rlo__registry_find_backend(registry, copy.backend_name);
  rlo__bound_kernel *bound = NULL;
  if (backend != NULL && backend->instance != NULL) {
    rlo_status status =
        rlo__bound_kernel_create(registry, &copy, backend->instance, &bound);
    if (status != RLO_OK) {
      rlo__free(made);
      return status;
    }
  }
  if (out_old != NULL && slot != NULL) {
    *out_old = slot->config;
  }
  rlo__rwlock_lock_write(&registry->lock);
  if (slot == NULL) {
    slot = made;
    rlo__table_insert(
        &registry->kernels, slot, rlo__registry_hash(copy.kernel_name));
  }
  *out_bound = slot->bound;
  slot->config = copy;
  slot->bound = bound;
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
  rlo__registry *registry = engine->registry;
  rlo__bound_kernel *replaced = NULL;
  RLO_TRY(rlo__registry_begin_change(registry, "registering a kernel"));
  rlo_status status =
      register_changing(registry, &known, flags, &old, &replaced);
  rlo__registry_end_change(registry);
  rlo__bound_kernel_release(replaced);
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
    rlo__rwlock_lock_write(&registry->lock);
    rlo__table_remove(&registry->kernels, slot);
    rlo__rwlock_unlock(&registry->lock);
  }
  rlo__registry_end_change(registry);
  if (slot == NULL) {
    return rlo__registry_fail_no_kernel(registry, kernel_name, backend_name);
  }
  rlo__bound_kernel_release(slot->bound);
  rlo__free(slot);
  return RLO_OK;
}

rlo_status rlo_kernel_find(rlo_engine *engine,
                           const char *kernel_name,
                           const char *backend_name,
                           rlo_kernel_config *out_config) {
  RLO_REQUIRE(engine, kernel_name, backend_name, out_config);
  rlo__registry *registry = engine->registry;
  rlo_kernel_config config = RLO_KERNEL_CONFIG_INIT;
  rlo__rwlock_lock_read(&registry->lock);
  const rlo__kernel_slot *slot =
      rlo__registry_find_kernel(registry, kernel_name, backend_name);
  if (slot != NULL) {
    config = slot->config;
  }
  rlo__rwlock_unlock(&registry->lock);
  return slot != NULL ? rlo__report_write("kernel config",
                                          init_name,
                                          &config,
                                          out_config,
                                          sizeof config)
                      : rlo__registry_fail_no_kernel(
                            registry, kernel_name, backend_name);
}

static int compare_names(const void *a, const void *b) {
  const rlo_kernel_config *left = a;
  const rlo_kernel_config *right = b;
  return strcmp(left->kernel_name, right->kernel_name);
}

/* The kernels of a backend by name, on the heap. */
static rlo_status collect(rlo__registry *registry,
                          const char *backend_name,
                          rlo_kernel_config **out_configs,
                          int32_t *out_count) {
  rlo_kernel_config *configs = NULL;
  int32_t capacity = 0;
  int32_t count = 0;
  /* The registry may grow between counting and copying. */
  do {
    rlo__free(configs);
    capacity = count;
    configs = rlo__alloc_array((size_t)capacity + 1, sizeof *configs);
    if (configs == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    count = 0;
    rlo__rwlock_lock_read(&registry->lock);
    for (rlo__kernel_slot *s = rlo__table_newest(&registry->kernels); s != NULL;
         s = rlo__table_older(&registry->kernels, s)) {
      if (strcmp(s->config.backend_name, backend_name) == 0) {
        if (count < capacity) {
          configs[count] = s->config;
        }
        ++count;
      }
    }
    rlo__rwlock_unlock(&registry->lock);
  } while (count > capacity);
  qsort(configs, (size_t)count, sizeof *configs, compare_names);
  *out_configs = configs;
  *out_count = count;
  return RLO_OK;
}

rlo_status rlo_kernel_list(rlo_engine *engine,
                           const char *backend_name,
                           rlo_kernel_config *out_configs,
                           size_t config_bytes,
                           int32_t capacity,
                           int32_t *out_count) {
  RLO_REQUIRE(engine, backend_name, out_count);
  RLO_REQUIRE_LIST(out_configs, capacity);
  RLO_TRY(rlo__report_list_check("rlo_kernel_config",
                                 capacity,
                                 config_bytes,
                                 sizeof out_configs->struct_size,
                                 sizeof *out_configs));
  rlo_kernel_config *configs = NULL;
  RLO_TRY(collect(engine->registry, backend_name, &configs, out_count));
  for (int32_t i = 0; i < *out_count; ++i) {
    configs[i].struct_size = config_bytes;
  }
  rlo__report_list_write(configs,
                         *out_count,
                         sizeof *configs,
                         out_configs,
                         config_bytes,
                         capacity);
  rlo__free(configs);
  return RLO_OK;
}

/* Registers copies for another backend. During a change. */
static rlo_status copy_changing(rlo__registry *registry,
                                rlo_kernel_config *configs,
                                int32_t count,
                                const char *to,
                                uint32_t flags,
                                rlo__bound_kernel **replaced) {
  for (int32_t i = 0; i < count && (flags & RLO_KERNEL_REPLACE) == 0; ++i) {
    if (rlo__registry_find_kernel(registry, configs[i].kernel_name, to) !=
        NULL) {
      return RLO_FAIL(RLO_ALREADY_EXISTS,
                      "kernel '%s' is registered for backend '%s' already; "
                      "nothing was copied",
                      configs[i].kernel_name,
                      to);
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    configs[i].backend_name = to;
    RLO_TRY(
        register_changing(registry, &configs[i], flags, NULL, &replaced[i]));
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
  rlo_kernel_config *configs = NULL;
  rlo__bound_kernel **replaced = NULL;
  int32_t count = 0;
  RLO_TRY(collect(engine->registry, from, &configs, &count));
  rlo_status status = RLO_OUT_OF_MEMORY;
  replaced = rlo__alloc_array((size_t)count + 1, sizeof(rlo__bound_kernel *));
  if (replaced == NULL) {
    goto fail;
  }
  if (count == 0) {
    status =
        RLO_FAIL(RLO_NOT_FOUND, "backend '%s' has no kernel to copy", from);
    goto fail;
  }
  RLO_TRY_GOTO(rlo__registry_begin_change(engine->registry,
                                          "copying a backend's kernels"));
  status = copy_changing(engine->registry, configs, count, to, flags, replaced);
  rlo__registry_end_change(engine->registry);
  for (int32_t i = 0; i < count; ++i) {
    rlo__bound_kernel_release(replaced[i]);
  }
  if (status == RLO_OK && out_count != NULL) {
    *out_count = count;
  }
fail:
  rlo__free(replaced);
  rlo__free(configs);
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
                            bool allows_fallback,
                            rlo__bound_kernel **out_bound,
                            bool *out_is_fallback) {
  *out_is_fallback = false;
  *out_bound = find_bound(registry, kernel_name, NULL);
  if (*out_bound != NULL) {
    return RLO_OK;
  }
  rlo__backend_instance *active = NULL;
  RLO_TRY(rlo__backend_get_active(registry, &active));
  const char *backend_name = active->name;
  rlo__backend_instance_release(active);
  *out_bound = find_bound(registry, kernel_name, backend_name);
  if (*out_bound == NULL && allows_fallback) {
    rlo__backend_instance *host = NULL;
    RLO_TRY(rlo__backend_get(registry, RLO__HOST_BACKEND, &host));
    rlo__backend_instance_release(host);
    *out_bound = find_bound(registry, kernel_name, RLO__HOST_BACKEND);
    *out_is_fallback = *out_bound != NULL;
  }
  return *out_bound != NULL ? RLO_OK
                            : rlo__registry_fail_no_kernel(
                                  registry, kernel_name, backend_name);
}
