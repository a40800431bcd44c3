/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/shape_tree.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "xla/shape_pack.h"

/* ----------------------------------------------------------------- building */

rlo_status rlo__tree_builder_begin(rlo__tree_builder *builder) {
  memset(builder, 0, sizeof *builder);
  builder->open = -1;
  builder->tree = rlo__alloc(sizeof *builder->tree);
  if (builder->tree == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&builder->tree->references, 1);
  return RLO_OK;
}

void rlo__tree_builder_deinit(rlo__tree_builder *builder) {
  rlo_shape_tree_release(builder->tree);
  builder->tree = NULL;
}

/* Reserves room for `more` nodes and `more_bytes` of packed arrays. */
static rlo_status reserve(rlo__tree_builder *builder,
                          size_t more,
                          size_t more_bytes) {
  rlo_shape_tree *tree = builder->tree;
  size_t num_nodes = (size_t)tree->num_nodes;
  if (more > RLO_SHAPE_TREE_MAX_SUBSHAPES - num_nodes) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "%zu tuples and leaves in one tree are beyond the limit of "
                    "%d",
                    num_nodes + more,
                    RLO_SHAPE_TREE_MAX_SUBSHAPES);
  }
  if (num_nodes + more > builder->node_capacity) {
    size_t capacity = 2 * builder->node_capacity + more;
    rlo__tree_node *nodes = rlo__alloc_resize(
        tree->nodes, num_nodes, capacity, sizeof tree->nodes[0]);
    if (nodes == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    tree->nodes = nodes;
    builder->node_capacity = capacity;
  }
  if (tree->packed_bytes + more_bytes > builder->packed_capacity) {
    size_t capacity = 2 * builder->packed_capacity + more_bytes;
    uint8_t *packed =
        rlo__alloc_resize(tree->packed, tree->packed_bytes, capacity, 1);
    if (packed == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    tree->packed = packed;
    builder->packed_capacity = capacity;
  }
  return RLO_OK;
}

/* Checks the depth of a node, or a subtree of this depth, that is added next.
 */
static rlo_status check_depth(const rlo__tree_builder *builder, int32_t below) {
  const rlo_shape_tree *tree = builder->tree;
  int32_t depth = builder->open < 0 ? 0 : tree->nodes[builder->open].depth + 1;
  if (depth + below > RLO_SHAPE_TREE_MAX_DEPTH) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "%d tuples inside one another are beyond the limit of %d",
                    depth + below,
                    RLO_SHAPE_TREE_MAX_DEPTH);
  }
  return RLO_OK;
}

/* Makes a new node the next element of the open tuple. */
static void place(rlo__tree_builder *builder, rlo__tree_node *node) {
  rlo_shape_tree *tree = builder->tree;
  node->parent = builder->open;
  node->ordinal = 0;
  node->depth = 0;
  if (builder->open >= 0) {
    rlo__tree_node *parent = &tree->nodes[builder->open];
    node->ordinal = parent->num_elements++;
    node->depth = parent->depth + 1;
  }
  if (node->depth > tree->depth) {
    tree->depth = node->depth;
  }
}

rlo_status rlo__tree_builder_open(rlo__tree_builder *builder) {
  RLO_TRY(check_depth(builder, 0));
  RLO_TRY(reserve(builder, 1, 0));
  rlo_shape_tree *tree = builder->tree;
  rlo__tree_node *node = &tree->nodes[tree->num_nodes];
  memset(node, 0, sizeof *node);
  node->kind = RLO_SHAPE_KIND_TUPLE;
  node->offset = tree->packed_bytes;
  place(builder, node);
  builder->open = tree->num_nodes++;
  return RLO_OK;
}

void rlo__tree_builder_close(rlo__tree_builder *builder) {
  rlo__tree_node *tuple = &builder->tree->nodes[builder->open];
  tuple->num_nodes = builder->tree->num_nodes - builder->open;
  builder->open = tuple->parent;
}

rlo_status rlo__tree_builder_add(rlo__tree_builder *builder,
                                 rlo_shape_kind kind,
                                 const rlo_shape *shape) {
  uint8_t packed[RLO__SHAPE_PACK_MAX_BYTES];
  size_t packed_bytes = shape == NULL ? 0 : rlo__shape_pack(shape, packed);
  RLO_TRY(check_depth(builder, 0));
  RLO_TRY(reserve(builder, 1, packed_bytes));
  rlo_shape_tree *tree = builder->tree;
  rlo__tree_node *node = &tree->nodes[tree->num_nodes];
  memset(node, 0, sizeof *node);
  node->kind = kind;
  node->offset = tree->packed_bytes;
  node->num_nodes = 1;
  place(builder, node);
  if (packed_bytes > 0) {
    memcpy(tree->packed + tree->packed_bytes, packed, packed_bytes);
  }
  tree->packed_bytes += packed_bytes;
  ++tree->num_nodes;
  ++tree->num_leaves;
  return RLO_OK;
}

