/* SPDX-License-Identifier: Apache-2.0 */
#include "desc/tree/shape_tree.h"
#include "io/text_print.h"
#include "relayout/text.h"

static void print_leaf(rlo__str *str,
                       const rlo_shape_tree *tree,
                       int32_t node,
                       bool with_layouts) {
  rlo_shape_kind kind = tree->nodes[node].kind;
  if (kind == RLO_SHAPE_KIND_TOKEN) {
    rlo__str_append(str, "token[]");
    return;
  }
  if (kind == RLO_SHAPE_KIND_OPAQUE) {
    rlo__str_append(str, "opaque[]");
    return;
  }
  rlo_shape shape;
  rlo__tree_get_shape(tree, node, &shape);
  rlo__str_append(str, kind == RLO_SHAPE_KIND_BUFFER ? "b(" : "");
  rlo__text_print_shape(str, &shape, with_layouts);
  rlo__str_append(str, kind == RLO_SHAPE_KIND_BUFFER ? ")" : "");
}

/* The nodes come in the order of the text: what is left to do between two of
 * them is to close the tuples that have ended. */
void rlo__text_print_tree(rlo__str *str,
                          const rlo_shape_tree *tree,
                          bool with_layouts) {
  int32_t num_open = 0;
  for (int32_t n = 0; n < tree->num_nodes; ++n) {
    const rlo__tree_node *node = &tree->nodes[n];
    for (; num_open > node->depth; --num_open) {
      rlo__str_append_char(str, ')');
    }
    rlo__str_append(str, node->ordinal > 0 ? ", " : "");
    if (node->ordinal > 0 && node->ordinal % 5 == 0) {
      rlo__str_printf(str, "/*index=%d*/", node->ordinal);
    }
    if (node->kind == RLO_SHAPE_KIND_TUPLE) {
      rlo__str_append_char(str, '(');
      num_open = node->depth + 1;
    } else {
      print_leaf(str, tree, n, with_layouts);
    }
  }
  for (; num_open > 0; --num_open) {
    rlo__str_append_char(str, ')');
  }
}

size_t rlo_shape_tree_format(const rlo_shape_tree *tree,
                             char *buffer,
                             size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  rlo__text_print_tree(&str, tree, true);
  return str.length;
}

size_t rlo_shape_tree_human_string(const rlo_shape_tree *tree,
                                   char *buffer,
                                   size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  rlo__text_print_tree(&str, tree, false);
  return str.length;
}

static size_t print_program(const rlo_program_shape *program,
                            bool with_layouts,
                            char *buffer,
                            size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  int64_t count = rlo_program_shape_parameter_count(program);
  rlo__str_append_char(&str, '(');
  for (int64_t i = 0; i < count; ++i) {
    const char *name = rlo_program_shape_parameter_name(program, i);
    rlo__str_append(&str, i > 0 ? ", " : "");
    rlo__str_append(&str, name[0] != '\0' ? name : "(unknown)");
    rlo__str_append(&str, ": ");
    rlo__text_print_tree(
        &str, rlo_program_shape_parameter(program, i), with_layouts);
  }
  rlo__str_append(&str, ") -> ");
  rlo__text_print_tree(&str, rlo_program_shape_result(program), with_layouts);
  return str.length;
}

size_t rlo_program_shape_format(const rlo_program_shape *program,
                                char *buffer,
                                size_t capacity) {
  return print_program(program, true, buffer, capacity);
}

size_t rlo_program_shape_human_string(const rlo_program_shape *program,
                                      char *buffer,
                                      size_t capacity) {
  return print_program(program, false, buffer, capacity);
}
