/* SPDX-License-Identifier: Apache-2.0 */
#include "display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/text.h"

#include "message.h"

const char *rlo__shape_text_make(const rlo_shape *shape,
                                 rlo__shape_text *out_text) {
  rlo_shape_format(shape, out_text->text, sizeof(out_text->text));
  return out_text->text;
}

int rlo__shape_operand_parse(const char *text, rlo_shape *out_shape) {
  return rlo_shape_parse(text, strlen(text), out_shape) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail_in_text(text);
}

/* Returns whether the text of a layout names an element size, be it the type's
 * own. */
static bool has_element_size(const char *text) {
  rlo_bare_layout bare;
  if (rlo_bare_layout_parse(text, strlen(text), &bare) != RLO_OK) {
    return false;
  }
  bool has_size = bare.layout.element_size_bits != 0;
  rlo_bare_layout_deinit(&bare);
  return has_size;
}

int rlo__layout_operand_apply(const char *text, rlo_shape *shape) {
  rlo_layout layout;
  if (rlo_layout_parse(text,
                       strlen(text),
                       shape->dtype,
                       shape->dims,
                       shape->rank,
                       &layout) != RLO_OK) {
    return rlo__fail_in_text(text);
  }
  if (!has_element_size(text)) {
    layout.element_size_bits = shape->layout.element_size_bits;
  }
  if (rlo_shape_make_with_layout(
          shape->dtype, shape->dims, shape->rank, &layout, shape) != RLO_OK) {
    return rlo__fail_in_text(text);
  }
  return RLO__EXIT_OK;
}

const char *rlo__bytes_text_make(int64_t bytes, rlo__bytes_text *out_text) {
  static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  size_t room = sizeof(out_text->text);
  if (bytes < 1000) {
    snprintf(out_text->text, room, "%" PRId64 " bytes", bytes);
    return out_text->text;
  }
  double value = (double)bytes / 1e3;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1e3;
    ++unit;
  }
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  snprintf(out_text->text, room, "%.*f %s", decimals, value, units[unit]);
  return out_text->text;
}

const char *rlo__device_class_name(rlo_device_class device_class) {
  switch (device_class) {
    case RLO_DEVICE_CLASS_CPU:
      return "cpu";
    case RLO_DEVICE_CLASS_GPU:
      return "gpu";
    case RLO_DEVICE_CLASS_AUTO:
      break;
  }
  return "auto";
}
