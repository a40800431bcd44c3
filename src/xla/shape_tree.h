/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_SHAPE_TREE_H
#define RLO_XLA_SHAPE_TREE_H

#include <stdatomic.h>
#include <stddef.h>

#include "relayout/xla/shape_tree.h"

/**
 * A tuple or a leaf. The nodes of a tree are in pre-order: each tuple, then its
 * elements with their subtrees. A subtree is a range of the array of nodes, and
 * a walk is a loop: no function recurses, so that depth takes no stack.
 */
typedef struct rlo__tree_node {
  /** Array, buffer: offset of the shape in rlo_shape_tree.packed. Others: the
   *  offset of the next one. */
  size_t offset;
  rlo_shape_kind kind;
  /** Number of enclosing tuples. */
  int32_t depth;
  /** The node of the enclosing tuple; -1 for the root. */
  int32_t parent;
  /** Its position in that tuple. */
  int32_t ordinal;
  /** Elements of a tuple. */
  int32_t num_elements;
  /** Nodes of the subtree, this one included. */
  int32_t num_nodes;
  /** Element i of a tuple is node slots[first_slot + i]. */
  int32_t first_slot;
} rlo__tree_node;

struct rlo_shape_tree {
  atomic_int references;
  int32_t num_nodes;
  int32_t num_leaves;
  int32_t depth;
  rlo__tree_node *nodes;
  int32_t *slots;
  /** The shapes of arrays and buffers, by rlo__shape_pack. */
  uint8_t *packed;
  size_t packed_bytes;
};

/** A tree under construction. */
typedef struct rlo__tree_builder {
  rlo_shape_tree *tree;
  size_t node_capacity;
  size_t packed_capacity;
  /** The innermost open tuple; -1 if none is open. */
  int32_t open;
} rlo__tree_builder;

/** Begins a tree; rlo__tree_builder_finish or _deinit ends it.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__tree_builder_begin(rlo__tree_builder *builder);

/** Frees the builder. Legal after _finish, and on zeroed storage. */
void rlo__tree_builder_deinit(rlo__tree_builder *builder);

/** Opens a tuple, as an element of the open one.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED beyond the limits of
 *          shape_tree.h, here and below. */
RLO_NODISCARD rlo_status rlo__tree_builder_open(rlo__tree_builder *builder);

/** Closes the innermost tuple; one must be open. */
void rlo__tree_builder_close(rlo__tree_builder *builder);

/** Adds a leaf. `shape` is valid for an array or a buffer, else NULL. */
RLO_NODISCARD rlo_status rlo__tree_builder_add(rlo__tree_builder *builder,
                                               rlo_shape_kind kind,
                                               const rlo_shape *shape);

/** Adds a copy of a subtree. */
RLO_NODISCARD rlo_status rlo__tree_builder_copy(rlo__tree_builder *builder,
                                                const rlo_shape_tree *tree,
                                                int32_t node);

/** Returns the tree, which has one root and no open tuple, to the caller, who
 *  owns it. The builder is empty afterwards, whatever the status.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__tree_builder_finish(rlo__tree_builder *builder,
                                                  rlo_shape_tree **out_tree);

/** True for the kinds that have an rlo_shape. */
static inline bool rlo__shape_kind_has_shape(rlo_shape_kind kind) {
  return kind == RLO_SHAPE_KIND_ARRAY || kind == RLO_SHAPE_KIND_BUFFER;
}

/** The node after a subtree. */
static inline int32_t rlo__tree_node_end(const rlo_shape_tree *tree,
                                         int32_t node) {
  return node + tree->nodes[node].num_nodes;
}

/** Element `position` of a tuple; both must exist. */
static inline int32_t rlo__tree_element(const rlo_shape_tree *tree,
                                        int32_t tuple,
                                        int64_t position) {
  return tree->slots[tree->nodes[tuple].first_slot + position];
}

/** Unpacks the shape of an array or a buffer. */
void rlo__tree_get_shape(const rlo_shape_tree *tree,
                         int32_t node,
                         rlo_shape *out_shape);

/** Follows a path. @return RLO_OK; RLO_OUT_OF_RANGE, naming the entry without
 * an element; RLO_INVALID_ARGUMENT for a negative count or a NULL path. */
RLO_NODISCARD rlo_status rlo__tree_find(const rlo_shape_tree *tree,
                                        const int64_t *index,
                                        int32_t count,
                                        int32_t *out_node);

/** Prefixes the message of the last failure with "subshape {1,0}: ", the path
 * of the node; the root has none. Returns `status`. */
rlo_status rlo__tree_prefix(rlo_status status,
                            const rlo_shape_tree *tree,
                            int32_t node);

#endif
