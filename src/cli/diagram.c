/* SPDX-License-Identifier: Apache-2.0 */
#include "diagram.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "relayout/index.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "message.h"

/* The physical dimensions made by one tile (level 0: those outside of all
 * tiles), without those of extent 1. The last one runs to the right, the others
 * downwards. Each cell of a level holds the whole next level. */
typedef struct level {
  int32_t num_dims;
  int64_t extents[RLO_ADDRESS_MAP_MAX_LEAVES];
  int64_t strides[RLO_ADDRESS_MAP_MAX_LEAVES];

  int64_t columns, rows;
  int64_t column_stride;
  /* Rows between two gaps: the extent of the last dimension downwards. */
  int64_t group;
  /* The part that is drawn. */
  int64_t shown_columns, shown_rows;
  int32_t pitch_x, pitch_y, gap_y;
  int32_t width, height;
} level;

enum { MAX_LEVELS = RLO_MAX_TILES + 1 };

typedef struct drawing {
  const rlo_shape *shape;
  rlo_shape_extent extent;
  /* Elements, and the map, with size 1 in place of the dimensions of stride 0,
   * along which the elements share their slots. */
  int64_t unique_elements;
  rlo_address_map map;
  bool has_letters;
  /* Characters of the longest label of an element. */
  int32_t label_width;
  int32_t num_levels;
  level levels[MAX_LEVELS];
  /* Characters before the rows, for the index of their first slot; 0 if boxes
   * show it. */
  int32_t gutter;
  /* Parts are omitted because of the size limit. */
  bool is_abbreviated;
  rlo__diagram *diagram;
  /* RLO_OUT_OF_MEMORY: nothing is added any more. */
  rlo_status status;
} drawing;

/* -------------------------------------------------------------------- items */

/* Adds an item with a text of one line. A width of 0 is that of the text, which
 * is returned. */
RLO_PRINTF(3, 4)

static int32_t add(drawing *d, rlo__diagram_item item, const char *format, ...) {
  rlo__diagram *g = d->diagram;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(item.text, sizeof(item.text), format, arguments);
  va_end(arguments);
  item.width = item.width == 0 ? length : item.width;
  item.height = item.height == 0 ? 1 : item.height;
  d->is_abbreviated |= item.kind == RLO__DIAGRAM_NOTE;
  if (d->status == RLO_OK) {
    d->status = rlo__array_reserve(&g->items, sizeof(item), g->num_items + 1, &g->capacity);
  }
  if (d->status == RLO_OK) {
    g->items[g->num_items++] = item;
  }
  return length;
}

/* The item of a text: its first character. */
static rlo__diagram_item at(rlo__diagram_kind kind, int32_t x, int32_t y) {
  return (rlo__diagram_item){.kind = kind, .x = x, .y = y};
}

static int32_t digits_of(int64_t number) {
  return (int32_t)snprintf(NULL, 0, "%" PRId64, number);
}

/* ------------------------------------------------------------------- labels */

/* Appends a .. z, aa .. zz, aaa ... (base 26 without a zero). */
static void add_letters(rlo__str *text, int64_t number) {
  if (number >= 26) {
    add_letters(text, number / 26 - 1);
  }
  rlo__str_append_char(text, (char)('a' + number % 26));
}

static bool is_broadcast(const rlo_shape *shape, int32_t dimension) {
  return shape->layout.kind == RLO_LAYOUT_STRIDED && shape->layout.strides_elems[dimension] == 0 &&
         shape->dims[dimension] > 1;
}

/* Measures the shape and makes its map. */
static rlo_status measure_shape(drawing *d) {
  const rlo_shape *shape = d->shape;
  rlo_shape unique = *shape;
  rlo_shape_extent extent;
  for (int32_t k = 0; k < shape->rank; ++k) {
    unique.dims[k] = is_broadcast(shape, k) ? 1 : shape->dims[k];
  }
  RLO_TRY(rlo_shape_measure(shape, &d->extent));
  RLO_TRY(rlo_shape_measure(&unique, &extent));
  d->unique_elements = extent.elements;
  RLO_TRY(rlo_address_map_make(&unique, &d->map));
  /* Fails here, before anything is drawn, if elements share slots. */
  int64_t index[RLO_MAX_RANK];
  bool is_element;
  return d->extent.slots == 0 ? RLO_OK : rlo_address_map_element(&d->map, 0, index, &is_element);
}

