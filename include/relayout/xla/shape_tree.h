/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_SHAPE_TREE_H
#define RELAYOUT_XLA_SHAPE_TREE_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * A shape of any number of arrays: XLA's tuples, nested to any depth, with
 * arrays, buffers, tokens and opaque values as leaves. An rlo_shape describes
 * one array, which is the unit of all movement of data; a tree describes the
 * parameters and results of programs.
 *
 * A tree is immutable: edits make a new one, which shares what has not changed.
 * Each function that outputs a tree gives the caller one reference, for
 * rlo_shape_tree_release. A leaf takes about 200 bytes.
 *
 * A path is XLA's ShapeIndex: {1,0} is element 0 of element 1 of the root, and
 * the empty path (NULL, 0) is the root itself.
 *
 * Threads: all functions are safe; a tree may be shared.
 */
typedef struct rlo_shape_tree rlo_shape_tree;

/** Maximum number of tuples that enclose a leaf or a tuple. */
#define RLO_SHAPE_TREE_MAX_DEPTH 256
/** Maximum number of tuples and leaves of a tree. */
#define RLO_SHAPE_TREE_MAX_SUBSHAPES 65536

/** The kind of a subshape; those other than arrays have the values of XLA's
 *  PrimitiveType. */
typedef enum rlo_shape_kind {
  /** An rlo_shape. */
  RLO_SHAPE_KIND_ARRAY = 0,
  /** Any number of elements, which are subshapes. */
  RLO_SHAPE_KIND_TUPLE = 13,
  /** A value of an unknown type. */
  RLO_SHAPE_KIND_OPAQUE = 14,
  /** A value without data that orders side effects. */
  RLO_SHAPE_KIND_TOKEN = 17,
  /** Memory that a program may change in place, as large as its array. */
  RLO_SHAPE_KIND_BUFFER = 34
} rlo_shape_kind;

/* ------------------------------------------------------------ construction */

/** Makes a tree of one array (copied); its dimensions may be unbounded.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; the statuses of
 *          rlo_shape_validate_unbounded. On failure *out_tree is NULL, here and
 *          below. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_make_array(const rlo_shape *shape,
                                                           rlo_shape_tree **out_tree);

/** Makes a tree of one buffer. @return as rlo_shape_tree_make_array. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_make_buffer(const rlo_shape *shape,
                                                            rlo_shape_tree **out_tree);

/** `token[]`. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_make_token(rlo_shape_tree **out_tree);

/** `opaque[]`. @return RLO_OK; RLO_OUT_OF_MEMORY. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_make_opaque(rlo_shape_tree **out_tree);

/** Makes the tuple without elements, `()`. @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_make_nil(rlo_shape_tree **out_tree);

/** Makes a tuple, in time linear in the number of its elements; appending one
 *  after the other takes quadratic time.
 *  @param elements  `num_elements` trees, shared; NULL only for 0.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for a negative
 *          number; RLO_UNSUPPORTED beyond RLO_SHAPE_TREE_MAX_DEPTH or
 *          RLO_SHAPE_TREE_MAX_SUBSHAPES. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_make_tuple(const rlo_shape_tree *const *elements,
                                                           int64_t num_elements,
                                                           rlo_shape_tree **out_tree);

/** Adds a reference and returns the tree; NULL for NULL. */
RLO_API rlo_shape_tree *rlo_shape_tree_retain(rlo_shape_tree *tree);

/** Releases a reference; the last one frees the tree. NULL is legal. */
RLO_API void rlo_shape_tree_release(rlo_shape_tree *tree);

/* ------------------------------------------------------------------- edits */

/* Each copies the tree and returns RLO_OK; RLO_INVALID_ARGUMENT if the root is
 * not a tuple; RLO_OUT_OF_RANGE for a position outside the tuple;
 * RLO_OUT_OF_MEMORY; the statuses of rlo_shape_tree_make_tuple. */

/** Appends an element to the tuple. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_append_to_tuple(const rlo_shape_tree *tuple,
                                                                const rlo_shape_tree *element,
                                                                rlo_shape_tree **out_tree);

/** Replaces the element at `position`. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_update_tuple(const rlo_shape_tree *tuple,
                                                             int64_t position,
                                                             const rlo_shape_tree *element,
                                                             rlo_shape_tree **out_tree);

/** Makes the tuple of the elements start <= i < limit. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_slice_tuple(const rlo_shape_tree *tuple,
                                                            int64_t start, int64_t limit,
                                                            rlo_shape_tree **out_tree);

/** Makes the tuple of all leaves, in order; the root may be a leaf itself. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_flatten(const rlo_shape_tree *tree,
                                                        rlo_shape_tree **out_tree);

/** Converts an array. A status other than RLO_OK ends the operation, which
 *  returns it. */
