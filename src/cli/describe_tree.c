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

/* --------------------------------------------------------------------- rows */

/* The leaves of trees as the rows of a table. The first walk finds the widths,
 * the second one prints. */
typedef struct table {
  bool is_printing;
  int name_width, bytes_width, physical_width;
  /* What the current tree is called, "" for none. */
  const char *name;
} table;

static int max_int(int a, int b) {
  return a > b ? a : b;
}

/* Returns the length of "a{1,0}", and prints it to standard output if asked to.
 */
static int write_name(const char *name,
                      const rlo_subshape *leaf,
                      bool is_printing) {
  int length = (int)strlen(name);
  if (is_printing) {
    fputs(name, stdout);
  }
  if (leaf->index_count == 0) {
    return length;
  }
  char number[32];
  for (int32_t i = 0; i < leaf->index_count; ++i) {
    length += snprintf(number,
                       sizeof(number),
                       "%s%" PRId64,
                       i == 0 ? "{" : ",",
                       leaf->index[i]);
    if (is_printing) {
      fputs(number, stdout);
    }
  }
  if (is_printing) {
    putchar('}');
  }
  return length + 1;
}

static rlo_status visit_row(const rlo_subshape *leaf, void *payload) {
  table *t = payload;
  rlo__array_sizes sizes = {0};
  rlo_status status = rlo__array_sizes_add(&sizes, leaf);
  if (status != RLO_OK) {
    return status;
  }
  char bytes[32] = "-";
  char physical[32] = "-";
  char share[32] = "-";
  if (sizes.arrays > 0) {
    snprintf(bytes, sizeof(bytes), "%" PRId64, sizes.bytes);
    snprintf(physical, sizeof(physical), "%" PRId64, sizes.physical_bytes);
    snprintf(share,
             sizeof(share),
             "%.1f %%",
             100 * rlo__array_sizes_padding_share(&sizes));
  }
  if (!t->is_printing) {
    t->name_width = max_int(t->name_width, write_name(t->name, leaf, false));
    t->bytes_width = max_int(t->bytes_width, (int)strlen(bytes));
    t->physical_width = max_int(t->physical_width, (int)strlen(physical));
    return RLO_OK;
  }
  int length = write_name(t->name, leaf, true);
  printf("%*s  %*s  %*s  %7s  ",
         t->name_width - length,
         "",
         t->bytes_width,
         bytes,
         t->physical_width,
         physical,
         share);
  static rlo__shape_text text;
  bool is_buffer = leaf->kind == RLO_SHAPE_KIND_BUFFER;
  if (leaf->shape == NULL) {
    printf("%s[]\n", rlo__shape_kind_name(leaf->kind));
  } else {
    printf("%s%s%s\n",
           is_buffer ? "b(" : "",
           rlo__shape_text_make(leaf->shape, &text),
           is_buffer ? ")" : "");
  }
  return RLO_OK;
}

/* The name of a parameter, or its number. */
static const char *parameter_name(const rlo_program_shape *program,
                                  int64_t number,
                                  char *buffer,
                                  size_t capacity) {
  const char *name = rlo_program_shape_parameter_name(program, number);
  if (name[0] != '\0') {
    return name;
  }
  snprintf(buffer, capacity, "parameter %" PRId64, number);
  return buffer;
}

static rlo_status walk_rows(const rlo_shape_tree *tree,
                            const char *name,
                            table *t) {
  t->name = name;
  return rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, visit_row, t);
}

static rlo_status walk_program(const rlo_program_shape *program, table *t) {
  for (int64_t n = 0; n < rlo_program_shape_parameter_count(program); ++n) {
    char name[32];
    rlo_status status =
        walk_rows(rlo_program_shape_parameter(program, n),
                  parameter_name(program, n, name, sizeof(name)),
                  t);
    if (status != RLO_OK) {
      return status;
    }
  }
  return walk_rows(rlo_program_shape_result(program), "result", t);
}

static void begin_table(table *t) {
  t->is_printing = true;
  t->name_width = max_int(t->name_width, (int)strlen("leaf"));
  t->bytes_width = max_int(t->bytes_width, (int)strlen("bytes"));
  t->physical_width = max_int(t->physical_width, (int)strlen("physical"));
  printf("\n%-*s  %*s  %*s  padding  shape\n",
         t->name_width,
         "leaf",
         t->bytes_width,
         "bytes",
         t->physical_width,
         "physical");
}

/* -------------------------------------------------------------------- trees */

static void print_sizes(const rlo__array_sizes *sizes) {
  printf("arrays          %" PRId64 "\n", sizes->arrays);
  if (sizes->without_size > 0) {
    printf("without size    %" PRId64 "\n", sizes->without_size);
  }
  printf("elements        %" PRId64 "\n", sizes->elements);
  printf("bytes           %" PRId64 "\n", sizes->bytes);
  printf("physical bytes  %" PRId64 "\n", sizes->physical_bytes);
  printf("padding         %.1f %% of the physical bytes\n",
         100 * rlo__array_sizes_padding_share(sizes));
}

static rlo_status write_leaf(const rlo_subshape *leaf, void *payload) {
  rlo__json *json = payload;
  rlo__array_sizes sizes = {0};
  rlo_status status = rlo__array_sizes_add(&sizes, leaf);
  if (status != RLO_OK) {
    return status;
  }
  static rlo__shape_text text;
  rlo__json_begin_object(json, NULL);
  rlo__json_ints(json, "index", leaf->index, leaf->index_count);
  rlo__json_string(json, "kind", rlo__shape_kind_name(leaf->kind));
  rlo__json_string(
      json,
      "shape",
      leaf->shape == NULL ? NULL : rlo__shape_text_make(leaf->shape, &text));
  rlo__array_sizes_keys(json, &sizes);
  rlo__json_end_object(json);
  return RLO_OK;
}

