/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/text.h"

#include "array_sizes.h"
#include "describe.h"
#include "display.h"
#include "message.h"
#include "report.h"

/* The leaves of trees: in text the rows of a table, for which a first walk
 * finds the widths; in JSON an array for each tree. */
typedef struct listing {
  rlo__report report;
  bool is_measuring;
  int name_width, bytes_width, physical_width;
  /* The name of the current tree, "" for none. */
  const char *name;
} listing;

static int max_int(int a, int b) {
  return a > b ? a : b;
}

/* "{1,0}"; "" for a tree that is a leaf. */
static void format_index(const rlo_subshape *leaf,
                         char *text,
                         size_t capacity) {
  size_t at = 0;
  text[0] = '\0';
  for (int32_t i = 0; i < leaf->index_count && at < capacity; ++i) {
    at += (size_t)snprintf(text + at,
                           capacity - at,
                           "%s%" PRId64 "%s",
                           i == 0 ? "{" : ",",
                           leaf->index[i],
                           i + 1 == leaf->index_count ? "}" : "");
  }
}

static void list_line(listing *l,
                      const rlo_subshape *leaf,
                      const rlo__array_sizes *sizes,
                      const char *shape) {
  /* Too large for the stack. */
  static char index[RLO_SHAPE_TREE_MAX_DEPTH * 21 + 2];
  char bytes[32] = "-";
  char physical[32] = "-";
  char share[32] = "-";
  format_index(leaf, index, sizeof(index));
  if (sizes->arrays > 0) {
    snprintf(bytes, sizeof(bytes), "%" PRId64, sizes->bytes);
    snprintf(physical, sizeof(physical), "%" PRId64, sizes->physical_bytes);
    snprintf(share,
             sizeof(share),
             "%.1f %%",
             100 * rlo__array_sizes_padding_share(sizes));
  }
  const int name_length = (int)(strlen(l->name) + strlen(index));
  if (l->is_measuring) {
    l->name_width = max_int(l->name_width, name_length);
    l->bytes_width = max_int(l->bytes_width, (int)strlen(bytes));
    l->physical_width = max_int(l->physical_width, (int)strlen(physical));
    return;
  }
  const bool is_buffer = leaf->kind == RLO_SHAPE_KIND_BUFFER;
  rlo__report_line(&l->report,
                   "",
                   "%s%s%*s  %*s  %*s  %7s  %s%s%s",
                   l->name,
                   index,
                   l->name_width - name_length,
                   "",
                   l->bytes_width,
                   bytes,
                   l->physical_width,
                   physical,
                   share,
                   is_buffer ? "b(" : "",
                   shape == NULL ? rlo__shape_kind_name(leaf->kind) : shape,
                   is_buffer ? ")" : (shape == NULL ? "[]" : ""));
}

static rlo_status list_leaf(const rlo_subshape *leaf, void *payload) {
  static rlo__shape_text text;
  listing *l = payload;
  rlo__report *r = &l->report;
  rlo__array_sizes sizes = {0};
  rlo_status status = rlo__array_sizes_add(&sizes, leaf);
  if (status != RLO_OK) {
    return status;
  }
  const char *shape =
      leaf->shape == NULL ? NULL : rlo__shape_text_make(leaf->shape, &text);
  if (!r->is_json) {
    list_line(l, leaf, &sizes, shape);
    return RLO_OK;
  }
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(r,
              RLO__INTS("index", NULL, leaf->index, leaf->index_count),
              RLO__STRING("kind", NULL, rlo__shape_kind_name(leaf->kind)),
              RLO__STRING("shape", NULL, shape));
  rlo__array_sizes_report(r, &sizes);
  rlo__report_close(r);
  return RLO_OK;
}

static int list_leaves(listing *l,
                       const char *name,
                       const rlo_shape_tree *tree) {
  l->name = name;
  rlo__report_open(&l->report, "leaves", '[');
  rlo_status status =
      rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, list_leaf, l);
  rlo__report_close(&l->report);
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

/* Calls `list` twice: the second time it prints. */
static int list_table(listing *l,
                      int (*list)(listing *l, const void *payload),
                      const void *payload) {
  int code = RLO__EXIT_OK;
  l->name_width = (int)strlen("leaf");
  l->bytes_width = (int)strlen("bytes");
  l->physical_width = (int)strlen("physical");
  if (!l->report.is_json) {
    l->is_measuring = true;
    code = list(l, payload);
    l->is_measuring = false;
  }
  rlo__report_line(&l->report,
                   "",
                   "\n%-*s  %*s  %*s  padding  shape",
                   l->name_width,
                   "leaf",
                   l->bytes_width,
                   "bytes",
                   l->physical_width,
                   "physical");
  return code == RLO__EXIT_OK ? list(l, payload) : code;
}

/* -------------------------------------------------------------------- trees */

