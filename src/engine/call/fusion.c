/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/call_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "engine/call/profile.h"
#include "engine/parts.h"

/* A number that separates the keys of trees from those of single operations,
 * which begin with an address. */
enum { FUSED = 1 };

/* A copy operation that waits. Constant. */
typedef struct deferred {
  /** First, so that a pointer to one is a pointer to the other. */
  rlo__pending pending;
  /** Retained, as are the inputs. */
  rlo__call_plan *plan;
  int32_t output;
  /** The largest number of operations that may be fused into it, itself
   *  included; and with the inputs of these that do not wait. */
  int32_t num_ops;
  size_t num_nodes;
  int32_t num_inputs;
  rlo_tensor *inputs[];
} deferred;

/* Retained; NULL for a tensor that is not pending. Only this file makes pending
 * tensors. */
static deferred *peek(rlo_tensor *tensor) {
  return (deferred *)rlo__tensor_peek(tensor);
}

static void release(deferred *d) {
  rlo__pending_release((rlo__pending *)d);
}

static void deferred_destroy(rlo__pending *pending) {
  deferred *d = (deferred *)pending;
  for (int32_t n = 0; n < d->num_inputs; ++n) {
    rlo__tensor_drop(d->inputs[n]);
  }
  rlo__call_plan_release(d->plan);
  rlo__free(d);
}

static rlo_status deferred_run(rlo__pending *pending, rlo__shared_shape *shape,
                               rlo__allocation **out_allocation);

rlo_status rlo__fusion_create(rlo__call_plan *plan, int32_t output, rlo_tensor *const *inputs,
                              int32_t num_inputs, rlo__pending **out_pending) {
  int32_t num_ops = 1;
  size_t num_nodes = 1;
  for (int32_t n = 0; n < num_inputs; ++n) {
    deferred *behind = peek(inputs[n]);
    if (behind != NULL && num_ops + behind->num_ops > RLO__MAX_FUSED_OPS) {
      /* Stay within the limit: this input is not fused with. */
      release(behind);
      behind = NULL;
      RLO_TRY(rlo_tensor_materialize(inputs[n]));
    }
    num_ops += behind != NULL ? behind->num_ops : 0;
    num_nodes += behind != NULL ? behind->num_nodes : 1;
    release(behind);
  }
  deferred *made = rlo__alloc_unset(sizeof *made + (size_t)num_inputs * sizeof(rlo_tensor *));
  RLO_TRY_MEMORY(made);
  *made = (deferred){.pending = {.num_references = 1,
                                 .instance = plan->instance,
                                 .run = deferred_run,
                                 .destroy = deferred_destroy},
                     .plan = rlo__call_plan_retain(plan),
                     .output = output,
                     .num_ops = num_ops,
                     .num_nodes = num_nodes,
                     .num_inputs = num_inputs};
  for (int32_t n = 0; n < num_inputs; ++n) {
    made->inputs[n] = rlo__tensor_hold(inputs[n]);
  }
  *out_pending = &made->pending;
  return RLO_OK;
}

/* --------------------------------------------------- a tree of operations */

/* An operation of a tree, retained, which the nodes of its inputs follow; or a
 * leaf. */
typedef struct node {
  /** NULL: a leaf. */
  deferred *op;
  /** The shape of a leaf, which a plan holds. */
  const rlo_shape *shape;
} node;

/* A snapshot of what was pending behind a tensor: other threads may compute any
 * of it meanwhile. */
typedef struct tree {
  node *nodes;
  int32_t num_nodes, num_ops;
  /** The hash of the keys of the plans, each with the output that is taken and
   * what follows for its inputs; -1 for a leaf. A plan stands for its
   * operation, its shapes and the number of its inputs. */
  rlo__hash hash;
  /** The bytes of the leaves, retained, in the order in which the chain numbers
   *  its operands. */
  rlo__allocation **leaves;
  int32_t num_leaves;
} tree;

static void tree_deinit(tree *t) {
  for (int32_t n = 0; n < t->num_nodes; ++n) {
    release(t->nodes[n].op);
  }
  for (int32_t n = 0; n < t->num_leaves; ++n) {
    rlo__allocation_release(t->leaves[n]);
  }
  rlo__free(t->nodes);
  rlo__free(t->leaves);
}

/* Adds an operation, whose reference this takes over, and what its inputs are
 * pending on. A tensor that another instance computes is a leaf, whose bytes
 * are copied, and so are indices. */
static rlo_status add_op(tree *t, deferred *d) {
  t->nodes[t->num_nodes++].op = d;
  ++t->num_ops;
  rlo__hash_i64(&t->hash, d->output);
  rlo__hash_u64(&t->hash, d->plan->key.high);
  rlo__hash_u64(&t->hash, d->plan->key.low);
  for (int32_t i = 0; i < d->num_inputs; ++i) {
    bool is_leaf = i > 0 && rlo__copy_op_has(d->plan->call.op, RLO__COPY_TAKES_INDICES);
    deferred *behind = is_leaf ? NULL : peek(d->inputs[i]);
    if (behind != NULL && behind->plan->instance == d->plan->instance) {
      RLO_TRY(add_op(t, behind));
    } else {
      release(behind);
      rlo__hash_i64(&t->hash, -1);
      t->nodes[t->num_nodes++].shape = d->plan->call.inputs[i];
      RLO_TRY(rlo__tensor_need(d->inputs[i], d->plan->instance, &t->leaves[t->num_leaves++]));
    }
  }
  return RLO_OK;
}

