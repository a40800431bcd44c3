/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_TEXT_PARSE_H
#define RLO_IO_TEXT_PARSE_H

#include "desc/tree/shape_tree.h"
#include "io/text_lex.h"
#include "relayout/shape_tree.h"

/**
 * One array, or one layout, that is being read: text_parse.c knows arrays,
 * text_layout.c the part in braces, text_tree.c what is made of arrays.
 * Begin with all zero and a lexer.
 */
typedef struct rlo__text_parser {
  rlo__lexer *lexer;
  /** Its type, rank and dimensions are known by the time its layout is read. */
  rlo_shape shape;
  /** What was written as minor_to_major, and where. */
  int32_t num_minor_to_major;
  size_t minor_to_major_position;
  /** The layout stands alone: its rank is what it says itself, and it may have
   *  a physical shape. */
  bool is_bare;
  /** Of a bare layout; owned, may be NULL. */
  rlo_shape_tree *physical_shape;
} rlo__text_parser;

/** An integer that is at least `least`, else "expected <expected>". */
RLO_NODISCARD rlo_status rlo__text_parse_integer(rlo__lexer *lexer,
                                                 int64_t least,
                                                 const char *expected,
                                                 int64_t *out_value);

/** The name of an element type, else "expected <expected>". */
RLO_NODISCARD rlo_status rlo__text_parse_dtype(rlo__lexer *lexer,
                                               const char *expected,
                                               rlo_dtype *out_dtype);

/** '{' ... '}' into parser->shape.layout. Behind a shape, "{}" is refused as
 *  XLA does; where it stands alone it is a scalar's layout. */
RLO_NODISCARD rlo_status rlo__text_parse_layout(rlo__text_parser *parser,
                                                bool may_be_empty);

/** An element type, "expected" if there is none, dimensions and maybe a
 *  layout into parser->shape. */
RLO_NODISCARD rlo_status rlo__text_parse_array(rlo__text_parser *parser,
                                               const char *expected);

/** Bring parser->shape into its one form, and check it: dimensions may be
 *  unbounded. */
RLO_NODISCARD rlo_status rlo__text_finish_array(rlo__text_parser *parser);

/** A shape of any kind, added to what the builder has open. */
RLO_NODISCARD rlo_status rlo__text_parse_subshape(rlo__lexer *lexer,
                                                  rlo__tree_builder *builder);

/** A shape of any kind, as a tree of its own. */
RLO_NODISCARD rlo_status rlo__text_parse_tree(rlo__lexer *lexer,
                                              rlo_shape_tree **out_tree);

/** RLO_OK at the end of the text only. */
RLO_NODISCARD rlo_status rlo__text_expect_end(const rlo__lexer *lexer);

#endif
