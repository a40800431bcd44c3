/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/fusion.h"

#include "base/alloc.h"
#include "base/status.h"
#include "engine/engine.h"

static int32_t moves_of(rlo_tensor *tensor) {
  rlo__storage *storage = NULL;
  rlo__pending *pending = NULL;
  rlo__tensor_peek(tensor, &storage, &pending);
  int32_t count = pending != NULL ? pending->num_ops : 0;
  rlo__storage_release(storage);
  rlo__pending_release(pending);
  return count;
}

rlo_status rlo__pending_create(rlo__call_plan *plan,
                               int32_t output,
                               rlo_tensor *const *inputs,
                               int32_t num_inputs,
                               rlo__pending **out_pending) {
  int32_t num_ops = 1;
  for (int32_t n = 0; n < num_inputs; ++n) {
    int32_t count = moves_of(inputs[n]);
    if (num_ops + count > RLO__MAX_FUSED_OPS) {
      /* One input after the other may be fused with; this one is not. */
      RLO_TRY(rlo_tensor_materialize(inputs[n]));
      count = 0;
    }
    num_ops += count;
  }
  rlo__pending *made =
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
    made->inputs[n] = rlo_tensor_retain(inputs[n]);
  }
  *out_pending = made;
  return RLO_OK;
}

void rlo__pending_release(rlo__pending *pending) {
  if (pending == NULL ||
      atomic_fetch_sub_explicit(
          &pending->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  for (int32_t n = 0; n < pending->num_inputs; ++n) {
    rlo_tensor_release(pending->inputs[n]);
  }
  rlo__call_plan_release(pending->plan);
  rlo__free(pending);
}

rlo_status rlo__call_plan_run_tensors(rlo__call_plan *plan,
                                      int32_t output,
                                      rlo_tensor *const *inputs,
                                      int32_t num_inputs,
                                      rlo__storage **out_storage) {
  enum { FEW = 8 };

  rlo__storage *few[FEW] = {NULL};
  rlo__storage **storages = few;
  if (num_inputs > FEW) {
    storages = rlo__alloc_array((size_t)num_inputs, sizeof(rlo__storage *));
    if (storages == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
  }
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY_GOTO(rlo__tensor_need(inputs[n], plan->instance, &storages[n]));
  }
  RLO_TRY_GOTO(
      rlo__call_plan_run(plan, output, storages, num_inputs, out_storage));
fail:
  for (int32_t n = 0; n < num_inputs; ++n) {
    rlo__storage_release(storages[n]);
  }
  if (storages != few) {
    rlo__free(storages);
  }
  return status;
}

/* ---------------------------------------------------------- a tree of moves
 */

/* What was pending at one moment: other threads may make the bytes of any of
 * it meanwhile. A leaf has bytes, an inner node is a move. */
typedef struct node {
  rlo__storage *storage;
  rlo__pending *pending;
  struct node *inputs;
} node;

static void node_deinit(node *n) {
  if (n->inputs != NULL) {
    for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
      node_deinit(&n->inputs[i]);
    }
    rlo__free(n->inputs);
  }
  rlo__pending_release(n->pending);
  rlo__storage_release(n->storage);
}

static rlo_status freeze_inputs(node *n);

/* A move of another instance is none of ours: its bytes are copied. */
static rlo_status freeze(rlo_tensor *tensor,
                         rlo__backend_instance *instance,
                         node *out_node) {
  rlo__storage *storage = NULL;
  rlo__tensor_peek(tensor, &storage, &out_node->pending);
  rlo__storage_release(storage);
  if (out_node->pending != NULL &&
      out_node->pending->plan->instance == instance) {
    return freeze_inputs(out_node);
  }
  rlo__pending_release(out_node->pending);
  out_node->pending = NULL;
  return rlo__tensor_need(tensor, instance, &out_node->storage);
}

static rlo_status freeze_inputs(node *n) {
  const rlo__pending *pending = n->pending;
  rlo__backend_instance *instance = pending->plan->instance;
  n->inputs = rlo__alloc_array((size_t)pending->num_inputs, sizeof *n->inputs);
  if (n->inputs == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < pending->num_inputs; ++i) {
    bool is_moved = i == 0 || !pending->plan->op->takes_indices;
    RLO_TRY(is_moved
                ? freeze(pending->inputs[i], instance, &n->inputs[i])
                : rlo__tensor_need(
                      pending->inputs[i], instance, &n->inputs[i].storage));
  }
  return RLO_OK;
}

/* The tree in key: a recipe's id tells its move, its shapes and how many
 * inputs follow; 0 is a leaf. */
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
static void collect_leaves(const node *n, rlo__storage **out, int32_t *count) {
  if (n->pending == NULL) {
    out[(*count)++] = n->storage;
    return;
  }
  for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
    collect_leaves(&n->inputs[i], out, count);
  }
}

