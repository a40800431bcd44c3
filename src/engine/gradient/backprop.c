/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/gradient/tape.h"
#include "engine/parts.h"
#include "engine/tensor/tensor.h"
#include "relayout/text.h"

/* --------------------------------------------------------------------- path */

/* The tensors between some tensors and a result: a view of a tape at one
 * moment. A slot stands for a tensor. */
typedef struct path {
  /** The ids in ascending order: slot s is ids[s]. */
  uint64_t *ids;
  int32_t num_slots;
  /** For each slot: whether it depends on an x, and whether y depends on it and
   *  it on an x. */
  bool *is_from_x, *is_on_path;
} path;

static int compare_ids(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a;
  uint64_t right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* The slot of an id that the path was made with. */
static int32_t find_slot(const path *p, uint64_t id) {
  int32_t low = 0;
  int32_t high = p->num_slots - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (p->ids[middle] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Collects the ids of all tensors of the tape, y and the xs, each once. */
static rlo_status collect_ids(const rlo_tape *tape,
                              const rlo_tensor *y,
                              rlo_tensor *const *xs,
                              int32_t count,
                              path *p) {
  int64_t max_ids = (int64_t)count + 1;
  for (int64_t n = 0; n < tape->count; ++n) {
    max_ids += tape->nodes[n]->num_inputs + tape->nodes[n]->num_outputs;
  }
  if (max_ids > INT32_MAX) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the tape holds %lld tensors; the limit is %d",
                    (long long)max_ids,
                    INT32_MAX);
  }
  p->ids = rlo__alloc_array((size_t)max_ids, sizeof *p->ids);
  p->is_from_x = rlo__alloc_array((size_t)max_ids, sizeof *p->is_from_x);
  p->is_on_path = rlo__alloc_array((size_t)max_ids, sizeof *p->is_on_path);
  if (p->ids == NULL || p->is_from_x == NULL || p->is_on_path == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  size_t next = 0;
  p->ids[next++] = y->id;
  for (int32_t i = 0; i < count; ++i) {
    p->ids[next++] = xs[i]->id;
  }
  for (int64_t n = 0; n < tape->count; ++n) {
    const rlo__tape_node *node = tape->nodes[n];
    for (int32_t i = 0; i < node->num_inputs + node->num_outputs; ++i) {
      p->ids[next++] = node->ids[i];
    }
  }
  qsort(p->ids, next, sizeof *p->ids, compare_ids);
  int32_t num_ids = 0;
  for (size_t i = 0; i < next; ++i) {
    if (i == 0 || p->ids[i] != p->ids[i - 1]) {
      p->ids[num_ids++] = p->ids[i];
    }
  }
  p->num_slots = num_ids;
  return RLO_OK;
}

static bool has_any(const path *p,
                    const bool *marks,
                    const uint64_t *ids,
                    int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (marks[find_slot(p, ids[i])]) {
      return true;
    }
  }
  return false;
}

/* Tells if a gradient of the kernel is needed. */
static bool has_node(const path *p, const rlo__tape_node *node) {
  return has_any(p, p->is_from_x, node->ids, node->num_inputs) &&
         has_any(
             p, p->is_on_path, node->ids + node->num_inputs, node->num_outputs);
}

/* Needs path_deinit also after a failure. */
static rlo_status path_init(const rlo_tape *tape,
                            const rlo_tensor *y,
                            rlo_tensor *const *xs,
                            int32_t count,
                            path *p) {
  *p = (path){NULL, 0, NULL, NULL};
  RLO_TRY(collect_ids(tape, y, xs, count, p));
  for (int32_t i = 0; i < count; ++i) {
    p->is_from_x[find_slot(p, xs[i]->id)] = true;
  }
  /* A kernel runs after those that made its inputs. */
  for (int64_t n = 0; n < tape->count; ++n) {
    const rlo__tape_node *node = tape->nodes[n];
    if (has_any(p, p->is_from_x, node->ids, node->num_inputs)) {
      for (int32_t k = 0; k < node->num_outputs; ++k) {
        uint64_t id = node->ids[node->num_inputs + k];
        p->is_from_x[find_slot(p, id)] = true;
      }
    }
  }
  int32_t last = find_slot(p, y->id);
  p->is_on_path[last] = p->is_from_x[last];
  for (int64_t n = tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = tape->nodes[n];
    if (has_node(p, node)) {
      for (int32_t i = 0; i < node->num_inputs; ++i) {
        int32_t slot = find_slot(p, node->ids[i]);
        p->is_on_path[slot] = p->is_on_path[slot] || p->is_from_x[slot];
      }
    }
  }
  return RLO_OK;
}

static void path_deinit(path *p) {
  rlo__free(p->ids);
  rlo__free(p->is_from_x);
  rlo__free(p->is_on_path);
}

/* ---------------------------------------------------------------- gradients */

/* Gradients of one tensor, which are added up in this order. */
typedef struct contributions {
  rlo_tensor **items;
  int32_t count;
  size_t capacity;
} contributions;

typedef struct backward {
  rlo_tape *tape;
  path path;
  /** The contributions to each slot. */
  contributions *sums;
} backward;

static rlo_status check_count(int32_t count) {
  return count < 1 ? RLO_FAIL(RLO_INVALID_ARGUMENT,
                              "gradients: there are no tensors to take them of")
                   : RLO_OK;
}

static rlo_status check_arguments(const rlo_tape *tape,
                                  const rlo_tensor *y,
                                  const rlo_tensor *dy,
                                  rlo_tensor *const *xs,
                                  int32_t count,
                                  uint32_t flags) {
  RLO_TRY(rlo__tape_check(tape, "gradients"));
  RLO_TRY(check_count(count));
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

/* Checks that y depends on every x, and that every kernel of the path has a
 * gradient. */
static rlo_status check_path(const backward *b,
                             const rlo_tensor *y,
                             rlo_tensor *const *xs,
                             int32_t count,
                             uint32_t flags) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t slot = find_slot(&b->path, xs[i]->id);
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
    if (!node->has_gradient && has_node(&b->path, node)) {
      return rlo__gradient_fail_missing(node->kernel_name);
    }
  }
  return RLO_OK;
}

