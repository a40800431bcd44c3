/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DISPLAY_H
#define RLO_CLI_DISPLAY_H

#include "relayout/plan.h"
#include "relayout/shape.h"

/** Text forms of shapes, layouts, sizes and device classes. */

/** Returns the canonical text of a shape. It lasts for the next three calls, as
 *  that of rlo__bytes_text does: one thread writes them. */
const char *rlo__shape_text(const rlo_shape *shape);

/** Parses a shape. Returns RLO__EXIT_OK, or prints the error and returns
 *  RLO__EXIT_FAILURE. */
int rlo__shape_operand_parse(const char *text, rlo_shape *out_shape);

/** Replaces the layout of a shape by that of a text, the part of a shape in
 *  braces; keeps the element size if the text has none. Returns RLO__EXIT_OK,
 *  or prints the error and returns RLO__EXIT_FAILURE. */
int rlo__layout_operand_apply(const char *text, rlo_shape *shape);

/** Returns a size such as "38.5 MB": decimal units, three digits. */
const char *rlo__bytes_text(int64_t bytes);

/** "auto", "cpu" or "gpu", by rlo_device_class. */
extern const char *const rlo__device_class_names[];

#endif