rlo_status rlo__tree_builder_copy(rlo__tree_builder *builder,
                                  const rlo_shape_tree *source,
                                  int32_t first) {
  int32_t end = rlo__tree_node_end(source, first);
  size_t begin_bytes = source->nodes[first].offset;
  size_t end_bytes = end < source->num_nodes ? source->nodes[end].offset
                                             : source->packed_bytes;
  int32_t below = 0;
  for (int32_t n = first; n < end; ++n) {
    int32_t depth = source->nodes[n].depth - source->nodes[first].depth;
    below = depth > below ? depth : below;
  }
  RLO_TRY(check_depth(builder, below));
  RLO_TRY(reserve(builder, (size_t)(end - first), end_bytes - begin_bytes));

  rlo_shape_tree *tree = builder->tree;
  int32_t shift = tree->num_nodes - first;
  for (int32_t n = first; n < end; ++n) {
    rlo__tree_node *node = &tree->nodes[n + shift];
    *node = source->nodes[n];
    node->offset = node->offset - begin_bytes + tree->packed_bytes;
    if (n == first) {
      place(builder, node);
    } else {
      node->parent += shift;
      node->depth = tree->nodes[node->parent].depth + 1;
    }
    tree->num_leaves += node->kind != RLO_SHAPE_KIND_TUPLE;
    tree->depth = node->depth > tree->depth ? node->depth : tree->depth;
  }
  if (end_bytes > begin_bytes) {
    memcpy(tree->packed + tree->packed_bytes,
           source->packed + begin_bytes,
           end_bytes - begin_bytes);
  }
  tree->packed_bytes += end_bytes - begin_bytes;
  tree->num_nodes += end - first;
  return RLO_OK;
}

rlo_status rlo__tree_builder_finish(rlo__tree_builder *builder,
                                    rlo_shape_tree **out_tree) {
  rlo_shape_tree *tree = builder->tree;
  tree->slots =
      rlo__alloc_array((size_t)tree->num_nodes, sizeof tree->slots[0]);
  if (tree->slots == NULL) {
    rlo__tree_builder_deinit(builder);
    return RLO_OUT_OF_MEMORY;
  }
  int32_t next = 0;
  for (int32_t n = 0; n < tree->num_nodes; ++n) {
    rlo__tree_node *node = &tree->nodes[n];
    node->first_slot = next;
    next += node->num_elements;
    if (node->parent >= 0) {
      tree->slots[tree->nodes[node->parent].first_slot + node->ordinal] = n;
    }
  }
  builder->tree = NULL;
  *out_tree = tree;
  return RLO_OK;
}

/* ----------------------------------------------------------------- lookup */

void rlo__tree_get_shape(const rlo_shape_tree *tree,
                         int32_t node,
                         rlo_shape *out_shape) {
  (void)rlo__shape_unpack(tree->packed + tree->nodes[node].offset, out_shape);
}

static const char *kind_name(rlo_shape_kind kind) {
  switch (kind) {
    case RLO_SHAPE_KIND_ARRAY:
      return "an array";
    case RLO_SHAPE_KIND_TUPLE:
      return "a tuple";
    case RLO_SHAPE_KIND_OPAQUE:
      return "an opaque value";
    case RLO_SHAPE_KIND_TOKEN:
      return "a token";
    case RLO_SHAPE_KIND_BUFFER:
      return "a buffer";
    default:
      return "nothing known";
  }
}

rlo_status rlo__tree_find(const rlo_shape_tree *tree,
                          const int64_t *index,
                          int32_t count,
                          int32_t *out_node) {
  if (count < 0) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "a path of %d entries is no path", count);
  }
  int32_t node = 0;
  for (int32_t i = 0; i < count; ++i) {
    const rlo__tree_node *around = &tree->nodes[node];
    if (around->kind != RLO_SHAPE_KIND_TUPLE) {
      return RLO_FAIL(RLO_OUT_OF_RANGE,
                      "entry %d of the path looks for element %" PRId64
                      " of %s, which has none",
                      i,
                      index[i],
                      kind_name(around->kind));
    }
    if (index[i] < 0 || index[i] >= around->num_elements) {
      return RLO_FAIL(RLO_OUT_OF_RANGE,
                      "entry %d of the path looks for element %" PRId64
                      " of a tuple with %d",
                      i,
                      index[i],
                      around->num_elements);
    }
    node = rlo__tree_element(tree, node, index[i]);
  }
  *out_node = node;
  return RLO_OK;
}

rlo_status rlo__tree_prefix(rlo_status status,
                            const rlo_shape_tree *tree,
                            int32_t node) {
  /* Prints the last entries of a long path. */
  enum { MOST = 8 };

  int64_t last[MOST];
  int32_t depth = tree->nodes[node].depth;
  int32_t count = 0;
  for (int32_t n = node; n > 0 && count < MOST; n = tree->nodes[n].parent) {
    last[count++] = tree->nodes[n].ordinal;
  }
  if (count == 0) {
    return status;
  }
  char path[MOST * 12 + 8];
  rlo__str str = rlo__str_over(path, sizeof path);
  rlo__str_append(&str, depth > MOST ? "...," : "");
  while (count > 0) {
    --count;
    rlo__str_printf(&str, "%" PRId64 "%s", last[count], count > 0 ? "," : "");
  }
  return rlo__status_prefix(status, "subshape {%s}: ", path);
}

