/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gradient/gradient.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "engine/tensor/tensor_lifetime.h"
#include "relayout/kernel.h"

/* Its address identifies the thread. */
static _Thread_local char this_thread;

rlo_status rlo__tape_check(const rlo_tape *tape, const char *action) {
  const char *problem = tape == NULL                   ? "the tape is NULL"
                        : tape->thread != &this_thread ? "the tape was begun by another thread"
                        : tape->is_computing ? "a gradient is being computed from the tape"
                                             : NULL;
  return problem == NULL ? RLO_OK : RLO_FAIL(RLO_INVALID_ARGUMENT, "%s: %s", action, problem);
}

/* ------------------------------------------------------------------- saving */

/* Tells if a gradient saves the tensor at a place, by `marks` or by its name.
 */
static bool saves(const rlo_gradient_config *config, uint64_t marks, int32_t place,
                  const char *name) {
  return (place < 64 && (marks >> place & 1) != 0) ||
         (name != NULL &&
          rlo__input_names_find(config->saved_names, config->num_saved_names, name) >= 0);
}

bool rlo__gradient_saves_outputs(const rlo_gradient_config *gradient,
                                 const rlo_kernel_config *kernel) {
  bool is_any = gradient->saved_outputs != 0;
  for (int32_t k = 0; k < kernel->num_output_names; ++k) {
    is_any = is_any || saves(gradient, 0, k, kernel->output_names[k]);
  }
  return is_any;
}

/* Checks that the kernel has every name that its gradient saves. */
static rlo_status check_saved_names(const rlo_gradient_config *config,
                                    const rlo_kernel_config *kernel) {
  for (int32_t i = 0; i < config->num_saved_names; ++i) {
    const char *name = config->saved_names[i];
    if (rlo__input_names_find(kernel->input_names, kernel->num_input_names, name) < 0 &&
        rlo__input_names_find(kernel->output_names, kernel->num_output_names, name) < 0) {
      char text[256];
      rlo__str known = rlo__str_over(text, sizeof text);
      for (int32_t n = 0; n < kernel->num_input_names; ++n) {
        rlo__str_printf(&known, "%s'%s'", n == 0 ? "" : ", ", kernel->input_names[n]);
      }
      return RLO_FAIL(
          RLO_INVALID_ARGUMENT,
          "the gradient of kernel '%s' saves '%s', which is no input or result of it; %s%s",
          config->kernel_name, name,
          known.length == 0 ? "its inputs have no names" : "its inputs are ",
          rlo__str_text(&known));
    }
  }
  return RLO_OK;
}

/* The tensors that a node saves, under construction. */
typedef struct saving {
  rlo_tensor **tensors;
  const char **names;
  int32_t count;
} saving;

static void save_one(saving *s, rlo_tensor *tensor, const char *name) {
  s->tensors[s->count] = rlo__tensor_hold(tensor);
  s->names[s->count++] = name;
}

static rlo_status save(const rlo_gradient_config *gradient, const rlo__record *record, saving *s) {
  const rlo_kernel_config *kernel = record->config;
  if (record->gradient != NULL) {
    for (int32_t n = 0; n < record->num_saved; ++n) {
      save_one(s, record->saved[n], NULL);
    }
    return RLO_OK;
  }
  RLO_TRY(check_saved_names(gradient, kernel));
  for (int32_t n = 0; n < record->call->num_inputs; ++n) {
    const char *name = rlo__input_name(kernel->input_names, kernel->num_input_names, n);
    if (gradient->saves_all_inputs || saves(gradient, gradient->saved_inputs, n, name)) {
      save_one(s, record->call->inputs[n], name);
    }
  }
  for (int32_t k = 0; k < record->call->num_outputs; ++k) {
    const char *name = k < kernel->num_output_names ? kernel->output_names[k] : NULL;
    if (saves(gradient, gradient->saved_outputs, k, name)) {
      save_one(s, record->call->outputs[k], name);
    }
  }
  return RLO_OK;
}

/* -------------------------------------------------------------------- nodes */

void rlo__tape_node_release(rlo__tape_node *node) {
  if (node == NULL) {
    return;
  }
  for (int32_t i = 0; i < node->call.num_inputs + node->call.num_outputs; ++i) {
    rlo__shared_shape_release(node->call.engine->shapes,
                              rlo__shared_shape_of(node->call.input_shapes[i]));
  }
  for (int32_t i = 0; i < node->call.num_saved; ++i) {
    rlo__tensor_drop(node->call.saved[i]);
  }
  rlo_attributes_release(node->attributes);
  rlo__free(node);
}

