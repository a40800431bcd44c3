/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "engine/gradient/tape.h"
#include "engine/parts.h"
#include "engine/tensor/tensor.h"
#include "relayout/text.h"

/* Gradients of one tensor that are yet to be added, in order. */
typedef struct contributions {
  rlo_tensor **items;
  int32_t count, capacity;
} contributions;

typedef struct backward {
  rlo_tape *tape;
  rlo__tape_path path;
  /** Of each slot. */
  contributions *sums;
} backward;

static rlo_status check_arguments(const rlo_tape *tape,
                                  const rlo_tensor *y,
                                  const rlo_tensor *dy,
                                  rlo_tensor *const *xs,
                                  int32_t count,
                                  uint32_t flags,
                                  rlo_tensor *const *out_dxs) {
  RLO_TRY(rlo__tape_check(tape, "gradients"));
  if (count < 1 || xs == NULL || out_dxs == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "gradients: there are no tensors to take them of, or no "
                    "place for them");
  }
  if ((flags & ~(uint32_t)RLO_TAPE_ALLOW_UNCONNECTED) != 0) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "gradients: no known flags (%#x)", flags);
  }
  RLO_TRY(rlo__tensor_check(y, tape->engine, "y", 0));
  for (int32_t i = 0; i < count; ++i) {
    RLO_TRY(rlo__tensor_check(xs[i], tape->engine, "x", i));
  }
  if (dy != NULL) {
    RLO_TRY(rlo__tensor_check(dy, tape->engine, "dy", 0));
    RLO_TRY(rlo__gradient_check_dy(dy, &y->shape->shape, "dy", 0));
  }
  return RLO_OK;
}

/* That y depends on every x, and every kernel on the way has a gradient. */
static rlo_status check_path(const backward *b,
                             const rlo_tensor *y,
                             rlo_tensor *const *xs,
                             int32_t count,
                             uint32_t flags) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t slot = rlo__tape_path_slot(&b->path, xs[i]->id);
    if (!b->path.is_on_path[slot] &&
        (flags & RLO_TAPE_ALLOW_UNCONNECTED) == 0) {
      char of_y[160];
      char of_x[160];
      (void)rlo_shape_human_string(&y->shape->shape, of_y, sizeof of_y);
      (void)rlo_shape_human_string(&xs[i]->shape->shape, of_x, sizeof of_x);
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "no kernel that the tape recorded leads from x %d, %s, "
                      "to y, %s",
                      i,
                      of_x,
                      of_y);
    }
  }
  for (int64_t n = 0; n < b->tape->count; ++n) {
    const rlo__tape_node *node = b->tape->nodes[n];
    if (!node->has_gradient && rlo__tape_path_has(&b->path, node)) {
      return rlo__gradient_fail_missing(node->kernel_name);
    }
  }
  return RLO_OK;
}

/* Takes the reference over, also on failure. */
static rlo_status contribute(backward *b, int32_t slot, rlo_tensor *dx) {
  contributions *c = &b->sums[slot];
  if (c->count == c->capacity) {
    int32_t capacity = c->capacity == 0 ? 2 : 2 * c->capacity;
    void *longer = rlo__alloc_resize(
        c->items, (size_t)c->capacity, (size_t)capacity, sizeof(rlo_tensor *));
    if (longer == NULL) {
      rlo_tensor_release(dx);
      return RLO_OUT_OF_MEMORY;
    }
    c->items = longer;
    c->capacity = capacity;
  }
  c->items[c->count++] = dx;
  return RLO_OK;
}

/* The gradient of a slot, which stays there too. */
static rlo_status add_up(backward *b, int32_t slot, rlo_tensor **out_sum) {
  contributions *c = &b->sums[slot];
  if (c->count > 1) {
    rlo_tensor *sum = NULL;
    RLO_TRY(rlo__gradient_add(c->items, c->count, &sum));
    while (c->count > 0) {
      rlo_tensor_release(c->items[--c->count]);
    }
    c->items[c->count++] = sum;
  }
  *out_sum = rlo_tensor_retain(c->items[0]);
  return RLO_OK;
}

/* The gradients of a kernel's results; none of them is used after it. */
static rlo_status take_dys(backward *b,
                           const rlo__tape_node *node,
                           rlo_tensor **dys) {
  for (int32_t k = 0; k < node->num_outputs; ++k) {
    int32_t place = node->num_inputs + k;
    int32_t slot = rlo__tape_path_slot(&b->path, node->ids[place]);
    if (b->sums[slot].count > 0) {
      RLO_TRY(add_up(b, slot, &dys[k]));
    } else {
      RLO_TRY(rlo__gradient_constant(b->tape->engine,
                                     &node->shapes[place]->shape,
                                     RLO_DTYPE_ZERO,
                                     &dys[k]));
    }
  }
  return RLO_OK;
}

static rlo_status run_gradient(backward *b,
                               const rlo__tape_node *node,
                               rlo_tensor **dys,
                               const rlo_shape **shapes,
                               bool *wants,
                               rlo_tensor **dxs) {
  for (int32_t i = 0; i < node->num_inputs; ++i) {
    shapes[i] = &node->shapes[i]->shape;
    wants[i] = b->path.is_on_path[rlo__tape_path_slot(&b->path, node->ids[i])];
  }
  RLO_TRY(take_dys(b, node, dys));
  rlo_gradient_call call = {.engine = b->tape->engine,
                            .kernel_name = node->kernel_name,
                            .dys = dys,
                            .num_outputs = node->num_outputs,
                            .saved = node->saved,
                            .num_saved = node->num_saved,
                            .input_shapes = shapes,
                            .num_inputs = node->num_inputs,
                            .attributes = node->attributes,
                            .wants = wants,
                            .dxs = dxs};
  RLO_TRY(rlo__gradient_run(&node->gradient, &call));
  for (int32_t i = 0; i < node->num_inputs; ++i) {
    if (wants[i]) {
      rlo_tensor *dx = dxs[i];
      dxs[i] = NULL;
      RLO_TRY(contribute(b, rlo__tape_path_slot(&b->path, node->ids[i]), dx));
    }
  }
  return RLO_OK;
}

