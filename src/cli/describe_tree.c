/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/xla/text.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "describe.h"
#include "display.h"
#include "message.h"
#include "report.h"

/* -------------------------------------------------------------------- sizes */

rlo_status rlo__array_sizes_add(rlo__array_sizes *sizes, const rlo_subshape *leaf) {
  if (leaf->kind == RLO_SHAPE_KIND_TUPLE || leaf->kind == RLO_SHAPE_KIND_TOKEN) {
    return RLO_OK;
  }
  if (leaf->shape == NULL || rlo_shape_is_unbounded(leaf->shape)) {
    ++sizes->without_size;
    return RLO_OK;
  }
  rlo_shape_extent extent = {0};
  RLO_TRY(rlo_shape_measure(leaf->shape, &extent));
  ++sizes->arrays;
  return rlo__add(sizes->elements, extent.elements, &sizes->elements) &&
                 rlo__add(sizes->bytes, extent.bytes, &sizes->bytes) &&
                 rlo__add(sizes->physical_bytes, extent.physical_bytes, &sizes->physical_bytes)
             ? RLO_OK
             : RLO_FAIL(RLO_OVERFLOW, "the sizes of the arrays together do not fit 64 bits");
}

static rlo_status add_leaf(const rlo_subshape *leaf, void *sizes) {
  return rlo__array_sizes_add(sizes, leaf);
}

rlo_status rlo__array_sizes_add_tree(rlo__array_sizes *sizes, const rlo_shape_tree *tree) {
  return rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, add_leaf, sizes);
}

int64_t rlo__array_sizes_padding_bytes(const rlo__array_sizes *sizes) {
  return rlo__max(0, sizes->physical_bytes - sizes->bytes);
}

double rlo__array_sizes_padding_share(const rlo__array_sizes *sizes) {
  return sizes->physical_bytes == 0
             ? 0
             : (double)rlo__array_sizes_padding_bytes(sizes) / (double)sizes->physical_bytes;
}

void rlo__array_sizes_report(rlo__report *r, const rlo__array_sizes *sizes) {
  if (sizes->arrays == 0 && sizes->without_size > 0) {
    RLO__REPORT(r, RLO__STRING("elements", NULL, NULL), RLO__STRING("bytes", NULL, NULL),
                RLO__STRING("physical_bytes", NULL, NULL),
                RLO__STRING("padding_share", NULL, NULL));
    return;
  }
  RLO__REPORT(r, RLO__INT("elements", NULL, sizes->elements), RLO__INT("bytes", NULL, sizes->bytes),
              RLO__INT("physical_bytes", NULL, sizes->physical_bytes),
              RLO__REAL("padding_share", rlo__array_sizes_padding_share(sizes)));
}

static const char *const kind_names[] = {[RLO_SHAPE_KIND_ARRAY] = "array",
                                         [RLO_SHAPE_KIND_TUPLE] = "tuple",
                                         [RLO_SHAPE_KIND_OPAQUE] = "opaque",
                                         [RLO_SHAPE_KIND_TOKEN] = "token",
                                         [RLO_SHAPE_KIND_BUFFER] = "buffer"};

/* ------------------------------------------------------------------- leaves */

/* The leaves of trees: in text the rows of a table, in JSON an array for each
 * tree. */
typedef struct listing {
  rlo__report report;
  /* The name of the current tree, "" for none. */
  const char *name;
  /* The name of a parameter that has none. */
  char number[32];
} listing;

static void begin_table(rlo__report *r) {
  rlo__report_line(r, "", "\n%-16s  %12s  %12s  padding  shape", "leaf", "bytes", "physical");
}

/* "name{1,0}", and no index for a tree that is a leaf. */
static rlo__str name_leaf(const listing *l, const rlo_subshape *leaf) {
  rlo__str name = rlo__str_growing();
  rlo__str_append(&name, l->name);
  for (int32_t i = 0; i < leaf->index_count; ++i) {
    rlo__str_printf(&name, "%s%" PRId64, i == 0 ? "{" : ",", leaf->index[i]);
  }
  rlo__str_append(&name, leaf->index_count == 0 ? "" : "}");
  return name;
}

static void add_row(listing *l, const rlo_subshape *leaf, const rlo__array_sizes *sizes,
                    const char *shape) {
  const bool is_buffer = leaf->kind == RLO_SHAPE_KIND_BUFFER;
  rlo__str name = name_leaf(l, leaf);
  char numbers[80];
  snprintf(numbers, sizeof(numbers), "%12s  %12s  %7s", "-", "-", "-");
  if (sizes->arrays > 0) {
    snprintf(numbers, sizeof(numbers), "%12" PRId64 "  %12" PRId64 "  %5.1f %%", sizes->bytes,
             sizes->physical_bytes, 100 * rlo__array_sizes_padding_share(sizes));
  }
  rlo__report_line(&l->report, "", "%-16s  %s  %s%s%s", rlo__str_text(&name), numbers,
                   is_buffer ? "b(" : "", shape == NULL ? kind_names[leaf->kind] : shape,
                   is_buffer       ? ")"
                   : shape == NULL ? "[]"
                                   : "");
  rlo__str_deinit(&name);
}

static rlo_status list_leaf(const rlo_subshape *leaf, void *payload) {
  listing *l = payload;
  rlo__report *r = &l->report;
  rlo__array_sizes sizes = {0};
  RLO_TRY(rlo__array_sizes_add(&sizes, leaf));
  const char *shape = leaf->shape == NULL ? NULL : rlo__shape_text(leaf->shape);
  if (!r->is_json) {
    add_row(l, leaf, &sizes, shape);
    return RLO_OK;
  }
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(r, RLO__INTS("index", NULL, leaf->index, leaf->index_count),
              RLO__STRING("kind", NULL, kind_names[leaf->kind]), RLO__STRING("shape", NULL, shape));
  rlo__array_sizes_report(r, &sizes);
  rlo__report_close(r);
  return RLO_OK;
}