rlo_status rlo__tape_node_create(const rlo__record *record, const rlo_gradient_config *gradient,
                                 rlo__tape_node **out_node) {
  const rlo_kernel_call *call = record->call;
  const size_t num_tensors = (size_t)call->num_inputs + (size_t)call->num_outputs;
  const size_t num_saved = record->gradient != NULL ? (size_t)record->num_saved : num_tensors;
  rlo__tape_node *node =
      rlo__alloc(sizeof *node + num_tensors * (sizeof *node->ids + sizeof(rlo_shape *)) +
                 num_saved * (sizeof(rlo_tensor *) + sizeof(char *)));
  RLO_TRY_MEMORY(node);
  uint64_t *ids = (uint64_t *)(void *)(node + 1);
  const rlo_shape **shapes = (const rlo_shape **)(void *)(ids + num_tensors);
  saving s = {.tensors = (rlo_tensor **)(void *)(shapes + num_tensors)};
  s.names = (const char **)(void *)(s.tensors + num_saved);
  for (int32_t n = 0; n < (int32_t)num_tensors; ++n) {
    const rlo_tensor *tensor =
        n < call->num_inputs ? call->inputs[n] : call->outputs[n - call->num_inputs];
    ids[n] = tensor->id;
    shapes[n] = &rlo__shared_shape_retain(tensor->shape)->shape;
  }
  rlo_status status = gradient->run != NULL ? save(gradient, record, &s) : RLO_OK;
  *node = (rlo__tape_node){.gradient = *gradient,
                           .call = {.engine = call->engine,
                                    .kernel_name = call->kernel_name,
                                    .num_outputs = call->num_outputs,
                                    .saved = s.tensors,
                                    .saved_names = s.names,
                                    .num_saved = s.count,
                                    .input_shapes = shapes,
                                    .num_inputs = call->num_inputs,
                                    .input_names = call->input_names,
                                    .num_input_names = call->num_input_names,
                                    .attributes = call->attributes},
                           .ids = ids};
  if (status != RLO_OK) {
    rlo__tape_node_release(node);
    return status;
  }
  *out_node = node;
  return RLO_OK;
}

/* ---------------------------------------------------------------- recording */

static rlo_status record_kernel(rlo__recorder *recorder, const rlo__record *record) {
  rlo_tape *tape = (rlo_tape *)recorder;
  rlo__config found = {.gradient = RLO_GRADIENT_CONFIG_INIT};
  if (tape->is_computing) {
    return RLO_OK;
  }
  if (record->gradient == NULL) {
    (void)rlo__registry_get(record->call->engine->registry, record->call->kernel_name, NULL,
                            &found);
  }
  RLO_TRY(rlo__array_reserve(&tape->nodes, sizeof(rlo__tape_node *), (size_t)tape->count + 1,
                             &tape->capacity));
  rlo__tape_node *node = NULL;
  RLO_TRY(rlo__tape_node_create(
      record, record->gradient != NULL ? record->gradient : &found.gradient, &node));
  rlo_status status = rlo_attributes_clone(record->call->attributes, &node->attributes);
  if (status != RLO_OK) {
    rlo__tape_node_release(node);
    return status;
  }
  node->call.attributes = node->attributes;
  tape->nodes[tape->count++] = node;
  return RLO_OK;
}

rlo_status rlo_tape_begin(rlo_engine *engine, rlo_tape **out_tape) {
  RLO_REQUIRE(engine, out_tape);
  rlo_tape *tape = rlo__alloc(sizeof *tape);
  RLO_TRY_MEMORY(tape);
  *tape = (rlo_tape){.recorder = {.engine = engine, .record = record_kernel},
                     .engine = rlo__engine_retain(engine),
                     .thread = &this_thread};
  rlo__recorder_push(&tape->recorder);
  *out_tape = tape;
  return RLO_OK;
}

rlo_status rlo_tape_end(rlo_tape *tape) {
  if (tape == NULL) {
    return RLO_OK;
  }
  RLO_TRY(rlo__tape_check(tape, "ending a tape"));
  rlo__recorder_pop(&tape->recorder);
  for (int64_t n = 0; n < tape->count; ++n) {
    rlo__tape_node_release(tape->nodes[n]);
  }
  rlo__free(tape->nodes);
  rlo__engine_release(tape->engine);
  rlo__free(tape);
  return RLO_OK;
}

int64_t rlo_tape_length(const rlo_tape *tape) {
  return tape != NULL ? tape->count : 0;
}

/* --------------------------------------------------------- custom gradients */

