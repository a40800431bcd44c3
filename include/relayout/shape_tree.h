/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_SHAPE_TREE_H
#define RELAYOUT_SHAPE_TREE_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * A shape that may be more than one array: XLA's tuples, nested to any depth,
 * with arrays, buffers, tokens and opaque values as leaves. An rlo_shape
 * describes one array; whatever moves data takes those. A tree describes what
 * a program takes or returns, and hands out its arrays.
 *
 * A tree never changes: functions that edit make a new one. Each function that
 * gives out a tree gives one reference, which rlo_shape_tree_release ends. A
 * leaf takes about 60 bytes, so tens of thousands of leaves are no burden.
 *
 * Places in a tree are paths as XLA's ShapeIndex: {1,0} is element 0 of
 * element 1 of the root, and the empty path (NULL, 0) is the root itself.
 *
 * Threads: safe, all of them; a tree may be shared.
 */
typedef struct rlo_shape_tree rlo_shape_tree;

/** Most tuples that may lie around a leaf or a tuple. */
#define RLO_SHAPE_TREE_MAX_DEPTH 8192
/** Most tuples and leaves of one tree, taken together. */
#define RLO_SHAPE_TREE_MAX_SUBSHAPES 2097152

/** What stands at one place of a tree; those that are no array have the
 *  numbers of XLA's PrimitiveType. */
typedef enum rlo_shape_kind {
  /** An rlo_shape. */
  RLO_SHAPE_KIND_ARRAY = 0,
  /** Any number of elements, which are subshapes; the only kind that has. */
  RLO_SHAPE_KIND_TUPLE = 13,
  /** A value of a type that is not told. */
  RLO_SHAPE_KIND_OPAQUE = 14,
  /** A value that orders side effects and holds nothing. */
  RLO_SHAPE_KIND_TOKEN = 17,
  /** Memory that a program may change in place, as large as its array. */
  RLO_SHAPE_KIND_BUFFER = 34
} rlo_shape_kind;

/* ------------------------------------------------------------------ making */

/** A tree of one array (copied); its dimensions may be unbounded.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; or what rlo_shape_validate_unbounded
 * says. On failure *out_tree is NULL, here and below. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_make_array(const rlo_shape *shape, rlo_shape_tree **out_tree);

/** As rlo_shape_tree_make_array, for a buffer. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_make_buffer(const rlo_shape *shape, rlo_shape_tree **out_tree);

/** `token[]`. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_make_token(rlo_shape_tree **out_tree);

/** `opaque[]`. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_make_opaque(rlo_shape_tree **out_tree);

/** The tuple without elements, `()`. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_make_nil(rlo_shape_tree **out_tree);

/** A tuple of these elements. Making a large tuple so takes time linear in its
 *  size; appending one element after the other would not.
 *  @param elements  `num_elements` trees, copied; NULL only for none of them.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for a negative
 *          number; RLO_UNSUPPORTED beyond RLO_SHAPE_TREE_MAX_DEPTH or
 *          RLO_SHAPE_TREE_MAX_SUBSHAPES. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_make_tuple(const rlo_shape_tree *const *elements,
                          int64_t num_elements,
                          rlo_shape_tree **out_tree);

/** Another reference to the same tree: returns it. NULL gives NULL. */
RLO_API rlo_shape_tree *rlo_shape_tree_retain(rlo_shape_tree *tree);

/** End one reference; the last one frees the tree. NULL is legal. */
RLO_API void rlo_shape_tree_release(rlo_shape_tree *tree);

/* ----------------------------------------------------------------- editing */

/* The statuses of these: RLO_OK; RLO_INVALID_ARGUMENT if the root is not a
 * tuple; RLO_OUT_OF_RANGE for a position outside of it; RLO_OUT_OF_MEMORY; and
 * those of rlo_shape_tree_make_tuple. Each copies the tree. */

/** The tuple with one element more at its end. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_append_to_tuple(const rlo_shape_tree *tuple,
                               const rlo_shape_tree *element,
                               rlo_shape_tree **out_tree);

/** The tuple with another element at `position`. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_update_tuple(const rlo_shape_tree *tuple,
                            int64_t position,
                            const rlo_shape_tree *element,
                            rlo_shape_tree **out_tree);

/** The tuple of the elements start <= i < limit. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_slice_tuple(const rlo_shape_tree *tuple,
                           int64_t start,
                           int64_t limit,
                           rlo_shape_tree **out_tree);

/** The tuple of all leaves, in order; the root may be a leaf itself. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_flatten(const rlo_shape_tree *tree, rlo_shape_tree **out_tree);

/** Makes an array from an array. What it returns other than RLO_OK ends the
 *  work and is passed on. */
