/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "suite.h"

#define TTC57_FILE BENCH_DATA_DIR "/ttc57.txt"

/** One line of the file; it counts dimensions from the fastest, we from the
 *  slowest. */
static bool add_line(bench_case_list *list, const char *line) {
  char number[8];
  char sizes[64];
  char order[64];
  char name[96];
  bench_numbers dims;
  bench_numbers permutation;
  if (sscanf(line, "%7s %63s %63s", number, sizes, order) != 3) {
    return bench_fail(TTC57_FILE ": three words were expected: %s", line);
  }
  if (!bench_numbers_parse(sizes, &dims) || !bench_numbers_parse(order, &permutation) ||
      dims.count != permutation.count) {
    return bench_fail(TTC57_FILE ": no case: %s", line);
  }
  bench_numbers row_dims = {.count = dims.count};
  bench_numbers row_order = {.count = dims.count};
  for (int32_t k = 0; k < dims.count; ++k) {
    int32_t mirrored = dims.count - 1 - k;
    row_dims.values[k] = dims.values[mirrored];
    row_order.values[k] = dims.count - 1 - permutation.values[mirrored];
  }
  size_t length = (size_t)snprintf(name, sizeof name, "%s: ", number);
  for (const char *at = order; *at != '\0'; ++at) {
    if (*at != ',') {
      name[length++] = *at; /* digits: no rank is above 6 */
    }
  }
  name[length] = '\0';
  bench_numbers_print(&row_dims, sizes, sizeof sizes);
  bench_numbers_print(&row_order, order, sizeof order);
  const bench_case_spec spec = {.name = name, .dtype = "f32", .dims = sizes, .permutation = order};
  return bench_case_add(list, &spec);
}

bool bench_suite_ttc57_add(bench_case_list *list) {
  char line[256];
  FILE *file = fopen(TTC57_FILE, "r");
  if (file == NULL) {
    return bench_fail(TTC57_FILE ": %s", strerror(errno));
  }
  bool is_read = true;
  while (is_read && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    is_read = line[0] == '#' || line[0] == '\0' || add_line(list, line);
  }
  fclose(file);
  return is_read;
}