/* Makes the chain of the node that *next points to, and moves it behind that.
 */
static rlo_status make_chain(void *payload, int32_t n, rlo_chain **out_chain) {
  (void)n;
  const node **next = payload;
  const node *first = (*next)++;
  const deferred *d = first->op;
  return d == NULL ? rlo_chain_create(first->shape, out_chain)
                   : rlo__copy_op_chain(d->plan->call.op, make_chain, next, d->num_inputs,
                                        d->plan->call.attributes, d->output, out_chain, NULL);
}

static rlo_status run_fused(const tree *t, rlo__shared_shape *shape,
                            rlo__allocation **out_allocation) {
  const rlo__call_plan *plan = t->nodes[0].op->plan;
  const rlo__hash128 key = rlo__hash_finish(&t->hash);
  rlo__call_plan *fused = rlo__call_plans_find(plan->plans, key);
  if (fused == NULL) {
    const node *next = t->nodes;
    rlo_chain *chain = NULL;
    RLO_TRY(make_chain(&next, 0, &chain));
    rlo_status status =
        rlo__call_plan_create_chain(plan->plans, plan->instance, &key, chain, shape, &fused);
    rlo_chain_release(chain);
    RLO_TRY(status);
  }
  rlo_status status = rlo__call_plan_run(fused, 0, t->leaves, t->num_leaves, out_allocation);
  rlo__call_plan_release(fused);
  return status;
}

/* Appends the operations of a tree in the order in which they apply, "A+B", and
 * the shapes of its leaves. @return the node behind it. */
static const node *describe(const node *n, rlo__str *name, const rlo_shape ***next_shape) {
  const deferred *d = n->op;
  if (d == NULL) {
    *(*next_shape)++ = n->shape;
    return n + 1;
  }
  ++n;
  for (int32_t i = 0; i < d->num_inputs; ++i) {
    n = describe(n, name, next_shape);
  }
  rlo__str_printf(name, "%s%s", name->length == 0 ? "" : "+", d->plan->call.op->name);
  return n;
}

/* Ends a run for the profile: of a tree, or of its last operation alone. */
static void end_profile(rlo__profile_run *run, const tree *t, bool is_alone,
                        const rlo__shared_shape *shape) {
  const rlo__call_plan *plan = t->nodes[0].op->plan;
  const int32_t num_inputs = is_alone ? plan->call.num_inputs : t->num_leaves;
  rlo__str name = rlo__str_growing();
  const rlo_shape **shapes = rlo__alloc_array_quiet((size_t)t->num_nodes + 1, sizeof(rlo_shape *));
  if (shapes != NULL) {
    const rlo_shape **next = shapes;
    (void)describe(t->nodes, &name, &next);
    shapes[num_inputs] = &shape->shape;
  }
  if (is_alone && shapes != NULL) {
    memcpy(shapes, plan->call.inputs, (size_t)num_inputs * sizeof *shapes);
  }
  rlo__profile_run_end(run, is_alone ? plan->call.op->name : rlo__str_text(&name),
                       plan->instance->name, shapes, num_inputs, 1);
  rlo__free(shapes);
  rlo__str_deinit(&name);
}

static rlo_status deferred_run(rlo__pending *pending, rlo__shared_shape *shape,
                               rlo__allocation **out_allocation) {
  deferred *d = (deferred *)pending;
  rlo__profile_run run;
  tree t = {.hash = rlo__hash_init(FUSED),
            .nodes = rlo__alloc_array(d->num_nodes, sizeof *t.nodes),
            .leaves = rlo__alloc_array(d->num_nodes, sizeof(rlo__allocation *))};
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo__profile_run_begin(d->inputs[0]->engine->profiler, &run);
  if (t.nodes != NULL && t.leaves != NULL) {
    atomic_fetch_add_explicit(&pending->num_references, 1, memory_order_relaxed);
    status = add_op(&t, d);
  }
  bool is_alone = status == RLO_OK && t.num_ops == 1;
  if (status == RLO_OK && !is_alone) {
    status = run_fused(&t, shape, out_allocation);
    is_alone = status == RLO_UNSUPPORTED;
  }
  if (is_alone) {
    /* The last operation runs alone, on the bytes of its inputs. So does one beyond the
     * limits of a chain. */
    status = rlo__call_plan_run_or_fall_back(d->plan, d->output, d->inputs, d->num_inputs,
                                             out_allocation);
  }
  if (status == RLO_OK && run.number != 0) {
    end_profile(&run, &t, is_alone, shape);
  } else {
    rlo__profile_run_end(&run, NULL, NULL, NULL, 0, 0);
  }
  tree_deinit(&t);
  return status;
}
