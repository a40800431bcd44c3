/* SPDX-License-Identifier: Apache-2.0 */
#include "display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/xla/text.h"

#include "message.h"

/* Fits the longest shape: 32 dimensions and as many for each tile. */
#define SHAPE_TEXT_BYTES 16384

/* The texts that last. */
#define NUM_TEXTS 4

const char *rlo__shape_text(const rlo_shape *shape) {
  static char texts[NUM_TEXTS][SHAPE_TEXT_BYTES];
  static int turn;
  turn = (turn + 1) % NUM_TEXTS;
  rlo_shape_format(shape, texts[turn], SHAPE_TEXT_BYTES);
  return texts[turn];
}

int rlo__shape_operand_parse(const char *text, rlo_shape *out_shape) {
  return rlo_shape_parse(text, strlen(text), out_shape) == RLO_OK ? RLO__EXIT_OK
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
  if (rlo_layout_parse(text, strlen(text), shape->dtype, shape->dims, shape->rank, &layout) !=
      RLO_OK) {
    return rlo__fail_in_text(text);
  }
  if (!has_element_size(text)) {
    layout.element_size_bits = shape->layout.element_size_bits;
  }
  return rlo_shape_make_with_layout(shape->dtype, shape->dims, shape->rank, &layout, shape) ==
                 RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail_in_text(text);
}

const char *rlo__bytes_text(int64_t bytes) {
  static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  static char texts[NUM_TEXTS][32];
  static int turn;
  turn = (turn + 1) % NUM_TEXTS;
  if (bytes < 1000) {
    snprintf(texts[turn], sizeof(texts[turn]), "%" PRId64 " bytes", bytes);
    return texts[turn];
  }
  double value = (double)bytes / 1e3;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1e3;
    ++unit;
  }
  snprintf(texts[turn], sizeof(texts[turn]), "%.*f %s",
           value < 9.995   ? 2
           : value < 99.95 ? 1
                           : 0,
           value, units[unit]);
  return texts[turn];
}

const char *const rlo__device_class_names[] = {[RLO_DEVICE_CLASS_AUTO] = "auto",
                                               [RLO_DEVICE_CLASS_CPU] = "cpu",
                                               [RLO_DEVICE_CLASS_GPU] = "gpu"};
