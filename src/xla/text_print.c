/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "relayout/xla/text.h"
#include "text/array.h"
#include "xla/shape_tree.h"

/* `shape` has room for a leaf: the recursion takes little stack. */
static void print_subshape(rlo__str *str, const rlo_shape_tree *tree, bool with_layouts,
                           rlo_shape *shape) {
  if (tree->kind == RLO_SHAPE_KIND_TOKEN) {
    rlo__str_append(str, "token[]");
  } else if (tree->kind == RLO_SHAPE_KIND_OPAQUE) {
    rlo__str_append(str, "opaque[]");
  } else if (tree->kind == RLO_SHAPE_KIND_TUPLE) {
    rlo__str_append_char(str, '(');
    for (int32_t i = 0; i < tree->num_elements; ++i) {
      rlo__str_append(str, i > 0 ? ", " : "");
      if (i > 0 && i % 5 == 0) {
        rlo__str_printf(str, "/*index=%d*/", i);
      }
      print_subshape(str, tree->elements[i], with_layouts, shape);
    }
    rlo__str_append_char(str, ')');
  } else {
    rlo__tree_get_shape(tree, shape);
    rlo__str_append(str, tree->kind == RLO_SHAPE_KIND_BUFFER ? "b(" : "");
    rlo__text_print_shape(str, shape, with_layouts);
    rlo__str_append(str, tree->kind == RLO_SHAPE_KIND_BUFFER ? ")" : "");
  }
}

static void print_tree(rlo__str *str, const rlo_shape_tree *tree, bool with_layouts) {
  rlo_shape shape;
  print_subshape(str, tree, with_layouts, &shape);
}

static size_t format_tree(const rlo_shape_tree *tree, bool with_layouts, char *buffer,
                          size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  if (tree != NULL) {
    print_tree(&str, tree, with_layouts);
  }
  return str.length;
}

size_t rlo_shape_tree_format(const rlo_shape_tree *tree, char *buffer, size_t capacity) {
  return format_tree(tree, true, buffer, capacity);
}

size_t rlo_shape_tree_human_string(const rlo_shape_tree *tree, char *buffer, size_t capacity) {
  return format_tree(tree, false, buffer, capacity);
}

static size_t format_program(const rlo_program_shape *program, bool with_layouts, char *buffer,
                             size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, program);
  int64_t count = rlo_program_shape_parameter_count(program);
  rlo__str_append_char(&str, '(');
  for (int64_t i = 0; i < count; ++i) {
    const char *name = rlo_program_shape_parameter_name(program, i);
    rlo__str_append(&str, i > 0 ? ", " : "");
    rlo__str_append(&str, name[0] != '\0' ? name : "(unknown)");
    rlo__str_append(&str, ": ");
    print_tree(&str, rlo_program_shape_parameter(program, i), with_layouts);
  }
  rlo__str_append(&str, ") -> ");
  print_tree(&str, rlo_program_shape_result(program), with_layouts);
  return str.length;
}

size_t rlo_program_shape_format(const rlo_program_shape *program, char *buffer, size_t capacity) {
  return format_program(program, true, buffer, capacity);
}

size_t rlo_program_shape_human_string(const rlo_program_shape *program, char *buffer,
                                      size_t capacity) {
  return format_program(program, false, buffer, capacity);
}

static void print_physical_shape(rlo__str *str, const rlo_shape_tree *tree) {
  print_tree(str, tree, true);
}

size_t rlo_bare_layout_format(const rlo_bare_layout *layout, char *buffer, size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  if (layout != NULL) {
    rlo__text_print_layout(&str, &layout->layout, layout->rank, 0, layout->physical_shape,
                           print_physical_shape);
  }
  return str.length;
}
