/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"
#include "relayout/text.h"
#include "xla/shape_tree.h"

/* Limits a count of an invalid descriptor to the room of its array. */
static int32_t clamp(int32_t count, int32_t max) {
  if (count < 0) {
    return 0;
  }
  return count < max ? count : max;
}

/* 1,2,3 with RLO_TILE_COMBINE as '*' where the list is a tile. */
static void print_list(rlo__str *str,
                       const int64_t *values,
                       int32_t count,
                       bool is_tile) {
  for (int32_t i = 0; i < count; ++i) {
    rlo__str_append(str, i > 0 ? "," : "");
    if (is_tile && values[i] == RLO_TILE_COMBINE) {
      rlo__str_append_char(str, '*');
    } else {
      rlo__str_printf(str, "%" PRId64, values[i]);
    }
  }
}

/* The colon precedes the first property only. */
static void print_colon(rlo__str *str, bool *has_colon) {
  if (!*has_colon) {
    rlo__str_append_char(str, ':');
    *has_colon = true;
  }
}

static void print_number(rlo__str *str,
                         bool *has_colon,
                         const char *name,
                         int64_t value) {
  print_colon(str, has_colon);
  rlo__str_printf(str, "%s(%" PRId64 ")", name, value);
}

static void print_tiles(rlo__str *str,
                        bool *has_colon,
                        const rlo_layout *layout) {
  int32_t num_tiles = clamp(layout->num_tiles, RLO_MAX_TILES);
  if (num_tiles == 0) {
    return;
  }
  print_colon(str, has_colon);
  rlo__str_append_char(str, 'T');
  for (int32_t t = 0; t < num_tiles; ++t) {
    const rlo_tile *tile = &layout->tiles[t];
    rlo__str_append_char(str, '(');
    print_list(str, tile->dims, clamp(tile->rank, RLO_MAX_TILE_RANK), true);
    rlo__str_append_char(str, ')');
  }
}

static void print_fill(rlo__str *str,
                       bool *has_colon,
                       const rlo_layout *layout) {
  const char *word = NULL;
  switch (layout->fill) {
    case RLO_FILL_INVALID:
      return;
    case RLO_FILL_ZERO:
      word = "zero";
      break;
    case RLO_FILL_ONE:
      word = "one";
      break;
    case RLO_FILL_LOWEST:
      word = "lowest";
      break;
    case RLO_FILL_HIGHEST:
      word = "highest";
      break;
    case RLO_FILL_UNKNOWN:
      word = "unknown";
      break;
    case RLO_FILL_BITS:
      break;
  }
  print_colon(str, has_colon);
  if (word != NULL) {
    rlo__str_printf(str, "fill(%s)", word);
    return;
  }
  int top = (int)sizeof layout->fill_bits - 1;
  while (top > 0 && layout->fill_bits[top] == 0) {
    --top;
  }
  rlo__str_printf(str, "fill(0x%x", layout->fill_bits[top]);
  for (int i = top - 1; i >= 0; --i) {
    rlo__str_printf(str, "%02x", layout->fill_bits[i]);
  }
  rlo__str_append_char(str, ')');
}

/* "#(u32)"; what is no unsigned type comes out as XLA's "#(invalid)". */
static void print_dtype(rlo__str *str,
                        bool *has_colon,
                        const char *mark,
                        rlo_dtype dtype) {
  if (dtype == RLO_DTYPE_INVALID) {
    return;
  }
  bool is_known = rlo_dtype_class_of(dtype) == RLO_DTYPE_CLASS_UNSIGNED;
  print_colon(str, has_colon);
  rlo__str_printf(
      str, "%s(%s)", mark, is_known ? rlo_dtype_name(dtype) : "invalid");
}

static void print_splits(rlo__str *str,
                         bool *has_colon,
                         const rlo_layout *layout) {
  int32_t count = clamp(layout->num_split_configs, RLO_MAX_RANK);
  if (count == 0) {
    return;
  }
  print_colon(str, has_colon);
  rlo__str_append(str, "SC");
  for (int32_t s = 0; s < count; ++s) {
    const rlo_split_config *split = &layout->split_configs[s];
    rlo__str_printf(str, "(%d:", split->dimension);
    print_list(str,
               split->indices,
               clamp(split->num_indices, RLO_MAX_SPLIT_INDICES),
               false);
    rlo__str_append_char(str, ')');
  }
}

/* A shape of any kind; below. A layout may hold a physical shape. */
static void print_tree(rlo__str *str,
                       const rlo_shape_tree *tree,
                       bool with_layouts);

