/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_TEXT_PRINT_H
#define RLO_IO_TEXT_PRINT_H

#include <stdbool.h>

#include "base/str.h"
#include "relayout/shape_tree.h"

/** The part in braces. An element size equal to `default_bits` goes unsaid;
 *  `physical_shape` may be NULL. */
void rlo__text_print_layout(rlo__str *str,
                            const rlo_layout *layout,
                            int32_t rank,
                            int64_t default_bits,
                            const rlo_shape_tree *physical_shape);

/** An array, with its layout or without. */
void rlo__text_print_shape(rlo__str *str,
                           const rlo_shape *shape,
                           bool with_layout);

/** A shape of any kind, with the layouts or without. */
void rlo__text_print_tree(rlo__str *str,
                          const rlo_shape_tree *tree,
                          bool with_layouts);

#endif
