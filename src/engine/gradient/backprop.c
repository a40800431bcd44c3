/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/status.h"
#include "base/table.h"
#include "engine/call/kernel_call.h"
#include "engine/gradient/gradient.h"
#include "engine/parts.h"
#include "engine/tensor/tensor_lifetime.h"

/* -------------------------------------------------------------------- slots */

/* A tensor that depends on an x, at one moment. */
typedef struct slot {
  /** Its hash is the tensor's id. */
  rlo__table_node node;
  /** y depends on it. */
  bool is_on_path;
  /** The contributions to its gradient, which are added up in this order. */
  rlo_tensor **dxs;
  int32_t count;
  size_t capacity;
} slot;

typedef struct backward {
  rlo_tape *tape;
  /** The slots. */
  rlo__table slots;
} backward;

/* The slot of a tensor that depends on an x and, with `is_on_path`, that y
 * depends on; NULL for another one. */
static slot *find_slot(const backward *b, uint64_t id, bool is_on_path) {
  slot *found = rlo__table_find(&b->slots, id, NULL, NULL);
  return found != NULL && (found->is_on_path || !is_on_path) ? found : NULL;
}

static rlo_status add_slot(backward *b, uint64_t id) {
  if (find_slot(b, id, false) == NULL) {
    slot *made = rlo__alloc(sizeof *made);
    RLO_TRY_MEMORY(made);
    rlo__table_insert(&b->slots, made, id);
  }
  return RLO_OK;
}

/* Tells if a gradient of the kernel is needed: an input depends on an x and,
 * with `is_on_path`, y on a result. */
static bool has_slots(const backward *b, const rlo__tape_node *node, bool is_on_path) {
  const uint64_t *outputs = node->ids + node->call.num_inputs;
  bool has_input = false;
  bool has_output = !is_on_path;
  for (int32_t n = 0; n < node->call.num_inputs && !has_input; ++n) {
    has_input = find_slot(b, node->ids[n], false) != NULL;
  }
  for (int32_t k = 0; k < node->call.num_outputs && !has_output; ++k) {
    has_output = find_slot(b, outputs[k], true) != NULL;
  }
  return has_input && has_output;
}