/* ------------------------------------------------------------- trees, sides */

/* Adds the shape and the sizes of a tree. */
static rlo_status add_tree(rlo__report *r, const rlo_shape_tree *tree) {
  const size_t bytes = rlo_shape_tree_format(tree, NULL, 0) + 1;
  rlo__array_sizes sizes = {0};
  RLO_TRY(rlo__array_sizes_add_tree(&sizes, tree));
  char *text = rlo__alloc(bytes);
  RLO_TRY_MEMORY(text);
  rlo_shape_tree_format(tree, text, bytes);
  RLO__REPORT(
      r, RLO__STRING("shape", "shape", text),
      RLO__STRING("kind", NULL, kind_names[rlo_shape_tree_kind(tree)]),
      RLO__INT("arrays", "arrays", sizes.arrays),
      RLO__INT("without_size", sizes.without_size > 0 ? "without size" : NULL, sizes.without_size),
      RLO__INT(NULL, "elements", sizes.elements), RLO__INT(NULL, "bytes", sizes.bytes),
      RLO__INT(NULL, "physical bytes", sizes.physical_bytes),
      RLO__SHARE(NULL, "padding", rlo__array_sizes_padding_share(&sizes),
                 " of the physical bytes"));
  rlo__free(text);
  rlo__array_sizes_report(r, &sizes);
  return RLO_OK;
}

/* A tree, a parameter or the result. Ends the object that it is in. */
static rlo_status list_side(listing *l, const char *name, const rlo_shape_tree *tree) {
  l->name = name;
  /* In text a program has its sizes before all leaves. */
  if (l->report.is_json) {
    RLO_TRY(add_tree(&l->report, tree));
  }
  rlo__report_open(&l->report, "leaves", '[');
  RLO_TRY(rlo_shape_tree_for_each_subshape(tree, RLO_WALK_LEAVES, list_leaf, l));
  rlo__report_close(&l->report);
  rlo__report_close(&l->report);
  return RLO_OK;
}

static rlo_status describe_tree(listing *l, const rlo_shape_tree *tree) {
  if (!l->report.is_json) {
    RLO_TRY(add_tree(&l->report, tree));
  }
  begin_table(&l->report);
  return list_side(l, "", tree);
}

int rlo__describe_tree(const rlo_shape_tree *tree, bool is_json) {
  listing l = {.name = ""};
  rlo__array_sizes sizes = {0};
  /* Fails before anything is printed. */
  RLO__EXIT_TRY(rlo__check(rlo__array_sizes_add_tree(&sizes, tree)));
  rlo__report_begin(&l.report, is_json, 15);
  const rlo_status status = describe_tree(&l, tree);
  rlo__report_end(&l.report);
  return rlo__check(status);
}

/* ----------------------------------------------------------------- programs */

static rlo_status list_sides(listing *l, const rlo_program_shape *program) {
  rlo__report_open(&l->report, "parameters", '[');
  for (int64_t n = 0; n < rlo_program_shape_parameter_count(program); ++n) {
    const char *name = rlo_program_shape_parameter_name(program, n);
    const bool has_name = name[0] != '\0';
    snprintf(l->number, sizeof(l->number), "parameter %" PRId64, n);
    rlo__report_open(&l->report, NULL, '{');
    RLO__REPORT(&l->report, RLO__STRING("name", NULL, has_name ? name : NULL));
    RLO_TRY(list_side(l, has_name ? name : l->number, rlo_program_shape_parameter(program, n)));
  }
  rlo__report_close(&l->report);
  rlo__report_open(&l->report, "result", '{');
  return list_side(l, "result", rlo_program_shape_result(program));
}

static void print_side(rlo__report *r, const char *label, const rlo__array_sizes *sizes) {
  rlo__report_line(r, label,
                   "%" PRId64 " array%s, %" PRId64 " bytes, %" PRId64 " physical (%.1f %% padding)",
                   sizes->arrays, sizes->arrays == 1 ? "" : "s", sizes->bytes,
                   sizes->physical_bytes, 100 * rlo__array_sizes_padding_share(sizes));
}

int rlo__describe_program(const rlo_program_shape *program, bool is_json) {
  listing l = {.name = ""};
  rlo__array_sizes parameters = {0};
  rlo__array_sizes result = {0};
  for (int64_t n = 0; n < rlo_program_shape_parameter_count(program); ++n) {
    RLO__EXIT_TRY(rlo__check(
        rlo__array_sizes_add_tree(&parameters, rlo_program_shape_parameter(program, n))));
  }
  RLO__EXIT_TRY(rlo__check(rlo__array_sizes_add_tree(&result, rlo_program_shape_result(program))));
  const size_t bytes = rlo_program_shape_format(program, NULL, 0) + 1;
  char *text = rlo__alloc(bytes);
  RLO__EXIT_TRY_MEMORY(text);
  rlo_program_shape_format(program, text, bytes);
  rlo__report_begin(&l.report, is_json, 15);
  RLO__REPORT(&l.report, RLO__STRING("program", "program", text));
  rlo__free(text);
  print_side(&l.report, "parameters", &parameters);
  print_side(&l.report, "result", &result);
  begin_table(&l.report);
  const rlo_status status = list_sides(&l, program);
  rlo__report_end(&l.report);
  return rlo__check(status);
}
