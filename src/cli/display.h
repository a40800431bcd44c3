/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DISPLAY_H
#define RLO_CLI_DISPLAY_H

#include "relayout/plan.h"
#include "relayout/shape.h"

/** Text forms of shapes, layouts, sizes and device classes. */

/** Fits the longest shape: 32 dimensions and as many for each tile. */
#define RLO__SHAPE_TEXT_BYTES 16384

/** The text of a shape. */
typedef struct rlo__shape_text {
  char text[RLO__SHAPE_TEXT_BYTES];
} rlo__shape_text;

/** The text of a number of bytes. */
typedef struct rlo__bytes_text {
  char text[32];
} rlo__bytes_text;

/** Writes the canonical text of a shape; returns out_text->text. */
const char *rlo__shape_text_make(const rlo_shape *shape,
                                 rlo__shape_text *out_text);

/** Parses a shape. Returns RLO__EXIT_OK, or prints the error and returns
 *  RLO__EXIT_FAILURE. */
int rlo__shape_operand_parse(const char *text, rlo_shape *out_shape);

/** Replaces the layout of a shape by that of a text, the part of a shape in
 *  braces; keeps the element size if the text has none. Returns RLO__EXIT_OK,
 *  or prints the error and returns RLO__EXIT_FAILURE. */
int rlo__layout_operand_apply(const char *text, rlo_shape *shape);

/** Writes a size such as "38.5 MB": decimal units, three digits; returns
 *  out_text->text. */
const char *rlo__bytes_text_make(int64_t bytes, rlo__bytes_text *out_text);

/** Returns "cpu", "gpu" or "auto". */
const char *rlo__device_class_name(rlo_device_class device_class);

#endif
