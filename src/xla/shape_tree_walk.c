/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "relayout/xla/layout_util.h"
#include "xla/shape_tree.h"

/* ------------------------------------------------------------------ walking */

typedef struct walk {
  rlo_walk_order order;
  rlo_subshape_fn visit;
  void *payload;
  int64_t path[RLO_SHAPE_TREE_MAX_DEPTH];
  /* The shape of the current leaf: here, so that the recursion takes little
   * stack. */
  rlo_shape shape;
} walk;

static rlo_status visit_node(walk *w, const rlo_shape_tree *tree, int32_t depth) {
  rlo_subshape subshape = {
      .index = w->path,
      .index_count = depth,
      .kind = tree->kind,
      .num_elements = tree->num_elements,
  };
  if (rlo__shape_kind_has_shape(tree->kind)) {
    rlo__tree_get_shape(tree, &w->shape);
    subshape.shape = &w->shape;
  }
  return w->visit(&subshape, w->payload);
}

static rlo_status walk_tree(walk *w, const rlo_shape_tree *tree, int32_t depth) {
  const bool is_tuple = tree->kind == RLO_SHAPE_KIND_TUPLE;
  if (!is_tuple || w->order == RLO_WALK_PRE_ORDER) {
    RLO_TRY(visit_node(w, tree, depth));
  }
  for (int32_t i = 0; i < tree->num_elements; ++i) {
    w->path[depth] = i;
    RLO_TRY(walk_tree(w, tree->elements[i], depth + 1));
  }
  return is_tuple && w->order == RLO_WALK_POST_ORDER ? visit_node(w, tree, depth) : RLO_OK;
}

rlo_status rlo_shape_tree_for_each_subshape(const rlo_shape_tree *tree, rlo_walk_order order,
                                            rlo_subshape_fn visit, void *payload) {
  RLO_REQUIRE(tree, visit);
  RLO_FAIL_IF(
      order != RLO_WALK_PRE_ORDER && order != RLO_WALK_POST_ORDER && order != RLO_WALK_LEAVES,
      RLO_INVALID_ARGUMENT, "%d is not an order of walking", (int)order);
  walk w = {.order = order, .visit = visit, .payload = payload};
  return walk_tree(&w, tree, 0);
}

/* ---------------------------------------------------------------- comparing */

typedef struct comparison {
  /* Kinds of leaves and shapes, or else the structure only. */
  bool has_leaves;
  uint32_t ignore;
  rlo_shape of_a, of_b;
} comparison;

static bool is_same(comparison *c, const rlo_shape_tree *a, const rlo_shape_tree *b) {
  const bool a_is_tuple = a->kind == RLO_SHAPE_KIND_TUPLE;
  const bool b_is_tuple = b->kind == RLO_SHAPE_KIND_TUPLE;
  if (a_is_tuple != b_is_tuple || a->num_nodes != b->num_nodes ||
      a->num_elements != b->num_elements || (c->has_leaves && a->kind != b->kind)) {
    return false;
  }
  if (c->has_leaves && rlo__shape_kind_has_shape(a->kind)) {
    rlo__tree_get_shape(a, &c->of_a);
    rlo__tree_get_shape(b, &c->of_b);
    return rlo_shape_equal_with(&c->of_a, &c->of_b, c->ignore);
  }
  for (int32_t i = 0; i < a->num_elements; ++i) {
    if (!is_same(c, a->elements[i], b->elements[i])) {
      return false;
    }
  }
  return true;
}

bool rlo_shape_tree_equal_structure(const rlo_shape_tree *a, const rlo_shape_tree *b) {
  RLO_REQUIRE_OR(false, a, b);
  comparison c = {.has_leaves = false};
  return is_same(&c, a, b);
}

bool rlo_shape_tree_equal_with(const rlo_shape_tree *a, const rlo_shape_tree *b, uint32_t ignore) {
  RLO_REQUIRE_OR(false, a, b);
  comparison c = {.has_leaves = true, .ignore = ignore};
  return is_same(&c, a, b);
}

bool rlo_shape_tree_equal(const rlo_shape_tree *a, const rlo_shape_tree *b) {
  return rlo_shape_tree_equal_with(a, b, 0);
}

bool rlo_shape_tree_compatible(const rlo_shape_tree *a, const rlo_shape_tree *b) {
  return rlo_shape_tree_equal_with(a, b,
                                   RLO_EQUAL_IGNORE_LAYOUT | RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS);
}

bool rlo_shape_tree_layouts_equal(const rlo_shape_tree *a, const rlo_shape_tree *b,
                                  uint32_t ignore) {
  return rlo_shape_tree_equal_with(
      a, b,
      (ignore & RLO_EQUAL_MINOR_TO_MAJOR_ONLY) | RLO_EQUAL_IGNORE_ELEMENT_TYPE |
          RLO_EQUAL_IGNORE_DYNAMIC_DIMENSIONS | RLO_EQUAL_IGNORE_DIMENSIONS);
}

/* ---------------------------------------------------------------- measuring */

static rlo_status add_extent(const rlo_subshape *leaf, rlo_shape_tree_extent *total) {
  RLO_FAIL_IF(leaf->kind == RLO_SHAPE_KIND_OPAQUE, RLO_UNSUPPORTED,
              "the size of an opaque value is unknown");
  if (leaf->shape == NULL) {
    return RLO_OK;
  }
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(leaf->shape, &extent));
  ++total->arrays;
  RLO_FAIL_IF(!rlo__add(total->elements, extent.elements, &total->elements) ||
                  !rlo__add(total->bytes, extent.bytes, &total->bytes) ||
                  !rlo__add(total->physical_bytes, extent.physical_bytes, &total->physical_bytes),
              RLO_OVERFLOW, "the sizes of all arrays up to this one do not fit 64 bits");
  return RLO_OK;
}

static rlo_status measure_leaf(const rlo_subshape *leaf, void *payload) {
  const rlo_status status = add_extent(leaf, payload);
  return status == RLO_OK ? status : rlo__tree_prefix(status, leaf->index, leaf->index_count);
}

rlo_status rlo_shape_tree_measure(const rlo_shape_tree *tree, rlo_shape_tree_extent *out_extent) {
  RLO_REQUIRE(tree, out_extent);
  rlo_shape_tree_extent total = {0};
  RLO_TRY(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, measure_leaf, &total));
  *out_extent = total;
  return RLO_OK;
}
