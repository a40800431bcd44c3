/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_label.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

/* a .. z, aa .. zz, aaa ...: letters count without a zero. Returns how many. */
static int32_t write_letters(int64_t number,
                             char out_text[RLO__PICTURE_TEXT_BYTES]) {
  char reversed[RLO__PICTURE_TEXT_BYTES];
  int32_t count = 0;
  for (int64_t rest = number; rest >= 0; rest = rest / 26 - 1) {
    reversed[count++] = (char)('a' + rest % 26);
  }
  for (int32_t i = 0; i < count; ++i) {
    out_text[i] = reversed[count - 1 - i];
  }
  out_text[count] = '\0';
  return count;
}

static int32_t digits_of(int64_t number) {
  return (int32_t)snprintf(NULL, 0, "%" PRId64, number);
}

int rlo__labels_make(const rlo_shape *shape,
                     bool has_letters,
                     rlo__labels *out_labels) {
  rlo_shape_extent extent;
  out_labels->shape = shape;
  out_labels->has_letters = has_letters;
  out_labels->width = 1;
  if (rlo_shape_measure(shape, &extent) != RLO_OK ||
      rlo_address_map_make(shape, &out_labels->map) != RLO_OK) {
    return rlo__fail_last();
  }
  /* A view whose elements share slots fails here, not in the middle. */
  int64_t index[RLO_MAX_RANK];
  bool is_element;
  if (extent.slots > 0 &&
      rlo_address_map_element(&out_labels->map, 0, index, &is_element) !=
          RLO_OK) {
    return rlo__fail_last();
  }
  if (extent.elements == 0) {
    return RLO__EXIT_OK;
  }
  if (has_letters) {
    char text[RLO__PICTURE_TEXT_BYTES];
    out_labels->width = write_letters(extent.elements - 1, text);
    return RLO__EXIT_OK;
  }
  int32_t width = shape->rank == 0 ? 1 : shape->rank - 1;
  for (int32_t k = 0; k < shape->rank; ++k) {
    width += digits_of(shape->dims[k] - 1);
  }
  if (width >= RLO__PICTURE_TEXT_BYTES) {
    return rlo__fail(
        "an index of this array takes %d characters, a picture has room for "
        "%d; try --letters",
        width,
        RLO__PICTURE_TEXT_BYTES - 1);
  }
  out_labels->width = width;
  return RLO__EXIT_OK;
}

bool rlo__label_of_slot(const rlo__labels *labels,
                        int64_t slot,
                        char out_text[RLO__PICTURE_TEXT_BYTES]) {
  const rlo_shape *shape = labels->shape;
  int64_t index[RLO_MAX_RANK] = {0};
  bool is_element = false;
  if (rlo_address_map_element(&labels->map, slot, index, &is_element) !=
          RLO_OK ||
      !is_element) {
    memcpy(out_text, ".", 2);
    return false;
  }
  if (labels->has_letters) {
    int64_t number = 0;
    for (int32_t k = 0; k < shape->rank; ++k) {
      number = number * shape->dims[k] + index[k];
    }
    write_letters(number, out_text);
    return true;
  }
  size_t length = 0;
  memcpy(out_text, "-", 2);
  for (int32_t k = 0; k < shape->rank; ++k) {
    int written = snprintf(out_text + length,
                           RLO__PICTURE_TEXT_BYTES - length,
                           "%s%" PRId64,
                           k == 0 ? "" : ",",
                           index[k]);
    length += written > 0 ? (size_t)written : 0;
  }
  return true;
}
