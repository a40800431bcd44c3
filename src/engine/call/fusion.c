/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/call/profile.h"
#include "engine/parts.h"

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

/* ---------------------------------------------------------- a tree of
 * operations
 */

/* A snapshot of what was pending: other threads may compute any of it
 * meanwhile. A leaf has bytes, an inner node is an operation. */
typedef struct node {
  rlo__allocation *allocation;
  deferred *pending;
  struct node *inputs;
} node;

static void node_deinit(node *n) {
  if (n->inputs != NULL) {
    for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
      node_deinit(&n->inputs[i]);
    }
    rlo__free(n->inputs);
  }
  deferred_release(n->pending);
  rlo__allocation_release(n->allocation);
}

static rlo_status freeze_inputs(node *n);

/* A tensor that another instance computes is a leaf: its bytes are copied. */
static rlo_status freeze(rlo_tensor *tensor,
                         rlo__backend_instance *instance,
                         node *out_node) {
  out_node->pending = peek(tensor);
  if (out_node->pending != NULL &&
      out_node->pending->plan->instance == instance) {
    return freeze_inputs(out_node);
  }
  deferred_release(out_node->pending);
  out_node->pending = NULL;
  return rlo__tensor_need(tensor, instance, &out_node->allocation);
}

static rlo_status freeze_inputs(node *n) {
  const deferred *pending = n->pending;
  rlo__backend_instance *instance = pending->plan->instance;
  n->inputs = rlo__alloc_array((size_t)pending->num_inputs, sizeof *n->inputs);
  if (n->inputs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < pending->num_inputs; ++i) {
    bool is_fused =
        i == 0 || !rlo__copy_op_has(pending->plan->op, RLO__COPY_TAKES_INDICES);
    RLO_TRY(is_fused
                ? freeze(pending->inputs[i], instance, &n->inputs[i])
                : rlo__tensor_need(
                      pending->inputs[i], instance, &n->inputs[i].allocation));
  }
  return RLO_OK;
}

/* Appends the tree to a key: the id of a plan, which stands for its operation,
 * its shapes and the number of inputs that follow; 0 for a leaf. */
static rlo_status push_node(const node *n, rlo__call_key *key) {
  if (n->pending == NULL) {
    return rlo__call_key_push(key, 0);
  }
  RLO_TRY(rlo__call_key_push(key, n->pending->plan->id));
  RLO_TRY(rlo__call_key_push(key, (uint64_t)n->pending->output));
  for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
    RLO_TRY(push_node(&n->inputs[i], key));
  }
  return RLO_OK;
}

static int32_t count_leaves(const node *n) {
  if (n->pending == NULL) {
    return 1;
  }
  int32_t count = 0;
  for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
    count += count_leaves(&n->inputs[i]);
  }
  return count;
}

/* In the order in which the chain numbers its operands. */
static void collect_leaves(const node *n,
                           rlo__allocation **out,
                           int32_t *count) {
  if (n->pending == NULL) {
    out[(*count)++] = n->allocation;
    return;
  }
  for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
    collect_leaves(&n->inputs[i], out, count);
  }
}

static rlo_status make_chain(const node *n, rlo_chain **out_chain);