/* Writes the label of an element. Returns its length, be it cut. */
static int32_t label_element(const drawing *d, const int64_t *index,
                             char out_text[RLO__DIAGRAM_TEXT_BYTES]) {
  const rlo_shape *shape = d->shape;
  rlo__str text = rlo__str_over(out_text, RLO__DIAGRAM_TEXT_BYTES);
  int64_t number = 0;
  for (int32_t k = 0; k < shape->rank; ++k) {
    number = number * shape->dims[k] + index[k];
  }
  if (d->has_letters) {
    add_letters(&text, number);
    return (int32_t)text.length;
  }
  for (int32_t k = 0; k < shape->rank; ++k) {
    rlo__str_append(&text, k == 0 ? "" : ",");
    if (is_broadcast(shape, k)) {
      rlo__str_append_char(&text, '*');
    } else {
      rlo__str_printf(&text, "%" PRId64, index[k]);
    }
  }
  rlo__str_append(&text, shape->rank == 0 ? "-" : "");
  return (int32_t)text.length;
}

/* The last element has the longest label. */
static int measure_labels(drawing *d) {
  char text[RLO__DIAGRAM_TEXT_BYTES];
  int64_t last[RLO_MAX_RANK];
  for (int32_t k = 0; k < d->shape->rank; ++k) {
    last[k] = d->shape->dims[k] - 1;
  }
  d->label_width = d->extent.elements == 0 ? 1 : label_element(d, last, text);
  return d->label_width < RLO__DIAGRAM_TEXT_BYTES
             ? RLO__EXIT_OK
             : rlo__fail(
                   "an index of this array takes %d characters, the limit is %d; try --letters",
                   d->label_width, RLO__DIAGRAM_TEXT_BYTES - 1);
}

/* Writes the label of a slot, "." if it holds no element. Returns the kind of
 * its item. */
static rlo__diagram_kind label_slot(const drawing *d, int64_t slot,
                                    char out_text[RLO__DIAGRAM_TEXT_BYTES]) {
  int64_t index[RLO_MAX_RANK] = {0};
  bool is_element = false;
  memcpy(out_text, ".", 2);
  if (slot >= d->extent.slots ||
      rlo_address_map_element(&d->map, slot, index, &is_element) != RLO_OK || !is_element) {
    return RLO__DIAGRAM_PADDING;
  }
  label_element(d, index, out_text);
  return RLO__DIAGRAM_ELEMENT;
}

/* ------------------------------------------------------------------ levels */

/* Finds the level of each variable of a map: the dimensions of a tile are one
 * level below those that it splits. */
static void find_levels(const rlo_address_map *map, int32_t out_levels[RLO_ADDRESS_MAP_MAX_VARS]) {
  memset(out_levels, 0, RLO_ADDRESS_MAP_MAX_VARS * sizeof(out_levels[0]));
  for (int32_t s = 0; s < map->num_steps; ++s) {
    const rlo_step *step = &map->steps[s];
    if (step->kind == RLO_STEP_SPLIT) {
      out_levels[step->high] = out_levels[step->whole];
      out_levels[step->low] = step->tile + 1;
    } else {
      out_levels[step->whole] = out_levels[step->low];
    }
  }
}

static void add_dim(level *l, int64_t extent, int64_t stride) {
  if (extent != 1) {
    l->extents[l->num_dims] = extent;
    l->strides[l->num_dims] = stride;
    ++l->num_dims;
  }
}

/* A layout with strides has no physical dimensions: breaks its line of slots at
 * the largest stride that fits, which is usually the length of a row. */
static void break_view(drawing *d, int32_t width) {
  const rlo_address_map *map = &d->map;
  const int64_t fitting = width / (d->label_width + 1);
  int64_t columns = 0;
  for (int32_t p = 0; p < map->num_leaves; ++p) {
    const int64_t stride = map->leaves[p].stride;
    const int64_t step = rlo__max(stride, -stride);
    if (map->leaves[p].extent > 1 && step <= fitting) {
      columns = rlo__max(columns, step);
    }
  }
  if (columns <= 1 || map->slots <= columns) {
    columns = rlo__max(1, rlo__min(map->slots, fitting));
  }
  add_dim(&d->levels[0], (map->slots - 1) / columns + 1, columns);
  add_dim(&d->levels[0], columns, 1);
}

