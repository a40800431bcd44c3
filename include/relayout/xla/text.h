/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_XLA_TEXT_H
#define RELAYOUT_XLA_TEXT_H

#include "relayout/text.h"
#include "relayout/xla/shape_tree.h"

RLO_BEGIN_DECLS

/* ---------------------------------------------------- shapes of every kind */

/**
 * Parse a shape that may be a tuple, a buffer, a token or an opaque value:
 *
 *   (f32[1], (f32[2]{0}, token[]), opaque[], b(s32[3]), ())
 *
 * Reads whatever XLA prints, within the limits of shape_tree.h. Nesting takes
 * no stack.
 * @param out_tree  released by rlo_shape_tree_release; NULL on failure.
 * @return as rlo_shape_parse, within RLO_TEXT_MAX_TREE_BYTES;
 *         RLO_UNSUPPORTED beyond the limits of shape_tree.h;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_tree_parse(const char *text, size_t text_bytes,
                                                      rlo_shape_tree **out_tree);

/** Print a tree as XLA does, so that rlo_shape_tree_parse reads it back:
 *  elements apart by ", ", and an index in a comment before each fifth one.
 *  Rules as rlo_shape_format. */
RLO_API size_t rlo_shape_tree_format(const rlo_shape_tree *tree, char *buffer, size_t capacity);

/** The same without layouts. */
RLO_API size_t rlo_shape_tree_human_string(const rlo_shape_tree *tree, char *buffer,
                                           size_t capacity);

/** Parse `(a: f32[2], (unknown): s32[]) -> f32[]`.
 *  @param out_program  released by rlo_program_shape_release; NULL on failure.
 *  @return as rlo_shape_tree_parse. */
RLO_API RLO_NODISCARD rlo_status rlo_program_shape_parse(const char *text, size_t text_bytes,
                                                         rlo_program_shape **out_program);

/** Print a program shape so that rlo_program_shape_parse reads it back. Rules
 *  as rlo_shape_format. */
RLO_API size_t rlo_program_shape_format(const rlo_program_shape *program, char *buffer,
                                        size_t capacity);

/** The same without layouts. */
RLO_API size_t rlo_program_shape_human_string(const rlo_program_shape *program, char *buffer,
                                              size_t capacity);

/* ------------------------------------------------------ a layout by itself */

/**
 * A layout whose array is not known, as XLA's ParseLayout gives it: it may say
 * what no valid layout of an array says, an index or a pointer type and a
 * physical shape.
 */
typedef struct rlo_bare_layout {
  /** Entries of minor_to_major, or strides. */
  int32_t rank;
  rlo_layout layout;
  /** P(...); owned; NULL: none. */
  rlo_shape_tree *physical_shape;
} rlo_bare_layout;

/** Parse the part in braces when nothing is known of an array. What can be
 *  checked is: minor_to_major is a permutation, tiles are well formed. The rest
 *  is for rlo_shape_make_with_layout.
 *  @param out_layout  released by rlo_bare_layout_deinit; all zero on failure.
 *  @return as rlo_shape_tree_parse; RLO_INVALID_ARGUMENT for what is checked.
 */
RLO_API RLO_NODISCARD rlo_status rlo_bare_layout_parse(const char *text, size_t text_bytes,
                                                       rlo_bare_layout *out_layout);

/** Release the physical shape and zero the rest. NULL is legal. */
RLO_API void rlo_bare_layout_deinit(rlo_bare_layout *layout);

/** Print a bare layout. Rules as rlo_shape_format. */
RLO_API size_t rlo_bare_layout_format(const rlo_bare_layout *layout, char *buffer, size_t capacity);

/** Same rank, layout (rlo_layout_equal) and physical shape
 *  (rlo_shape_tree_equal, or none on both sides). */
RLO_API bool rlo_bare_layout_equal(const rlo_bare_layout *a, const rlo_bare_layout *b);

RLO_END_DECLS

#endif
