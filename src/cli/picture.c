/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "picture_bytes.h"
#include "picture_label.h"

/* The physical dimensions that one tile made (or, at level 0, those outside of
 * all tiles), without those of extent 1. The last one runs to the right, the
 * others downwards. Each cell of a level holds the whole next one. */
typedef struct level {
  int32_t num_dims;
  int64_t extents[RLO_ADDRESS_MAP_MAX_LEAVES];
  int64_t strides[RLO_ADDRESS_MAP_MAX_LEAVES];

  int64_t columns, rows;
  int64_t column_stride;
  /* Rows between two gaps: the extent of the last dimension downwards. */
  int64_t group;
  /* What is drawn of it. */
  int64_t shown_columns, shown_rows;
  int32_t pitch_x, pitch_y, gap_y;
  int32_t width, height;
} level;

enum { MAX_LEVELS = RLO_MAX_TILES + 1 };

typedef struct drawing {
  rlo__labels labels;
  int32_t num_levels;
  level levels[MAX_LEVELS];
  /* Characters before the rows, for the number of their first slots; 0 where
   * boxes have it. */
  int32_t gutter;
  rlo__picture *picture;
  bool has_memory;
} drawing;

void rlo__picture_deinit(rlo__picture *picture) {
  free(picture->items);
  *picture = (rlo__picture){0};
}

bool rlo__picture_add(rlo__picture *picture,
                      rlo__picture_item item,
                      const char *text) {
  if (picture->num_items == picture->capacity) {
    size_t capacity = picture->capacity == 0 ? 256 : 2 * picture->capacity;
    rlo__picture_item *items =
        realloc(picture->items, capacity * sizeof(items[0]));
    if (items == NULL) {
      return false;
    }
    picture->items = items;
    picture->capacity = capacity;
  }
  snprintf(item.text, sizeof(item.text), "%s", text);
  picture->items[picture->num_items++] = item;
  return true;
}

static void add(drawing *d, rlo__picture_item item, const char *text) {
  d->has_memory = d->has_memory && rlo__picture_add(d->picture, item, text);
}

static void add_note(drawing *d, int32_t x, int32_t y, const char *text) {
  int32_t width = (int32_t)strlen(text);
  rlo__picture_item note = {RLO__PICTURE_NOTE, x, y, width, 1, ""};
  add(d, note, text);
  d->picture->is_abbreviated = true;
}

/* ----------------------------------------------------------------- levels */

