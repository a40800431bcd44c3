/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/call/profile.h"
#include "engine/parts.h"

/* What separates the keys of trees from those of single operations, which begin
 * with an address. */
enum { FUSED = 1 };

/* A copy operation that waits: the state of a pending tensor. Constant. */
typedef struct deferred {
  atomic_int_fast64_t num_references;
  /** Retained, as are the inputs. */
  rlo__call_plan *plan;
  int32_t output;
  /** The largest number of operations that may be fused into it, itself
   *  included. */
  int32_t num_ops;
  int32_t num_inputs;
  rlo_tensor *inputs[];
} deferred;

static rlo_status deferred_run(void *state,
                               rlo__shared_shape *shape,
                               rlo__allocation **out_allocation);

static const rlo__backend_instance *deferred_instance(const void *state) {
  const deferred *d = state;
  return d->plan->instance;
}

static void deferred_retain(void *state) {
  deferred *d = state;
  atomic_fetch_add_explicit(&d->num_references, 1, memory_order_relaxed);
}

static void deferred_release(void *state) {
  deferred *d = state;
  if (d == NULL || atomic_fetch_sub_explicit(
                       &d->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  for (int32_t n = 0; n < d->num_inputs; ++n) {
    rlo__tensor_drop(d->inputs[n]);
  }
  rlo__call_plan_release(d->plan);
  rlo__free(d);
}

static const rlo__pending_ops deferred_ops = {
    deferred_run, deferred_instance, deferred_retain, deferred_release};

/* Retained; NULL for a tensor that is not pending. Only this file makes pending
 * tensors. */
static deferred *peek(rlo_tensor *tensor) {
  rlo__allocation *allocation = NULL;
  rlo__pending pending = {NULL, NULL};
  rlo__tensor_peek(tensor, &allocation, &pending);
  rlo__allocation_release(allocation);
  return pending.state;
}

static int32_t count_ops(rlo_tensor *tensor) {
  deferred *d = peek(tensor);
  int32_t count = d != NULL ? d->num_ops : 0;
  deferred_release(d);
  return count;
}

rlo_status rlo__fusion_create(rlo__call_plan *plan,
                              int32_t output,
                              rlo_tensor *const *inputs,
                              int32_t num_inputs,
                              rlo__pending *out_pending) {
  int32_t num_ops = 1;
  for (int32_t n = 0; n < num_inputs; ++n) {
    int32_t count = count_ops(inputs[n]);
    if (num_ops + count > RLO__MAX_FUSED_OPS) {
      /* Stay within the limit: this input is not fused with. */
      RLO_TRY(rlo_tensor_materialize(inputs[n]));
      count = 0;
    }
    num_ops += count;
  }
  deferred *made =
      rlo__alloc(sizeof *made + (size_t)num_inputs * sizeof(rlo_tensor *));
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&made->num_references, 1);
  made->plan = rlo__call_plan_retain(plan);
  made->output = output;
  made->num_ops = num_ops;
  made->num_inputs = num_inputs;
  for (int32_t n = 0; n < num_inputs; ++n) {
    made->inputs[n] = rlo__tensor_hold(inputs[n]);
  }
  *out_pending = (rlo__pending){&deferred_ops, made};
  return RLO_OK;
}

/* --------------------------------------------------- a tree of operations */

/* An operation of a tree. Inputs that are leaves are not pending. */
typedef struct node {
  deferred *pending;
  struct node *inputs;
} node;

/* A snapshot of what was pending behind a tensor: other threads may compute any
 * of it meanwhile. */
typedef struct tree {
  node root;
  int32_t num_ops;
  /** Of the keys of the plans, each with the output that is taken and what
   *  follows for its inputs; -1 for a leaf. A plan stands for its operation,
   * its shapes and the number of its inputs. */
  rlo__hash hash;
  /** The bytes of the leaves, retained, in the order in which the chain numbers
   *  its operands. */
  rlo__allocation **leaves;
  /** Their shapes, which the plans hold, and room for one more. */
  const rlo_shape **shapes;
  int32_t num_leaves;
  size_t leaves_capacity, shapes_capacity;
} tree;

static void node_deinit(node *n) {
  for (int32_t i = 0; n->inputs != NULL && i < n->pending->num_inputs; ++i) {
    node_deinit(&n->inputs[i]);
  }
  rlo__free(n->inputs);
  deferred_release(n->pending);
}

static void tree_deinit(tree *t) {
  for (int32_t n = 0; n < t->num_leaves; ++n) {
    rlo__allocation_release(t->leaves[n]);
  }
  rlo__free(t->leaves);
  rlo__free(t->shapes);
  node_deinit(&t->root);
}

static rlo_status add_leaf(tree *t,
                           rlo_tensor *tensor,
                           const rlo_shape *shape) {
  const size_t count = (size_t)t->num_leaves;
  rlo__hash_i64(&t->hash, -1);
  RLO_TRY(rlo__array_reserve(
      &t->leaves, sizeof(rlo__allocation *), count + 1, &t->leaves_capacity));
  RLO_TRY(rlo__array_reserve(
      &t->shapes, sizeof(rlo_shape *), count + 2, &t->shapes_capacity));
  RLO_TRY(rlo__tensor_need(
      tensor, t->root.pending->plan->instance, &t->leaves[count]));
  t->shapes[count] = shape;
  ++t->num_leaves;
  return RLO_OK;
}

/* Adds an operation and what its inputs are pending on. A tensor that another
 * instance computes is a leaf, whose bytes are copied, and so are indices. */
static rlo_status add_op(tree *t, node *n) {
  const deferred *d = n->pending;
  ++t->num_ops;
  rlo__hash_i64(&t->hash, d->output);
  rlo__hash_u64(&t->hash, d->plan->key.high);
  rlo__hash_u64(&t->hash, d->plan->key.low);
  n->inputs = rlo__alloc_array((size_t)d->num_inputs, sizeof *n->inputs);
  if (n->inputs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < d->num_inputs; ++i) {
    bool is_leaf =
        i > 0 && rlo__copy_op_has(d->plan->op, RLO__COPY_TAKES_INDICES);
    deferred *behind = is_leaf ? NULL : peek(d->inputs[i]);
    if (behind != NULL && behind->plan->instance == d->plan->instance) {
      n->inputs[i].pending = behind;
      RLO_TRY(add_op(t, &n->inputs[i]));
    } else {
      deferred_release(behind);
      RLO_TRY(add_leaf(t, d->inputs[i], d->plan->inputs[i]));
    }
  }
  return RLO_OK;
}

static rlo_status make_chain(const node *n, rlo_chain **out_chain);

/* The chain of an input: of the operation behind it, or of a leaf. */
static rlo_status make_input_chain(const void *parent,
                                   int32_t n,
                                   rlo_chain **out_chain) {
  const node *above = parent;
  return above->inputs[n].pending != NULL
             ? make_chain(&above->inputs[n], out_chain)
             : rlo_chain_create(above->pending->plan->inputs[n], out_chain);
}

static rlo_status make_chain(const node *n, rlo_chain **out_chain) {
  const deferred *d = n->pending;
  return rlo__copy_op_chain(d->plan->op,
                            make_input_chain,
                            n,
                            d->num_inputs,
                            d->plan->attributes,
                            d->output,
                            out_chain);
}

static rlo_status run_fused(const tree *t,
                            rlo__shared_shape *shape,
                            rlo__allocation **out_allocation) {
  const rlo__call_plan *plan = t->root.pending->plan;
  const rlo__hash128 key = rlo__hash_finish(&t->hash);
  rlo__call_plan *fused = rlo__call_plans_find(plan->plans, key);
  if (fused == NULL) {
    rlo_chain *chain = NULL;
    RLO_TRY(make_chain(&t->root, &chain));
    rlo_status status = rlo__call_plan_create_chain(
        plan->plans, plan->instance, &key, chain, shape, &fused);
    rlo_chain_release(chain);
    RLO_TRY(status);
  }
  rlo_status status =
      rlo__call_plan_run(fused, 0, t->leaves, t->num_leaves, out_allocation);
  rlo__call_plan_release(fused);
  return status;
}

/* Appends the operations of a tree in the order in which they apply, "A+B". */
static void append_names(const node *n, rlo__str *name) {
  for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
    if (n->inputs[i].pending != NULL) {
      append_names(&n->inputs[i], name);
    }
  }
  rlo__str_printf(
      name, "%s%s", name->length == 0 ? "" : "+", n->pending->plan->op->name);
}

