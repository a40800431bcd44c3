/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "relayout/index.h"

#include "command.h"
#include "diagram.h"
#include "display.h"
#include "message.h"
#include "options.h"

/* A diagram as lines of characters, each with the kind of its item. */
typedef struct canvas {
  int32_t width, height;
  char *characters;
  unsigned char *kinds;
} canvas;

/* ANSI escapes by kind. */
static const char *const escapes[] = {
    "\033[36m", "", "\033[2;7m", "\033[2m", "\033[33m"};

static void paint(
    canvas *c, int32_t x, int32_t y, char character, rlo__diagram_kind kind) {
  if (x < 0 || y < 0 || x >= c->width || y >= c->height) {
    return;
  }
  size_t at = (size_t)y * (size_t)c->width + (size_t)x;
  /* Adjacent boxes share a border; a corner wins over an edge. */
  if (kind == RLO__DIAGRAM_BOX && c->characters[at] == '+') {
    return;
  }
  c->characters[at] = character;
  c->kinds[at] = (unsigned char)kind;
}

static void paint_box(canvas *c, const rlo__diagram_item *item) {
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

static void paint_text(canvas *c, const rlo__diagram_item *item) {
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

/* Prints a line without the blanks at its end. */
static void print_line(const canvas *c, int32_t y, bool has_color) {
  const char *characters = c->characters + (size_t)y * (size_t)c->width;
  const unsigned char *kinds = c->kinds + (size_t)y * (size_t)c->width;
  int32_t length = c->width;
  while (length > 0 && characters[length - 1] == ' ') {
    --length;
  }
  unsigned char kind = RLO__DIAGRAM_ELEMENT;
  for (int32_t x = 0; x < length; ++x) {
    if (has_color && kinds[x] != kind) {
      fputs(kind == RLO__DIAGRAM_ELEMENT ? "" : "\033[0m", stdout);
      kind = kinds[x];
      fputs(escapes[kind], stdout);
    }
    putchar(characters[x]);
  }
  if (has_color && kind != RLO__DIAGRAM_ELEMENT) {
    fputs("\033[0m", stdout);
  }
  putchar('\n');
}

/* Prints a diagram on standard output, with ANSI colors or without. */
static int print_diagram(const rlo__diagram *diagram, bool has_color) {
  if (diagram->num_items == 0) {
    return RLO__EXIT_OK;
  }
  size_t size = (size_t)diagram->width * (size_t)diagram->height;
  canvas c = {.width = diagram->width, .height = diagram->height};
  c.characters = malloc(size);
  c.kinds = malloc(size);
  if (c.characters == NULL || c.kinds == NULL) {
    free(c.characters);
    free(c.kinds);
    return rlo__fail("out of memory");
  }
  memset(c.characters, ' ', size);
  memset(c.kinds, RLO__DIAGRAM_ELEMENT, size);
  for (size_t i = 0; i < diagram->num_items; ++i) {
    if (diagram->items[i].kind == RLO__DIAGRAM_BOX) {
      paint_box(&c, &diagram->items[i]);
    }
  }
  for (size_t i = 0; i < diagram->num_items; ++i) {
    if (diagram->items[i].kind != RLO__DIAGRAM_BOX) {
      paint_text(&c, &diagram->items[i]);
    }
  }
  for (int32_t y = 0; y < c.height; ++y) {
    print_line(&c, y, has_color);
  }
  free(c.characters);
  free(c.kinds);
  return RLO__EXIT_OK;
}

enum {
  DEFAULT_WIDTH = 80,
  DEFAULT_HEIGHT = 40,
  MAX_LINES = 4,
  LINE_BYTES = 160
};

typedef enum color_choice {
  COLOR_AUTO,
  COLOR_ALWAYS,
  COLOR_NEVER
} color_choice;

typedef struct show_options {
  const char *svg_path;
  color_choice color;
  /* 0: not given. */
  int64_t width, height;
  rlo__diagram_options diagram;
} show_options;

/* The lines below a diagram. */
typedef struct legend {
  int32_t count;
  char lines[MAX_LINES][LINE_BYTES];
} legend;

static bool is_set(const char *name) {
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0';
}

static bool has_color(color_choice choice) {
  if (choice != COLOR_AUTO) {
    return choice == COLOR_ALWAYS;
  }
  const char *terminal = getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && !is_set("NO_COLOR") &&
         (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static int32_t terminal_width(void) {
  struct winsize size;
  if (isatty(STDOUT_FILENO) != 1 ||
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col < RLO__DIAGRAM_MIN_SIZE) {
    return DEFAULT_WIDTH;
  }
  return size.ws_col < RLO__DIAGRAM_MAX_SIZE ? size.ws_col
                                             : RLO__DIAGRAM_MAX_SIZE;
}

static const char *fill_words(const rlo_layout *layout) {
  switch (layout->fill) {
    case RLO_FILL_ZERO:
      return "padding, zero";
    case RLO_FILL_ONE:
      return "padding, one";
    case RLO_FILL_LOWEST:
      return "padding, the lowest value";
    case RLO_FILL_HIGHEST:
      return "padding, the highest value";
    case RLO_FILL_BITS:
      return "padding, the bits of fill(...)";
    case RLO_FILL_INVALID:
    case RLO_FILL_UNKNOWN:
      break;
  }
  return "padding, which a relayout does not write";
}

static int make_legend(const rlo_shape *shape,
                       const rlo__diagram_options *options,
                       bool is_abbreviated,
                       legend *out_legend) {
  rlo_shape_extent extent;
  rlo_shape_extent unique_extent;
  rlo_address_map map;
  const rlo_shape unique = rlo__diagram_without_broadcast(shape);
  if (rlo_shape_measure(shape, &extent) != RLO_OK ||
      rlo_shape_measure(&unique, &unique_extent) != RLO_OK ||
      rlo_address_map_make(shape, &map) != RLO_OK) {
    return rlo__fail_last();
  }
  const char *dot =
      map.is_dense ? fill_words(&shape->layout) : "a slot between the elements";
  bool has_gaps = extent.slots > unique_extent.elements;
  snprintf(out_legend->lines[0],
           LINE_BYTES,
           "%" PRId64 " element%s in %" PRId64 " slot%s%s%s",
           extent.elements,
           extent.elements == 1 ? "" : "s",
           extent.slots,
           extent.slots == 1 ? "" : "s",
           has_gaps ? "; . is " : "",
           has_gaps ? dot : "");
  out_legend->count = 1;
  if (extent.elements > unique_extent.elements) {
    snprintf(out_legend->lines[out_legend->count++],
             LINE_BYTES,
             options->has_letters
                 ? "a slot has the letter of the first of its %" PRId64
                   " elements"
                 : "* is every index: each slot holds %" PRId64 " elements",
             extent.elements / unique_extent.elements);
  }
  if (map.is_dense && map.slots > map.tiled_slots) {
    snprintf(out_legend->lines[out_legend->count++],
             LINE_BYTES,
             "the tail, slots %" PRId64 " to %" PRId64 ", is padding too",
             map.tiled_slots,
             map.slots - 1);
  }
  if (is_abbreviated) {
    snprintf(out_legend->lines[out_legend->count++],
             LINE_BYTES,
             "abbreviated: --width and --height make room for more");
  }
  return RLO__EXIT_OK;
}

static int show(const rlo_shape *shape, const show_options *options) {
  static rlo__shape_text title;
  rlo__shape_text_make(shape, &title);
  rlo__diagram diagram;
  legend below = {0};
  int code = rlo__diagram_draw(shape, &options->diagram, &diagram);
  if (code == RLO__EXIT_OK) {
    code =
        make_legend(shape, &options->diagram, diagram.is_abbreviated, &below);
  }
  if (code == RLO__EXIT_OK && options->svg_path != NULL) {
    const char *lines[MAX_LINES];
    for (int32_t i = 0; i < below.count; ++i) {
      lines[i] = below.lines[i];
    }
    code = rlo__diagram_save_svg(
        &diagram, options->svg_path, title.text, lines, below.count);
  } else if (code == RLO__EXIT_OK) {
    puts(title.text);
    code = print_diagram(&diagram, has_color(options->color));
    for (int32_t i = 0; i < below.count; ++i) {
      puts(below.lines[i]);
    }
  }
  rlo__diagram_deinit(&diagram);
  return code;
}

static int take_color(const char *verb, const char *value, void *field) {
  static const char *const words[] = {"auto", "always", "never"};
  int32_t word = 0;
  int code = rlo__word_parse(verb, "--color", value, words, 3, &word);
  *(color_choice *)field = (color_choice)word;
  return code;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION("svg", TEXT, show_options, svg_path),
    RLO__OPTION_BY("color", CALL, show_options, color, take_color),
    RLO__OPTION_WITHIN("width",
                       show_options,
                       width,
                       RLO__DIAGRAM_MIN_SIZE,
                       RLO__DIAGRAM_MAX_SIZE),
    RLO__OPTION_WITHIN("height",
                       show_options,
                       height,
                       RLO__DIAGRAM_MIN_SIZE,
                       RLO__DIAGRAM_MAX_SIZE),
    RLO__OPTION("letters", FLAG, show_options, diagram.has_letters),
    {0}};

static int run(int argc, char **argv) {
  show_options chosen = {.height = DEFAULT_HEIGHT};
  rlo__common_options common;
  int code = rlo__options_take(&rlo__cmd_show, argc, argv, &chosen, &common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  chosen.diagram.height = (int32_t)chosen.height;
  chosen.diagram.width = chosen.width != 0         ? (int32_t)chosen.width
                         : chosen.svg_path == NULL ? terminal_width()
                                                   : DEFAULT_WIDTH;
  char **operands;
  code = rlo__operands_take(argc, argv, 1, "a shape", &operands);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo_shape shape;
  code = rlo__shape_operand_parse(operands[0], &shape);
  return code == RLO__EXIT_OK ? show(&shape, &chosen) : code;
}

const rlo__command rlo__cmd_show = {
    .name = "show",
    .summary = "draw the memory of a small shape",
    .help =
        "Usage: relayout show [OPTION...] SHAPE\n"
        "\n"
        "Draws the slots of a shape in memory order, each with the index of\n"
        "its element, or with a dot if it has none. The fastest varying\n"
        "physical dimension runs to the right, the others downwards. Each "
        "tile\n"
        "is a box, and tiles of tiles are boxes in boxes. The numbers at the\n"
        "left, or at a box, are those of the slots that begin there. Elements\n"
        "that are packed into bytes are shown byte by byte, too. What does "
        "not\n"
        "fit is left out, and a note counts the rest. In a broadcast view, "
        "whose\n"
        "elements share slots along a dimension of stride 0, * stands for "
        "every\n"
        "index of that dimension.\n"
        "\n"
        "  --letters      name the elements a, b, c, ... in logical order\n"
        "  --width N      characters of a line (those of the terminal, or 80)\n"
        "  --height N     lines (40)\n"
        "  --color WHEN   auto (the default: on a terminal, unless NO_COLOR "
        "is\n"
        "                 set), always or never\n"
        "  --svg FILE     write the picture to this file instead\n"
        "\n"
        "Example: relayout show 'f32[3,5]{1,0:T(2,2)}'\n",
    .options = options,
    .run = run,
};
