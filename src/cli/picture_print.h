/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_PICTURE_PRINT_H
#define RLO_CLI_PICTURE_PRINT_H

#include "picture.h"

/** Print a picture on standard output, with ANSI colours or without.
 *  RLO__EXIT_OK, or prints why not. */
int rlo__picture_print(const rlo__picture *picture, bool has_color);

/** Write a picture to an SVG file, which appears complete or not at all, below
 *  a title and above `num_lines` lines of text. RLO__EXIT_OK, or prints why
 *  not. */
int rlo__picture_save_svg(const rlo__picture *picture,
                          const char *path,
                          const char *title,
                          const char *const *lines,
                          int32_t num_lines);

#endif
