/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_XLA_SHAPE_TREE_H
#define RLO_XLA_SHAPE_TREE_H

#include <stdatomic.h>

#include "relayout/xla/shape_tree.h"

/**
 * A tuple or a leaf. It never changes, so that trees share their subtrees.
 * Functions recurse: RLO_SHAPE_TREE_MAX_DEPTH bounds the stack.
 */
struct rlo_shape_tree {
  atomic_int references;
  rlo_shape_kind kind;
  /** Tuples and leaves of the tree; its leaves. */
  int32_t num_nodes, num_leaves;
  /** The most tuples around one of them. */
  int32_t depth;
  int32_t num_elements;
  /** The elements of a tuple. An array or a buffer has its record here instead, by
   *  rlo__shape_record. */
  rlo_shape_tree *elements[];
};

/** True for the kinds that have an rlo_shape. */
static inline bool rlo__shape_kind_has_shape(rlo_shape_kind kind) {
  return kind == RLO_SHAPE_KIND_ARRAY || kind == RLO_SHAPE_KIND_BUFFER;
}

/** "a tuple", "an array"; NULL for what is no kind. */
const char *rlo__shape_kind_name(int32_t kind);

/** Makes a tuple with room for so many elements, which are NULL.
 *  @return RLO_OK; RLO_UNSUPPORTED; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__tree_begin_tuple(int64_t num_elements, rlo_shape_tree **out_tree);

/** Gives a tuple with all of its elements to the caller, or releases it if
 *  `status` is a failure or it is beyond a limit. */
RLO_NODISCARD rlo_status rlo__tree_finish_tuple(rlo_status status, rlo_shape_tree *tuple,
                                                rlo_shape_tree **out_tree);

/** Does what rlo_program_shape_create does, and names the first `num_names`
 *  parameters. */
RLO_NODISCARD rlo_status rlo__program_shape_create(rlo_shape_tree *const *parameters,
                                                   int64_t num_parameters, const char *const *names,
                                                   int64_t num_names, rlo_shape_tree *result,
                                                   rlo_program_shape **out_program);

/** Checks numbers against the limits of shape_tree.h.
 *  @return RLO_OK; RLO_UNSUPPORTED. */
RLO_NODISCARD rlo_status rlo__tree_check(int64_t num_nodes, int32_t depth);

/** Makes a leaf. `shape` is valid for an array or a buffer, else NULL.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__tree_make_leaf(rlo_shape_kind kind, const rlo_shape *shape,
                                             rlo_shape_tree **out_tree);

/** Reads the shape of an array or a buffer. */
void rlo__tree_get_shape(const rlo_shape_tree *leaf, rlo_shape *out_shape);

/** Prefixes the message of the last failure with "subshape {1,0}: ", the path
 * of `count` entries; the root has none. Returns `status`. */
rlo_status rlo__tree_prefix(rlo_status status, const int64_t *path, int32_t count);

#endif