/* The level of each physical dimension, by the rule of layout.h. */
static void find_levels(const rlo_shape *shape,
                        int32_t out_levels[RLO_ADDRESS_MAP_MAX_LEAVES]) {
  int32_t count = shape->rank;
  memset(out_levels, 0, RLO_ADDRESS_MAP_MAX_LEAVES * sizeof(out_levels[0]));
  for (int32_t t = 0; t < shape->layout.num_tiles; ++t) {
    const rlo_tile *tile = &shape->layout.tiles[t];
    if (count < tile->rank) {
      int32_t missing = tile->rank - count;
      memmove(out_levels + missing,
              out_levels,
              (size_t)count * sizeof(out_levels[0]));
      memset(out_levels, 0, (size_t)missing * sizeof(out_levels[0]));
      count = tile->rank;
    }
    int32_t kept = 0;
    for (int32_t k = 0; k < tile->rank; ++k) {
      if (tile->dims[k] == RLO_TILE_COMBINE) {
        int32_t at = count - (tile->rank - k);
        memmove(out_levels + at,
                out_levels + at + 1,
                (size_t)(count - at - 1) * sizeof(out_levels[0]));
        --count;
      } else {
        ++kept;
      }
    }
    for (int32_t k = 0; k < kept; ++k) {
      out_levels[count++] = t + 1;
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

/* A view has no physical dimensions: break its line of slots at the widest
 * stride that fits, for that is how it is meant. */
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
    int32_t of[RLO_ADDRESS_MAP_MAX_LEAVES];
    find_levels(d->labels.shape, of);
    d->num_levels = d->labels.shape->layout.num_tiles + 1;
    for (int32_t p = 0; p < map->num_leaves; ++p) {
      add_dim(&d->levels[of[p]], map->leaves[p].extent, map->leaves[p].stride);
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

static int32_t note_width(const char *format_tail, int64_t most) {
  return (int32_t)snprintf(NULL, 0, "... %" PRId64 "%s", most, format_tail);
}

static const char *rows_note(const drawing *d, int32_t depth) {
  return depth + 1 < d->num_levels ? " more rows of tiles" : " more rows";
}

/* Lines that the first `rows` rows take. */
static int64_t lines_of(const level *l, int64_t rows, int32_t border) {
  return rows * l->pitch_y + (rows - 1) / l->group * l->gap_y + border;
}

/* Fit level `depth` and those inside of it into so many characters: at least
 * one cell is shown. */
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
  /* One more column: the last border, or a blank after the last label. */
  l->shown_columns = l->columns;
  if (l->columns > (width - 1) / l->pitch_x) {
    int32_t room = (width - 1 - right) / l->pitch_x;
    l->shown_columns = room < 1 ? 1 : room;
  }
  bool is_cut = l->shown_columns < l->columns;
  l->width = (int32_t)l->shown_columns * l->pitch_x + 1 + (is_cut ? right : 0);

  int32_t border = is_innermost ? 0 : 1;
  int64_t most = l->rows < height ? l->rows : height < 1 ? 1 : height;
  l->shown_rows = l->rows;
  if (l->rows > most || lines_of(l, most, border) > height) {
    l->shown_rows = most;
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

/* The slot of the first cell of a row, from that of the level. */
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
  char text[RLO__PICTURE_TEXT_BYTES];
  int length = snprintf(text, sizeof(text), "%" PRId64, number);
  if (length <= room) {
    rlo__picture_item item = {RLO__PICTURE_NUMBER, x, y, length, 1, ""};
    add(d, item, text);
  }
}

static void draw_slot(drawing *d, int32_t x, int32_t y, int64_t slot) {
  if (slot >= d->labels.map.slots) {
    return;
  }
  char text[RLO__PICTURE_TEXT_BYTES];
  bool is_element = rlo__label_of_slot(&d->labels, slot, text);
  rlo__picture_item item = {
      is_element ? RLO__PICTURE_ELEMENT : RLO__PICTURE_PADDING,
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
    rlo__picture_item box = {
        RLO__PICTURE_BOX, at, y, l->pitch_x + 1, l->pitch_y + 1, ""};
    add(d, box, "");
    if (depth + 2 == d->num_levels) {
      draw_number(d, at + 1, y, l->pitch_x - 1, slot);
    }
    draw_level(d, depth + 1, at + 1, y + 1, slot);
  }
  if (l->shown_columns < l->columns) {
    char text[RLO__PICTURE_TEXT_BYTES];
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
      char text[RLO__PICTURE_TEXT_BYTES];
      int length = snprintf(text, sizeof(text), "%" PRId64, slot);
      draw_number(d, x - 1 - length, at, length, slot);
    }
    draw_row(d, depth, x, at, slot);
  }
  if (l->shown_rows < l->rows) {
    char text[RLO__PICTURE_TEXT_BYTES];
    snprintf(text,
             sizeof(text),
             "... %" PRId64 "%s",
             l->rows - l->shown_rows,
             rows_note(d, depth));
    add_note(d, x + 1, y + (int32_t)lines_of(l, l->shown_rows, border), text);
  }
}

int rlo__picture_draw(const rlo_shape *shape,
                      const rlo__picture_options *options,
                      rlo__picture *out_picture) {
  *out_picture = (rlo__picture){0};
  drawing *d = calloc(1, sizeof(*d));
  if (d == NULL) {
    return rlo__fail("out of memory");
  }
  int code = rlo__labels_make(shape, options->has_letters, &d->labels);
  if (code != RLO__EXIT_OK || d->labels.map.slots == 0) {
    free(d);
    return code;
  }
  d->picture = out_picture;
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
    out_picture->width = d->gutter + d->levels[0].width;
    out_picture->height = d->levels[0].height;
  }
  if (!rlo__picture_add_bytes(out_picture, &d->labels, options)) {
    d->has_memory = false;
  }
  bool has_memory = d->has_memory;
  free(d);
  return has_memory ? RLO__EXIT_OK : rlo__fail("out of memory");
}