static void make_levels(drawing *d, int32_t width) {
  const rlo_address_map *map = &d->map;
  int32_t levels[RLO_ADDRESS_MAP_MAX_VARS];
  d->num_levels = map->is_dense ? d->shape->layout.num_tiles + 1 : 1;
  if (!map->is_dense) {
    break_view(d, width);
  } else {
    find_levels(map, levels);
    for (int32_t p = 0; p < map->num_leaves; ++p) {
      add_dim(&d->levels[levels[map->leaves[p].var]], map->leaves[p].extent, map->leaves[p].stride);
    }
  }
  for (int32_t i = 0; i < d->num_levels; ++i) {
    level *l = &d->levels[i];
    const int32_t n = l->num_dims;
    l->columns = n == 0 ? 1 : l->extents[n - 1];
    l->column_stride = n == 0 ? 0 : l->strides[n - 1];
    l->group = n < 3 ? INT64_MAX : l->extents[n - 2];
    l->rows = 1;
    for (int32_t k = 0; k + 1 < n; ++k) {
      l->rows *= l->extents[k];
    }
  }
}

/* --------------------------------------------------------------- measuring */

/* The width of "... 12 more rows" and the blank before it. */
static int32_t note_width(int64_t number, const char *what) {
  return 1 + (int32_t)snprintf(NULL, 0, "... %" PRId64 " %s", number, what);
}

static const char *rows_note(const drawing *d, int32_t depth) {
  return depth + 1 < d->num_levels ? "more rows of tiles" : "more rows";
}

/* Returns the lines that the first `rows` rows take. */
static int64_t lines_of(const level *l, int64_t rows, int32_t border) {
  return rows * l->pitch_y + (rows - 1) / l->group * l->gap_y + border;
}

static void measure_columns(level *l, int32_t width) {
  const int32_t note = note_width(l->columns, "more");
  const int64_t room = rlo__max(1, (width - 1 - note) / l->pitch_x);
  /* One more character: the last border, or a blank after the last label. */
  const bool is_cut = l->columns > (width - 1) / l->pitch_x;
  l->shown_columns = is_cut ? room : l->columns;
  l->width =
      (int32_t)l->shown_columns * l->pitch_x + 1 + (l->shown_columns < l->columns ? note : 0);
}

static void measure_rows(level *l, int32_t height, int32_t border, const char *note) {
  l->shown_rows = rlo__min(l->rows, rlo__max(1, height));
  if (l->shown_rows < l->rows || lines_of(l, l->rows, border) > height) {
    while (l->shown_rows > 1 && lines_of(l, l->shown_rows, border) > height - 1) {
      --l->shown_rows;
    }
  }
  l->height = (int32_t)lines_of(l, l->shown_rows, border);
  if (l->shown_rows < l->rows) {
    ++l->height;
    l->width = (int32_t)rlo__max(l->width, 1 + note_width(l->rows, note));
  }
}

/* Fits level `depth` and those inside it into a width and a height; shows at
 * least one cell. */
static void measure(drawing *d, int32_t depth, int32_t width, int32_t height) {
  level *l = &d->levels[depth];
  const bool is_innermost = depth + 1 == d->num_levels;
  l->pitch_x = d->label_width + 1;
  l->pitch_y = 1;
  l->gap_y = 1;
  if (!is_innermost) {
    const int32_t note = l->columns > 1 ? note_width(l->columns, "more") : 0;
    measure(d, depth + 1, width - 2 - note, height - 2 - (l->rows > 1));
    l->pitch_x = l[1].width + 1;
    l->pitch_y = l[1].height + 1;
    l->gap_y = 2;
  }
  measure_columns(l, width);
  measure_rows(l, height, is_innermost ? 0 : 1, rows_note(d, depth));
}

/* ----------------------------------------------------------------- drawing */

/* Returns the slot of the first cell of a row, relative to the level's first
 * slot. */
static int64_t row_slot(const level *l, int64_t row) {
  int64_t slot = 0;
  for (int32_t k = l->num_dims - 2; k >= 0; --k) {
    slot += row % l->extents[k] * l->strides[k];
    row /= l->extents[k];
  }
  return slot;
}

static void draw_slot(drawing *d, int32_t x, int32_t y, int64_t slot) {
  rlo__diagram_item item = {.x = x, .y = y, .width = d->label_width};
  char text[RLO__DIAGRAM_TEXT_BYTES];
  if (slot < d->map.slots) {
    item.kind = label_slot(d, slot, text);
    add(d, item, "%s", text);
  }
}

static void draw_level(drawing *d, int32_t depth, int32_t x, int32_t y, int64_t first_slot);

