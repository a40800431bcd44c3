/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/call/kernel_call.h"
#include "engine/gradient/tape.h"
#include "engine/parts.h"
#include "engine/tensor/tensor_lifetime.h"
#include "relayout/text.h"

/* -------------------------------------------------------------------- slots */

/* A tensor of a tape, of y or of the xs, at one moment. */
typedef struct slot {
  /** First, for the order. */
  uint64_t id;
  /** It depends on an x; y depends on it, and it on an x. */
  bool is_from_x, is_on_path;
  /** The contributions to its gradient, which are added up in this order. */
  rlo_tensor **dxs;
  int32_t count;
  size_t capacity;
} slot;

typedef struct backward {
  rlo_tape *tape;
  /** In ascending order of their ids. */
  slot *slots;
  int32_t num_slots;
} backward;

static int compare_ids(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a;
  uint64_t right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* The slot of an id that there is. */
static slot *find_slot(const backward *b, uint64_t id) {
  int32_t low = 0;
  int32_t high = b->num_slots - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (b->slots[middle].id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return &b->slots[low];
}

static int32_t count_tensors(const rlo__tape_node *node) {
  return node->call.num_inputs + node->call.num_outputs;
}

/* Makes the slots of all tensors of the tape, y and the xs, each once. */
static rlo_status make_slots(backward *b,
                             const rlo_tensor *y,
                             rlo_tensor *const *xs,
                             int32_t count) {
  const rlo_tape *tape = b->tape;
  int64_t max_slots = (int64_t)count + 1;
  for (int64_t n = 0; n < tape->count; ++n) {
    max_slots += count_tensors(tape->nodes[n]);
  }
  if (max_slots > INT32_MAX) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "the tape holds %lld tensors; the limit is %d",
                    (long long)max_slots,
                    INT32_MAX);
  }
  b->slots = rlo__alloc_array((size_t)max_slots, sizeof *b->slots);
  if (b->slots == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  slot *next = b->slots;
  (next++)->id = y->id;
  for (int32_t i = 0; i < count; ++i) {
    (next++)->id = xs[i]->id;
  }
  for (int64_t n = 0; n < tape->count; ++n) {
    for (int32_t i = 0; i < count_tensors(tape->nodes[n]); ++i) {
      (next++)->id = tape->nodes[n]->ids[i];
    }
  }
  qsort(b->slots, (size_t)max_slots, sizeof *b->slots, compare_ids);
  for (const slot *s = b->slots; s != next; ++s) {
    if (b->num_slots == 0 || s->id != b->slots[b->num_slots - 1].id) {
      b->slots[b->num_slots++].id = s->id;
    }
  }
  return RLO_OK;
}

/* Tells if an input of a kernel depends on an x. */
static bool is_from_x(const backward *b, const rlo__tape_node *node) {
  bool is_any = false;
  for (int32_t i = 0; i < node->call.num_inputs && !is_any; ++i) {
    is_any = find_slot(b, node->ids[i])->is_from_x;
  }
  return is_any;
}

/* Tells if a gradient of the kernel is needed: it leads from an x to y. */
static bool is_on_path(const backward *b, const rlo__tape_node *node) {
  bool is_any = false;
  for (int32_t i = node->call.num_inputs; i < count_tensors(node) && !is_any;
       ++i) {
    is_any = find_slot(b, node->ids[i])->is_on_path;
  }
  return is_any && is_from_x(b, node);
}

static void mark_slots(backward *b,
                       const rlo_tensor *y,
                       rlo_tensor *const *xs,
                       int32_t count) {
  const rlo_tape *tape = b->tape;
  for (int32_t i = 0; i < count; ++i) {
    find_slot(b, xs[i]->id)->is_from_x = true;
  }
  /* A kernel runs after those that made its inputs. */
  for (int64_t n = 0; n < tape->count; ++n) {
    const rlo__tape_node *node = tape->nodes[n];
    bool is_from = is_from_x(b, node);
    for (int32_t i = node->call.num_inputs; is_from && i < count_tensors(node);
         ++i) {
      find_slot(b, node->ids[i])->is_from_x = true;
    }
  }
  slot *last = find_slot(b, y->id);
  last->is_on_path = last->is_from_x;
  for (int64_t n = tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = tape->nodes[n];
    bool is_on = is_on_path(b, node);
    for (int32_t i = 0; is_on && i < node->call.num_inputs; ++i) {
      slot *s = find_slot(b, node->ids[i]);
      s->is_on_path = s->is_on_path || s->is_from_x;
    }
  }
}

/* ---------------------------------------------------------------- gradients */

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
  RLO_TRY(rlo__tensors_check(xs, count, tape->engine, "x"));
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
    if (!find_slot(b, xs[i]->id)->is_on_path &&
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
    if (node->gradient.run == NULL && is_on_path(b, node)) {
      return rlo__gradient_fail_missing(node->call.kernel_name);
    }
  }
  return RLO_OK;
}