/* The chain of an input: of the operation behind it, or of a leaf. */
static rlo_status make_input_chain(const void *tree,
                                   int32_t n,
                                   rlo_chain **out_chain) {
  const node *parent = tree;
  return parent->inputs[n].pending != NULL
             ? make_chain(&parent->inputs[n], out_chain)
             : rlo_chain_create(parent->pending->plan->inputs[n], out_chain);
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

static rlo_status get_fused(const node *root,
                            rlo__shared_shape *shape,
                            rlo__call_plan **out_plan) {
  const rlo__call_plan *plan = root->pending->plan;
  rlo__call_key key;
  rlo_chain *chain = NULL;
  rlo__call_key_init(&key);
  rlo_status status = RLO_OK;
  /* Leading 0 separates the keys of trees from those of single operations,
   * which begin with an address. */
  RLO_TRY_GOTO(rlo__call_key_push(&key, 0));
  RLO_TRY_GOTO(push_node(root, &key));
  *out_plan = rlo__call_plans_find(plan->plans, &key);
  if (*out_plan == NULL) {
    RLO_TRY_GOTO(make_chain(root, &chain));
    RLO_TRY_GOTO(rlo__call_plan_create_chain(
        plan->plans, plan->instance, &key, chain, shape, out_plan));
  }
fail:
  rlo_chain_release(chain);
  rlo__call_key_deinit(&key);
  return status;
}

static rlo_status run_fused(const node *root,
                            rlo__shared_shape *shape,
                            rlo__allocation **out_allocation) {
  rlo__call_plan *fused = NULL;
  RLO_TRY(get_fused(root, shape, &fused));
  int32_t count = 0;
  rlo__allocation **leaves =
      rlo__alloc_array((size_t)count_leaves(root), sizeof(rlo__allocation *));
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (leaves != NULL) {
    collect_leaves(root, leaves, &count);
    status = rlo__call_plan_run(fused, 0, leaves, count, out_allocation);
  }
  rlo__free(leaves);
  rlo__call_plan_release(fused);
  return status;
}

static bool is_single(const node *root) {
  for (int32_t i = 0; i < root->pending->num_inputs; ++i) {
    if (root->inputs[i].pending != NULL) {
      return false;
    }
  }
  return true;
}

/* Appends the operations of a tree in the order in which they apply, "A+B". */
static void append_names(const node *n, rlo__str *name) {
  for (int32_t i = 0; n->inputs != NULL && i < n->pending->num_inputs; ++i) {
    if (n->inputs[i].pending != NULL) {
      append_names(&n->inputs[i], name);
    }
  }
  rlo__str_printf(
      name, "%s%s", name->length == 0 ? "" : "+", n->pending->plan->op->name);
}

/* Adds the shapes of the leaves, in the order of collect_leaves. */
static void add_shapes(const node *n, rlo__profile_run *run) {
  for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
    if (n->inputs[i].pending != NULL) {
      add_shapes(&n->inputs[i], run);
    } else {
      rlo__profile_run_add(
          run, rlo__shared_shape_of(n->pending->plan->inputs[i]), false);
    }
  }
}

/* Ends a run for the profile: of a tree, or of its last operation alone. */
static void end_profile(rlo__profile_run *run,
                        const node *root,
                        bool is_alone,
                        const rlo__shared_shape *shape) {
  if (run->number == 0) {
    return;
  }
  const deferred *d = root->pending;
  const char *backend_name = d->plan->instance->name;
  rlo__str name = rlo__str_growing();
  rlo__profile_run_reserve(run, count_leaves(root) + d->num_inputs + 1);
  if (is_alone) {
    for (int32_t i = 0; i < d->num_inputs; ++i) {
      rlo__profile_run_add(
          run, rlo__shared_shape_of(d->plan->inputs[i]), false);
    }
    rlo__str_printf(&name, "%s", d->plan->op->name);
  } else {
    add_shapes(root, run);
    append_names(root, &name);
  }
  rlo__profile_run_add(run, shape, true);
  rlo__profile_run_end(run, rlo__str_text(&name), backend_name);
  rlo__str_deinit(&name);
}

static rlo_status deferred_run(void *state,
                               rlo__shared_shape *shape,
                               rlo__allocation **out_allocation) {
  deferred *d = state;
  node root = {NULL, d, NULL};
  rlo__profile_run run;
  deferred_retain(d);
  rlo__profile_run_begin(d->inputs[0]->engine->profiler, &run);
  rlo_status status = freeze_inputs(&root);
  bool is_alone = status == RLO_OK && is_single(&root);
  if (status == RLO_OK && !is_alone) {
    status = run_fused(&root, shape, out_allocation);
    is_alone = status == RLO_UNSUPPORTED;
  }
  if (is_alone) {
    /* Or beyond the limits of a chain: the last operation alone, on the bytes
     * of its inputs. */
    status = rlo__call_plan_run_or_fall_back(
        d->plan, d->output, d->inputs, d->num_inputs, out_allocation);
  }
  if (status == RLO_OK) {
    end_profile(&run, &root, is_alone, shape);
  } else {
    rlo__profile_run_end(&run, NULL, NULL);
  }
  node_deinit(&root);
  return status;
}