typedef rlo_status (*rlo_shape_map_fn)(const rlo_shape *shape,
                                       rlo_shape *out_shape,
                                       void *payload);

/** The same tree with `map(array)` for each array, those of buffers included,
 *  in order. With a function that edits one rlo_shape this is XLA's recursive
 *  version of it: changed element types, cleared layouts, host shapes.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; what `map` returned; or what
 *          rlo_shape_validate_unbounded says of a result. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_map_arrays(const rlo_shape_tree *tree,
                          rlo_shape_map_fn map,
                          void *payload,
                          rlo_shape_tree **out_tree);

/** The dimensions and types of `to` with the layouts of `from`: the trees have
 *  the same structure, and their arrays the same ranks. (XLA's
 *  CopyLayoutBetweenShapes.)
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT where structure or
 *          rank differ; or what rlo_shape_validate_unbounded says of a result.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_copy_layouts(const rlo_shape_tree *from,
                            const rlo_shape_tree *to,
                            rlo_shape_tree **out_tree);

/* ----------------------------------------------------------------- looking */

/** What stands at the root. */
RLO_API rlo_shape_kind rlo_shape_tree_kind(const rlo_shape_tree *tree);

/** Elements of the root: 0 if it is no tuple. */
RLO_API int64_t rlo_shape_tree_tuple_element_count(const rlo_shape_tree *tree);

/** True if an element of the root is a tuple. */
RLO_API bool rlo_shape_tree_is_nested_tuple(const rlo_shape_tree *tree);

/** True for `()`. */
RLO_API bool rlo_shape_tree_is_empty_tuple(const rlo_shape_tree *tree);

/** All tuples and leaves, the root included. */
RLO_API int64_t rlo_shape_tree_subshape_count(const rlo_shape_tree *tree);

/** All that is no tuple, the root included. */
RLO_API int64_t rlo_shape_tree_leaf_count(const rlo_shape_tree *tree);

/** Entries of the longest path: 0 for a leaf or `()` alone. */
RLO_API int32_t rlo_shape_tree_depth(const rlo_shape_tree *tree);

/** True if something stands at this path (`count` entries). */
RLO_API bool rlo_shape_tree_index_is_valid(const rlo_shape_tree *tree,
                                           const int64_t *index,
                                           int32_t count);

/** True if a leaf stands at this path. */
RLO_API bool rlo_shape_tree_is_leaf_index(const rlo_shape_tree *tree,
                                          const int64_t *index,
                                          int32_t count);

/** What stands at a path, as a tree of its own (copied).
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_OUT_OF_RANGE with the part of the
 *          path that leads nowhere. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_get_subshape(const rlo_shape_tree *tree,
                            const int64_t *index,
                            int32_t count,
                            rlo_shape_tree **out_tree);

/** The array, or the array of the buffer, that stands at a path. Takes time
 *  linear in `count` only.
 *  @return RLO_OK; RLO_OUT_OF_RANGE as above; RLO_INVALID_ARGUMENT for what
 *          is neither. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_get_array(const rlo_shape_tree *tree,
                         const int64_t *index,
                         int32_t count,
                         rlo_shape *out_shape);

/** One place of a tree, as a walk shows it; borrowed, for the call only. */
typedef struct rlo_subshape {
  /** The path from the root. */
  const int64_t *index;
  int32_t index_count;
  rlo_shape_kind kind;
  /** Of a tuple; else 0. */
  int64_t num_elements;
  /** Of an array or a buffer; else NULL. */
  const rlo_shape *shape;
} rlo_subshape;

/** Sees one place. What it returns other than RLO_OK ends the walk and is
 *  passed on: RLO_CANCELLED to have seen enough. */
typedef rlo_status (*rlo_subshape_fn)(const rlo_subshape *subshape,
                                      void *payload);

typedef enum rlo_walk_order {
  /** Each tuple before its elements. */
  RLO_WALK_PRE_ORDER = 0,
  /** Each tuple after its elements. */
  RLO_WALK_POST_ORDER = 1,
  /** What is no tuple, only. */
  RLO_WALK_LEAVES = 2
} rlo_walk_order;

