/* SPDX-License-Identifier: Apache-2.0 */

/* Tiles and layouts, from messages and to them. */

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "xla/proto_message.h"
#include "xla/wire.h"

/* ----------------------------------------------------------------- reading */

static rlo_status read_tile(const void *from, void *out) {
  const rlo__tile_message *message = from;
  rlo_layout layout = {0};
  RLO_TRY(rlo__layout_add_wire_tile(&layout, message->dimensions, message->n_dimensions));
  *(rlo_tile *)out = layout.tiles[0];
  return RLO_OK;
}

static rlo_status read_padding(const rlo__layout_message *message, rlo_layout *layout) {
  RLO_FAIL_IF(
      message->n_padded_dimensions > 0 && message->n_padded_dimensions != message->n_minor_to_major,
      RLO_INVALID_ARGUMENT, "%zu padded_dimensions do not go with %zu entries of minor_to_major",
      message->n_padded_dimensions, message->n_minor_to_major);
  for (size_t k = 0; k < message->n_padded_dimensions; ++k) {
    layout->has_padded_dimensions = true;
    layout->padded_dimensions[k] = message->padded_dimensions[k];
  }
  int padding_value = (int)message->padding_value;
  RLO_FAIL_IF(padding_value < RLO_FILL_INVALID || padding_value > RLO_FILL_UNKNOWN,
              RLO_INVALID_ARGUMENT, "%d is not a padding_value", padding_value);
  layout->fill = (rlo_fill)padding_value;
  return RLO_OK;
}

/* The fields of a sparse array. */
static rlo_status check_dense(const rlo__layout_message *message) {
  enum { SPARSE_FORMAT = 2, MAX_DIM_LEVEL_TYPE = 3 };

  int format = (int)message->format;
  RLO_FAIL_IF(format < 0 || format > SPARSE_FORMAT, RLO_INVALID_ARGUMENT, "%d is not a format",
              format);
  bool is_sparse = format == SPARSE_FORMAT;
  for (size_t k = 0; k < message->n_dim_level_types; ++k) {
    int32_t level = message->dim_level_types[k];
    RLO_FAIL_IF(level < 0 || level > MAX_DIM_LEVEL_TYPE, RLO_INVALID_ARGUMENT,
                "%" PRId32 " is not a dim_level_type", level);
    is_sparse = is_sparse || level != 0;
  }
  RLO_FAIL_IF(is_sparse || message->physical_shape != NULL, RLO_UNSUPPORTED,
              "sparse layouts, which alone have a physical_shape, are not supported");
  RLO_FAIL_IF(message->index_primitive_type != 0 || message->pointer_primitive_type != 0,
              RLO_INVALID_ARGUMENT,
              "only sparse layouts have an index_primitive_type (%" PRId32
              ") or a pointer_primitive_type (%" PRId32 ")",
              message->index_primitive_type, message->pointer_primitive_type);
  return RLO_OK;
}

rlo_status rlo__proto_read_layout(const rlo__layout_message *message, rlo_layout *layout) {
  RLO_TRY(check_dense(message));
  RLO_TRY(rlo__layout_from_wire(message->minor_to_major, message->n_minor_to_major, layout));
  RLO_TRY(read_padding(message, layout));
  for (size_t t = 0; t < message->n_tiles; ++t) {
    RLO_TRY(rlo__layout_add_wire_tile(layout, message->tiles[t]->dimensions,
                                      message->tiles[t]->n_dimensions));
  }
  for (size_t s = 0; s < message->n_split_configs; ++s) {
    const rlo__split_message *split = message->split_configs[s];
    RLO_TRY(rlo_layout_add_split(layout, rlo__narrow(split->dimension), split->split_indices,
                                 rlo__narrow_count(split->n_split_indices)));
  }
  layout->tail_alignment_elems = message->tail_padding_alignment_in_elements;
  layout->element_size_bits = message->element_size_in_bits;
  layout->memory_space = message->memory_space;
  layout->metadata_prefix_bytes = message->dynamic_shape_metadata_prefix_bytes;
  return RLO_OK;
}

/* A layout and its rank, as rlo_proto_parse_layout and _format_layout have
 * them. */
typedef struct ranked_layout {
  rlo_layout *layout;
  int32_t rank;
} ranked_layout;

static rlo_status read_ranked(const void *from, void *out) {
  const rlo__layout_message *message = from;
  ranked_layout *ranked = out;
  ranked->rank = rlo__narrow_count(message->n_minor_to_major);
  return rlo__proto_read_layout(message, ranked->layout);
}

/* ----------------------------------------------------------------- writing */

static rlo_status write_tile(rlo__proto_writer *w, const void *value, void *message) {
  const rlo_tile *tile = value;
  rlo__tile_message *out = message;
  rlo_layout layout;
  layout.num_tiles = 0;
  RLO_TRY(rlo_layout_add_tile(&layout, tile->dims, tile->rank));
  return RLO__PROTO_PUT(w, out, dimensions, tile->dims, tile->rank);
}

static rlo_status write_padding(rlo__proto_writer *w, const rlo_layout *layout, int32_t rank,
                                rlo__layout_message *message) {
  RLO_FAIL_IF(layout->fill == RLO_FILL_BITS, RLO_UNSUPPORTED,
              "LayoutProto has no place for the bits of a fill");
  bool is_needed = layout->has_padded_dimensions || layout->fill != RLO_FILL_INVALID;
  RLO_FAIL_IF(is_needed && !w->has_padding_fields, RLO_UNSUPPORTED,
              "padding and fills need padded_dimensions and padding_value of LayoutProto, which "
              "are written only with has_padding_fields");
  message->padding_value = (int32_t)layout->fill;
  return RLO__PROTO_PUT(w, message, padded_dimensions, layout->padded_dimensions,
                        layout->has_padded_dimensions ? rank : 0);
}

