/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"
#include "io/text_layout.h"
#include "relayout/text.h"
#include "shard/sharding.h"
#include "xla/shape_tree.h"

/* Limits a count of an invalid descriptor to the room of its array. */
static int32_t clamp(int32_t count, int32_t max) {
  if (count < 0) {
    return 0;
  }
  return count < max ? count : max;
}

/* 1,2,3 with RLO_TILE_COMBINE as '*' where the list is a tile. */
static void print_list(rlo__str *str, const int64_t *values, int32_t count, bool is_tile) {
  for (int32_t i = 0; i < count; ++i) {
    rlo__str_append(str, i > 0 ? "," : "");
    if (is_tile && values[i] == RLO_TILE_COMBINE) {
      rlo__str_append_char(str, '*');
    } else {
      rlo__str_printf(str, "%" PRId64, values[i]);
    }
  }
}

/* Begins a property. The colon precedes the first one only. */
static void print_name(rlo__str *str, bool *has_colon, const char *name) {
  rlo__str_append(str, *has_colon ? "" : ":");
  rlo__str_append(str, name);
  *has_colon = true;
}

static void print_values(rlo__str *str, bool *has_colon, const char *name, const int64_t *values,
                         int32_t count) {
  print_name(str, has_colon, name);
  rlo__str_append_char(str, '(');
  print_list(str, values, count, false);
  rlo__str_append_char(str, ')');
}

/* 0 is what a layout without the property has. */
static void print_number(rlo__str *str, bool *has_colon, const char *name, int64_t value) {
  if (value != 0) {
    print_values(str, has_colon, name, &value, 1);
  }
}

static void print_tiles(rlo__str *str, bool *has_colon, const rlo_layout *layout) {
  for (int32_t t = 0; t < clamp(layout->num_tiles, RLO_MAX_TILES); ++t) {
    const rlo_tile *tile = &layout->tiles[t];
    if (t == 0) {
      print_name(str, has_colon, "T");
    }
    rlo__str_append_char(str, '(');
    print_list(str, tile->dims, clamp(tile->rank, RLO_MAX_TILE_RANK), true);
    rlo__str_append_char(str, ')');
  }
}

static void print_fill(rlo__str *str, bool *has_colon, const rlo_layout *layout) {
  const char *word = rlo__text_fill_word(layout->fill);
  if (layout->fill == RLO_FILL_INVALID) {
    return;
  }
  print_name(str, has_colon, "fill");
  if (word != NULL) {
    rlo__str_printf(str, "(%s)", word);
    return;
  }
  int top = (int)sizeof layout->fill_bits - 1;
  while (top > 0 && layout->fill_bits[top] == 0) {
    --top;
  }
  rlo__str_printf(str, "(0x%x", layout->fill_bits[top]);
  for (int i = top - 1; i >= 0; --i) {
    rlo__str_printf(str, "%02x", layout->fill_bits[i]);
  }
  rlo__str_append_char(str, ')');
}

/* "#(u32)"; what is no unsigned type comes out as XLA's "#(invalid)". */
static void print_dtype(rlo__str *str, bool *has_colon, const char *mark, rlo_dtype dtype) {
  if (dtype != RLO_DTYPE_INVALID) {
    bool is_known = rlo_dtype_class_of(dtype) == RLO_DTYPE_CLASS_UNSIGNED;
    print_name(str, has_colon, mark);
    rlo__str_printf(str, "(%s)", is_known ? rlo_dtype_name(dtype) : "invalid");
  }
}

static void print_splits(rlo__str *str, bool *has_colon, const rlo_layout *layout) {
  for (int32_t s = 0; s < clamp(layout->num_split_configs, RLO_MAX_RANK); ++s) {
    const rlo_split_config *split = &layout->split_configs[s];
    if (s == 0) {
      print_name(str, has_colon, "SC");
    }
    rlo__str_printf(str, "(%d:", split->dimension);
    print_list(str, split->indices, clamp(split->num_indices, RLO_MAX_SPLIT_INDICES), false);
    rlo__str_append_char(str, ')');
  }
}

