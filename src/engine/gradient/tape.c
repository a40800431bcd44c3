/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gradient/tape.h"

#include "base/alloc.h"
#include "base/status.h"
#include "engine/parts.h"
#include "engine/tensor/tensor.h"

/* Its address identifies the thread. */
static _Thread_local char this_thread;

rlo_status rlo__tape_check(const rlo_tape *tape, const char *action) {
  if (tape == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "%s: the tape is NULL", action);
  }
  if (tape->thread != &this_thread) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: the tape was begun by another thread",
                    action);
  }
  if (tape->is_computing) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: a gradient is being computed from the tape",
                    action);
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- recording */

static void node_release(rlo_engine *engine, rlo__tape_node *node) {
  for (int32_t i = 0;
       node->shapes != NULL && i < node->num_inputs + node->num_outputs;
       ++i) {
    rlo__shared_shape_release(engine->shapes, node->shapes[i]);
  }
  rlo__saved_deinit(&node->saved);
  rlo_attributes_release(node->attributes);
  rlo__free(node->shapes);
  rlo__free(node->ids);
  rlo__free(node);
}

static void note_tensor(rlo__tape_node *node,
                        int32_t place,
                        const rlo_tensor *tensor) {
  node->ids[place] = tensor->id;
  node->shapes[place] = rlo__shared_shape_retain(tensor->shape);
}

static rlo_status save(rlo__tape_node *node, const rlo__record *record) {
  if (record->gradient != NULL) {
    node->has_gradient = record->gradient->run != NULL;
    node->gradient = *record->gradient;
    rlo__saved *saved = &node->saved;
    saved->tensors =
        rlo__alloc_array((size_t)record->num_saved, sizeof(rlo_tensor *));
    if (saved->tensors == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    for (; saved->count < record->num_saved; ++saved->count) {
      saved->tensors[saved->count] =
          rlo__tensor_hold(record->saved[saved->count]);
    }
    return RLO_OK;
  }
  node->has_gradient =
      rlo__gradient_find(record->engine, record->kernel_name, &node->gradient);
  return node->has_gradient ? rlo__gradient_save(&node->gradient,
                                                 record->config,
                                                 record->inputs,
                                                 record->num_inputs,
                                                 record->outputs,
                                                 record->num_outputs,
                                                 &node->saved)
                            : RLO_OK;
}

static rlo_status node_create(const rlo__record *record,
                              rlo__tape_node **out_node) {
  rlo__tape_node *node = rlo__alloc(sizeof *node);
  if (node == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OUT_OF_MEMORY;
  int32_t count = record->num_inputs + record->num_outputs;
  node->kernel_name = record->kernel_name;
  if (record->config != NULL) {
    node->input_names = record->config->input_names;
    node->num_input_names = record->config->num_input_names;
  }
  node->num_inputs = record->num_inputs;
  node->num_outputs = record->num_outputs;
  node->ids = rlo__alloc_array((size_t)count, sizeof *node->ids);
  node->shapes = rlo__alloc_array((size_t)count, sizeof(rlo__shared_shape *));
  if (node->ids == NULL || node->shapes == NULL) {
    goto fail;
  }
  for (int32_t n = 0; n < record->num_inputs; ++n) {
    note_tensor(node, n, record->inputs[n]);
  }
  for (int32_t k = 0; k < record->num_outputs; ++k) {
    note_tensor(node, record->num_inputs + k, record->outputs[k]);
  }
  RLO_TRY_GOTO(rlo_attributes_clone(record->attributes, &node->attributes));
  RLO_TRY_GOTO(save(node, record));
  *out_node = node;
  return RLO_OK;
fail:
  node_release(record->engine, node);
  return status;
}

static rlo_status record_kernel(void *payload, const rlo__record *record) {
  rlo_tape *tape = payload;
  if (tape->is_computing) {
    return RLO_OK;
  }
  RLO_TRY(rlo__array_reserve(&tape->nodes,
                             sizeof(rlo__tape_node *),
                             (size_t)tape->count + 1,
                             &tape->capacity));
  RLO_TRY(node_create(record, &tape->nodes[tape->count]));
  ++tape->count;
  return RLO_OK;
}

rlo_status rlo_tape_begin(rlo_engine *engine, rlo_tape **out_tape) {
  RLO_REQUIRE(engine, out_tape);
  rlo_tape *tape = rlo__alloc(sizeof *tape);
  if (tape == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  tape->engine = rlo__engine_retain(engine);
  tape->thread = &this_thread;
  tape->recorder = (rlo__recorder){
      .engine = engine, .record = record_kernel, .payload = tape};
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
    node_release(tape->engine, tape->nodes[n]);
  }
  rlo__free(tape->nodes);
  rlo__engine_release(tape->engine);
  rlo__free(tape);
  return RLO_OK;
}

int64_t rlo_tape_length(const rlo_tape *tape) {
  return tape != NULL ? tape->count : 0;
}