/* Draws a tile, with the index of its first slot if it has no tiles in it. */
static void draw_box(drawing *d, int32_t depth, int32_t x, int32_t y, int64_t slot) {
  const level *l = &d->levels[depth];
  add(d, (rlo__diagram_item){RLO__DIAGRAM_BOX, x, y, l->pitch_x + 1, l->pitch_y + 1, ""}, "%s", "");
  if (depth + 2 == d->num_levels && digits_of(slot) < l->pitch_x) {
    add(d, at(RLO__DIAGRAM_NUMBER, x + 1, y), "%" PRId64, slot);
  }
  draw_level(d, depth + 1, x + 1, y + 1, slot);
}

static void draw_row(drawing *d, int32_t depth, int32_t x, int32_t y, int64_t first_slot) {
  const level *l = &d->levels[depth];
  const bool is_innermost = depth + 1 == d->num_levels;
  int64_t slot = first_slot;
  for (int64_t c = 0; c < l->shown_columns; ++c) {
    if (is_innermost) {
      draw_slot(d, x + 1, y, slot);
    } else {
      draw_box(d, depth, x, y, slot);
    }
    slot += l->column_stride;
    x += l->pitch_x;
  }
  if (l->shown_columns < l->columns) {
    add(d, at(RLO__DIAGRAM_NOTE, x + 1, y + (is_innermost ? 0 : 1)), "... %" PRId64 " more",
        l->columns - l->shown_columns);
  }
}

static void draw_level(drawing *d, int32_t depth, int32_t x, int32_t y, int64_t first_slot) {
  const level *l = &d->levels[depth];
  const int32_t border = depth + 1 == d->num_levels ? 0 : 1;
  for (int64_t r = 0; r < l->shown_rows; ++r) {
    const int32_t row_y = y + (int32_t)(r * l->pitch_y + r / l->group * l->gap_y);
    const int64_t slot = first_slot + row_slot(l, r);
    if (d->gutter > 0 && slot < d->map.slots) {
      add(d, at(RLO__DIAGRAM_NUMBER, x - 1 - digits_of(slot), row_y), "%" PRId64, slot);
    }
    draw_row(d, depth, x, row_y, slot);
  }
  if (l->shown_rows < l->rows) {
    add(d, at(RLO__DIAGRAM_NOTE, x + 1, y + (int32_t)lines_of(l, l->shown_rows, border)),
        "... %" PRId64 " %s", l->rows - l->shown_rows, rows_note(d, depth));
  }
}

/* ------------------------------------------------------------------- bytes */

/* Draws the bits of one byte that belong to one slot, followed by their range
 * if the element has others elsewhere. */
static void draw_bits(drawing *d, int64_t slot, int64_t byte, rlo__diagram_item item) {
  const int64_t bits = d->extent.element_bits;
  const int64_t first = 8 * byte - slot * bits;
  const int64_t low = rlo__max(first, 0);
  const int64_t high = rlo__min(first + 7, bits - 1);
  char label[RLO__DIAGRAM_TEXT_BYTES];
  item.kind = label_slot(d, slot, label);
  if (item.kind == RLO__DIAGRAM_ELEMENT && (low > 0 || high < bits - 1)) {
    add(d, item, "%s[%" PRId64 ":%" PRId64 "]", label, high, low);
  } else {
    add(d, item, "%s", label);
  }
}

/* Draws the slots that have bits in one byte, the highest first. */
static void draw_byte(drawing *d, int64_t byte, int32_t x, int32_t y) {
  const int64_t bits = d->extent.element_bits;
  /* Room for "[5:2]" or "[11:10]". */
  const int32_t range = 8 % bits == 0 ? 0 : bits > 10 ? 7 : 5;
  rlo__diagram_item item = {.x = x, .y = y, .width = d->label_width + range};
  for (int64_t slot = (8 * byte + 7) / bits; slot >= 8 * byte / bits; --slot) {
    draw_bits(d, slot, byte, item);
    item.x += item.width + 1;
  }
  d->diagram->width = (int32_t)rlo__max(d->diagram->width, item.x);
}

/* Draws the bytes below the slots if elements are not whole bytes: a line for
 * each byte, the element in its high bits first. */
