/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gradient/gradient.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/parts.h"
#include "engine/registry/input_names.h"
#include "engine/registry/registry.h"
#include "engine/tensor/tensor_lifetime.h"
#include "ops/chain.h"
#include "relayout/engine_ops.h"
#include "relayout/text.h"

/* ----------------------------------------------------------------- registry */

static const char init_name[] = "RLO_GRADIENT_CONFIG_INIT";

static rlo_status check_config(const rlo_gradient_config *config,
                               uint32_t flags) {
  if (config->kernel_name == NULL || config->kernel_name[0] == '\0') {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the gradient names no kernel");
  }
  if (config->run == NULL || (flags & ~(uint32_t)RLO_GRADIENT_REPLACE) != 0) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT,
        "the gradient of kernel '%s' has %s",
        config->kernel_name,
        config->run == NULL ? "no function to run" : "flags that are none");
  }
  if (config->num_saved_names < 0 ||
      (config->num_saved_names > 0 && config->saved_names == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the gradient of kernel '%s' saves %d names without a list "
                    "of them",
                    config->kernel_name,
                    config->num_saved_names);
  }
  for (int32_t i = 0; i < config->num_saved_names; ++i) {
    if (config->saved_names[i] == NULL) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "the gradient of kernel '%s': name %d of those it saves "
                      "is NULL",
                      config->kernel_name,
                      i);
    }
  }
  return RLO_OK;
}

/* Reads a config, which may be that of an older header. */
static rlo_status read_config(const rlo_gradient_config *config,
                              uint32_t flags,
                              rlo_gradient_config *out) {
  *out = (rlo_gradient_config)RLO_GRADIENT_CONFIG_INIT;
  RLO_TRY(rlo__options_read(
      "gradient config", init_name, config, out, sizeof *out));
  out->struct_size = sizeof *out;
  return check_config(out, flags);
}

/* Registers a gradient. During a change. `out_old` is not written for a new
 * one. */
static rlo_status add_gradient(rlo__registry *registry,
                               const rlo_gradient_config *config,
                               uint32_t flags,
                               rlo_gradient_config *out_old) {
  rlo_gradient_config copy = *config;
  rlo__name *name = NULL;
  RLO_TRY(rlo__registry_intern(registry, config->kernel_name, &name));
  if (name->gradient.run != NULL && (flags & RLO_GRADIENT_REPLACE) == 0) {
    return RLO_FAIL(RLO_ALREADY_EXISTS,
                    "kernel '%s' has a gradient already",
                    config->kernel_name);
  }
  copy.kernel_name = name->text;
  RLO_TRY(rlo__registry_intern_list(registry,
                                    config->saved_names,
                                    config->num_saved_names,
                                    &copy.saved_names));
  if (name->gradient.run != NULL) {
    *out_old = name->gradient;
  }
  rlo__rwlock_lock_write(&registry->lock);
  name->gradient = copy;
  rlo__rwlock_unlock(&registry->lock);
  return RLO_OK;
}

rlo_status rlo_gradient_register(rlo_engine *engine,
                                 const rlo_gradient_config *config,
                                 uint32_t flags,
                                 rlo_gradient_config *out_old) {
  RLO_REQUIRE(engine, config);
  rlo_gradient_config known;
  rlo_gradient_config old = RLO_GRADIENT_CONFIG_INIT;
  RLO_TRY(read_config(config, flags, &known));
  if (out_old != NULL) {
    RLO_TRY(rlo__options_check_size(
        "old gradient config", init_name, out_old, sizeof old));
  }
  RLO_TRY(
      rlo__registry_begin_change(engine->registry, "registering a gradient"));
  rlo_status status = add_gradient(engine->registry, &known, flags, &old);
  rlo__registry_end_change(engine->registry);
  return status == RLO_OK && out_old != NULL
             ? rlo__report_write(
                   "old gradient config", init_name, &old, out_old, sizeof old)
             : status;
}

rlo_status rlo_gradient_unregister(rlo_engine *engine,
                                   const char *kernel_name) {
  RLO_REQUIRE(engine, kernel_name);
  rlo__registry *registry = engine->registry;
  RLO_TRY(rlo__registry_begin_change(registry, "unregistering a gradient"));
  rlo__name *name = rlo__registry_find(registry, kernel_name);
  bool is_found = name != NULL && name->gradient.run != NULL;
  if (is_found) {
    rlo__rwlock_lock_write(&registry->lock);
    name->gradient.run = NULL;
    rlo__rwlock_unlock(&registry->lock);
  }
  rlo__registry_end_change(registry);
  return is_found ? RLO_OK : rlo__gradient_fail_missing(kernel_name);
}