static void print_layout(rlo__str *str,
                         const rlo_layout *layout,
                         int32_t rank,
                         int64_t default_bits,
                         const rlo_shape_tree *physical_shape) {
  bool has_colon = false;
  bool is_strided = layout->kind == RLO_LAYOUT_STRIDED;
  rlo__str_append_char(str, '{');
  for (int32_t i = 0; !is_strided && i < rank; ++i) {
    rlo__str_printf(str, i > 0 ? ",%d" : "%d", layout->minor_to_major[i]);
  }
  if (!is_strided) {
    print_tiles(str, &has_colon, layout);
    if (layout->tail_alignment_elems != 0 &&
        layout->tail_alignment_elems != 1) {
      print_number(str, &has_colon, "L", layout->tail_alignment_elems);
    }
  }
  print_dtype(str, &has_colon, "#", layout->index_dtype);
  print_dtype(str, &has_colon, "*", layout->pointer_dtype);
  if (layout->element_size_bits != 0 &&
      layout->element_size_bits != default_bits) {
    print_number(str, &has_colon, "E", layout->element_size_bits);
  }
  if (layout->memory_space != 0) {
    print_number(str, &has_colon, "S", layout->memory_space);
  }
  if (!is_strided) {
    print_splits(str, &has_colon, layout);
  }
  if (physical_shape != NULL) {
    print_colon(str, &has_colon);
    rlo__str_append(str, "P(");
    print_tree(str, physical_shape, true);
    rlo__str_append_char(str, ')');
  }
  if (layout->metadata_prefix_bytes != 0) {
    print_number(str, &has_colon, "M", layout->metadata_prefix_bytes);
  }
  if (is_strided) {
    print_colon(str, &has_colon);
    rlo__str_append(str, "strides(");
    print_list(str, layout->strides_elems, rank, false);
    rlo__str_append_char(str, ')');
    if (layout->offset_elems != 0) {
      print_number(str, &has_colon, "offset", layout->offset_elems);
    }
  } else {
    if (layout->has_padded_dimensions) {
      print_colon(str, &has_colon);
      rlo__str_append(str, "pad(");
      print_list(str, layout->padded_dimensions, rank, false);
      rlo__str_append_char(str, ')');
    }
    print_fill(str, &has_colon, layout);
  }
  rlo__str_append_char(str, '}');
}

static void print_dims(rlo__str *str, const rlo_shape *shape, int32_t rank) {
  for (int32_t k = 0; k < rank; ++k) {
    rlo__str_append(str, k > 0 ? "," : "");
    if (shape->dims[k] == RLO_DIM_UNBOUNDED) {
      rlo__str_append_char(str, '?');
    } else {
      rlo__str_printf(str,
                      shape->is_dynamic[k] ? "<=%" PRId64 : "%" PRId64,
                      shape->dims[k]);
    }
  }
}

static void print_shape(rlo__str *str,
                        const rlo_shape *shape,
                        bool with_layout) {
  int32_t rank = clamp(shape->rank, RLO_MAX_RANK);
  rlo__str_printf(str, "%s[", rlo_dtype_name(shape->dtype));
  print_dims(str, shape, rank);
  rlo__str_append_char(str, ']');
  if (!with_layout) {
    return;
  }
  size_t before_layout = str->length;
  print_layout(
      str, &shape->layout, rank, rlo_dtype_storage_bits(shape->dtype), NULL);
  /* A scalar without properties does not parse with its braces. */
  if (str->length == before_layout + strlen("{}")) {
    rlo__str_truncate(str, before_layout);
  }
}

size_t rlo_layout_format(const rlo_layout *layout,
                         int32_t rank,
                         char *buffer,
                         size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, layout);
  print_layout(&str, layout, clamp(rank, RLO_MAX_RANK), 0, NULL);
  return str.length;
}

size_t rlo_shape_format(const rlo_shape *shape, char *buffer, size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, shape);
  print_shape(&str, shape, true);
  return str.length;
}

size_t rlo_shape_human_string(const rlo_shape *shape,
                              char *buffer,
                              size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, shape);
  print_shape(&str, shape, false);
  return str.length;
}

size_t rlo_bare_layout_format(const rlo_bare_layout *layout,
                              char *buffer,
                              size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, layout);
  print_layout(&str,
               &layout->layout,
               clamp(layout->rank, RLO_MAX_RANK),
               0,
               layout->physical_shape);
  return str.length;
}

/* `shape` has room for a leaf: the recursion takes little stack. */
static void print_subshape(rlo__str *str,
                           const rlo_shape_tree *tree,
                           bool with_layouts,
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
    print_shape(str, shape, with_layouts);
    rlo__str_append(str, tree->kind == RLO_SHAPE_KIND_BUFFER ? ")" : "");
  }
}

static void print_tree(rlo__str *str,
                       const rlo_shape_tree *tree,
                       bool with_layouts) {
  rlo_shape shape;
  print_subshape(str, tree, with_layouts, &shape);
}

size_t rlo_shape_tree_format(const rlo_shape_tree *tree,
                             char *buffer,
                             size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, tree);
  print_tree(&str, tree, true);
  return str.length;
}

size_t rlo_shape_tree_human_string(const rlo_shape_tree *tree,
                                   char *buffer,
                                   size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, tree);
  print_tree(&str, tree, false);
  return str.length;
}

static size_t print_program(const rlo_program_shape *program,
                            bool with_layouts,
                            char *buffer,
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