static rlo_status step_back(backward *b, const rlo__tape_node *node) {
  size_t inputs = (size_t)node->num_inputs;
  rlo_tensor **dys =
      rlo__alloc_array((size_t)node->num_outputs, sizeof(rlo_tensor *));
  rlo_tensor **dxs = rlo__alloc_array(inputs, sizeof(rlo_tensor *));
  const rlo_shape **shapes = rlo__alloc_array(inputs, sizeof(rlo_shape *));
  bool *wants = rlo__alloc_array(inputs, sizeof *wants);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (dys != NULL && dxs != NULL && shapes != NULL && wants != NULL) {
    status = run_gradient(b, node, dys, shapes, wants, dxs);
  }
  rlo__tensor_list_release(dys, node->num_outputs);
  rlo__tensor_list_release(dxs, node->num_inputs);
  rlo__free(shapes);
  rlo__free(wants);
  return status;
}

static rlo_status run_backward(backward *b, rlo_tensor *y, rlo_tensor *dy) {
  rlo_tensor *first = rlo_tensor_retain(dy);
  if (first == NULL) {
    RLO_TRY(rlo__gradient_constant(
        b->tape->engine, &y->shape->shape, RLO_DTYPE_ONE, &first));
  }
  RLO_TRY(contribute(b, rlo__tape_path_slot(&b->path, y->id), first));
  for (int64_t n = b->tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = b->tape->nodes[n];
    if (rlo__tape_path_has(&b->path, node)) {
      RLO_TRY(step_back(b, node));
    }
  }
  return RLO_OK;
}

static rlo_status hand_out(backward *b,
                           rlo_tensor *const *xs,
                           int32_t count,
                           rlo_tensor **dxs) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t slot = rlo__tape_path_slot(&b->path, xs[i]->id);
    if (b->path.is_on_path[slot]) {
      RLO_TRY(add_up(b, slot, &dxs[i]));
    }
  }
  return RLO_OK;
}

static void backward_deinit(backward *b) {
  for (int32_t s = 0; b->sums != NULL && s < b->path.num_slots; ++s) {
    rlo__tensor_list_release(b->sums[s].items, b->sums[s].count);
  }
  rlo__free(b->sums);
  rlo__tape_path_deinit(&b->path);
}

rlo_status rlo_tape_gradients(rlo_tape *tape,
                              rlo_tensor *y,
                              rlo_tensor *dy,
                              rlo_tensor *const *xs,
                              int32_t count,
                              uint32_t flags,
                              rlo_tensor **out_dxs) {
  RLO_TRY(check_arguments(tape, y, dy, xs, count, flags, out_dxs));
  backward b = {.tape = tape};
  rlo_status status = RLO_OK;
  rlo_tensor **dxs = rlo__alloc_array((size_t)count, sizeof(rlo_tensor *));
  if (dxs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  tape->is_computing = true;
  RLO_TRY_GOTO(rlo__tape_path_find(tape, y, xs, count, &b.path));
  RLO_TRY_GOTO(check_path(&b, y, xs, count, flags));
  b.sums = rlo__alloc_array((size_t)b.path.num_slots, sizeof *b.sums);
  if (b.sums == NULL) {
    status = RLO_OUT_OF_MEMORY;
    goto fail;
  }
  if (b.path.is_on_path[rlo__tape_path_slot(&b.path, y->id)]) {
    RLO_TRY_GOTO(run_backward(&b, y, dy));
  }
  RLO_TRY_GOTO(hand_out(&b, xs, count, dxs));
  for (int32_t i = 0; i < count; ++i) {
    out_dxs[i] = dxs[i];
    dxs[i] = NULL;
  }
fail:
  tape->is_computing = false;
  backward_deinit(&b);
  rlo__tensor_list_release(dxs, count);
  return status;
}

rlo_status rlo_value_and_gradients(rlo_engine *engine,
                                   rlo_tensor_fn f,
                                   void *payload,
                                   rlo_tensor *const *xs,
                                   int32_t count,
                                   rlo_tensor *dy,
                                   uint32_t flags,
                                   rlo_tensor **out_y,
                                   rlo_tensor **out_dxs) {
  if (f == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "there is no function to take the gradients of");
  }
  rlo_tape *tape = NULL;
  rlo_tensor *y = NULL;
  RLO_TRY(rlo_tape_begin(engine, &tape));
  rlo_status status = RLO__CALLBACK(f(engine, xs, count, &y, payload),
                                    "the function to derive");
  if (status == RLO_OK) {
    status = rlo_tape_gradients(tape, y, dy, xs, count, flags, out_dxs);
  }
  rlo_status ended = rlo_tape_end(tape);
  if (status == RLO_OK && ended == RLO_OK && out_y != NULL) {
    *out_y = y;
    y = NULL;
  }
  rlo_tensor_release(y);
  return status != RLO_OK ? status : ended;
}
