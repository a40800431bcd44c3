/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "relayout/index.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/str.h"
#include "command.h"
#include "diagram.h"
#include "display.h"
#include "files.h"
#include "message.h"
#include "options.h"
#include "report.h"

/* ------------------------------------------------------------------ picture */

/* A diagram as lines of characters, each with the kind of its item; zeros are
 * blanks. */
typedef struct canvas {
  int32_t width, height;

  struct {
    char character;
    unsigned char kind;
  } * cells;
} canvas;

static void paint(canvas *c, int32_t x, int32_t y, char character, rlo__diagram_kind kind) {
  if (x < 0 || y < 0 || x >= c->width || y >= c->height) {
    return;
  }
  const size_t at = (size_t)y * (size_t)c->width + (size_t)x;
  /* Adjacent boxes share a border; a corner wins over an edge. */
  if (kind != RLO__DIAGRAM_BOX || c->cells[at].character != '+') {
    c->cells[at].character = character;
    c->cells[at].kind = (unsigned char)kind;
  }
}

static void paint_box(canvas *c, const rlo__diagram_item *item) {
  const int32_t right = item->x + item->width - 1;
  const int32_t bottom = item->y + item->height - 1;
  for (int32_t y = item->y; y <= bottom; ++y) {
    for (int32_t x = item->x; x <= right; ++x) {
      const bool is_in_row = y == item->y || y == bottom;
      if (x == item->x || x == right) {
        paint(c, x, y, is_in_row ? '+' : '|', item->kind);
      } else if (is_in_row) {
        paint(c, x, y, '-', item->kind);
      }
    }
  }
}

static void paint_text(canvas *c, const rlo__diagram_item *item) {
  char text[2 * RLO__DIAGRAM_TEXT_BYTES];
  snprintf(text, sizeof(text), "%*s", item->width, item->text);
  for (int32_t i = 0; i < item->width; ++i) {
    paint(c, item->x + i, item->y, text[i], item->kind);
  }
}

/* Prints a line without the blanks at its end. */
static void print_line(const canvas *c, int32_t y, bool has_color) {
  /* ANSI escapes by kind. */
  static const char *const escapes[] = {"", "\033[36m", "\033[2;7m", "\033[2m", "\033[33m"};
  const size_t first = (size_t)y * (size_t)c->width;
  size_t end = first + (size_t)c->width;
  unsigned char kind = RLO__DIAGRAM_ELEMENT;
  while (end > first && strchr(" ", c->cells[end - 1].character) != NULL) {
    --end;
  }
  for (size_t at = first; at < end; ++at) {
    if (has_color && c->cells[at].kind != kind) {
      fputs(kind == RLO__DIAGRAM_ELEMENT ? "" : "\033[0m", stdout);
      kind = c->cells[at].kind;
      fputs(escapes[kind], stdout);
    }
    putchar(c->cells[at].character == '\0' ? ' ' : c->cells[at].character);
  }
  puts(kind == RLO__DIAGRAM_ELEMENT ? "" : "\033[0m");
}

/* Prints a diagram on standard output, with ANSI colors or without. */
static int print_diagram(const rlo__diagram *diagram, bool has_color) {
  const int32_t height = diagram->num_items == 0 ? 0 : diagram->height;
  canvas c = {.width = diagram->width, .height = height};
  c.cells = rlo__alloc_array((size_t)c.width, (size_t)height * sizeof(*c.cells));
  RLO__EXIT_TRY_MEMORY(c.cells);
  for (size_t i = 0; i < diagram->num_items; ++i) {
    const rlo__diagram_item *item = &diagram->items[i];
    if (item->kind == RLO__DIAGRAM_BOX) {
      paint_box(&c, item);
    } else {
      paint_text(&c, item);
    }
  }
  for (int32_t y = 0; y < height; ++y) {
    print_line(&c, y, has_color);
  }
  rlo__free(c.cells);
  return RLO__EXIT_OK;
}

/* ---------------------------------------------------------------------- SVG */

/* The size of a character and the margin, in SVG units. */
enum { CELL_X = 9, CELL_Y = 20, MARGIN = 12 };

