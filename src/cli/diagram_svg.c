/* SPDX-License-Identifier: Apache-2.0 */
#include "diagram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void write_escaped(FILE *out, const char *text) {
  for (; *text != '\0'; ++text) {
    switch (*text) {
      case '<':
        fputs("&lt;", out);
        break;
      case '>':
        fputs("&gt;", out);
        break;
      case '&':
        fputs("&amp;", out);
        break;
      default:
        fputc(*text, out);
    }
  }
}

static void write_text(FILE *out,
                       const char *class_name,
                       int32_t x,
                       int32_t y,
                       const char *anchor,
                       const char *text) {
  fprintf(out,
          "<text class=\"%s\" x=\"%" PRId32 "\" y=\"%" PRId32
          "\" text-anchor=\"%s\">",
          class_name,
          x,
          y,
          anchor);
  write_escaped(out, text);
  fputs("</text>\n", out);
}

static void write_rectangle(FILE *out,
                            const char *class_name,
                            int32_t x,
                            int32_t y,
                            int32_t width,
                            int32_t height) {
  fprintf(out,
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
static void write_item(FILE *out, const rlo__diagram_item *item, int32_t top) {
  int32_t x = MARGIN + item->x * CELL_X;
  int32_t y = top + item->y * CELL_Y;
  int32_t width = item->width * CELL_X;
  int32_t baseline = y + CELL_Y - 6;
  switch (item->kind) {
    case RLO__DIAGRAM_BOX:
      write_rectangle(out,
                      "box",
                      x + CELL_X / 2,
                      y + CELL_Y / 2,
                      width - CELL_X,
                      (item->height - 1) * CELL_Y);
      break;
    case RLO__DIAGRAM_ELEMENT:
    case RLO__DIAGRAM_PADDING: {
      const char *class_name =
          item->kind == RLO__DIAGRAM_ELEMENT ? "element" : "padding";
      write_rectangle(
          out, class_name, x - 3, y + 1, width + CELL_X - 3, CELL_Y - 2);
      write_text(out, "label", x + width / 2, baseline, "middle", item->text);
      break;
    }
    case RLO__DIAGRAM_NUMBER:
      write_text(out, "number", x, baseline, "start", item->text);
      break;
    case RLO__DIAGRAM_NOTE:
      write_text(out, "note", x, baseline, "start", item->text);
      break;
  }
}

static void write_diagram(FILE *out,
                          const rlo__diagram *diagram,
                          const char *title,
                          const char *const *lines,
                          int32_t num_lines) {
  int32_t columns = diagram->width;
  if ((int32_t)strlen(title) > columns) {
    columns = (int32_t)strlen(title);
  }
  for (int32_t i = 0; i < num_lines; ++i) {
    if ((int32_t)strlen(lines[i]) > columns) {
      columns = (int32_t)strlen(lines[i]);
    }
  }
  int32_t top = MARGIN + 2 * CELL_Y;
  int32_t bottom = top + diagram->height * CELL_Y + CELL_Y / 2;
  int32_t width = columns * CELL_X + 2 * MARGIN;
  int32_t height = bottom + num_lines * CELL_Y + MARGIN;
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId32
          "\" height=\"%" PRId32
          "\">\n%s"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width,
          height,
          style);
  write_text(out, "title", MARGIN, MARGIN + CELL_Y, "start", title);
  for (size_t i = 0; i < diagram->num_items; ++i) {
    write_item(out, &diagram->items[i], top);
  }
  for (int32_t i = 0; i < num_lines; ++i) {
    write_text(
        out, "text", MARGIN, bottom + (i + 1) * CELL_Y, "start", lines[i]);
  }
  fputs("</svg>\n", out);
}

int rlo__diagram_save_svg(const rlo__diagram *diagram,
                          const char *path,
                          const char *title,
                          const char *const *lines,
                          int32_t num_lines) {
  char *data = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&data, &bytes);
  if (out == NULL) {
    return rlo__fail("out of memory");
  }
  write_diagram(out, diagram, title, lines, num_lines);
  if (fclose(out) != 0) {
    free(data);
    return rlo__fail("out of memory");
  }
  rlo__output output = {.path = path, .data = data, .data_bytes = bytes};
  int code = rlo__outputs_write(&output, 1);
  free(data);
  return code;
}