static bool get_config(const rlo__name *name,
                       const char *backend_name,
                       void *out_config) {
  (void)backend_name;
  if (name->gradient.run != NULL) {
    memcpy(out_config, &name->gradient, sizeof name->gradient);
  }
  return name->gradient.run != NULL;
}

bool rlo__gradient_find(rlo_engine *engine,
                        const char *kernel_name,
                        rlo_gradient_config *out_config) {
  return rlo__registry_get(
      engine->registry, get_config, kernel_name, NULL, out_config);
}

rlo_status rlo__gradient_fail_missing(const char *kernel_name) {
  return RLO_FAIL(
      RLO_NOT_FOUND, "no gradient is registered for kernel '%s'", kernel_name);
}

rlo_status rlo_gradient_find(rlo_engine *engine,
                             const char *kernel_name,
                             rlo_gradient_config *out_config) {
  RLO_REQUIRE(engine, kernel_name, out_config);
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  return rlo__gradient_find(engine, kernel_name, &config)
             ? rlo__report_write("gradient config",
                                 init_name,
                                 &config,
                                 out_config,
                                 sizeof config)
             : rlo__gradient_fail_missing(kernel_name);
}

rlo_status rlo_gradient_list(rlo_engine *engine,
                             rlo_gradient_config *out_configs,
                             size_t config_bytes,
                             int32_t capacity,
                             int32_t *out_count) {
  RLO_REQUIRE(engine, out_count);
  RLO_REQUIRE_LIST(out_configs, capacity);
  return rlo__registry_list(engine->registry,
                            get_config,
                            NULL,
                            "rlo_gradient_config",
                            sizeof *out_configs,
                            out_configs,
                            config_bytes,
                            capacity,
                            out_count);
}

/* --------------------------------------------------------- within gradients */

rlo_status rlo_gradient_saved(const rlo_gradient_call *call,
                              const char *name,
                              int32_t n,
                              rlo_tensor **out_tensor) {
  RLO_REQUIRE(call, name, out_tensor);
  int32_t num_named = call->saved_names != NULL ? call->num_saved : 0;
  int32_t number = 0;
  for (int32_t i = 0; i < num_named; ++i) {
    const char *saved = call->saved_names[i];
    if (saved != NULL && strcmp(saved, name) == 0 && number++ == n) {
      *out_tensor = call->saved[i];
      return RLO_OK;
    }
  }
  char text[256];
  rlo__str known = rlo__str_over(text, sizeof text);
  for (int32_t i = 0; i < num_named; ++i) {
    if (call->saved_names[i] != NULL) {
      rlo__str_printf(&known,
                      "%s'%s'",
                      known.length == 0 ? "" : ", ",
                      call->saved_names[i]);
    }
  }
  rlo__input_text wanted;
  return RLO_FAIL(
      RLO_NOT_FOUND,
      "the gradient of kernel '%s' has not saved %s; %s%s",
      call->kernel_name,
      rlo__name_text_make(name, n, &wanted),
      known.length == 0 ? "it has saved nothing with a name" : "it has saved ",
      rlo__str_text(&known));
}

rlo_status rlo_gradient_input(const rlo_gradient_call *call,
                              const char *name,
                              int32_t n,
                              int32_t *out_place) {
  RLO_REQUIRE(call, name, out_place);
  int32_t place = rlo__input_place(
      call->input_names, call->num_input_names, call->num_inputs, name, n);
  if (place < 0) {
    rlo__input_text wanted;
    return RLO_FAIL(RLO_NOT_FOUND,
                    "the gradient of kernel '%s': the call had no input %s",
                    call->kernel_name,
                    rlo__name_text_make(name, n, &wanted));
  }
  *out_place = place;
  return RLO_OK;
}

/* ------------------------------------------------------------------ running */

enum { SHAPE_TEXT = 160 };

/* The name in messages of an input of the kernel. */
static const char *input_text(const rlo_gradient_call *call,
                              int32_t index,
                              rlo__input_text *out_text) {
  return rlo__input_text_make(call->input_names,
                              call->num_input_names,
                              call->num_inputs,
                              index,
                              out_text);
}