/** Call `visit` for the subshapes, in order, on this thread.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for an unknown
 *          order; or what `visit` returned. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_tree_for_each_subshape(const rlo_shape_tree *tree,
                                 rlo_walk_order order,
                                 rlo_subshape_fn visit,
                                 void *payload);

/* --------------------------------------------------- comparing and measuring
 */

/** Same structure, same kinds, and arrays that are rlo_shape_equal. */
RLO_API bool rlo_shape_tree_equal(const rlo_shape_tree *a,
                                  const rlo_shape_tree *b);

/** Same structure, same kinds, and arrays that are rlo_shape_compatible: the
 *  layouts do not matter. */
RLO_API bool rlo_shape_tree_compatible(const rlo_shape_tree *a,
                                       const rlo_shape_tree *b);

/** Same structure, same kinds, and arrays that are the same but for what
 *  `ignore` (RLO_EQUAL_* bits of layout_util.h) names. The bits apply at every
 *  depth. */
RLO_API bool rlo_shape_tree_equal_with(const rlo_shape_tree *a,
                                       const rlo_shape_tree *b,
                                       uint32_t ignore);

/** Same structure, same kinds, same ranks, and layouts that are the same but
 *  for what `ignore` (those of the RLO_EQUAL_* bits that are for layouts)
 *  names, at every depth; types and sizes do not matter. */
RLO_API bool rlo_shape_tree_layouts_equal(const rlo_shape_tree *a,
                                          const rlo_shape_tree *b,
                                          uint32_t ignore);

/** Tuples of as many elements in the same places, whatever the leaves. */
RLO_API bool rlo_shape_tree_equal_structure(const rlo_shape_tree *a,
                                            const rlo_shape_tree *b);

/** The sizes of a tree's arrays, those of buffers included, summed up. The
 *  table of pointers that XLA puts beside a tuple is not counted. */
typedef struct rlo_shape_tree_extent {
  /** Arrays and buffers. */
  int64_t arrays;
  int64_t elements;
  int64_t bytes;
  int64_t physical_bytes;
} rlo_shape_tree_extent;

/** Sum up rlo_shape_measure. Tokens take nothing.
 *  @return RLO_OK; RLO_UNSUPPORTED, with its path, for an opaque value, whose
 *          size is not known, and for an unbounded array; RLO_OVERFLOW beyond
 * 64 bits; or what rlo_shape_measure says. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_measure(
    const rlo_shape_tree *tree, rlo_shape_tree_extent *out_extent);

/**
 * What a program takes and returns: named parameters and a result, each a
 * shape tree. XLA writes it `(a: f32[2], (unknown): s32[]) -> f32[]`.
 *
 * It never changes. Threads: safe; a program shape may be shared.
 */
typedef struct rlo_program_shape rlo_program_shape;

/**
 * Make a program shape.
 *
 * @param parameters      `num_parameters` trees; a reference to each is kept.
 * @param names           as many names, copied; NULL, or a NULL or empty name,
 *                        leaves it unknown. A name is a letter or '_', then
 *                        letters, digits, '_', '.' and '-'.
 * @param result          a reference is kept.
 * @param out_program     goes to rlo_program_shape_release; NULL on failure.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for a name of other
 *         characters or a negative number of parameters.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_program_shape_create(rlo_shape_tree *const *parameters,
                         const char *const *names,
                         int64_t num_parameters,
                         rlo_shape_tree *result,
                         rlo_program_shape **out_program);

/** Free a program shape. NULL is legal. */
RLO_API void rlo_program_shape_release(rlo_program_shape *program);

RLO_API int64_t
rlo_program_shape_parameter_count(const rlo_program_shape *program);

/** Parameter `position`, borrowed; NULL outside of [0, count). */
RLO_API const rlo_shape_tree *rlo_program_shape_parameter(
    const rlo_program_shape *program, int64_t position);

/** Its name, borrowed; "" if it is unknown; NULL outside of [0, count). */
RLO_API const char *rlo_program_shape_parameter_name(
    const rlo_program_shape *program, int64_t position);

/** The result, borrowed. */
RLO_API const rlo_shape_tree *rlo_program_shape_result(
    const rlo_program_shape *program);

/** Same number of parameters and equal trees throughout; names do not count.
 */
RLO_API bool rlo_program_shape_equal(const rlo_program_shape *a,
                                     const rlo_program_shape *b);

RLO_END_DECLS

#endif