static const char style[] =
    "<style>"
    "text{font:14px monospace;fill:#222}"
    ".box{fill:none;stroke:#06768d;stroke-width:1.5}"
    ".element{fill:#e3f1f4}.padding{fill:#c9c9c9}"
    /* A number lies on the line of its box. */
    ".number{font-size:10px;fill:#06768d;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".note{fill:#9a5b00}"
    "</style>\n";

static void add_svg_text(rlo__str *out, const char *class_name, int32_t x, int32_t y,
                         const char *text) {
  const bool is_label = strcmp(class_name, "label") == 0;
  rlo__str_printf(out, "<text class=\"%s\" x=\"%" PRId32 "\" y=\"%" PRId32 "\" text-anchor=\"%s\">",
                  class_name, x, y, is_label ? "middle" : "start");
  for (; *text != '\0'; ++text) {
    if (*text == '<' || *text == '>' || *text == '&') {
      rlo__str_printf(out, "&#%d;", *text);
    } else {
      rlo__str_append_char(out, *text);
    }
  }
  rlo__str_append(out, "</text>\n");
}

static void add_rectangle(rlo__str *out, const char *class_name, int32_t x, int32_t y,
                          int32_t width, int32_t height) {
  rlo__str_printf(out,
                  "<rect class=\"%s\" x=\"%" PRId32 "\" y=\"%" PRId32 "\" width=\"%" PRId32
                  "\" height=\"%" PRId32 "\"/>\n",
                  class_name, x, y, width, height);
}

/* A box runs through the middle of the characters of its border; a cell extends
 * half a character to either side. */
static void add_item(rlo__str *out, const rlo__diagram_item *item, int32_t top) {
  static const char *const classes[] = {"element", "box", "padding", "number", "note"};
  const char *class_name = classes[item->kind];
  const int32_t x = MARGIN + item->x * CELL_X;
  const int32_t y = top + item->y * CELL_Y;
  const int32_t width = item->width * CELL_X;
  const int32_t baseline = y + CELL_Y - 6;
  if (item->kind == RLO__DIAGRAM_BOX) {
    add_rectangle(out, class_name, x + CELL_X / 2, y + CELL_Y / 2, width - CELL_X,
                  (item->height - 1) * CELL_Y);
  } else if (item->kind == RLO__DIAGRAM_ELEMENT || item->kind == RLO__DIAGRAM_PADDING) {
    add_rectangle(out, class_name, x - 3, y + 1, width + CELL_X - 3, CELL_Y - 2);
    add_svg_text(out, "label", x + width / 2, baseline, item->text);
  } else {
    add_svg_text(out, class_name, x, baseline, item->text);
  }
}

static void add_diagram(rlo__str *out, const rlo__diagram *diagram, const char *title) {
  const int32_t top = MARGIN + 2 * CELL_Y;
  const int32_t bottom = top + diagram->height * CELL_Y + CELL_Y / 2;
  int64_t columns = rlo__max(diagram->width, (int64_t)strlen(title));
  for (int32_t i = 0; i < diagram->num_lines; ++i) {
    columns = rlo__max(columns, (int64_t)strlen(diagram->lines[i]));
  }
  rlo__str_printf(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId32
      "\">\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      columns * CELL_X + (int64_t)2 * MARGIN, bottom + diagram->num_lines * CELL_Y + MARGIN, style);
  add_svg_text(out, "title", MARGIN, MARGIN + CELL_Y, title);
  for (size_t i = 0; i < diagram->num_items; ++i) {
    add_item(out, &diagram->items[i], top);
  }
  for (int32_t i = 0; i < diagram->num_lines; ++i) {
    add_svg_text(out, "text", MARGIN, bottom + (i + 1) * CELL_Y, diagram->lines[i]);
  }
  rlo__str_append(out, "</svg>\n");
}

/* Writes a diagram, below a title and above its lines of text. The file appears
 * complete or not at all. */
static int save_svg(const rlo__diagram *diagram, const char *path, const char *title) {
  rlo__str out = rlo__str_growing();
  add_diagram(&out, diagram, title);
  int code = rlo__check(rlo__str_status(&out));
  if (code == RLO__EXIT_OK) {
    code = rlo__output_write(path, NULL, 0, rlo__str_text(&out), out.length);
  }
  rlo__str_deinit(&out);
  return code;
}

/* ---------------------------------------------------------------- request */

/* A file has room for more than a terminal, if not for more than a browser draws. */
enum { DEFAULT_WIDTH = 80, DEFAULT_HEIGHT = 40, FILE_SIZE = 1000 };

/* --color: the number of its word; 0: not given, which is auto. */
typedef enum color_choice { COLOR_AUTO = 1, COLOR_ALWAYS = 2, COLOR_NEVER = 3 } color_choice;

typedef struct show_request {
  rlo__common_options common;
  bool is_inverse;
  /* The options of a picture. */
  const char *svg_path;
  color_choice color;
  /* 0: not given. */
  int64_t width, height;
  rlo__diagram_options diagram;
} show_request;

static bool has_color(color_choice choice) {
  if (choice > COLOR_AUTO) {
    return choice == COLOR_ALWAYS;
  }
  const char *terminal = getenv("TERM");
  const char *refused = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (refused == NULL || refused[0] == '\0') &&
         (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static int32_t terminal_width(void) {
  struct winsize size;
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col < RLO__DIAGRAM_MIN_SIZE) {
    return DEFAULT_WIDTH;
  }
  return (int32_t)rlo__min(size.ws_col, RLO__DIAGRAM_MAX_SIZE);
}

static int print_picture(const rlo__diagram *diagram, const show_request *request,
                         const char *title) {
  if (request->svg_path != NULL) {
    return save_svg(diagram, request->svg_path, title);
  }
  puts(title);
  RLO__EXIT_TRY(print_diagram(diagram, has_color(request->color)));
  for (int32_t i = 0; i < diagram->num_lines; ++i) {
    puts(diagram->lines[i]);
  }
  return RLO__EXIT_OK;
}

static int show_picture(const rlo_shape *shape, show_request *request) {
  rlo__diagram diagram;
  request->diagram.height = request->height != 0        ? (int32_t)request->height
                            : request->svg_path == NULL ? DEFAULT_HEIGHT
                                                        : FILE_SIZE;
  request->diagram.width = request->width != 0         ? (int32_t)request->width
                           : request->svg_path == NULL ? terminal_width()
                                                       : FILE_SIZE;
  int code = rlo__diagram_draw(shape, &request->diagram, &diagram);
  if (code == RLO__EXIT_OK) {
    code = print_picture(&diagram, request, rlo__shape_text(shape));
  }
  rlo__diagram_deinit(&diagram);
  return code;
}

/* -------------------------------------------------------------------- index */

static int show_slot(const rlo_shape *shape, const char *text, bool is_json) {
  rlo__int_list index;
  int64_t slot = 0;
  rlo__report r;
  RLO__EXIT_TRY(rlo__int_list_parse("show", "index", text, &index));
  RLO__EXIT_IF(index.count != shape->rank, "the index has %d coordinates, the shape has rank %d",
               index.count, shape->rank);
  RLO__EXIT_TRY(rlo__check(rlo_index_to_linear(shape, index.values, &slot)));
  rlo__report_begin(&r, is_json, 0);
  RLO__REPORT(&r, RLO__INT("slot", "", slot));
  rlo__report_end(&r);
  return RLO__EXIT_OK;
}

static int show_element(const rlo_shape *shape, const char *text, bool is_json) {
  int64_t slot = 0;
  int64_t index[RLO_MAX_RANK];
  bool is_element = false;
  char buffer[RLO_MAX_RANK * 21 + 1];
  rlo__str words = rlo__str_over(buffer, sizeof(buffer));
  rlo__report r;
  RLO__EXIT_TRY(rlo__number_parse("show", "slot", text, INT64_MIN, INT64_MAX, &slot));
  RLO__EXIT_TRY(rlo__check(rlo_index_from_linear(shape, slot, index, &is_element)));
  for (int32_t k = 0; k < shape->rank; ++k) {
    rlo__str_printf(&words, "%s%" PRId64, k == 0 ? "" : ",", index[k]);
  }
  rlo__report_begin(&r, is_json, 0);
  rlo__report_line(&r, "", "%s", !is_element ? "padding" : shape->rank == 0 ? "-" : buffer);
  RLO__REPORT(&r, RLO__BOOL("is_element", is_element),
              is_element ? (rlo__row)RLO__INTS("index", NULL, index, shape->rank)
                         : (rlo__row)RLO__STRING("index", NULL, NULL));
  rlo__report_end(&r);
  return RLO__EXIT_OK;
}

/* ------------------------------------------------------------ command line */

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("inverse", FLAG, show_request, is_inverse),
    RLO__OPTION("svg", TEXT, show_request, svg_path),
    RLO__OPTION_OF("color", show_request, color, "auto", "always", "never"),
    RLO__OPTION_WITHIN("width", show_request, width, RLO__DIAGRAM_MIN_SIZE, RLO__DIAGRAM_MAX_SIZE),
    RLO__OPTION_WITHIN("height", show_request, height, RLO__DIAGRAM_MIN_SIZE,
                       RLO__DIAGRAM_MAX_SIZE),
    RLO__OPTION("letters", FLAG, show_request, diagram.has_letters),
    {0}};

/* Excludes a negative number in the last place from the parsing of options, so
 * that the library reports it as an invalid coordinate. */
static int count_before_negative(int argc, char **argv) {
  const char *last = argv[argc - 1];
  return argc > 2 && last[0] == '-' && isdigit((unsigned char)last[1]) ? argc - 1 : argc;
}

/* Two operands are a shape and an index or a slot. */
static int run(int argc, char **argv) {
  show_request request = {.width = 0};
  rlo_shape shape;
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_show, count_before_negative(argc, argv), argv, &request,
                                  &request.common));
  const bool is_index = request.is_inverse || argc - optind == 2;
  const bool is_of_picture = request.svg_path != NULL || request.width != 0 ||
                             request.height != 0 || request.color > COLOR_AUTO ||
                             request.diagram.has_letters;
  RLO__EXIT_TRY(rlo__operands_take(argc, argv, is_index ? 2 : 1,
                                   request.is_inverse ? "a shape and a slot"
                                   : is_index         ? "a shape and an index"
                                                      : "a shape"));
  RLO__USAGE_IF(is_index ? is_of_picture : request.common.is_json, argv[0],
                is_index ? "--svg, --color, --width, --height and --letters are of pictures"
                         : "--json requires an index or a slot");
  RLO__EXIT_TRY(rlo__shape_operand_parse(argv[optind], &shape));
  if (!is_index) {
    return show_picture(&shape, &request);
  }
  return request.is_inverse ? show_element(&shape, argv[optind + 1], request.common.is_json)
                            : show_slot(&shape, argv[optind + 1], request.common.is_json);
}