rlo_status rlo__proto_write_layout(rlo__proto_writer *w, const rlo_layout *layout, int32_t rank,
                                   rlo__layout_message *message) {
  RLO_FAIL_IF(layout->kind != RLO_LAYOUT_DENSE, RLO_UNSUPPORTED,
              "LayoutProto has no place for strides");
  RLO_TRY(RLO__PROTO_PUT(w, message, minor_to_major, NULL, rank));
  for (int32_t i = 0; i < rank; ++i) {
    message->minor_to_major[i] = layout->minor_to_major[i];
  }
  RLO_TRY(write_padding(w, layout, rank, message));
  RLO_TRY(RLO__PROTO_PUT(w, message, tiles, NULL, layout->num_tiles));
  for (int32_t t = 0; t < layout->num_tiles; ++t) {
    RLO_TRY(write_tile(w, &layout->tiles[t], message->tiles[t]));
  }
  RLO_TRY(RLO__PROTO_PUT(w, message, split_configs, NULL, layout->num_split_configs));
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    const rlo_split_config *split = &layout->split_configs[s];
    rlo__split_message *out = message->split_configs[s];
    out->dimension = split->dimension;
    RLO_TRY(RLO__PROTO_PUT(w, out, split_indices, split->indices, split->num_indices));
  }
  rlo__proto_carry(&message->base, &message->format, 1);
  rlo__proto_carry(&message->base, &message->max_sparse_elements, 1);
  rlo__proto_carry(&message->base, &message->dim_level_types, (size_t)rank);
  rlo__proto_carry(&message->base, &message->dim_unique, (size_t)rank);
  rlo__proto_carry(&message->base, &message->dim_ordered, (size_t)rank);
  message->element_size_in_bits = layout->element_size_bits;
  message->memory_space = layout->memory_space;
  message->dynamic_shape_metadata_prefix_bytes = layout->metadata_prefix_bytes;
  message->tail_padding_alignment_in_elements = layout->tail_alignment_elems;
  return RLO_OK;
}

/* Checks what needs no dimensions; mostly by making the layout again. */
static rlo_status check_layout(const rlo_layout *layout, int32_t rank) {
  rlo_layout copy;
  RLO_TRY(rlo_layout_from_minor_to_major(layout->minor_to_major, rank, &copy));
  RLO_FAIL_IF(layout->num_tiles < 0 || layout->num_tiles > RLO_MAX_TILES ||
                  layout->num_split_configs < 0 || layout->num_split_configs > RLO_MAX_RANK,
              RLO_INVALID_ARGUMENT, "a layout cannot have %d tiles and %d splits",
              layout->num_tiles, layout->num_split_configs);
  for (int32_t s = 0; s < layout->num_split_configs; ++s) {
    const rlo_split_config *split = &layout->split_configs[s];
    RLO_TRY(rlo_layout_add_split(&copy, split->dimension, split->indices, split->num_indices));
  }
  RLO_FAIL_IF((unsigned)layout->fill > RLO_FILL_BITS, RLO_INVALID_ARGUMENT, "%d is not a fill",
              (int)layout->fill);
  return RLO_OK;
}

static rlo_status write_ranked(rlo__proto_writer *w, const void *value, void *message) {
  const ranked_layout *ranked = value;
  RLO_TRY(check_layout(ranked->layout, ranked->rank));
  return rlo__proto_write_layout(w, ranked->layout, ranked->rank, message);
}

/* ---------------------------------------------------------------- functions */

rlo_status rlo_proto_parse_tile(const void *bytes, size_t size_bytes, rlo_tile *out_tile,
                                rlo_proto_origin **out_origin) {
  return rlo__proto_parse(RLO__FIRST_NULL(out_tile), bytes, size_bytes, &rlo__proto_tile, read_tile,
                          out_tile, out_origin);
}

rlo_status rlo_proto_parse_layout(const void *bytes, size_t size_bytes, rlo_layout *out_layout,
                                  int32_t *out_rank, rlo_proto_origin **out_origin) {
  rlo_layout layout;
  ranked_layout ranked = {&layout, 0};
  RLO_TRY(rlo__proto_parse(RLO__FIRST_NULL(out_layout, out_rank), bytes, size_bytes,
                           &rlo__proto_layout, read_ranked, &ranked, out_origin));
  *out_layout = layout;
  *out_rank = ranked.rank;
  return RLO_OK;
}

rlo_status rlo_proto_format_tile(const rlo_tile *tile, const rlo_proto_options *options,
                                 void *buffer, size_t capacity, size_t *out_bytes) {
  return rlo__proto_format(RLO__FIRST_NULL(tile, out_bytes), tile, &rlo__proto_tile, write_tile,
                           options, buffer, capacity, out_bytes);
}

rlo_status rlo_proto_format_layout(const rlo_layout *layout, int32_t rank,
                                   const rlo_proto_options *options, void *buffer, size_t capacity,
                                   size_t *out_bytes) {
  const ranked_layout ranked = {(rlo_layout *)(uintptr_t)layout, rank};
  return rlo__proto_format(RLO__FIRST_NULL(layout, out_bytes), &ranked, &rlo__proto_layout,
                           write_ranked, options, buffer, capacity, out_bytes);
}
