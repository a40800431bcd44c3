/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_PICTURE_H
#define RLO_CLI_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/shape.h"

/** Room for the longest label or note of a picture. */
#define RLO__PICTURE_TEXT_BYTES 64
/** Bounds of the width and of the height of a picture, in characters. */
#define RLO__PICTURE_LEAST 20
#define RLO__PICTURE_MOST  2000

/** What stands in a picture. */
typedef enum rlo__picture_kind {
  /** The outline of a tile: its border is one character wide. */
  RLO__PICTURE_BOX,
  /** A slot with an element: its label, at the right. */
  RLO__PICTURE_ELEMENT,
  /** A slot, or bits, without one. */
  RLO__PICTURE_PADDING,
  /** A number of a slot or of a byte. */
  RLO__PICTURE_NUMBER,
  /** What has been left out. */
  RLO__PICTURE_NOTE
} rlo__picture_kind;

/** A rectangle, in characters from the top left. */
typedef struct rlo__picture_item {
  rlo__picture_kind kind;
  int32_t x, y, width, height;
  char text[RLO__PICTURE_TEXT_BYTES];
} rlo__picture_item;

/** The memory of a shape, drawn: for a terminal or for an SVG file. */
typedef struct rlo__picture {
  rlo__picture_item *items;
  size_t num_items, capacity;
  int32_t width, height;
  bool is_abbreviated;
} rlo__picture;

typedef struct rlo__picture_options {
  /** Characters that the picture should fit. */
  int32_t width, height;
  /** Name the elements a, b, c... in logical order and not by their index. */
  bool has_letters;
} rlo__picture_options;

/**
 * Draw the slots of a shape in the order of the memory: the most minor
 * physical dimension runs to the right, the others downwards; each tile is a
 * box, and the tiles of a tile are boxes in it. What does not fit is left out,
 * and a note says how much.
 * @param out_picture  goes to rlo__picture_deinit, in any case.
 * @return RLO__EXIT_OK, or prints why not.
 */
int rlo__picture_draw(const rlo_shape *shape,
                      const rlo__picture_options *options,
                      rlo__picture *out_picture);

void rlo__picture_deinit(rlo__picture *picture);

/** Append an item; `text` is cut to fit. False if memory ran out. */
bool rlo__picture_add(rlo__picture *picture,
                      rlo__picture_item item,
                      const char *text);

#endif