const rlo__command rlo__cmd_show = {
    .name = "show",
    .summary = "draw the memory of a small shape, or find one slot of it",
    .help =
        "Usage: relayout show [OPTION...] SHAPE\n"
        "       relayout show [--json] SHAPE I,J,...\n"
        "       relayout show [--json] --inverse SHAPE N\n"
        "\n"
        "Draws the slots of a shape in memory order, each with the index of\n"
        "its element, or with a dot if it has none. The fastest varying\n"
        "physical dimension runs to the right, the others downwards. Each tile\n"
        "is a box, and tiles of tiles are boxes in boxes. The numbers at the\n"
        "left, or at a box, are those of the slots that begin there. Elements\n"
        "that are packed into bytes are shown byte by byte, too. What does not\n"
        "fit is left out, and a note counts the rest. In a broadcast view, whose\n"
        "elements share slots along a dimension of stride 0, * stands for every\n"
        "index of that dimension.\n"
        "\n"
        "  --letters      name the elements a, b, c, ... in logical order\n"
        "  --width N      characters of a line (those of the terminal, or 80)\n"
        "  --height N     lines (40)\n"
        "  --color auto|always|never\n"
        "                 auto, the default: on a terminal, unless NO_COLOR is set\n"
        "  --svg FILE     write the picture to this file instead, which has room\n"
        "                 for 1000 by 1000 characters without --width and --height\n"
        "\n"
        "With an index: prints the slot (counted in elements from 0) where the\n"
        "element with this index lies in memory. The index of a scalar is written -.\n"
        "\n"
        "  --inverse      the index of the element at slot N, or the word padding\n"
        "  --json         print {\"slot\":N}, or {\"is_element\":true,\"index\":[...]}\n"
        "\n"
        "Example: relayout show 'f32[3,5]{1,0:T(2,2)}'\n"
        "         relayout show 'f32[2,3]{0,1:pad(3,5)}' 1,2\n",
    .options = options,
    .run = run,
};