typedef rlo_status (*rlo_shape_map_fn)(const rlo_shape *shape, rlo_shape *out_shape, void *payload);

/** Replaces each array, those of buffers included, by `map(array)`, in order.
 *  With a function that edits one rlo_shape this is XLA's recursive version of
 *  it: other element types, default layouts, host shapes.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; the status of `map`; the statuses of
 *          rlo_shape_validate_unbounded for a result. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_map_arrays(const rlo_shape_tree *tree,
                                                           rlo_shape_map_fn map, void *payload,
                                                           rlo_shape_tree **out_tree);

/** XLA's CopyLayoutBetweenShapes: makes a tree with the dimensions and types of
 *  `to` and the layouts of `from`.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT if structures or
 *          ranks differ; the statuses of rlo_shape_validate_unbounded for a
 *          result. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_copy_layouts(const rlo_shape_tree *from,
                                                             const rlo_shape_tree *to,
                                                             rlo_shape_tree **out_tree);

/* --------------------------------------------------------------- properties */

/** Returns the kind of the root; RLO_SHAPE_KIND_OPAQUE for NULL. */
RLO_API rlo_shape_kind rlo_shape_tree_kind(const rlo_shape_tree *tree);

/** Returns the number of elements of the root; 0 if it is not a tuple. */
RLO_API int64_t rlo_shape_tree_tuple_element_count(const rlo_shape_tree *tree);

/** True if an element of the root is a tuple. */
RLO_API bool rlo_shape_tree_is_nested_tuple(const rlo_shape_tree *tree);

/** True for `()`. */
RLO_API bool rlo_shape_tree_is_empty_tuple(const rlo_shape_tree *tree);

/** Returns the number of tuples and leaves, the root included. */
RLO_API int64_t rlo_shape_tree_subshape_count(const rlo_shape_tree *tree);

/** Returns the number of leaves, the root included. */
RLO_API int64_t rlo_shape_tree_leaf_count(const rlo_shape_tree *tree);

/** Returns the length of the longest path: 0 for a leaf or `()` alone. */
RLO_API int32_t rlo_shape_tree_depth(const rlo_shape_tree *tree);

/** True if the path of `count` entries leads to a subshape. */
RLO_API bool rlo_shape_tree_index_is_valid(const rlo_shape_tree *tree, const int64_t *index,
                                           int32_t count);

/** True if the path leads to a leaf. */
RLO_API bool rlo_shape_tree_is_leaf_index(const rlo_shape_tree *tree, const int64_t *index,
                                          int32_t count);

/** Copies the subshape at a path to a tree of its own.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_OUT_OF_RANGE, naming the invalid part
 *          of the path. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_get_subshape(const rlo_shape_tree *tree,
                                                             const int64_t *index, int32_t count,
                                                             rlo_shape_tree **out_tree);

/** Gets the array, or the array of the buffer, at a path. Takes time linear in
 *  `count`.
 *  @return RLO_OK; RLO_OUT_OF_RANGE as above; RLO_INVALID_ARGUMENT for another
 *          kind. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_get_array(const rlo_shape_tree *tree,
                                                          const int64_t *index, int32_t count,
                                                          rlo_shape *out_shape);

/** A subshape during a walk; borrowed, valid during the call. */
typedef struct rlo_subshape {
  /** The path from the root. */
  const int64_t *index;
  int32_t index_count;
  rlo_shape_kind kind;
  /** The number of elements of a tuple; else 0. */
  int64_t num_elements;
  /** The shape of an array or a buffer; else NULL. */
  const rlo_shape *shape;
} rlo_subshape;

/** Called for one subshape. A status other than RLO_OK, such as RLO_CANCELLED,
 *  ends the walk, which returns it. */
typedef rlo_status (*rlo_subshape_fn)(const rlo_subshape *subshape, void *payload);

typedef enum rlo_walk_order {
  /** Each tuple before its elements. */
  RLO_WALK_PRE_ORDER = 0,
  /** Each tuple after its elements. */
  RLO_WALK_POST_ORDER = 1,
  /** Leaves only. */
  RLO_WALK_LEAVES = 2
} rlo_walk_order;