/* Takes over the reference, also on failure. */
static rlo_status contribute(backward *b, int32_t slot, rlo_tensor *dx) {
  contributions *c = &b->sums[slot];
  rlo_status status = rlo__array_reserve(
      &c->items, sizeof(rlo_tensor *), (size_t)c->count + 1, &c->capacity);
  if (status != RLO_OK) {
    rlo_tensor_release(dx);
    return status;
  }
  c->items[c->count++] = dx;
  return RLO_OK;
}

/* Adds up the gradient of a slot, which keeps a reference to it. */
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

/* Collects the gradients of a kernel's results. */
static rlo_status take_dys(backward *b,
                           const rlo__tape_node *node,
                           rlo_tensor **dys) {
  for (int32_t k = 0; k < node->num_outputs; ++k) {
    int32_t place = node->num_inputs + k;
    int32_t slot = find_slot(&b->path, node->ids[place]);
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
    wants[i] = b->path.is_on_path[find_slot(&b->path, node->ids[i])];
  }
  RLO_TRY(take_dys(b, node, dys));
  rlo_gradient_call call = {.engine = b->tape->engine,
                            .kernel_name = node->kernel_name,
                            .dys = dys,
                            .num_outputs = node->num_outputs,
                            .saved = node->saved.tensors,
                            .num_saved = node->saved.count,
                            .saved_names = node->saved.names,
                            .input_shapes = shapes,
                            .num_inputs = node->num_inputs,
                            .input_names = node->input_names,
                            .num_input_names = node->num_input_names,
                            .attributes = node->attributes,
                            .wants = wants,
                            .dxs = dxs};
  RLO_TRY(rlo__gradient_run(&node->gradient, &call));
  for (int32_t i = 0; i < node->num_inputs; ++i) {
    if (wants[i]) {
      rlo_tensor *dx = dxs[i];
      dxs[i] = NULL;
      RLO_TRY(contribute(b, find_slot(&b->path, node->ids[i]), dx));
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
  RLO_TRY(contribute(b, find_slot(&b->path, y->id), first));
  for (int64_t n = b->tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = b->tape->nodes[n];
    if (has_node(&b->path, node)) {
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
    int32_t slot = find_slot(&b->path, xs[i]->id);
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
  path_deinit(&b->path);
}

rlo_status rlo_tape_gradients(rlo_tape *tape,
                              rlo_tensor *y,
                              rlo_tensor *dy,
                              rlo_tensor *const *xs,
                              int32_t count,
                              uint32_t flags,
                              rlo_tensor **out_dxs) {
  RLO_REQUIRE(tape, y, xs, out_dxs);
  RLO_TRY(check_arguments(tape, y, dy, xs, count, flags));
  backward b = {.tape = tape};
  rlo_status status = RLO_OK;
  rlo_tensor **dxs = rlo__alloc_array((size_t)count, sizeof(rlo_tensor *));
  if (dxs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__scope_enter();
  tape->is_computing = true;
  RLO_TRY_GOTO(path_init(tape, y, xs, count, &b.path));
  RLO_TRY_GOTO(check_path(&b, y, xs, count, flags));
  b.sums = rlo__alloc_array((size_t)b.path.num_slots, sizeof *b.sums);
  if (b.sums == NULL) {
    status = RLO_OUT_OF_MEMORY;
    goto fail;
  }
  if (b.path.is_on_path[find_slot(&b.path, y->id)]) {
    RLO_TRY_GOTO(run_backward(&b, y, dy));
  }
  RLO_TRY_GOTO(hand_out(&b, xs, count, dxs));
  status = rlo__scope_hand_out(tape->engine, dxs, count, out_dxs);
fail:
  tape->is_computing = false;
  backward_deinit(&b);
  rlo__tensor_list_release(dxs, count);
  rlo__scope_leave();
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
  RLO_REQUIRE(engine, f, xs, out_dxs);
  RLO_TRY(check_count(count));
  rlo_tape *tape = NULL;
  RLO_TRY(rlo_tape_begin(engine, &tape));
  rlo__scope_enter();
  rlo_status status = RLO_OUT_OF_MEMORY;
  /* The gradients, then y. */
  rlo_tensor **made = rlo__alloc_array((size_t)count + 1, sizeof(rlo_tensor *));
  if (made == NULL) {
    goto fail;
  }
  rlo_tensor **y = &made[count];
  RLO_TRY_GOTO(RLO__CALLBACK(f(engine, xs, count, y, payload),
                             "the function to derive"));
  RLO_TRY_GOTO(rlo_tape_gradients(tape, *y, dy, xs, count, flags, made));
  RLO_TRY_GOTO(
      rlo__scope_hand_out(engine, made, count + (out_y != NULL), made));
  memcpy(out_dxs, made, (size_t)count * sizeof(rlo_tensor *));
  memset(made, 0, (size_t)count * sizeof(rlo_tensor *));
  if (out_y != NULL) {
    *out_y = *y;
    *y = NULL;
  }
fail:
  rlo__tensor_list_release(made, count + 1);
  rlo__scope_leave();
  rlo_status ended = rlo_tape_end(tape);
  return status != RLO_OK ? status : ended;
}
