/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TEXT_LAYOUT_H
#define RLO_TEXT_LAYOUT_H

#include "relayout/shape.h"
#include "text/lex.h"

struct rlo_shape_tree;

/**
 * The state of reading one array or one layout: layout.c reads the part in braces,
 * parse.c the array, and xla/ the shapes that consist of arrays. Initialize with zeros
 * and a lexer.
 */
typedef struct rlo__text_parser {
  rlo__lexer *lexer;
  /** Its type, rank and dimensions are known by the time its layout is read. */
  rlo_shape shape;
  /** The entries of minor_to_major, and their position. */
  int32_t num_minor_to_major;
  size_t minor_to_major_position;
  /** The layout has no shape: its minor_to_major determines its rank, and it
   * may have a physical shape. */
  bool is_bare;
  /** The physical shape of a bare layout; owned, may be NULL. */
  struct rlo_shape_tree *physical_shape;
  /** Reads it: a layout does not know the shapes that contain layouts. */
  rlo_status (*parse_physical_shape)(rlo__lexer *lexer, struct rlo_shape_tree **out_tree);
} rlo__text_parser;

/** '{' ... '}' into parser->shape.layout. Behind a shape, "{}" is refused as
 *  XLA does; where it stands alone it is a scalar's layout. */
RLO_NODISCARD rlo_status rlo__text_parse_layout(rlo__text_parser *parser, bool may_be_empty);

/** The word of a fill; NULL for RLO_FILL_BITS and what is no fill. */
const char *rlo__text_fill_word(rlo_fill fill);

#endif
