/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TEXT_ARRAY_H
#define RLO_TEXT_ARRAY_H

#include "base/str.h"
#include "text/layout.h"

/* The text of an array and its parts, for texts that have arrays in them: trees and
 * programs of shapes (xla/), shardings (shard/). */

/** Reads an array, or fails with "expected <expected>" where none begins. */
RLO_NODISCARD rlo_status rlo__text_parse_array(rlo__text_parser *parser, const char *expected);

/** Makes parser->shape what users get, and validates it. */
RLO_NODISCARD rlo_status rlo__text_finish_array(rlo__text_parser *parser);

/** 1,2,3 with RLO_TILE_COMBINE as '*' where the list is a tile. */
void rlo__text_print_list(rlo__str *str, const int64_t *values, int32_t count, bool is_tile);

/** Prints a physical shape: a layout does not know the shapes that contain layouts. */
typedef void rlo__text_print_tree_fn(rlo__str *str, const struct rlo_shape_tree *tree);

/** The part in braces.
 *  @param default_bits    the element size that is not printed.
 *  @param physical_shape  NULL: none, and no function. */
void rlo__text_print_layout(rlo__str *str, const rlo_layout *layout, int32_t rank,
                            int64_t default_bits, const struct rlo_shape_tree *physical_shape,
                            rlo__text_print_tree_fn *print_tree);

void rlo__text_print_shape(rlo__str *str, const rlo_shape *shape, bool with_layout);

#endif
