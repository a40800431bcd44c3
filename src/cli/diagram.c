/* SPDX-License-Identifier: Apache-2.0 */
#include "diagram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"

#include "message.h"

/* ------------------------------------------------------------------ labels */

/* Names of the elements of a shape. */
typedef struct label_set {
  const rlo_shape *shape;
  /* The map of the shape without its dimensions of stride 0. */
  rlo_address_map map;
  bool has_letters;
  /* Characters of the longest label. */
  int32_t width;
} label_set;

/* Writes a .. z, aa .. zz, aaa ... (base 26 without a zero). Returns the number
 * of letters. */
static int32_t write_letters(int64_t number,
                             char out_text[RLO__DIAGRAM_TEXT_BYTES]) {
  char reversed[RLO__DIAGRAM_TEXT_BYTES];
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

static bool is_broadcast(const rlo_shape *shape, int32_t dimension) {
  return shape->layout.kind == RLO_LAYOUT_STRIDED &&
         shape->layout.strides_elems[dimension] == 0 &&
         shape->dims[dimension] > 1;
}

rlo_shape rlo__diagram_without_broadcast(const rlo_shape *shape) {
  rlo_shape unique = *shape;
  for (int32_t k = 0; k < shape->rank; ++k) {
    unique.dims[k] = is_broadcast(shape, k) ? 1 : shape->dims[k];
  }
  return unique;
}

/* Makes the labels of a shape, which is borrowed. */
static int make_labels(const rlo_shape *shape,
                       bool has_letters,
                       label_set *out_labels) {
  rlo_shape_extent extent;
  out_labels->shape = shape;
  out_labels->has_letters = has_letters;
  out_labels->width = 1;
  const rlo_shape unique = rlo__diagram_without_broadcast(shape);
  if (rlo_shape_measure(shape, &extent) != RLO_OK ||
      rlo_address_map_make(&unique, &out_labels->map) != RLO_OK) {
    return rlo__fail_last();
  }
  /* Fails here, before anything is drawn, if elements share slots. */
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
    char text[RLO__DIAGRAM_TEXT_BYTES];
    out_labels->width = write_letters(extent.elements - 1, text);
    return RLO__EXIT_OK;
  }
  int32_t width = shape->rank == 0 ? 1 : shape->rank - 1;
  for (int32_t k = 0; k < shape->rank; ++k) {
    width += digits_of(unique.dims[k] - 1);
  }
  if (width >= RLO__DIAGRAM_TEXT_BYTES) {
    return rlo__fail(
        "an index of this array takes %d characters, the limit is "
        "%d; try --letters",
        width,
        RLO__DIAGRAM_TEXT_BYTES - 1);
  }
  out_labels->width = width;
  return RLO__EXIT_OK;
}

/* Writes the label of a slot, "." if it holds no element. Returns whether it
 * holds one. */
static bool label_slot(const label_set *labels,
                       int64_t slot,
                       char out_text[RLO__DIAGRAM_TEXT_BYTES]) {
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
    const char *comma = k == 0 ? "" : ",";
    char *end = out_text + length;
    size_t room = RLO__DIAGRAM_TEXT_BYTES - length;
    int written = is_broadcast(shape, k)
                      ? snprintf(end, room, "%s*", comma)
                      : snprintf(end, room, "%s%" PRId64, comma, index[k]);
    length += written > 0 ? (size_t)written : 0;
  }
  return true;
}

/* ------------------------------------------------------------------ levels */

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
  label_set labels;
  int32_t num_levels;
  level levels[MAX_LEVELS];
  /* Characters before the rows, for the index of their first slot; 0 if boxes
   * show it. */
  int32_t gutter;
  rlo__diagram *diagram;
  bool has_memory;
} drawing;

static bool add_item(rlo__diagram *diagram,
                     rlo__diagram_item item,
                     const char *text) {
  if (diagram->num_items == diagram->capacity) {
    size_t capacity = diagram->capacity == 0 ? 256 : 2 * diagram->capacity;
    rlo__diagram_item *items =
        realloc(diagram->items, capacity * sizeof(items[0]));
    if (items == NULL) {
      return false;
    }
    diagram->items = items;
    diagram->capacity = capacity;
  }
  snprintf(item.text, sizeof(item.text), "%s", text);
  diagram->items[diagram->num_items++] = item;
  return true;
}

static void add(drawing *d, rlo__diagram_item item, const char *text) {
  d->has_memory = d->has_memory && add_item(d->diagram, item, text);
}

static void add_note(drawing *d, int32_t x, int32_t y, const char *text) {
  int32_t width = (int32_t)strlen(text);
  rlo__diagram_item note = {RLO__DIAGRAM_NOTE, x, y, width, 1, ""};
  add(d, note, text);
  d->diagram->is_abbreviated = true;
}