/* Takes over the reference, also on failure. */
static rlo_status contribute(slot *s, rlo_tensor *dx) {
  rlo_status status = rlo__array_reserve(
      &s->dxs, sizeof(rlo_tensor *), (size_t)s->count + 1, &s->capacity);
  if (status != RLO_OK) {
    rlo_tensor_release(dx);
    return status;
  }
  s->dxs[s->count++] = dx;
  return RLO_OK;
}

/* Adds up the gradient of a slot, which keeps a reference to it. */
static rlo_status add_up(slot *s, rlo_tensor **out_sum) {
  if (s->count > 1) {
    rlo_tensor *sum = NULL;
    RLO_TRY(rlo__gradient_add(s->dxs, s->count, &sum));
    while (s->count > 0) {
      rlo_tensor_release(s->dxs[--s->count]);
    }
    s->dxs[s->count++] = sum;
  }
  *out_sum = rlo_tensor_retain(s->dxs[0]);
  return RLO_OK;
}

/* Collects the gradients of a kernel's results. */
static rlo_status take_dys(const backward *b,
                           const rlo__tape_node *node,
                           rlo_tensor **dys) {
  for (int32_t k = 0; k < node->call.num_outputs; ++k) {
    int32_t place = node->call.num_inputs + k;
    slot *s = find_slot(b, node->ids[place]);
    RLO_TRY(s->count > 0 ? add_up(s, &dys[k])
                         : rlo__gradient_constant(b->tape->engine,
                                                  node->shapes[place],
                                                  RLO_DTYPE_ZERO,
                                                  &dys[k]));
  }
  return RLO_OK;
}

static rlo_status run_gradient(const backward *b,
                               const rlo__tape_node *node,
                               rlo_tensor **dys,
                               bool *wants,
                               rlo_tensor **dxs) {
  rlo_gradient_call call = node->call;
  call.dys = dys;
  call.wants = wants;
  call.dxs = dxs;
  for (int32_t i = 0; i < call.num_inputs; ++i) {
    wants[i] = find_slot(b, node->ids[i])->is_on_path;
  }
  RLO_TRY(take_dys(b, node, dys));
  RLO_TRY(rlo__gradient_run(&node->gradient, &call));
  for (int32_t i = 0; i < call.num_inputs; ++i) {
    if (wants[i]) {
      rlo_tensor *dx = dxs[i];
      dxs[i] = NULL;
      RLO_TRY(contribute(find_slot(b, node->ids[i]), dx));
    }
  }
  return RLO_OK;
}

static rlo_status step_back(const backward *b, const rlo__tape_node *node) {
  const size_t num_inputs = (size_t)node->call.num_inputs;
  rlo_tensor **dys =
      rlo__alloc_array((size_t)node->call.num_outputs, sizeof(rlo_tensor *));
  rlo_tensor **dxs = rlo__alloc_array(num_inputs, sizeof(rlo_tensor *));
  bool *wants = rlo__alloc_array(num_inputs, sizeof *wants);
  rlo_status status = dys != NULL && dxs != NULL && wants != NULL
                          ? run_gradient(b, node, dys, wants, dxs)
                          : RLO_OUT_OF_MEMORY;
  rlo__tensor_list_release(dys, node->call.num_outputs);
  rlo__tensor_list_release(dxs, node->call.num_inputs);
  rlo__free(wants);
  return status;
}

