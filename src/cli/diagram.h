/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DIAGRAM_H
#define RLO_CLI_DIAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/shape.h"
#include "relayout/sharding.h"

/** Room for the longest label or note of a diagram. */
#define RLO__DIAGRAM_TEXT_BYTES 64
/** Limits of the width and of the height of a diagram, in characters. */
#define RLO__DIAGRAM_MIN_SIZE 20
#define RLO__DIAGRAM_MAX_SIZE 2000

typedef enum rlo__diagram_kind {
  /** A slot with an element: its label, aligned right. */
  RLO__DIAGRAM_ELEMENT,
  /** The outline of a tile: its border is one character wide. */
  RLO__DIAGRAM_BOX,
  /** A slot, or bits, without an element. */
  RLO__DIAGRAM_PADDING,
  /** The index of a slot or of a byte. */
  RLO__DIAGRAM_NUMBER,
  /** The size of an omitted part. */
  RLO__DIAGRAM_NOTE
} rlo__diagram_kind;

/** A rectangle, in characters from the top left. */
typedef struct rlo__diagram_item {
  rlo__diagram_kind kind;
  int32_t x, y, width, height;
  char text[RLO__DIAGRAM_TEXT_BYTES];
} rlo__diagram_item;

/** A layout diagram: the memory of a shape as rectangles, to print on a
 *  terminal or to write to an SVG file. */
typedef struct rlo__diagram {
  rlo__diagram_item *items;
  size_t num_items, capacity;
  int32_t width, height;
  /** The lines below it. */
  int32_t num_lines;
  char lines[4][160];
} rlo__diagram;

typedef struct rlo__diagram_options {
  /** Maximum size, in characters. A diagram shows at least one cell of each
   *  level, and so may exceed it. */
  int32_t width, height;
  /** Label the elements a, b, c... in logical order instead of by index. */
  bool has_letters;
} rlo__diagram_options;

/**
 * Draws the slots of a shape in memory order: the most minor physical dimension
 * runs to the right, the others downwards; each tile is a box, and the tiles of
 * a tile are boxes in it. If elements are not whole bytes, the bytes follow,
 * one to a line. A note replaces each part that does not fit. In the index of a
 * slot, '*' stands for every coordinate of a dimension of stride 0; the letter
 * of a slot is that of its first element.
 * @param out_diagram  released by rlo__diagram_deinit, which must follow in any
 *                     case.
 * @return RLO__EXIT_OK, or prints the reason and returns RLO__EXIT_FAILURE.
 */
int rlo__diagram_draw(const rlo_shape *shape, const rlo__diagram_options *options,
                      rlo__diagram *out_diagram);

void rlo__diagram_deinit(rlo__diagram *diagram);

/** Prints a picture of a sharded array: the parts of its cut dimensions, each
 *  with the devices that hold it. */
void rlo__shard_picture_print(const rlo_shape *shape, const rlo_sharding *sharding,
                              int64_t num_devices);

#endif