/* Finds the level of each variable of a map: the dimensions of a tile are one
 * level below those that it splits. */
static void find_levels(const rlo_address_map *map,
                        int32_t out_levels[RLO_ADDRESS_MAP_MAX_VARS]) {
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

static int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

/* A layout with strides has no physical dimensions: breaks its line of slots at
 * the largest stride that fits, which is usually the length of a row. */
static void break_view(drawing *d, int32_t width) {
  const rlo_address_map *map = &d->labels.map;
  int64_t fitting = width / (d->labels.width + 1);
  int64_t columns = 0;
  for (int32_t p = 0; p < map->num_leaves; ++p) {
    int64_t stride = magnitude(map->leaves[p].stride);
    if (map->leaves[p].extent > 1 && stride <= fitting && stride > columns) {
      columns = stride;
    }
  }
  if (columns <= 1 || map->slots <= columns) {
    columns = map->slots < fitting ? map->slots : fitting;
  }
  columns = columns < 1 ? 1 : columns;
  add_dim(&d->levels[0], (map->slots - 1) / columns + 1, columns);
  add_dim(&d->levels[0], columns, 1);
}

static void make_levels(drawing *d, int32_t width) {
  const rlo_address_map *map = &d->labels.map;
  d->num_levels = 1;
  if (!map->is_dense) {
    break_view(d, width);
  } else {
    int32_t levels[RLO_ADDRESS_MAP_MAX_VARS];
    find_levels(map, levels);
    d->num_levels = d->labels.shape->layout.num_tiles + 1;
    for (int32_t p = 0; p < map->num_leaves; ++p) {
      add_dim(&d->levels[levels[map->leaves[p].var]],
              map->leaves[p].extent,
              map->leaves[p].stride);
    }
  }
  for (int32_t i = 0; i < d->num_levels; ++i) {
    level *l = &d->levels[i];
    int32_t n = l->num_dims;
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

static int32_t note_width(const char *format_tail, int64_t max) {
  return (int32_t)snprintf(NULL, 0, "... %" PRId64 "%s", max, format_tail);
}

static const char *rows_note(const drawing *d, int32_t depth) {
  return depth + 1 < d->num_levels ? " more rows of tiles" : " more rows";
}

/* Returns the lines that the first `rows` rows take. */
static int64_t lines_of(const level *l, int64_t rows, int32_t border) {
  return rows * l->pitch_y + (rows - 1) / l->group * l->gap_y + border;
}

/* Fits level `depth` and those inside it into a width and a height; shows at
 * least one cell. */
static void measure(drawing *d, int32_t depth, int32_t width, int32_t height) {
  level *l = &d->levels[depth];
  bool is_innermost = depth + 1 == d->num_levels;
  int32_t right = 1 + note_width(" more", l->columns);
  if (is_innermost) {
    l->pitch_x = d->labels.width + 1;
    l->pitch_y = 1;
    l->gap_y = 1;
  } else {
    measure(d,
            depth + 1,
            width - 2 - (l->columns > 1 ? right : 0),
            height - 2 - (l->rows > 1 ? 1 : 0));
    l->pitch_x = l[1].width + 1;
    l->pitch_y = l[1].height + 1;
    l->gap_y = 2;
  }
  /* One more character: the last border, or a blank after the last label. */
  l->shown_columns = l->columns;
  if (l->columns > (width - 1) / l->pitch_x) {
    int32_t room = (width - 1 - right) / l->pitch_x;
    l->shown_columns = room < 1 ? 1 : room;
  }
  bool is_cut = l->shown_columns < l->columns;
  l->width = (int32_t)l->shown_columns * l->pitch_x + 1 + (is_cut ? right : 0);

  int32_t border = is_innermost ? 0 : 1;
  int64_t max_rows = l->rows < height ? l->rows : height < 1 ? 1 : height;
  l->shown_rows = l->rows;
  if (l->rows > max_rows || lines_of(l, max_rows, border) > height) {
    l->shown_rows = max_rows;
    while (l->shown_rows > 1 &&
           lines_of(l, l->shown_rows, border) > height - 1) {
      --l->shown_rows;
    }
  }
  l->height = (int32_t)lines_of(l, l->shown_rows, border);
  if (l->shown_rows < l->rows) {
    ++l->height;
    int32_t below = 2 + note_width(rows_note(d, depth), l->rows);
    l->width = l->width < below ? below : l->width;
  }
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

static void draw_number(
    drawing *d, int32_t x, int32_t y, int32_t room, int64_t number) {
  char text[RLO__DIAGRAM_TEXT_BYTES];
  int length = snprintf(text, sizeof(text), "%" PRId64, number);
  if (length <= room) {
    rlo__diagram_item item = {RLO__DIAGRAM_NUMBER, x, y, length, 1, ""};
    add(d, item, text);
  }
}

static void draw_slot(drawing *d, int32_t x, int32_t y, int64_t slot) {
  if (slot >= d->labels.map.slots) {
    return;
  }
  char text[RLO__DIAGRAM_TEXT_BYTES];
  bool is_element = label_slot(&d->labels, slot, text);
  rlo__diagram_item item = {
      is_element ? RLO__DIAGRAM_ELEMENT : RLO__DIAGRAM_PADDING,
      x,
      y,
      d->labels.width,
      1,
      ""};
  add(d, item, text);
}

static void draw_level(
    drawing *d, int32_t depth, int32_t x, int32_t y, int64_t first_slot);

static void draw_row(
    drawing *d, int32_t depth, int32_t x, int32_t y, int64_t first_slot) {
  const level *l = &d->levels[depth];
  for (int64_t c = 0; c < l->shown_columns; ++c) {
    int64_t slot = first_slot + c * l->column_stride;
    int32_t at = x + (int32_t)c * l->pitch_x;
    if (depth + 1 == d->num_levels) {
      draw_slot(d, at + 1, y, slot);
      continue;
    }
    rlo__diagram_item box = {
        RLO__DIAGRAM_BOX, at, y, l->pitch_x + 1, l->pitch_y + 1, ""};
    add(d, box, "");
    if (depth + 2 == d->num_levels) {
      draw_number(d, at + 1, y, l->pitch_x - 1, slot);
    }
    draw_level(d, depth + 1, at + 1, y + 1, slot);
  }
  if (l->shown_columns < l->columns) {
    char text[RLO__DIAGRAM_TEXT_BYTES];
    snprintf(text,
             sizeof(text),
             "... %" PRId64 " more",
             l->columns - l->shown_columns);
    add_note(d,
             x + (int32_t)l->shown_columns * l->pitch_x + 1,
             y + (depth + 1 == d->num_levels ? 0 : 1),
             text);
  }
}

static void draw_level(
    drawing *d, int32_t depth, int32_t x, int32_t y, int64_t first_slot) {
  const level *l = &d->levels[depth];
  int32_t border = depth + 1 == d->num_levels ? 0 : 1;
  for (int64_t r = 0; r < l->shown_rows; ++r) {
    int32_t at = y + (int32_t)(r * l->pitch_y + r / l->group * l->gap_y);
    int64_t slot = first_slot + row_slot(l, r);
    if (d->gutter > 0 && slot < d->labels.map.slots) {
      char text[RLO__DIAGRAM_TEXT_BYTES];
      int length = snprintf(text, sizeof(text), "%" PRId64, slot);
      draw_number(d, x - 1 - length, at, length, slot);
    }
    draw_row(d, depth, x, at, slot);
  }
  if (l->shown_rows < l->rows) {
    char text[RLO__DIAGRAM_TEXT_BYTES];
    snprintf(text,
             sizeof(text),
             "... %" PRId64 "%s",
             l->rows - l->shown_rows,
             rows_note(d, depth));
    add_note(d, x + 1, y + (int32_t)lines_of(l, l->shown_rows, border), text);
  }
}

/* ------------------------------------------------------------------- bytes */

enum { PIECE_BYTES = RLO__DIAGRAM_TEXT_BYTES + 48 };

/* Draws the bits of one byte that belong to one slot. */
static bool add_piece(rlo__diagram *diagram,
                      const label_set *labels,
                      int64_t element_bits,
                      int64_t slot,
                      int64_t byte,
                      rlo__diagram_item item) {
  char label[RLO__DIAGRAM_TEXT_BYTES];
  char text[PIECE_BYTES];
  bool is_element = label_slot(labels, slot, label);
  int64_t first = 8 * byte - slot * element_bits;
  int64_t low = first < 0 ? 0 : first;
  int64_t high = first + 7 < element_bits ? first + 7 : element_bits - 1;
  if (is_element && (low > 0 || high < element_bits - 1)) {
    snprintf(
        text, sizeof(text), "%s[%" PRId64 ":%" PRId64 "]", label, high, low);
  } else {
    snprintf(text, sizeof(text), "%s", label);
  }
  item.kind = is_element ? RLO__DIAGRAM_ELEMENT : RLO__DIAGRAM_PADDING;
  return add_item(diagram, item, text);
}

/* Draws the slots that have bits in one byte, the highest first, from x on. */
static bool add_slots(rlo__diagram *diagram,
                      const label_set *labels,
                      const rlo_shape_extent *extent,
                      int64_t byte,
                      int32_t x,
                      int32_t y) {
  /* Room for "[5:2]" or "[11:10]" after an element with other bits elsewhere.
   */
  int32_t width = labels->width;
  if (8 % extent->element_bits != 0) {
    width += extent->element_bits > 10 ? 7 : 5;
  }
  int64_t first = 8 * byte / extent->element_bits;
  int64_t last = (8 * byte + 7) / extent->element_bits;
  for (int64_t slot = last; slot >= first; --slot, x += width + 1) {
    rlo__diagram_item item = {RLO__DIAGRAM_PADDING, x, y, width, 1, "."};
    bool has_added =
        slot < extent->slots
            ? add_piece(diagram, labels, extent->element_bits, slot, byte, item)
            : add_item(diagram, item, ".");
    if (!has_added) {
      return false;
    }
  }
  diagram->width = diagram->width < x ? x : diagram->width;
  return true;
}

/* Adds a line below the diagram. */
static bool add_line(rlo__diagram *diagram,
                     rlo__diagram_kind kind,
                     int32_t x,
                     const char *text) {
  int32_t length = (int32_t)strlen(text);
  if (diagram->width < x + length) {
    diagram->width = x + length;
  }
  rlo__diagram_item item = {kind, x, diagram->height++, length, 1, ""};
  return add_item(diagram, item, text);
}

/* Draws the bytes below the slots if elements are not whole bytes: a line for
 * each byte, the element in its high bits first. An element that lies in
 * several bytes is followed by the range of its bits. Returns false if memory
 * ran out. */
static bool add_bytes(rlo__diagram *diagram,
                      const label_set *labels,
                      const rlo__diagram_options *options) {
  rlo_shape_extent extent;
  if (rlo_shape_measure(labels->shape, &extent) != RLO_OK ||
      extent.element_bits % 8 == 0) {
    return true;
  }
  ++diagram->height;
  if (!add_line(diagram, RLO__DIAGRAM_NUMBER, 0, "bytes, high bits first")) {
    return false;
  }
  int64_t shown = extent.physical_bytes;
  if (shown > options->height / 2) {
    shown = options->height / 2;
  }
  char text[RLO__DIAGRAM_TEXT_BYTES];
  int32_t gutter = 1 + snprintf(NULL, 0, "%" PRId64, extent.physical_bytes);
  for (int64_t byte = 0; byte < shown; ++byte) {
    int32_t y = diagram->height;
    int length = snprintf(text, sizeof(text), "%" PRId64, byte);
    if (!add_line(diagram, RLO__DIAGRAM_NUMBER, gutter - 1 - length, text) ||
        !add_slots(diagram, labels, &extent, byte, gutter + 1, y)) {
      return false;
    }
  }
  if (shown == extent.physical_bytes) {
    return true;
  }
  diagram->is_abbreviated = true;
  snprintf(text,
           sizeof(text),
           "... %" PRId64 " more bytes",
           extent.physical_bytes - shown);
  return add_line(diagram, RLO__DIAGRAM_NOTE, gutter, text);
}

/* ------------------------------------------------------------------ diagram */

int rlo__diagram_draw(const rlo_shape *shape,
                      const rlo__diagram_options *options,
                      rlo__diagram *out_diagram) {
  *out_diagram = (rlo__diagram){0};
  drawing *d = calloc(1, sizeof(*d));
  if (d == NULL) {
    return rlo__fail("out of memory");
  }
  int code = make_labels(shape, options->has_letters, &d->labels);
  if (code != RLO__EXIT_OK || d->labels.map.slots == 0) {
    free(d);
    return code;
  }
  d->diagram = out_diagram;
  d->has_memory = true;
  if (!d->labels.map.is_dense || shape->layout.num_tiles == 0) {
    d->gutter =
        1 + (int32_t)snprintf(NULL, 0, "%" PRId64, d->labels.map.slots - 1);
  }
  int32_t width = options->width - d->gutter;
  if (d->labels.map.tiled_slots > 0 || !d->labels.map.is_dense) {
    make_levels(d, width);
    measure(d, 0, width, options->height);
    draw_level(d, 0, d->gutter, 0, 0);
    out_diagram->width = d->gutter + d->levels[0].width;
    out_diagram->height = d->levels[0].height;
  }
  if (!add_bytes(out_diagram, &d->labels, options)) {
    d->has_memory = false;
  }
  bool has_memory = d->has_memory;
  free(d);
  return has_memory ? RLO__EXIT_OK : rlo__fail("out of memory");
}

void rlo__diagram_deinit(rlo__diagram *diagram) {
  free(diagram->items);
  *diagram = (rlo__diagram){0};
}