static rlo_status make_chain(const node *n, rlo_chain **out_chain);

static rlo_status make_input_chains(const node *n, rlo_chain **chains) {
  const rlo__call_plan *plan = n->pending->plan;
  for (int32_t i = 0; i < n->pending->num_inputs; ++i) {
    if (n->inputs[i].pending != NULL) {
      RLO_TRY(make_chain(&n->inputs[i], &chains[i]));
    } else {
      RLO_TRY(rlo_chain_create(&plan->inputs[i]->shape, &chains[i]));
    }
  }
  return rlo__copy_op_append(plan->op,
                             chains,
                             n->pending->num_inputs,
                             plan->attributes,
                             n->pending->output);
}

static rlo_status make_chain(const node *n, rlo_chain **out_chain) {
  int32_t count = n->pending->num_inputs;
  rlo_chain **chains = rlo__alloc_array((size_t)count, sizeof(rlo_chain *));
  if (chains == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = make_input_chains(n, chains);
  if (status == RLO_OK) {
    *out_chain = chains[0];
    chains[0] = NULL;
  }
  for (int32_t i = 0; i < count; ++i) {
    rlo_chain_release(chains[i]);
  }
  rlo__free(chains);
  return status;
}

static rlo_status get_fused(const node *root,
                            rlo__shared_shape *shape,
                            rlo__call_plan **out_plan) {
  rlo__call_plan *plan = root->pending->plan;
  rlo_engine *engine = plan->engine;
  rlo__call_key key;
  rlo_chain *chain = NULL;
  rlo__call_key_init(&key);
  rlo_status status = RLO_OK;
  /* An address is no 0: these key are those of no single move. */
  RLO_TRY_GOTO(rlo__call_key_push(&key, 0));
  RLO_TRY_GOTO(push_node(root, &key));
  *out_plan = rlo__call_plans_find(engine, &key);
  if (*out_plan == NULL) {
    RLO_TRY_GOTO(make_chain(root, &chain));
    RLO_TRY_GOTO(rlo__call_plan_get_chain(
        engine, plan->instance, &key, chain, shape, out_plan));
  }
fail:
  rlo_chain_release(chain);
  rlo__call_key_deinit(&key);
  return status;
}

static rlo_status run_fused(const node *root,
                            rlo__shared_shape *shape,
                            rlo__storage **out_storage) {
  rlo__call_plan *fused = NULL;
  RLO_TRY(get_fused(root, shape, &fused));
  int32_t count = 0;
  rlo__storage **leaves =
      rlo__alloc_array((size_t)count_leaves(root), sizeof(rlo__storage *));
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (leaves != NULL) {
    collect_leaves(root, leaves, &count);
    status = rlo__call_plan_run(fused, 0, leaves, count, out_storage);
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

rlo_status rlo__pending_run(rlo__pending *pending,
                            rlo__shared_shape *shape,
                            rlo__storage **out_storage) {
  node root = {NULL, pending, NULL};
  atomic_fetch_add_explicit(&pending->num_references, 1, memory_order_relaxed);
  rlo_status status = freeze_inputs(&root);
  if (status == RLO_OK && !is_single(&root)) {
    status = run_fused(&root, shape, out_storage);
    if (status != RLO_UNSUPPORTED) {
      node_deinit(&root);
      return status;
    }
    /* Too much for one chain: the last move alone, after its inputs. */
    status = RLO_OK;
  }
  node_deinit(&root);
  return status != RLO_OK ? status
                          : rlo__call_plan_run_tensors(pending->plan,
                                                       pending->output,
                                                       pending->inputs,
                                                       pending->num_inputs,
                                                       out_storage);
}