/* ------------------------------------------------------------------- public */

static rlo_status make_leaf(rlo_shape_kind kind,
                            const rlo_shape *shape,
                            rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  if (shape != NULL) {
    RLO_TRY(rlo_shape_validate_unbounded(shape));
  }
  rlo__tree_builder builder;
  RLO_TRY(rlo__tree_builder_begin(&builder));
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__tree_builder_add(&builder, kind, shape));
  return rlo__tree_builder_finish(&builder, out_tree);

fail:
  rlo__tree_builder_deinit(&builder);
  return status;
}

rlo_status rlo_shape_tree_make_array(const rlo_shape *shape,
                                     rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(shape);
  return make_leaf(RLO_SHAPE_KIND_ARRAY, shape, out_tree);
}

rlo_status rlo_shape_tree_make_buffer(const rlo_shape *shape,
                                      rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(shape);
  return make_leaf(RLO_SHAPE_KIND_BUFFER, shape, out_tree);
}

rlo_status rlo_shape_tree_make_token(rlo_shape_tree **out_tree) {
  return make_leaf(RLO_SHAPE_KIND_TOKEN, NULL, out_tree);
}

rlo_status rlo_shape_tree_make_opaque(rlo_shape_tree **out_tree) {
  return make_leaf(RLO_SHAPE_KIND_OPAQUE, NULL, out_tree);
}

rlo_shape_tree *rlo_shape_tree_retain(rlo_shape_tree *tree) {
  if (tree != NULL) {
    atomic_fetch_add_explicit(&tree->references, 1, memory_order_relaxed);
  }
  return tree;
}

void rlo_shape_tree_release(rlo_shape_tree *tree) {
  if (tree == NULL || atomic_fetch_sub_explicit(
                          &tree->references, 1, memory_order_acq_rel) > 1) {
    return;
  }
  rlo__free(tree->nodes);
  rlo__free(tree->slots);
  rlo__free(tree->packed);
  rlo__free(tree);
}

rlo_shape_kind rlo_shape_tree_kind(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(RLO_SHAPE_KIND_OPAQUE, tree);
  return tree->nodes[0].kind;
}

int64_t rlo_shape_tree_tuple_element_count(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->nodes[0].num_elements;
}

bool rlo_shape_tree_is_nested_tuple(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(false, tree);
  int32_t n = 1;
  while (n < tree->num_nodes) {
    if (tree->nodes[n].kind == RLO_SHAPE_KIND_TUPLE) {
      return true;
    }
    ++n;
  }
  return false;
}

bool rlo_shape_tree_is_empty_tuple(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(false, tree);
  return tree->nodes[0].kind == RLO_SHAPE_KIND_TUPLE &&
         tree->nodes[0].num_elements == 0;
}

int64_t rlo_shape_tree_subshape_count(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->num_nodes;
}

int64_t rlo_shape_tree_leaf_count(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->num_leaves;
}

int32_t rlo_shape_tree_depth(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->depth;
}

/* Follows a path without recording a failure. */
static bool find_quietly(const rlo_shape_tree *tree,
                         const int64_t *index,
                         int32_t count,
                         int32_t *out_node) {
  int32_t node = 0;
  if (count < 0) {
    return false;
  }
  for (int32_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= tree->nodes[node].num_elements) {
      return false;
    }
    node = rlo__tree_element(tree, node, index[i]);
  }
  *out_node = node;
  return true;
}

bool rlo_shape_tree_index_is_valid(const rlo_shape_tree *tree,
                                   const int64_t *index,
                                   int32_t count) {
  if (tree == NULL || (index == NULL && count > 0)) {
    return false;
  }
  int32_t node;
  return find_quietly(tree, index, count, &node);
}

bool rlo_shape_tree_is_leaf_index(const rlo_shape_tree *tree,
                                  const int64_t *index,
                                  int32_t count) {
  if (tree == NULL || (index == NULL && count > 0)) {
    return false;
  }
  int32_t node;
  return find_quietly(tree, index, count, &node) &&
         tree->nodes[node].kind != RLO_SHAPE_KIND_TUPLE;
}

rlo_status rlo_shape_tree_get_array(const rlo_shape_tree *tree,
                                    const int64_t *index,
                                    int32_t count,
                                    rlo_shape *out_shape) {
  RLO_REQUIRE(tree, out_shape);
  RLO_REQUIRE_LIST(index, count);
  int32_t node = 0;
  RLO_TRY(rlo__tree_find(tree, index, count, &node));
  rlo_shape_kind kind = tree->nodes[node].kind;
  if (!rlo__shape_kind_has_shape(kind)) {
    rlo_status status =
        RLO_FAIL(RLO_INVALID_ARGUMENT, "%s is no array", kind_name(kind));
    return rlo__tree_prefix(status, tree, node);
  }
  rlo__tree_get_shape(tree, node, out_shape);
  return RLO_OK;
}
