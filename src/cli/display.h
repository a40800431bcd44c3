/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DISPLAY_H
#define RLO_CLI_DISPLAY_H

#include "relayout/plan.h"
#include "relayout/shape.h"

/** Room for the longest shape: 32 dimensions and as many for each tile. */
#define RLO__SHAPE_TEXT_BYTES 16384

/** A shape in text form, by value so that nothing has to be freed. */
typedef struct rlo__shape_text {
  char text[RLO__SHAPE_TEXT_BYTES];
} rlo__shape_text;

/** A number of bytes for people. */
typedef struct rlo__bytes_text {
  char text[32];
} rlo__bytes_text;

/** The canonical text of a shape; returns out_text->text. */
const char *rlo__shape_text_make(const rlo_shape *shape,
                                 rlo__shape_text *out_text);

/** Parse a shape operand. RLO__EXIT_OK, or prints why not. */
int rlo__shape_operand_parse(const char *text, rlo_shape *out_shape);

/** Give a shape the layout of a text, the part of a shape in braces. What it
 *  does not say of the element's size stays. RLO__EXIT_OK, or prints why not.
 */
int rlo__layout_operand_apply(const char *text, rlo_shape *shape);

/** "38.5 MB": decimal, three digits; returns out_text->text. */
const char *rlo__bytes_text_make(int64_t bytes, rlo__bytes_text *out_text);

/** "cpu", "gpu" or "auto". */
const char *rlo__device_class_name(rlo_device_class device_class);

#endif