static rlo_status run_backward(const backward *b,
                               rlo_tensor *y,
                               rlo_tensor *dy) {
  rlo_tensor *first = rlo_tensor_retain(dy);
  slot *last = find_slot(b, y->id);
  if (!last->is_on_path) {
    rlo_tensor_release(first);
    return RLO_OK;
  }
  if (first == NULL) {
    RLO_TRY(rlo__gradient_constant(
        b->tape->engine, &y->shape->shape, RLO_DTYPE_ONE, &first));
  }
  RLO_TRY(contribute(last, first));
  for (int64_t n = b->tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = b->tape->nodes[n];
    if (is_on_path(b, node)) {
      RLO_TRY(step_back(b, node));
    }
  }
  return RLO_OK;
}

static rlo_status compute(backward *b,
                          rlo_tensor *y,
                          rlo_tensor *dy,
                          rlo_tensor *const *xs,
                          int32_t count,
                          uint32_t flags,
                          rlo_tensor **dxs) {
  RLO_TRY(make_slots(b, y, xs, count));
  mark_slots(b, y, xs, count);
  RLO_TRY(check_path(b, y, xs, count, flags));
  RLO_TRY(run_backward(b, y, dy));
  for (int32_t i = 0; i < count; ++i) {
    slot *s = find_slot(b, xs[i]->id);
    if (s->is_on_path) {
      RLO_TRY(add_up(s, &dxs[i]));
    }
  }
  return RLO_OK;
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
  rlo_tensor **dxs = rlo__alloc_array((size_t)count, sizeof(rlo_tensor *));
  if (dxs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__scope_enter();
  tape->is_computing = true;
  rlo_status status = compute(&b, y, dy, xs, count, flags, dxs);
  if (status == RLO_OK) {
    status = rlo__scope_hand_out(tape->engine, dxs, count, out_dxs);
  }
  tape->is_computing = false;
  for (int32_t s = 0; s < b.num_slots; ++s) {
    rlo__tensor_list_release(b.slots[s].dxs, b.slots[s].count);
  }
  rlo__free(b.slots);
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

/* ------------------------------------------------- of one kernel, by itself */

static rlo_status check_product(const rlo_engine *engine,
                                const char *kernel_name,
                                int32_t num_inputs,
                                rlo_tensor *const *dys,
                                int32_t num_dys) {
  if (num_inputs < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the gradient of kernel '%s': there are no inputs",
                    kernel_name);
  }
  if (num_dys < 1) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the gradient of kernel '%s': there is no dy",
                    kernel_name);
  }
  for (int32_t k = 0; k < num_dys; ++k) {
    if (dys[k] != NULL) {
      RLO_TRY(rlo__tensor_check(dys[k], engine, "dy", k));
    }
  }
  return RLO_OK;
}

/* A vector-Jacobian product under construction. */
typedef struct product {
  /** The kernel's call; what it would return is known if the gradient saves it.
   */
  rlo_kernel_call call;
  const rlo_kernel_config *kernel;
  rlo_gradient_config gradient;
  int32_t num_dys;
  const rlo_shape **input_shapes;
  rlo_shape *output_shapes;
  rlo_tensor **dys, **outputs, **dxs;
  bool *wants;
  rlo__tape_node *node;
} product;

static rlo_status make_room(product *p) {
  size_t num_inputs = (size_t)p->call.num_inputs;
  size_t num_dys = (size_t)p->num_dys;
  p->input_shapes = rlo__alloc_array(num_inputs, sizeof(rlo_shape *));
  p->output_shapes = rlo__alloc_array(num_dys, sizeof *p->output_shapes);
  p->dys = rlo__alloc_array(num_dys, sizeof(rlo_tensor *));
  p->outputs = rlo__alloc_array(num_dys, sizeof(rlo_tensor *));
  p->dxs = rlo__alloc_array(num_inputs, sizeof(rlo_tensor *));
  p->wants = rlo__alloc_array(num_inputs, sizeof *p->wants);
  return p->input_shapes == NULL || p->output_shapes == NULL ||
                 p->dys == NULL || p->outputs == NULL || p->dxs == NULL ||
                 p->wants == NULL
             ? RLO_OUT_OF_MEMORY
             : RLO_OK;
}

