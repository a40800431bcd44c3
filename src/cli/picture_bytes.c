/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = RLO__PICTURE_TEXT_BYTES + 48 };

/* The bits of one byte that belong to one slot. */
static bool add_piece(rlo__picture *picture,
                      const rlo__labels *labels,
                      int64_t element_bits,
                      int64_t slot,
                      int64_t byte,
                      rlo__picture_item item) {
  char label[RLO__PICTURE_TEXT_BYTES];
  char text[PIECE_BYTES];
  bool is_element = rlo__label_of_slot(labels, slot, label);
  int64_t first = 8 * byte - slot * element_bits;
  int64_t low = first < 0 ? 0 : first;
  int64_t high = first + 7 < element_bits ? first + 7 : element_bits - 1;
  if (is_element && (low > 0 || high < element_bits - 1)) {
    snprintf(
        text, sizeof(text), "%s[%" PRId64 ":%" PRId64 "]", label, high, low);
  } else {
    snprintf(text, sizeof(text), "%s", label);
  }
  item.kind = is_element ? RLO__PICTURE_ELEMENT : RLO__PICTURE_PADDING;
  return rlo__picture_add(picture, item, text);
}

/* The slots that have bits in one byte, the highest at the left, from x on. */
static bool add_slots(rlo__picture *picture,
                      const rlo__labels *labels,
                      const rlo_shape_extent *extent,
                      int64_t byte,
                      int32_t x,
                      int32_t y) {
  /* "[5:2]" or "[11:10]" behind what has only some of its bits there. */
  int32_t width = labels->width;
  if (8 % extent->element_bits != 0) {
    width += extent->element_bits > 10 ? 7 : 5;
  }
  int64_t first = 8 * byte / extent->element_bits;
  int64_t last = (8 * byte + 7) / extent->element_bits;
  for (int64_t slot = last; slot >= first; --slot, x += width + 1) {
    rlo__picture_item item = {RLO__PICTURE_PADDING, x, y, width, 1, "."};
    bool has_added =
        slot < extent->slots
            ? add_piece(picture, labels, extent->element_bits, slot, byte, item)
            : rlo__picture_add(picture, item, ".");
    if (!has_added) {
      return false;
    }
  }
  picture->width = picture->width < x ? x : picture->width;
  return true;
}

/* A line below the picture, which grows with it. */
static bool add_line(rlo__picture *picture,
                     rlo__picture_kind kind,
                     int32_t x,
                     const char *text) {
  int32_t length = (int32_t)strlen(text);
  if (picture->width < x + length) {
    picture->width = x + length;
  }
  rlo__picture_item item = {kind, x, picture->height++, length, 1, ""};
  return rlo__picture_add(picture, item, text);
}

bool rlo__picture_add_bytes(rlo__picture *picture,
                            const rlo__labels *labels,
                            const rlo__picture_options *options) {
  rlo_shape_extent extent;
  if (rlo_shape_measure(labels->shape, &extent) != RLO_OK ||
      extent.element_bits % 8 == 0) {
    return true;
  }
  ++picture->height;
  if (!add_line(picture, RLO__PICTURE_NUMBER, 0, "bytes, high bits first")) {
    return false;
  }
  int64_t shown = extent.physical_bytes;
  if (shown > options->height / 2) {
    shown = options->height / 2;
  }
  char text[RLO__PICTURE_TEXT_BYTES];
  int32_t gutter = 1 + snprintf(NULL, 0, "%" PRId64, extent.physical_bytes);
  for (int64_t byte = 0; byte < shown; ++byte) {
    int32_t y = picture->height;
    int length = snprintf(text, sizeof(text), "%" PRId64, byte);
    if (!add_line(picture, RLO__PICTURE_NUMBER, gutter - 1 - length, text) ||
        !add_slots(picture, labels, &extent, byte, gutter + 1, y)) {
      return false;
    }
  }
  if (shown == extent.physical_bytes) {
    return true;
  }
  picture->is_abbreviated = true;
  snprintf(text,
           sizeof(text),
           "... %" PRId64 " more bytes",
           extent.physical_bytes - shown);
  return add_line(picture, RLO__PICTURE_NOTE, gutter, text);
}
