/* SPDX-License-Identifier: Apache-2.0 */
#include "demo_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "display.h"
#include "json.h"
#include "message.h"

static int compare_doubles(const void *a, const void *b) {
  const double *left = a;
  const double *right = b;
  return (*left > *right) - (*left < *right);
}

static double median(double *values, int32_t count) {
  qsort(values, (size_t)count, sizeof(*values), compare_doubles);
  int32_t middle = count / 2;
  return count % 2 != 0 ? values[middle]
                        : (values[middle - 1] + values[middle]) / 2;
}

static void print_row(const rlo__demo_row *row,
                      int32_t number,
                      double seconds,
                      double gb_per_s,
                      double limit) {
  rlo__bytes_text bytes;
  printf("%d %-24s %-7s %9s %8.3f ms %6.2f GB/s %5.0f %%  ",
         number,
         row->name,
         row->family,
         rlo__bytes_text_make(row->moved_bytes, &bytes),
         1e3 * seconds,
         gb_per_s,
         100 * gb_per_s / limit);
  if (row->num_wrong_bytes == 0) {
    puts("equal");
  } else {
    printf("%" PRId64 " WRONG\n", row->num_wrong_bytes);
  }
  printf("  from %s\n", row->src_text);
  printf("  to   %s\n", row->dst_text);
}

static void write_row(rlo__json *json,
                      const rlo__demo_row *row,
                      double seconds,
                      double gb_per_s,
                      double limit) {
  rlo__json_begin_object(json, NULL);
  rlo__json_string(json, "name", row->name);
  rlo__json_string(json, "src", row->src_text);
  rlo__json_string(json, "dst", row->dst_text);
  rlo__json_string(json, "family", row->family);
  rlo__json_int(json, "moved_bytes", row->moved_bytes);
  rlo__json_double(json, "seconds", seconds);
  rlo__json_double(json, "gb_per_s", gb_per_s);
  rlo__json_double(json, "fraction_of_limit", gb_per_s / limit);
  rlo__json_int(json, "wrong_bytes", row->num_wrong_bytes);
  rlo__json_end_object(json);
}

int rlo__demo_table_print(rlo__demo_table *table, bool is_json) {
  double limit = median(table->copy_gb_per_s, table->num_rounds);
  const char *class_name = rlo__device_class_name(table->device_class);
  rlo__json json = {0};
  if (is_json) {
    rlo__json_begin_object(&json, NULL);
    rlo__json_string(&json, "device", table->device_name);
    rlo__json_string(&json, "class", class_name);
    rlo__json_int(&json, "rounds", table->num_rounds);
    rlo__json_double(&json, "copy_limit_gb_per_s", limit);
    rlo__json_begin_array(&json, "steps");
  } else {
    printf("device  %s (%s class)\n", table->device_name, class_name);
    printf("limit   %.2f GB/s: a plain copy on it, in the same run\n", limit);
    printf("times   medians of %d; bytes are those read and those written\n",
           table->num_rounds);
    puts("check   every byte against the host reference\n");
    puts(
        "  step                     family      bytes        time       speed "
        "of limit  check");
  }
  int64_t num_wrong_bytes = 0;
  for (int32_t i = 0; i < RLO__DEMO_STEPS; ++i) {
    rlo__demo_row *row = &table->rows[i];
    double seconds = median(row->seconds, table->num_rounds);
    double gb_per_s = (double)row->moved_bytes / seconds / 1e9;
    num_wrong_bytes += row->num_wrong_bytes;
    if (is_json) {
      write_row(&json, row, seconds, gb_per_s, limit);
    } else {
      print_row(row, i + 1, seconds, gb_per_s, limit);
    }
  }
  if (is_json) {
    rlo__json_end_array(&json);
    rlo__json_int(&json, "wrong_bytes", num_wrong_bytes);
    rlo__json_end_object(&json);
  }
  if (num_wrong_bytes != 0) {
    return rlo__fail("%" PRId64 " bytes differ from the host reference",
                     num_wrong_bytes);
  }
  return RLO__EXIT_OK;
}