/* A shape of any kind; below. A layout may hold a physical shape. */
static void print_tree(rlo__str *str, const rlo_shape_tree *tree, bool with_layouts);

static void print_layout(rlo__str *str, const rlo_layout *layout, int32_t rank,
                         int64_t default_bits, const rlo_shape_tree *physical_shape) {
  bool has_colon = false;
  const bool is_strided = layout->kind == RLO_LAYOUT_STRIDED;
  const int64_t tail = layout->tail_alignment_elems;
  const int64_t bits = layout->element_size_bits;
  rlo__str_append_char(str, '{');
  for (int32_t i = 0; !is_strided && i < rank; ++i) {
    rlo__str_printf(str, i > 0 ? ",%d" : "%d", layout->minor_to_major[i]);
  }
  if (!is_strided) {
    print_tiles(str, &has_colon, layout);
    print_number(str, &has_colon, "L", tail == 1 ? 0 : tail);
  }
  print_dtype(str, &has_colon, "#", layout->index_dtype);
  print_dtype(str, &has_colon, "*", layout->pointer_dtype);
  print_number(str, &has_colon, "E", bits == default_bits ? 0 : bits);
  print_number(str, &has_colon, "S", layout->memory_space);
  if (!is_strided) {
    print_splits(str, &has_colon, layout);
  }
  if (physical_shape != NULL) {
    print_name(str, &has_colon, "P(");
    print_tree(str, physical_shape, true);
    rlo__str_append_char(str, ')');
  }
  print_number(str, &has_colon, "M", layout->metadata_prefix_bytes);
  if (is_strided) {
    print_values(str, &has_colon, "strides", layout->strides_elems, rank);
    print_number(str, &has_colon, "offset", layout->offset_elems);
  } else {
    if (layout->has_padded_dimensions) {
      print_values(str, &has_colon, "pad", layout->padded_dimensions, rank);
    }
    print_fill(str, &has_colon, layout);
  }
  rlo__str_append_char(str, '}');
}

static void print_shape(rlo__str *str, const rlo_shape *shape, bool with_layout) {
  int32_t rank = clamp(shape->rank, RLO_MAX_RANK);
  rlo__str_printf(str, "%s[", rlo_dtype_name(shape->dtype));
  for (int32_t k = 0; k < rank; ++k) {
    rlo__str_append(str, k > 0 ? "," : "");
    if (shape->dims[k] == RLO_DIM_UNBOUNDED) {
      rlo__str_append_char(str, '?');
    } else {
      rlo__str_printf(str, shape->is_dynamic[k] ? "<=%" PRId64 : "%" PRId64, shape->dims[k]);
    }
  }
  rlo__str_append_char(str, ']');
  if (!with_layout) {
    return;
  }
  size_t before_layout = str->length;
  print_layout(str, &shape->layout, rank, rlo_dtype_storage_bits(shape->dtype), NULL);
  /* A scalar without properties does not parse with its braces. */
  if (str->length == before_layout + strlen("{}")) {
    rlo__str_truncate(str, before_layout);
  }
}

static size_t format_layout(const rlo_layout *layout, int32_t rank,
                            const rlo_shape_tree *physical_shape, char *buffer, size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  if (layout != NULL) {
    print_layout(&str, layout, clamp(rank, RLO_MAX_RANK), 0, physical_shape);
  }
  return str.length;
}

size_t rlo_layout_format(const rlo_layout *layout, int32_t rank, char *buffer, size_t capacity) {
  return format_layout(layout, rank, NULL, buffer, capacity);
}

size_t rlo_bare_layout_format(const rlo_bare_layout *layout, char *buffer, size_t capacity) {
  return layout == NULL ? format_layout(NULL, 0, NULL, buffer, capacity)
                        : format_layout(&layout->layout, layout->rank, layout->physical_shape,
                                        buffer, capacity);
}

static size_t format_shape(const rlo_shape *shape, bool with_layout, char *buffer,
                           size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  if (shape != NULL) {
    print_shape(&str, shape, with_layout);
  }
  return str.length;
}

