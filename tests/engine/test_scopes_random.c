/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_case.h"
#include "relayout/scope.h"
#include "support/random.h"

/*
 * Random nests of scopes against a model that counts the references to every
 * tensor: the caller's own, those of scopes, and those of pending results.
 */
enum {
  MAX_SCOPES = 6,
  MAX_NODES = 160,
  MAX_HELD = 32,
  MAX_BYTES = 256,
  NUM_STEPS = 300,
  NUM_RUNS = 20
};

typedef struct node {
  rlo_tensor *tensor;
  int32_t own;
  /** The numbers of the scopes that hold it, the newest reference last. */
  int32_t held[MAX_HELD];
  int32_t num_held;
  /** The nodes that it is made of. */
  int32_t inputs[2];
  int32_t num_inputs;
  bool is_pending;
} node;

static node nodes[MAX_NODES];
static int32_t num_nodes;
static rlo_scope *scopes[MAX_SCOPES];
static int32_t num_scopes;

static bool has_reference(const node *n) {
  return n->own + n->num_held > 0;
}

static bool needs(const node *n, int32_t input) {
  return n->is_pending && n->num_inputs > 0 &&
         (n->inputs[0] == input || n->inputs[n->num_inputs - 1] == input);
}

/* Counts nodes that have a reference, and nodes that a live pending result is
 * made of. */
static int64_t count_live(void) {
  bool lives[MAX_NODES];
  int64_t count = 0;
  for (int32_t n = num_nodes - 1; n >= 0; --n) {
    lives[n] = has_reference(&nodes[n]);
    for (int32_t m = n + 1; m < num_nodes && !lives[n]; ++m) {
      lives[n] = lives[m] && needs(&nodes[m], n);
    }
    count += lives[n];
  }
  return count;
}

static void check_model(void) {
  for (int32_t n = 0; n < num_nodes; ++n) {
    if (has_reference(&nodes[n])) {
      nodes[n].is_pending = rlo_tensor_is_pending(nodes[n].tensor);
    }
  }
  ck_assert_int_eq(rlo_engine_live_tensors(engine), count_live());
}

static void add_node(rlo_tensor *made, int32_t num_inputs, int32_t a, int32_t b) {
  node *n = &nodes[num_nodes++];
  *n = (node){.tensor = made, .num_inputs = num_inputs, .inputs = {a, b}};
  if (num_scopes > 0) {
    n->held[n->num_held++] = num_scopes - 1;
  } else {
    n->own = 1;
  }
}

/* A tensor that may be used; -1 if none is found. */
static int32_t pick(test_random *random) {
  for (int32_t tries = 0; num_nodes > 0 && tries < 20; ++tries) {
    int32_t n = (int32_t)test_random_in(random, 0, num_nodes - 1);
    if (has_reference(&nodes[n])) {
      return n;
    }
  }
  return -1;
}

static void make(test_random *random) {
  if (num_nodes == MAX_NODES) {
    return;
  }
  int32_t a = pick(random);
  int32_t b = pick(random);
  rlo_tensor *made = NULL;
  if (a < 0 || b < 0 || test_random_once_in(random, 4)) {
    add_node(tensor(DIMS(2), 1, FLOATS(1, 2)), 0, 0, 0);
  } else if (test_random_once_in(random, 2) ||
             rlo_tensor_bytes(nodes[a].tensor) + rlo_tensor_bytes(nodes[b].tensor) > MAX_BYTES) {
    expect_ok(rlo_op_reverse(nodes[a].tensor, DIMS(0), 1, &made));
    add_node(made, 1, a, a);
  } else {
    rlo_tensor *const both[] = {nodes[a].tensor, nodes[b].tensor};
    expect_ok(rlo_op_concat(both, 2, 0, &made));
    add_node(made, 2, a, b);
  }
}

static void retain_or_release(test_random *random) {
  int32_t picked = pick(random);
  if (picked < 0) {
    return;
  }
  node *n = &nodes[picked];
  if (test_random_once_in(random, 3)) {
    rlo_tensor_retain(n->tensor);
    ++n->own;
  } else {
    rlo_tensor_release(n->tensor);
    if (n->num_held > 0) {
      --n->num_held;
    } else {
      --n->own;
    }
  }
}

static void keep(test_random *random) {
  int32_t picked = pick(random);
  if (picked < 0 || num_scopes == 0 || nodes[picked].num_held == MAX_HELD) {
    return;
  }
  node *n = &nodes[picked];
  int32_t level = (int32_t)test_random_in(random, 0, num_scopes - 1);
  expect_ok(rlo_scope_keep(scopes[level], n->tensor));
  int32_t at = n->num_held - 1;
  while (at >= 0 && n->held[at] < level) {
    --at;
  }
  if (at >= 0) {
    for (--n->num_held; at < n->num_held; ++at) {
      n->held[at] = n->held[at + 1];
    }
  }
  if (level > 0) {
    n->held[n->num_held++] = level - 1;
  } else {
    ++n->own;
  }
}

static void end_scope(void) {
  expect_ok(rlo_scope_end(scopes[--num_scopes]));
  for (int32_t n = 0; n < num_nodes; ++n) {
    int32_t left = 0;
    for (int32_t k = 0; k < nodes[n].num_held; ++k) {
      if (nodes[n].held[k] != num_scopes) {
        nodes[n].held[left++] = nodes[n].held[k];
      }
    }
    nodes[n].num_held = left;
  }
}

static void step(test_random *random) {
  int64_t what = test_random_in(random, 0, 9);
  if (what == 0 && num_scopes < MAX_SCOPES) {
    expect_ok(rlo_scope_begin(engine, &scopes[num_scopes]));
    ++num_scopes;
  } else if (what == 1 && num_scopes > 0) {
    end_scope();
  } else if (what == 2) {
    int32_t n = pick(random);
    if (n >= 0) {
      expect_ok(rlo_tensor_materialize(nodes[n].tensor));
    }
  } else if (what == 3) {
    keep(random);
  } else if (what <= 5) {
    retain_or_release(random);
  } else {
    make(random);
  }
}

RLO_LOOP_TEST(test_scopes_random__nests, 0, 2) {
  test_random random = test_random_begin("test_scopes_random");
  for (int32_t run = 0; run < NUM_RUNS; ++run) {
    begin(_i == 1);
    num_nodes = 0;
    for (int32_t k = 0; k < NUM_STEPS; ++k) {
      step(&random);
      check_model();
    }
    while (num_scopes > 0) {
      end_scope();
      check_model();
    }
    for (int32_t n = 0; n < num_nodes; ++n) {
      for (; nodes[n].own > 0; --nodes[n].own) {
        rlo_tensor_release(nodes[n].tensor);
      }
    }
    end();
  }
}
