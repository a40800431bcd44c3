/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

/* A picture as lines of characters; each has the kind of what stands there. */
typedef struct canvas {
  int32_t width, height;
  char *characters;
  unsigned char *kinds;
} canvas;

/* Elements need no escape; the rest is dimmed, shaded or set off. */
static const char *const escapes[] = {
    "\033[36m", "", "\033[2;7m", "\033[2m", "\033[33m"};

static void paint(
    canvas *c, int32_t x, int32_t y, char character, rlo__picture_kind kind) {
  if (x < 0 || y < 0 || x >= c->width || y >= c->height) {
    return;
  }
  size_t at = (size_t)y * (size_t)c->width + (size_t)x;
  /* Neighbours share a border, and one's edge may meet another's corner. */
  if (kind == RLO__PICTURE_BOX && c->characters[at] == '+') {
    return;
  }
  c->characters[at] = character;
  c->kinds[at] = (unsigned char)kind;
}

static void paint_box(canvas *c, const rlo__picture_item *item) {
  int32_t right = item->x + item->width - 1;
  int32_t bottom = item->y + item->height - 1;
  paint(c, item->x, item->y, '+', item->kind);
  paint(c, right, item->y, '+', item->kind);
  paint(c, item->x, bottom, '+', item->kind);
  paint(c, right, bottom, '+', item->kind);
  for (int32_t x = item->x + 1; x < right; ++x) {
    paint(c, x, item->y, '-', item->kind);
    paint(c, x, bottom, '-', item->kind);
  }
  for (int32_t y = item->y + 1; y < bottom; ++y) {
    paint(c, item->x, y, '|', item->kind);
    paint(c, right, y, '|', item->kind);
  }
}

static void paint_text(canvas *c, const rlo__picture_item *item) {
  int32_t length = (int32_t)strlen(item->text);
  for (int32_t i = 0; i < item->width; ++i) {
    int32_t from = i - (item->width - length);
    char character = ' ';
    if (from >= 0 && from < length) {
      character = item->text[from];
    }
    paint(c, item->x + i, item->y, character, item->kind);
  }
}

/* One line, without the blanks at its end unless they are shaded. */
static void print_line(const canvas *c, int32_t y, bool has_color) {
  const char *characters = c->characters + (size_t)y * (size_t)c->width;
  const unsigned char *kinds = c->kinds + (size_t)y * (size_t)c->width;
  int32_t length = c->width;
  while (length > 0 && characters[length - 1] == ' ') {
    --length;
  }
  unsigned char kind = RLO__PICTURE_ELEMENT;
  for (int32_t x = 0; x < length; ++x) {
    if (has_color && kinds[x] != kind) {
      fputs(kind == RLO__PICTURE_ELEMENT ? "" : "\033[0m", stdout);
      kind = kinds[x];
      fputs(escapes[kind], stdout);
    }
    putchar(characters[x]);
  }
  if (has_color && kind != RLO__PICTURE_ELEMENT) {
    fputs("\033[0m", stdout);
  }
  putchar('\n');
}

int rlo__picture_print(const rlo__picture *picture, bool has_color) {
  if (picture->num_items == 0) {
    return RLO__EXIT_OK;
  }
  size_t size = (size_t)picture->width * (size_t)picture->height;
  canvas c = {.width = picture->width, .height = picture->height};
  c.characters = malloc(size);
  c.kinds = malloc(size);
  if (c.characters == NULL || c.kinds == NULL) {
    free(c.characters);
    free(c.kinds);
    return rlo__fail("out of memory");
  }
  memset(c.characters, ' ', size);
  memset(c.kinds, RLO__PICTURE_ELEMENT, size);
  for (size_t i = 0; i < picture->num_items; ++i) {
    if (picture->items[i].kind == RLO__PICTURE_BOX) {
      paint_box(&c, &picture->items[i]);
    }
  }
  for (size_t i = 0; i < picture->num_items; ++i) {
    if (picture->items[i].kind != RLO__PICTURE_BOX) {
      paint_text(&c, &picture->items[i]);
    }
  }
  for (int32_t y = 0; y < c.height; ++y) {
    print_line(&c, y, has_color);
  }
  free(c.characters);
  free(c.kinds);
  return RLO__EXIT_OK;
}