/* Adds the shape and the sizes of a tree. */
static int add_tree(rlo__report *r, const rlo_shape_tree *tree) {
  rlo__array_sizes sizes = {0};
  if (rlo__array_sizes_add_tree(&sizes, tree) != RLO_OK) {
    return rlo__fail_last();
  }
  char *text = rlo__shape_tree_text_make(tree);
  if (text == NULL) {
    return RLO__EXIT_FAILURE;
  }
  RLO__REPORT(
      r,
      RLO__STRING("shape", "shape", text),
      RLO__STRING(
          "kind", NULL, rlo__shape_kind_name(rlo_shape_tree_kind(tree))),
      RLO__INT("arrays", "arrays", sizes.arrays),
      RLO__INT("without_size",
               sizes.without_size > 0 ? "without size" : NULL,
               sizes.without_size));
  free(text);
  rlo__array_sizes_report(r, &sizes);
  return RLO__EXIT_OK;
}

static int list_tree(listing *l, const void *tree) {
  return list_leaves(l, "", tree);
}

int rlo__describe_tree(const rlo_shape_tree *tree, bool is_json) {
  listing l = {.is_measuring = false};
  rlo__array_sizes sizes = {0};
  /* Fails before anything is printed. */
  if (rlo__array_sizes_add_tree(&sizes, tree) != RLO_OK) {
    return rlo__fail_last();
  }
  rlo__report_begin(&l.report, is_json, 15);
  int code = add_tree(&l.report, tree);
  if (code == RLO__EXIT_OK) {
    code = list_table(&l, list_tree, tree);
  }
  rlo__report_end(&l.report);
  return code;
}

/* ----------------------------------------------------------------- programs */

/* A parameter, or the result. */
static int list_side(listing *l,
                     const char *key,
                     const char *label,
                     const rlo__row *name,
                     const rlo_shape_tree *tree) {
  int code = RLO__EXIT_OK;
  rlo__report_open(&l->report, key, '{');
  if (l->report.is_json) {
    rlo__report_add(&l->report, name, name == NULL ? 0 : 1);
    code = add_tree(&l->report, tree);
  }
  if (code == RLO__EXIT_OK) {
    code = list_leaves(l, label, tree);
  }
  rlo__report_close(&l->report);
  return code;
}

static int list_sides(listing *l, const void *payload) {
  const rlo_program_shape *program = payload;
  const int64_t count = rlo_program_shape_parameter_count(program);
  int code = RLO__EXIT_OK;
  rlo__report_open(&l->report, "parameters", '[');
  for (int64_t n = 0; code == RLO__EXIT_OK && n < count; ++n) {
    const char *name = rlo_program_shape_parameter_name(program, n);
    const bool has_name = name[0] != '\0';
    const rlo__row row = RLO__STRING("name", NULL, has_name ? name : NULL);
    char number[32];
    snprintf(number, sizeof(number), "parameter %" PRId64, n);
    code = list_side(l,
                     NULL,
                     has_name ? name : number,
                     &row,
                     rlo_program_shape_parameter(program, n));
  }
  rlo__report_close(&l->report);
  return code == RLO__EXIT_OK ? list_side(l,
                                          "result",
                                          "result",
                                          NULL,
                                          rlo_program_shape_result(program))
                              : code;
}

static void print_side(rlo__report *r,
                       const char *label,
                       const rlo__array_sizes *sizes) {
  rlo__report_line(r,
                   label,
                   "%" PRId64 " array%s, %" PRId64 " bytes, %" PRId64
                   " physical (%.1f %% padding)",
                   sizes->arrays,
                   sizes->arrays == 1 ? "" : "s",
                   sizes->bytes,
                   sizes->physical_bytes,
                   100 * rlo__array_sizes_padding_share(sizes));
}

/* The sizes of all parameters. */
static rlo_status measure_parameters(const rlo_program_shape *program,
                                     rlo__array_sizes *out) {
  rlo_status status = RLO_OK;
  const int64_t count = rlo_program_shape_parameter_count(program);
  for (int64_t n = 0; status == RLO_OK && n < count; ++n) {
    status =
        rlo__array_sizes_add_tree(out, rlo_program_shape_parameter(program, n));
  }
  return status;
}

int rlo__describe_program(const rlo_program_shape *program, bool is_json) {
  listing l = {.is_measuring = false};
  rlo__array_sizes parameters = {0};
  rlo__array_sizes result = {0};
  if (rlo__array_sizes_add_tree(&result, rlo_program_shape_result(program)) !=
          RLO_OK ||
      measure_parameters(program, &parameters) != RLO_OK) {
    return rlo__fail_last();
  }
  size_t bytes = rlo_program_shape_format(program, NULL, 0) + 1;
  char *text = malloc(bytes);
  if (text == NULL) {
    return rlo__fail("cannot get %zu bytes of memory for a shape", bytes);
  }
  rlo_program_shape_format(program, text, bytes);
  rlo__report_begin(&l.report, is_json, 15);
  RLO__REPORT(&l.report, RLO__STRING("program", "program", text));
  free(text);
  print_side(&l.report, "parameters", &parameters);
  print_side(&l.report, "result", &result);
  int code = list_table(&l, list_sides, program);
  rlo__report_end(&l.report);
  return code;
}
