/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SHAPE_UTIL_SHAPE_TREE_H
#define RLO_SHAPE_UTIL_SHAPE_TREE_H

#include <stdatomic.h>
#include <stddef.h>

#include "relayout/shape_tree.h"

/**
 * A tuple or a leaf. The nodes of a tree stand in pre-order: each tuple, then
 * its elements with all that is in them. So a subtree is a range, and whoever
 * goes through the tree goes through an array: nothing here recurses, and a
 * hostile depth costs no stack.
 */
typedef struct rlo__tree_node {
  /** Where the packed array of an array or a buffer begins; for the others,
   *  where it would. Rises with the node's number. */
  size_t offset;
  rlo_shape_kind kind;
  /** Tuples around it. */
  int32_t depth;
  /** The node of the tuple around it; -1 for the root. */
  int32_t parent;
  /** Its position in that tuple. */
  int32_t ordinal;
  /** Elements of a tuple. */
  int32_t num_elements;
  /** The node itself and all that is in it. */
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
  /** The arrays, each as rlo__shape_pack wrote it. */
  uint8_t *packed;
  size_t packed_bytes;
};

/** A tree in the making. Tuples are opened, filled and closed. */
typedef struct rlo__tree_builder {
  rlo_shape_tree *tree;
  size_t node_capacity;
  size_t packed_capacity;
  /** The innermost open tuple; -1: none. */
  int32_t open;
} rlo__tree_builder;

/** Begin a tree; rlo__tree_builder_deinit or _finish ends it.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__tree_builder_begin(rlo__tree_builder *builder);

/** Free what is there. Legal after _finish, and on zeroed storage. */
void rlo__tree_builder_deinit(rlo__tree_builder *builder);

/** Open a tuple inside the one that is open.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_UNSUPPORTED beyond the limits of
 *          shape_tree.h, here and below. */
RLO_NODISCARD rlo_status rlo__tree_builder_open(rlo__tree_builder *builder);

/** Close the innermost tuple; one must be open. */
void rlo__tree_builder_close(rlo__tree_builder *builder);

/** Add a leaf. `shape` is a valid one for an array or a buffer, else NULL. */
RLO_NODISCARD rlo_status rlo__tree_builder_add(rlo__tree_builder *builder,
                                               rlo_shape_kind kind,
                                               const rlo_shape *shape);

/** Add a copy of what stands at a node of a tree. */
RLO_NODISCARD rlo_status rlo__tree_builder_copy(rlo__tree_builder *builder,
                                                const rlo_shape_tree *tree,
                                                int32_t node);

/** Hand out the tree: exactly one root, and no open tuple. The builder is
 *  empty afterwards, whatever the status.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__tree_builder_finish(rlo__tree_builder *builder,
                                                  rlo_shape_tree **out_tree);

/** True for the kinds that have an rlo_shape. */
static inline bool rlo__shape_kind_has_shape(rlo_shape_kind kind) {
  return kind == RLO_SHAPE_KIND_ARRAY || kind == RLO_SHAPE_KIND_BUFFER;
}

/** The node after a node and all that is in it. */
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

/** The shape of an array's or a buffer's node. */
void rlo__tree_get_shape(const rlo_shape_tree *tree,
                         int32_t node,
                         rlo_shape *out_shape);

/** Follow a path. @return RLO_OK; RLO_OUT_OF_RANGE with the entry that leads
 *  nowhere; RLO_INVALID_ARGUMENT for a negative count or a NULL path. */
RLO_NODISCARD rlo_status rlo__tree_find(const rlo_shape_tree *tree,
                                        const int64_t *index,
                                        int32_t count,
                                        int32_t *out_node);

/** Put "subshape {1,0}: ", the path to a node, before the message of a failure
 *  just recorded; nothing for the root. Returns `status`. */
rlo_status rlo__tree_prefix(rlo_status status,
                            const rlo_shape_tree *tree,
                            int32_t node);

#endif