/* Reports every error of the arguments, before a kernel runs. */
static rlo_status check_dys(product *p, rlo_tensor *const *dys) {
  const rlo_kernel_call *r = &p->call;
  int32_t count = 0;
  for (int32_t n = 0; n < r->num_inputs; ++n) {
    p->input_shapes[n] = rlo_tensor_shape(r->inputs[n]);
  }
  RLO_TRY(rlo_infer_kernel(r->engine,
                           r->kernel_name,
                           p->input_shapes,
                           r->num_inputs,
                           r->attributes,
                           p->output_shapes,
                           p->num_dys,
                           &count));
  if (count != p->num_dys) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "kernel '%s' has %d results, and there are %d dys",
                    r->kernel_name,
                    count,
                    p->num_dys);
  }
  for (int32_t k = 0; k < count; ++k) {
    if (dys[k] != NULL) {
      RLO_TRY(rlo__gradient_check_dy(dys[k], &p->output_shapes[k], "dy", k));
    }
  }
  return RLO_OK;
}

/* Runs the kernel if its gradient saves results, and then the gradient. */
static rlo_status run_product(product *p, rlo_tensor *const *dys) {
  rlo_kernel_call *r = &p->call;
  for (int32_t k = 0; k < p->num_dys; ++k) {
    p->dys[k] = rlo_tensor_retain(dys[k]);
    if (p->dys[k] == NULL) {
      RLO_TRY(rlo__gradient_constant(
          r->engine, &p->output_shapes[k], RLO_DTYPE_ZERO, &p->dys[k]));
    }
  }
  if (rlo__gradient_saves_outputs(&p->gradient, p->kernel)) {
    RLO_TRY(rlo_run_kernel(r->engine,
                           r->kernel_name,
                           r->inputs,
                           r->num_inputs,
                           r->attributes,
                           p->outputs,
                           p->num_dys,
                           NULL));
    r->num_outputs = p->num_dys;
  }
  const rlo__record record = {.call = r, .config = p->kernel};
  RLO_TRY(rlo__tape_node_create(&record, &p->gradient, &p->node));
  rlo_gradient_call call = p->node->call;
  call.dys = p->dys;
  call.num_outputs = p->num_dys;
  call.wants = p->wants;
  call.dxs = p->dxs;
  return rlo__gradient_run(&p->gradient, &call);
}

rlo_status rlo_vjp(rlo_engine *engine,
                   const char *kernel_name,
                   rlo_tensor *const *inputs,
                   int32_t num_inputs,
                   const rlo_attributes *attributes,
                   rlo_tensor *const *dys,
                   int32_t num_dys,
                   const bool *wants,
                   rlo_tensor **out_dxs) {
  RLO_REQUIRE(engine, kernel_name, inputs, dys, out_dxs);
  RLO_TRY(check_product(engine, kernel_name, num_inputs, dys, num_dys));
  product p = {.call = {.engine = engine,
                        .inputs = inputs,
                        .num_inputs = num_inputs,
                        .attributes = attributes},
               .num_dys = num_dys};
  rlo__bound_kernel *bound = NULL;
  if (!rlo__gradient_find(engine, kernel_name, &p.gradient)) {
    return rlo__gradient_fail_missing(kernel_name);
  }
  RLO_TRY(rlo__kernel_bind(engine->registry, kernel_name, &bound, NULL));
  p.call.kernel_name = p.gradient.kernel_name;
  p.kernel = &bound->config;
  p.call.input_names = bound->config.input_names;
  p.call.num_input_names = bound->config.num_input_names;
  rlo__scope_enter();
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(
      rlo__kernel_check_inputs(&bound->config, engine, inputs, num_inputs));
  RLO_TRY_GOTO(make_room(&p));
  p.call.outputs = p.outputs;
  RLO_TRY_GOTO(check_dys(&p, dys));
  for (int32_t n = 0; n < num_inputs; ++n) {
    p.wants[n] = wants == NULL || wants[n];
  }
  RLO_TRY_GOTO(run_product(&p, dys));
  status = rlo__scope_hand_out(engine, p.dxs, num_inputs, out_dxs);
fail:
  rlo__tape_node_release(p.node);
  rlo__tensor_list_release(p.dxs, num_inputs);
  rlo__tensor_list_release(p.dys, num_dys);
  rlo__tensor_list_release(p.outputs, num_dys);
  rlo__free(p.wants);
  rlo__free(p.output_shapes);
  rlo__free(p.input_shapes);
  rlo__bound_kernel_release(bound);
  rlo__scope_leave();
  return status;
}