struct rlo_saver {
  const rlo_engine *engine;
  /** Held. */
  rlo_tensor **tensors;
  int32_t count;
  size_t capacity;
};

rlo_status rlo_saver_save(rlo_saver *saver, rlo_tensor *tensor) {
  RLO_REQUIRE(saver, tensor);
  RLO_TRY(rlo__tensor_check(tensor, saver->engine, "tensor to save", saver->count));
  RLO_TRY(rlo__array_reserve(&saver->tensors, sizeof(rlo_tensor *), (size_t)saver->count + 1,
                             &saver->capacity));
  saver->tensors[saver->count++] = rlo__tensor_hold(tensor);
  return RLO_OK;
}

static rlo_status check_arguments(const rlo_engine *engine, const char *name,
                                  rlo_tensor *const *inputs, int32_t num_inputs,
                                  int32_t num_outputs) {
  RLO_FAIL_IF(num_inputs < 0, RLO_INVALID_ARGUMENT, "'%s': %d inputs", name, num_inputs);
  RLO_FAIL_IF(num_outputs < 1 || num_outputs > RLO_MAX_KERNEL_OUTPUTS, RLO_INVALID_ARGUMENT,
              "'%s': %d results; 1 to %d are possible", name, num_outputs, RLO_MAX_KERNEL_OUTPUTS);
  return rlo__tensors_check(inputs, num_inputs, engine, "input");
}

/* Replaces tensors that existed before the function ran, or that are results
 * twice, by views: a tape identifies a tensor with the kernel that created it.
 */
static rlo_status own_outputs(rlo_tensor **outputs, int32_t count, uint64_t first_new_id) {
  for (int32_t k = 0; k < count; ++k) {
    bool is_own = outputs[k]->id >= first_new_id;
    for (int32_t j = 0; j < k; ++j) {
      is_own = is_own && outputs[j] != outputs[k];
    }
    if (!is_own) {
      RLO_TRY(rlo__tensor_make_alias(&outputs[k]));
    }
  }
  return RLO_OK;
}

rlo_status rlo_custom_gradient(rlo_engine *engine, const char *name, rlo_custom_fn forward,
                               rlo_gradient_fn gradient, void *payload, rlo_tensor *const *inputs,
                               int32_t num_inputs, rlo_tensor **outputs, int32_t num_outputs) {
  RLO_REQUIRE(engine, name, forward, outputs);
  RLO_REQUIRE_LIST(inputs, num_inputs);
  RLO_TRY(check_arguments(engine, name, inputs, num_inputs, num_outputs));
  rlo_tensor **made = rlo__alloc_array((size_t)num_outputs, sizeof(rlo_tensor *));
  RLO_TRY_MEMORY(made);
  rlo_saver saver = {.engine = engine};
  const rlo_gradient_config config = {
      .struct_size = sizeof config, .kernel_name = name, .run = gradient, .payload = payload};
  uint64_t first_new_id = rlo__tensor_next_id(engine);
  rlo__scope_enter();
  rlo__tensors_lend(inputs, num_inputs);
  rlo__recorder_enter();
  rlo_status status =
      RLO__CALLBACK(forward(engine, inputs, num_inputs, &saver, made, num_outputs, payload),
                    "function '%s'", name);
  rlo__recorder_leave();
  const int32_t missing = rlo__tensors_take_back(inputs, num_inputs);
  RLO_TRY_GOTO(status);
  RLO_TRY_GOTO(missing >= 0
                   ? RLO_FAIL(RLO_INVALID_ARGUMENT,
                              "function '%s' released input %d, which it borrows", name, missing)
                   : RLO_OK);
  RLO_TRY_GOTO(rlo__tensors_check(made, num_outputs, engine, "output"));
  RLO_TRY_GOTO(own_outputs(made, num_outputs, first_new_id));
  const rlo_kernel_call call = {.engine = engine,
                                .kernel_name = name,
                                .inputs = inputs,
                                .num_inputs = num_inputs,
                                .outputs = made,
                                .num_outputs = num_outputs};
  const rlo__record record = {
      .call = &call, .gradient = &config, .saved = saver.tensors, .num_saved = saver.count};
  RLO_TRY_GOTO(rlo__recorder_notify(&record));
  status = rlo__scope_hand_out(engine, made, num_outputs, outputs);
fail:
  while (saver.count > 0) {
    rlo__tensor_drop(saver.tensors[--saver.count]);
  }
  rlo__free(saver.tensors);
  rlo__tensor_list_release(made, num_outputs);
  rlo__scope_leave();
  return status;
}