/* Writes the keys of a tree. */
static int write_tree(rlo__json *json, const rlo_shape_tree *tree) {
  rlo__array_sizes sizes = {0};
  if (rlo__array_sizes_add_tree(&sizes, tree) != RLO_OK) {
    return rlo__fail_last();
  }
  char *text = rlo__shape_tree_text_make(tree);
  if (text == NULL) {
    return RLO__EXIT_FAILURE;
  }
  rlo__json_string(json, "shape", text);
  free(text);
  rlo__json_string(
      json, "kind", rlo__shape_kind_name(rlo_shape_tree_kind(tree)));
  rlo__json_int(json, "arrays", sizes.arrays);
  rlo__json_int(json, "without_size", sizes.without_size);
  rlo__array_sizes_keys(json, &sizes);
  rlo__json_begin_array(json, "leaves");
  rlo_status status =
      rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, write_leaf, json);
  rlo__json_end_array(json);
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

static int print_tree(const rlo_shape_tree *tree) {
  rlo__array_sizes sizes = {0};
  table t = {0};
  if (rlo__array_sizes_add_tree(&sizes, tree) != RLO_OK ||
      walk_rows(tree, "", &t) != RLO_OK) {
    return rlo__fail_last();
  }
  char *text = rlo__shape_tree_text_make(tree);
  if (text == NULL) {
    return RLO__EXIT_FAILURE;
  }
  printf("shape           %s\n", text);
  free(text);
  print_sizes(&sizes);
  begin_table(&t);
  return walk_rows(tree, "", &t) == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

/* Fails before anything is printed. */
static int check_tree(const rlo_shape_tree *tree) {
  rlo__array_sizes sizes = {0};
  return rlo__array_sizes_add_tree(&sizes, tree) == RLO_OK ? RLO__EXIT_OK
                                                           : rlo__fail_last();
}

int rlo__describe_tree(const rlo_shape_tree *tree, bool is_json) {
  int checked = check_tree(tree);
  if (checked != RLO__EXIT_OK || !is_json) {
    return checked != RLO__EXIT_OK ? checked : print_tree(tree);
  }
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  int code = write_tree(&json, tree);
  rlo__json_end_object(&json);
  return code;
}

/* ----------------------------------------------------------------- programs */

static char *program_text(const rlo_program_shape *program) {
  size_t bytes = rlo_program_shape_format(program, NULL, 0) + 1;
  char *text = malloc(bytes);
  if (text == NULL) {
    rlo__fail("cannot get %zu bytes of memory for a shape", bytes);
    return NULL;
  }
  rlo_program_shape_format(program, text, bytes);
  return text;
}

static void print_side(const char *what, const rlo__array_sizes *sizes) {
  printf("%-15s %" PRId64 " array%s, %" PRId64 " bytes, %" PRId64
         " physical (%.1f %% padding)\n",
         what,
         sizes->arrays,
         sizes->arrays == 1 ? "" : "s",
         sizes->bytes,
         sizes->physical_bytes,
         100 * rlo__array_sizes_padding_share(sizes));
}

static int print_program(const rlo_program_shape *program) {
  rlo__array_sizes parameters = {0};
  rlo__array_sizes result = {0};
  rlo_status status =
      rlo__array_sizes_add_tree(&result, rlo_program_shape_result(program));
  for (int64_t n = 0;
       status == RLO_OK && n < rlo_program_shape_parameter_count(program);
       ++n) {
    status = rlo__array_sizes_add_tree(&parameters,
                                       rlo_program_shape_parameter(program, n));
  }
  table t = {0};
  if (status != RLO_OK || walk_program(program, &t) != RLO_OK) {
    return rlo__fail_last();
  }
  char *text = program_text(program);
  if (text == NULL) {
    return RLO__EXIT_FAILURE;
  }
  printf("program         %s\n", text);
  free(text);
  print_side("parameters", &parameters);
  print_side("result", &result);
  begin_table(&t);
  return walk_program(program, &t) == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

static int write_program(rlo__json *json, const rlo_program_shape *program) {
  char *text = program_text(program);
  if (text == NULL) {
    return RLO__EXIT_FAILURE;
  }
  rlo__json_string(json, "program", text);
  free(text);
  int code = RLO__EXIT_OK;
  rlo__json_begin_array(json, "parameters");
  for (int64_t n = 0;
       code == RLO__EXIT_OK && n < rlo_program_shape_parameter_count(program);
       ++n) {
    const char *name = rlo_program_shape_parameter_name(program, n);
    rlo__json_begin_object(json, NULL);
    rlo__json_string(json, "name", name[0] == '\0' ? NULL : name);
    code = write_tree(json, rlo_program_shape_parameter(program, n));
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
  if (code == RLO__EXIT_OK) {
    rlo__json_begin_object(json, "result");
    code = write_tree(json, rlo_program_shape_result(program));
    rlo__json_end_object(json);
  }
  return code;
}

int rlo__describe_program(const rlo_program_shape *program, bool is_json) {
  int checked = check_tree(rlo_program_shape_result(program));
  for (int64_t n = 0; checked == RLO__EXIT_OK &&
                      n < rlo_program_shape_parameter_count(program);
       ++n) {
    checked = check_tree(rlo_program_shape_parameter(program, n));
  }
  if (checked != RLO__EXIT_OK || !is_json) {
    return checked != RLO__EXIT_OK ? checked : print_program(program);
  }
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  int code = write_program(&json, program);
  rlo__json_end_object(&json);
  return code;
}
