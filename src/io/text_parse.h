/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_TEXT_PARSE_H
#define RLO_IO_TEXT_PARSE_H

#include "io/text_lex.h"
#include "relayout/xla/shape_tree.h"

/** Reads a shape of any kind as a tree. */
RLO_NODISCARD rlo_status rlo__text_parse_tree(rlo__lexer *lexer,
                                              rlo_shape_tree **out_tree);

#endif
