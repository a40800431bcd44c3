/* SPDX-License-Identifier: Apache-2.0 */
#include "cost_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The dimensions of a mask, ascending; returns how many. */
static int32_t list_dimensions(uint32_t mask,
                               int64_t out_dimensions[RLO_MAX_RANK]) {
  int32_t count = 0;
  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    if ((mask >> k & 1U) != 0) {
      out_dimensions[count++] = k;
    }
  }
  return count;
}

static double share_of_padding(const rlo_cost_part *part) {
  return part->slots == 0
             ? 0
             : (double)(part->slots - part->elements) / (double)part->slots;
}

void rlo__cost_write_json(rlo__json *json, const rlo_shape_cost *cost) {
  static const char *const kinds[] = {"dimensions", "added", "tail"};
  rlo__json_begin_object(json, "cost");
  rlo__json_double(json,
                   "factor",
                   cost->elements == 0
                       ? (double)INFINITY
                       : (double)cost->slots / (double)cost->elements);
  rlo__json_begin_array(json, "parts");
  for (int32_t i = 0; i < cost->num_parts; ++i) {
    const rlo_cost_part *part = &cost->parts[i];
    int64_t dimensions[RLO_MAX_RANK];
    int32_t count = list_dimensions(part->dimensions, dimensions);
    rlo__json_begin_object(json, NULL);
    rlo__json_string(json, "kind", kinds[part->kind]);
    rlo__json_ints(json, "dimensions", dimensions, count);
    rlo__json_int(json, "elements", part->elements);
    rlo__json_int(json, "slots", part->slots);
    rlo__json_double(json, "padding_share", share_of_padding(part));
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
  rlo__json_end_object(json);
}

/* "128x", "1.536x": whole where it is, else four digits. */
static void print_factor(int64_t slots, int64_t elements) {
  if (slots % elements == 0) {
    printf("%" PRId64 "x", slots / elements);
    return;
  }
  printf("%.4gx", (double)slots / (double)elements);
}

static void print_part(const rlo_cost_part *part) {
  int64_t dimensions[RLO_MAX_RANK];
  int32_t count = list_dimensions(part->dimensions, dimensions);
  if (part->kind == RLO_COST_TAIL) {
    fputs("the tail", stdout);
  } else if (part->kind == RLO_COST_ADDED) {
    fputs("a dimension that a tile adds", stdout);
  } else {
    fputs(count > 1 ? "dimensions " : "dimension ", stdout);
    for (int32_t i = 0; i < count; ++i) {
      printf("%s%" PRId64, i == 0 ? "" : "*", dimensions[i]);
    }
  }
  fputs(count > 1 ? " are " : " is ", stdout);
  printf("%" PRId64 " of %" PRId64 " (%.1f %% padding)",
         part->elements,
         part->slots,
         100 * share_of_padding(part));
}

void rlo__cost_print(const rlo_shape_cost *cost) {
  printf("cost            %" PRId64 " slots for %" PRId64 " elements",
         cost->slots,
         cost->elements);
  if (cost->elements != 0) {
    fputs(", ", stdout);
    print_factor(cost->slots, cost->elements);
  }
  bool is_first = true;
  for (int32_t i = 0; i < cost->num_parts; ++i) {
    if (cost->parts[i].slots > cost->parts[i].elements) {
      fputs(is_first ? ":\n                " : ",\n                ", stdout);
      print_part(&cost->parts[i]);
      is_first = false;
    }
  }
  putchar('\n');
}