static rlo_status find_paths(backward *b, const rlo_tensor *y, rlo_tensor *const *xs,
                             int32_t count) {
  const rlo_tape *tape = b->tape;
  for (int32_t i = 0; i < count; ++i) {
    RLO_TRY(add_slot(b, xs[i]->id));
  }
  /* A kernel runs after those that made its inputs. */
  for (int64_t n = 0; n < tape->count; ++n) {
    const rlo__tape_node *node = tape->nodes[n];
    const uint64_t *outputs = node->ids + node->call.num_inputs;
    bool is_from_x = has_slots(b, node, false);
    for (int32_t k = 0; is_from_x && k < node->call.num_outputs; ++k) {
      RLO_TRY(add_slot(b, outputs[k]));
    }
  }
  slot *reached = find_slot(b, y->id, false);
  if (reached != NULL) {
    reached->is_on_path = true;
  }
  for (int64_t n = tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = tape->nodes[n];
    bool is_on_path = has_slots(b, node, true);
    for (int32_t i = 0; is_on_path && i < node->call.num_inputs; ++i) {
      reached = find_slot(b, node->ids[i], false);
      if (reached != NULL) {
        reached->is_on_path = true;
      }
    }
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------- gradients */

static rlo_status check_count(int32_t count) {
  return count < 1
             ? RLO_FAIL(RLO_INVALID_ARGUMENT, "gradients: there are no tensors to take them of")
             : RLO_OK;
}

static rlo_status check_arguments(const rlo_tape *tape, const rlo_tensor *y, const rlo_tensor *dy,
                                  rlo_tensor *const *xs, int32_t count, uint32_t flags) {
  RLO_TRY(rlo__tape_check(tape, "gradients"));
  RLO_TRY(check_count(count));
  RLO_FAIL_IF((flags & ~(uint32_t)RLO_TAPE_ALLOW_UNCONNECTED) != 0, RLO_INVALID_ARGUMENT,
              "gradients: no known flags (%#x)", flags);
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
static rlo_status check_path(const backward *b, const rlo_tensor *y, rlo_tensor *const *xs,
                             int32_t count, uint32_t flags) {
  for (int32_t i = 0; i < count; ++i) {
    RLO_FAIL_IF(
        find_slot(b, xs[i]->id, true) == NULL && (flags & RLO_TAPE_ALLOW_UNCONNECTED) == 0,
        RLO_INVALID_ARGUMENT, "no kernel that the tape recorded leads from x %d, %s, to y, %s", i,
        rlo__shape_words_of(&xs[i]->shape->shape).text, rlo__shape_words_of(&y->shape->shape).text);
  }
  for (int64_t n = 0; n < b->tape->count; ++n) {
    const rlo__tape_node *node = b->tape->nodes[n];
    if (node->gradient.run == NULL && has_slots(b, node, true)) {
      return rlo__registry_fail_missing(b->tape->engine->registry, node->call.kernel_name, NULL);
    }
  }
  return RLO_OK;
}

/* Takes over the reference, also on failure. */
static rlo_status contribute(slot *s, rlo_tensor *dx) {
  rlo_status status =
      rlo__array_reserve(&s->dxs, sizeof(rlo_tensor *), (size_t)s->count + 1, &s->capacity);
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

/* The call of a gradient with room for the dys, the dxs and what is wanted. */
typedef struct step {
  rlo_gradient_call call;
  /** The gradients that `call` gets, which are writable here. */
  rlo_tensor **dys;
  bool *wants;
} step;

static rlo_status step_init(step *s, const rlo_gradient_call *call, int32_t num_outputs) {
  const size_t num_inputs = (size_t)call->num_inputs;
  *s = (step){.call = *call,
              .dys = rlo__alloc_array((size_t)num_outputs, sizeof(rlo_tensor *)),
              .wants = rlo__alloc_array(num_inputs, sizeof *s->wants)};
  s->call.num_outputs = num_outputs;
  s->call.dys = s->dys;
  s->call.wants = s->wants;
  s->call.dxs = rlo__alloc_array(num_inputs, sizeof(rlo_tensor *));
  return s->dys != NULL && s->call.dxs != NULL && s->wants != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

static void step_deinit(step *s) {
  rlo__tensor_list_release(s->dys, s->call.num_outputs);
  rlo__tensor_list_release(s->call.dxs, s->call.num_inputs);
  rlo__free(s->wants);
}

static rlo_status run_step(const backward *b, const rlo__tape_node *node, step *s) {
  const int32_t num_inputs = s->call.num_inputs;
  for (int32_t i = 0; i < num_inputs; ++i) {
    s->wants[i] = find_slot(b, node->ids[i], true) != NULL;
  }
  for (int32_t k = 0; k < s->call.num_outputs; ++k) {
    slot *of_dy = find_slot(b, node->ids[num_inputs + k], true);
    RLO_TRY(of_dy != NULL && of_dy->count > 0
                ? add_up(of_dy, &s->dys[k])
                : rlo__gradient_constant(b->tape->engine, node->call.input_shapes[num_inputs + k],
                                         RLO_DTYPE_ZERO, &s->dys[k]));
  }
  RLO_TRY(rlo__gradient_run(&node->gradient, &s->call));
  for (int32_t i = 0; i < num_inputs; ++i) {
    if (s->wants[i]) {
      rlo_tensor *dx = s->call.dxs[i];
      s->call.dxs[i] = NULL;
      RLO_TRY(contribute(find_slot(b, node->ids[i], true), dx));
    }
  }
  return RLO_OK;
}

static rlo_status run_backward(const backward *b, rlo_tensor *y, rlo_tensor *dy) {
  slot *last = find_slot(b, y->id, true);
  if (last == NULL) {
    return RLO_OK;
  }
  rlo_tensor *first = rlo_tensor_retain(dy);
  if (first == NULL) {
    RLO_TRY(rlo__gradient_constant(b->tape->engine, &y->shape->shape, RLO_DTYPE_ONE, &first));
  }
  RLO_TRY(contribute(last, first));
  for (int64_t n = b->tape->count - 1; n >= 0; --n) {
    const rlo__tape_node *node = b->tape->nodes[n];
    if (has_slots(b, node, true)) {
      step s;
      rlo_status status = step_init(&s, &node->call, node->call.num_outputs);
      if (status == RLO_OK) {
        status = run_step(b, node, &s);
      }
      step_deinit(&s);
      RLO_TRY(status);
    }
  }
  return RLO_OK;
}

static rlo_status compute(backward *b, rlo_tensor *y, rlo_tensor *dy, rlo_tensor *const *xs,
                          int32_t count, uint32_t flags, rlo_tensor **dxs) {
  RLO_TRY(find_paths(b, y, xs, count));
  RLO_TRY(check_path(b, y, xs, count, flags));
  RLO_TRY(run_backward(b, y, dy));
  for (int32_t i = 0; i < count; ++i) {
    slot *s = find_slot(b, xs[i]->id, true);
    if (s != NULL) {
      RLO_TRY(add_up(s, &dxs[i]));
    }
  }
  return RLO_OK;
}

rlo_status rlo_tape_gradients(rlo_tape *tape, rlo_tensor *y, rlo_tensor *dy, rlo_tensor *const *xs,
                              int32_t count, uint32_t flags, rlo_tensor **out_dxs) {
  RLO_REQUIRE(tape, y, xs, out_dxs);
  RLO_TRY(check_arguments(tape, y, dy, xs, count, flags));
  backward b = {.tape = tape};
  rlo_tensor **dxs = rlo__alloc_array((size_t)count, sizeof(rlo_tensor *));
  RLO_TRY_MEMORY(dxs);
  rlo__table_init(&b.slots, offsetof(slot, node));
  rlo__scope_enter();
  tape->is_computing = true;
  rlo_status status = compute(&b, y, dy, xs, count, flags, dxs);
  if (status == RLO_OK) {
    status = rlo__scope_hand_out(tape->engine, dxs, count, out_dxs);
  }
  tape->is_computing = false;
  slot *s = NULL;
  while ((s = rlo__table_remove_oldest(&b.slots)) != NULL) {
    rlo__tensor_list_release(s->dxs, s->count);
    rlo__free(s);
  }
  rlo__table_deinit(&b.slots);
  rlo__tensor_list_release(dxs, count);
  rlo__scope_leave();
  return status;
}

rlo_status rlo_value_and_gradients(rlo_engine *engine, rlo_tensor_fn f, void *payload,
                                   rlo_tensor *const *xs, int32_t count, rlo_tensor *dy,
                                   uint32_t flags, rlo_tensor **out_y, rlo_tensor **out_dxs) {
  RLO_REQUIRE(engine, f, xs, out_dxs);
  RLO_TRY(check_count(count));
  rlo_tape *tape = NULL;
  rlo_tensor *y = NULL;
  RLO_TRY(rlo_tape_begin(engine, &tape));
  rlo__scope_enter();
  rlo_status status = RLO__CALLBACK(f(engine, xs, count, &y, payload), "the function to derive");
  if (status == RLO_OK) {
    status = rlo__scope_hand_out(engine, &y, 1, &y);
  }
  if (status != RLO_OK) {
    rlo_tensor_release(y);
    y = NULL;
  }
  rlo__scope_leave();
  if (status == RLO_OK) {
    status = rlo_tape_gradients(tape, y, dy, xs, count, flags, out_dxs);
  }
  if (status == RLO_OK && out_y != NULL) {
    *out_y = y;
  } else {
    rlo_tensor_release(y);
  }
  rlo_status ended = rlo_tape_end(tape);
  return status != RLO_OK ? status : ended;
}

/* ------------------------------------------------- of one kernel, by itself */

static rlo_status check_product(const rlo_engine *engine, const char *kernel_name,
                                int32_t num_inputs, rlo_tensor *const *dys, int32_t num_dys) {
  RLO_FAIL_IF(num_inputs < 1 || num_dys < 1, RLO_INVALID_ARGUMENT,
              "the gradient of kernel '%s': %s", kernel_name,
              num_inputs < 1 ? "there are no inputs" : "there is no dy");
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
  rlo__config gradient;
  int32_t num_dys;
  rlo_shape *output_shapes;
  rlo_tensor **outputs;
  rlo__tape_node *node;
  step step;
} product;

/* Infers the results, and reports every error of the arguments, before a kernel
 * runs. */
static rlo_status check_dys(const product *p, rlo_tensor *const *dys) {
  const rlo_kernel_call *r = &p->call;
  int32_t count = 0;
  const rlo_shape **inputs = rlo__alloc_array((size_t)r->num_inputs, sizeof(rlo_shape *));
  RLO_TRY_MEMORY(inputs);
  for (int32_t n = 0; n < r->num_inputs; ++n) {
    inputs[n] = rlo_tensor_shape(r->inputs[n]);
  }
  rlo_status status = rlo_infer_kernel(r->engine, r->kernel_name, inputs, r->num_inputs,
                                       r->attributes, p->output_shapes, p->num_dys, &count);
  rlo__free(inputs);
  RLO_TRY(status);
  RLO_FAIL_IF(count != p->num_dys, RLO_INVALID_ARGUMENT,
              "kernel '%s' has %d results, and there are %d dys", r->kernel_name, count,
              p->num_dys);
  for (int32_t k = 0; k < count; ++k) {
    if (dys[k] != NULL) {
      RLO_TRY(rlo__gradient_check_dy(dys[k], &p->output_shapes[k], "dy", k));
    }
  }
  return RLO_OK;
}

/* Runs the kernel if its gradient saves results, and then the gradient. */
static rlo_status run_product(product *p, rlo_tensor *const *dys, const bool *wants) {
  rlo_kernel_call *r = &p->call;
  if (rlo__gradient_saves_outputs(&p->gradient.gradient, p->kernel)) {
    RLO_TRY(rlo_run_kernel(r->engine, r->kernel_name, r->inputs, r->num_inputs, r->attributes,
                           p->outputs, p->num_dys, NULL));
    r->outputs = p->outputs;
    r->num_outputs = p->num_dys;
  }
  RLO_TRY(rlo__tape_node_create(&(rlo__record){.call = r, .config = p->kernel},
                                &p->gradient.gradient, &p->node));
  RLO_TRY(step_init(&p->step, &p->node->call, p->num_dys));
  for (int32_t k = 0; k < p->num_dys; ++k) {
    p->step.dys[k] = rlo_tensor_retain(dys[k]);
    if (dys[k] == NULL) {
      RLO_TRY(
          rlo__gradient_constant(r->engine, &p->output_shapes[k], RLO_DTYPE_ZERO, &p->step.dys[k]));
    }
  }
  for (int32_t n = 0; n < r->num_inputs; ++n) {
    p->step.wants[n] = wants == NULL || wants[n];
  }
  return rlo__gradient_run(&p->gradient.gradient, &p->step.call);
}

rlo_status rlo_vjp(rlo_engine *engine, const char *kernel_name, rlo_tensor *const *inputs,
                   int32_t num_inputs, const rlo_attributes *attributes, rlo_tensor *const *dys,
                   int32_t num_dys, const bool *wants, rlo_tensor **out_dxs) {
  RLO_REQUIRE(engine, kernel_name, inputs, dys, out_dxs);
  RLO_TRY(check_product(engine, kernel_name, num_inputs, dys, num_dys));
  product p = {.num_dys = num_dys};
  rlo__bound_kernel *bound = NULL;
  if (!rlo__registry_get(engine->registry, kernel_name, NULL, &p.gradient)) {
    return rlo__registry_fail_missing(engine->registry, kernel_name, NULL);
  }
  RLO_TRY(rlo__kernel_bind(engine->registry, kernel_name, &bound, NULL));
  p.kernel = &bound->config;
  p.call = (rlo_kernel_call){.engine = engine,
                             .kernel_name = p.gradient.head.kernel_name,
                             .inputs = inputs,
                             .num_inputs = num_inputs,
                             .input_names = p.kernel->input_names,
                             .num_input_names = p.kernel->num_input_names,
                             .attributes = attributes};
  p.output_shapes = rlo__alloc_array((size_t)num_dys, sizeof *p.output_shapes);
  p.outputs = rlo__alloc_array((size_t)num_dys, sizeof(rlo_tensor *));
  rlo__scope_enter();
  rlo_status status = p.output_shapes != NULL && p.outputs != NULL
                          ? rlo__kernel_check_inputs(p.kernel, engine, inputs, num_inputs)
                          : RLO_OUT_OF_MEMORY;
  RLO_TRY_GOTO(status);
  RLO_TRY_GOTO(check_dys(&p, dys));
  RLO_TRY_GOTO(run_product(&p, dys, wants));
  status = rlo__scope_hand_out(engine, p.step.call.dxs, num_inputs, out_dxs);
fail:
  step_deinit(&p.step);
  rlo__tape_node_release(p.node);
  rlo__tensor_list_release(p.outputs, num_dys);
  rlo__free(p.output_shapes);
  rlo__bound_kernel_release(bound);
  rlo__scope_leave();
  return status;
}
