/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "engine/call/recorder.h"
#include "engine/gradient/tape.h"
#include "engine/parts.h"
#include "engine/tensor/tensor.h"
#include "relayout/kernel.h"

struct rlo_saver {
  const rlo_engine *engine;
  /** Held. */
  rlo_tensor **tensors;
  int32_t count;
  size_t capacity;
};

rlo_status rlo_saver_save(rlo_saver *saver, rlo_tensor *tensor) {
  RLO_REQUIRE(saver, tensor);
  RLO_TRY(
      rlo__tensor_check(tensor, saver->engine, "tensor to save", saver->count));
  RLO_TRY(rlo__array_reserve(&saver->tensors,
                             sizeof(rlo_tensor *),
                             (size_t)saver->count + 1,
                             &saver->capacity));
  saver->tensors[saver->count++] = rlo__tensor_hold(tensor);
  return RLO_OK;
}

static rlo_status check_arguments(const rlo_engine *engine,
                                  const char *name,
                                  rlo_tensor *const *inputs,
                                  int32_t num_inputs,
                                  int32_t num_outputs) {
  if (num_inputs < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "'%s': %d inputs", name, num_inputs);
  }
  if (num_outputs < 1 || num_outputs > RLO_MAX_KERNEL_OUTPUTS) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'%s': %d results; 1 to %d are possible",
                    name,
                    num_outputs,
                    RLO_MAX_KERNEL_OUTPUTS);
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY(rlo__tensor_check(inputs[n], engine, "input", n));
  }
  return RLO_OK;
}

/* Replaces tensors that existed before the function ran, or that are results
 * twice, by views: a tape identifies a tensor with the kernel that created it.
 */
static rlo_status own_outputs(rlo_tensor **outputs,
                              int32_t count,
                              uint64_t first_new_id) {
  for (int32_t k = 0; k < count; ++k) {
    bool is_own = outputs[k]->id >= first_new_id;
    for (int32_t j = 0; j < k; ++j) {
      is_own = is_own && outputs[j] != outputs[k];
    }
    if (!is_own) {
      rlo_tensor *view = NULL;
      RLO_TRY(rlo_tensor_view(outputs[k], rlo_tensor_shape(outputs[k]), &view));
      rlo_tensor_release(outputs[k]);
      outputs[k] = view;
    }
  }
  return RLO_OK;
}

static rlo_status check_outputs(const rlo_engine *engine,
                                rlo_tensor *const *outputs,
                                int32_t count) {
  for (int32_t k = 0; k < count; ++k) {
    RLO_TRY(rlo__tensor_check(outputs[k], engine, "output", k));
  }
  return RLO_OK;
}

rlo_status rlo_custom_gradient(rlo_engine *engine,
                               const char *name,
                               rlo_custom_fn forward,
                               rlo_gradient_fn gradient,
                               void *payload,
                               rlo_tensor *const *inputs,
                               int32_t num_inputs,
                               rlo_tensor **outputs,
                               int32_t num_outputs) {
  RLO_REQUIRE(engine, name, forward, outputs);
  RLO_REQUIRE_LIST(inputs, num_inputs);
  RLO_TRY(check_arguments(engine, name, inputs, num_inputs, num_outputs));
  rlo_tensor **made =
      rlo__alloc_array((size_t)num_outputs, sizeof(rlo_tensor *));
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_saver saver = {.engine = engine};
  rlo_gradient_config config = RLO_GRADIENT_CONFIG_INIT;
  config.kernel_name = name;
  config.run = gradient;
  config.payload = payload;
  uint64_t first_new_id = rlo__tensor_next_id(engine);
  rlo__scope_enter();
  rlo__recorder_enter();
  rlo_status status = RLO__CALLBACK(
      forward(engine, inputs, num_inputs, &saver, made, num_outputs, payload),
      "function '%s'",
      name);
  rlo__recorder_leave();
  if (status != RLO_OK) {
    goto fail;
  }
  RLO_TRY_GOTO(check_outputs(engine, made, num_outputs));
  RLO_TRY_GOTO(own_outputs(made, num_outputs, first_new_id));
  const rlo__record record = {.engine = engine,
                              .kernel_name = name,
                              .inputs = inputs,
                              .num_inputs = num_inputs,
                              .outputs = made,
                              .num_outputs = num_outputs,
                              .gradient = &config,
                              .saved = saver.tensors,
                              .num_saved = saver.count};
  RLO_TRY_GOTO(rlo__recorder_notify(&record));
  status = rlo__scope_hand_out(engine, made, num_outputs, outputs);
fail:
  rlo__tensor_list_drop(saver.tensors, saver.count);
  rlo__tensor_list_release(made, num_outputs);
  rlo__scope_leave();
  return status;
}