static void draw_bytes(drawing *d, int32_t height) {
  rlo__diagram *g = d->diagram;
  const int64_t bytes = d->extent.physical_bytes;
  const int64_t shown = rlo__min(bytes, height / 2);
  const int32_t gutter = 1 + digits_of(bytes);
  int32_t y = g->height + 1;
  int32_t width = add(d, at(RLO__DIAGRAM_NUMBER, 0, y++), "bytes, high bits first");
  for (int64_t byte = 0; byte < shown; ++byte, ++y) {
    add(d, at(RLO__DIAGRAM_NUMBER, gutter - 1 - digits_of(byte), y), "%" PRId64, byte);
    draw_byte(d, byte, gutter + 1, y);
  }
  if (shown < bytes) {
    width = gutter +
            add(d, at(RLO__DIAGRAM_NOTE, gutter, y++), "... %" PRId64 " more bytes", bytes - shown);
  }
  g->height = y;
  g->width = (int32_t)rlo__max(g->width, width);
}

/* ------------------------------------------------------------------- legend */

static const char *fill_words(const rlo_layout *layout) {
  static const char *const words[] = {[RLO_FILL_ZERO] = "padding, zero",
                                      [RLO_FILL_ONE] = "padding, one",
                                      [RLO_FILL_LOWEST] = "padding, the lowest value",
                                      [RLO_FILL_HIGHEST] = "padding, the highest value",
                                      [RLO_FILL_BITS] = "padding, the bits of fill(...)"};
  const char *found = words[layout->fill];
  return found != NULL ? found : "padding, which a relayout does not write";
}

RLO_PRINTF(2, 3)

static void add_line(rlo__diagram *g, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(g->lines[g->num_lines++], sizeof(g->lines[0]), format, arguments);
  va_end(arguments);
}

static void add_legend(drawing *d) {
  rlo__diagram *g = d->diagram;
  const rlo_shape_extent *extent = &d->extent;
  const bool has_gaps = extent->slots > d->unique_elements;
  add_line(g, "%" PRId64 " element%s in %" PRId64 " slot%s%s%s", extent->elements,
           extent->elements == 1 ? "" : "s", extent->slots, extent->slots == 1 ? "" : "s",
           has_gaps ? "; . is " : "",
           !has_gaps         ? ""
           : d->map.is_dense ? fill_words(&d->shape->layout)
                             : "a slot between the elements");
  if (extent->elements > d->unique_elements) {
    add_line(g,
             d->has_letters ? "a slot has the letter of the first of its %" PRId64 " elements"
                            : "* is every index: each slot holds %" PRId64 " elements",
             extent->elements / d->unique_elements);
  }
  if (d->map.is_dense && d->map.slots > d->map.tiled_slots) {
    add_line(g, "the tail, slots %" PRId64 " to %" PRId64 ", is padding too", d->map.tiled_slots,
             d->map.slots - 1);
  }
  if (d->is_abbreviated) {
    add_line(g, "abbreviated: --width and --height make room for more");
  }
}

/* ------------------------------------------------------------------ diagram */

static void draw_slots(drawing *d, const rlo__diagram_options *options) {
  if (!d->map.is_dense || d->shape->layout.num_tiles == 0) {
    d->gutter = 1 + digits_of(d->map.slots - 1);
  }
  const int32_t width = options->width - d->gutter;
  make_levels(d, width);
  measure(d, 0, width, options->height);
  draw_level(d, 0, d->gutter, 0, 0);
  d->diagram->width = d->gutter + d->levels[0].width;
  d->diagram->height = d->levels[0].height;
}

static int draw(drawing *d, const rlo__diagram_options *options) {
  RLO__EXIT_TRY(rlo__check(measure_shape(d)));
  RLO__EXIT_TRY(measure_labels(d));
  if (d->map.slots > 0 && (d->map.tiled_slots > 0 || !d->map.is_dense)) {
    draw_slots(d, options);
  }
  if (d->map.slots > 0 && d->extent.element_bits % 8 != 0) {
    draw_bytes(d, options->height);
  }
  add_legend(d);
  return rlo__check(d->status);
}

int rlo__diagram_draw(const rlo_shape *shape, const rlo__diagram_options *options,
                      rlo__diagram *out_diagram) {
  *out_diagram = (rlo__diagram){0};
  drawing *d = rlo__alloc(sizeof(*d));
  RLO__EXIT_TRY_MEMORY(d);
  d->shape = shape;
  d->has_letters = options->has_letters;
  d->diagram = out_diagram;
  const int code = draw(d, options);
  rlo__free(d);
  return code;
}

void rlo__diagram_deinit(rlo__diagram *diagram) {
  rlo__free(diagram->items);
  *diagram = (rlo__diagram){0};
}