static rlo_status check_dx(const rlo_gradient_call *call, int32_t index) {
  const rlo_tensor *dx = call->dxs[index];
  const rlo_shape *wanted = call->input_shapes[index];
  rlo__input_text text;
  if (dx == NULL || dx->engine != call->engine) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the gradient of kernel '%s' gave %s for %s",
                    call->kernel_name,
                    dx == NULL ? "nothing" : "a tensor of another engine",
                    input_text(call, index, &text));
  }
  if (!rlo_shape_compatible(rlo_tensor_shape(dx), wanted)) {
    char got[SHAPE_TEXT];
    char want[SHAPE_TEXT];
    (void)rlo_shape_human_string(rlo_tensor_shape(dx), got, sizeof got);
    (void)rlo_shape_human_string(wanted, want, sizeof want);
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the gradient of kernel '%s' gave %s for %s, which is %s",
                    call->kernel_name,
                    got,
                    input_text(call, index, &text),
                    want);
  }
  return RLO_OK;
}

rlo_status rlo__gradient_run(const rlo_gradient_config *config,
                             rlo_gradient_call *call) {
  rlo_status status = RLO__CALLBACK(config->run(call, config->payload),
                                    "the gradient of kernel '%s'",
                                    call->kernel_name);
  for (int32_t n = 0; n < call->num_inputs && status == RLO_OK; ++n) {
    if (call->wants[n]) {
      status = check_dx(call, n);
    }
  }
  for (int32_t n = 0; n < call->num_inputs; ++n) {
    if (status != RLO_OK || !call->wants[n]) {
      rlo_tensor_release(call->dxs[n]);
      call->dxs[n] = NULL;
    }
  }
  return status;
}

rlo_status rlo__gradient_check_dy(const rlo_tensor *dy,
                                  const rlo_shape *result,
                                  const char *role,
                                  int32_t index) {
  if (!rlo_shape_compatible(rlo_tensor_shape(dy), result)) {
    char got[SHAPE_TEXT];
    char want[SHAPE_TEXT];
    (void)rlo_shape_human_string(rlo_tensor_shape(dy), got, sizeof got);
    (void)rlo_shape_human_string(result, want, sizeof want);
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s %d is %s, and its result is %s; type and dimensions "
                    "must be the same",
                    role,
                    index,
                    got,
                    want);
  }
  return RLO_OK;
}

rlo_status rlo__gradient_constant(rlo_engine *engine,
                                  const rlo_shape *shape,
                                  rlo_dtype_constant constant,
                                  rlo_tensor **out_tensor) {
  rlo_shape plain;
  RLO_TRY(rlo__ops_shape_like(shape, shape->dims, shape->rank, &plain));
  return rlo_tensor_create_constant(engine, &plain, constant, out_tensor);
}

/* ------------------------------------------------------------------- adding */

bool rlo__gradient_is_narrow(rlo_dtype dtype) {
  return rlo_dtype_is_floating(dtype) && rlo_dtype_value_bits(dtype) < 32;
}

static rlo_status add_wide(rlo_tensor *const *tensors,
                           int32_t count,
                           rlo_tensor **out_sum) {
  rlo_tensor *sum = NULL;
  rlo_tensor **wide = rlo__alloc_array((size_t)count, sizeof(rlo_tensor *));
  if (wide == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY_GOTO(rlo_op_cast(tensors[n], RLO_DTYPE_F32, &wide[n]));
  }
  RLO_TRY_GOTO(rlo_op_add_n(wide, count, &sum));
  RLO_TRY_GOTO(rlo_op_cast(sum, tensors[0]->shape->shape.dtype, out_sum));
fail:
  rlo_tensor_release(sum);
  rlo__tensor_list_release(wide, count);
  return status;
}

rlo_status rlo__gradient_add(rlo_tensor *const *tensors,
                             int32_t count,
                             rlo_tensor **out_sum) {
  if (count == 1) {
    *out_sum = rlo_tensor_retain(tensors[0]);
    return RLO_OK;
  }
  return count > 2 && rlo__gradient_is_narrow(tensors[0]->shape->shape.dtype)
             ? add_wide(tensors, count, out_sum)
             : rlo_op_add_n(tensors, count, out_sum);
}
