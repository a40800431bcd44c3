/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "relayout/xla/layout_util.h"
#include "xla/shape_tree.h"

/* ------------------------------------------------------------------ walking */

typedef struct walk {
  const rlo_shape_tree *tree;
  rlo_subshape_fn visit;
  void *payload;
  /* The path to the last node entered; its prefixes are the paths to the
   * enclosing tuples. */
  int64_t *path;
} walk;

static rlo_status visit_node(const walk *w, int32_t node) {
  const rlo__tree_node *n = &w->tree->nodes[node];
  rlo_shape shape;
  rlo_subshape subshape = {
      .index = w->path,
      .index_count = n->depth,
      .kind = n->kind,
      .num_elements = n->num_elements,
  };
  if (rlo__shape_kind_has_shape(n->kind)) {
    rlo__tree_get_shape(w->tree, node, &shape);
    subshape.shape = &shape;
  }
  return w->visit(&subshape, w->payload);
}

/* Leaves the tuples from `tuple` outwards that end before `next`. */
static rlo_status leave(const walk *w, int32_t tuple, int32_t next) {
  for (int32_t n = tuple; n >= 0; n = w->tree->nodes[n].parent) {
    if (rlo__tree_node_end(w->tree, n) != next) {
      break;
    }
    RLO_TRY(visit_node(w, n));
  }
  return RLO_OK;
}

static rlo_status walk_all(const walk *w, rlo_walk_order order) {
  const rlo_shape_tree *tree = w->tree;
  for (int32_t i = 0; i < tree->num_nodes; ++i) {
    const rlo__tree_node *n = &tree->nodes[i];
    bool is_tuple = n->kind == RLO_SHAPE_KIND_TUPLE;
    if (n->depth > 0) {
      w->path[n->depth - 1] = n->ordinal;
    }
    if (!is_tuple || order == RLO_WALK_PRE_ORDER) {
      RLO_TRY(visit_node(w, i));
    }
    if (order == RLO_WALK_POST_ORDER) {
      RLO_TRY(leave(w, is_tuple ? i : n->parent, i + 1));
    }
  }
  return RLO_OK;
}

rlo_status rlo_shape_tree_for_each_subshape(const rlo_shape_tree *tree,
                                            rlo_walk_order order,
                                            rlo_subshape_fn visit,
                                            void *payload) {
  RLO_REQUIRE(tree, visit);
  if (order != RLO_WALK_PRE_ORDER && order != RLO_WALK_POST_ORDER &&
      order != RLO_WALK_LEAVES) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "%d is not an order of walking", (int)order);
  }
  walk w = {.tree = tree, .visit = visit, .payload = payload};
  w.path = rlo__alloc_array((size_t)tree->depth, sizeof w.path[0]);
  if (w.path == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = walk_all(&w, order);
  rlo__free(w.path);
  return status;
}

/* ---------------------------------------------------------------- comparing */

/* In pre-order, kinds and numbers of elements define the structure. */
static bool same_structure(const rlo_shape_tree *a,
                           const rlo_shape_tree *b,
                           bool same_kinds) {
  if (a->num_nodes != b->num_nodes || a->num_leaves != b->num_leaves) {
    return false;
  }
  for (int32_t n = 0; n < a->num_nodes; ++n) {
    const rlo__tree_node *of_a = &a->nodes[n];
    const rlo__tree_node *of_b = &b->nodes[n];
    bool a_is_tuple = of_a->kind == RLO_SHAPE_KIND_TUPLE;
    bool b_is_tuple = of_b->kind == RLO_SHAPE_KIND_TUPLE;
    if (a_is_tuple != b_is_tuple || of_a->num_elements != of_b->num_elements ||
        (same_kinds && of_a->kind != of_b->kind)) {
      return false;
    }
  }
  return true;
}

bool rlo_shape_tree_equal_structure(const rlo_shape_tree *a,
                                    const rlo_shape_tree *b) {
  RLO_REQUIRE_OR(false, a, b);
  return same_structure(a, b, false);
}

static bool same_arrays(const rlo_shape_tree *a,
                        const rlo_shape_tree *b,
                        uint32_t ignore) {
  if (!same_structure(a, b, true)) {
    return false;
  }
  for (int32_t n = 0; n < a->num_nodes; ++n) {
    if (rlo__shape_kind_has_shape(a->nodes[n].kind)) {
      rlo_shape of_a;
      rlo_shape of_b;
      rlo__tree_get_shape(a, n, &of_a);
      rlo__tree_get_shape(b, n, &of_b);
      if (!rlo_shape_equal_with(&of_a, &of_b, ignore)) {
        return false;
      }
    }
  }
  return true;
}

bool rlo_shape_tree_equal_with(const rlo_shape_tree *a,
                               const rlo_shape_tree *b,
                               uint32_t ignore) {
  RLO_REQUIRE_OR(false, a, b);
  return same_arrays(a, b, ignore);
}

bool rlo_shape_tree_equal(const rlo_shape_tree *a, const rlo_shape_tree *b) {
  RLO_REQUIRE_OR(false, a, b);
  return same_arrays(a, b, 0);
}

bool rlo_shape_tree_compatible(const rlo_shape_tree *a,
                               const rlo_shape_tree *b) {
  RLO_REQUIRE_OR(false, a, b);
  return same_arrays(
      a, b, RLO_EQUAL_IGNORE_LAYOUT | RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS);
}

bool rlo_shape_tree_layouts_equal(const rlo_shape_tree *a,
                                  const rlo_shape_tree *b,
                                  uint32_t ignore) {
  RLO_REQUIRE_OR(false, a, b);
  return same_arrays(
      a,
      b,
      (ignore & RLO_EQUAL_MINOR_TO_MAJOR_ONLY) | RLO_EQUAL_IGNORE_ELEMENT_TYPE |
          RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS | RLO_EQUAL_IGNORE_DIMENSIONS);
}

/* ---------------------------------------------------------------- measuring */

static rlo_status measure_node(const rlo_shape_tree *tree,
                               int32_t node,
                               rlo_shape_tree_extent *total) {
  rlo_shape_kind kind = tree->nodes[node].kind;
  if (kind == RLO_SHAPE_KIND_OPAQUE) {
    return RLO_FAIL(RLO_UNSUPPORTED, "the size of an opaque value is unknown");
  }
  if (!rlo__shape_kind_has_shape(kind)) {
    return RLO_OK;
  }
  rlo_shape shape;
  rlo_shape_extent extent;
  rlo__tree_get_shape(tree, node, &shape);
  RLO_TRY(rlo_shape_measure(&shape, &extent));
  ++total->arrays;
  if (!rlo__add(total->elements, extent.elements, &total->elements) ||
      !rlo__add(total->bytes, extent.bytes, &total->bytes) ||
      !rlo__add(total->physical_bytes,
                extent.physical_bytes,
                &total->physical_bytes)) {
    return RLO_FAIL(RLO_OVERFLOW,
                    "the sizes of all arrays up to this one do not fit 64 "
                    "bits");
  }
  return RLO_OK;
}

rlo_status rlo_shape_tree_measure(const rlo_shape_tree *tree,
                                  rlo_shape_tree_extent *out_extent) {
  RLO_REQUIRE(tree, out_extent);
  rlo_shape_tree_extent total;
  memset(&total, 0, sizeof total);
  for (int32_t n = 0; n < tree->num_nodes; ++n) {
    rlo_status status = measure_node(tree, n, &total);
    if (status != RLO_OK) {
      return rlo__tree_prefix(status, tree, n);
    }
  }
  *out_extent = total;
  return RLO_OK;
}