size_t rlo_shape_format(const rlo_shape *shape, char *buffer, size_t capacity) {
  return format_shape(shape, true, buffer, capacity);
}

size_t rlo_shape_human_string(const rlo_shape *shape, char *buffer, size_t capacity) {
  return format_shape(shape, false, buffer, capacity);
}

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
    print_shape(str, shape, with_layouts);
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

/* --------------------------------------------------------------- shardings */

static void print_iota(rlo__str *str, const rlo_sharding_tiles *tiles) {
  rlo__str_append(str, "<=[");
  print_list(str, tiles->iota_dims, tiles->iota_rank, false);
  rlo__str_append_char(str, ']');
  if (tiles->iota_rank > 1) {
    rlo__str_append(str, "T(");
    for (int32_t k = 0; k < tiles->iota_rank; ++k) {
      rlo__str_printf(str, "%s%" PRId32, k > 0 ? "," : "", tiles->iota_permutation[k]);
    }
    rlo__str_append_char(str, ')');
  }
}

static void print_subgroups(rlo__str *str, const rlo_sharding_tiles *tiles) {
  if (tiles->num_subgroups == 1 && tiles->subgroups[0].kind == RLO_SHARDING_REPLICATED) {
    rlo__str_append(str, " last_tile_dim_replicate");
  } else if (tiles->num_subgroups > 0) {
    rlo__str_append(str, " last_tile_dims={");
    for (int32_t k = 0; k < tiles->num_subgroups; ++k) {
      rlo__str_append(str, k > 0 ? ", " : "");
      rlo__str_append(str, rlo__sharding_word(tiles->subgroups[k].kind));
    }
    rlo__str_append_char(str, '}');
  }
}

static void print_tiled(rlo__str *str, const rlo_sharding *sharding) {
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(sharding, &tiles) != RLO_OK) {
    return;
  }
  rlo__str_append(str, "{devices=[");
  print_list(str, tiles.counts, tiles.rank, false);
  for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
    rlo__str_printf(str, "%s%" PRId64, tiles.rank + k > 0 ? "," : "", tiles.subgroups[k].count);
  }
  rlo__str_append_char(str, ']');
  if (rlo_sharding_num_devices(sharding) == 1) {
    /* XLA reads no list of one device. */
    rlo__str_append(str, "<=[1]");
  } else if (tiles.iota_rank > 0) {
    print_iota(str, &tiles);
  } else {
    print_list(str, tiles.devices, (int32_t)rlo_sharding_num_devices(sharding), false);
  }
  print_subgroups(str, &tiles);
  rlo__str_append_char(str, '}');
}

static void print_boxes(rlo__str *str, const rlo_sharding *sharding) {
  rlo__str_append(str, "{boxes=");
  for (int64_t k = 0; k < rlo_sharding_num_devices(sharding); ++k) {
    const rlo_box *box = &sharding->boxes[k];
    rlo__str_append_char(str, '[');
    for (int32_t d = 0; d < box->rank; ++d) {
      rlo__str_printf(str, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : "", box->start[d],
                      box->limit[d]);
    }
    rlo__str_append_char(str, ']');
  }
  rlo__str_append_char(str, '}');
}

size_t rlo_sharding_format(const rlo_sharding *sharding, char *buffer, size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  RLO_REQUIRE_OR(str.length, sharding);
  switch (rlo_sharding_get_kind(sharding)) {
    case RLO_SHARDING_MAXIMAL:
      rlo__str_printf(&str, "{maximal device=%" PRId64 "}", rlo_sharding_num_devices(sharding) - 1);
      break;
    case RLO_SHARDING_TILED:
      print_tiled(&str, sharding);
      break;
    case RLO_SHARDING_BOXES:
      print_boxes(&str, sharding);
      break;
    case RLO_SHARDING_REPLICATED:
    case RLO_SHARDING_MANUAL:
    case RLO_SHARDING_UNKNOWN:
    case RLO_SHARDING_UNREDUCED:
      rlo__str_printf(&str, "{%s}", rlo__sharding_word(rlo_sharding_get_kind(sharding)));
      break;
  }
  return str.length;
}
