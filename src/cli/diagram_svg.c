/* SPDX-License-Identifier: Apache-2.0 */
#include "diagram.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/str.h"
#include "files.h"
#include "message.h"

/* The size of a character and the margin, in SVG units. */
enum { CELL_X = 9, CELL_Y = 20, MARGIN = 12 };

static const char style[] =
    "<style>"
    "text{font:14px monospace;fill:#222}"
    ".box{fill:none;stroke:#06768d;stroke-width:1.5}"
    ".element{fill:#e3f1f4}.padding{fill:#c9c9c9}"
    ".number{font-size:10px;fill:#06768d}.note{fill:#9a5b00}"
    "</style>\n";

static void add_text(rlo__str *out,
                     const char *class_name,
                     int32_t x,
                     int32_t y,
                     const char *text) {
  const bool is_label = strcmp(class_name, "label") == 0;
  rlo__str_printf(out,
                  "<text class=\"%s\" x=\"%" PRId32 "\" y=\"%" PRId32
                  "\" text-anchor=\"%s\">",
                  class_name,
                  x,
                  y,
                  is_label ? "middle" : "start");
  for (; *text != '\0'; ++text) {
    if (*text == '<' || *text == '>' || *text == '&') {
      rlo__str_printf(out, "&#%d;", *text);
    } else {
      rlo__str_append_char(out, *text);
    }
  }
  rlo__str_append(out, "</text>\n");
}

static void add_rectangle(rlo__str *out,
                          const char *class_name,
                          int32_t x,
                          int32_t y,
                          int32_t width,
                          int32_t height) {
  rlo__str_printf(out,
                  "<rect class=\"%s\" x=\"%" PRId32 "\" y=\"%" PRId32
                  "\" width=\"%" PRId32 "\" height=\"%" PRId32 "\"/>\n",
                  class_name,
                  x,
                  y,
                  width,
                  height);
}

/* A box runs through the middle of the characters of its border; a cell extends
 * half a character to either side. */
static void add_item(rlo__str *out,
                     const rlo__diagram_item *item,
                     int32_t top) {
  static const char *const classes[] = {
      "box", "element", "padding", "number", "note"};
  const char *class_name = classes[item->kind];
  const int32_t x = MARGIN + item->x * CELL_X;
  const int32_t y = top + item->y * CELL_Y;
  const int32_t width = item->width * CELL_X;
  const int32_t baseline = y + CELL_Y - 6;
  if (item->kind == RLO__DIAGRAM_BOX) {
    add_rectangle(out,
                  class_name,
                  x + CELL_X / 2,
                  y + CELL_Y / 2,
                  width - CELL_X,
                  (item->height - 1) * CELL_Y);
  } else if (item->kind == RLO__DIAGRAM_ELEMENT ||
             item->kind == RLO__DIAGRAM_PADDING) {
    add_rectangle(
        out, class_name, x - 3, y + 1, width + CELL_X - 3, CELL_Y - 2);
    add_text(out, "label", x + width / 2, baseline, item->text);
  } else {
    add_text(out, class_name, x, baseline, item->text);
  }
}

static void add_diagram(rlo__str *out,
                        const rlo__diagram *diagram,
                        const char *title) {
  const int32_t top = MARGIN + 2 * CELL_Y;
  const int32_t bottom = top + diagram->height * CELL_Y + CELL_Y / 2;
  int64_t columns = rlo__max(diagram->width, (int64_t)strlen(title));
  for (int32_t i = 0; i < diagram->num_lines; ++i) {
    columns = rlo__max(columns, (int64_t)strlen(diagram->lines[i]));
  }
  rlo__str_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64
                  "\" height=\"%" PRId32
                  "\">\n%s"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  columns * CELL_X + (int64_t)2 * MARGIN,
                  bottom + diagram->num_lines * CELL_Y + MARGIN,
                  style);
  add_text(out, "title", MARGIN, MARGIN + CELL_Y, title);
  for (size_t i = 0; i < diagram->num_items; ++i) {
    add_item(out, &diagram->items[i], top);
  }
  for (int32_t i = 0; i < diagram->num_lines; ++i) {
    add_text(out, "text", MARGIN, bottom + (i + 1) * CELL_Y, diagram->lines[i]);
  }
  rlo__str_append(out, "</svg>\n");
}

int rlo__diagram_save_svg(const rlo__diagram *diagram,
                          const char *path,
                          const char *title) {
  rlo__str out = rlo__str_growing();
  add_diagram(&out, diagram, title);
  int code = rlo__check(rlo__str_status(&out));
  if (code == RLO__EXIT_OK) {
    code = rlo__output_write(path, NULL, 0, rlo__str_text(&out), out.length);
  }
  rlo__str_deinit(&out);
  return code;
}