/** Calls `visit` for the subshapes, in order, in the caller's thread.
 *  @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for an unknown
 *          order; the status of `visit`. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_for_each_subshape(const rlo_shape_tree *tree,
                                                                  rlo_walk_order order,
                                                                  rlo_subshape_fn visit,
                                                                  void *payload);

/* --------------------------------------------------- comparison and sizes */

/** True for the same structure and kinds, and arrays that are rlo_shape_equal.
 */
RLO_API bool rlo_shape_tree_equal(const rlo_shape_tree *a, const rlo_shape_tree *b);

/** True for the same structure and kinds, and arrays that are
 *  rlo_shape_compatible: layouts are ignored. */
RLO_API bool rlo_shape_tree_compatible(const rlo_shape_tree *a, const rlo_shape_tree *b);

/** True for the same structure and kinds, and arrays that are
 *  rlo_shape_equal_with `ignore` (RLO_EQUAL_* bits of compare.h). */
RLO_API bool rlo_shape_tree_equal_with(const rlo_shape_tree *a, const rlo_shape_tree *b,
                                       uint32_t ignore);

/** True for the same structure, kinds and ranks, and layouts that are
 *  rlo_layout_equal_with `ignore`; types and sizes are ignored. */
RLO_API bool rlo_shape_tree_layouts_equal(const rlo_shape_tree *a, const rlo_shape_tree *b,
                                          uint32_t ignore);

/** True if the same paths lead to tuples and leaves; kinds of leaves are
 *  ignored. */
RLO_API bool rlo_shape_tree_equal_structure(const rlo_shape_tree *a, const rlo_shape_tree *b);

/** The sums of the sizes of a tree's arrays, those of buffers included, without
 *  XLA's tables of pointers for tuples. */
typedef struct rlo_shape_tree_extent {
  /** Arrays and buffers. */
  int64_t arrays;
  int64_t elements;
  int64_t bytes;
  int64_t physical_bytes;
} rlo_shape_tree_extent;

/** Sums rlo_shape_measure over the arrays. Tokens have size 0.
 *  @return RLO_OK; RLO_UNSUPPORTED, naming the path, for an opaque value, whose
 *          size is unknown, or an unbounded array; RLO_OVERFLOW beyond 64 bits;
 *          the statuses of rlo_shape_measure. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_measure(const rlo_shape_tree *tree,
                                                        rlo_shape_tree_extent *out_extent);

/**
 * The parameters and the result of a program, each a shape tree: in XLA's text
 * `(a: f32[2], (unknown): s32[]) -> f32[]`.
 *
 * Immutable. Threads: safe; a program shape may be shared.
 */
typedef struct rlo_program_shape rlo_program_shape;

/**
 * Makes a program shape.
 *
 * @param parameters      `num_parameters` trees; each is retained.
 * @param names           `num_parameters` names, copied; NULL, or a NULL or
 *                        empty name, for unknown names. A name is a letter or
 *                        '_', then letters, digits, '_', '.' and '-'.
 * @param result          retained.
 * @param out_program     owned by the caller, for rlo_program_shape_release;
 *                        NULL on failure.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for a name of other
 *         characters or a negative number of parameters.
 */
RLO_API RLO_NODISCARD rlo_status rlo_program_shape_create(rlo_shape_tree *const *parameters,
                                                          const char *const *names,
                                                          int64_t num_parameters,
                                                          rlo_shape_tree *result,
                                                          rlo_program_shape **out_program);

/** Frees a program shape. NULL is legal. */
RLO_API void rlo_program_shape_release(rlo_program_shape *program);

RLO_API int64_t rlo_program_shape_parameter_count(const rlo_program_shape *program);

/** Returns parameter `position`, borrowed; NULL outside [0, count). */
RLO_API const rlo_shape_tree *rlo_program_shape_parameter(const rlo_program_shape *program,
                                                          int64_t position);

/** Returns the name of a parameter, borrowed; "" if unknown; NULL outside
 *  [0, count). */
RLO_API const char *rlo_program_shape_parameter_name(const rlo_program_shape *program,
                                                     int64_t position);

/** Returns the result, borrowed. */
RLO_API const rlo_shape_tree *rlo_program_shape_result(const rlo_program_shape *program);

/** True for equal parameters and results; names are ignored. */
RLO_API bool rlo_program_shape_equal(const rlo_program_shape *a, const rlo_program_shape *b);

RLO_END_DECLS

#endif