/* Ends a run for the profile: of a tree, or of its last operation alone, whose
 * inputs are not more than the leaves. */
static void end_profile(rlo__profile_run *run,
                        tree *t,
                        bool is_alone,
                        const rlo__shared_shape *shape) {
  const rlo__call_plan *plan = t->root.pending->plan;
  int32_t num_inputs = t->num_leaves;
  rlo__str name = rlo__str_growing();
  if (is_alone) {
    num_inputs = plan->num_inputs;
    memcpy(t->shapes, plan->inputs, (size_t)num_inputs * sizeof *t->shapes);
    rlo__str_printf(&name, "%s", plan->op->name);
  } else {
    append_names(&t->root, &name);
  }
  t->shapes[num_inputs] = &shape->shape;
  rlo__profile_run_end(run,
                       rlo__str_text(&name),
                       plan->instance->name,
                       t->shapes,
                       num_inputs,
                       1);
  rlo__str_deinit(&name);
}

static rlo_status deferred_run(void *state,
                               rlo__shared_shape *shape,
                               rlo__allocation **out_allocation) {
  deferred *d = state;
  tree t = {.root = {d, NULL}, .hash = rlo__hash_init(FUSED)};
  rlo__profile_run run;
  deferred_retain(d);
  rlo__profile_run_begin(d->inputs[0]->engine->profiler, &run);
  rlo_status status = add_op(&t, &t.root);
  bool is_alone = status == RLO_OK && t.num_ops == 1;
  if (status == RLO_OK && !is_alone) {
    status = run_fused(&t, shape, out_allocation);
    is_alone = status == RLO_UNSUPPORTED;
  }
  if (is_alone) {
    /* Or beyond the limits of a chain: the last operation alone, on the bytes
     * of its inputs. */
    status = rlo__call_plan_run_or_fall_back(
        d->plan, d->output, d->inputs, d->num_inputs, out_allocation);
  }
  if (status == RLO_OK && run.number != 0) {
    end_profile(&run, &t, is_alone, shape);
  } else {
    rlo__profile_run_end(&run, NULL, NULL, NULL, 0, 0);
  }
  tree_deinit(&t);
  return status;
}
