/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"
#include "relayout/text.h"
#include "text/array.h"

/* Limits a count of an invalid descriptor to the room of its array. */
static int32_t clamp(int32_t count, int32_t max) {
  if (count < 0) {
    return 0;
  }
  return count < max ? count : max;
}

void rlo__text_print_list(rlo__str *str, const int64_t *values, int32_t count, bool is_tile) {
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
  rlo__text_print_list(str, values, count, false);
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
    rlo__text_print_list(str, tile->dims, clamp(tile->rank, RLO_MAX_TILE_RANK), true);
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
    rlo__text_print_list(str, split->indices, clamp(split->num_indices, RLO_MAX_SPLIT_INDICES),
                         false);
    rlo__str_append_char(str, ')');
  }
}

void rlo__text_print_layout(rlo__str *str, const rlo_layout *layout, int32_t rank,
                            int64_t default_bits, const struct rlo_shape_tree *physical_shape,
                            rlo__text_print_tree_fn *print_tree) {
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
    print_tree(str, physical_shape);
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

void rlo__text_print_shape(rlo__str *str, const rlo_shape *shape, bool with_layout) {
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
  rlo__text_print_layout(str, &shape->layout, rank, rlo_dtype_storage_bits(shape->dtype), NULL,
                         NULL);
  /* A scalar without properties does not parse with its braces. */
  if (str->length == before_layout + strlen("{}")) {
    rlo__str_truncate(str, before_layout);
  }
}

size_t rlo_layout_format(const rlo_layout *layout, int32_t rank, char *buffer, size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  if (layout != NULL) {
    rlo__text_print_layout(&str, layout, rank, 0, NULL, NULL);
  }
  return str.length;
}

static size_t format_shape(const rlo_shape *shape, bool with_layout, char *buffer,
                           size_t capacity) {
  rlo__str str = rlo__str_over(buffer, capacity);
  if (shape != NULL) {
    rlo__text_print_shape(&str, shape, with_layout);
  }
  return str.length;
}

size_t rlo_shape_format(const rlo_shape *shape, char *buffer, size_t capacity) {
  return format_shape(shape, true, buffer, capacity);
}

size_t rlo_shape_human_string(const rlo_shape *shape, char *buffer, size_t capacity) {
  return format_shape(shape, false, buffer, capacity);
}
