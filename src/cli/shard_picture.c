/* SPDX-License-Identifier: Apache-2.0 */
#include "diagram.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { MAX_PARTS = 16, MAX_DEVICES = 4096, LABEL_CHARS = 11 };

/* The ends of the parts of a dimension, in order. */
typedef struct cuts {
  int32_t dimension;
  int32_t count;
  int64_t at[MAX_PARTS + 1];
} cuts;

/* Adds a position in order; false if there are too many. */
static bool add_cut(cuts *c, int64_t position) {
  int32_t k = 0;
  while (k < c->count && c->at[k] < position) {
    ++k;
  }
  if (k < c->count && c->at[k] == position) {
    return true;
  }
  if (c->count == MAX_PARTS + 1) {
    return false;
  }
  memmove(&c->at[k + 1], &c->at[k], (size_t)(c->count - k) * sizeof c->at[0]);
  c->at[k] = position;
  ++c->count;
  return true;
}

/* Finds the cut dimensions, and where they are cut; the number of them, or -1
 * if there are too many parts. */
static int32_t find_cuts(const rlo_shape *shape, const rlo_box *boxes, int64_t num_devices,
                         cuts out_cuts[2]) {
  int32_t count = 0;
  for (int32_t d = 0; d < shape->rank; ++d) {
    cuts c = {.dimension = d};
    bool does_fit = add_cut(&c, 0) && add_cut(&c, shape->dims[d]);
    for (int64_t k = 0; k < num_devices && does_fit; ++k) {
      does_fit = add_cut(&c, boxes[k].start[d]) && add_cut(&c, boxes[k].limit[d]);
    }
    if (!does_fit) {
      return -1;
    }
    if (c.count > 2) {
      if (count < 2) {
        out_cuts[count] = c;
      }
      ++count;
    }
  }
  return count;
}

static bool holds(const rlo_box *box, const cuts *c, int32_t part) {
  return c->count == 0 ||
         (box->start[c->dimension] <= c->at[part] && box->limit[c->dimension] >= c->at[part + 1]);
}

static bool is_empty(const rlo_box *box) {
  for (int32_t d = 0; d < box->rank; ++d) {
    if (box->start[d] == box->limit[d]) {
      return true;
    }
  }
  return false;
}

/* "0,4", or "0,1,+14" where there is no room for all. */
static void label_part(const rlo_box *boxes, int64_t num_devices, const cuts c[2], int32_t row,
                       int32_t column, char label[LABEL_CHARS + 1]) {
  rlo__str text = rlo__str_over(label, LABEL_CHARS + 1);
  int64_t omitted = 0;
  for (int64_t k = 0; k < num_devices; ++k) {
    if (is_empty(&boxes[k]) || !holds(&boxes[k], &c[0], row) || !holds(&boxes[k], &c[1], column)) {
      continue;
    }
    const size_t before = text.length;
    rlo__str_printf(&text, "%s%" PRId64, before > 0 ? "," : "", k);
    if (omitted > 0 || text.length > LABEL_CHARS - 5) {
      rlo__str_truncate(&text, before);
      ++omitted;
    }
  }
  if (omitted > 0) {
    rlo__str_printf(&text, ",+%" PRId64, omitted);
  }
}

enum { INDENT = 14, WIDTH = LABEL_CHARS + 2 };

static void print_rule(int32_t columns) {
  static const char dashes[] = "-------------";
  printf("%*s", INDENT, "");
  for (int32_t j = 0; j < columns; ++j) {
    printf("+%.*s", WIDTH, dashes);
  }
  puts("+");
}

/* "0:4"; "" for a dimension that is not there. */
static const char *format_range(const cuts *c, int32_t part, char text[64]) {
  text[0] = '\0';
  if (c->count > 0) {
    snprintf(text, 64, "%" PRId64 ":%" PRId64, c->at[part], c->at[part + 1]);
  }
  return text;
}

/* Rows are the parts of c[0], columns those of c[1]; a dimension that is not
 * there has one part. */
static void print_grid(const rlo_box *boxes, int64_t num_devices, const cuts c[2]) {
  const int32_t rows = c[0].count == 0 ? 1 : c[0].count - 1;
  const int32_t columns = c[1].count == 0 ? 1 : c[1].count - 1;
  char range[64];
  char label[LABEL_CHARS + 1];
  if (c[1].count > 0) {
    printf("%*s", INDENT, "");
    for (int32_t j = 0; j < columns; ++j) {
      printf("  %-*s", WIDTH - 1, format_range(&c[1], j, range));
    }
    printf("  dimension %" PRId32 "\n", c[1].dimension);
  }
  for (int32_t i = 0; i < rows; ++i) {
    print_rule(columns);
    printf("%*s ", INDENT - 1, format_range(&c[0], i, range));
    for (int32_t j = 0; j < columns; ++j) {
      label_part(boxes, num_devices, c, i, j, label);
      printf("| %-*s", WIDTH - 1, label);
    }
    puts("|");
  }
  print_rule(columns);
  if (c[0].count > 0) {
    printf("rows are dimension %" PRId32 "\n", c[0].dimension);
  }
}

void rlo__shard_picture_print(const rlo_shape *shape, const rlo_sharding *sharding,
                              int64_t num_devices) {
  cuts c[2] = {{0}, {0}};
  int32_t count = -1;
  rlo_box *boxes = num_devices > MAX_DEVICES ? NULL : calloc((size_t)num_devices, sizeof *boxes);
  if (boxes != NULL) {
    for (int64_t k = 0; k < num_devices; ++k) {
      if (rlo_sharding_get_box(sharding, shape, k, &boxes[k]) != RLO_OK) {
        memset(&boxes[k], 0, sizeof boxes[k]);
      }
    }
    count = find_cuts(shape, boxes, num_devices, c);
  }
  if (count > 2) {
    printf("%" PRId32 " dimensions are cut: no picture\n", count);
  } else if (count < 0) {
    printf("more than %d parts of a dimension: no picture\n", (int)MAX_PARTS);
  } else {
    print_grid(boxes, num_devices, c);
  }
  free(boxes);
}
