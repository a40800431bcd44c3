/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds every index map that every_index.py writes, read from standard input,
 * against the library, slot by slot and element by element:
 *
 *   every_index.py | every_index_driver [--spoil N]
 *
 * --spoil N alters the model's map of the Nth shape, to show that it would be
 * noticed. The last line is "every index map: P passed, F failed".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/index.h"
#include "relayout/text.h"

enum { MAX_SLOTS = 1 << 20, MAX_SHOWN = 20 };

static int32_t memory[MAX_SLOTS];

/* The row-major number of an index. */
static int64_t number_of(const rlo_shape *shape, const int64_t *index) {
  int64_t number = 0;
  for (int32_t k = 0; k < shape->rank; ++k) {
    number = number * shape->dims[k] + index[k];
  }
  return number;
}

/* False, with a word in *out_wrong, at the first difference. */
static bool compare(const char *text, int64_t slots, const char **out_wrong) {
  rlo_shape shape;
  rlo_address_map map;
  rlo_shape_extent extent;
  *out_wrong = "the shape is refused";
  if (rlo_shape_parse(text, strlen(text), &shape) != RLO_OK ||
      rlo_shape_measure(&shape, &extent) != RLO_OK ||
      rlo_address_map_make(&shape, &map) != RLO_OK) {
    return false;
  }
  *out_wrong = "the number of slots";
  if (extent.slots != slots) {
    return false;
  }
  int64_t found = 0;
  for (int64_t slot = 0; slot < slots; ++slot) {
    int64_t index[RLO_MAX_RANK];
    bool is_element;
    *out_wrong = "from slot to index";
    if (rlo_address_map_element(&map, slot, index, &is_element) != RLO_OK ||
        is_element != (memory[slot] >= 0) ||
        (is_element && number_of(&shape, index) != memory[slot])) {
      return false;
    }
    *out_wrong = "from index to slot";
    if (is_element) {
      ++found;
      if (rlo_address_map_slot(&map, index) != slot) {
        return false;
      }
    }
  }
  *out_wrong = "an element without a slot";
  return found == extent.elements;
}

static bool read_exactly(void *to, size_t bytes) {
  return fread(to, 1, bytes, stdin) == bytes;
}

int main(int argc, char **argv) {
  int64_t spoiled =
      argc == 3 && strcmp(argv[1], "--spoil") == 0 ? atoll(argv[2]) : -1;
  int64_t passed = 0;
  int64_t failed = 0;
  uint8_t length;
  for (int64_t n = 0; read_exactly(&length, 1); ++n) {
    char text[256];
    uint32_t slots;
    if (!read_exactly(text, length) || !read_exactly(&slots, sizeof slots) ||
        slots > MAX_SLOTS || !read_exactly(memory, slots * sizeof *memory)) {
      printf("the stream ends within shape %" PRId64 "\n", n);
      return EXIT_FAILURE;
    }
    text[length] = '\0';
    if (n == spoiled && slots > 0) {
      memory[0] = memory[0] >= 0 ? -1 : 0;
    }
    const char *wrong;
    if (compare(text, slots, &wrong)) {
      ++passed;
    } else if (failed++ < MAX_SHOWN) {
      printf("%s: %s\n", text, wrong);
    }
  }
  printf("every index map: %" PRId64 " passed, %" PRId64 " failed\n",
         passed,
         failed);
  return passed > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
